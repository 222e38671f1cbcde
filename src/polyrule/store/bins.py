"""The bins of a feature: which values share a code, and which threshold lies between two codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyrule.data.table import Feature
from polyrule.errors import DataError, OptionError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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

    def neighbours(self, threshold: float) -> tuple[float, float] | None:
        """Return the values on either side of a threshold between two bins, see `Table.neighbours`.

        Examples
        --------
        >>> bins = Bins(np.array([1.0, 5.0]), np.array([2.0, 9.0]))
        >>> bins.neighbours(3.5), bins.neighbours(7.0)
        ((2.0, 5.0), None)
        """
        place = int(np.searchsorted(self.highs, threshold, side="right"))
        low = float(self.highs[place - 1]) if place else -np.inf
        high = float(self.lows[place]) if place < len(self) else np.inf
        return (low, high) if threshold < high else None


def check_max_bins(max_bins: int) -> int:
    """Return the number, or say what is wrong with it."""
    if isinstance(max_bins, bool) or max_bins != int(max_bins) or not 2 <= max_bins <= MOST_BINS:
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
    if len(distinct) <= max_bins:
        return distinct
    running = np.cumsum(counts)
    ends = distinct[np.searchsorted(running, ranks(int(running[-1]), max_bins))]
    return np.unique(np.append(ends, distinct[-1]))


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


def word_count(labels: int) -> int:
    """Return how many words of 64 bits hold so many labels."""
    return max(1, -(-labels // 64))
