"""Regions of a date: combinations of the regions of its parts that some day has."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from polyrule.conditions import FeatureCondition
from polyrule.data.dates import FIRST_DAY, LAST_DAY, format_date
from polyrule.data.derive.base import Derivation
from polyrule.data.derive.registry import derivation_of
from polyrule.data.table import Feature
from polyrule.model.regions import FeatureRegions
from polyrule.utils.arrays import Floats, Ints

# In any interval of days, a weekday of a month that occurs at all occurs within this number of days of any day there.
_REACH = 400


@dataclass(frozen=True)
class DateRegions:
    """Regions of one date, as reached from the date of an example; those that cost less come first."""

    name: str  # name of the column of dates
    # Position -> derivation, for all features read from this date, tested or not, the date itself first
    features: Mapping[int, Derivation]
    tests: Mapping[int, FeatureRegions]  # position of a tested feature -> its regions
    # Per region, the regions of `tests`. The last one is the example's if no day has it: a missing date.
    combinations: tuple[tuple[int, ...], ...]
    days: tuple[float, ...]  # per region that a day has, the day nearest to the example's
    present: int  # the example's region
    old: float  # the example's day; NaN if it is missing, or only parts of it are known

    @classmethod
    def of(
        cls,
        features: Mapping[int, Derivation],
        tests: Mapping[int, FeatureRegions],
        row: Floats,
        fixed: Collection[Derivation] = (),
    ) -> DateRegions:
        """Return the regions of the date in `row`; the parts in `fixed` do not change."""
        column = next(iter(features.values())).column
        now = {derivation: float(row[j]) for j, derivation in features.items()}
        day = next((value for one, value in now.items() if one == derivation_of(Feature(column, "date"))), math.nan)
        of_day = {part: float(part.values(np.array([day]))[0]) for part in fixed}
        now = of_day | now if math.isnan(day) else now | of_day
        reference = _reference(day, now, features, tests)
        nearest: dict[tuple[int, ...], float] = {}
        for first, last in _intervals(features, tests):
            middle = min(max(reference, first), last)
            days = np.arange(max(first, middle - _REACH), min(last, middle + _REACH) + 1, dtype=np.float64)
            for part in fixed:
                days = days[part.values(days) == now[part]]
            days = days[np.argsort(np.abs(days - reference), kind="stable")]
            seen = np.stack([_places(one, features[j].values(days)) for j, one in tests.items()], axis=1)
            occurring, places = np.unique(seen, axis=0, return_index=True)
            nearest |= zip(map(tuple, occurring.tolist()), days[places].tolist(), strict=True)
        missing = all(regions.is_missing for regions in tests.values())

        def cost(combination: tuple[int, ...]) -> tuple[int, float, float]:
            steps = 1 if missing else _steps(tests, combination)
            return steps, abs(nearest[combination] - reference), nearest[combination]

        combinations = sorted(nearest, key=cost)
        present = tuple(regions.present for regions in tests.values())
        return cls(
            column,
            features,
            tests,
            tuple(combinations) if present in nearest else (*combinations, present),
            tuple(nearest[combination] for combination in combinations),
            combinations.index(present) if present in nearest else len(combinations),
            day,
        )

    @property
    def is_missing(self) -> bool:
        """True if nothing about the example's date is known."""
        return all(regions.is_missing for regions in self.tests.values())

    @property
    def everything(self) -> int:
        """Mask of all regions."""
        return (1 << len(self.combinations)) - 1

    def steps(self, region: int) -> int:
        """Return the number of thresholds crossed, plus 1 for another weekday; 1 for a missing date filled in."""
        if region == self.present:
            return 0
        return 1 if self.is_missing else _steps(self.tests, self.combinations[region])

    def cheapest(self, mask: int) -> int:
        """Return the region of a non-empty mask that costs least; of several the one with the nearest day."""
        return self.present if mask >> self.present & 1 else (mask & -mask).bit_length() - 1

    def satisfying(self, condition: FeatureCondition) -> int:
        """Return the mask of the regions in which a condition on the date or a part of it holds."""
        place = list(self.tests).index(condition.feature)
        mask = self.tests[condition.feature].satisfying(condition)
        return sum(1 << region for region, regions in enumerate(self.combinations) if mask >> regions[place] & 1)

    def value(self, region: int) -> float:
        """Return the nearest day in a region."""
        return self.days[region]

    def words(self, region: int, digits: int | None = None) -> tuple[str, str]:
        """Return the requirement on the date, with the nearest such day, and the example's date or parts of it."""
        pairs = zip(self.tests.values(), self.combinations[region], strict=True)
        changed = (one.words(place, digits) for one, place in pairs if place != one.present)
        required, now = zip(*changed, strict=True)
        requirement = " and ".join(required)
        if math.isnan(self.old):
            return requirement, ", ".join(dict.fromkeys(now))
        return f"{requirement}, such as {format_date(self.days[region])}", format_date(self.old)

    def values(self, region: int) -> dict[int, float]:
        """Return the value of every feature that is derived from the day."""
        day = np.array([self.days[region]])
        return {j: float(derivation.values(day)[0]) for j, derivation in self.features.items()}


def _steps(tests: Mapping[int, FeatureRegions], combination: tuple[int, ...]) -> int:
    return sum(regions.steps(region) for regions, region in zip(tests.values(), combination, strict=True))


def _reference(
    day: float, now: Mapping[Derivation, float], features: Mapping[int, Derivation], tests: Mapping[int, FeatureRegions]
) -> float:
    """Return the day that others are compared with: the example's, or the nearest to it that its parts imply."""
    if not math.isnan(day):
        return math.floor(day)
    last_days = (one.last_source(value - 1) for one, value in now.items() if not math.isnan(value))
    first = next((last + 1 for last in last_days if last is not None), None)
    return max(_last_days(features, tests), default=0) if first is None else first


def _last_days(features: Mapping[int, Derivation], tests: Mapping[int, FeatureRegions]) -> list[int]:
    """Return the last days before a threshold of the date or of a part that ascends with it is crossed."""
    last = [features[j].last_source(threshold) for j, regions in tests.items() for threshold in regions.thresholds]
    return sorted({min(max(int(day), FIRST_DAY - 1), LAST_DAY) for day in last if day is not None})


def _intervals(features: Mapping[int, Derivation], tests: Mapping[int, FeatureRegions]) -> Iterator[tuple[int, int]]:
    """Yield intervals of days that differ in month and weekday only."""
    ends = [FIRST_DAY - 1, *_last_days(features, tests), LAST_DAY]
    for before, last in pairwise(ends):
        if before < last:
            yield before + 1, last


def _places(regions: FeatureRegions, values: Floats) -> Ints:
    """Return the region of every value of one feature."""
    return np.asarray(
        values if regions.feature.is_nominal else np.searchsorted(regions.thresholds, values), dtype=np.int64
    )
