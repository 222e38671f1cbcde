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


def ceilings(tp: Any, fp: Any, tn: Any, fn: Any, usable: Mask, formula: str) -> Floats:
    """Return what no head of a body exceeds, where that is positive; the last axes of the arrays are (labels, 2).

    Examples
    --------
    >>> one = np.array([[[0, 4]]]), np.array([[[4, 0]]]), np.array([[[3, 3]]]), np.array([[[1, 1]]])
    >>> ceilings(*one, one[0] > 0, "rate_difference").round(3)
    array([0.8])
    """
    shares = Shares(tp, fp, tn, fn)
    axes = (-2, -1)
    # Where every example has the label, f is 0; the rate difference is then what the literal covers, the others are 0.
    alone = shares.x if formula == "rate_difference" else np.zeros_like(shares.x)
    best = np.zeros(shares.t.shape[:-2])
    for x in _ends(shares.x, usable, axes):
        gain = shares.t - x * shares.s
        below = denominator(formula, x, shares.s)
        ratio = np.divide(gain, below, out=np.where(gain > SLACK, 1.0, alone), where=below > 1e-12)
        best = np.maximum(best, np.where(usable, ratio, 0.0).max(axis=axes))
    return np.minimum(best, 1.0)


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


def lifted_may_beat(a: Floats, b: Floats, usable: Mask, top: float, bottom: float, rho: Floats, level: float) -> Mask:
    """Say which sizes have a head whose lifted value exceeds or equals a level, for a ratio with positive denominators.

    Parameters
    ----------
    a, b : float array (labels, 2)
        What each literal adds to numerator and denominator.
    usable : bool array (labels, 2)
    top, bottom : float
        Constant parts of numerator and denominator.
    rho : float array
        Factor of head sizes 1, 2, …

    Examples
    --------
    >>> a, b = np.array([[0.0, 3], [0, 2]]), np.array([[1.0, 4], [1, 4]])
    >>> lifted_may_beat(a, b, b > 1, 0, 0, np.array([1, 1.3]), 0.8)
    array([False,  True])
    """
    reached = np.zeros(len(rho), dtype=bool)
    labels = int(usable.any(axis=1).sum())
    for size in range(1, min(len(rho), labels) + 1):
        at = level / rho[size - 1]
        gains = np.where(usable, a - at * b, -np.inf).max(axis=1)
        largest = np.sort(gains)[::-1][:size]
        reached[size - 1] = top - at * bottom + largest.sum() >= -SLACK * (1 + np.abs(largest).sum())
    return reached
