"""A date is one thing to change: the smallest flip is compared with trying every day."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.conditions import flatten
from polyrule.data import Feature, Table
from polyrule.data.dates import day_of
from polyrule.data.derive.dates import date_features, part_of
from polyrule.data.derive.registry import derivation_of
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.errors import ModelError
from polyrule.model import (
    GroupCondition,
    LabelCondition,
    Literal,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    Rule,
    RuleList,
)

DAYS = np.arange(day_of("2010-12-01"), day_of("2015-02-01"))  # every month and weekday on either side of all thresholds
FEATURES = (*date_features("on"), Feature("size"))
THRESHOLDS = {
    "on": [day_of(text) + 0.5 for text in ("2012-02-28", "2012-12-31", "2013-04-05")],
    "on year": [2011.5, 2012.5, 2013.5],
    "on month": [0.5, 3.5, 10.5],
    "size": [1.5, 2.5],
}


@st.composite
def conditions(draw: st.DrawFn, features: tuple[Feature, ...]) -> Any:
    j = draw(st.integers(0, len(features) - 1))
    if draw(st.integers(0, 7)) == 0:
        return MissingCondition(j, draw(st.booleans()))
    if features[j].is_nominal:
        return NominalCondition(j, draw(st.integers(0, 6)))
    threshold = draw(st.sampled_from(THRESHOLDS[features[j].name]))
    return NumericCondition(j, draw(st.sampled_from(["<=", ">"])), threshold)


@st.composite
def bodies_of(draw: st.DrawFn, features: tuple[Feature, ...]) -> Any:
    plain = [draw(conditions(features)) for _ in range(draw(st.integers(1, 3)))]
    members = draw(st.lists(conditions(features), max_size=4, unique=True))
    if len(members) < 2:
        return tuple(plain)
    return (*plain[1:], GroupCondition(tuple(members), draw(st.integers(1, len(members) - 1))))


@st.composite
def dated_models(draw: st.DrawFn) -> Any:
    """Lists and ensembles of two labels over a date, some of its parts and a number; the date may be excluded."""
    kept = draw(st.sets(st.sampled_from(range(5)), min_size=1))
    features = tuple(FEATURES[j] for j in sorted(kept))
    bodies = [draw(bodies_of(features)) for _ in range(draw(st.integers(1, 6)))]
    if draw(st.booleans()):
        weights = st.sampled_from([-2.0, -1.0, 1.0, 2.0])
        rules = tuple(WeightedRule((Entry(draw(st.integers(0, 1)), draw(weights)),), body) for body in bodies)
        return RuleEnsemble(rules, features, ("a", "b"), (0.5, -0.5), Decision("threshold", (0.0, 0.0)))
    lists = []
    for body in bodies:
        more = (LabelCondition(0, draw(st.integers(0, 1))),) if draw(st.integers(0, 3)) == 0 else ()
        head = (Literal(draw(st.integers(0, 1)), draw(st.integers(0, 1))),)
        lists.append(Rule(head, (*body, *more), stop=draw(st.booleans())))
    return RuleList(tuple(lists), features, ("a", "b"))


def rows_of(features: tuple[Feature, ...], days: np.ndarray, size: np.ndarray) -> np.ndarray:
    columns = [size if (derivation := derivation_of(f)) is None else derivation.values(days) for f in features]
    return np.column_stack(columns)


def thresholds_of(model: Any, j: int) -> set[float]:
    conditions = [c for rule in model.rules for c in flatten(rule.body) if not isinstance(c, LabelCondition)]
    return {c.threshold for c in conditions if c.feature == j and isinstance(c, NumericCondition)}


def brute_force(model: Any, day: float, size: float, label: int, fixed: list[str]) -> tuple[int, int] | None:
    """Features changed and steps of the smallest flip: every day with every size, counted from the definition."""
    features = model.features
    tested = {c.feature for rule in model.rules for c in flatten(rule.body) if not isinstance(c, LabelCondition)}
    sizes = np.array([size, 1.0, 2.0, 3.0])
    days = np.concatenate([[day], DAYS])
    old = rows_of(features, np.array([day]), np.array([size]))[0]
    new = rows_of(features, np.repeat(days, 4), np.tile(sizes, len(days)))
    steps = np.zeros((len(new), 2), dtype=int)  # of the date, of the size
    for j in tested:
        kind = 0 if features[j].source_kind == "date" else 1
        same = (new[:, j] == old[j]) | (np.isnan(new[:, j]) & np.isnan(old[j]))
        if np.isnan(old[j]):
            steps[:, kind] = np.where(same, steps[:, kind], 1)
        elif features[j].is_nominal:
            steps[:, kind] += ~same
        else:
            steps[:, kind] += sum((new[:, j] <= t) != (old[j] <= t) for t in thresholds_of(model, j)) + 0 * same
    allowed = np.ones(len(new), dtype=bool)
    for name in fixed:
        part = name.removeprefix("on").strip()
        mine = part_of(np.repeat(days, 4), part) if name.startswith("on") else np.tile(sizes, len(days))
        was = part_of(np.array([day]), part)[0] if name.startswith("on") else size
        allowed &= (mine == was) | (np.isnan(mine) & np.isnan(was))
    labels = model.predict(Table.from_array(new, features))[:, label]
    flips = allowed & (labels != labels[0])
    costs = {((row > 0).sum(), row.sum()) for row in steps[flips]}
    return min(costs) if costs else None


@settings(max_examples=250, deadline=None)
@given(
    dated_models(),
    st.sampled_from([*DAYS[40:-40:37].tolist(), float("nan")]),
    st.sampled_from([1.0, 2.0, 3.0, float("nan")]),
    st.lists(st.sampled_from(["on", "on year", "on month", "on weekday", "size"]), max_size=2, unique=True),
)
def test_no_other_day_is_a_smaller_change(model, day, size, fixed):
    features = model.features
    row = rows_of(features, np.array([day]), np.array([size]))[0]
    known = {name for f in features for name in (f.name, f.column)}
    # Where the date is excluded, a part that is no feature is not known either, and cannot be kept.
    fixed = [name for name in fixed if name in known]
    for label in (0, 1):
        flip = model.smallest_flip(row, label, fixed=fixed)
        expected = brute_force(model, day, size, label, fixed)
        assert flip.exact
        if expected is None:
            assert flip.changes is None
            continue
        assert flip.changes is not None
        assert (len(flip.changes), flip.steps) == expected
        moved = row.copy()
        for change in flip.changes:
            for j, value in change.values.items():
                moved[j] = value
        dated = [j for j, f in enumerate(features) if f.source_kind == "date"]
        new = next((change.new for change in flip.changes if change.name == "on" or change.name.startswith("on ")), day)
        if len({features[j].derived for j in dated}) > 1 and new != day:
            assert moved[dated].tolist() == rows_of(features, np.array([new]), np.array([0.0]))[0][dated].tolist()
        assert model.predict(Table.from_array(moved[None, :], features))[0, label] == flip.becomes != flip.was


def weekend_list() -> RuleList:
    rule = Rule((Literal(0, 1),), (NumericCondition(2, ">", 10.5), NominalCondition(3, 4)))
    return RuleList((rule,), date_features("on"), ("gift",))


def test_one_day_has_all_parts_at_once():
    model = weekend_list()  # Fridays in December
    row = [*rows_of(date_features("on"), np.array([day_of("2013-04-04")]), np.array([0.0]))[0]]
    assert str(model.smallest_flip(row, "gift")) == (
        "gift is absent; the smallest change that makes it present: on month = December and on weekday = Friday, "
        "such as 2012-12-28 (now 2013-04-04)"
    )
    assert "such as 2013-12-06" in str(model.smallest_flip(row, "gift", fixed=["on year"]))
    assert model.smallest_flip(row, "gift", fixed=["on month"]).changes is None
    assert model.smallest_flip(row, "gift", fixed=["on"]).changes is None


def test_the_day_is_read_where_the_model_knows_only_parts_of_it():
    whole = weekend_list()
    parts = RuleList(
        (Rule((Literal(0, 1),), (NumericCondition(0, ">", 10.5), NominalCondition(1, 4))),),
        date_features("on")[2:],
        ("gift",),
    )
    expected = (
        "gift is absent; the smallest change that makes it present: on month = December and on weekday = Friday, "
        "such as 2012-12-28 (now 2013-04-04)"
    )
    assert {str(model.smallest_flip({"on": "2013-04-04"}, "gift")) for model in (whole, parts)} == {expected}
    # Of a bare row only parts are known, so parts are asked for.
    assert str(parts.smallest_flip([3.0, 3.0], "gift")) == (
        "gift is absent; the smallest change that makes it present: on month = December and on weekday = Friday "
        "(now April, Thursday)"
    )
    assert parts.smallest_flip([3.0, 3.0], "gift", fixed=["on"]).changes is None
    with pytest.raises(ModelError, match="no feature 'off'"):
        parts.smallest_flip([3.0, 3.0], "gift", fixed=["off"])


def test_a_row_whose_parts_do_not_fit_together_is_taken_as_it_stands():
    model = weekend_list()
    row = [day_of("2013-04-04"), 2013.0, 11.0, 4.0]  # says December and Friday of a Thursday in April
    flip = model.smallest_flip(row, "gift")
    assert flip.was == model.predict(Table.from_array([row], model.features))[0, 0] == 1
    assert flip.changes is not None
    (change,) = flip.changes
    assert model.predict(Table.from_array([list(change.values.values())], model.features))[0, 0] == 0
