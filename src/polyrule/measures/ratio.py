"""The core family: a linear function of the counts over another one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, isfinite, lcm
from typing import Any

import numpy as np

from polyrule.errors import MeasureError
from polyrule.measures.base import Counts, Measure, divided
from polyrule.utils.arrays import Floats

Row = tuple[int, int, int, int, int]

LARGEST = 10**150  # limit of a coefficient, so that doubles can hold it times counts


class RatioMeasure(Measure):
    """``(a0 + a·(TP, FP, TN, FN)) / (b0 + b·(TP, FP, TN, FN))``.

    Parameters
    ----------
    name : str
        What to call it.
    numerator, denominator : sequence of five numbers
        The coefficients of (constant, TP, FP, TN, FN). Integers, fractions, decimal strings, or floats; a float means
        the shortest decimal that denotes it, so 0.1 is one tenth. The rows are brought to coprime integers.

    Examples
    --------
    >>> lenient = RatioMeasure("lenient", (0, 1, 0, 0, 0), (0, 1, 0.5, 0, 0))
    >>> lenient
    RatioMeasure('lenient', 2·TP / (2·TP + FP))
    >>> lenient.value(3, 2, 0, 0)
    Fraction(3, 4)
    >>> lenient.properties().kind
    'decomposable'
    """

    def __init__(self, name: str, numerator: Sequence[Any], denominator: Sequence[Any]) -> None:
        self.name = name
        top = [_exact(name, "numerator", x) for x in _five(name, "numerator", numerator)]
        bottom = [_exact(name, "denominator", x) for x in _five(name, "denominator", denominator)]
        if not any(bottom):
            raise MeasureError(f"measure {name!r}: the denominator is zero everywhere; give it a coefficient")
        scale = lcm(*(x.denominator for x in top + bottom))
        whole = [int(x * scale) for x in top + bottom]
        common = gcd(*whole)
        if max(map(abs, whole)) // common >= LARGEST:
            raise MeasureError(f"measure {name!r}: its coefficients differ too much; keep them within 150 digits")
        self.numerator: Row = _row(x // common for x in whole[:5])
        self.denominator: Row = _row(x // common for x in whole[5:])
        self.directions = tuple(self._direction(i) for i in range(1, 5))
        self.monotone = (
            self.has_positive_denominator
            and all(self.directions[i] in (0, 1) for i in (0, 2))
            and all(self.directions[i] in (0, -1) for i in (1, 3))
        )

    @property
    def rows(self) -> tuple[Row, Row]:
        """Numerator and denominator as coprime integers, for the kernels."""
        return self.numerator, self.denominator

    @property
    def has_constants(self) -> bool:
        """True if a constant term is present, as in Laplace; the value is then no mediant of single values."""
        return self.numerator[0] != 0 or self.denominator[0] != 0

    @property
    def has_positive_denominator(self) -> bool:
        """True if the denominator is positive for every head whose literals have TP >= 1."""
        return min(self.denominator) >= 0 and self.denominator[0] + self.denominator[1] > 0

    @property
    def rewards_tp_only(self) -> bool:
        """True if an example without true positives has the value 0 and none less, as by the F-measures."""
        constant, tp, *rest = self.numerator
        return constant == 0 and tp > 0 and not any(rest) and min(self.denominator) >= 0

    def in_units(self, unit: Fraction) -> RatioMeasure:
        """Divide the constants by the unit, so that the ratio is the same."""
        if not self.has_constants:
            return self
        rows = ((row[0] / unit, *row[1:]) for row in self.rows)
        return RatioMeasure(self.name, *rows)

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the exact ratio, 0 where the denominator is 0."""
        a, b = self.numerator, self.denominator
        bottom = b[0] + b[1] * tp + b[2] * fp + b[3] * tn + b[4] * fn
        if bottom == 0:
            return Fraction(0)
        return Fraction(a[0] + a[1] * tp + a[2] * fp + a[3] * tn + a[4] * fn, bottom)

    def values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Return the ratios of arrays of counts as doubles."""
        counts = [np.asarray(x, dtype=np.float64) for x in (tp, fp, tn, fn)]
        top = sum((a * x for a, x in zip(self.numerator[1:], counts, strict=True)), np.float64(self.numerator[0]))
        bottom = sum(
            (b * x for b, x in zip(self.denominator[1:], counts, strict=True)), np.float64(self.denominator[0])
        )
        return divided(top, bottom)

    def upper_bound(self, low: Counts, high: Counts) -> Fraction | None:
        """Take every count at the end where the ratio is larger; None if that differs from case to case.

        Where a box holds counts of denominator 0, whose value is 0, others may be worth less.
        """
        if not self.has_positive_denominator or None in self.directions:
            return None
        ends = [h if d == 1 else lo for d, lo, h in zip(self.directions, low, high, strict=True)]
        zero, *b = self.denominator
        if zero or any(w and x for w, x in zip(b, low, strict=True)):
            return self.value(*ends)
        if any(w and x for w, x in zip(b, ends, strict=True)):
            return max(self.value(*ends), Fraction(0))
        # where the ends have nothing below, the fewest counts that have something are one of a kind
        something = [[*ends[:i], 1, *ends[i + 1 :]] for i in range(4) if b[i] and high[i] > 0]
        return max((self.value(*counts) for counts in something), default=Fraction(0))

    def _direction(self, i: int) -> int | None:
        """+1 if the ratio never falls as count i grows, -1 if it never rises, 0 if it ignores it, None if it varies."""
        minors = [
            self.numerator[i] * self.denominator[j] - self.numerator[j] * self.denominator[i]
            for j in range(5)
            if j != i
        ]
        if all(m == 0 for m in minors):
            return 0
        if all(m >= 0 for m in minors):
            return 1
        return -1 if all(m <= 0 for m in minors) else None

    def _key(self) -> tuple[str, Row, Row]:
        return self.name, self.numerator, self.denominator

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RatioMeasure) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"RatioMeasure({self.name!r}, {_text(self.numerator)} / {_text(self.denominator)})"


def _five(name: str, which: str, row: Sequence[Any]) -> Sequence[Any]:
    if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 5:
        raise MeasureError(
            f"measure {name!r}: the {which} needs five coefficients (constant, TP, FP, TN, FN), got {row!r}"
        )
    return row


def exact_number(number: Any) -> Fraction:
    """Read an int, fraction, decimal string or float as the exact number its writer meant; ValueError otherwise.

    >>> exact_number(0.1)
    Fraction(1, 10)
    """
    if isinstance(number, np.floating):
        number = float(str(number))  # a single 0.1 is one tenth, too
    elif hasattr(number, "item"):
        number = number.item()
    if isinstance(number, bool) or not isinstance(number, (int, float, str, Fraction)):
        raise ValueError(f"not a number: {number!r}")
    if isinstance(number, float):
        if not isfinite(number):
            raise ValueError(f"not a finite number: {number!r}")
        return Fraction(repr(number))
    try:
        return Fraction(number)
    except ZeroDivisionError:
        raise ValueError(f"division by zero: {number!r}") from None


def _exact(name: str, which: str, number: Any) -> Fraction:
    try:
        return exact_number(number)
    except ValueError:
        raise MeasureError(f"measure {name!r}: {number!r} in the {which} is not a finite number") from None


def _row(numbers: Iterable[int]) -> Row:
    a, b, c, d, e = numbers
    return a, b, c, d, e


def _text(row: Row) -> str:
    """Write a coefficient row as a sum, in brackets if it has more than one term.

    >>> _text((0, 5, 1, 0, -2))
    '(5·TP + FP - 2·FN)'
    """
    terms: list[str] = []
    for coefficient, symbol in zip(row, ("", "TP", "FP", "TN", "FN"), strict=True):
        if coefficient == 0:
            continue
        size = abs(coefficient)
        term = str(size) if not symbol else symbol if size == 1 else f"{size}·{symbol}"
        sign = ("-" if coefficient < 0 else "") if not terms else (" - " if coefficient < 0 else " + ")
        terms.append(sign + term)
    text = "".join(terms) or "0"
    return f"({text})" if len(terms) > 1 else text
