"""What a condition on a feature means: for a value, for a table, for a model that it is put into."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import partial
from math import isfinite
from operator import is_
from typing import Any, Protocol, TypeVar

import numpy as np

from polyrule.data.derive.registry import derivation_of
from polyrule.data.table import Feature, Table
from polyrule.errors import ModelError
from polyrule.model.rule import (
    Condition,
    FeatureCondition,
    GroupCondition,
    InputCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
    changed_tests,
    plain_conditions,
)
from polyrule.utils.arrays import Bools, Floats


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
        held = np.sum([holds(member, table) for member in condition.members], axis=0, dtype=np.int64)
        return np.asarray(held >= condition.least)
    return table.apply(condition.feature, partial(holds_in, condition))


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


def met(condition: InputCondition, row: Floats) -> bool:
    """Whether one example with these feature values satisfies a condition."""
    if isinstance(condition, GroupCondition):
        return sum(met(member, row) for member in condition.members) >= condition.least
    return bool(holds_in(condition, row[condition.feature]))


def fits(condition: Condition, features: tuple[Feature, ...], labels: int = 0) -> bool:
    """Whether a condition can be asked of a model with these features, and of a list with so many labels."""
    if isinstance(condition, GroupCondition):
        return all(fits(member, features) for member in condition.members)
    if isinstance(condition, LabelCondition):
        return 0 <= condition.label < labels and condition.value in (0, 1)
    if not 0 <= condition.feature < len(features):
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


def check_rules(model: Any, is_known: Callable[[Any], bool], names: str, labels: int = 0) -> None:
    """Refuse rules that speak of what a model does not have; as many `labels` may be tested.

    `is_known` says of an entry of a head whether the model has its label, and `names` what one that is not known names.
    """
    for number, rule in enumerate(model.rules, start=1):
        for said in rule.head:
            if not is_known(said):
                raise ModelError(f"rule {number}: head entry {said} names {names}")
        for condition in rule.body:
            if not fits(condition, model.features, labels):
                raise ModelError(f"rule {number}: condition {condition} names no column or value of this model")


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
    """Return a body without limits that another limit on a feature of the same source implies; it covers the same.

    Examples
    --------
    >>> from polyrule.data.derive.dates import date_features
    >>> body = (NumericCondition(0, "<=", 14900.0), NumericCondition(1, "<=", 2010.0), NumericCondition(1, ">", 2008.0))
    >>> without_implied_dates(body, date_features("on")) == (body[0], body[2])  # until 2010-10-18, not in 2008
    True
    """
    limits = [c for c in body if isinstance(c, NumericCondition)]
    if all(features[c.feature].derived is None for c in limits):
        return body
    last = {c: source for c in limits if (source := _last_source(c, features[c.feature])) is not None}
    implied = [
        one
        for one in last
        for other in last
        if one.feature != other.feature
        and one.op == other.op
        and features[one.feature].column == features[other.feature].column
        and (last[other] <= last[one] if one.op == "<=" else last[other] >= last[one])
        # Of two equivalent limits the derived one stays, as a year is read more easily than a day.
        and not (features[one.feature].derived is not None and last[other] == last[one])
    ]
    return tuple(condition for condition in body if condition not in implied)


def _last_source(condition: NumericCondition, feature: Feature) -> float | None:
    derivation = derivation_of(feature)
    return None if derivation is None else derivation.last_source(condition.threshold)


Model = TypeVar("Model")

_MOST_DIGITS = 17  # with so many, every double reads back as itself


def shown_threshold(condition: NumericCondition, digits: int | None) -> float:
    """Return the threshold as it is printed with `digits` significant digits, or with more where so many would lie.

    It lies between the same two training values; where the condition does not know them, it is not rounded.

    Examples
    --------
    >>> shown_threshold(NumericCondition(0, "<=", 44.5, between=(44.2, 44.9)), 2)
    44.5
    >>> shown_threshold(NumericCondition(0, "<=", 44.5, between=(43.0, 46.0)), 1), NumericCondition(0, "<=", 44.5)
    (44.0, NumericCondition(feature=0, op='<=', threshold=44.5))
    """
    if digits is None or condition.between is None:
        return condition.threshold
    low, high = condition.between
    for candidate in _roundings(condition.threshold, digits):
        if low <= candidate < high:
            return candidate
    return condition.threshold


def shown_value(value: float, digits: int | None, thresholds: Iterable[float] = ()) -> float:
    """Return a value with `digits` significant digits, or with more where it would seem to cross a threshold.

    Examples
    --------
    >>> shown_value(0.1304, 2), shown_value(0.1304, 2, [0.13])
    (0.13, 0.1304)
    """
    if digits is None or not math.isfinite(value):
        return value
    sides = [(threshold, value <= threshold) for threshold in thresholds]
    for kept in range(digits, _MOST_DIGITS):
        candidate = float(f"{value:.{kept}g}")
        if all((candidate <= threshold) == side for threshold, side in sides):
            return candidate
    return value


class Data(Protocol):
    """Data that knows which values lie next to a threshold: a table, or packed data."""

    @property
    def features(self) -> tuple[Feature, ...]:
        """Name and kind of every column."""

    def neighbours(self, index: int, thresholds: Floats) -> list[tuple[float, float] | None]:
        """Return the values on either side of ascending thresholds; see `Table.neighbours`."""


def with_gaps(model: Model, data: Data, *, also: bool = False) -> Model:
    """Return a model of any kind whose thresholds know between which values of the training data they lie.

    A feature that is tested and has no other values than 0 and 1 there is marked as a flag.

    With `also`, these are further examples: however a threshold is rounded, it divides them, too, as it did.

    Examples
    --------
    >>> from polyrule.data import Table
    >>> from polyrule.model import Literal, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", 2.51234),))
    >>> model = with_gaps(RuleList((rule,), (Feature("x0"),), ("large",)), Table.from_array([[1.0], [2.6]]))
    >>> print(model.format(digits=2, counts=False).splitlines()[0])
    1. large <- x0 > 2.5
    >>> print(with_gaps(model, Table.from_array([[2.505]]), also=True).format(digits=2, counts=False).splitlines()[0])
    1. large <- x0 > 2.51
    """
    features, rules = model.features, model.rules  # type: ignore[attr-defined]
    names = {} if data.features == features else {f.name: j for j, f in enumerate(data.features)}
    by_feature: dict[int, set[float]] = {}
    for condition in (c for rule in rules for c in plain_conditions(rule.body) if isinstance(c, NumericCondition)):
        by_feature.setdefault(condition.feature, {-math.ulp(0.0), 1.0}).add(condition.threshold)
    known: dict[int, dict[float, tuple[float, float] | None]] = {}
    for index, thresholds in by_feature.items():
        place, asked = names[features[index].name] if names else index, np.array(sorted(thresholds))
        known[index] = dict(zip(asked.tolist(), data.neighbours(place, asked), strict=True))

    def gap(condition: NumericCondition) -> tuple[float, float] | None:
        found, own = known[condition.feature][condition.threshold], condition.between
        if not also or found is None:
            return found
        return None if own is None else (max(own[0], found[0]), min(own[1], found[1]))

    def changed(condition: FeatureCondition) -> FeatureCondition:
        if not isinstance(condition, NumericCondition) or features[condition.feature].is_stepped:
            return condition
        return NumericCondition(condition.feature, condition.op, condition.threshold, gap(condition))

    def is_flag(index: int) -> bool:
        low, high = known[index][-math.ulp(0.0)], known[index][1.0]
        return low is not None and high is not None and (low[0], high[1]) == (-math.inf, math.inf)

    bodies = [changed_tests(rule.body, changed) for rule in rules]
    limits = [c for body in bodies for c in plain_conditions(body) if isinstance(c, NumericCondition)]
    tested = {condition.feature for condition in limits if condition.between == (0.0, 1.0)}
    flags = {index for index in tested if (features[index].flag or not also) and is_flag(index)}
    marked = tuple(replace(f, flag=j in flags) if f.flag or j in flags else f for j, f in enumerate(features))
    kept = (all(map(is_, body, rule.body)) for rule, body in zip(rules, bodies, strict=True))
    said = (r if same else replace(r, body=body) for r, body, same in zip(rules, bodies, kept, strict=True))
    return replace(model, features=marked, rules=tuple(said))  # type: ignore[type-var]


def is_short(number: float, digits: int) -> bool:
    """Whether a number has at most so many significant digits."""
    return float(f"{number:.{digits}g}") == number


def _roundings(number: float, digits: int) -> Iterator[float]:
    """Roundings of a number, those with fewer digits first; of equally many the nearest, then its neighbours."""
    exact = Decimal(number)
    for kept in range(digits, _MOST_DIGITS + 1):
        last = Decimal(1).scaleb(exact.adjusted() + 1 - kept)
        for way in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
            yield float(exact.quantize(last, way)) + 0.0  # never -0.0
