"""Short decimals between two neighboring values, as people write thresholds."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal, localcontext


def short_between(low: float, high: float) -> float:
    """Return the shortest decimal in the middle third between two numbers; the nearest to the middle of equally short.

    Where nothing shorter fits, as between two neighbouring doubles, it is `low` itself: ``x <= low`` and ``x > low``
    divide the two just as well.

    Examples
    --------
    >>> short_between(16230.12, 16242.44), short_between(0.1312, 0.1314), short_between(2, 3), short_between(-1, 1)
    (16236.0, 0.1313, 2.5, 0.0)
    """
    with localcontext() as context:
        context.prec = 1200  # doubles and their thirds, exactly enough for every pair
        lower, upper = Decimal(low), Decimal(high)
        third, middle = (upper - lower) / 3, (lower + upper) / 2
        size = max(abs(lower + third), abs(upper - third))
        place = size.adjusted() + 1 if size else 0
        for exponent in range(place, place - 25, -1):
            step = Decimal(1).scaleb(exponent)
            nearest = (middle / step).to_integral_value(ROUND_HALF_EVEN) * step
            if lower + third <= nearest <= upper - third:
                found = float(nearest) + 0.0  # never -0.0
                return found if low <= found < high else low
    return low


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
