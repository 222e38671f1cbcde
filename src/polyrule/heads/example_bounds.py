"""Upper bounds for example-wise averages, by replacing each example's value by a straight line above it.

Fix the number j of labels to be added. The value of an example is then a function of d, the number of added literals
that are right for it (plus little else, over which the largest is taken). Any line above that function is additive
over the literals, so the best choice of j labels under the lines is a matter of sorting, and bounds every true
choice. The lines are laid against the function at a guess of d; the labels that win under them make the next guess.
No concavity or monotony is needed: a line is moved up until it lies above.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from polyrule.heads.space import HeadSpace
from polyrule.heads.valuation import ExampleValuation
from polyrule.measures.base import Counts
from polyrule.measures.counting import Head

ROUNDS = 3
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class ExampleBounds:
    """Bounds for one world, example-wise objective and order of labels."""

    def __init__(self, valuation: ExampleValuation, space: HeadSpace, labels: list[int]) -> None:
        self.valuation = valuation
        self.measure = valuation.objective.measure
        self.scope = valuation.objective.scope
        self.weights = np.array(valuation.weights, np.float64) / max(valuation.world.total_weight, 1)
        self.covered = valuation.covered
        self.base = valuation.outside.astype(np.int64).sum(axis=1)
        self.change = [cells.astype(np.int64) - valuation.outside for cells in valuation.inside]
        self.negative = any(value == 0 for _, value in space.literals)
        # score[l]: (examples, literals of label l); how a literal moves TP of a covered or TN of an uncovered example.
        self.score = [
            np.stack([self._score(value)[:, label] for _, value in space.choices[label]], axis=1) for label in labels
        ]
        most = np.stack([s.max(axis=1) for s in self.score])
        least = np.stack([s.min(axis=1) for s in self.score])
        self.up = [_tail_counts(most == x) for x in (1, 0)]
        self.down = [_tail_counts(least == x) for x in (-1, 0)]
        is_set = np.stack([(valuation.inside[1][:, x].sum(axis=1) == 0) & self.covered for x in labels])
        present = np.stack([valuation.truth[:, x] == 1 for x in labels])
        self.set_left, self.present_left = _tail_counts(is_set), _tail_counts(present)
        self.n = len(labels)
        self._known: dict[tuple[int, ...], float] = {}

    def _score(self, value: int) -> Ints:
        change = self.change[value]
        silent = change[:, :, 2] if self.scope == "head" else np.zeros_like(change[:, :, 2])
        return np.where(self.covered[:, None], change[:, :, 0], silent)

    def limit(self, head: Head, depth: int, most: int, target: Fraction) -> float:
        """Take the largest bound over the number of labels added; stop at the first that is not below the target."""
        counts = self.base.copy()
        for label, value in head:
            counts += self.change[value][:, label]
        keys = np.column_stack(
            [
                counts,
                self.covered,
                self.set_left[depth],
                self.present_left[depth],
                *(x[depth] for x in (*self.up, *self.down)),
            ]
        )
        rows, inverse = np.unique(keys, axis=0, return_inverse=True)
        goal, highest = float(target), -np.inf
        for j in range(1, most - len(head) + 1):
            rho = float(self.valuation.rho(len(head) + j))
            bound = self._limit_for(rows, inverse.ravel(), depth, j, goal, rho)
            highest = max(highest, bound)
            if highest >= goal - 1e-9:
                break
        return float(highest)

    def _limit_for(self, rows: Ints, inverse: Ints, depth: int, j: int, goal: float, rho: float) -> float:
        start, table = self._table(rows, depth, j)
        guess = None
        tightest = np.inf
        for _ in range(ROUNDS):
            slope = _slopes(table, start, guess, inverse)
            steps = np.arange(table.shape[1])
            offset = np.max(table[inverse] - slope[:, None] * (start[inverse][:, None] + steps), axis=1)
            weighted = self.weights * slope
            gains, winners = [], []
            for index in range(depth, self.n):
                per_literal = weighted @ self.score[index]
                winner = int(np.argmax(per_literal))
                gains.append(per_literal[winner])
                winners.append(self.score[index][:, winner])
            order = np.argsort(gains)[::-1][:j]
            bound = float(self.weights @ offset + np.sum(np.array(gains)[order])) * rho
            tightest = min(tightest, bound)
            if tightest < goal - 1e-9:
                break
            guess = np.sum([winners[i] for i in order], axis=0)
        return tightest

    def _table(self, rows: Ints, depth: int, j: int) -> tuple[Ints, Floats]:
        """Per distinct example the smallest d and the largest value for each d from there on; -inf beyond its range."""
        columns = []
        starts = []
        for row in rows.tolist():
            tp, fp, tn, fn, covered, is_set, present, up, level, down, flat = row
            high = min(j, up) - max(0, j - up - level)
            low = max(0, j - down - flat) - min(j, down)
            absent = self.n - depth - present
            counts = tp, fp, tn, fn
            starts.append(low)
            columns.append(
                [self._highest(counts, bool(covered), is_set, present, absent, j, d) for d in range(low, high + 1)]
            )
        width = max(len(column) for column in columns)
        table = np.full((len(columns), width), -np.inf)
        for index, column in enumerate(columns):
            table[index, : len(column)] = column
        return np.array(starts, np.int64), table

    def _highest(self, counts: Counts, covered: bool, is_set: int, present: int, absent: int, j: int, d: int) -> float:
        key = (*counts, covered, is_set, present, absent, j, d)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = max(
                (
                    float(self.measure.value(*c))
                    for c in self._reachable(counts, covered, is_set, present, absent, j, d)
                ),
                default=-np.inf,
            )
        return known

    def _reachable(
        self, counts: Counts, covered: bool, is_set: int, present: int, absent: int, j: int, d: int
    ) -> list[Counts]:
        """All counts an example may have after j more labels of which d are right."""
        tp, fp, tn, fn = counts
        if not covered:
            return [(tp, fp, tn + d, fn + j - d)] if self.scope == "head" else [counts]
        if self.scope == "full":
            return [(tp + d, fp - d, tn, fn)]
        silent = range(min(is_set, j - d) + 1)
        if self.scope == "head":
            return [(tp + d, fp + j - d - z, tn, fn) for z in silent]
        # Scope all: of the j labels q were FN and j - q were TN before.
        low, high = max(0, j - absent), min(j, present)
        if not self.negative:
            low, high = max(low, d), min(high, d + is_set)
        return [(tp + d, fp + j - d - z, tn - j + q, fn - q) for z in silent for q in range(low, high + 1)]


def _slopes(table: Floats, start: Ints, guess: Ints | None, inverse: Ints) -> Floats:
    """Return per example the slope of its value at the guess of d, or from end to end without a guess."""
    finite = np.isfinite(table)
    last = finite.shape[1] - 1 - np.argmax(finite[:, ::-1], axis=1)
    if guess is None:
        first = np.argmax(finite, axis=1)
        rows = np.arange(len(table))
        rise = table[rows, last] - table[rows, first]
        return np.asarray((rise / np.maximum(last - first, 1))[inverse])
    end = last[inverse]
    at = np.clip(guess - start[inverse], 0, end)
    right, left = np.minimum(at + 1, end), np.maximum(at - 1, 0)
    rise = table[inverse, right] - table[inverse, left]
    slope = rise / np.maximum(right - left, 1)
    return np.asarray(np.where(np.isfinite(slope), slope, 0.0))


def _tail_counts(flags: npt.NDArray[np.bool_]) -> Ints:
    """For flags of shape (labels, examples): per depth, how many of the labels from there on have the flag."""
    return np.asarray(np.cumsum(flags[::-1].astype(np.int64), axis=0)[::-1])
