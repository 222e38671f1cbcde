"""edit, export, head, measure: commands that make something new of what is there."""

import json
import os
import sqlite3
from dataclasses import replace

import pytest
from tests.cli.helpers import ok, ok_json, run

from polyrule.cli.edit import sole_editor
from polyrule.data import Feature
from polyrule.export import LANGUAGES, export
from polyrule.model import RuleList, parse_rule


def rules(path) -> list[str]:
    model = RuleList.load(path)
    return [model.format_rule(i, counts=False) for i in range(len(model))]


def test_rules_are_removed_moved_added_and_replaced(model):
    before = rules(model)
    ok("edit", "remove", model, "1", "2")
    assert rules(model) == before[2:]
    ok("edit", "move", model, "1", "2")
    assert rules(model)[:2] == [before[3], before[2]]
    result = run("edit", "insert", model, "happy, not sad <- tempo > 120, key = major [stop]", "--at", "1")
    assert rules(model)[0] == "happy, ¬sad <- tempo > 120, key = major"
    assert "[stop, hand]" in result.stdout
    assert "no counts" in result.stderr
    ok("edit", "replace", model, "1", "sad <- tempo <= 70")
    assert RuleList.load(model).rules[0].origin == "edited"
    ok("edit", "insert", model, "calm <- true")
    assert rules(model)[-1] == "calm <- true"


def test_the_backup_is_whole_and_replaces_a_link(model, tmp_path):
    """It was copied in place: through a link into another file, and cut on a full disk."""
    before, backup = model.read_bytes(), model.with_name(model.name + ".bak")
    other = tmp_path / "other.txt"
    other.write_text("not a backup")
    backup.unlink(missing_ok=True)
    backup.symlink_to(other)
    ok("edit", "remove", model, "1")
    assert other.read_text() == "not a backup"
    assert not backup.is_symlink()
    assert backup.read_bytes() == before


def test_an_edit_beside_another_one_is_refused(model):
    """Both read the model before one was written, and the other's edit was lost."""
    before = model.read_bytes()
    with sole_editor(model):
        refused = run("edit", "remove", model, "1")
        assert (refused.exit_code, "another program is editing it; run this again" in refused.stderr) == (1, True)
        assert model.read_bytes() == before
        ok("edit", "remove", model, "1", "-o", model.with_name("other.json"))
    ok("edit", "remove", model, "1")
    assert not list(model.parent.glob(".*.lock"))


def test_a_model_that_changed_meanwhile_is_not_replaced(model, monkeypatch):
    rules_before = rules(model)
    changed = RuleList.load(model).remove(0)

    def fsync(handle, real=os.fsync):  # just before the model is replaced
        monkeypatch.setattr(os, "fsync", real)
        changed.save(model)
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    refused = run("edit", "move", model, "1", "2")
    assert (refused.exit_code, "another program changed it meanwhile" in refused.stderr) == (1, True)
    assert rules(model) == rules_before[1:]


def test_a_backup_that_cannot_be_written_leaves_the_model(model):
    before, backup = model.read_bytes(), model.with_name(model.name + ".bak")
    backup.unlink(missing_ok=True)
    backup.mkdir()
    result = run("edit", "remove", model, "1")
    assert result.exit_code == 1
    assert f"{backup}: cannot be written (it is a folder)" in result.stderr
    assert model.read_bytes() == before


def test_groups_are_named_joined_split_and_changed(tmp_path):
    model = tmp_path / "roads.json"
    flags = [Feature(word, "nominal", ("0", "1")) for word in ("jam", "queue", "works")]
    texts = ("traffic <- jam = 1", "noise <- works = 1", "traffic <- queue = 1")
    made = tuple(parse_rule(text, flags, ("traffic", "noise")) for text in texts)
    RuleList(made, tuple(flags), ("traffic", "noise")).save(model)
    ok("edit", "member", model, "1", "--join", "3")
    assert rules(model)[0] == "traffic <- any of {jam, queue}"
    ok("edit", "name", model, "1", "road words")
    assert rules(model)[0] == 'traffic <- any of "road words" {jam, queue}'
    assert '"road words"' in ok("show", model)
    ok("edit", "member", model, "1", "--add", "works")
    assert rules(model)[0] == 'traffic <- any of "road words" {jam, queue, works}'
    ok("edit", "member", model, "1", "--remove", "works = 1")
    ok("edit", "member", model, "1", "--split")
    assert rules(model) == ["traffic <- jam", "traffic <- queue", "noise <- works"]
    ok("edit", "member", model, "3", "--add", "jam", "--beside", "works = 1")
    assert rules(model)[2] == "noise <- any of {works, jam}"


def test_the_original_stays_where_an_output_is_given(model, tmp_path):
    before = model.read_bytes()
    told = ok_json("edit", "remove", model, "1", "-o", tmp_path / "smaller.json")
    assert model.read_bytes() == before
    assert len(RuleList.load(tmp_path / "smaller.json")) == len(told["rules"])


def test_the_old_model_stands_beside_the_new_one(model):
    before = model.read_bytes()
    result = run("edit", "remove", model, "1")
    backup = model.with_name(model.name + ".bak")
    assert backup.read_bytes() == before
    assert f"the old one is {backup}" in result.stderr


def test_only_what_changed_is_printed(model, tmp_path):
    lines = ok("show", model).splitlines()
    assert len(rules(model)) > 3
    assert ok("edit", "remove", model, "2", "-o", tmp_path / "a.json").splitlines() == [f"- {lines[1]}"]
    (added,) = ok("edit", "insert", model, "calm <- tempo <= 99", "--at", "2", "-o", tmp_path / "b.json").splitlines()
    assert added.split()[:4] == ["+", "2.", "calm", "<-"]
    old, new = ok("edit", "replace", model, "3", "sad <- true", "-o", tmp_path / "c.json").splitlines()
    assert old == f"- {lines[2]}"
    assert new.split()[:4] == ["+", "3.", "always:", "sad"]
    assert ok("edit", "seal", model) == ""


def test_recounting_on_the_training_data(model, songs):
    ok("edit", "insert", model, "calm <- tempo <= 99", "--at", "1")
    ok("edit", "recount", model, songs)
    first = RuleList.load(model).rules[0]
    assert first.tp > 0
    assert first.fp == 0
    assert first.coverage == first.tp


def test_rules_can_be_edited_as_text(model, tmp_path):
    lines = ok("show", model).splitlines()
    text = tmp_path / "rules.txt"
    text.write_text("\n".join([lines[1], "# mine", "happy <- tempo > 150", *lines[2:]]), encoding="utf-8")
    before = RuleList.load(model)
    ok("edit", "replace", model, "--rules", text)
    after = RuleList.load(model)
    assert after.rules[0] == replace(before.rules[1], stale=True), "unchanged rules keep their counts"
    assert after.rules[1].origin == "hand"
    text.write_text("happy <- speed > 1")
    result = run("edit", "replace", model, "--rules", text)
    assert "line 1: rule 'happy <- speed > 1': there is no feature 'speed'" in result.stderr


def test_a_file_edited_by_hand_can_be_sealed(model):
    document = json.loads(model.read_text())
    document["rules"] = [
        {"head": [{"label": "calm", "value": 1}], "body": [{"feature": "tempo", "op": "<=", "value": 99}]}
    ]
    model.write_text(json.dumps(document))
    assert "polyrule edit seal" in run("show", model).stderr
    ok("edit", "seal", model)
    assert "calm <- tempo <= 99   (not counted) [hand]" in ok("show", model)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["remove", "{}", "999"], "there is no rule 999"),
        (["remove", "{}", "0"], "counted from 1"),
        (["move", "{}", "1", "999"], "there is no rule 999"),
        (["insert", "{}", "calm <- true", "--at", "999"], "--at must be between 1 and"),
        (["insert", "{}", "joy <- true"], "there is no label 'joy'"),
        (["replace", "{}", "1", "nonsense"], "one arrow"),
        (["name", "{}", "1", "words"], "no group of alternatives"),
        (["member", "{}", "1", "--split"], "no group of alternatives"),
        (["member", "{}", "1", "--join", "1"], "at least two rules"),
        (["member", "{}", "1", "--add", "speed > 3"], "there is no feature 'speed'"),
        (
            ["member", "{}", "1", "--remove", "tempo > 3", "--beside", "tempo > 4"],
            "--beside is for --add",
        ),
    ],
)
def test_edits_that_make_no_sense_change_nothing(model, words, message):
    before = model.read_bytes()
    result = run("edit", *[str(model) if word == "{}" else word for word in words])
    assert result.exit_code == 1
    assert message in result.stderr
    assert model.read_bytes() == before


@pytest.mark.parametrize(("language", "ending"), LANGUAGES.items())
def test_exports(trained, tmp_path, language, ending):
    expected = export(RuleList.load(trained), language)
    assert ok("export", trained, "--to", language) == expected
    ok("export", trained, "-o", tmp_path / f"model.{ending}")
    assert (tmp_path / f"model.{ending}").read_text() == expected
    assert ok_json("export", trained, "--to", language) == {"language": language, "code": expected}


def test_exported_sql_runs(trained):
    code = ok("export", trained, "--to", "sql", "--table", "my songs", "--key", "id")
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE "my songs" (id, tempo, key, loudness)')
    connection.execute("INSERT INTO \"my songs\" VALUES ('s', 80, 'minor', NULL)")
    assert connection.execute(code).fetchone()[0] == "s"
    connection.close()


def test_export_options_belong_to_a_language(trained, tmp_path):
    assert run("export", trained).exit_code == 2
    assert run("export", trained, "-o", tmp_path / "model.txt").exit_code == 2
    result = run("export", trained, "--to", "python", "--table", "x")
    assert (result.exit_code, "--table is no option of the export to python" in result.stderr) == (1, True)
    assert "polyrule_predict" not in ok("export", trained, "--to", "c", "--prefix", "mine")


def test_the_first_figure_of_the_paper():
    figure = ["measure", "head", "0110 1100 1000", "--min-tp", "0"]
    text = ok(*figure, "--search", "antimonotone-tree")
    assert "12 heads evaluated, 3 not looked at" in text
    assert "best: {1, 2} = 2/3 (TP 4, FP 2)" in text
    assert "{1, 2, 3}  5/9  pruned" in text
    assert "10 heads evaluated" in ok(*figure, "--search", "antimonotone")
    assert "4 heads evaluated" in ok(*figure, "--search", "decomposable")
    tree = ok_json(*figure, "--search", "exhaustive")["tree"]
    values = {"".join(part["label"] for part in node["head"]): node["value"] for node in nodes(tree)}
    assert values == {
        "": None, "1": "2/3", "2": "2/3", "3": "1/3", "4": "0", "12": "2/3", "13": "1/2", "14": "1/3", "23": "1/2",
        "24": "1/3", "34": "1/6", "123": "5/9", "124": "4/9", "134": "1/3", "234": "1/3", "1234": "5/12",
    }  # fmt: skip


def nodes(tree):
    yield tree
    for child in tree["children"]:
        yield from nodes(child)


def test_heads_as_a_picture(tmp_path):
    from xml.etree import ElementTree

    place = tmp_path / "tree.svg"
    ok(
        "measure",
        "head",
        "0110 1100 1000",
        "--names",
        "a,<b>,c&,d",
        "--search",
        "exhaustive",
        "--min-tp",
        "0",
        "-o",
        place,
    )
    root = ElementTree.fromstring(place.read_text())
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "{a, <b>}" in texts
    assert "5/12" in texts
    groups = [element.get("class") for element in root.iter("{http://www.w3.org/2000/svg}g")]
    assert groups.count("best") == 1
    assert len(groups) == 16
    assert ok("measure", "head", "01 11", "--format", "svg").startswith("<svg")


def test_label_vectors_from_a_file(tmp_path):
    (tmp_path / "labels.txt").write_text("0,1,1,0\n1 1 0 0\n\n1000\n")
    assert ok("measure", "head", f"@{tmp_path / 'labels.txt'}") == ok("measure", "head", "0110 1100 1000")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["01 1"], "label vector 2 ('1') has 1 labels, the first 2"),
        (["01 2x"], "something else than 0 and 1"),
        ([" "], "no label vectors"),
        (["01", "--names", "a"], "--names gives 1 names for 2 labels"),
        (["00"], "there is no head"),
        (["01", "--measure", "nonsense"], "nonsense"),
        (["001 111", "--measure", "subset", "--scope", "all", "--search", "antimonotone"], "{1,2,3}=1/2"),
        (["@nowhere.txt"], "No such file"),
    ],
)
def test_what_cannot_be_searched_is_explained(words, message):
    result = run("measure", "head", *words)
    assert result.exit_code == 1
    assert message in result.stderr


def test_measures_are_listed():
    text = ok("measure", "list")
    assert "precision" in text
    assert "TP / (TP + FP)" in text
    assert {"name": "precision", "measure": "TP / (TP + FP)"} in ok_json("measure", "list")
    assert all(row["measure"] for row in ok_json("measure", "list"))  # none without a description


def test_a_measure_is_checked():
    text = ok("measure", "check", "(tp)/(tp+fp+0.5*fn)", "--budget", "200")
    assert "micro   head  decomposable, proved by fact A" in text
    told = ok_json("measure", "check", "precision", "--budget", "200")
    assert len(told["entries"]) == 24
    micro = next(e for e in told["entries"] if (e["averaging"], e["scope"]) == ("micro", "head"))
    assert (micro["kind"], micro["status"]) == ("decomposable", "proved")


@pytest.mark.parametrize(
    "expression", ["__import__('os').system('x')", "tp/(", "tp if fp else 1", "x+1", "tp**99999999"]
)
def test_expressions_are_never_code(expression):
    result = run("measure", "check", expression)
    assert result.exit_code == 1
    assert "internal error" not in result.stderr


def test_sql_without_a_key_is_pointed_out(trained):
    assert "--key COLUMN passes a column through" in run("export", trained, "--to", "sql").stderr
    assert run("export", trained, "--to", "sql", "--key", "id").stderr == ""


@pytest.mark.parametrize(
    "words",
    [["member", "1"], ["member", "1", "--split", "--add", "tempo > 3"], ["replace"], ["replace", "1"]],
    ids=" ".join,
)
def test_an_edit_without_its_change_is_wrong_usage(model, words):
    result = run("edit", words[0], model, *words[1:])
    assert (result.exit_code, "pass " in result.stderr) == (2, True)
