"""Exact quantiles of columns that may be too long to keep.

Values are counted, in intervals if there are too many. One pass suffices for a column with few distinct values. The
intervals of other columns have exact counts; a second pass counts only inside those that hold a quantile. The result
is the value of a certain rank, independent of the order of the rows and of their blocks.
"""

from __future__ import annotations

import numpy as np

from polyrule.utils.arrays import Bools, Floats, Ints


def ranks(n_known: int, max_bins: int) -> Ints:
    """Return the ranks, from 1, of the values at which bins end; the last bin ends at the largest value.

    >>> ranks(10, 4).tolist()
    [3, 5, 8]
    """
    return np.array([-(-n_known * k // max_bins) for k in range(1, max_bins)], dtype=np.int64)


def quantiles(distinct: Floats, counts: Ints, max_bins: int) -> Floats:
    """Return the upper ends of at most `max_bins` bins that hold about the same number of values each.

    If there are no more distinct values than bins, every value is a bin.

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


class ColumnCounts:
    """Counts of values in disjoint, ascending intervals, some of which hold a single value.

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
        """Count values up to each of `highs` and above the one before; `alone` if each interval is one value.

        >>> ColumnCounts.up_to(np.array([1.0, 9.0]), np.array([1, 5]), alone=True).quantiles(3)
        array([1., 9.])
        """
        result = cls(len(highs))
        result.highs, result.counts = highs, counts
        result.lows = highs if alone else np.append(highs[:1], np.nextafter(highs[:-1], np.inf))
        return result

    def add(self, values: Floats, inside: ColumnCounts | None = None, intervals: Bools | None = None) -> None:
        """Count values; with `inside`, only those in the marked `intervals` of other counts."""
        distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        if inside is not None and intervals is not None:
            place, exists = inside.find(distinct)
            keep = exists & intervals[np.where(exists, place, 0)]
            distinct, counts = distinct[keep], counts[keep]
        self.add_counted(distinct, counts)

    def add_counted(self, distinct: Floats, counts: Ints) -> None:
        """Add the counts of ascending distinct values."""
        place, exists = self.find(distinct)
        np.add.at(self.counts, place[exists], counts[exists])
        if not exists.all():
            self._insert(distinct[~exists], distinct[~exists], counts[~exists])
        if len(self.counts) > 2 * self.capacity + len(self.fences):
            self._join()

    def find(self, values: Floats) -> tuple[Ints, Bools]:
        """Return the interval of every value, and True for each value inside an interval."""
        place = np.searchsorted(self.highs, values)
        inside = place < len(self.highs)
        inside[inside] = self.lows[place[inside]] <= values[inside]
        return place, inside

    def unresolved(self, max_bins: int) -> Bools:
        """Mark the intervals of several values that contain a quantile."""
        wide = self.lows < self.highs
        if not wide.any():
            return wide
        running = np.cumsum(self.counts)
        unresolved = np.zeros(len(wide), dtype=bool)
        unresolved[np.searchsorted(running, ranks(int(running[-1]), max_bins))] = True
        return unresolved & wide

    def replace(self, coarse: Bools, finer: ColumnCounts) -> None:
        """Replace the marked intervals by finer counts."""
        self.lows, self.highs, self.counts = self.lows[~coarse], self.highs[~coarse], self.counts[~coarse]
        self._insert(finer.lows, finer.highs, finer.counts)

    def quantiles(self, max_bins: int) -> Floats:
        """Return the upper ends of the bins; no interval may be unresolved."""
        if (self.lows < self.highs).any():  # wide intervals hold more values than there are bins
            return _ends(self.highs, self.counts, max_bins)
        return quantiles(self.highs, self.counts, max_bins)

    def _insert(self, lows: Floats, highs: Floats, counts: Ints) -> None:
        lows, highs = np.concatenate([self.lows, lows]), np.concatenate([self.highs, highs])
        counts = np.concatenate([self.counts, counts])
        order = np.argsort(lows, kind="stable")
        self.lows, self.highs, self.counts = lows[order], highs[order], counts[order]

    def _join(self) -> None:
        """Join neighboring intervals to groups of about the same number of values."""
        before = np.cumsum(self.counts) - self.counts
        group = before * self.capacity // max(1, int(self.counts.sum()))
        fence = np.searchsorted(self.fences, self.lows, side="right")
        first = np.flatnonzero(np.append(True, (np.diff(group) > 0) | (np.diff(fence) > 0)))
        last = np.append(first[1:], len(group)) - 1
        self.counts = np.add.reduceat(self.counts, first)
        self.lows, self.highs = self.lows[first], self.highs[last]


class QuantileFinder:
    """Upper ends of the bins of all columns, found in one or two passes.

    Examples
    --------
    >>> finder = QuantileFinder(columns=1, max_bins=2, capacity=2)
    >>> while finder.unfinished:
    ...     for part in ([5.0, 1.0, 4.0], [2.0, 3.0, 6.0]):
    ...         finder.add([np.array(part)])
    ...     finder.end_of_pass()
    >>> finder.quantiles
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
        """Count a block of rows, passed column by column."""
        for j in self.unfinished:
            if j in self._finer:
                coarse, finer = self._finer[j]
                finer.add(columns[j], self._counts[j], coarse)
            else:
                self._counts[j].add(columns[j])

    def end_of_pass(self) -> None:
        """End a pass over all rows; `unfinished` then lists the columns that need another one."""
        for j, (coarse, finer) in self._finer.items():
            self._counts[j].replace(coarse, finer)
        self._finer = {}
        for j in self.unfinished:
            coarse = self._counts[j].unresolved(self.max_bins)
            if coarse.any():
                self._finer[j] = coarse, ColumnCounts(self.capacity, self._counts[j].lows[coarse])
        self.unfinished = list(self._finer)

    @property
    def quantiles(self) -> list[Floats]:
        """Upper ends of the bins of every column."""
        return [counts.quantiles(self.max_bins) for counts in self._counts]
