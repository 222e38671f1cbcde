"""Short decimals between two neighboring values, as people write thresholds."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, localcontext

import numpy as np

from polyrule.utils.arrays import Floats


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
                short = float(nearest) + 0.0  # never -0.0
                return short if low <= short < high else low
    return low


def short_thresholds(lows: Floats, highs: Floats) -> Floats:
    """Return `short_between` of many pairs, all low < high, at once.

    Numbers in double precision decide, but for pairs where rounding could matter.

    Examples
    --------
    >>> short_thresholds(np.array([0.1312, 2.0, 118.2]), np.array([0.1314, 3.0, 397.9]))
    array([1.313e-01, 2.500e+00, 3.000e+02])
    """
    lows, highs = np.asarray(lows, dtype=np.float64), np.asarray(highs, dtype=np.float64)
    thresholds = np.full(len(lows), np.nan)
    sizes, thirds = np.maximum(np.abs(lows), np.abs(highs)), highs / 3 - lows / 3
    left = np.flatnonzero((thirds > 1e-9 * sizes) & (sizes < 1e15) & (thirds > 1e-15))
    middles = lows / 2 + highs / 2
    certain, possible = thirds * (1 + 1e-6), thirds * (1 - 1e-6)
    for exponent in range(15, -17, -1):
        # Powers of ten up to 10**22 are exact, so each candidate is the number next to its decimal.
        power = 10.0 ** abs(exponent)
        steps = middles[left] / power if exponent >= 0 else middles[left] * power
        nearest = np.rint(steps) * power if exponent >= 0 else np.rint(steps) / power
        distance = np.minimum(nearest - lows[left], highs[left] - nearest)
        is_tie = np.abs(steps - np.rint(steps)) > 0.5 - 1e-6
        is_inside = (distance >= certain[left]) & ~is_tie
        thresholds[left[is_inside]] = nearest[is_inside] + 0.0  # never -0.0
        left = left[distance < possible[left]]  # what is neither inside nor outside for sure is decided below
    for place in np.flatnonzero(np.isnan(thresholds)).tolist():
        thresholds[place] = short_between(float(lows[place]), float(highs[place]))
    return thresholds
