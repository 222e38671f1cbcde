"""Thresholds that people can say: the shortest decimal between the same two neighbouring values."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

import numpy as np

from polyrule.arrays import Floats
from polyrule.data.table import Table
from polyrule.errors import OptionError
from polyrule.model.rule import Condition, FeatureCondition, GroupCondition, LabelCondition, NumericCondition
from polyrule.model.rule_list import RuleList

KINDS = ("short", "midpoint")


def check_kind(kind: str) -> None:
    """Refuse what is no way to write thresholds."""
    if kind not in KINDS:
        raise OptionError(f"thresholds must be 'short' or 'midpoint', got {kind!r}")


def short_between(low: float, high: float) -> float:
    """Return the shortest decimal in the middle third between two numbers; the nearest to the middle of equally short.

    Where nothing shorter fits, as between two neighbouring doubles, it is `low` itself: ``x <= low`` and ``x > low``
    divide the two just as well.

    Examples
    --------
    >>> short_between(16230.12, 16242.44), short_between(0.1312, 0.1314), short_between(2, 3), short_between(-1, 1)
    (16236.0, 0.1313, 2.5, 0.0)
    """
    with localcontext() as context:
        context.prec = 1200  # doubles and their thirds, exactly enough for every pair
        lower, upper = Decimal(low), Decimal(high)
        third, middle = (upper - lower) / 3, (lower + upper) / 2
        size = max(abs(lower + third), abs(upper - third))
        place = size.adjusted() + 1 if size else 0
        for exponent in range(place, place - 25, -1):
            step = Decimal(1).scaleb(exponent)
            nearest = (middle / step).to_integral_value(ROUND_HALF_EVEN) * step
            if lower + third <= nearest <= upper - third:
                found = float(nearest) + 0.0  # never -0.0
                return found if low <= found < high else low
    return low


def shorten(rule_list: RuleList, table: Table, after: int = 0) -> RuleList:
    """Return the list with thresholds that divide all examples of `table` alike and take fewest digits.

    The first rules, as many as `after` says, stay as they are.
    """
    shorter = Shortener(table)
    rules = [replace(rule, body=tuple(map(shorter.condition, rule.body))) for rule in rule_list.rules[after:]]
    return replace(rule_list, rules=(*rule_list.rules[:after], *rules))


class Shortener:
    """Writes thresholds for one table; every column is sorted once."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._spans: dict[int, tuple[Floats, Floats]] = {}
        self._whole: dict[int, bool] = {}
        self._known: dict[tuple[int, float], float] = {}

    def condition(self, condition: Condition) -> Condition:
        """Return the condition, or the members of a group, with the shortest thresholds; others stay as they are."""
        if isinstance(condition, GroupCondition):
            members = tuple(map(self._shorter, condition.members))
            distinct = len(set(members)) == len(members)
            return replace(condition, members=members) if distinct else condition
        return condition if isinstance(condition, LabelCondition) else self._shorter(condition)

    def _shorter(self, condition: FeatureCondition) -> FeatureCondition:
        if not isinstance(condition, NumericCondition):
            return condition
        key = condition.feature, condition.threshold
        if key not in self._known:
            self._known[key] = self._threshold(*key)
        return replace(condition, threshold=self._known[key])

    def _threshold(self, feature: int, threshold: float) -> float:
        if self._table.features[feature].is_stepped:
            return float(np.floor(threshold)) + 0.5  # halfway between two categories or days, as rules read them
        if feature not in self._spans:
            lows, highs, _ = self._table.spans(feature)
            self._spans[feature] = lows, highs
            self._whole[feature] = bool(np.all(lows == np.floor(lows)) and np.all(highs == np.floor(highs)))
        lows, highs = self._spans[feature]
        place = int(np.searchsorted(highs, threshold, side="right"))
        if not 0 < place < len(highs):
            return threshold
        found = short_between(float(highs[place - 1]), float(lows[place]))
        # Of whole numbers people say "more than 60", not "more than 60.5".
        return float(np.floor(found)) if self._whole[feature] else found
