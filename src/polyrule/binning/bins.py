"""Bins of one feature: the values that share a code, and the threshold between two codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyrule.binning.quantiles import quantiles
from polyrule.data.table import Feature
from polyrule.errors import DataError, OptionError
from polyrule.utils.arrays import Floats, Ints

#: One code of a byte is reserved for missing values.
MAX_BINS_OF_A_BYTE = 255
MAX_BINS = 65_535


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
        codes = np.searchsorted(self.highs, values)
        codes[np.isnan(values)] = len(self.highs)
        return codes

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
    """Return `max_bins` as an int; raise `OptionError` unless it is a whole number in range."""
    whole = isinstance(max_bins, (int, float, np.integer)) and not isinstance(max_bins, bool)
    if not whole or not 2 <= max_bins <= MAX_BINS or max_bins % 1:
        raise OptionError(parameter="max_bins", value=max_bins, allowed=f"a whole number from 2 to {MAX_BINS}")
    return int(max_bins)


def code_type(widest: int) -> npt.DTypeLike:
    """Return the smallest type for the codes of `widest` bins and the missing value."""
    return np.uint8 if widest <= MAX_BINS_OF_A_BYTE else np.uint16


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
    if len(feature.categories) > MAX_BINS:
        raise DataError(
            f"feature {feature.name!r} has {len(feature.categories)} categories; at most {MAX_BINS} can be packed"
        )
    index = np.arange(len(feature.categories), dtype=np.float64)
    return Bins(index, index)


def min_values(codes: Ints, values: Floats, bins: int) -> Floats:
    """Return the smallest value of every bin, and of the values above all bins; infinite if there is none.

    >>> min_values(np.array([0, 0, 2]), np.array([5.0, 3.0, np.nan]), 2)
    array([ 3., inf, inf])
    """
    smallest = np.full(bins + 1, np.inf)
    np.minimum.at(smallest, codes, np.where(np.isnan(values), np.inf, values))
    return smallest


def word_count(labels: int) -> int:
    """Return the number of 64-bit words that hold `labels` bits."""
    return max(1, -(-labels // 64))
