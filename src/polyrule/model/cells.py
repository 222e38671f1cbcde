"""The finitely many ways in which a rule list can see an example.

A list tests a numeric feature only against its own thresholds, so all values between two adjacent ones are one *cell*;
the cells of a nominal feature are its categories. A set of cells is a bit mask.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyrule.data.table import Feature
from polyrule.model import printing
from polyrule.model.rule import (
    FeatureCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
)

if TYPE_CHECKING:
    from polyrule.model.rule_list import RuleList


@dataclass(frozen=True)
class Cells:
    """Cells of one feature, seen from the value that an example has.

    Parameters
    ----------
    feature : Feature
    thresholds : tuple of float
        Ascending; empty for a nominal feature.
    count : int
        Number of cells that a value can be changed to (the present one among them unless it is missing).
    present : int
        The example's cell; equal to `count` where its value is missing or unknown, which satisfies nothing.
    """

    feature: Feature
    thresholds: tuple[float, ...]
    count: int
    present: int

    @property
    def everything(self) -> int:
        """Mask of all cells, the missing one included where the example is there."""
        return (1 << max(self.count, self.present + 1)) - 1

    def steps(self, cell: int) -> int:
        """Size of the change from the present cell: thresholds crossed, or 1 for a category or a missing value."""
        if cell == self.present:
            return 0
        return 1 if self.feature.is_nominal or self.present == self.count else abs(cell - self.present)

    def cheapest(self, mask: int) -> int:
        """Return the cell of a non-empty mask that is nearest to the present one; the lower one of two."""
        if mask >> self.present & 1:
            return self.present
        cells = [cell for cell in range(self.count) if mask >> cell & 1]
        return min(cells, key=lambda cell: (self.steps(cell), cell))

    def satisfying(self, condition: FeatureCondition) -> int:
        """Mask of the cells in which a condition holds."""
        known = (1 << self.count) - 1
        match condition:
            case NumericCondition(_, op, threshold):
                below = (1 << (bisect_left(self.thresholds, threshold) + 1)) - 1
                return below if op == "<=" else known & ~below
            case NominalCondition(_, value):
                return 1 << value
            case SetCondition(_, values):
                return sum(1 << value for value in values)
            case MissingCondition(_, missing):
                return 1 << self.count if missing else known

    def value(self, cell: int) -> float:
        """Value in a cell that is nearest to the present one."""
        if self.feature.is_nominal:
            return float(cell)
        if not self.thresholds:
            return 0.0  # only asked whether it is known: any value will do
        going_down = cell < self.present
        if going_down and cell < len(self.thresholds):
            return math.floor(self.thresholds[cell]) if self.feature.is_stepped else self.thresholds[cell]
        below = self.thresholds[cell - 1]
        return math.floor(below) + 1.0 if self.feature.is_stepped else math.nextafter(below, math.inf)

    def requirement(self, cell: int) -> str:
        """What a value must satisfy to lie in a cell, in words."""
        if self.feature.is_nominal:
            return printing.format_condition(NominalCondition(0, cell), [self.feature], [])
        ends = [NumericCondition(0, ">", self.thresholds[cell - 1])] if cell else []
        ends += [NumericCondition(0, "<=", self.thresholds[cell])] if cell < len(self.thresholds) else []
        body: list[Any] = [*ends] or [MissingCondition(0, False)]
        return " and ".join(printing.format_condition(condition, [self.feature], []) for condition in body)


def cells_of(rule_list: RuleList, row: npt.NDArray[np.float64]) -> dict[int, Cells]:
    """Cells of every feature that some rule tests."""
    tests: dict[int, set[float]] = {}
    for rule in rule_list.rules:
        for condition in rule.body:
            if isinstance(condition, NumericCondition):
                # 0.0 and -0.0 are one threshold; so are equal ints and floats.
                tests.setdefault(condition.feature, set()).add(condition.threshold + 0.0)
            elif not isinstance(condition, LabelCondition):
                tests.setdefault(condition.feature, set())
    return {
        index: _cells(rule_list.features[index], sorted(tests[index]), float(row[index])) for index in sorted(tests)
    }


def _cells(feature: Feature, thresholds: list[float], value: float) -> Cells:
    if feature.is_nominal:
        count = len(feature.categories)
        known = not math.isnan(value) and 0 <= value < count and value.is_integer()
        return Cells(feature, (), count, int(value) if known else count)
    count = len(thresholds) + 1
    present = count if math.isnan(value) else bisect_left(thresholds, value)
    return Cells(feature, tuple(thresholds), count, present)
