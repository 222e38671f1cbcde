"""The smallest flip is compared with brute force: every cell of every feature, tried out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.strategies import random_table, rule_lists, slow_predict

from polyrule.conditions import flatten
from polyrule.data import Feature
from polyrule.errors import ModelError
from polyrule.model import Literal, NominalCondition, NumericCondition, Rule, RuleList
from polyrule.model.counterfactual import counterfactual


def options(model: RuleList, index: int, old: float) -> list[tuple[float, int]]:
    """Every value worth trying for a feature, with its steps, worked out from scratch."""
    feature = model.features[index]
    if feature.is_nominal:
        return [(old, 0)] + [(float(v), 1) for v in range(len(feature.categories)) if v != old]
    asked = [c for rule in model.rules for c in flatten(rule.body) if isinstance(c, NumericCondition)]
    tests = {c.threshold for c in asked if c.feature == index}
    points = [*sorted(tests), np.nextafter(max(tests), np.inf)] if tests else [0.0]
    if feature.is_stepped and tests:
        points = [*map(np.floor, sorted(tests)), np.floor(max(tests)) + 1]
    if np.isnan(old):
        return [(old, 0)] + [(p, 1) for p in points]
    crossed = [(p, sum(min(old, p) <= t < max(old, p) for t in tests)) for p in points]
    return [(old, 0)] + [(p, steps) for p, steps in crossed if steps]


def brute_force(model: RuleList, row: np.ndarray, label: int, fixed: set[int]) -> tuple[int, int] | None:
    before = slow_predict(model, row)[0][label]
    best = None
    choices = [[(v, 0)] if j in fixed else options(model, j, v) for j, v in enumerate(row)]
    for picked in product(*choices):
        changed, steps = sum(s > 0 for _, s in picked), sum(s for _, s in picked)
        if (best is None or (changed, steps) < best) and slow_predict(model, np.array([v for v, _ in picked]))[0][
            label
        ] != before:
            best = (changed, steps)
    return best


@settings(max_examples=300, deadline=None)
@given(rule_lists(max_rules=7, max_features=3), st.integers(0, 10**6), st.booleans())
def test_no_smaller_change_flips_the_label(model, seed, lock):
    row = np.asarray(random_table(model.features, 1, seed))[0]
    fixed = {0} if lock else set()
    for label in range(len(model.label_names)):
        flip = counterfactual(model, row, label, fixed=fixed)
        assert flip.exact
        expected = brute_force(model, row, label, fixed)
        if expected is None:
            assert flip.changes is None
            continue
        assert flip.changes is not None
        assert (len(flip.changes), flip.steps) == expected
        moved = row.copy()
        for change in flip.changes:
            assert change.feature not in fixed
            moved[change.feature] = change.new
        assert slow_predict(model, moved)[0][label] == flip.becomes != slow_predict(model, row)[0][label]


def chain(length: int) -> RuleList:
    """To set the last label, every feature has to change: each rule needs the label before it."""
    from polyrule.model import LabelCondition

    rules = []
    for k in range(length):
        body = (NumericCondition(k, ">", 0.5), *((LabelCondition(k - 1, 1),) if k else ()))
        rules.append(Rule((Literal(k, 1),), body))
    return RuleList(tuple(rules), tuple(Feature(f"x{k}") for k in range(length)), tuple(f"y{k}" for k in range(length)))


def test_a_long_chain_is_followed_to_its_end():
    flip = counterfactual(chain(12), np.zeros(12), "y11")
    assert flip.exact
    assert flip.changes is not None
    assert len(flip.changes) == 12


def test_the_limit_is_honest():
    flip = counterfactual(chain(12), np.zeros(12), "y11", limit=3)
    assert (flip.changes, flip.exact, flip.explored) == (None, False, 3)
    assert "was found in 3 tries" in str(flip)


def test_words_and_plain_values():
    features = (Feature("colours"), Feature("religion", "nominal", ("none", "hindu")))
    rules = (Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5), NominalCondition(1, 1))),)
    model = RuleList(rules, features, ("red", "blue"))
    flip = model.smallest_flip([2.0, np.nan], "red")
    assert str(flip) == (
        "red is absent; the smallest change that makes it present: colours > 5.5 (now 2);"
        " religion = hindu (now missing)"
    )
    assert flip.to_dict()["changes"][1] == {
        "feature": "religion", "old": None, "old_text": "missing", "new": 1.0, "requirement": "religion = hindu"
    }  # fmt: skip
    never = model.smallest_flip([2.0, 0.0], 1)
    assert str(never) == "blue is absent, whatever the features are"
    assert never.to_dict()["changes"] is None
    kept = model.smallest_flip([2.0, 0.0], "red", fixed=["colours"])
    assert kept.changes is None
    assert str(kept) == "red is absent, whatever the features are (fixed: colours)"


def test_unknown_names_are_refused():
    model = chain(2)
    with pytest.raises(ModelError, match="no label 'z'"):
        counterfactual(model, [0, 0], "z")
    with pytest.raises(ModelError, match="no label 2; it has 2"):
        counterfactual(model, [0, 0], 2)
    with pytest.raises(ModelError, match="no feature 'z'"):
        counterfactual(model, [0, 0], 0, fixed=["z"])
    with pytest.raises(ModelError, match=r"one example with 2 feature value\(s\)"):
        counterfactual(model, [0, 0, 0], 0)


@pytest.mark.parametrize(
    ("feature", "limits", "row", "digits", "asked"),
    [
        (Feature("proline"), (506.0, 679.0), 900.0, None, "506 < proline <= 679 (now 900)"),
        (Feature("proline"), (506.0, 679.0), 900.0, 3, "506 < proline <= 679 (now 900)"),
        (Feature("plan", "ordinal", ("basic", "plus", "pro")), (0.5, 1.5), 2.0, None, "plan = plus (now pro)"),
    ],
)
def test_a_range_is_printed_as_in_rules(feature, limits, row, digits, asked):
    low, high = limits
    rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", low), NumericCondition(0, "<=", high)))
    model = RuleList((rule,), (feature,), ("strong",))
    flip = counterfactual(model, [row], "strong", digits=digits)
    assert str(flip) == f"strong is absent; the smallest change that makes it present: {asked}"
    assert flip.changes[0].requirement in str(model)
