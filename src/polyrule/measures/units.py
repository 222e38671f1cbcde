"""Counts in other units than examples: weights are whole numbers of units, and a measure speaks of examples."""

from __future__ import annotations

from fractions import Fraction

from polyrule.measures.base import Counts, Measure
from polyrule.measures.properties import Properties


class MeasureInUnits(Measure):
    """Any measure, for counts in units of so many examples.

    Parameters
    ----------
    measure : Measure
        Its `value` is asked for fractions where a count stands for no whole number of examples.
    unit : Fraction
    """

    def __init__(self, measure: Measure, unit: Fraction) -> None:
        self.name = measure.name
        self.monotone = measure.monotone
        self.rounded = measure.rounded
        self.measure = measure
        self.unit = unit

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the value of that many examples."""
        return self.measure.value(*self._examples((tp, fp, tn, fn)))

    def upper_bound(self, low: Counts, high: Counts) -> Fraction | None:
        """Ask the measure for its own bound."""
        return self.measure.upper_bound(self._examples(low), self._examples(high))

    def properties(
        self, averaging: str = "micro", scope: str = "head", negative: bool = True, nothing_set: bool = True
    ) -> Properties:
        """Say what is proved about the measure: it holds for counts of any size."""
        return self.measure.properties(averaging, scope, negative, nothing_set)

    def _examples(self, counts: Counts) -> Counts:
        exact = [count * self.unit for count in counts]
        tp, fp, tn, fn = (int(x) if x.denominator == 1 else x for x in exact)
        return tp, fp, tn, fn  # type: ignore[return-value]
