"""The finitely many ways in which a model can see an example.

Rules test a numeric feature only against their own thresholds, so all values between two adjacent ones are one *cell*;
the cells of a nominal feature are its categories. Features that are read from one date change together and share their
cells: a cell of the date is a combination of theirs that some day has. A set of cells is a bit mask.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from polyrule.conditions import (
    Condition,
    FeatureCondition,
    NominalCondition,
    NumericCondition,
    feature_conditions,
    group_of,
    thresholds,
    ungrouped_conditions,
)
from polyrule.conditions.evaluate import evaluate_column
from polyrule.conditions.text import Names, format_feature, format_value
from polyrule.data.dates import FIRST_DAY, LAST_DAY, format_date
from polyrule.data.derive.base import Derivation
from polyrule.data.derive.registry import derivation_of
from polyrule.data.table import Feature
from polyrule.model.printing import Formatter
from polyrule.utils.arrays import Floats, Ints

Domain = dict[int, int]
"""Which cells of every feature an example may have, as masks."""
Trial = dict[int, int]
"""The one cell of every feature that an example has."""


@dataclass(frozen=True)
class Cells:
    """Cells of one feature, seen from the value that an example has."""

    index: int  # position of the feature
    feature: Feature
    # ``value <= threshold`` for every threshold, ascending; empty for a nominal feature
    ends: tuple[NumericCondition, ...]
    old: float  # the example's value

    @property
    def name(self) -> str:
        """What is changed."""
        return self.feature.name

    @cached_property
    def thresholds(self) -> tuple[float, ...]:
        """Where cells end, ascending."""
        return tuple(end.threshold for end in self.ends)

    @cached_property
    def count(self) -> int:
        """Number of cells that a value can be changed to (the present one among them unless it is missing)."""
        return len(self.feature.categories) if self.feature.is_nominal else len(self.ends) + 1

    @cached_property
    def present(self) -> int:
        """The example's cell; equal to `count` where its value is missing or unknown, which satisfies nothing."""
        if math.isnan(self.old):
            return self.count
        if not self.feature.is_nominal:
            return bisect_left(self.thresholds, self.old)
        return int(self.old) if 0 <= self.old < self.count and self.old.is_integer() else self.count

    @property
    def is_missing(self) -> bool:
        """Whether the example's value is missing or unknown."""
        return self.present == self.count

    @property
    def everything(self) -> int:
        """Mask of all cells, the missing one included where the example is there."""
        return (1 << max(self.count, self.present + 1)) - 1

    def steps(self, cell: int) -> int:
        """Size of the change from the present cell: thresholds crossed, or 1 for a category or a missing value."""
        if cell == self.present:
            return 0
        return 1 if self.feature.is_nominal or self.is_missing else abs(cell - self.present)

    def cheapest(self, mask: int) -> int:
        """Return the cell of a non-empty mask that is nearest to the present one; the lower one of two."""
        if mask >> self.present & 1:
            return self.present
        cells = [cell for cell in range(self.count) if mask >> cell & 1]
        return min(cells, key=lambda cell: (self.steps(cell), cell))

    @cached_property
    def _samples(self) -> Floats:
        """A value of each cell, the missing one last."""
        ends = range(self.count) if self.feature.is_nominal else (*self.thresholds, math.inf)
        return np.array([*ends, math.nan], dtype=np.float64)

    def satisfying(self, condition: FeatureCondition) -> int:
        """Mask of the cells in which a condition holds."""
        bits = np.packbits(evaluate_column(condition, self._samples), bitorder="little")
        return int.from_bytes(bits.tobytes(), "little")

    def value(self, cell: int) -> float:
        """Value in a cell that is nearest to the present one."""
        if self.feature.is_nominal:
            return float(cell)
        if not self.ends:
            return 0.0  # only asked whether it is known: any value will do
        going_down = cell < self.present
        if going_down and cell < len(self.ends):
            return math.floor(self.thresholds[cell]) if self.feature.is_stepped else self.thresholds[cell]
        below = self.thresholds[cell - 1]
        return math.floor(below) + 1.0 if self.feature.is_stepped else math.nextafter(below, math.inf)

    def values(self, cell: int) -> dict[int, float]:
        """Value of every feature that changes, by position."""
        return {self.index: self.value(cell)}

    def words(self, cell: int, digits: int | None = None) -> tuple[str, str]:
        """Say what a value must satisfy to lie in a cell, and the example's value."""
        body = self._asked(cell, digits)
        name = format_feature(self.feature.name)
        shown = [limit.rounded(digits) for limit in thresholds(body)]
        asked = Formatter(Names([self.feature]), digits).body(body) if body else f"{name} is known"
        return asked, format_value(self.feature, self.old, digits, shown)

    def _asked(self, cell: int, digits: int | None) -> list[FeatureCondition]:
        """Conditions that a cell's values satisfy; rounding may make them sharper, never weaker."""
        if self.feature.is_nominal:
            return [NominalCondition(0, cell)]
        above = replace(self.ends[cell - 1], feature=0, op=">") if cell else None
        below = replace(self.ends[cell], feature=0) if cell < len(self.ends) else None
        if self.feature.flag and len(self.ends) == 1:
            return [end for end in (above, below) if end is not None]
        if below is not None and below.between is not None:
            least = math.nextafter(above.threshold, math.inf) if above is not None else -math.inf
            limits = max(below.between[0], least), math.nextafter(below.threshold, math.inf)
            below = replace(below, between=limits)
        if above is not None and above.between is not None:
            most = below.rounded(digits) if below is not None else math.inf
            above = replace(above, between=(above.threshold, min(above.between[1], most)))
        return [end for end in (above, below) if end is not None]


class Grid:
    """The cells of everything that a model tests, seen from one example.

    Features named in `fixed` stay as they are; the name of a date fixes its parts, too. So do the parts of dates in
    `parts`, which the model need not test.
    """

    def __init__(
        self, model: Any, row: Floats, fixed: Collection[str] = (), parts: Collection[Derivation] = ()
    ) -> None:
        features: tuple[Feature, ...] = model.features
        alone = {j: Cells(j, features[j], ends, float(row[j])) for j, ends in _ends(model).items()}
        dated = {j: d for j, f in enumerate(features) if (d := derivation_of(f)) is not None and d.CHANGES_SOURCE}
        kept = {d.column: [part for part in parts if part.column == d.column] for d in dated.values()}
        with_parts = {
            d.column for j, d in dated.items() if j in alone and (features[j].derived is not None or kept[d.column])
        }
        self.cells: dict[int, Cells | DateCells] = {}
        self._owner: dict[int, int] = {}
        for j, cells in alone.items():
            column = features[j].column
            if not (j in dated and column in with_parts):
                self.cells[j], self._owner[j] = cells, j
            elif j not in self._owner:
                related = [k for k, derivation in dated.items() if derivation.column == column]
                group = {k: dated[k] for k in sorted(related, key=lambda k: features[k].derived is not None)}
                self.cells[j] = DateCells.of(group, {k: alone[k] for k in alone if k in group}, row, kept[column])
                self._owner |= dict.fromkeys(group, j)
        self._locked = {j for j, cells in self.cells.items() if cells.name in fixed}

    @property
    def present(self) -> Trial:
        """The example itself."""
        return {j: cells.present for j, cells in self.cells.items()}

    @property
    def everything(self) -> Domain:
        """Every example that it can be changed to."""
        return {j: 1 << cells.present if j in self._locked else cells.everything for j, cells in self.cells.items()}

    def test(self, condition: FeatureCondition) -> tuple[int, int]:
        """Return which cells a condition looks at, and the mask of those in which it holds."""
        owner = self._owner[condition.feature]
        return owner, self.cells[owner].satisfying(condition)

    def asked(self, body: Iterable[Condition]) -> Asked:
        """Return what a body asks of the cells; its conditions on labels are left out."""
        plain: Domain = {}
        members: tuple[tuple[int, int], ...] = ()
        least = 0
        for owner, mask in map(self.test, ungrouped_conditions(body)):
            plain[owner] = plain.get(owner, mask) & mask
        if (group := group_of(body)) is not None:
            members, least = tuple(map(self.test, group.members)), group.least
        return Asked(plain, members, least)

    def cheapest(self, domain: Domain) -> Trial:
        """Return the example of a domain that is nearest to the present one."""
        return {j: self.cells[j].cheapest(mask) for j, mask in domain.items()}

    def cost(self, domain: Domain) -> tuple[int, int]:
        """Features that must change, and the least steps that takes."""
        changed = {j: mask for j, mask in domain.items() if not mask >> self.cells[j].present & 1}
        return len(changed), sum(self.cells[j].steps(self.cells[j].cheapest(mask)) for j, mask in changed.items())


@dataclass(frozen=True)
class Asked:
    """What a body asks of the cells: every plain condition, and enough members of its group."""

    # The cells in which the plain conditions on them hold, joined, so that a body that cannot hold is seen to
    plain: Domain
    members: tuple[tuple[int, int], ...] = ()  # as `Grid.test` returns them
    least: int = 0

    def holds(self, trial: Trial) -> bool:
        """Whether one example satisfies the body."""
        return (
            all(mask >> trial[owner] & 1 for owner, mask in self.plain.items())
            and sum(mask >> trial[owner] & 1 for owner, mask in self.members) >= self.least
        )

    def possible(self, domain: Domain) -> bool:
        """Whether some example of a domain may satisfy the body: where this is false, none does."""
        return (
            all(mask & domain[owner] for owner, mask in self.plain.items())
            and sum(mask & domain[owner] != 0 for owner, mask in self.members) >= self.least
        )

    def certain(self, domain: Domain) -> bool:
        """Whether every example of a domain is sure to satisfy the body, condition by condition."""
        return (
            all(not domain[owner] & ~mask for owner, mask in self.plain.items())
            and sum(not domain[owner] & ~mask for owner, mask in self.members) >= self.least
        )

    def parts(self, domain: Domain) -> list[Domain]:
        """Divide a domain for which the body is neither certain nor impossible; each part is nearer to a decision."""
        open_tests = [(owner, mask) for owner, mask in self.plain.items() if domain[owner] & ~mask]
        # With the plain conditions settled, some member both may hold and may fail: else the group would be decided.
        members = ((owner, mask) for owner, mask in self.members if domain[owner] & mask and domain[owner] & ~mask)
        failing, passing = split(domain, open_tests or [next(members)])
        return [*failing, passing]


def split(domain: Domain, tests: Iterable[tuple[int, int]]) -> tuple[list[Domain], Domain]:
    """Return the parts of a domain that fail the tests, without overlap, and the one that passes all of them."""
    failing, passing = [], dict(domain)
    for owner, mask in tests:
        outside = passing[owner] & ~mask
        if outside:
            failing.append(passing | {owner: outside})
        passing[owner] &= mask
    return failing, passing


def _ends(model: Any) -> dict[int, tuple[NumericCondition, ...]]:
    """Upper ends of the cells of every feature that some rule tests, ascending."""
    tests: dict[int, dict[float, NumericCondition]] = {}
    for rule in model.rules:
        for condition in feature_conditions(rule.body):
            tests.setdefault(condition.feature, {})
        for limit in thresholds(rule.body):
            # 0.0 and -0.0 are one threshold; so are equal ints and floats.
            tests[limit.feature].setdefault(limit.threshold + 0.0, replace(limit, op="<="))
    return {j: tuple(ends[threshold] for threshold in sorted(ends)) for j, ends in sorted(tests.items())}


# In any interval of days, a weekday of a month that occurs at all does so within so many days of any day there.
_REACH = 400


@dataclass(frozen=True)
class DateCells:
    """Cells of one date, seen from the one that an example has; those that cost less come first."""

    name: str  # name of the column of dates
    # Position -> derivation, for all features read from this date, tested or not, the date itself first
    features: Mapping[int, Derivation]
    tests: Mapping[int, Cells]  # position of a tested feature -> its own cells
    # Per cell, the cells of `tests`. The last one is the example's own where no day has it: a missing date.
    combinations: tuple[tuple[int, ...], ...]
    days: tuple[float, ...]  # per cell that a day has, the day nearest to the example's
    present: int  # the example's cell
    old: float  # the example's day; NaN where it is missing, or only parts of it are known

    @classmethod
    def of(
        cls,
        features: Mapping[int, Derivation],
        tests: Mapping[int, Cells],
        row: Floats,
        kept: Collection[Derivation] = (),
    ) -> DateCells:
        """Return the cells of the date in `row`; the parts in `kept` stay as they are."""
        column = next(iter(features.values())).column
        now = {derivation: float(row[j]) for j, derivation in features.items()}
        day = next((value for one, value in now.items() if one == derivation_of(Feature(column, "date"))), math.nan)
        of_day = {part: float(part.values(np.array([day]))[0]) for part in kept}
        now = of_day | now if math.isnan(day) else now | of_day
        reference = _reference(day, now, features, tests)
        nearest: dict[tuple[int, ...], float] = {}
        for first, last in _intervals(features, tests):
            middle = min(max(reference, first), last)
            days = np.arange(max(first, middle - _REACH), min(last, middle + _REACH) + 1, dtype=np.float64)
            for part in kept:
                days = days[part.values(days) == now[part]]
            days = days[np.argsort(np.abs(days - reference), kind="stable")]
            seen = np.stack([_places(cells, features[j].values(days)) for j, cells in tests.items()], axis=1)
            found, places = np.unique(seen, axis=0, return_index=True)
            nearest |= zip(map(tuple, found.tolist()), days[places].tolist(), strict=True)
        missing = all(cells.is_missing for cells in tests.values())

        def cost(combination: tuple[int, ...]) -> tuple[int, float, float]:
            steps = 1 if missing else _steps(tests, combination)
            return steps, abs(nearest[combination] - reference), nearest[combination]

        combinations = sorted(nearest, key=cost)
        own = tuple(cells.present for cells in tests.values())
        return cls(
            column,
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
        """Return what the date must satisfy, with the nearest such day, and the example's date or parts of it."""
        pairs = zip(self.tests.values(), self.combinations[cell], strict=True)
        required, now = zip(*(cells.words(own, digits) for cells, own in pairs if own != cells.present), strict=True)
        requirement = " and ".join(required)
        if math.isnan(self.old):
            return requirement, ", ".join(dict.fromkeys(now))
        return f"{requirement}, such as {format_date(self.days[cell])}", format_date(self.old)

    def values(self, cell: int) -> dict[int, float]:
        """Value of every feature that follows from the day."""
        day = np.array([self.days[cell]])
        return {j: float(derivation.values(day)[0]) for j, derivation in self.features.items()}


def _steps(tests: Mapping[int, Cells], combination: tuple[int, ...]) -> int:
    return sum(cells.steps(cell) for cells, cell in zip(tests.values(), combination, strict=True))


def _reference(
    day: float, now: Mapping[Derivation, float], features: Mapping[int, Derivation], tests: Mapping[int, Cells]
) -> float:
    """Return the day that others are compared with: the example's, or the nearest to it that its parts imply."""
    if not math.isnan(day):
        return math.floor(day)
    known = (one.last_source(value - 1) for one, value in now.items() if not math.isnan(value))
    first = next((last + 1 for last in known if last is not None), None)
    return max(_cuts(features, tests), default=0) if first is None else first


def _cuts(features: Mapping[int, Derivation], tests: Mapping[int, Cells]) -> list[int]:
    """Last days before a threshold of the date or of a part that ascends with it is crossed."""
    last = [features[j].last_source(threshold) for j, cells in tests.items() for threshold in cells.thresholds]
    return sorted({min(max(int(day), FIRST_DAY - 1), LAST_DAY) for day in last if day is not None})


def _intervals(features: Mapping[int, Derivation], tests: Mapping[int, Cells]) -> Iterator[tuple[int, int]]:
    """Intervals of days that differ in month and weekday only."""
    ends = [FIRST_DAY - 1, *_cuts(features, tests), LAST_DAY]
    for before, last in pairwise(ends):
        if before < last:
            yield before + 1, last


def _places(cells: Cells, values: Floats) -> Ints:
    """Cell of every value of one feature."""
    return np.asarray(values if cells.feature.is_nominal else np.searchsorted(cells.thresholds, values), dtype=np.int64)
