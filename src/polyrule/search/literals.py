"""Values of single literals, many at once: doubles pick out what could be best, exact numbers decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from polyrule.measures import Measure, RatioMeasure
from polyrule.utils.arrays import Bools, Floats, Ints

#: Doubles further apart than this (relatively) belong to values that differ; closer ones are compared exactly.
SLACK = 1e-9
#: Largest numerator or denominator the vectorised integers may reach.
LARGEST = 2**62


def lowered(value: float) -> float:
    """Return the value less the slack: what is below it cannot be the best."""
    return value - SLACK * max(1.0, abs(value))


@dataclass(frozen=True)
class LiteralValues:
    """Values literals by their counts, given as (4, ...): TP, FP, TN, FN; these sum to at most `weight`.

    Examples
    --------
    >>> from polyrule.measures import get
    >>> counts = np.array([[2, 4, 1], [1, 2, 1], [0, 0, 0], [0, 0, 0]])
    >>> values = LiteralValues(get("precision"), weight=6)
    >>> best, tied = values.exact_maximum(counts, values.approximate(counts) > 0.6)
    >>> best, tied.tolist()
    (Fraction(2, 3), [True, True, False])
    """

    measure: Measure
    weight: int

    @cached_property
    def ratio(self) -> RatioMeasure | None:
        """The measure if it is a ratio of whole numbers of 64 bits."""
        if not isinstance(self.measure, RatioMeasure):
            return None
        largest = max(abs(row[0]) + max(map(abs, row[1:])) * self.weight for row in self.measure.rows)
        return self.measure if largest < LARGEST else None

    def approximate(self, counts: Ints) -> Floats:
        """Return the values as doubles."""
        if self.ratio is None:
            return self.measure.values(*counts)
        top, bottom = _parts(self.ratio, counts)
        return np.asarray(top / bottom)

    def exact_maximum(self, counts: Ints, near: Bools) -> tuple[Fraction, Bools]:
        """Return the largest value among the `near` literals, and where exactly it is reached."""
        value: Callable[..., Fraction] = self.measure.value
        if self.ratio is None:
            keys = counts[:, near]
        else:
            top, bottom = _parts(self.ratio, counts[:, near])
            keys, value = np.stack([top, bottom]) // np.gcd(top, bottom), Fraction
        distinct, position = np.unique(keys, axis=1, return_inverse=True)
        values = [value(*key) for key in distinct.T.tolist()]
        best = max(values)
        tied = np.zeros_like(near)
        tied[near] = np.array([one == best for one in values])[position]
        return best, tied


def _parts(ratio: RatioMeasure, counts: Ints) -> tuple[Ints, Ints]:
    """Return numerators and denominators, which are positive; a denominator of 0 gives 0."""
    top, bottom = (row[0] + np.tensordot(row[1:], counts, 1) for row in ratio.rows)
    return np.where(bottom == 0, 0, np.sign(bottom) * top), np.where(bottom == 0, 1, np.abs(bottom))
