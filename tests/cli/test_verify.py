import json

from tests.cli.helpers import READING, ok, ok_json, run

from polyrule.model import RuleList


def test_a_certified_model_is_verified(songs, tmp_path):
    place = tmp_path / "model.json"
    ok("train", songs, *READING, "--certify", "-o", place, "-q")
    model = RuleList.load(place)
    assert all(rule.certificate for rule in model)
    told = ok_json("verify", place, songs)
    assert told == {
        "ok": True,
        "rules": len(model),
        "certified": len(model),
        "searched": 0,
        "findings": [],
        "unchecked": [],
    }
    assert "everything is as the model says" in ok("verify", place, songs)


def test_a_model_without_proofs_is_searched_anew(trained, songs):
    told = ok_json("verify", trained, songs)
    assert (told["certified"], told["searched"]) == (0, told["rules"])


def test_what_is_wrong_is_said_and_is_exit_code_1(model, songs):
    document = json.loads(model.read_text())
    document["rules"][0]["head"][0]["tp"] += 1
    model.write_text(json.dumps(document))
    ok("edit", "seal", model)
    result = run("verify", model, songs)
    assert result.exit_code == 1
    assert "rule 1: TP of label 'calm'" in result.stdout
    assert run("verify", model, songs, "--json").exit_code == 1


def test_other_data_is_recognised(trained, songs, tmp_path):
    other = tmp_path / "other.csv"
    header, _, *rest = songs.read_text().splitlines()
    other.write_text("\n".join([header, *rest]) + "\n")
    result = run("verify", trained, other)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"{other}: this is not the data that the model was learned from")
    assert "learned from 120 examples with the fingerprint blake2b:" in result.stdout
    assert "this is 119 examples with" in result.stdout
    assert "polyrule evaluate" in result.stderr


def test_what_was_not_checked_is_said_first_and_is_exit_code_3(trained, songs):
    result = run("verify", trained, songs, "--replay-only")
    assert result.exit_code == 3
    assert result.stdout.startswith("NOT CHECKED: that learning finds these rules")
    result = run("verify", trained, songs, "--replay-only", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["unchecked"]
