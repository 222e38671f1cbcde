"""Example-wise averages that are additive once the head size is fixed (fact E and its kin).

For heads of size k the value is c_k + sum of g_k,i over the literals, wherever the value of every single example is
an affine function of its counts at that size. Whether it is gets checked on the spot and exactly, over the few counts
an example can have, so it holds for measures of which nobody has proved anything, and says no as soon as labels that
are set already break it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from polyrule.heads.valuation import ExampleValuation, Valuation
from polyrule.heads.world import HeadSpace
from polyrule.measures.base import Counts, Measure
from polyrule.measures.definition import LabelValue

Line = tuple[Fraction, Fraction, Fraction]
Ranges = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SizeForm:
    """Per head size the constant and the gain of every literal; entry 0 belongs to heads of one label."""

    constants: list[Fraction]
    gains: list[dict[LabelValue, Fraction]]


def size_form(valuation: Valuation, space: HeadSpace) -> SizeForm | None:
    """Return the size-wise additive form of an example-wise average, or None if it has none in this world.

    >>> from polyrule.heads import World
    >>> from polyrule.heads.valuation import valuation
    >>> from polyrule.measures import Objective
    >>> world = World.from_text(covered="011 110")
    >>> def has_form(measure):
    ...     objective = Objective(measure, averaging="example")
    ...     return size_form(valuation(world, objective), HeadSpace.of(world, objective)) is not None
    >>> has_form("jaccard"), has_form("f1")
    (True, False)
    """
    if not isinstance(valuation, ExampleValuation):
        return None
    examples = _Examples(valuation, space)
    if not examples.same_totals:
        return None
    constants, gains = [], []
    for size in range(1, space.max_size + 1):
        lines = examples.lines(size)
        if lines is None or (examples.measure.rounded and any(any(line) for line in lines)):
            return None
        constant, gain = examples.additive(lines)
        constants.append(constant)
        gains.append(gain)
    return SizeForm(constants, gains)


class _Examples:
    """The examples of a world by kind: those of a kind have the same counts and the same range of changes."""

    def __init__(self, valuation: ExampleValuation, space: HeadSpace) -> None:
        self.measure = valuation.objective.measure
        self.literals = space.literals
        self.total = Fraction(max(valuation.world.total_weight, 1))
        change = [cells.astype(np.int64) - valuation.outside for cells in valuation.inside]
        # shape (examples, literals, 4)
        changed = np.stack([change[value][:, label] for label, value in self.literals], axis=1)
        predicted, silent = changed[:, :, :2].sum(axis=2), changed[:, :, 2:].sum(axis=2)
        # Unless every literal adds the same to TP + FP and to TN + FN of an example, k does not fix these totals.
        self.same_totals = bool((predicted == predicted[:, :1]).all() and (silent == silent[:, :1]).all())
        t, q = changed[:, :, 0], changed[:, :, 3]
        ranges = [t.min(axis=1), t.max(axis=1), q.min(axis=1), q.max(axis=1), (t + q == 0).all(axis=1)]
        base = valuation.outside.astype(np.int64).sum(axis=1)
        kinds, which = np.unique(
            np.column_stack([base, predicted[:, 0], silent[:, 0], *ranges]), axis=0, return_inverse=True
        )
        self.kinds: list[list[int]] = kinds.tolist()
        weights = np.array(valuation.weights, np.int64)
        self.weights = np.zeros(len(kinds), np.int64)
        np.add.at(self.weights, which.ravel(), weights)
        self.change = np.zeros((len(kinds), *changed.shape[1:]), np.int64)
        np.add.at(self.change, which.ravel(), weights[:, None, None] * changed)

    def lines(self, size: int) -> list[Line] | None:
        """Return value = c + s·(growth of TP) + r·(growth of FN) for every kind, or None if one has no such line."""
        found = []
        for tp, fp, tn, fn, predicted, silent, *ranges in self.kinds:
            line = _line(self.measure, (tp, fp, tn, fn), predicted * size, silent * size, tuple(ranges), size)
            if line is None:
                return None
            found.append(line)
        return found

    def additive(self, lines: list[Line]) -> tuple[Fraction, dict[LabelValue, Fraction]]:
        """Sum the lines of all examples into one constant and a gain per literal."""
        constant = sum((int(w) * c for w, (c, _, _) in zip(self.weights, lines, strict=True)), Fraction(0))
        gains = dict.fromkeys(self.literals, Fraction(0))
        for (_, s, r), rows in zip(lines, self.change.tolist(), strict=True):
            for literal, row in zip(self.literals, rows, strict=True):
                gains[literal] += s * row[0] + r * row[3]
        return constant / self.total, {literal: gain / self.total for literal, gain in gains.items()}


@lru_cache(maxsize=1 << 16)
def _line(measure: Measure, base: Counts, predicted: int, silent: int, ranges: Ranges, size: int) -> Line | None:
    """Fit value = c + s·t + r·q over all growths t of TP and q of FN that `size` literals can cause; exact or None."""
    t_low, t_high, q_low, q_high, cancels = ranges
    points: dict[tuple[int, int], Fraction] = {}
    for t in range(t_low * size, t_high * size + 1):
        for q in [-t] if cancels else range(q_low * size, q_high * size + 1):
            counts = base[0] + t, base[1] + predicted - t, base[2] + silent - q, base[3] + q
            if min(counts) >= 0:
                points[t, q] = measure.value(*counts)
    if not points:
        return None
    (t0, q0), v0 = next(iter(points.items()))
    along_t = ((v - v0) / (t - t0) for (t, q), v in points.items() if t != t0 and (cancels or q == q0))
    along_q = ((v - v0) / (q - q0) for (t, q), v in points.items() if q != q0 and t == t0)
    s = next(along_t, Fraction(0))
    r = Fraction(0) if cancels else next(along_q, Fraction(0))
    c = v0 - s * t0 - r * q0
    return (c, s, r) if all(v == c + s * t + r * q for (t, q), v in points.items()) else None
