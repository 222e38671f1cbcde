"""Weighted rules go through the same commands as rule lists."""

import csv
import io
import json

import pytest
from tests.cli.helpers import READING, ok, ok_json, run

from polyrule.ensemble import RuleEnsemble
from polyrule.model import files


@pytest.fixture(scope="module")
def weighted(songs, tmp_path_factory):
    place = tmp_path_factory.mktemp("weighted") / "model.json"
    ok("train", songs, *READING, "--learner", "ensemble", "--max-rules", "3", "--teacher", "none",
       "--decision", "threshold", "-o", place, "-q")  # fmt: skip
    return place


def test_training(weighted, songs):
    model = files.load(weighted)
    assert isinstance(model, RuleEnsemble)
    assert 1 <= len(model) <= 3
    told = ok_json(
        "train", songs, *READING, "--learner", "ensemble", "--max-rules", "2", "--ridge", "2.5", "--seed", "7"
    )
    assert len(told["rules"]) <= 2


def test_showing(weighted):
    model = files.load(weighted)
    assert ok("show", weighted) == f"{model}\n"
    for form in ("markdown", "latex", "csv"):
        assert len(ok("show", weighted, "--format", form).splitlines()) >= len(model) + 1
    rows = list(csv.DictReader(io.StringIO(ok("show", weighted, "--format", "csv"))))
    assert [row["body"] for row in rows] == [
        model.format_rule(i, counts=False).split(" <- ")[1] for i in range(len(model))
    ]
    label = model.label_names[model.rules[0].head[0].label]
    assert ok("show", weighted, "--label", label).startswith("1. ")
    assert ok_json("show", weighted, "--stats")["statistics"]["rules"] == len(model)


def test_predicting_evaluating_explaining_exporting(weighted, songs, tmp_path):
    model = files.load(weighted)
    assert ok("predict", weighted, songs).splitlines()[0] == ",".join(["id", *model.label_names])
    assert ok_json("evaluate", weighted, songs)["examples"] == 120
    assert ok_json("explain", weighted, songs, "--row", "1")["row"] == 1
    code = ok("export", weighted, "--to", "python")
    namespace: dict[str, object] = {}
    exec(code, namespace)


def test_what_is_only_for_rule_lists_is_refused(weighted, songs):
    for words in (
        ["edit", "member", weighted, "1", "--split"],
        ["edit", "replace", weighted, "--rules", songs],
    ):
        result = run(*words)
        assert result.exit_code == 1
        assert f"{words[-2] if words[-1] == songs else words[-1]} is for rule lists" in result.stderr
    result = run("train", songs, *READING, "--learner", "ensemble", "--max-rules", "2", "--certify")
    assert "--certify is for rule lists" in result.stderr


def test_the_tools_of_lists_know_ensembles(weighted, songs, tmp_path):
    flips = ok_json("explain", weighted, songs, "--row", "1", "--flip", "calm")["flips"]
    assert flips[0]["exact"]
    assert "<-" in ok("show", weighted, "--digits", "2")
    model = files.load(weighted)
    fewer = tmp_path / "fewer.json"
    ok("edit", "remove", weighted, "1", "-o", fewer)
    assert len(files.load(fewer)) == len(model) - 1
    changed = tmp_path / "changed.json"
    ok("edit", "set-weight", weighted, "1", "calm", "-0.25", "-o", changed)
    assert any(entry.weight == -0.25 for entry in files.load(changed).rules[0].head)
    fitted = tmp_path / "fitted.json"
    ok("edit", "refit", fewer, songs, *READING, "-o", fitted)
    checked = run("verify", fitted, songs, *READING)
    assert checked.exit_code == 3
    assert checked.stdout.startswith("NOT CHECKED: that learning finds this model, because it was changed by hand")
    assert "best ones" in checked.stdout
    assert ok("verify", weighted, songs, *READING).endswith("learned anew: everything is as the model says\n")
    decided = tmp_path / "decided.json"
    said = ok("edit", "tune", weighted, songs, *READING, "--decision", "expected-f1", "-o", decided)
    assert files.load(decided).decision.kind == "expected-f1"
    assert files.load(decided).rules == model.rules
    assert "+ (of " in said
    unknown = run("edit", "tune", weighted, songs, *READING, "--decision", "guess")
    assert unknown.exit_code == 1
    assert "decision must be 'auto' or one of threshold" in unknown.stderr
    both = run("edit", "tune", weighted, songs, *READING, "--decision", "subset", "--for", "f1")
    assert "leave one out" in both.stderr
    wrong = run("edit", "set-weight", weighted, "99", "calm", "1")
    assert wrong.exit_code == 1
    assert "no rule 99" in wrong.stderr


def test_rules_with_weights_are_written_moved_and_counted_by_hand(weighted, songs, tmp_path):
    model, other = files.load(weighted), tmp_path / "other.json"
    assert ok("edit", "insert", weighted, "calm +2, happy -1 <- tempo <= 99", "--at", "1", "-o", other).startswith(
        "+ 1. calm"
    )
    ok("edit", "replace", other, "1", "calm +3 <- tempo <= 98", "-o", other)
    ok("edit", "move", other, "1", "2", "-o", other)
    ok("edit", "recount", other, songs, *READING, "-o", other)
    changed = files.load(other)
    assert changed.rules[0] == model.rules[0]
    assert [entry.weight for entry in changed.rules[1].head] == [3.0]
    assert changed.rules[1].coverage > 0
    plain = run("edit", "insert", weighted, "calm <- tempo <= 99")
    assert plain.exit_code == 1
    assert "every label has its weight behind it" in plain.stderr


def test_an_ensemble_edited_in_its_file_can_be_sealed(weighted, tmp_path):
    document = json.loads(weighted.read_text())
    document["rules"][0]["head"][0]["weight"] = 7.5
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(document))
    assert "polyrule edit seal" in run("show", changed).stderr
    ok("edit", "seal", changed)
    assert files.load(changed).rules[0].head[0].weight == 7.5


def test_the_schema_covers_them(weighted):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema checks the published schema")
    validator = jsonschema.Draft202012Validator(files.schema())
    document = json.loads(weighted.read_text())
    validator.validate(document)
    assert list(validator.iter_errors(document | {"full": False}))


def test_values_of_several_types(songs):
    result = run("train", songs, *READING, "--learner", "ensemble", "--points", "many")
    assert result.exit_code == 2
    assert "'many' is not a whole number or true or false" in result.stderr
