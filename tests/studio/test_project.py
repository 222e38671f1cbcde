"""A history that never forgets, and the file that keeps it."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest
from tests.report.worlds import random_ensemble, random_model

from polyrule.errors import ModelError, OptionError, PolyruleError
from polyrule.studio.project import Project
from polyrule.studio.project_file import Encoder, read_project, save_project, sole_writer
from polyrule.studio.steps import apply, code, read_step, rule_text_at


def texts(model):
    return [rule_text_at(model, index) for index in range(len(model.rules))]


@pytest.fixture
def project():
    return Project().opened(random_model(1, rules=6), "opened", by="me")


def test_undo_and_redo_move_along_the_path(project):
    first = project.changed({"do": "remove", "rule": 0})
    second = first.changed({"do": "move", "rule": 1, "to": 3}, why="better so")
    assert second.undone().undone().undone().at == 0
    assert texts(second.undone().model) == texts(first.model)
    assert second.undone().undone().redone().redone().at == 2
    assert second.redone() is second
    assert second.current.why == "better so"


def test_a_change_after_an_undo_begins_a_branch_and_loses_nothing(project):
    first = project.changed({"do": "remove", "rule": 0})
    branch = first.undone().changed({"do": "remove", "rule": 5})
    assert len(branch.versions) == 3
    assert branch.path() == [0, 2]
    assert branch.undone().redone().at == 2  # the latest branch
    assert texts(branch.gone_to(1).model) == texts(first.model)
    with pytest.raises(OptionError, match="no version"):
        branch.gone_to(3)


def test_steps_do_what_the_lines_of_the_script_do(project):
    model = project.model
    several = next(index for index, rule in enumerate(model.rules) if rule.is_multi_label)
    label = model.rules[several].head[0].label
    steps = [
        {"do": "remove", "rule": 2},
        {"do": "move", "rule": 0, "to": 4},
        {"do": "insert", "at": 1, "text": texts(model)[3]},
        {"do": "replace", "rule": 0, "text": texts(model)[3]},
        {"do": "split", "rule": several, "label": label},
    ]
    for step in steps:
        names = {"model": model}
        exec("\n".join(code(model, step)), names)
        assert names["model"].rules == apply(model, step).rules, step
    ensemble = random_ensemble(1, rules=3)
    step = {"do": "reweigh", "rule": 0, "label": ensemble.rules[0].head[0].label, "weight": 2.5}
    names = {"model": ensemble}
    exec("\n".join(code(ensemble, step)), names)
    assert names["model"].rules == apply(ensemble, step).rules


def test_a_split_predicts_the_same_labels_by_two_rules(project):
    model = project.model
    index = next(index for index, rule in enumerate(model.rules) if rule.is_multi_label and not rule.stop)
    label = model.rules[index].head[0].label
    made = apply(model, {"do": "split", "rule": index, "label": label})
    heads = [literal for rule in made.rules[index : index + 2] for literal in rule.head]
    assert sorted((x.label, x.value) for x in heads) == sorted((x.label, x.value) for x in model.rules[index].head)
    assert made.rules[index].body == made.rules[index + 1].body == model.rules[index].body


@pytest.mark.parametrize(
    "step",
    [
        None,
        [],
        "remove",
        {},
        {"do": "learn"},
        {"do": "open"},
        {"do": "remove"},
        {"do": "remove", "rule": -1},
        {"do": "remove", "rule": True},
        {"do": "remove", "rule": 1.0},
        {"do": "remove", "rule": 10**30},
        {"do": "remove", "rule": 0, "path": "/etc/passwd"},
        {"do": "insert", "at": 0, "text": 5},
        {"do": "insert", "at": 0, "text": "x" * 20_001},
        {"do": "reweigh", "rule": 0, "label": 0, "weight": float("inf")},
        {"do": "note", "rule": 0, "pinned": "yes"},
    ],
)
def test_a_step_that_makes_no_sense_is_refused(step):
    with pytest.raises(PolyruleError):
        read_step(step)


@pytest.mark.parametrize("step", [{"do": "remove", "rule": 6}, {"do": "note", "rule": 6, "name": "x"}])
def test_a_step_beyond_the_last_rule_is_refused_and_changes_nothing(project, step):
    with pytest.raises(PolyruleError, match="there is no rule"):
        project.changed(step)
    assert len(project.versions) == 1


def test_names_and_comments_follow_their_rule(project):
    named = project.changed({"do": "note", "rule": 1, "name": "quiet ones", "comment": "by Ada", "pinned": True})
    moved = named.changed({"do": "move", "rule": 1, "to": 4})
    assert moved.current.notes == {
        rule_text_at(moved.model, 4): {"name": "quiet ones", "comment": "by Ada", "pinned": True}
    }
    changed = moved.changed({"do": "replace", "rule": 4, "text": texts(project.model)[2] + " "})
    assert changed.current.notes[rule_text_at(changed.model, 4)]["name"] == "quiet ones"
    cleared = changed.changed({"do": "note", "rule": 4, "name": "", "comment": "", "pinned": False})
    assert rule_text_at(cleared.model, 4) not in cleared.current.notes
    gone = named.changed({"do": "remove", "rule": 1})
    assert gone.current.notes == {}
    assert gone.undone().current.notes == named.current.notes


def test_a_project_file_brings_everything_back(project, tmp_path):
    work = project.changed({"do": "note", "rule": 0, "name": "first"}).changed({"do": "remove", "rule": 3}, "why not")
    work = work.undone().changed({"do": "move", "rule": 2, "to": 0}).undone()
    path, encoder = tmp_path / "work.json", Encoder()
    save_project(path, work, {"any": 1}, encoder)
    again, about = read_project(path)
    assert about == {"any": 1}
    assert (again.at, again.path()) == (work.at, work.path())
    for old, new in zip(work.versions, again.versions, strict=True):
        assert old.model.rules == new.model.rules
        assert (old.what, old.why, old.by, old.when, old.parent) == (new.what, new.why, new.by, new.when, new.parent)
        assert dict(old.notes) == dict(new.notes)
        assert old.step == new.step
    save_project(tmp_path / "other.json", again, about)
    assert (tmp_path / "other.json").read_text() == path.read_text()


def test_a_long_history_stays_small(project, tmp_path):
    work, path, encoder = project, tmp_path / "work.json", Encoder()
    save_project(path, work, None, encoder)
    once = path.stat().st_size
    for number in range(200):
        work = work.changed({"do": "move", "rule": number % 5, "to": (number + 2) % 5})
    save_project(path, work, None, encoder)
    assert path.stat().st_size < once + 200 * 300


def test_a_damaged_project_file_is_refused_with_a_sentence(project, tmp_path):
    path = tmp_path / "work.json"
    save_project(path, project.changed({"do": "remove", "rule": 0}), None)
    whole = path.read_text()
    for text in ("", "{", "[]", "[" * 100_000, '{"format": "polyrule-model"}', whole[: len(whole) // 2]):
        path.write_text(text)
        with pytest.raises(ModelError):
            read_project(path)


def test_a_project_file_that_lies_is_refused_or_makes_sense(project, tmp_path):
    """Whatever one value is changed to, reading gives a project or one typed error."""
    path, chance = tmp_path / "work.json", random.Random(0)
    work = project.changed({"do": "remove", "rule": 0}).changed({"do": "note", "rule": 0, "name": "x"})
    save_project(path, work, None)
    document = json.loads(path.read_text())
    values = [None, -1, 10**20, 1.5, "x", [], {}, True, {"do": "remove"}]
    for _ in range(300):
        spoilt = json.loads(json.dumps(document))
        place = spoilt
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = chance.choice(keys)
            if isinstance(place[key], (dict, list)) and place[key] and chance.random() < 0.8:
                place = place[key]
            else:
                break
        place[key] = chance.choice(values)
        path.write_text(json.dumps(spoilt))
        try:
            found, _ = read_project(path)
            assert -1 <= found.at < len(found.versions)
        except PolyruleError:
            pass


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "work.json"
    program = (
        "import sys, pathlib\nfrom polyrule.studio.project_file import sole_writer\n"
        "for _ in sys.stdin:\n"
        "    try:\n        with sole_writer(pathlib.Path(sys.argv[1])): print('mine', flush=True)\n"
        "    except Exception as problem: print(problem, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def other():
            process.stdin.write("try\n")
            process.stdin.flush()
            return process.stdout.readline()

        with sole_writer(path):
            assert "another polyrule studio has this project open" in other()
        assert other() == "mine\n"
    assert list(tmp_path.iterdir()) == []
