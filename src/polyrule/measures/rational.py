"""Measures that are exact rational functions of the counts but no ratio of two linear ones."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from polyrule.measures.base import Measure

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

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the exact value."""
        return self.function(tp, fp, tn, fn, *self.parameters)

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
