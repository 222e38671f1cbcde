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

from polyrule.heads.problem import HeadSpace
from polyrule.heads.valuation import ExampleValuation
from polyrule.measures.definition import Head
from polyrule.utils.arrays import Bools, Floats, Ints

ROUNDS = 8
MARGIN = 1e-9


class ExampleBounds:
    """Bounds for one problem, example-wise objective and order of labels."""

    def __init__(self, valuation: ExampleValuation, space: HeadSpace, labels: list[int]) -> None:
        self.valuation = valuation
        self.scope = valuation.objective.scope
        self.monotone = valuation.objective.measure.monotone
        self.values = valuation.objective.measure.values
        self.weights = np.array(valuation.weights, np.float64) / max(valuation.problem.total_weight, 1)
        self.covered = valuation.covered
        self.negative = any(value == 0 for _, value in space.literals)
        # How a literal moves TP of a covered or TN of an uncovered example: (examples, literals), in the order of
        # labels.
        literals = [literal for label in labels for literal in space.choices[label]]
        self.score = np.stack([self._score(value)[:, label] for label, value in literals], axis=1)
        self.first = np.cumsum([0] + [len(space.choices[label]) for label in labels])
        starts = self.first[:-1]
        highest_score = np.maximum.reduceat(self.score, starts, axis=1)
        lowest_score = np.minimum.reduceat(self.score, starts, axis=1)
        self.score = self.score.astype(np.float64)
        self.up, self.level = _tail_counts(highest_score == 1), _tail_counts(highest_score == 0)
        self.down, self.flat = _tail_counts(lowest_score == -1), _tail_counts(lowest_score == 0)
        is_set = valuation.is_set[:, labels]
        self.is_set = is_set.astype(np.float64)
        self.set_left = _tail_counts(is_set)
        self.present_left = _tail_counts(valuation.truth[:, labels] == 1)
        self.n = len(labels)
        self._likely = 1

    def _score(self, value: int) -> Ints:
        change = self.valuation.change[value]
        silent = change[:, :, 2] if self.scope == "head" else np.zeros_like(change[:, :, 2])
        return np.where(self.covered[:, None], change[:, :, 0], silent)

    def limit(self, head: Head, depth: int, max_size: int, target: Fraction | float) -> Fraction | float:
        """Take the largest bound over the number of labels added; stop at the first that is not below the target.

        Doubles cannot tell a tie from a better head. Where even the best each example could do by itself is no more
        than the target, that is returned as an exact fraction.
        """
        counts = self.valuation.base.copy()
        for label, value in head:
            counts += self.valuation.change[value][:, label]
        goal, highest = float(target), -np.inf
        # Sizes at which no cut was possible lately come first: one of them is enough to give up.
        sizes = sorted(range(1, max_size - len(head) + 1), key=lambda j: abs(len(head) + j - self._likely))
        for j in sizes:
            rho = float(self.valuation.rho(len(head) + j))
            highest = max(highest, self._limit_for(counts, depth, j, goal, rho))
            if highest >= goal - MARGIN:
                self._likely = len(head) + j
                ceiling = self._ceiling(counts, depth, sizes, len(head)) if self.monotone else None
                return _rounded_up(highest) if ceiling is None or ceiling > target else ceiling
        return _rounded_up(highest)

    def _ceiling(self, counts: Ints, depth: int, sizes: list[int], size: int) -> Fraction:
        """Bound the value exactly, with every example as right as j labels could make it, for each j."""
        v = self.valuation
        return max(v.mean(self._as_right_as_can_be(counts, depth, j)) * v.rho(size + j) for j in sizes)

    def _as_right_as_can_be(self, counts: Ints, depth: int, j: int) -> Ints:
        """Return the counts of every example with the most TP and TN and the fewest FP and FN after j more labels."""
        tp, fp, tn, fn = counts.T
        up, level = self.up[:, depth], self.level[:, depth]
        high = np.minimum(j, up) - np.maximum(0, j - up - level)
        c, is_set, present = self.covered, self.set_left[:, depth], self.present_left[:, depth]
        if self.scope == "head":
            columns = [tp + c * high, fp + c * np.maximum(j - high - is_set, 0), tn + ~c * high, fn + ~c * (j - high)]
        elif self.scope == "full":
            columns = [tp + c * high, fp - c * high, tn, fn]
        else:
            from_fn = np.minimum(j, present)
            wrong = np.maximum(j - high - is_set, 0)
            columns = [tp + c * high, fp + c * wrong, np.maximum(tn - c * (j - from_fn), 0), fn - c * from_fn]
        return np.stack(columns, axis=1)

    def _limit_for(self, counts: Ints, depth: int, j: int, goal: float, rho: float) -> float:
        low, high, table = self._table(counts, depth, j)
        right = low[:, None] + np.arange(table.shape[1])
        silent = np.arange(table.shape[2])
        first = self.first[depth]
        starts = self.first[depth:-1] - first
        ends = np.append(starts[1:], self.score.shape[1] - first)
        score, is_set = self.score[:, first:], self.is_set[:, depth:]
        start, end = table[:, 0, 0], table[np.arange(len(low)), high - low, 0]
        finite = np.isfinite(start) & np.isfinite(end)
        slope, step = np.zeros(len(low)), np.zeros(len(low))
        slope[finite] = (end[finite] - start[finite]) / np.maximum(high - low, 1)[finite]
        guess_d, guess_z = np.zeros(len(low)), np.zeros(len(low))
        tightest = np.inf
        for turn in range(ROUNDS):
            offset = np.max(table - (slope[:, None] * right)[:, :, None] - step[:, None, None] * silent, axis=(1, 2))
            gains = (self.weights * slope) @ score
            per_label = np.maximum.reduceat(gains, starts) + (self.weights * step) @ is_set
            selected = np.argpartition(-per_label, j - 1)[:j]
            bound = float(self.weights @ offset + per_label[selected].sum()) * rho
            tightest = min(tightest, bound)
            if tightest < goal - 2 * MARGIN:
                break
            winners = [int(starts[i] + np.argmax(gains[starts[i] : ends[i]])) for i in selected]
            # Later choices move the guess less and less, as in the Frank-Wolfe method; jumping to each would oscillate.
            share = 2 / (turn + 2)
            guess_d += share * (score[:, winners].sum(axis=1) - low - guess_d)
            guess_z += share * (is_set[:, selected].sum(axis=1) - guess_z)
            slope, step = _tangents(table, np.clip(guess_d, 0, high - low), guess_z)
        return tightest

    def _table(self, counts: Ints, depth: int, j: int) -> tuple[Ints, Ints, Floats]:
        """Per example the range of d, and its largest value by d from the low end and by z; -inf for what cannot be."""
        up, level, down, flat = (x[:, depth] for x in (self.up, self.level, self.down, self.flat))
        high = np.minimum(j, up) - np.maximum(0, j - up - level)
        low = np.maximum(0, j - down - flat) - np.minimum(j, down)
        d = low[:, None] + np.arange(int((high - low).max()) + 1)
        inside = d <= high[:, None]
        d = np.minimum(d, high[:, None])
        depth_z = 1 if self.scope == "full" else min(int(self.set_left[:, depth].max(initial=0)), j) + 1
        table = np.full((*d.shape, depth_z), -np.inf)
        tp, fp, tn, fn = counts.T[:, :, None]
        c = self.covered
        if not c.all():
            out = ~c
            if self.scope == "head":
                values = self.values(0 * d[out], 0 * d[out], tn[out] + d[out], fn[out] + j - d[out])
            else:
                values = self.values(*(np.broadcast_to(x[out], d[out].shape) for x in (tp, fp, tn, fn)))
            table[out, :, 0] = values
        if c.any():
            for z in range(depth_z):
                table[c, :, z] = self._covered(tp[c], fp[c], tn[c], fn[c], d[c], z, depth, j)
        return low, high, np.where(inside[:, :, None], table, -np.inf)

    def _covered(self, tp: Ints, fp: Ints, tn: Ints, fn: Ints, d: Ints, z: int, depth: int, j: int) -> Floats:
        """Largest value of covered examples after j more labels of which d are right and z are set already."""
        tn, fn = np.broadcast_to(tn, d.shape), np.broadcast_to(fn, d.shape)
        if self.scope == "full":
            return self.values(tp + d, fp - d, tn, fn)
        is_set = self.set_left[self.covered, depth][:, None]
        possible = (z <= is_set) & (d + z <= j)
        wrong = np.maximum(fp + j - d - z, 0)
        if self.scope == "head":
            return np.where(possible, self.values(tp + d, wrong, tn, fn), -np.inf)
        # Scope all: of the j labels q were FN and j - q were TN before.
        present = self.present_left[self.covered, depth][:, None]
        low_q, high_q = np.maximum(0, j - (self.n - depth - present)), np.minimum(j, present)
        if not self.negative:
            low_q, high_q = np.maximum(low_q, d), np.minimum(high_q, d + z)
        if self.monotone:  # more from FN leaves fewer FN and more TN
            best = self.values(tp + d, wrong, np.maximum(tn - j + high_q, 0), np.maximum(fn - high_q, 0))
            return np.where(possible & (low_q <= high_q), best, -np.inf)
        best = np.full(d.shape, -np.inf)
        for q in range(int(low_q.min()), int(high_q.max()) + 1):
            fine = possible & (low_q <= q) & (q <= high_q) & (tn - j + q >= 0) & (fn - q >= 0)
            values = self.values(tp + d, wrong, np.maximum(tn - j + q, 0), np.maximum(fn - q, 0))
            best = np.maximum(best, np.where(fine, values, -np.inf))
        return best


def _rounded_up(bound: float) -> float:
    return float(bound + MARGIN * (1 + abs(bound)))


def _tangents(table: Floats, d: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Return per example how steep its value is in d and in z at a guess of both; 0 where nothing is known."""
    rows = np.arange(len(table))
    left, near = np.floor(d).astype(np.int64), np.rint(d).astype(np.int64)
    below, level = np.floor(z).astype(np.int64), np.rint(z).astype(np.int64)
    return (
        _rise(table[rows, :, np.minimum(level, table.shape[2] - 1)], left),
        _rise(table[rows, np.minimum(near, table.shape[1] - 1)], below),
    )


def _rise(values: Floats, at: Ints) -> Floats:
    """Return how much each row rises behind a position, or before it where nothing known lies behind."""
    rows, last = np.arange(len(values)), values.shape[1] - 1
    current = values[rows, np.minimum(at, last)]
    ahead = values[rows, np.minimum(at + 1, last)]
    behind = values[rows, np.clip(at - 1, 0, last)]
    rise = np.zeros(len(values))
    for start, end, sensible in ((behind, current, (at > 0) & (at <= last)), (current, ahead, at < last)):
        finite = sensible & np.isfinite(start) & np.isfinite(end)
        rise[finite] = end[finite] - start[finite]
    return rise


def _tail_counts(flags: Bools) -> Ints:
    """For flags of shape (examples, labels): how many of the labels from each one on have the flag."""
    return np.asarray(np.cumsum(flags[:, ::-1].astype(np.int64), axis=1)[:, ::-1])
