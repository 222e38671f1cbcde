"""Numbers with few digits that still mean the same: a rounded threshold covers the same training examples."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any, Protocol, TypeVar

from polyrule.data.table import Feature
from polyrule.model.rule import GroupCondition, NumericCondition, plain_conditions

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

    def neighbours(self, index: int, threshold: float) -> tuple[float, float] | None:
        """Return the values on either side of a threshold; see `Table.neighbours`."""


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
    known: dict[tuple[int, float], tuple[float, float] | None] = {}

    def gap(condition: NumericCondition) -> tuple[float, float] | None:
        key = condition.feature, condition.threshold
        if key not in known:
            place = names[features[condition.feature].name] if names else condition.feature
            known[key] = data.neighbours(place, condition.threshold)
        found, own = known[key], condition.between
        if not also or found is None:
            return found
        return None if own is None else (max(own[0], found[0]), min(own[1], found[1]))

    def changed(condition: Any) -> Any:
        if isinstance(condition, GroupCondition):
            return replace(condition, members=tuple(map(changed, condition.members)))
        if not isinstance(condition, NumericCondition) or features[condition.feature].is_stepped:
            return condition
        return replace(condition, between=gap(condition))

    def is_flag(index: int) -> bool:
        place = names[features[index].name] if names else index
        low, high = data.neighbours(place, -math.ulp(0.0)), data.neighbours(place, 1.0)
        return low is not None and high is not None and (low[0], high[1]) == (-math.inf, math.inf)

    bodies = [tuple(map(changed, rule.body)) for rule in rules]
    limits = [c for body in bodies for c in plain_conditions(body) if isinstance(c, NumericCondition)]
    tested = {condition.feature for condition in limits if condition.between == (0.0, 1.0)}
    flags = {index for index in tested if (features[index].flag or not also) and is_flag(index)}
    marked = tuple(replace(f, flag=j in flags) if f.flag or j in flags else f for j, f in enumerate(features))
    said = (replace(rule, body=body) for rule, body in zip(rules, bodies, strict=True))
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
