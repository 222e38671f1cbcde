"""Values of single literals, many at once: doubles pick out what could be best, exact numbers decide."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from polyrule.arrays import Bools, Floats, Ints
from polyrule.measures import Measure

#: Doubles further apart than this (relatively) belong to values that differ; closer ones are compared exactly.
SLACK = 1e-9


def lowered(value: float) -> float:
    """Return the value less the slack: what is below it cannot be the best."""
    return value - SLACK * max(1.0, abs(value))


class SingleValues(Protocol):
    """Values literals by their counts, given as (4, ...): TP, FP, TN, FN."""

    def approximate(self, counts: Ints) -> Floats:
        """Return the values as doubles."""

    def exact_maximum(self, counts: Ints, near: Bools) -> tuple[Fraction, Bools]:
        """Return the largest value among the `near` literals, and where exactly it is reached."""


@dataclass(frozen=True)
class RatioValues:
    """A ratio measure: integers in lowest terms.

    Examples
    --------
    >>> counts = np.array([[2, 4, 1], [1, 2, 1], [0, 0, 0], [0, 0, 0]])
    >>> precision = RatioValues((0, 1, 0, 0, 0), (0, 1, 1, 0, 0))
    >>> value, tied = precision.exact_maximum(counts, precision.approximate(counts) > 0.6)
    >>> value, tied.tolist()
    (Fraction(2, 3), [True, True, False])
    """

    num: tuple[int, ...]
    den: tuple[int, ...]

    def _rows(self, counts: Ints) -> tuple[Ints, Ints]:
        top = self.num[0] + np.tensordot(self.num[1:], counts, 1)
        bottom = self.den[0] + np.tensordot(self.den[1:], counts, 1)
        return np.where(bottom == 0, 0, np.sign(bottom) * top), np.where(bottom == 0, 1, np.abs(bottom))

    def approximate(self, counts: Ints) -> Floats:
        """Return the ratios as doubles."""
        top, bottom = self._rows(counts)
        return np.asarray(top / bottom)

    def exact_maximum(self, counts: Ints, near: Bools) -> tuple[Fraction, Bools]:
        """Compare the ratios in lowest terms."""
        top, bottom = self._rows(counts[:, near])
        divisor = np.gcd(top, bottom)
        reduced = np.stack([top // divisor, bottom // divisor], axis=1)
        best = max(Fraction(int(p), int(q)) for p, q in np.unique(reduced, axis=0))
        tied = np.zeros_like(near)
        tied[near] = (reduced[:, 0] == best.numerator) & (reduced[:, 1] == best.denominator)
        return best, tied


@dataclass(frozen=True)
class CountedValues:
    """Any measure of the counts: the exact value of every distinct set of counts that could be best.

    Examples
    --------
    >>> from polyrule.measures import get
    >>> counts = np.array([[2, 2, 1], [0, 0, 1], [1, 1, 0], [0, 0, 0]])
    >>> wracc = CountedValues(get("wracc"))
    >>> value, tied = wracc.exact_maximum(counts, wracc.approximate(counts) > 0.1)
    >>> value, tied.tolist()
    (Fraction(2, 9), [True, True, False])
    """

    measure: Measure

    def approximate(self, counts: Ints) -> Floats:
        """Return the values as doubles."""
        return self.measure.values(*counts)

    def exact_maximum(self, counts: Ints, near: Bools) -> tuple[Fraction, Bools]:
        """Compare the exact values."""
        rows, position = np.unique(counts[:, near], axis=1, return_inverse=True)
        values = [self.measure.value(*map(int, row)) for row in rows.T]
        best = max(values)
        tied = np.zeros_like(near)
        tied[near] = np.array([value == best for value in values])[position]
        return best, tied
