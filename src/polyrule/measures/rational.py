"""Measures that are exact rational functions of the counts but no ratio of two linear ones."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from polyrule.arrays import Floats
from polyrule.measures.base import Counts, Measure

ZERO = Fraction(0)


class RationalMeasure(Measure):
    """A named exact function of the four counts and some fixed parameters.

    Parameters
    ----------
    name : str
    function : callable
        Module-level function ``(tp, fp, tn, fn, *parameters) -> Fraction``.
    parameters : tuple
    monotone : bool
        See `Measure.monotone`.

    Examples
    --------
    >>> RationalMeasure("wracc", weighted_relative_accuracy).value(2, 0, 2, 0)
    Fraction(1, 4)
    """

    def __init__(
        self, name: str, function: Callable[..., Fraction], parameters: tuple[Any, ...] = (), monotone: bool = False
    ) -> None:
        self.name = name
        self.function = function
        self.parameters = parameters
        self.monotone = monotone

    def in_units(self, unit: Fraction) -> Measure:
        """Divide m by the unit; the others are made of shares, which are the same in every unit."""
        if self.function is m_estimate_from_counts:
            return RationalMeasure(self.name, self.function, (Fraction(self.parameters[0]) / unit,), self.monotone)
        of_shares = (weighted_relative_accuracy, true_minus_false_positive_rate)
        return self if self.function in of_shares else super().in_units(unit)

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the exact value."""
        return self.function(tp, fp, tn, fn, *self.parameters)

    def values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Return the values of arrays of counts as doubles, without a detour over fractions where possible."""
        if self.function is not true_minus_false_positive_rate:
            return super().values(tp, fp, tn, fn)
        a, b, c, d = (np.asarray(x, dtype=np.float64) for x in (tp, fp, tn, fn))
        gained = np.divide(a, a + d, out=np.zeros(np.shape(a + d)), where=a + d != 0)
        return np.asarray(gained - np.divide(b, b + c, out=np.zeros(np.shape(b + c)), where=b + c != 0))

    def quick_values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Evaluate the formulas in doubles, whole arrays at once."""
        a, b, c, d = (np.asarray(x, dtype=np.float64) for x in (tp, fp, tn, fn))
        total = np.maximum(a + b + c + d, 1)
        if self.function is weighted_relative_accuracy:
            return np.asarray((a * c - b * d) / (total * total))
        if self.function is m_estimate_from_counts:
            m = float(self.parameters[0])
            bottom = a + b + m
            return np.divide(a + m * (a + d) / total, bottom, out=np.zeros(np.shape(bottom)), where=bottom != 0)
        return self.values(tp, fp, tn, fn)

    def upper_bound(self, low: Counts, high: Counts) -> Fraction | None:
        """Bound by the ends of the counts; the two measures that are not monotone have bounds of their own."""
        if self.function is m_estimate_from_counts:
            return _m_estimate_bound(low, high, *self.parameters)
        if self.function is weighted_relative_accuracy:
            return _wracc_bound(low, high)
        return super().upper_bound(low, high)

    def _key(self) -> tuple[Any, ...]:
        return self.name, self.function, self.parameters

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RationalMeasure) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"RationalMeasure({self.name!r})"


def weighted_relative_accuracy(tp: int, fp: int, tn: int, fn: int) -> Fraction:
    """Coverage times the gain in precision over the prior: (TP·TN - FP·FN) / N²."""
    total = tp + fp + tn + fn
    return Fraction(tp * tn - fp * fn, total * total) if total else ZERO


def true_minus_false_positive_rate(tp: int, fp: int, tn: int, fn: int) -> Fraction:
    """TP / (TP + FN) - FP / (FP + TN), each 0 where its denominator is 0."""
    gained = Fraction(tp, tp + fn) if tp + fn else ZERO
    lost = Fraction(fp, fp + tn) if fp + tn else ZERO
    return gained - lost


def m_estimate_from_counts(tp: int, fp: int, tn: int, fn: int, m: Fraction) -> Fraction:
    """(TP + m·P/N) / (TP + FP + m) with the prior P/N = (TP + FN) / (TP + FP + TN + FN)."""
    total = tp + fp + tn + fn
    bottom = tp + fp + m
    if not bottom:
        return ZERO
    prior = Fraction(tp + fn, total) if total else ZERO
    return (tp + m * prior) / bottom


def _m_estimate_bound(low: Counts, high: Counts, m: Fraction) -> Fraction:
    """The prior is largest with all positives and the fewest negatives; the rest grows with TP, falls with FP."""
    positives, negatives = high[0] + high[3], low[1] + low[2]
    prior = Fraction(positives, positives + negatives) if positives else ZERO
    bottom = high[0] + low[1] + m
    return (high[0] + m * prior) / bottom if bottom else ZERO


def _wracc_bound(low: Counts, high: Counts) -> Fraction:
    """At most t·u / (t + u + c)² for t <= TP, u <= TN and c the errors there must be.

    The product over the square grows in the smaller of t and u, and in the larger one until it is the smaller plus c.
    """
    errors = low[1] + low[3]
    (t, _), (u, least) = sorted([(high[0], low[0]), (high[2], low[2])])
    u = max(min(u, t + errors), least)
    most = Fraction(t * u, (t + u + errors) ** 2) if t and u else ZERO
    total = sum(high)
    return most - Fraction(low[1] * low[3], total * total) if total else most
