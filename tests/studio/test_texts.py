"""Texts, lists, dates and identifiers in the studio: rules test words, members and days; scripts repeat it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.studio.conftest import learn

import polyrule
from polyrule.studio.new_rows import predictions_table
from polyrule.studio.saving import make_file
from polyrule.studio.session import Session
from polyrule.studio.setup import Origin

PLOTS = (
    "a zombie walks through the town",
    "two people fall in love",
    "a zombie falls in love again",
    "a day at the sea",
)
PLACES = ("Home", "Home, Work", "Work, School", "School", "Work")


def films(rows: int = 240) -> str:
    lines = ["film_id,plot,places,opened,closed,size,scary,busy"]
    for n in range(rows):
        plot, places = PLOTS[n * 7 % 4], PLACES[n * 3 % 5]
        day = f"2021-{n % 9 + 1:02}-{n % 27 + 1:02}"
        later = f"2021-{n % 9 + 1:02}-{n % 27 + 1 + n % 2:02}"
        labels = f"{int('zombie' in plot)},{int('Work' in places)}"
        lines.append(f'F{n:05},{plot} {n % 200},"{places}",{day},{later},{n % 13},{labels}')
    return "\n".join(lines) + "\n"


def looked(folder: Path) -> tuple[Session, dict[str, Any]]:
    (folder / "films.csv").write_text(films(), encoding="utf-8")
    session = Session(folder / "films.studio.json", by="tester")
    return session, session.take(Origin.of_file(folder / "films.csv"))


@pytest.fixture
def session(tmp_path: Path) -> Session:
    found, _ = looked(tmp_path)
    found.prepare({"labels": ["scary", "busy"], "identifier": "film_id"})
    learn(found)
    return found


def test_each_column_says_what_it_is(tmp_path):
    _, seen = looked(tmp_path)
    kinds = {column["name"]: column["kind"] for column in seen["columns"]}
    assert kinds["plot"] == "text"
    assert kinds["places"] == "list"
    assert kinds["opened"] == "date"
    assert seen["choices"]["parts"] == {"film_id": "identifier", "scary": "label", "busy": "label"}


def test_what_a_column_is_can_be_changed(tmp_path):
    session, _ = looked(tmp_path)
    session.prepare({"labels": ["scary", "busy"], "drop": ["film_id"], "words": ["places"], "nominal": ["plot"]})
    names = session.bench.train.X.feature_names
    assert "places has work" in names
    assert "places has Work" not in names
    assert session.bench.train.features[0].name == "plot"
    assert session.bench.train.features[0].categories == ()  # nearly every row has its own


def test_an_identifier_is_learned_from_only_if_a_person_wants_it(tmp_path):
    session, _ = looked(tmp_path)
    session.prepare({"labels": ["scary", "busy"]})
    assert session.bench.train.features[0].categories == ()
    session.prepare({"labels": ["scary", "busy"], "keep": ["film_id"]})
    assert len(session.bench.train.features[0].categories) == 240
    learn(session)
    assert session.project.current.step["options"]["constraints"] == {"keep_columns": ["film_id"]}
    assert "keep=['film_id']" in session.script()


def test_rules_test_words_members_and_days(session):
    texts = " ".join(str(rule["text"]) for rule in session.view()["view"]["models"][0]["rules"])
    assert "plot has zombie" in texts
    assert "places has Work" in texts
    for text in ("scary if plot has love", "busy <- days from opened to closed > 0", "scary <- ¬places has School"):
        found = session.questions.trial({"step": {"do": "insert", "at": 0, "text": text}})
        assert found["counts"][0]["covers"] > 0
        answer = session.change({"step": found["step"]})
        assert "problem" not in answer


def test_words_that_no_rule_tests_are_offered_after_reading_the_project_again(session):
    session.change({"step": {"do": "insert", "at": 0, "text": "scary <- plot has love"}, "why": "heard so"})
    again = Session(session.path)
    again.resume()
    assert [v.what for v in again.project.versions] == [v.what for v in session.project.versions]
    assert again.project.model.features == session.project.model.features
    again.change({"step": {"do": "insert", "at": 0, "text": "busy <- plot has people"}})
    assert len(again.project.model) == len(session.project.model) + 1
    assert "plot has walks" not in session.path.read_text(encoding="utf-8")  # words that no rule tests are not kept


def test_the_script_ends_with_the_saved_model(session, tmp_path):
    session.change({"step": {"do": "insert", "at": 0, "text": "scary <- plot has love, plot has people"}})
    learn(session)
    session.change({"step": {"do": "insert", "at": 1, "text": "busy <- days from opened to closed > 0"}})
    (tmp_path / "script.py").write_text(session.script(), encoding="utf-8")
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, capture_output=True)
    again, saved = polyrule.load(tmp_path / "model.json"), session.finished()
    assert (again.rules, again.features) == (saved.rules, saved.features)
    assert not any(feature.name == "plot has zombie again" for feature in saved.features)


def test_new_rows_and_a_last_word(session, tmp_path):
    header, *lines = films(300).splitlines()
    (tmp_path / "new.csv").write_text("\n".join([header, *lines[240:]]), encoding="utf-8")
    found = session.predict(Origin.of_file(tmp_path / "new.csv"))
    assert found["examples"] == 60
    assert found["labelled"]
    assert found["scores"]["micro_f1"] == 1
    assert "has zombie" in predictions_table(session.new_rows, session.project.model)
    assert session.judge(Origin.of_file(tmp_path / "new.csv"))["versions"][0]["scores"]["micro_f1"] == 1


def test_every_file_can_be_made(session):
    for name in ("model.json", "report.html", "predictions.csv", "rules.txt", "model.py", "model.js", "model.sql"):
        assert make_file(session, name)
    assert '"plot has zombie"' in str(make_file(session, "report.html"))


def test_suggestions_and_conditions_use_words(session):
    session.change({"step": {"do": "remove", "rule": 0}})
    found = session.questions.suggest({"part": 0, "filter": "wrong"})["suggestions"]
    assert any("plot has zombie" in one["text"] or "places has Work" in one["text"] for one in found)


def test_a_column_with_units_is_one_column_of_the_page(tmp_path):
    lines = [f"{n % 90 + 60} min,{n % 2}" if n % 3 else f"{n % 7 + 1} Seasons,{n % 2}" for n in range(120)]
    (tmp_path / "shows.csv").write_text("\n".join(["duration,good", *lines]), encoding="utf-8")
    session = Session()
    seen = session.take(Origin.of_file(tmp_path / "shows.csv"))
    (duration,) = [column for column in seen["columns"] if column["name"].startswith("duration")]
    assert duration["name"] == "duration"
    assert [name for name in duration["becomes"] if not name.startswith("duration (")] == []
    session.prepare({"labels": ["good"], "nominal": ["duration"]})
    assert session.bench.train.X.feature_names == ("duration",)
