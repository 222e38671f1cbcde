"""Thresholds of conditions as the shortest decimals that divide a table alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polyrule.binning.thresholds import short_between
from polyrule.conditions import Condition, NumericCondition, map_thresholds, thresholds
from polyrule.data.table import Table
from polyrule.utils.arrays import Floats


class ThresholdShortener:
    """Writes thresholds for one table; every column is sorted once."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._spans: dict[int, tuple[Floats, Floats]] = {}
        self._whole: dict[int, bool] = {}
        self._cache: dict[tuple[int, float], float] = {}

    def condition(self, condition: Condition) -> Condition:
        """Return the condition, or the members of a group, with the shortest thresholds; others stay as they are."""
        limits = list(thresholds((condition,)))
        if len({self._shorter(limit) for limit in limits}) < len(limits):
            return condition  # two members of a group would be equal
        return map_thresholds((condition,), self._shorter)[0]

    def _shorter(self, condition: NumericCondition) -> NumericCondition:
        key = condition.feature, condition.threshold
        if key not in self._cache:
            self._cache[key] = self._threshold(*key)
        return replace(condition, threshold=self._cache[key])

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
        threshold_between = short_between(float(highs[place - 1]), float(lows[place]))
        # Of whole numbers people say "more than 60", not "more than 60.5".
        return float(np.floor(threshold_between)) if self._whole[feature] else threshold_between
