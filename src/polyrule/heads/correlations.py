"""Bounds for WRAcc, the rate difference and Matthews' correlation of heads whose literals differ in what they cover.

For a head let t, x and s be the shares of TP, of TP + FP and of TP + FN in all its counts. The three measures are
(t - x·s) / f with f = 1, s·(1 - s) and √(x(1-x)s(1-s)), and t, x and s are means over the head's literals. As f is
concave in s, a head reaches a level λ >= 0 only if ψ(x) = t - x·s - λ·f(x, s), taken for each literal at the head's x,
is on average not negative; and as ψ is convex in x, it is enough to look at the smallest and the largest x. See
docs/theory.md.

Plain NumPy in doubles, with slack: made to rule heads out, never to decide between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.measures.base import Measure
from polyrule.measures.matthews import Matthews
from polyrule.measures.rational import RationalMeasure, true_minus_false_positive_rate, weighted_relative_accuracy

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
SLACK = 1e-9


def formula_of(measure: Measure) -> str | None:
    """Return ``wracc``, ``rate_difference`` or ``matthews`` if the measure is one of these."""
    if isinstance(measure, Matthews):
        return "matthews"
    if not isinstance(measure, RationalMeasure):
        return None
    return {weighted_relative_accuracy: "wracc", true_minus_false_positive_rate: "rate_difference"}.get(
        measure.function
    )


class Shares:
    """t, x, s and the weight N of literals, from arrays of TP, FP, TN and FN of one shape."""

    def __init__(self, tp: Any, fp: Any, tn: Any, fn: Any) -> None:
        counts = [np.asarray(count, dtype=np.float64) for count in (tp, fp, tn, fn)]
        self.weight = np.asarray(sum(counts))
        total = np.maximum(self.weight, 1)
        self.t = counts[0] / total
        self.x = (counts[0] + counts[1]) / total
        self.s = (counts[0] + counts[3]) / total

    def psi(self, formula: str, level: Any, x: Any) -> Floats:
        """Return t - x·s - λ·f(x, s) of every literal."""
        return np.asarray(self.t - x * self.s - level * denominator(formula, x, self.s))


def denominator(formula: str, x: Any, s: Any) -> Floats:
    """Return f(x, s)."""
    if formula == "wracc":
        return np.ones(np.broadcast_shapes(np.shape(x), np.shape(s)))
    spread = np.clip(s * (1 - s), 0, None)
    if formula == "rate_difference":
        return np.asarray(spread + 0 * x)
    return np.asarray(np.sqrt(np.clip(x * (1 - x), 0, None) * spread))


def _ends(x: Floats, usable: Mask, axes: tuple[int, ...]) -> tuple[Floats, Floats]:
    low = np.where(usable, x, np.inf).min(axis=axes, keepdims=True)
    high = np.where(usable, x, -np.inf).max(axis=axes, keepdims=True)
    return np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)


class Branches:
    """Whether heads that contain some literals and may take others can reach a level."""

    def __init__(self, formula: str, tp: Any, fp: Any, tn: Any, fn: Any, usable: Mask) -> None:
        self.formula = formula
        self.shares = Shares(tp, fp, tn, fn)
        self.usable = usable
        self.ends = tuple(float(end.squeeze()) for end in _ends(self.shares.x, usable, (-2, -1)))

    def may_reach(self, level: float, chosen: list[tuple[int, int]], open_labels: list[int]) -> bool:
        """Say no only if no head of `chosen` and at least one literal of `open_labels` reaches the level.

        The level must not be negative.
        """
        weight = self.shares.weight
        for x in self.ends:
            gains = weight * self.shares.psi(self.formula, level, x)
            taken = sum(float(gains[literal]) for literal in chosen)
            offered = np.where(self.usable[open_labels], gains[open_labels], -np.inf).max(axis=1, initial=-np.inf)
            most = float(offered[offered > 0].sum() if (offered > 0).any() else offered.max(initial=-np.inf))
            if taken + most >= -SLACK * float(weight.sum()):
                return True
        return False
