"""Matthews' correlation: a root, so its values are kept to a fixed number of bits."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.measures.base import Measure

# Two different squares of correlations over N examples differ by at least N**-8, their roots by half of that. With
# 2**256 steps to the unit the order of micro-averaged values is therefore the true one for every N below 2**31.
BITS = 256


class Matthews(Measure):
    """(TP·TN - FP·FN) / sqrt((TP+FP)(TP+FN)(TN+FP)(TN+FN)); 0 where the root is 0.

    A value is the true one, rounded towards 0 to 256 binary places, and exact where the root is rational. Single and
    micro-averaged values compare exactly as the true ones do. Averages of roots are rounded to 128 binary places, so
    that averages that are equal are also found equal; averages closer than 2**-128 count as equal.

    Examples
    --------
    >>> Matthews().value(2, 1, 2, 1)
    Fraction(1, 3)
    >>> round(float(Matthews().value(1, 1, 2, 0)), 3)
    0.577
    """

    name = "matthews"
    monotone = True
    rounded = True

    def in_units(self, unit: Fraction) -> Matthews:
        """A correlation is the same in every unit."""
        return self

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the correlation to 256 binary places."""
        top = tp * tn - fp * fn
        square = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
        if square == 0 or top == 0:
            return Fraction(0)
        root = root_of(Fraction(top * top, square))
        return root if top > 0 else -root

    def values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> npt.NDArray[np.float64]:
        """Return the correlations of arrays of counts as doubles."""
        a, b, c, d = (np.asarray(x, dtype=np.float64) for x in (tp, fp, tn, fn))
        top = a * c - b * d
        root = np.sqrt(a + b) * np.sqrt(a + d) * np.sqrt(c + b) * np.sqrt(c + d)
        return np.asarray(np.divide(top, root, out=np.zeros(np.shape(top)), where=root != 0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matthews)

    def __hash__(self) -> int:
        return hash(Matthews)

    def __repr__(self) -> str:
        return "Matthews()"


def root_of(square: Fraction) -> Fraction:
    """Return a square root, exact where it is rational, else rounded down to 256 binary places.

    >>> root_of(Fraction(4, 9)), round(float(root_of(Fraction(2))), 6)
    (Fraction(2, 3), 1.414214)
    """
    p, q = isqrt(square.numerator), isqrt(square.denominator)
    if p * p == square.numerator and q * q == square.denominator:
        return Fraction(p, q)
    return Fraction(isqrt((square.numerator << 2 * BITS) // square.denominator), 1 << BITS)


def round_average(value: Fraction) -> Fraction:
    """Round an average of roots to 128 binary places.

    >>> round_average(Fraction(1, 2))
    Fraction(1, 2)
    """
    return Fraction(round(value * (1 << BITS // 2)), 1 << BITS // 2)
