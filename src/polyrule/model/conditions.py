"""What a condition on a feature means: for a value, for a table, for a model that it is put into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import floor, isfinite
from typing import Any

import numpy as np

from polyrule.arrays import Bools, Floats, Ints
from polyrule.data.dates import year_start
from polyrule.data.table import Feature, Table
from polyrule.errors import ModelError
from polyrule.model.rule import (
    Condition,
    FeatureCondition,
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
)


def holds(condition: Condition, table: Table) -> Bools:
    """Return for every example whether the condition is satisfied; a missing value satisfies no comparison.

    Examples
    --------
    >>> holds(NumericCondition(0, ">", 5.5), Table.from_array([[6.0], [2.0], [float("nan")]])).tolist()
    [True, False, False]
    """
    if isinstance(condition, LabelCondition):
        raise ModelError("a condition on a label says nothing about a table")
    if isinstance(condition, GroupCondition):
        return np.asarray(number_held(condition, table) >= condition.least)
    return table.apply(condition.feature, partial(holds_in, condition))


def number_held(group: GroupCondition, table: Table) -> Ints:
    """Return for every example how many members of a group hold; one less than the least is its border.

    Examples
    --------
    >>> group = GroupCondition((NumericCondition(0, ">", 5.5), NumericCondition(1, ">", 0.5)))
    >>> number_held(group, Table.from_array([[6.0, 1.0], [6.0, 0.0], [2.0, float("nan")]])).tolist()
    [2, 1, 0]
    """
    return np.asarray(np.sum([holds(member, table) for member in group.members], axis=0, dtype=np.int64))


def holds_in(condition: FeatureCondition, column: Floats) -> Bools:
    """Return for every value of the condition's feature whether it satisfies the condition.

    Examples
    --------
    >>> holds_in(MissingCondition(0, True), np.array([6.0, np.nan])).tolist()
    [False, True]
    """
    match condition:
        case NumericCondition(_, "<=", threshold):
            return np.asarray(column <= threshold)
        case NumericCondition(_, _, threshold):
            return np.asarray(column > threshold)
        case NominalCondition(_, value):
            return np.asarray(column == value)
        case SetCondition(_, values):
            return np.isin(column, values)
        case MissingCondition(_, missing):
            return np.asarray(np.isnan(column) == missing)


def fits(condition: Condition, features: tuple[Feature, ...]) -> bool:
    """Whether a condition can be asked of a model with these features; conditions on labels cannot."""
    if isinstance(condition, GroupCondition):
        return all(fits(member, features) for member in condition.members)
    if isinstance(condition, LabelCondition) or not 0 <= condition.feature < len(features):
        return False
    feature = features[condition.feature]
    match condition:
        case NumericCondition(_, op, threshold):
            if op not in ("<=", ">") or not isfinite(threshold) or feature.is_nominal:
                return False
            return feature.kind != "ordinal" or 0 <= threshold < len(feature.categories) - 1
        case NominalCondition(_, value):
            return feature.is_nominal and 0 <= value < len(feature.categories)
        case SetCondition(_, values):
            ascending = len(values) > 0 and list(values) == sorted(set(values))
            return feature.is_nominal and ascending and values[0] >= 0 and values[-1] < len(feature.categories)
        case MissingCondition():
            return True


def accepted(condition: FeatureCondition, feature: Feature) -> list[int]:
    """Return the categories of a nominal or ordinal feature that satisfy a condition.

    Examples
    --------
    >>> accepted(NumericCondition(0, ">", 0.5), Feature("plan", "ordinal", ("basic", "plus", "pro")))
    [1, 2]
    """
    every = np.arange(len(feature.categories))
    return np.flatnonzero(holds_in(condition, every.astype(np.float64))).tolist()


def tidy(body: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return a body that covers the same with no two conditions where one would do.

    Of several thresholds on one side the sharpest stays, sets become their intersection, and a value that is compared
    need not be known, too. Conditions on one feature stand together, the lower limit first.

    Examples
    --------
    >>> tidy((NumericCondition(0, "<=", 6), NumericCondition(0, ">", 1), NumericCondition(0, "<=", 3)))
    (NumericCondition(feature=0, op='>', threshold=1), NumericCondition(feature=0, op='<=', threshold=3))
    >>> tidy((SetCondition(1, (0, 2)), MissingCondition(1, False), SetCondition(1, (0, 1))))
    (NominalCondition(feature=1, value=0),)
    """
    groups: dict[Any, list[Any]] = {}
    for condition in body:
        match condition:
            case LabelCondition(label):
                key: Any = ("label", label)
            case GroupCondition():
                key = "group"
            case _:
                key = condition.feature
        groups.setdefault(key, []).append(condition)
    return tuple(condition for group in groups.values() for condition in _merged(group))


def chosen(feature: int, values: list[int]) -> FeatureCondition:
    """Return the condition that a nominal feature has one of some values, as short as it can be said."""
    return NominalCondition(feature, values[0]) if len(values) == 1 else SetCondition(feature, tuple(sorted(values)))


def _merged(group: list[Any]) -> list[Any]:
    if len(group) == 1 or isinstance(group[0], (LabelCondition, GroupCondition)):
        return list(dict.fromkeys(group))
    above = max((c for c in group if isinstance(c, NumericCondition) and c.op == ">"), key=_threshold, default=None)
    below = min((c for c in group if isinstance(c, NumericCondition) and c.op == "<="), key=_threshold, default=None)
    merged: list[Condition] = [c for c in (above, below) if c is not None]
    sets = [set(categories_of(c)) for c in group if is_choice(c)]
    if sets and (common := set.intersection(*sets)):
        merged.append(chosen(group[0].feature, sorted(common)))
    elif sets:
        merged += [c for c in group if is_choice(c)]  # nothing satisfies them together
    asked = {c.missing: c for c in group if isinstance(c, MissingCondition)}
    return [*merged, *(c for missing, c in asked.items() if missing or not merged)]


def said_shorter(group: GroupCondition) -> GroupCondition | FeatureCondition:
    """Return a condition that holds where "any of" does, with no member that follows from another.

    Of several thresholds on one side the widest stays, and categories of one feature become one set. Where one
    condition is left there is no group. "At least two of" says something about each member and stays.

    Examples
    --------
    >>> members = NominalCondition(1, 2), MissingCondition(0, True), NominalCondition(1, 0)
    >>> said_shorter(GroupCondition(members)).members
    (SetCondition(feature=1, values=(0, 2)), MissingCondition(feature=0, missing=True))
    >>> said_shorter(GroupCondition((NumericCondition(0, ">", 6), NumericCondition(0, ">", 3))))
    NumericCondition(feature=0, op='>', threshold=3)
    """
    if group.least > 1:
        return group
    kinds: dict[Any, list[Any]] = {}
    for member in group.members:
        kind = member.op if isinstance(member, NumericCondition) else "choice" if is_choice(member) else member
        kinds.setdefault((member.feature, kind), []).append(member)
    members = tuple(_widest(kind, alike) for (_, kind), alike in kinds.items())
    return members[0] if len(members) == 1 else replace(group, members=members)


def _widest(kind: Any, alike: list[Any]) -> Any:
    if kind == ">":
        return min(alike, key=_threshold)
    if kind == "<=":
        return max(alike, key=_threshold)
    if kind == "choice" and len(alike) > 1:
        return chosen(alike[0].feature, sorted({value for c in alike for value in categories_of(c)}))
    return alike[0]


def categories_of(condition: NominalCondition | SetCondition) -> tuple[int, ...]:
    """Return the categories that a condition names."""
    return (condition.value,) if isinstance(condition, NominalCondition) else condition.values


def is_choice(condition: Condition) -> bool:
    """Whether a condition names the categories that satisfy it."""
    return isinstance(condition, (NominalCondition, SetCondition))


def _threshold(condition: NumericCondition) -> float:
    return condition.threshold


def without_implied_dates(body: tuple[Condition, ...], features: Sequence[Feature]) -> tuple[Condition, ...]:
    """Return a body without limits of a year that its date implies, and the other way round; it covers the same.

    Examples
    --------
    >>> features = [Feature("on", "date"), Feature("on year", part="year")]
    >>> body = (NumericCondition(0, "<=", 14900.0), NumericCondition(1, "<=", 2010.0), NumericCondition(1, ">", 2008.0))
    >>> without_implied_dates(body, features) == (body[0], body[2])  # until 2010-10-18, not in 2008
    True
    """
    limits = [c for c in body if isinstance(c, NumericCondition) and _is_day_or_year(features[c.feature])]
    implied = [
        one
        for one in limits
        for other in limits
        if one.feature != other.feature
        and one.op == other.op
        and features[one.feature].column == features[other.feature].column
        and _implies(other, one, features)
        # Of two that say the same, the year stays: it is read more easily.
        and not (features[one.feature].part and _implies(one, other, features))
    ]
    return tuple(condition for condition in body if condition not in implied)


def _is_day_or_year(feature: Feature) -> bool:
    return feature.kind == "date" or feature.part == "year"


def _implies(one: NumericCondition, other: NumericCondition, features: Sequence[Feature]) -> bool:
    """Whether every day that satisfies one limit satisfies the other, on the same side; both as days."""
    mine, others = (_last_day(c, features[c.feature]) for c in (one, other))
    return mine <= others if one.op == "<=" else mine >= others


def _last_day(condition: NumericCondition, feature: Feature) -> int:
    """The last day up to a limit: ``<=`` covers it, ``>`` begins after it."""
    return year_start(floor(condition.threshold) + 1) - 1 if feature.part else floor(condition.threshold)
