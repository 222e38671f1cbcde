"""Conditions on a date and on its year, where one follows from the other."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from polyrule.data.dates import year_start
from polyrule.data.table import Feature
from polyrule.model.rule import Condition, NumericCondition


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
