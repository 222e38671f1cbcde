"""The story of a model: what was done and why, scores of every step, the last word; in its file and in its report."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.report.conftest import visit as open_report
from tests.studio.conftest import songs

from polyrule.errors import ModelError
from polyrule.model.files import dumps, loads
from polyrule.report import build
from polyrule.studio.project_file import read_project
from polyrule.studio.session import Session
from polyrule.studio.setup import Origin

visit = open_report


@pytest.fixture
def judged(session, tmp_path):
    """A session with two changes, of which one has a reason, and a last word."""
    session.change({"step": {"do": "insert", "at": 0, "text": "calm <- tempo > 150"}, "why": "<b>a guess</b>"})
    session.change({"step": {"do": "remove", "rule": 0}})
    (tmp_path / "fresh.csv").write_text(songs(90, seed=3), encoding="utf-8")
    session.judge(Origin.of_file(tmp_path / "fresh.csv"))
    return session


def test_the_file_of_a_model_tells_its_steps_with_reasons_and_scores(judged):
    model = loads(dumps(judged.finished()))
    steps = model.info["history"]
    assert [step["step"] for step in steps] == ["learn", "insert", "remove"]
    assert [step["why"] for step in steps] == ["", "<b>a guess</b>", ""]
    learned = len(judged.project.versions[0].model.rules)
    assert [step["rules"] for step in steps] == [learned, learned + 1, learned]
    assert steps[0]["micro_f1"] == steps[2]["micro_f1"] != steps[1]["micro_f1"]
    held_out = judged.bench.tallies(judged.project.versions[1].model)[1].scores["micro_f1"]
    assert steps[1]["micro_f1"]["held out"] == round(held_out, 6)
    (word,) = model.info["last_word"]
    assert (word["file"], word["examples"], word["by"]) == ("fresh.csv", 90, "tester")
    assert [entry["version"] for entry in word["versions"]] == [1, 3]  # steps of the history, from 1


def test_a_last_word_on_versions_that_were_left_is_not_told_of_the_model(judged):
    judged.go_to({"version": 1})
    (word,) = judged.finished().info["last_word"]
    assert [entry["version"] for entry in word["versions"]] == [1]


def test_scores_and_last_words_are_kept_by_the_project_file(judged):
    again = Session(judged.path)
    again.resume()
    assert again.finished().info["last_word"] == judged.finished().info["last_word"]
    assert [one.scores for one in again.project.versions] == [one.scores for one in judged.project.versions]
    document = json.loads(judged.path.read_text(encoding="utf-8"))
    for damage in ({"version": 7}, {"version": 0, "scores": 3}):
        broken = {**document, "last_words": [{"versions": [damage]}]}
        judged.path.write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(ModelError):
            read_project(judged.path)


def test_projects_without_scores_are_read(session):
    document = json.loads(session.path.read_text(encoding="utf-8"))
    del document["last_words"]
    for version in document["versions"]:
        del version["scores"]
    session.path.write_text(json.dumps(document), encoding="utf-8")
    again = Session(session.path)
    again.resume()
    assert again.finished().info["history"] == session.finished().info["history"]


def test_the_report_shows_the_history_with_reasons_and_the_last_word(visit, judged):
    model, train, test = judged.parts()
    page = visit(build(model, train, test), "story")
    section = page.locator("#section-story")
    table = section.get_by_role("table", name="History")
    assert table.locator("tbody tr").count() == 3
    assert "<b>a guess</b>" in table.locator("tbody tr").nth(1).inner_text()
    scores = model.info["history"][1]["micro_f1"]
    assert f"{scores['held out']:.3f}" in table.locator("tbody tr").nth(1).inner_text()
    assert "2 changes were made with the held-out scores in sight" in section.inner_text()
    last = section.get_by_role("table", name="Scores on fresh.csv")
    assert last.locator("tbody tr").count() == 2
    score = model.info["last_word"][0]["versions"][1]["scores"]["micro_f1"]
    assert f"{score:.3f}" in last.locator("tbody tr").nth(1).inner_text()


@pytest.mark.parametrize("history", [3, "x", [1, None], [{"what": 3, "why": ["a"], "micro_f1": {"held out": "x"}}]])
def test_a_history_that_anybody_made_up_breaks_no_report(visit, session, history):
    model, train, test = session.parts()
    info = {**model.info, "history": history, "last_word": [{"versions": [{}]}, {"versions": []}, 7]}
    page = visit(build(replace(model, info=info), train, test), "story")
    page.locator("#section-story h2").wait_for()
    page.get_by_role("link", name="Overview").click()
