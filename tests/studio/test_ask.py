"""Suggestions keep what they promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polyrule.conditions import GroupCondition, NominalCondition, NumericCondition
from polyrule.conditions.evaluate import evaluate
from polyrule.data.table import unpacked_bits
from polyrule.errors import OptionError, PolyruleError
from polyrule.report.counts import first
from polyrule.studio import ask, rule_changes
from polyrule.studio.steps import apply, rule_text_at


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
    found = rule_changes.conditions(bench, model, 0)
    assert [one["text"] for one in found["drop"]] == ["tempo is above 60"]
    assert found["add"][0]["text"].startswith("level is above -1")
    for one in [*found["add"], *found["drop"]]:
        assert one["effect"] == bench.effect(model, apply(model, one["step"]))
    with pytest.raises(OptionError, match="there is no rule"):
        rule_changes.conditions(bench, model, 99)


def test_a_column_without_a_value_is_no_condition(session):
    from polyrule.data.table import Feature, Table
    from polyrule.studio.workbench import Workbench

    bench, model = session.bench, session.project.model
    features = (*model.features, Feature("mood", "nominal", ()))

    def with_empty_column(data):
        values = np.column_stack([data.X.values, np.full(len(data), np.nan)])
        return replace(data, X=Table(values, features))

    wide = Workbench(with_empty_column(bench.train), with_empty_column(bench.test))
    found = rule_changes.conditions(wide, replace(model, features=features), 0)
    assert [one["text"] for one in found["add"]] == [
        one["text"] for one in rule_changes.conditions(bench, model, 0)["add"]
    ]


def test_large_data_is_thinned_evenly():
    rows = np.arange(100_000)
    kept = ask.thinned(rows, ask.MOST_SEARCHED // 2)
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
        ("calm <- any of (", ["tempo", "level", "genre"]),
        ("calm <- any of (tempo > 3, genre = ", ["folk", "jazz", "rock"]),
        ("calm <- any of (tempo > 3, genre in {folk, j", ["jazz"]),
        ('calm <- at least 2 of "slow ones" {te', ["tempo"]),
        ("calm <- any of (tempo > 3, level > 2), ge", ["genre"]),
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
        answer = session.questions.shape({"rule": 0, "body": body})
    except PolyruleError:
        return
    assert "problem" in answer


def test_a_rule_put_together_on_the_page_is_the_rule_that_is_stored(session):
    session.change({"step": {"do": "insert", "at": 0, "text": "calm, !happy <- true"}})
    answer = session.questions.shape({"rule": 0, "body": [[1, 0, 90.5], [0, 0, 120], [4, 2, [2, 0]]]})
    assert answer["text"] == "calm, ¬happy <- 90.5 < tempo <= 120, genre in {jazz, folk}".replace(
        "jazz, folk", "folk, rock"
    )
    session.change({"step": answer["step"]})
    assert session.view()["view"]["models"][0]["rules"][0]["text"] == answer["text"]


def test_a_group_is_counted_from_its_members(session):
    bench = session.bench
    slow, folk, loud = NumericCondition(0, "<=", 90.0), NominalCondition(2, 0), NumericCondition(1, ">", -10.0)
    for part in bench.parts:
        for least in (1, 2):
            group = GroupCondition((slow, folk, loud), least)
            assert (
                unpacked_bits(part.covers.condition(group), len(part)).tolist() == evaluate(group, part.table).tolist()
            )


def test_rules_that_differ_in_one_condition_are_joined(session):
    for text in ("calm <- tempo <= 90, level > -20", "calm <- genre = folk, level > -20"):
        session.change({"step": {"do": "insert", "at": 0, "text": text}})
    session.change({"step": {"do": "note", "rule": 1, "name": "slow ones"}})
    before = session.project.model
    trial = session.questions.trial({"step": {"do": "join", "rules": [1, 0], "name": "quiet words"}})
    assert trial["text"] == 'calm <- any of "quiet words" (genre = folk, tempo <= 90), level > -20'
    session.change({"step": trial["step"]})
    after = session.project.model
    assert len(after.rules) == len(before.rules) - 1
    assert rule_text_at(after, 0) == trial["text"]
    assert session.bench.effect(before, after) == trial["effect"]
    # next to each other, both rules and the joined one set the same labels
    assert session.bench.tallies(before)[0].labels.tolist() == session.bench.tallies(after)[0].labels.tolist()
    assert session.project.current.notes[trial["text"]]["name"] == "slow ones"
    assert session.project.current.what.startswith("joined rules 1, 2: If any of")
    session.change({"step": {"do": "insert", "at": 1, "text": "calm <- level > -20, genre = jazz"}})
    session.change({"step": {"do": "join", "rules": [0, 1]}})
    assert rule_text_at(session.project.model, 0) == (
        'calm <- any of "quiet words" (genre in {folk, jazz}, tempo <= 90), level > -20'
    )
    session.change({"step": {"do": "insert", "at": 0, "text": "loud <- genre = jazz"}})
    session.change({"step": {"do": "insert", "at": 0, "text": "loud <- genre = rock"}})
    session.change({"step": {"do": "join", "rules": [0, 1], "name": "no group, so no name"}})
    assert rule_text_at(session.project.model, 0) == "loud <- genre in {jazz, rock}"
    for _ in range(6):
        session.undo()
    assert session.project.model is before


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["calm <- tempo <= 90", "happy <- tempo <= 80"], "the same head"),
        (["calm <- tempo <= 90", "!calm <- level > 3"], "the same head"),
        (["calm <- tempo <= 90, level > 1", "calm <- genre = folk"], "but for one condition each"),
        (["calm <- tempo <= 90", "calm <- tempo <= 90"], "contained in another"),
        (["calm <- at least 2 of (tempo > 3, level > 2, genre = folk)", "calm <- tempo <= 90"], "at least 2 must hold"),
        ([f"calm <- any of (tempo > 3, level > 2), genre = {genre}" for genre in ("folk", "jazz")], "at most one"),
    ],
)
def test_rules_that_cannot_be_joined_say_why(session, texts, words):
    for text in texts:
        session.change({"step": {"do": "insert", "at": 0, "text": text}})
    assert words in session.questions.trial({"step": {"do": "join", "rules": [0, 1]}})["problem"]
    for rules in ([], [0], [0, 99]):
        assert session.questions.trial({"step": {"do": "join", "rules": rules}})["problem"]


def test_alternatives_and_members_are_ranked_by_what_they_would_do(session):
    for _ in session.project.model.rules:
        session.change({"step": {"do": "remove", "rule": 0}})
    session.change({"step": {"do": "insert", "at": 0, "text": "happy <- tempo > 140"}})
    bench, model = session.bench, session.project.model
    found = rule_changes.conditions(bench, model, 0)
    assert found["widen"]
    for one in found["widen"]:
        assert one["effect"] == bench.effect(model, apply(model, one["step"]))
        assert one["effect"][0]["scores"]["micro_f1"] > one["effect"][0]["before"]["micro_f1"]
    texts = [one["step"]["text"] for one in found["widen"]]
    assert any("any of (tempo >" in text and "genre = folk" in text for text in texts)
    text = "happy <- any of (tempo > 115, genre = folk, level > 5)"
    session.change({"step": {"do": "replace", "rule": 0, "text": text}})
    drop = rule_changes.conditions(bench, session.project.model, 0)["drop"]
    assert drop[0]["step"]["text"] == "happy <- any of (tempo > 115, genre = folk)"
    assert len(drop) == 4


def test_a_group_put_together_on_the_page(session):
    session.change({"step": {"do": "insert", "at": 0, "text": "calm <- true"}})
    group = [6, 1, [[0, 0, 90], [4, 2, [0]], [1, 1, -12.5]], "mine"]
    answer = session.questions.shape({"rule": 0, "body": [group]})
    assert answer["text"] == 'calm <- any of "mine" (tempo <= 90, genre = folk, level > -12.5)'
    one = session.questions.shape({"rule": 0, "body": [[6, 1, [[0, 0, 90]], ""]]})
    assert one["text"] == "calm <- tempo <= 90"
    for body in ([[6, 1, [], ""]], [[6, 1, [[3, 0, 1], [0, 0, 1]], ""]], [group, [6, 1, [[0, 0, 80], [1, 1, 3]], ""]]):
        assert session.questions.shape({"rule": 0, "body": body})["problem"]
