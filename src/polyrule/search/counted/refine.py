"""Thresholds between the bins: exact, but looked for only where they could win.

Between two cuts the counts of a rule lie between those at both ends, so its value is bounded by them. Bins that cannot
reach the best value found at the cuts are left alone; only the rows of the others are looked into, with their original
values. The list is that of the ordinary learner, which uses every value.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

import numpy as np

from polyrule.conditions import Condition, NumericCondition
from polyrule.measures.definition import N_OUTCOMES
from polyrule.search.candidates import cut_sides, midpoint
from polyrule.search.counted.batches import CountedBatch
from polyrule.search.counted.engine import CountedEngine, CountedNode
from polyrule.search.counted.requests import Body, Counts, Range, on_host
from polyrule.search.counted.state import BlockState
from polyrule.search.growth import without_tested
from polyrule.search.scoring import ScoredCandidate
from polyrule.utils.arrays import Bools, Floats, Ints

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
        both = self.counts.followed_by(other.counts)
        counts = Counts.zeros(len(distinct), both.outcomes.shape[1])
        np.add.at(counts.outcomes, place, both.outcomes)
        np.add.at(counts.weight, place, both.weight)
        return Inner(distinct, np.concatenate([self.codes, other.codes])[first], counts)


@dataclass(frozen=True, eq=False)
class LookInside:
    """Distinct values, with their counts, of the covered rows in some bins of a numeric feature."""

    body: Body
    column: int
    bins: tuple[int, ...]

    def answer(self, state: BlockState) -> Inner:
        """List them."""
        rows = state.rows(self.body)
        selected = np.zeros(int(max(self.bins, default=0)) + 2, dtype=bool)
        selected[list(self.bins)] = True
        codes = on_host(state.codes(self.column, rows)).astype(np.int64)
        keep = selected[np.minimum(codes, len(selected) - 1)]
        rows, codes = rows[state.xp.asarray(keep)], codes[keep]
        assert state.block.values is not None
        distinct, first, place = np.unique(
            on_host(state.block.values[self.column][rows]), return_index=True, return_inverse=True
        )
        counts = Counts.zeros(len(distinct), state.labels)
        counts.add_rows(place, map(on_host, state.outcomes(rows)), on_host(state.weights(rows)))
        return Inner(distinct, codes[first], counts)


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
        self, parent: CountedNode, counts: Counts, literals: Bools, floor: ScoredCandidate | None
    ) -> list[CountedNode]:
        """Return the best extensions of one body, cuts inside bins included."""
        coarse = super()._search(parent, counts, literals, None)
        full = len(coarse) >= self.options.beam_width
        level = coarse[-1].rank[0] if full else None
        allowed = without_tested(literals, parent.body)
        exact = partial(self._exact_batch, level=level, allowed=allowed)
        return self.shortlist(parent, self._batches(parent, counts, exact), literals, floor)

    def _exact_batch(
        self, body: Body, table: Counts, column: int, level: Fraction | None, allowed: Bools
    ) -> CountedBatch:
        if not self._is_numeric(column):
            return self._batch(body, table, column)
        counts = self._column(table, self._place[column]).on_host()
        bins = len(self.bins[column])
        inside = np.flatnonzero(self._hopeful(counts, bins, level, allowed) & (counts.weight[:bins] > 0))
        many = inside[self.bins[column].lows[inside] < self.bins[column].highs[inside]]
        inner = self.counter.run(LookInside(body, column, tuple(many.tolist()))) if len(many) else None
        return self._cuts(body, column, _steps(counts, bins, many, inner), missing=counts.weight[bins] > 0)

    def _cuts(self, body: Body, column: int, steps: Inner, missing: bool) -> CountedBatch:
        """Return the candidates of a numeric feature, cut between steps."""
        last, ask = len(self.bins[column]) - 1, self.counter.run
        before = behind = False
        if missing and len(steps.codes):
            covered, working = ask(FindEnds(body, column, last)), ask(FindEnds((), column, last))
            before, behind = working.low < covered.low, working.high > covered.high
        below, above = cut_sides(len(steps.codes), before, behind)

        def split(per_step: Ints) -> Ints:
            running = np.concatenate([np.zeros((1, *per_step.shape[1:]), dtype=np.int64), np.cumsum(per_step, axis=0)])
            selected = running[below + 1]
            selected[above] = running[-1] - selected[above]
            return np.asarray(selected)

        @cache
        def threshold(step: int) -> float:
            """Halfway between the largest covered value up to a step and the next one of the working set."""
            if step < 0:
                low = ask(FindEnds((), column, last)).low
            elif np.isnan(steps.values[step]):
                low = ask(FindEnds(body, column, int(steps.codes[step]))).high
            else:
                low = float(steps.values[step])
            return midpoint(low, ask(FindEnds((), column, last, low)).low)

        def ranges(index: int) -> Range:
            return Range(column, 0, last, bool(above[index]), threshold(int(below[index])))

        def condition(index: int) -> Condition:
            return NumericCondition(column, ">" if above[index] else "<=", threshold(int(below[index])))

        return CountedBatch.of(
            body, Counts(split(steps.counts.outcomes), split(steps.counts.weight)), ranges, condition
        )

    def _hopeful(self, counts: Counts, bins: int, level: Fraction | None, allowed: Bools) -> Bools:
        """Return the bins that may hold a cut which reaches the level, by the bound of the rows that help."""
        measure = self._judge.fast_measure(allowed)
        if level is None or level <= 0 or measure is None:
            return np.ones(bins, dtype=bool)
        p, q = float(level.numerator), float(level.denominator)
        h = [a * q - p * b for a, b in zip(*measure.rows, strict=True)]
        total = self._judge.total.astype(float)
        extra = counts.outcomes[:bins].astype(float)
        upto = np.cumsum(extra, axis=0)
        hopeful = np.zeros(bins, dtype=bool)
        for value in (0, 1):
            slope = np.empty(N_OUTCOMES)
            slope[value] = h[1] - (h[4] if value else h[3])
            slope[1 - value] = h[2] - (h[3] if value else h[4])
            slope[2:] = -h[3], -h[4]
            empty = h[0] + h[3] * total[:, 0] + h[4] * total[:, 1]
            size = abs(h[0]) + abs(h[3]) * total[:, 0] + abs(h[4]) * total[:, 1]
            gain = (extra * np.maximum(slope, 0)).sum(axis=2)
            for base in (upto - extra, upto[-1:] - upto):
                bound = empty + (base * slope).sum(axis=2) + gain
                rounding = SLACK * (size + ((base + extra) * np.abs(slope)).sum(axis=2))
                reached = (bound >= -rounding) & allowed[:, value] & (base[..., value] + extra[..., value] > 0)
                hopeful |= reached.any(axis=1)
        return hopeful


def _steps(counts: Counts, bins: int, opened: Ints, inner: Inner | None) -> Inner:
    """Return the covered bins in ascending order, those that were opened value by value; the others have no value."""
    closed = np.setdiff1d(np.flatnonzero(counts.weight[:bins] > 0), opened)
    values, codes, covered = np.full(len(closed), np.nan), closed, counts.at(closed)
    if inner is not None:
        values, codes = np.concatenate([values, inner.values]), np.concatenate([codes, inner.codes])
        covered = covered.followed_by(inner.counts)
    order = np.lexsort([values, codes])
    return Inner(values[order], codes[order], covered.at(order))
