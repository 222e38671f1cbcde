"""Upper bounds for example-wise averages, by replacing each example's value by a straight line above it.

Fix the number j of labels to be added. The value of an example is then a function of d, the number of added literals
that are right for it (plus little else, over which the largest is taken). Any line above that function is additive over
the literals, so the best choice of j labels under the lines is a matter of sorting, and it bounds every true choice.
The lines are laid against the function at a guess of d; the labels that win under them make the next guess. No
concavity or monotony is needed: a line is moved up until it lies above.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from polyrule.heads.space import HeadSpace
from polyrule.heads.valuation import ExampleValuation
from polyrule.measures.base import Measure
from polyrule.measures.counting import Head
from polyrule.measures.ratio import RatioMeasure

ROUNDS = 4
LARGEST_TABLE = 1_000_000
MARGIN = 1e-9
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class ExampleBounds:
    """Bounds for one world, example-wise objective and order of labels."""

    def __init__(self, valuation: ExampleValuation, space: HeadSpace, labels: list[int]) -> None:
        self.valuation = valuation
        self.scope = valuation.objective.scope
        self.monotone = valuation.objective.measure.monotone
        self.values = _Lookup(valuation.objective.measure, valuation.world.n_labels)
        self.weights = np.array(valuation.weights, np.float64) / max(valuation.world.total_weight, 1)
        self.covered = valuation.covered
        self.base = valuation.outside.astype(np.int64).sum(axis=1)
        self.change = [cells.astype(np.int64) - valuation.outside for cells in valuation.inside]
        self.negative = any(value == 0 for _, value in space.literals)
        # How a literal moves TP of a covered or TN of an uncovered example: (examples, literals), in the order of
        # labels.
        literals = [literal for label in labels for literal in space.choices[label]]
        self.score = np.stack([self._score(value)[:, label] for label, value in literals], axis=1)
        self.first = np.cumsum([0] + [len(space.choices[label]) for label in labels])
        starts = self.first[:-1]
        most = np.maximum.reduceat(self.score, starts, axis=1)
        least = np.minimum.reduceat(self.score, starts, axis=1)
        self.score = self.score.astype(np.float64)
        self.up, self.level = _tail_counts(most == 1), _tail_counts(most == 0)
        self.down, self.flat = _tail_counts(least == -1), _tail_counts(least == 0)
        is_set = np.stack([(valuation.inside[1][:, x].sum(axis=1) == 0) & self.covered for x in labels], axis=1)
        self.set_left = _tail_counts(is_set)
        self.present_left = _tail_counts(valuation.truth[:, labels] == 1)
        self.n = len(labels)
        self._likely = 1

    def _score(self, value: int) -> Ints:
        change = self.change[value]
        silent = change[:, :, 2] if self.scope == "head" else np.zeros_like(change[:, :, 2])
        return np.where(self.covered[:, None], change[:, :, 0], silent)

    def limit(self, head: Head, depth: int, most: int, target: Fraction) -> float:
        """Take the largest bound over the number of labels added; stop at the first that is not below the target."""
        counts = self.base.copy()
        for label, value in head:
            counts += self.change[value][:, label]
        goal, highest = float(target), -np.inf
        # Sizes at which no cut was possible lately come first: one of them is enough to give up.
        sizes = sorted(range(1, most - len(head) + 1), key=lambda j: abs(len(head) + j - self._likely))
        for j in sizes:
            rho = float(self.valuation.rho(len(head) + j))
            highest = max(highest, self._limit_for(counts, depth, j, goal, rho))
            if highest >= goal - MARGIN:
                self._likely = len(head) + j
                break
        return float(highest)

    def _limit_for(self, counts: Ints, depth: int, j: int, goal: float, rho: float) -> float:
        low, high, table = self._table(counts, depth, j)
        steps = low[:, None] + np.arange(table.shape[1])
        first = self.first[depth]
        starts = self.first[depth:-1] - first
        score = self.score[:, first:]
        rows = np.arange(len(table))
        span = high - low
        slope = (table[rows, span] - table[rows, 0]) / np.maximum(span, 1)
        tightest = np.inf
        for _ in range(ROUNDS):
            offset = np.max(table - slope[:, None] * steps, axis=1)
            gains = (self.weights * slope) @ score
            per_label = np.maximum.reduceat(gains, starts)
            chosen = np.argpartition(-per_label, j - 1)[:j]
            bound = float(self.weights @ offset + per_label[chosen].sum()) * rho
            tightest = min(tightest, bound)
            if tightest < goal - 2 * MARGIN:
                break
            ends = np.append(starts[1:], score.shape[1])
            winners = [int(starts[i] + np.argmax(gains[starts[i] : ends[i]])) for i in chosen]
            at = np.clip(score[:, winners].sum(axis=1).astype(np.int64) - low, 0, span)
            right, left = np.minimum(at + 1, span), np.maximum(at - 1, 0)
            slope = (table[rows, right] - table[rows, left]) / np.maximum(right - left, 1)
        return tightest

    def _table(self, counts: Ints, depth: int, j: int) -> tuple[Ints, Ints, Floats]:
        """Per example the range of d, and the largest value for each d from its low end on; -inf beyond the range."""
        up, level, down, flat = (x[:, depth] for x in (self.up, self.level, self.down, self.flat))
        high = np.minimum(j, up) - np.maximum(0, j - up - level)
        low = np.maximum(0, j - down - flat) - np.minimum(j, down)
        d = low[:, None] + np.arange(int((high - low).max()) + 1)
        inside = d <= high[:, None]
        d = np.minimum(d, high[:, None])
        table = np.empty(d.shape)
        tp, fp, tn, fn = counts.T[:, :, None]
        c = self.covered
        if not c.all():
            out = ~c
            if self.scope == "head":
                table[out] = self.values(0 * d[out], 0 * d[out], tn[out] + d[out], fn[out] + j - d[out])
            else:
                table[out] = self.values(*(np.broadcast_to(x[out], d[out].shape) for x in (tp, fp, tn, fn)))
        if c.any():
            table[c] = self._covered(tp[c], fp[c], tn[c], fn[c], d[c], depth, j)
        return low, high, np.where(inside, table, -np.inf)

    def _covered(self, tp: Ints, fp: Ints, tn: Ints, fn: Ints, d: Ints, depth: int, j: int) -> Floats:
        """Largest value of covered examples after j more labels of which d are right."""
        tn, fn = np.broadcast_to(tn, d.shape), np.broadcast_to(fn, d.shape)
        if self.scope == "full":
            return self.values(tp + d, fp - d, tn, fn)
        is_set = self.set_left[self.covered, depth][:, None]
        present = self.present_left[self.covered, depth][:, None]
        if self.monotone:
            # As few FP as can be, and as many of the labels from FN as can be, is the best there is.
            wrong = fp + np.maximum(j - d - is_set, 0)
            if self.scope == "head":
                return self.values(tp + d, wrong, tn, fn)
            most = np.minimum(j, present) if self.negative else np.minimum(np.minimum(j, present), d + is_set)
            return self.values(tp + d, wrong, np.maximum(tn - j + most, 0), np.maximum(fn - most, 0))
        best = np.full(d.shape, -np.inf)
        for z in range(min(int(is_set.max()), j) + 1):
            wrong = fp + j - d - z
            possible = (z <= is_set) & (z <= j - d)
            if self.scope == "head":
                found = self.values(tp + d, np.maximum(wrong, 0), tn, fn)
                best = np.maximum(best, np.where(possible, found, -np.inf))
                continue
            # Scope all: of the j labels q were FN and j - q were TN before.
            least, most = np.maximum(0, j - (self.n - depth - present)), np.minimum(j, present)
            if not self.negative:
                least, most = np.maximum(least, d), np.minimum(most, d + is_set)
            for q in range(int(least.min()), int(most.max()) + 1):
                silent, missed = tn - j + q, fn - q
                fine = possible & (least <= q) & (q <= most) & (silent >= 0) & (missed >= 0)
                found = self.values(tp + d, np.maximum(wrong, 0), np.maximum(silent, 0), np.maximum(missed, 0))
                best = np.maximum(best, np.where(fine, found, -np.inf))
        return best


class _Lookup:
    """Values of a measure for arrays of small counts; a table of all of them unless the measure is quick anyway."""

    def __init__(self, measure: Measure, n_labels: int) -> None:
        self.measure = measure
        self.table: Floats | None = None
        if not isinstance(measure, RatioMeasure) and (n_labels + 1) ** 4 <= LARGEST_TABLE:
            self.table = np.full((n_labels + 1,) * 4, np.nan)

    def __call__(self, tp: Ints, fp: Ints, tn: Ints, fn: Ints) -> Floats:
        if self.table is None:
            return self.measure.values(tp, fp, tn, fn)
        found = self.table[tp, fp, tn, fn]
        missing = np.isnan(found)
        if missing.any():
            asked = [np.broadcast_to(x, found.shape)[missing] for x in (tp, fp, tn, fn)]
            self.table[tuple(asked)] = self.measure.values(*asked)
            found = self.table[tp, fp, tn, fn]
        return np.asarray(found)


def _tail_counts(flags: npt.NDArray[np.bool_]) -> Ints:
    """For flags of shape (examples, labels): how many of the labels from each one on have the flag."""
    return np.asarray(np.cumsum(flags[:, ::-1].astype(np.int64), axis=1)[:, ::-1])
