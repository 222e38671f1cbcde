"""The cells of a date: its year, month and weekday follow from it, so they change together.

A model may test the date itself and parts of it. Each test has cells of its own (`cells`); a cell of the date is a
combination of them that some day has.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from polyrule.arrays import Floats, Ints
from polyrule.data.dates import FIRST_DAY, LAST_DAY, format_date, part_of, year_start
from polyrule.data.table import Feature
from polyrule.model.printing import format_name
from polyrule.model.rule import FeatureCondition

if TYPE_CHECKING:
    from polyrule.model.cells import Cells

# In any interval of days, a weekday of a month that occurs at all does so within so many days of any day there.
_REACH = 400


@dataclass(frozen=True)
class DateCells:
    """Cells of one date, seen from the one that an example has; those that cost less come first."""

    name: str  # name of the column of dates
    # Position -> feature, for all features read from this date, tested or not, the date itself first
    features: Mapping[int, Feature]
    tests: Mapping[int, Cells]  # position of a tested feature -> its own cells
    # Per cell, the cells of `tests`. The last one is the example's own where no day has it: a missing date.
    combinations: tuple[tuple[int, ...], ...]
    days: tuple[float, ...]  # per cell that a day has, the day nearest to the example's
    present: int  # the example's cell
    old: float  # the example's day; NaN where it is missing, or only parts of it are known

    @classmethod
    def of(
        cls, features: Mapping[int, Feature], tests: Mapping[int, Cells], row: Floats, kept: Collection[str] = ()
    ) -> DateCells:
        """Return the cells of the date in `row`; the parts in `kept` stay as they are."""
        day = next((float(row[j]) for j, feature in features.items() if not feature.part), math.nan)
        now = {feature.part: float(row[j]) for j, feature in features.items()}
        now |= {
            part: float(part_of(np.array([day]), part)[0]) for part in kept if part not in now or not math.isnan(day)
        }
        reference = _reference(day, now.get("year", math.nan), tests)
        nearest: dict[tuple[int, ...], float] = {}
        for first, last in _intervals(tests):
            middle = min(max(reference, first), last)
            days = np.arange(max(first, middle - _REACH), min(last, middle + _REACH) + 1, dtype=np.float64)
            for part in kept:
                days = days[part_of(days, part) == now[part]]
            days = days[np.argsort(np.abs(days - reference), kind="stable")]
            seen = np.stack([_places(cells, part_of(days, cells.feature.part)) for cells in tests.values()], axis=1)
            found, places = np.unique(seen, axis=0, return_index=True)
            nearest |= zip(map(tuple, found.tolist()), days[places].tolist(), strict=True)
        missing = all(cells.is_missing for cells in tests.values())

        def cost(combination: tuple[int, ...]) -> tuple[int, float, float]:
            steps = 1 if missing else _steps(tests, combination)
            return steps, abs(nearest[combination] - reference), nearest[combination]

        combinations = sorted(nearest, key=cost)
        own = tuple(cells.present for cells in tests.values())
        return cls(
            next(iter(features.values())).column,
            features,
            tests,
            tuple(combinations) if own in nearest else (*combinations, own),
            tuple(nearest[combination] for combination in combinations),
            combinations.index(own) if own in nearest else len(combinations),
            day,
        )

    @property
    def is_missing(self) -> bool:
        """Whether nothing about the example's date is known."""
        return all(cells.is_missing for cells in self.tests.values())

    @property
    def everything(self) -> int:
        """Mask of all cells."""
        return (1 << len(self.combinations)) - 1

    def steps(self, cell: int) -> int:
        """Size of the change: thresholds crossed, plus 1 for another weekday; 1 for a missing date filled in."""
        if cell == self.present:
            return 0
        return 1 if self.is_missing else _steps(self.tests, self.combinations[cell])

    def cheapest(self, mask: int) -> int:
        """Return the cell of a non-empty mask that costs least; of several the one with the nearest day."""
        return self.present if mask >> self.present & 1 else (mask & -mask).bit_length() - 1

    def satisfying(self, condition: FeatureCondition) -> int:
        """Mask of the cells in which a condition on the date or a part of it holds."""
        place = list(self.tests).index(condition.feature)
        mask = self.tests[condition.feature].satisfying(condition)
        return sum(1 << cell for cell, found in enumerate(self.combinations) if mask >> found[place] & 1)

    def value(self, cell: int) -> float:
        """Return the nearest day in a cell."""
        return self.days[cell]

    def words(self, cell: int, digits: int | None = None) -> tuple[str, str]:
        """Say which day will do, and the example's; where that is not known, which parts it must have, and has."""
        if not math.isnan(self.old):
            return f"{format_name(self.name)} = {format_date(self.days[cell])}", format_date(self.old)
        pairs = zip(self.tests.values(), self.combinations[cell], strict=True)
        asked, now = zip(*(cells.words(own, digits) for cells, own in pairs if own != cells.present), strict=True)
        return " and ".join(asked), ", ".join(dict.fromkeys(now))

    def values(self, cell: int) -> dict[int, float]:
        """Value of every feature that follows from the day."""
        day = np.array([self.days[cell]])
        return {j: float(part_of(day, feature.part)[0]) for j, feature in self.features.items()}


def _steps(tests: Mapping[int, Cells], combination: tuple[int, ...]) -> int:
    return sum(cells.steps(cell) for cells, cell in zip(tests.values(), combination, strict=True))


def _reference(day: float, year: float, tests: Mapping[int, Cells]) -> float:
    """Return the day that others are compared with: the example's, or one that is as near as can be told."""
    if not math.isnan(day):
        return math.floor(day)
    return float(year_start(year)) if not math.isnan(year) else max(_cuts(tests), default=0)


def _cuts(tests: Mapping[int, Cells]) -> list[int]:
    """Last days before a threshold of the date or of its year is crossed."""
    cuts = []
    for cells in tests.values():
        if cells.feature.part == "year":
            cuts += [year_start(math.floor(threshold) + 1) - 1 for threshold in cells.thresholds]
        elif not cells.feature.part:
            cuts += [math.floor(threshold) for threshold in cells.thresholds]
    return sorted({min(max(cut, FIRST_DAY - 1), LAST_DAY) for cut in cuts})


def _intervals(tests: Mapping[int, Cells]) -> Iterator[tuple[int, int]]:
    """Stretches of days that differ in month and weekday only."""
    ends = [FIRST_DAY - 1, *_cuts(tests), LAST_DAY]
    for before, last in pairwise(ends):
        if before < last:
            yield before + 1, last


def _places(cells: Cells, values: Floats) -> Ints:
    """Cell of every value of one feature."""
    return np.asarray(values if cells.feature.is_nominal else np.searchsorted(cells.thresholds, values), dtype=np.int64)
