"""Thresholds that people can read: the number with the fewest digits that separates two values."""

from __future__ import annotations

import math


def simplest_between(low: float, high: float) -> float:
    """Return the number t with low <= t < high that has the fewest decimals; of those the one nearest the middle.

    Examples
    --------
    >>> simplest_between(0.3471, 0.3518), simplest_between(3, 4), simplest_between(118.2, 397.9)
    (0.35, 3.5, 300.0)
    """
    low, high = float(low), float(high)
    middle = low + (high - low) / 2
    gap = high - low
    if not math.isfinite(middle) or not gap > 0:
        return low
    coarsest = math.floor(math.log10(gap)) + 1
    for exponent in range(coarsest, coarsest - 3, -1):
        candidate = _rounded(middle, exponent)
        if low < candidate < high:
            return candidate
    return middle if low <= middle < high else low


def _rounded(number: float, exponent: int) -> float:
    """Round to a multiple of 10**exponent, written so that no stray binary digits appear."""
    return float(round(number, -exponent)) if abs(exponent) < 300 else number
