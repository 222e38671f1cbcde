"""Thresholds between the bins: exact, but looked for only where they could win.

Between two cuts the counts of a rule lie between those at both ends, so its value is bounded by them. Bins that cannot
reach the best value found at the cuts are left alone; only the rows of the others are looked into, with their original
values. The list is that of the ordinary learner, which uses every value.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from polyrule.arrays import Bools, Floats, Ints
from polyrule.kernels.cuts import midpoint
from polyrule.kernels.growth import Step, without_tested
from polyrule.kernels.judge import Verdict
from polyrule.model.rule import Condition, NumericCondition
from polyrule.scale.batches import batch_of
from polyrule.scale.coded import KINDS, Body, Border, Counts, Range, on_host
from polyrule.scale.engine import CountedEngine, CountedNode
from polyrule.scale.judge import CountedBatch
from polyrule.scale.state import BlockState

#: Relative error that doubles may have in a bound.
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class Inner:
    """Distinct values of some rows in ascending order, each with its code and its counts."""

    values: Floats
    codes: Ints
    counts: Counts

    def __add__(self, other: Inner) -> Inner:
        values = np.concatenate([self.values, other.values])
        distinct, first, place = np.unique(values, return_index=True, return_inverse=True)
        kinds = np.zeros((len(distinct), *self.counts.kinds.shape[1:]), dtype=np.int64)
        weight = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(kinds, place, np.concatenate([self.counts.kinds, other.counts.kinds]))
        np.add.at(weight, place, np.concatenate([self.counts.weight, other.counts.weight]))
        return Inner(distinct, np.concatenate([self.codes, other.codes])[first], Counts(kinds, weight))


@dataclass(frozen=True, eq=False)
class LookInside:
    """Which values, with which counts, do the covered rows have in some bins of a numeric feature?"""

    body: Body
    column: int
    bins: tuple[int, ...]

    def answer(self, state: BlockState) -> Inner:
        """List them."""
        rows = state.rows(self.body)
        chosen = np.zeros(int(max(self.bins, default=0)) + 2, dtype=bool)
        chosen[list(self.bins)] = True
        codes = on_host(state.codes(self.column, rows)).astype(np.int64)
        keep = chosen[np.minimum(codes, len(chosen) - 1)]
        rows, codes = rows[state.xp.asarray(keep)], codes[keep]
        assert state.block.values is not None
        distinct, first, place = np.unique(
            on_host(state.block.values[self.column][rows]), return_index=True, return_inverse=True
        )
        weights = on_host(state.weights(rows))
        kinds = np.zeros((len(distinct), state.labels, KINDS), dtype=np.int64)
        weight = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(weight, place, weights)
        for label in range(state.labels):
            kind = on_host(state.bit(state.block.truth, label, rows) + 2 * state.bit(state.set, label, rows))
            where: Any = place, label, kind
            np.add.at(kinds, where, weights)
        return Inner(distinct, codes[first], Counts(kinds, weight))


@dataclass(frozen=True)
class Ends:
    """Smallest and largest value of some rows; adding takes the ends of both."""

    low: float
    high: float

    def __add__(self, other: Ends) -> Ends:
        return Ends(min(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True, eq=False)
class FindEnds:
    """Between which values do covered rows lie, of those with a code up to `code` and a value above `above`?"""

    body: Body
    column: int
    code: int
    above: float = -np.inf

    def answer(self, state: BlockState) -> Ends:
        """Look at the original values."""
        rows = state.rows(self.body)
        assert state.block.values is not None
        values = state.block.values[self.column][rows[state.codes(self.column, rows) <= self.code]]
        values = values[values > self.above]
        return Ends(float(values.min()), float(values.max())) if len(values) else Ends(np.inf, -np.inf)


class RefiningEngine(CountedEngine):
    """Grows the rules of the ordinary learner: bins first, then the values inside those that could hold better cuts."""

    def _search(
        self, parent: CountedNode, step: Step, border: Border, literals: Bools, floor: Verdict | None
    ) -> list[CountedNode]:
        """Return the best extensions of one body, cuts inside bins included."""
        coarse = super()._search(parent, step, border, literals, None)
        full = len(coarse) >= self.options.beam_width
        level = coarse[-1].rank[0] if full else None
        allowed = without_tested(literals, parent.body)
        exact = partial(self._exact_batch, level=level, allowed=allowed)
        return self.shortlist(parent, step, self._batches(step, border, exact), literals, floor)

    def _exact_batch(self, border: Border, column: int, level: Fraction | None, allowed: Bools) -> CountedBatch:
        if not self._is_numeric(column):
            return self._batch(border, column)
        counts = self._column(border.counts, self._place[column]).on_host()
        bins = len(self.bins[column])
        offset = 0 if border.offset is None else border.offset.kinds
        inside = np.flatnonzero(self._hopeful(counts, offset, bins, level, allowed) & (counts.weight[:bins] > 0))
        many = inside[self.bins[column].lows[inside] < self.bins[column].highs[inside]]
        inner = self.counter.ask(LookInside(border.rows, column, tuple(many.tolist()))) if len(many) else None
        return _Cuts(self, border, column, counts, inner, many).batch()

    def _hopeful(self, counts: Counts, offset: Ints | int, bins: int, level: Fraction | None, allowed: Bools) -> Bools:
        """Which bins could hold a cut that reaches the level: take of their rows only those that help."""
        measure = self._judge.fast_measure(allowed)
        if level is None or level <= 0 or measure is None:
            return np.ones(bins, dtype=bool)
        p, q = float(level.numerator), float(level.denominator)
        h = [a * q - p * b for a, b in zip(*measure.rows, strict=True)]
        total = self._judge.total.astype(float)
        extra = counts.kinds[:bins].astype(float)
        upto = np.cumsum(extra, axis=0)
        hopeful = np.zeros(bins, dtype=bool)
        for value in (0, 1):
            slope = np.empty(KINDS)
            slope[value] = h[1] - (h[4] if value else h[3])
            slope[1 - value] = h[2] - (h[3] if value else h[4])
            slope[2:] = -h[3], -h[4]
            empty = h[0] + h[3] * total[:, 0] + h[4] * total[:, 1]
            size = abs(h[0]) + abs(h[3]) * total[:, 0] + abs(h[4]) * total[:, 1]
            gain = (extra * np.maximum(slope, 0)).sum(axis=2)
            for base in (upto - extra + offset, upto[-1:] - upto + offset):
                bound = empty + (base * slope).sum(axis=2) + gain
                rounding = SLACK * (size + ((base + extra) * np.abs(slope)).sum(axis=2))
                reached = (bound >= -rounding) & allowed[:, value] & (base[..., value] + extra[..., value] > 0)
                hopeful |= reached.any(axis=1)
        return hopeful


class _Cuts:
    """Candidates of one numeric feature: bins in steps, those that were looked into value by value."""

    def __init__(
        self,
        engine: RefiningEngine,
        border: Border,
        column: int,
        counts: Counts,
        inner: Inner | None,
        opened: Ints,
    ) -> None:
        self.engine, self.border, self.column = engine, border, column
        bins = len(engine.bins[column])
        closed = np.setdiff1d(np.flatnonzero(counts.weight[:bins] > 0), opened)
        values = np.full(len(closed), np.nan)
        kinds, weight, codes = counts.kinds[closed], counts.weight[closed], closed
        if inner is not None:
            kinds, weight = np.concatenate([kinds, inner.counts.kinds]), np.concatenate([weight, inner.counts.weight])
            codes, values = np.concatenate([codes, inner.codes]), np.concatenate([values, inner.values])
        order = np.lexsort([values, codes])
        self.codes, self.values = codes[order], values[order]
        self.kinds, self.weight = kinds[order], weight[order]
        self.missing = int(counts.weight[bins])

    def batch(self) -> CountedBatch:
        """Return the candidates in canonical order: thresholds ascending, ``<=`` before ``>``."""
        steps = len(self.codes)
        below, above = np.repeat(np.arange(steps - 1), 2), np.tile([False, True], max(0, steps - 1))
        if self.missing and steps:
            covered, working = self._ends(self.border.rows), self._ends(())
            if working.low < covered.low:  # a threshold below all of them leaves out just the missing ones
                below, above = np.append(-1, below), np.append(True, above)
            if working.high > covered.high:
                below, above = np.append(below, steps - 1), np.append(above, False)

        def split(per_step: Ints) -> Ints:
            running = np.concatenate([np.zeros((1, *per_step.shape[1:]), dtype=np.int64), np.cumsum(per_step, axis=0)])
            chosen = running[below + 1]
            chosen[above] = running[-1] - chosen[above]
            return np.asarray(chosen)

        known: dict[int, float] = {}

        def threshold(index: int) -> float:
            step = int(below[index])
            if step not in known:
                known[step] = self._threshold(step)
            return known[step]

        def ranges(index: int) -> Range:
            side = bool(above[index])
            return Range(self.column, 0, len(self.engine.bins[self.column]) - 1, side, threshold(index))

        def condition(index: int) -> Condition:
            return NumericCondition(self.column, ">" if above[index] else "<=", threshold(index))

        return batch_of(self.border, Counts(split(self.kinds), split(self.weight)), ranges, condition)

    def _ends(self, body: Body) -> Ends:
        return self.engine.counter.ask(FindEnds(body, self.column, len(self.engine.bins[self.column]) - 1))

    def _threshold(self, step: int) -> float:
        """Halfway between the largest covered value up to a step and the next one of the working set."""
        last = len(self.engine.bins[self.column]) - 1
        ask = self.engine.counter.ask
        if step < 0:
            low = self._ends(()).low
        elif np.isnan(self.values[step]):
            low = ask(FindEnds(self.border.rows, self.column, int(self.codes[step]))).high
        else:
            low = float(self.values[step])
        return midpoint(low, ask(FindEnds((), self.column, last, low)).low)
