"""Rounded thresholds do not lie: whatever is printed covers the same training examples."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyrule import RuleEnsembleClassifier, RuleListClassifier, SeCoClassifier, load
from polyrule.conditions import flatten
from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.conditions.rounding import is_short, round_beside
from polyrule.data import Feature, Table
from polyrule.errors import ModelError
from polyrule.model import Literal, NumericCondition, Rule, RuleList
from polyrule.model.parsing import parse_rule
from polyrule.model.predict import fired_rows

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False) | st.integers(-100, 100).map(lambda n: n / 8)


def one_rule(threshold: float, between: tuple[float, float] | None = None) -> RuleList:
    rule = Rule((Literal(0, 1),), (NumericCondition(0, "<=", threshold, between),))
    return RuleList((rule,), (Feature("age"),), ("old",))


def table(*ages: float) -> Table:
    return Table.from_array([[age] for age in ages], [Feature("age")])


@given(st.lists(NUMBERS, min_size=1, max_size=8), NUMBERS, st.integers(1, 6))
def test_a_rounded_threshold_divides_the_values_alike_and_is_no_longer_than_needed(values, threshold, digits):
    column = np.array(values)
    (gap,) = Table.from_array(column[:, None]).neighbours(0, np.array([threshold]))
    shown = NumericCondition(0, "<=", threshold, gap).rounded(digits)
    assert ((column <= shown) == (column <= threshold)).all()
    if not is_short(shown, digits):  # neither the nearest short number nor those beside it will do
        for kept in range(digits, 17):
            if is_short(shown, kept):
                break
            nearest = float(f"{threshold:.{kept}g}")
            assert ((column <= nearest) != (column <= threshold)).any()


@given(NUMBERS, st.lists(NUMBERS, max_size=4), st.integers(1, 6))
def test_a_rounded_value_stays_on_its_side_of_thresholds(value, thresholds, digits):
    shown = round_beside(value, digits, thresholds)
    assert [shown <= t for t in thresholds] == [value <= t for t in thresholds]


def test_what_cannot_be_rounded_says_so():
    model = with_threshold_intervals(one_rule(44.5), table(44.2, 44.9))
    assert model.format(digits=2, counts=False) == (
        "1. old <- age <= 44.5\n(labels that no rule sets are absent)\n"
        "(more than 2 digits where fewer could cover other examples: rule 1)"
    )
    assert "age <= 44   " in with_threshold_intervals(one_rule(44.5), table(44.0, 45.0)).format(digits=2)
    assert "age <= 40   " in with_threshold_intervals(one_rule(44.5), table(30.0, 45.0)).format(digits=1)
    # Nobody knows what a rule made by hand would cover.
    assert "rule 1" in one_rule(44.25).format(digits=2)
    assert "more than" not in one_rule(44).format(digits=2)


def test_a_rounded_requirement_asks_for_enough():
    model = one_rule(44.56, (40.0, 47.0))
    assert "age <= 44 (now 45)" in str(model.smallest_flip([44.57], "old", digits=2))
    assert "age <= 44 (now 44.3)" in str(one_rule(44.2, (40.0, 47.0)).smallest_flip([44.3], "old", digits=2))
    assert "age > 45 (now 44)" in str(model.smallest_flip([44.3], "old", digits=2))
    assert "age > 44.56 (now 44.3)" in str(model.smallest_flip([44.3], "old"))


def learned() -> list:
    rng = np.random.default_rng(3)
    values = rng.normal(50, 12, size=(300, 3))
    truth = np.column_stack([values[:, 0] > 52.123, values[:, 1] + values[:, 2] > 103.4]).astype(np.uint8)
    estimators = [SeCoClassifier(), RuleListClassifier(), RuleEnsembleClassifier(max_rules=8)]
    return [(values, truth, estimator.fit(values, truth).rules_) for estimator in estimators]


@pytest.mark.parametrize("kind", range(3))
def test_every_learner_knows_its_gaps_and_files_keep_them(kind, tmp_path):
    values, _, model = learned()[kind]
    table = Table.from_array(values)
    conditions = [c for rule in model.rules for c in flatten(rule.body) if isinstance(c, NumericCondition)]
    assert conditions
    for condition in conditions:
        assert [condition.between] == table.neighbours(condition.feature, np.array([condition.threshold]))
        shown = condition.rounded(2)
        column = values[:, condition.feature]
        assert ((column <= shown) == (column <= condition.threshold)).all()
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").format(digits=2) == model.format(digits=2)
    text = (tmp_path / "model.json").read_text()
    # A file of an earlier version does not know the gaps, and prints all digits.
    (tmp_path / "old.json").write_text(re.sub(r', "between": \[[^]]*\]', "", text))
    old = load(tmp_path / "old.json", check=False)
    assert [rule.body for rule in old] == [rule.body for rule in model]
    assert all(c.between is None for rule in old for c in flatten(rule.body))


def test_a_rounded_list_covers_the_same_examples():
    values, _, model = learned()[0]
    table = Table.from_array(values)
    lines = model.format(digits=2).splitlines()[: len(model)]
    rounded = RuleList(
        tuple(parse_rule(line, model.features, model.label_names) for line in lines), model.features, model.label_names
    )
    assert any(len(line) < len(full) for line, full in zip(lines, model.format().splitlines(), strict=False))
    for one, other in zip(fired_rows(rounded, table), fired_rows(model, table), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("between", ["[1]", "[50, 60]", '["a", 60]', "7"])
def test_gaps_that_are_none_are_refused(between, tmp_path):
    path = tmp_path / "model.json"
    one_rule(44.5, (44.0, 45.0)).save(path)
    path.write_text(path.read_text().replace("[44.0, 45.0]", between))
    with pytest.raises(ModelError, match="between"):
        load(path, check=False)
