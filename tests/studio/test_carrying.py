"""Learning again without a new history: columns left out, directions, and what of a person's work stays."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.studio.conftest import learn
from tests.studio.test_texts import session as texts  # noqa: F401  # a fixture

import polyrule
from polyrule.errors import OptionError


def work(session) -> None:
    session.change({"step": {"do": "insert", "at": 0, "text": "calm <- tempo <= 90"}, "why": "slow is calm"})
    session.change({"step": {"do": "note", "rule": 0, "name": "slow ones"}})
    session.change({"step": {"do": "insert", "at": 1, "text": "happy <- genre = folk"}})
    session.change({"step": {"do": "note", "rule": 1, "pinned": True, "comment": "by Ada"}})


def test_rules_made_by_hand_and_pinned_stay_with_their_notes_and_reasons(session):
    work(session)
    found = session.workers.carried({"kind": "list", "pinned": True, "edited": True, "forbid": ["level"]})
    assert found == {"keeps": [1, 2], "lost": []}
    learn(session, pinned=True, edited=True, forbid=["level"], max_rules=5)
    rules = session.view()["view"]["models"][0]["rules"]
    assert [rule["text"] for rule in rules[:2]] == ["calm <- tempo <= 90", "happy <- genre = folk"]
    assert rules[0]["note"] == {"name": "slow ones"}
    assert rules[1]["note"] == {"pinned": True, "comment": "by Ada"}
    assert not any("level" in rule["text"] for rule in rules)
    assert "without ['level']" in session.project.current.what
    assert "slow is calm" in [version.why for version in session.project.versions]
    assert session.limits() == {"forbid": ["level"], "monotone": {}}


def test_what_does_not_stay_is_said_first(session):
    work(session)
    lost = session.workers.carried({"kind": "list", "pinned": True, "edited": True, "forbid": ["tempo"]})["lost"]
    assert lost == [
        "Rule 1 (If tempo is at most 90, then calm) is changed by hand and does not stay: it tests tempo, which is "
        "left out."
    ]
    lost = session.workers.carried({"kind": "list", "edited": True, "monotone": {"tempo": "up"}})["lost"]
    assert "it goes against the direction of tempo" in lost[0]
    lost = session.workers.carried({"kind": "scorecard", "pinned": True})["lost"]
    assert "stays only if it is learned again" in lost[0]
    assert "a rule of a list has no points" in lost[1]


def test_a_column_that_is_not_there_is_refused(session):
    with pytest.raises(OptionError, match="there is no column 'tempos'"):
        session.workers.carried({"kind": "list", "forbid": ["tempos"]})


def test_a_direction_holds_in_the_next_model(session):
    learn(session, monotone={"tempo": "down"})
    assert session.project.current.step["options"]["constraints"] == {"monotone": {"tempo": "down"}}
    assert not any("tempo >" in rule["text"] for rule in session.view()["view"]["models"][0]["rules"])


def test_a_text_that_is_left_out_takes_its_words_along(texts, tmp_path):  # noqa: F811
    learn(texts, forbid=["plot", "opened"])
    assert not any("plot" in str(rule["text"]) for rule in texts.view()["view"]["models"][0]["rules"])
    (tmp_path / "script.py").write_text(texts.script(), encoding="utf-8")
    subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=True, capture_output=True)
    assert polyrule.load(tmp_path / "model.json").rules == texts.finished().rules
