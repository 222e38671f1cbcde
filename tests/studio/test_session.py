"""Data, learning, history and saving, without a server between."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from fuzz.seeds import workbook
from tests.data.formats.test_xlsx import book_of, sheet
from tests.studio.conftest import LABELS, learn, learned_session, songs

import polyrule
from polyrule import datasets
from polyrule.data import Feature, read
from polyrule.errors import DataError, OptionError, PolyruleError
from polyrule.model.files import dumps, loads
from polyrule.report import build
from polyrule.studio.column_summary import MOST_COLUMNS, looks_like
from polyrule.studio.launch import open_studio
from polyrule.studio.learn import Recipe
from polyrule.studio.saving import FILES, make_file
from polyrule.studio.session import Session
from polyrule.studio.setup import Origin, Setup, file_ending
from polyrule.studio.steps import apply, rule_text_at


def test_another_sheet_is_looked_at_only_if_it_can_be_read(tmp_path):
    rows = [["age", "sick"], *([number % 40, int(number % 40 > 25)] for number in range(60))]
    cover, patients = sheet(["Study"], [None, "internal"]), sheet(*rows)
    (tmp_path / "ward.xlsx").write_bytes(book_of(Cover=cover, Patients=patients, Visits=sheet(["day"], [1], [2])))
    (tmp_path / "new.xlsx").write_bytes(book_of(Notes=cover, Patients=sheet(*rows[:30])))
    session = Session(tmp_path / "ward.studio.json")
    found = session.take(Origin.of_file(tmp_path / "ward.xlsx"))
    assert (found["sheet"], [name for name, _ in found["sheets"]]) == ("Patients", ["Cover", "Patients", "Visits"])
    session.take(Origin.of_file(tmp_path / "new.xlsx"), "test")
    assert session.columns()["second"] == "new.xlsx, Patients"
    with pytest.raises(DataError, match="a value stands outside the 1 columns"):
        session.choose_sheet({"sheet": "Cover"})
    with pytest.raises(OptionError, match="no such sheet"):
        session.choose_sheet({"sheet": "patients"})
    assert session.columns()["file"] == "ward.xlsx, Patients"
    assert [one["name"] for one in session.choose_sheet({"sheet": "Visits"})["columns"]] == ["day"]
    session.choose_sheet({"sheet": "Patients"})
    session.prepare({"labels": ["sick"]})
    assert [len(part) for part in session.bench.parts] == [60, 29]
    learn(session, max_rules=1)
    assert "train = read('ward.xlsx', sheet='Patients'" in session.script()
    again = Session(tmp_path / "ward.studio.json")
    again.resume()
    assert again.columns()["file"] == "ward.xlsx, Patients"
    assert [len(part) for part in again.bench.parts] == [60, 29]


def test_findings_are_about_what_a_person_wrote_and_has_not_said_yet(tmp_path):
    lines = [f"r{n},2024-03-{n % 28 + 1:02} 12:{n % 60:02},{n % 3},{n % 2}" for n in range(60)]
    table = [line.split(",") for line in ["id,time,size,sick", *lines]]
    objects = [json.dumps(dict(zip(table[0], [*row[:2], *map(int, row[2:])], strict=True))) for row in table[1:]]
    (tmp_path / "logs.jsonl").write_text("\n".join(objects), encoding="utf-8")
    (tmp_path / "logs.xlsx").write_bytes(workbook(sheet(table[0], *([*r[:2], *map(int, r[2:])] for r in table[1:]))))
    (tmp_path / "logs.csv").write_text("\n".join(map(",".join, table)), encoding="utf-8")
    session = Session()
    for name in ("logs.jsonl", "logs.xlsx", "logs.csv"):
        found = session.take(Origin.of_file(tmp_path / name))["findings"]
        assert found == [
            "column 'time' holds times of day: rules see the month, weekday and hour, and days between dates"
        ]
    session.prepare({"labels": ["sick"]})
    assert any("'id' has a distinct value in most rows" in text for text in session.state()["findings"])
    assert not any("year" in text for text in session.state()["findings"])


def test_a_first_look_guesses_what_columns_are(tmp_path):
    (tmp_path / "songs.csv").write_text(songs(), encoding="utf-8")
    seen = Session().take(Origin.of_file(tmp_path / "songs.csv"))
    looks = {column["name"]: column["looks"] for column in seen["columns"]}
    assert looks == {
        "title": "identifier",
        "tempo": "",
        "level": "",
        "genre": "",
        **dict.fromkeys(LABELS, "label"),
    }
    level = seen["columns"][2]
    assert level["histogram"]["missing"] == len(range(3, 240, 17))
    assert sum(level["histogram"]["counts"]) == 240 - level["histogram"]["missing"]


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        (('"7,750"', "338"), 7750.0),
        (("7 750", "338"), 7750.0),
        (("7'750.5", "338"), 7750.5),
        (('"3,25"', "338"), 3.25),
        (('"7.750,5"', "338"), 7750.5),
    ],
)
def test_how_numbers_are_written_is_found(tmp_path, cells, value):
    lines = [f"{cells[n % 2]},{'a' if n % 3 else 'b'},{n % 2}" for n in range(30)]
    (tmp_path / "votes.csv").write_text("\n".join(["votes,ward,won", *lines]), encoding="utf-8")
    session = Session()
    found = session.take(Origin.of_file(tmp_path / "votes.csv"))
    assert found["columns"][0]["kind"] == "numeric"
    session.prepare({**found["setup"], "labels": ["won"]})
    assert session.bench.train.X.column(0).max() == max(value, 338.0)


def test_labels_are_guessed_beyond_the_columns_that_are_shown(tmp_path):
    names = ",".join(f"f{n}" for n in range(MOST_COLUMNS))
    tags = ("a;b", "b", "c;a", "a;b;c")
    rows = (",".join([*("0.5" for _ in range(MOST_COLUMNS)), tags[n % 4]]) for n in range(30))
    (tmp_path / "wide.csv").write_text("\n".join([f"{names},codes", *rows]), encoding="utf-8")
    session = Session()
    found = session.take(Origin.of_file(tmp_path / "wide.csv"))
    assert len(found["columns"]) == MOST_COLUMNS
    assert found["choices"]["parts"] == {"codes": "tags"}
    assert [one["name"] for one in found["choices"]["values"]] == ["codes"]
    assert session.columns(start=MOST_COLUMNS)["choices"] is None


def test_the_held_out_part_is_set_aside_and_never_learned_from(session):
    bench = session.bench
    assert len(bench.train) + len(bench.test) == 240
    assert abs(len(bench.test) - 80) <= 1
    assert not set(bench.train.row_ids) & set(bench.test.row_ids)
    assert session.project.model.info["examples"] == len(bench.train)


def test_what_is_said_about_columns_reaches_the_reader(tmp_path):
    lines = ["size;tags;grade;odd"] + [
        f"{n},5;{'a|b' if n % 2 else 'b'};{('low', 'mid', 'high')[n % 3]};x" for n in range(60)
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    session = Session()
    session.take(Origin.of_file(tmp_path / "t.csv"))
    order = {"grade": ["low", "mid", "high"]}
    session.prepare(
        {
            "tags": "tags",
            "tag_separator": "|",
            "drop": ["odd"],
            "ordinal": order,
            "decimal": ",",
            "monotone": {"size": "up"},
        }
    )
    kinds = {feature.name: feature.kind for feature in session.bench.train.features}
    assert kinds == {"size": "numeric", "grade": "ordinal"}
    assert session.bench.label_names == ("a", "b")
    learn(session, max_rules=3)
    assert session.project.current.step["options"]["constraints"] == {"monotone": {"size": "up"}}
    assert all(c.op == ">" for rule in session.project.model for c in rule.body if getattr(c, "feature", 1) == 0)


@pytest.mark.parametrize(
    ("setup", "words"),
    [
        ({}, "Choose at least one label|nothing says which columns are labels"),
        ({"labels": ["nothing"]}, "no column"),
        ({"labels": ["calm"], "drop": ["title", "tempo", "level", "genre", "happy", "loud"]}, "Every column"),
        ({"labels": ["calm"], "path": "/etc/passwd"}, "unknown member"),
        ({"labels": "/etc/passwd"}, "must be an array"),
        ({"labels": ["calm"], "share": 0.99}, "between 5 % and 90 %"),
        ({"labels": ["genre"]}, "genre"),
    ],
)
def test_a_setup_that_makes_no_sense_is_refused_and_changes_nothing(session, setup, words):
    before = session.project, session.bench, session.intake.setup
    with pytest.raises(PolyruleError, match=words):
        session.prepare(setup)
    assert (session.project, session.bench, session.intake.setup) == before


def test_a_second_file_is_held_out(tmp_path):
    (tmp_path / "a.csv").write_text(songs(120), encoding="utf-8")
    (tmp_path / "b.csv").write_text(songs(40, seed=9), encoding="utf-8")
    session = Session(tmp_path / "p.json")
    session.take(Origin.of_file(tmp_path / "a.csv"))
    session.take(Origin.of_file(tmp_path / "b.csv"), "test")
    session.prepare({"labels": LABELS, "identifier": "title"})
    assert [len(part) for part in session.bench.parts] == [120, 40]
    learn(session, max_rules=3)
    (tmp_path / "script.py").write_text(session.script(), encoding="utf-8")
    assert "features=train.features" in session.script()
    again = Session(tmp_path / "p.json")
    again.resume()
    assert [len(part) for part in again.bench.parts] == [120, 40]


def test_a_second_file_counts_when_it_has_been_read(session, tmp_path):
    (tmp_path / "later.csv").write_text(songs(40, seed=3), encoding="utf-8")
    before = session.script()
    session.take(Origin.of_file(tmp_path / "later.csv"), "test")
    assert session.columns()["second"] == "later.csv"
    assert session.script() == before  # what was learned was not measured on it
    session.change({"step": {"do": "remove", "rule": 0}})
    again = Session(session.path)
    again.resume()
    assert [len(part) for part in again.bench.parts] == [len(part) for part in session.bench.parts]
    session.prepare({"labels": LABELS, "identifier": "title"})
    assert [len(part) for part in session.bench.parts] == [240, 40]
    learn(session, max_rules=1)
    assert "test = read('later.csv'" in session.script()


def test_names_of_dropped_files_lead_nowhere():
    assert file_ending("../../../etc/passwd") == ""
    assert file_ending("x.csv/../../y.TSV.gz") == ".tsv.gz"
    assert file_ending("x.py") == ""


@pytest.mark.parametrize(
    "wish",
    [
        {"kind": "list", "max_rules": 3, "simplicity": 2, "balance": "f2"},
        {"kind": "scorecard", "max_rules": 3, "points": 3},
    ],
)
def test_the_code_of_a_recipe_makes_the_same_estimator(wish):
    recipe = Recipe.from_json(wish, (Feature("tempo"),), Setup(monotone={"tempo": "up"}), None)
    line = recipe.code()[-1].removeprefix("model = ").removesuffix(".fit(train).model_")
    made = eval(
        line,
        {"RuleListClassifier": polyrule.RuleListClassifier, "RuleEnsembleClassifier": polyrule.RuleEnsembleClassifier},
    )
    given = made.get_params()
    assert {name: given[name] for name in recipe.options} == recipe.options
    assert Recipe.of_step(recipe.step()) == recipe


@pytest.mark.parametrize("keep", [True, False])
def test_learning_ends_when_asked_to(session, keep):
    before = session.project
    session.workers.learn({"kind": "list"})
    job = session.workers.job
    real = job.tell

    def tell(**event):
        real(**event)
        if event.get("rules", 0) >= 1:
            job.stop(keep)

    job.tell = tell
    job.thread.join()
    if keep:
        assert len(session.project.versions) == len(before.versions) + 1
    elif job.cancelled:
        assert session.project is before
        assert job.events[-1].get("cancelled") is True


def test_pinned_rules_stay_in_front(session):
    session.change({"step": {"do": "note", "rule": 1, "pinned": True}})
    kept = session.project.model.rules[1]
    learn(session, max_rules=2, pinned=True)
    assert (session.project.model.rules[0].head, session.project.model.rules[0].body) == (kept.head, kept.body)
    assert session.project.current.notes
    learn(session, max_rules=2)
    assert session.project.current.step["keep"] == []


def test_rules_are_kept_by_their_pins_alone(session):
    with pytest.raises(PolyruleError, match="unknown member 'keep'"):
        session.workers.learn({"kind": "list", "keep": [99]})


def test_every_change_is_on_disk_before_it_is_answered(session):
    session.change({"step": {"do": "remove", "rule": 0}, "why": "a copy of rule 2"})
    again = Session(session.path)
    again.resume()
    assert again.project.current.why == "a copy of rule 2"
    assert str(again.finished()) == str(session.finished())
    session.undo()
    third = Session(session.path)
    third.resume()
    assert third.project.at == 0
    assert third.history()["redo"] is True


@pytest.mark.parametrize("dropped", [False, True])
def test_a_project_moves_together_with_its_data(session, tmp_path, dropped):
    here = tmp_path / "here"
    (here / "songs.studio-data").mkdir(parents=True)
    if dropped:
        kept = tmp_path / "songs.studio-data" / "0123.csv"
        kept.parent.mkdir()
        (tmp_path / "songs.csv").rename(kept)
        session.intake.origin = Origin.of_file(kept, "songs.csv")
        session.change({"step": {"do": "remove", "rule": 0}})
    data = here / "songs.studio-data" / "0123.csv" if dropped else here / "songs.csv"
    Path(session.intake.origin.path).rename(data)
    session.path.rename(here / "songs.studio.json")
    again = Session(here / "songs.studio.json")
    again.resume()
    assert again.intake.origin.path == str(data.resolve())
    assert again.project.model.rules == session.project.model.rules
    if dropped:
        with contextlib.chdir(here):
            again.intake.forget_files(Path("songs.studio-data"))
    assert data.exists()
    data.write_text(songs(seed=5), encoding="utf-8")
    with pytest.raises(PolyruleError, match="has changed since"):
        Session(again.path).resume()


def test_a_full_disk_takes_nothing_away(session, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("polyrule.studio.session.save_project", full)
        answer = session.change({"step": {"do": "remove", "rule": 0}})
        assert "songs.studio.json cannot be written (No space left on device)" in answer["problem"]
        assert answer["history"]["at"] == session.project.at == 1
        assert "cannot be written" in session.undo()["problem"]
    assert "problem" not in session.redo()
    again = Session(session.path)
    again.resume()
    assert len(again.project.versions) == 2


def test_changed_data_is_noticed(session, tmp_path):
    (tmp_path / "songs.csv").write_text(songs(seed=5), encoding="utf-8")
    with pytest.raises(PolyruleError, match="has changed since"):
        Session(session.path).resume()


def test_the_saved_model_holds_history_names_and_new_counts(session):
    session.change({"step": {"do": "remove", "rule": 0}, "why": "a copy"})
    session.change({"step": {"do": "note", "rule": 0, "name": "fast ones"}})
    model = loads(make_file(session, "model.json"))
    assert [entry["why"] for entry in model.info["history"]] == ["", "a copy", ""]
    assert {entry["by"] for entry in model.info["history"]} == {"tester"}
    assert [note["name"] for note in model.info["notes"].values()] == ["fast ones"]
    expected = session.project.model.recount(session.bench.train)
    assert model.rules == expected.rules
    assert "fast ones" in make_file(session, "report.html")
    opened = Session()
    opened.bring(session.bench.train, session.bench.test, model)
    assert opened.project.current.notes == session.project.current.notes
    opened.change({"step": {"do": "move", "rule": 0, "to": 1}})
    assert len(opened.finished().info["history"]) == 3 + 2


def test_the_script_gives_the_same_model(session):
    session.change({"step": {"do": "note", "rule": 1, "pinned": True, "name": 'odd\n"name"'}, "why": "line\nbreak '''"})
    learn(session, max_rules=3, pinned=True)
    session.change({"step": {"do": "remove", "rule": 1}})
    session.change({"step": {"do": "insert", "at": 0, "text": "calm, !loud <- 3 < tempo <= 60, genre in {folk, jazz}"}})
    session.change({"step": {"do": "split", "rule": 0, "label": 0}})
    session.change({"step": {"do": "move", "rule": 0, "to": 1}})
    session.change({"step": {"do": "replace", "rule": 0, "text": "¬loud <- tempo > 200 [stop]"}})
    session.undo()
    for text in ("happy <- tempo > 150, level > -30", "happy <- genre = folk, level > -30"):
        session.change({"step": {"do": "insert", "at": 1, "text": text}})
    session.change({"step": {"do": "join", "rules": [1, 2], "name": 'quick "or" folk'}})
    assert_script_repeats(session, alone=True)


def test_the_script_of_a_scorecard_gives_the_same_model(tmp_path):
    session = learned_session(tmp_path, kind="scorecard", max_rules=3, points=3)
    rule = session.project.model.rules[0]
    session.change({"step": {"do": "reweigh", "rule": 0, "label": rule.head[0].label, "weight": 2.0}})
    session.change({"step": {"do": "remove", "rule": 1}})
    for text in ("calm +2, happy −1 <- tempo <= 90, level > -30", "calm +1, happy −3 <- genre = folk, level > -30"):
        session.change({"step": {"do": "insert", "at": 1, "text": text}})
    session.change({"step": {"do": "join", "rules": [1, 2], "name": "slow or folk"}})
    session.change({"step": {"do": "split", "rule": 1, "label": 0}})
    session.change({"step": {"do": "move", "rule": 1, "to": 0}})
    session.change({"step": {"do": "replace", "rule": 2, "text": "loud +2.5 <- level > -11"}})
    assert_script_repeats(session)
    session.change({"step": {"do": "insert", "at": 0, "text": "calm +1, happy −1 <- tempo <= 99"}})
    session.change({"step": {"do": "note", "rule": 0, "pinned": True, "name": "kept"}})
    session.change({"step": {"do": "insert", "at": 1, "text": "loud +1 <- tempo > 99, tempo <= 99"}})
    session.change({"step": {"do": "note", "rule": 1, "pinned": True}})
    learn(session, kind="scorecard", max_rules=3, pinned=True)
    again = next(at for at, rule in enumerate(session.project.model.rules) if rule.body[0].threshold == 99)
    assert [entry.label for entry in session.project.model.rules[again].head] == [0, 1]
    assert session.project.current.notes[rule_text_at(session.project.model, again)] == {"pinned": True, "name": "kept"}
    assert "got 0 points beside the others are left out: 2." in session.workers.job.events[-1]["result"]["warnings"][-1]
    assert_script_repeats(session)


def assert_script_repeats(session, alone=False):
    """Run the script, `alone` as a program of its own, and compare the models."""
    folder = session.path.parent
    (folder / "script.py").write_text(session.script(), encoding="utf-8")
    (folder / "model.json").unlink(missing_ok=True)
    if alone:
        done = subprocess.run([sys.executable, "-W", "ignore", "script.py"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    else:
        with contextlib.chdir(folder), warnings.catch_warnings(action="ignore"):
            runpy.run_path("script.py", run_name="__main__")
    made, saved = polyrule.load(folder / "model.json"), session.finished()
    plain = {name: value for name, value in saved.info.items() if name not in ("history", "notes")}
    for model in (made, saved):
        model.info.clear()
        model.info.update(plain)
    assert dumps(made) == dumps(saved)


def test_every_file_can_be_made(session):
    for name in FILES.keys() - {"new-predictions.csv"}:
        assert make_file(session, name)
    with pytest.raises(KeyError):
        make_file(session, "../secret")


def test_formulas_in_names_do_not_run_in_a_spreadsheet(tmp_path):
    text = songs(60).replace("song 1,", "=cmd|' /C calc'!A0,").replace("calm", "=calm", 1)
    (tmp_path / "songs.csv").write_text(text, encoding="utf-8")
    session = Session()
    session.take(Origin.of_file(tmp_path / "songs.csv"))
    session.prepare({"labels": ["=calm", "happy"], "identifier": "title", "drop": ["loud"]})
    learn(session, max_rules=2)
    for line in make_file(session, "predictions.csv").splitlines():
        assert not line.startswith(("=", '"='))
        assert ",=" not in line


def test_two_versions_are_compared(session):
    session.change({"step": {"do": "remove", "rule": 0}})
    found = session.questions.compare({"first": 0, "second": 1})
    assert len(found["same"]) == len(session.project.model)
    assert found["effect"] == session.bench.effect(session.project.versions[0].model, session.project.model)
    said = session.bench.tallies(session.project.versions[0].model)[1].labels
    other = session.bench.tallies(session.project.model)[1].labels
    assert len(found["rows"][1]) == min(50, int((said != other).any(axis=1).sum()))
    low, high = found["scores"]["micro_f1"][0][1:]
    assert low <= found["scores"]["micro_f1"][0][0] <= high


def test_a_fitted_estimator_opens_its_studio():
    train, test = datasets.load("emotions", part="train"), datasets.load("emotions", part="test")
    fitted = polyrule.RuleListClassifier(max_rules=3, teacher=None).fit(train)
    with fitted.studio(train, test, browser=False) as studio:
        assert studio.session.project.model is fitted.model_
        studio.session.change({"step": {"do": "remove", "rule": 0}})
        assert len(studio.model) == len(fitted.model_) - 1
    with pytest.raises(OptionError, match="both train and test"):
        open_studio(fitted, train, browser=False)


def test_a_model_waits_for_its_data(session, tmp_path):
    model = session.finished()
    other = Session()
    other.wait_for_data(model)
    assert other.state()["waiting"] == len(model)
    other.take(Origin.of_file(tmp_path / "songs.csv"))
    assert other.state()["ready"] is True
    assert other.project.model.rules == model.rules


@pytest.mark.parametrize("named", ["file", "benchmark"])
def test_work_on_a_model_of_some_columns_is_taken_up_and_repeated(tmp_path, named):
    if named == "file":  # with columns that the model does not know, and more categories
        (tmp_path / "songs.csv").write_text(songs().replace("jazz", "swing"), encoding="utf-8")
        origin = Origin.of_file(tmp_path / "songs.csv")
        (tmp_path / "before.csv").write_text(songs(), encoding="utf-8")
        data = read(tmp_path / "before.csv", labels=LABELS, drop=["title", "level"])
    else:
        origin, data = Origin("benchmark", "emotions"), datasets.load("emotions", drop="last:40")
    model = polyrule.RuleListClassifier(max_rules=3, teacher=None).fit(data).model_
    session = Session(tmp_path / "work.studio.json")
    session.wait_for_data(model)
    with warnings.catch_warnings(action="ignore"):
        session.begin(origin)
        session.change({"step": {"do": "remove", "rule": 0}})
        again = Session(session.path)
        again.resume()
    assert again.bench.train.features == model.features
    assert again.project.model.rules == session.project.model.rules
    (tmp_path / "opened.json").write_text(make_file(session, "opened.json"), encoding="utf-8")
    assert_script_repeats(again)


def test_a_model_remembers_how_its_data_is_written(tmp_path):
    moods = [["calm"], ["loud", "calm"], [], ["loud"]]
    rows = [f"song {n},{n % 4 + n / 100},{'; '.join(moods[n % 4])}" for n in range(60)]
    (tmp_path / "songs.csv").write_text("\n".join(["title,size,moods", *rows]), encoding="utf-8")
    data = read(tmp_path / "songs.csv", tags="moods", identifier="title")
    model = polyrule.RuleListClassifier(max_rules=3, teacher=None).fit(data.X, data.Y[:, ::-1]).model_
    assert model.label_names == ("loud", "calm")
    model.info.update(reading={"tags": "moods", "missing": ["?"]}, id_column="title")
    session = Session(tmp_path / "work.studio.json")
    session.wait_for_data(model)
    session.take(Origin.of_file(tmp_path / "songs.csv"))
    assert session.bench.train.row_ids[0].startswith("song ")
    session.change({"step": {"do": "remove", "rule": 0}})
    (tmp_path / "opened.json").write_text(make_file(session, "opened.json"), encoding="utf-8")
    assert_script_repeats(session)


def test_the_rules_of_a_scorecard_are_worked_on_like_others(tmp_path):
    session = learned_session(tmp_path, kind="scorecard", max_rules=2, max_conditions=2)
    bench, ask = session.bench, session.questions
    assert "view" in ask.labels()
    draft = ask.shape({"rule": 0, "body": [[0, 0, 90]], "weights": [[2, -1], [0, 3], [1, 0]]})
    assert draft["text"] == "calm +3, loud −1 <- tempo <= 90"
    assert draft["effect"] == bench.effect(session.project.model, session.project.model.replace(0, draft["text"]))
    assert ask.shape({"rule": 0, "body": [], "weights": [[0, 0]]})["problem"]
    assert ask.trial({"step": {"do": "insert", "at": 0, "text": "calm <- true"}})["problem"]
    for found in (ask.suggest({"part": 0, "filter": "wrong"})["suggestions"], *ask.conditions({"rule": 1}).values()):
        for one in found:
            after = apply(session.project.model, one["step"])
            assert one["effect"] == bench.effect(session.project.model, after)
    assert len(ask.suggest({"part": 0, "filter": "wrong"})["suggestions"]) > 0
    session.change({"step": {"do": "note", "rule": 1, "name": "second", "comment": "as expected"}})
    notes = [rule.get("note") for rule in summarise(session)["rules"]]
    assert notes == [None, {"name": "second", "comment": "as expected"}]


def summarise(session):
    """What a report says about the model as it is saved."""
    model, train, test = session.parts()
    return build({"model": model}, train, test).summary["models"][0]


def test_setup_survives_its_own_words():
    given = {
        "labels": ["a"],
        "drop": ["b"],
        "ordinal": {"c": ["x", "y"]},
        "monotone": {"d": "down"},
        "share": 0.2,
        "seed": 3,
    }
    setup = Setup.from_json(given)
    assert Setup.from_json(setup.to_json()) == setup


@pytest.mark.parametrize(
    ("cells", "looks"),
    [
        (["a;b", "b", "a;c", "c", "a", "b;c"] * 5, "tags"),
        (
            [f"Firefox ({system}; {number})" for system in ("Win", "Mac") for number in range(7)] * 2,
            "",
        ),  # two parts each
        ([f"person {number}" for number in range(30)], "identifier"),
        (["yes", "no"] * 15, "answer"),
        (["3", "1", "2"] * 10, ""),
    ],
)
def test_what_a_column_looks_like(cells, looks):
    text = "\n".join(["x,y", *(f'"{cell}",{row % 5}' for row, cell in enumerate(cells))])
    table = read(io.BytesIO(text.encode()), labels=None)
    assert looks_like(table, 0) == looks


def test_a_table_with_odd_columns_can_be_looked_at(tmp_path):
    lines = [{"on": f"{n % 3 + 1}/{n % 2 + 1}/2021", "n": n, "t": ["a"][: n % 2], "o": {"x": 1}} for n in range(30)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    session = Session()
    seen = session.take(Origin.of_file(tmp_path / "t.jsonl"))
    assert {column["name"]: column["looks"] for column in seen["columns"]} == {
        "on": "",
        "n": "",
        "t": "tags",
        "o": "text",
    }
    session.prepare({"tags": "t", "drop": ["o"], "identifier": "n", "date": ["on"], "dates": "day/month/year"})
    assert session.bench.label_names == ("a",)
    (tmp_path / "t.csv").write_text("on,y\n" + "".join(f"{n % 9 + 1}/{n % 7 + 1}/2021,{n % 2}\n" for n in range(30)))
    seen = session.take(Origin.of_file(tmp_path / "t.csv"))
    assert seen["columns"][0]["odd"] is True
    assert seen["setup"]["nominal"] == ["on"]
    assert "until you say how dates are written" in seen["findings"][0]
    session.prepare({"labels": ["y"], "date": ["on"], "dates": "month/day/year"})
    assert session.bench.train.features[0].kind == "date"


def test_a_last_word_comes_from_a_file_that_nobody_used(session, tmp_path):
    (tmp_path / "new.csv").write_text(songs(90, seed=3), encoding="utf-8")
    session.change({"step": {"do": "remove", "rule": 0}})
    found = session.judge(Origin.of_file(tmp_path / "new.csv"))
    assert [one["version"] for one in found["versions"]] == [0, 1]
    assert found["examples"] == 90
    with pytest.raises(PolyruleError, match="were not used before"):
        session.judge(Origin.of_file(tmp_path / "songs.csv"))
    assert session.intake.test_origin is None


def test_onnx_is_one_of_the_files(session):
    assert make_file(session, "model.onnx")[:1] == b"\x08"
    assert session.state()["onnx"] is True
