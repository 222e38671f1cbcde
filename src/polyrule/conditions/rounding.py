"""Numbers with few digits that are on the same side of every value they must not cross."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from math import isfinite

_MAX_DIGITS = 17  # with this number of digits, every double reads back as itself


def round_between(number: float, between: tuple[float, float] | None, digits: int | None) -> float:
    """Return a number of an interval with `digits` significant digits, or with as few more as are necessary.

    The interval contains its lower end only. Without `digits` or an interval the number is not rounded.

    Examples
    --------
    >>> round_between(44.5, (44.2, 44.9), 2), round_between(44.5, (43.0, 46.0), 1), round_between(44.5, None, 1)
    (44.5, 44.0, 44.5)
    """
    if digits is None or between is None:
        return number
    low, high = between
    return next((candidate for candidate in _roundings(number, digits) if low <= candidate < high), number)


def round_beside(value: float, digits: int | None, thresholds: Iterable[float] = ()) -> float:
    """Return a value with `digits` significant digits, or with more if it would seem to cross a threshold.

    Examples
    --------
    >>> round_beside(0.1304, 2), round_beside(0.1304, 2, [0.13])
    (0.13, 0.1304)
    """
    if digits is None or not isfinite(value):
        return value
    sides = [(threshold, value <= threshold) for threshold in thresholds]
    for count in range(digits, _MAX_DIGITS):
        candidate = float(f"{value:.{count}g}")
        if all((candidate <= threshold) == side for threshold, side in sides):
            return candidate
    return value


def is_short(number: float, digits: int) -> bool:
    """Return True if a number has at most `digits` significant digits."""
    return float(f"{number:.{digits}g}") == number


def _roundings(number: float, digits: int) -> Iterator[float]:
    """Roundings of a number, those with fewer digits first; of equally many the nearest, then its neighbors."""
    exact = Decimal(number)
    for count in range(digits, _MAX_DIGITS + 1):
        last = Decimal(1).scaleb(exact.adjusted() + 1 - count)
        for rounding in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
            yield float(exact.quantize(last, rounding)) + 0.0  # never -0.0
