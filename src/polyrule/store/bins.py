"""The bins of a feature: which values share a code, and which threshold lies between two codes.

Cuts are exact quantiles, also of columns that are too long to keep: values are counted, in intervals where there are
too many. One pass finds the cuts of a column with few distinct values. A column with many is counted in intervals whose
counts are exact; a second pass looks only into those that hold a quantile. The result is the value of a certain rank,
so it depends neither on the order of the rows nor on how they are divided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyrule.data.table import Feature
from polyrule.errors import DataError, OptionError
from polyrule.utils.arrays import Bools, Floats, Ints

#: One code of a byte is kept for missing values.
MOST_BINS_OF_A_BYTE = 255
MOST_BINS = 65_535


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins of one feature, in ascending order; a missing value has the code after the last bin.

    Parameters
    ----------
    lows, highs : ndarray of float64
        Smallest and largest value of each bin. A category is a bin of its own.

    Examples
    --------
    >>> bins = Bins(np.array([1.0, 5.0]), np.array([2.0, 9.0]))
    >>> bins.codes(np.array([1.0, 9.0, np.nan])).tolist(), len(bins)
    ([0, 1, 2], 2)
    """

    lows: Floats
    highs: Floats

    def __len__(self) -> int:
        return len(self.highs)

    def codes(self, values: Floats) -> Ints:
        """Return the code of every value."""
        found = np.searchsorted(self.highs, values)
        found[np.isnan(values)] = len(self.highs)
        return found

    def neighbours(self, thresholds: Floats) -> list[tuple[float, float] | None]:
        """Return the values on either side of thresholds between two bins, see `Table.neighbours`.

        Examples
        --------
        >>> Bins(np.array([1.0, 5.0]), np.array([2.0, 9.0])).neighbours(np.array([3.5, 7.0]))
        [(2.0, 5.0), None]
        """
        places = np.searchsorted(self.highs, thresholds, side="right")
        up_to, above = np.append(-np.inf, self.highs)[places], np.append(self.lows, np.inf)[places]
        pairs = zip(thresholds.tolist(), up_to.tolist(), above.tolist(), strict=True)
        return [(low, high) if threshold < high else None for threshold, low, high in pairs]


def check_max_bins(max_bins: int) -> int:
    """Return the number, or say what is wrong with it."""
    whole = isinstance(max_bins, (int, float, np.integer)) and not isinstance(max_bins, bool)
    if not whole or not 2 <= max_bins <= MOST_BINS or max_bins % 1:
        raise OptionError(f"max_bins must be a whole number from 2 to {MOST_BINS}, got {max_bins!r}")
    return int(max_bins)


def code_type(widest: int) -> npt.DTypeLike:
    """Return the smallest type that holds the codes of so many bins and the missing value."""
    return np.uint8 if widest <= MOST_BINS_OF_A_BYTE else np.uint16


def ranks(known: int, max_bins: int) -> Ints:
    """Return the ranks, from 1, of the values at which bins end; the last bin ends at the largest value.

    >>> ranks(10, 4).tolist()
    [3, 5, 8]
    """
    return np.array([-(-known * k // max_bins) for k in range(1, max_bins)], dtype=np.int64)


def quantiles(distinct: Floats, counts: Ints, max_bins: int) -> Floats:
    """Return the upper ends of at most `max_bins` bins that hold about the same number of values each.

    Nothing is lost where there are no more distinct values than bins.

    Examples
    --------
    >>> quantiles(np.array([1.0, 2.0, 3.0]), np.array([8, 1, 1]), 2)
    array([1., 3.])
    """
    return distinct if len(distinct) <= max_bins else _ends(distinct, counts, max_bins)


def _ends(ascending: Floats, counts: Ints, max_bins: int) -> Floats:
    running = np.cumsum(counts)
    ends = ascending[np.searchsorted(running, ranks(int(running[-1]), max_bins))]
    return np.unique(np.append(ends, ascending[-1]))


def bins_of(values: Floats, feature: Feature, max_bins: int) -> Bins:
    """Return the bins of a whole column.

    Examples
    --------
    >>> bins_of(np.array([3.0, 1.0, 2.0, np.nan]), Feature("x"), 2).highs
    array([2., 3.])
    """
    if feature.is_nominal:
        return nominal_bins(feature)
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    highs = quantiles(distinct, counts, max_bins)
    first = np.searchsorted(distinct, highs[:-1]) + 1
    return Bins(distinct[np.append(0, first)] if len(highs) else highs, highs)


def nominal_bins(feature: Feature) -> Bins:
    """Return one bin for every category."""
    if len(feature.categories) > MOST_BINS:
        raise DataError(
            f"feature {feature.name!r} has {len(feature.categories)} categories; at most {MOST_BINS} can be packed"
        )
    index = np.arange(len(feature.categories), dtype=np.float64)
    return Bins(index, index)


def least_values(codes: Ints, values: Floats, bins: int) -> Floats:
    """Return the least value of every bin, and of what lies above all; infinite where there is none.

    >>> least_values(np.array([0, 0, 2]), np.array([5.0, 3.0, np.nan]), 2)
    array([ 3., inf, inf])
    """
    least = np.full(bins + 1, np.inf)
    np.minimum.at(least, codes, np.where(np.isnan(values), np.inf, values))
    return least


def word_count(labels: int) -> int:
    """Return how many words of 64 bits hold so many labels."""
    return max(1, -(-labels // 64))


class ColumnCounts:
    """How many values lie in each of some disjoint, ascending intervals; a value of its own is an interval, too.

    Intervals are joined when there are more than twice `capacity`, but never across one of the `fences`.

    Examples
    --------
    >>> counts = ColumnCounts(100)
    >>> counts.add(np.array([3.0, 1.0, np.nan, 3.0]))
    >>> counts.lows, counts.counts, counts.quantiles(2)
    (array([1., 3.]), array([1, 2]), array([1., 3.]))
    """

    def __init__(self, capacity: int, fences: Floats | None = None) -> None:
        self.capacity = capacity
        self.fences = np.zeros(0) if fences is None else fences
        self.lows: Floats = np.zeros(0)
        self.highs: Floats = np.zeros(0)
        self.counts: Ints = np.zeros(0, dtype=np.int64)

    @classmethod
    def up_to(cls, highs: Floats, counts: Ints, alone: bool) -> ColumnCounts:
        """Count values up to each of `highs` and above the one before; `alone` if there are no others than these.

        >>> ColumnCounts.up_to(np.array([1.0, 9.0]), np.array([1, 5]), alone=True).quantiles(3)
        array([1., 9.])
        """
        made = cls(len(highs))
        made.highs, made.counts = highs, counts
        made.lows = highs if alone else np.append(highs[:1], np.nextafter(highs[:-1], np.inf))
        return made

    def add(self, values: Floats, inside: ColumnCounts | None = None, wanted: Bools | None = None) -> None:
        """Count values; with `inside`, only those that lie in the `wanted` intervals of other counts."""
        distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        if inside is not None and wanted is not None:
            place, known = inside.find(distinct)
            keep = known & wanted[np.where(known, place, 0)]
            distinct, counts = distinct[keep], counts[keep]
        self.add_counted(distinct, counts)

    def add_counted(self, distinct: Floats, counts: Ints) -> None:
        """Take in distinct values, ascending, that were counted."""
        place, known = self.find(distinct)
        np.add.at(self.counts, place[known], counts[known])
        if not known.all():
            self._insert(distinct[~known], distinct[~known], counts[~known])
        if len(self.counts) > 2 * self.capacity + len(self.fences):
            self._join()

    def find(self, values: Floats) -> tuple[Ints, Bools]:
        """Return the interval of every value, and whether there is one."""
        place = np.searchsorted(self.highs, values)
        known = place < len(self.highs)
        known[known] = self.lows[place[known]] <= values[known]
        return place, known

    def wanted(self, max_bins: int) -> Bools:
        """Which intervals of several values must be looked into before the quantiles are known."""
        wide = self.lows < self.highs
        if not wide.any():
            return wide
        running = np.cumsum(self.counts)
        chosen = np.zeros(len(wide), dtype=bool)
        chosen[np.searchsorted(running, ranks(int(running[-1]), max_bins))] = True
        return chosen & wide

    def replace(self, wanted: Bools, finer: ColumnCounts) -> None:
        """Put finer counts of some intervals in their place."""
        self.lows, self.highs, self.counts = self.lows[~wanted], self.highs[~wanted], self.counts[~wanted]
        self._insert(finer.lows, finer.highs, finer.counts)

    def quantiles(self, max_bins: int) -> Floats:
        """Return the upper ends of the bins; nothing may be wanted any more."""
        if (self.lows < self.highs).any():  # wide intervals hold more values than there are bins
            return _ends(self.highs, self.counts, max_bins)
        return quantiles(self.highs, self.counts, max_bins)

    def _insert(self, lows: Floats, highs: Floats, counts: Ints) -> None:
        lows, highs = np.concatenate([self.lows, lows]), np.concatenate([self.highs, highs])
        counts = np.concatenate([self.counts, counts])
        order = np.argsort(lows, kind="stable")
        self.lows, self.highs, self.counts = lows[order], highs[order], counts[order]

    def _join(self) -> None:
        """Join neighbours, each of about the same number of values."""
        before = np.cumsum(self.counts) - self.counts
        group = before * self.capacity // max(1, int(self.counts.sum()))
        fence = np.searchsorted(self.fences, self.lows, side="right")
        first = np.flatnonzero(np.append(True, (np.diff(group) > 0) | (np.diff(fence) > 0)))
        last = np.append(first[1:], len(group)) - 1
        self.counts = np.add.reduceat(self.counts, first)
        self.lows, self.highs = self.lows[first], self.highs[last]


class CutFinder:
    """Finds the cuts of all columns, pass by pass.

    Examples
    --------
    >>> finder = CutFinder(columns=1, max_bins=2, capacity=2)
    >>> while finder.unfinished:
    ...     for part in ([5.0, 1.0, 4.0], [2.0, 3.0, 6.0]):
    ...         finder.add([np.array(part)])
    ...     finder.end_of_pass()
    >>> finder.cuts
    [array([3., 6.])]
    """

    def __init__(self, columns: int, max_bins: int, capacity: int | None = None) -> None:
        self.max_bins = max_bins
        # 24 bytes an interval, up to twice as many as the capacity, and as much again while sorting
        self.capacity = capacity or int(np.clip((256 << 20) // (96 * max(1, columns)), 4 * max_bins, 1 << 20))
        self.unfinished = list(range(columns))
        self._counts = [ColumnCounts(self.capacity) for _ in range(columns)]
        self._finer: dict[int, tuple[Bools, ColumnCounts]] = {}

    def add(self, columns: list[Floats]) -> None:
        """Look at some rows, given column by column."""
        for j in self.unfinished:
            if j in self._finer:
                wanted, finer = self._finer[j]
                finer.add(columns[j], self._counts[j], wanted)
            else:
                self._counts[j].add(columns[j])

    def end_of_pass(self) -> None:
        """Note that all rows have been seen; `unfinished` then says which columns need another pass."""
        for j, (wanted, finer) in self._finer.items():
            self._counts[j].replace(wanted, finer)
        self._finer = {}
        for j in self.unfinished:
            wanted = self._counts[j].wanted(self.max_bins)
            if wanted.any():
                self._finer[j] = wanted, ColumnCounts(self.capacity, self._counts[j].lows[wanted])
        self.unfinished = list(self._finer)

    @property
    def cuts(self) -> list[Floats]:
        """Upper ends of the bins of every column."""
        return [counts.quantiles(self.max_bins) for counts in self._counts]
