"""Rules of an ensemble written, moved, joined and counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.report.worlds import random_data, random_ensemble

from polyrule.data import Feature
from polyrule.errors import ModelError
from polyrule.model.decisions import Decision
from polyrule.model.printing import rule_text
from polyrule.model.rule import Entry, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble

FEATURES = (Feature("tempo"), Feature("a, b", "nominal", ("x", "y, z")))


def empty() -> RuleEnsemble:
    return RuleEnsemble((), FEATURES, ("calm", 'odd, "one" +3'), (-1, 0), Decision("threshold", (0, 0)))


@pytest.mark.parametrize("seed", range(6))
def test_a_rule_reads_back_as_it_was(seed):
    model = random_ensemble(seed, rules=8)
    for index, rule in enumerate(model.rules):
        again = model.replace(index, rule_text(rule, model)).rules[index]
        assert again.head == rule.head
        assert rule_text(again, model) == rule_text(rule, model)


def test_odd_names_and_printed_counts_are_read():
    model = empty().insert(0, '2. "odd, \\"one\\" +3" −2, calm +1.25 <- "a, b" = "y, z"   (covers 42)')
    assert model.rules[0].head == (Entry(0, 1.25), Entry(1, -2.0))
    assert model.info["edited"] is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("calm <- true", "its weight"),
        ("calm 3 <- true", "its weight"),
        ("calm +x <- true", "not a number"),
        ("calm +1e999 <- true", "finite"),
        ("+3 <- true", "its weight"),
        ("calm +1, calm +2 <- true", "twice"),
        ("calm +0 <- true", "weight of 0"),
        ("calm +1 <- calm", "features only"),
        ("calm +1 <- true [stop]", "stop"),
        ("calm +1", "arrow"),
        ("clam +1 <- true", "calm"),
    ],
)
def test_what_is_no_weighted_rule_says_why(text, words):
    with pytest.raises(ModelError, match=words):
        empty().insert(0, text)


def test_order_changes_no_sum_and_places_are_checked():
    model = random_ensemble(2, rules=4)
    whole = model.rules
    data = random_data(model, 50, 3)
    moved = model.move(0, 3)
    assert moved.rules == (*whole[1:], whole[0])
    assert np.allclose(moved.scores(data.X), model.scores(data.X))
    for wrong in (lambda: model.insert(9, "x"), lambda: model.move(0, 9), lambda: model.replace(-9, "x")):
        with pytest.raises(ModelError, match="there is no"):
            wrong()


def test_joined_rules_hold_where_either_did_with_the_first_weights():
    model = empty().insert(0, "calm +2 <- tempo <= 90").insert(1, 'calm +1 <- "a, b" = x')
    joined = model.join(0, 1)
    assert joined.format_rule(0) == 'calm +2 <- any of (tempo <= 90, "a, b" = x)'
    values = np.array([[80, 0], [80, 1], [120, 0], [120, 1]], dtype=float)
    assert joined.scores(_table(values))[:, 0].tolist() == [1, 1, 1, -1]
    with pytest.raises(ModelError, match="same signs"):
        model.insert(2, "calm -1 <- tempo > 200").join(0, 2)
    with pytest.raises(ModelError, match="at least two"):
        model.join(1)


def test_what_rules_cover_is_counted_anew():
    model = random_ensemble(4, rules=5)
    data = random_data(model, 60, 5)
    counted = model.recount(data)
    assert [rule.coverage for rule in counted.rules] == model.fired(data.X).sum(axis=0).tolist()
    assert [rule.head for rule in counted.rules] == [rule.head for rule in model.rules]


def test_a_rule_may_be_given_as_such():
    rule = WeightedRule((Entry(0, 2.0),), ())
    assert empty().insert(0, rule).replace(0, rule).rules == (rule,)


def _table(values):
    from polyrule.data.table import Table

    return Table.from_array(values, FEATURES)
