"""Suggestions keep what they promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyrule.errors import OptionError, PolyruleError
from polyrule.studio import ask
from polyrule.studio.bits import first
from polyrule.studio.steps import apply


def test_suggested_rules_do_what_is_said(session):
    model, bench = session.project.model.remove(0), session.bench
    found = ask.suggest(bench, model, bench.select(model, 0, "missed"), None, 1)
    assert found
    gains = []
    for one in found:
        after = apply(model, one["step"])
        assert one["effect"] == bench.effect(model, after)
        assert one["text"] in str(after)
        assert "¬" not in one["text"]
        train = one["effect"][0]
        gains.append(train["scores"]["micro_f1"] - train["before"]["micro_f1"])
    assert gains == sorted(gains, reverse=True)
    assert min(gains) > 0


def test_a_removed_rule_is_found_again(session):
    """What the rules leave open after one was taken away, the engine can put back."""
    model, bench = session.project.model, session.bench
    less = model.remove(0)
    best = ask.suggest(bench, less, bench.select(less, 0, "wrong"))[0]
    assert best["effect"][0]["fixed"] >= 0.5 * bench.effect(less, model)[0]["fixed"]


def test_suggestions_do_not_depend_on_held_out_examples(session):
    from polyrule.studio.workbench import Workbench

    model, bench = session.project.model.remove(0), session.bench
    spoilt = Workbench(bench.train, bench.train[::2])
    mine, other = (ask.suggest(one, model, one.select(model, 0, "wrong")) for one in (bench, spoilt))
    assert [one["step"] for one in mine] == [one["step"] for one in other]
    with pytest.raises(OptionError, match="never learned from"):
        session.questions.suggest({"part": 1, "filter": "wrong"})


def test_a_wrongly_predicted_label_is_taken_back_before_it_is_set(session):
    model, bench = session.project.model.insert(0, "loud <- true"), session.bench
    found = ask.suggest(bench, model, bench.select(model, 0, "extra", label=2), 2, 0)
    assert found
    assert all(one["text"].startswith("¬loud") and one["step"]["at"] == 0 for one in found)


def test_conditions_are_ranked_by_what_they_do(session):
    model, bench = replace(session.project.model, rules=()).insert(0, "loud <- tempo > 60"), session.bench
    found = ask.conditions(bench, model, 0)
    assert [one["text"] for one in found["drop"]] == ["tempo > 60"]
    assert found["add"][0]["text"].startswith("level > -1")
    for one in [*found["add"], *found["drop"]]:
        assert one["effect"] == bench.effect(model, apply(model, one["step"]))
    with pytest.raises(OptionError, match="there is no rule"):
        ask.conditions(bench, model, 99)


def test_large_data_is_thinned_evenly():
    rows = np.arange(100_000)
    kept = ask._thinned(rows)
    assert len(kept) == ask.MOST_SEARCHED // 2
    assert (kept[0], kept[-1]) == (0, 99_999)


@pytest.mark.parametrize(
    ("text", "offers"),
    [
        ("", ["calm", "happy", "loud"]),
        ("ha", ["happy"]),
        ("calm, l", ["loud", "calm"]),
        ("calm <- ", ["tempo", "level", "genre"]),
        ("calm <- tempo <= 3, ge", ["genre"]),
        ("calm <- genre = ", ["folk", "jazz", "rock"]),
        ("calm <- tempo > 1, genre = j", ["jazz"]),
        ("calm <- genre in {folk, r", ["rock"]),
        ("calm <- tempo > ", []),
        ("calm <- tempo <= 3, genre = folk, te", ["tempo"]),
    ],
)
def test_text_is_completed_with_names_that_fit(session, text, offers):
    found = session.questions.complete({"text": text})["offers"]
    assert sorted(one["insert"] for one in found) == sorted(offers)
    for one in found:
        assert text[: int(one["from"])] + one["insert"]


def test_rows_share_rules(session):
    model, bench = session.project.model, session.bench
    words = bench.select(model, 0, "rule", rule=1)
    found = session.questions.shared({"part": 0, "filter": "rule", "rule": 1})["rules"]
    assert {"rule": 1, "rows": len(first(words, 10**6, 0, 10**6)[0]), "of": found[0]["of"], "elsewhere": 0} in found
    chosen = session.questions.rows({"part": 0, "filter": "rule", "rule": 1})["examples"]["row"][:3]
    assert session.questions.shared({"part": 0, "rows": chosen})["rules"][0]["of"] == len(chosen)


@pytest.mark.parametrize(
    "body",
    [[[0, 99, 1.0]], [[2, 1, 0]], [[4, 2, []]], [[4, 2, [77]]], [[9, 0, 0]], [[0, 0]], "x", [[0, 0, "1"]], [[3, 8, 1]]],
)
def test_a_rule_put_together_wrongly_is_an_answer_or_refused(session, body):
    try:
        answer = session.questions.shape({"rule": 0, "head": [[0, 1]], "body": body})
    except PolyruleError:
        return
    assert "problem" in answer


def test_a_rule_put_together_on_the_page_is_the_rule_that_is_stored(session):
    answer = session.questions.shape(
        {"rule": 0, "head": [[1, 0], [0, 1]], "body": [[1, 0, 90.5], [0, 0, 120], [4, 2, [2, 0]]]}
    )
    assert answer["text"] == "calm, ¬happy <- 90.5 < tempo <= 120, genre in {jazz, folk}".replace(
        "jazz, folk", "folk, rock"
    )
    session.change({"step": answer["step"]})
    assert session.view()["view"]["models"][0]["rules"][0]["text"] == answer["text"]
