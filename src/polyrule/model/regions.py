"""Regions of one feature: values that all rules of a model treat alike.

Rules test a numeric feature only against their thresholds, so all values between two adjacent ones are one *region*;
the regions of a nominal feature are its categories. A set of regions is a bit mask.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from polyrule.conditions import FeatureCondition, NominalCondition, NumericCondition, thresholds
from polyrule.conditions.evaluate import evaluate_column
from polyrule.conditions.text import Names, format_feature, format_value
from polyrule.data.table import Feature
from polyrule.model.printing import Formatter
from polyrule.utils.arrays import Floats


class Regions(Protocol):
    """Regions of what is changed as one: a feature, or a date with its parts."""

    @property
    def name(self) -> str:
        """Name of what is changed."""

    @property
    def old(self) -> float:
        """The example's value."""

    @property
    def present(self) -> int:
        """The example's region."""

    @property
    def everything(self) -> int:
        """Mask of all regions, that of a missing value included if the example's is missing."""

    def steps(self, region: int) -> int:
        """Return the size of the change from the present region."""

    def cheapest(self, mask: int) -> int:
        """Return the region of a non-empty mask that is nearest to the present one."""

    def satisfying(self, condition: FeatureCondition) -> int:
        """Return the mask of the regions in which a condition holds."""

    def value(self, region: int) -> float:
        """Return the value in a region that is nearest to the present one."""

    def values(self, region: int) -> dict[int, float]:
        """Return the value of every feature that changes, by position."""

    def words(self, region: int, digits: int | None = None) -> tuple[str, str]:
        """Return the requirement on a value to be in a region, and the example's value, as text."""


@dataclass(frozen=True)
class FeatureRegions:
    """Regions of one feature, as reached from the value of an example."""

    index: int  # position of the feature
    feature: Feature
    # ``value <= threshold`` for every threshold, ascending; empty for a nominal feature
    ends: tuple[NumericCondition, ...]
    old: float  # the example's value

    @property
    def name(self) -> str:
        """Name of the feature."""
        return self.feature.name

    @cached_property
    def thresholds(self) -> tuple[float, ...]:
        """Upper ends of regions, ascending."""
        return tuple(end.threshold for end in self.ends)

    @cached_property
    def count(self) -> int:
        """Number of regions that a value can be changed to, the present one among them unless it is missing."""
        return len(self.feature.categories) if self.feature.is_nominal else len(self.ends) + 1

    @cached_property
    def present(self) -> int:
        """The example's region; equal to `count` if its value is missing or unknown, which satisfies nothing."""
        if math.isnan(self.old):
            return self.count
        if not self.feature.is_nominal:
            return bisect_left(self.thresholds, self.old)
        return int(self.old) if 0 <= self.old < self.count and self.old.is_integer() else self.count

    @property
    def is_missing(self) -> bool:
        """True if the example's value is missing or unknown."""
        return self.present == self.count

    @property
    def everything(self) -> int:
        """Mask of all regions, that of a missing value included if the example's is missing."""
        return (1 << max(self.count, self.present + 1)) - 1

    def steps(self, region: int) -> int:
        """Return the number of thresholds that the change crosses, or 1 for a category or a missing value."""
        if region == self.present:
            return 0
        return 1 if self.feature.is_nominal or self.is_missing else abs(region - self.present)

    def cheapest(self, mask: int) -> int:
        """Return the region of a non-empty mask that is nearest to the present one; the lower one of two."""
        if mask >> self.present & 1:
            return self.present
        regions = [region for region in range(self.count) if mask >> region & 1]
        return min(regions, key=lambda region: (self.steps(region), region))

    @cached_property
    def _samples(self) -> Floats:
        """A value of each region, the missing one last."""
        ends = range(self.count) if self.feature.is_nominal else (*self.thresholds, math.inf)
        return np.array([*ends, math.nan], dtype=np.float64)

    def satisfying(self, condition: FeatureCondition) -> int:
        """Return the mask of the regions in which a condition holds."""
        bits = np.packbits(evaluate_column(condition, self._samples), bitorder="little")
        return int.from_bytes(bits.tobytes(), "little")

    def value(self, region: int) -> float:
        """Return the value in a region that is nearest to the present one."""
        if self.feature.is_nominal:
            return float(region)
        if not self.ends:
            return 0.0  # tested only for being known: any value will do
        going_down = region < self.present
        if going_down and region < len(self.ends):
            return math.floor(self.thresholds[region]) if self.feature.is_stepped else self.thresholds[region]
        below = self.thresholds[region - 1]
        return math.floor(below) + 1.0 if self.feature.is_stepped else math.nextafter(below, math.inf)

    def values(self, region: int) -> dict[int, float]:
        """Return the value of the feature, by its position."""
        return {self.index: self.value(region)}

    def words(self, region: int, digits: int | None = None) -> tuple[str, str]:
        """Return the requirement on a value to be in a region, and the example's value, as text."""
        body = self._body(region, digits)
        name = format_feature(self.feature.name)
        limits = [limit.rounded(digits) for limit in thresholds(body)]
        requirement = Formatter(Names([self.feature]), digits).body(body) if body else f"{name} is known"
        return requirement, format_value(self.feature, self.old, digits, limits)

    def _body(self, region: int, digits: int | None) -> list[FeatureCondition]:
        """Return conditions that a region's values satisfy; rounding may make them sharper, never weaker."""
        if self.feature.is_nominal:
            return [NominalCondition(0, region)]
        above = replace(self.ends[region - 1], feature=0, op=">") if region else None
        below = replace(self.ends[region], feature=0) if region < len(self.ends) else None
        if self.feature.flag and len(self.ends) == 1:
            return [end for end in (above, below) if end is not None]
        if below is not None and below.between is not None:
            lower_end = math.nextafter(above.threshold, math.inf) if above is not None else -math.inf
            limits = max(below.between[0], lower_end), math.nextafter(below.threshold, math.inf)
            below = replace(below, between=limits)
        if above is not None and above.between is not None:
            upper_end = below.rounded(digits) if below is not None else math.inf
            above = replace(above, between=(above.threshold, min(above.between[1], upper_end)))
        return [end for end in (above, below) if end is not None]
