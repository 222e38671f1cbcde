"""Fully corrective weights: after every rule, the weights of all rules are the best ones for the rules there are.

Given the rules, the penalised logistic loss separates over labels; each part is convex and smooth, and Newton's method
with step halving solves it in a few steps from where it stood before. The curvature matrix, by far the dearest part of
a step, changes little from rule to rule: it only gets a new row and column, and is computed afresh once a step has
gained much more or less than the matrix foretold. An old one costs steps, never the answer.

Scores are never stored: they follow from which rules cover which rows, a byte each. `logistic` does the arithmetic.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Bools, Bytes, Floats, Floats32, Ints, Ints32, Matrix
from polyrule.ensemble.logistic import Logistic, inverse_diagonals, newton_steps, unit_for, weight_bits
from polyrule.native import ONE_THREAD, Compute

# The intercept is penalised too, but so little that it only matters for a label that is always or never present.
INTERCEPT_RIDGE = 0.01
_TOLERANCE = 1e-10
# A Newton step gains half of what the slope alone promises; outside these shares, the curvature is out of date.
_FAIR_GAIN = (0.35, 0.6)
_BLOCK_CELLS = 262_144  # scores at a time
_MOST_LABELS = 256  # labels at a time
_SCALE_BITS = 21  # of a slope, the largest weight included: so 1,000 rows can be added up in 32 bits


def loss(scores: Matrix, targets: Matrix, weights: Floats) -> Floats:
    """Weighted logistic loss of each label; targets may lie between 0 and 1."""
    # log(1 + exp(s)) without overflow; np.logaddexp would take three times as long.
    return np.asarray(weights @ (np.maximum(scores, 0) + np.log(1 + np.exp(-np.abs(scores))) - targets * scores))


class Solver:
    """Weights of a growing set of rules, kept at or near their optimum.

    Parameters
    ----------
    targets : ndarray of float32, shape (rows, labels)
        What the probabilities should be, between 0 and 1.
    weights : ndarray, shape (rows,)
        How much each row counts.
    ridge : float
        Penalty: half of it times the sum of squared weights.
    capacity : int
        Largest number of rules.
    compute : Compute

    Attributes
    ----------
    coefficients : ndarray, shape (1 + rules, labels)
        First the intercepts, then one row per rule; 0 outside the support.
    support : ndarray of bool, same shape
        Which labels are in which head; intercepts always are.
    signs : ndarray of int8, shape (1 + rules,)
        Which sign the weights of each rule must have, 0 for any.
    gradient, curvature : ndarray of int32, shape (rows, labels)
        Slopes of the loss at every score, in units of 1 / `scale`: whole numbers, so that sums of them are exact.
    versions : ndarray of int64, shape (labels,)
        How often the slopes of each label were renewed.
    """

    def __init__(
        self,
        targets: Floats32,
        weights: Floats,
        ridge: float,
        capacity: int,
        compute: Compute = ONE_THREAD,
    ) -> None:
        self.weights, self.ridge = np.ascontiguousarray(weights, dtype=np.float64), ridge
        rows, labels = targets.shape
        self._covers = np.zeros((1 + capacity, rows), dtype=np.uint8)
        self._covers[0] = 1
        self._size = 1
        by_label = np.ascontiguousarray(targets.T, dtype=np.float32)
        self._logistic = Logistic(self._covers, by_label, self.weights, unit_for(self.weights), compute)
        self._hessians: list[Matrix | None] = [None] * labels
        self.coefficients = np.zeros((1, labels))
        self.support = np.ones((1, labels), dtype=bool)
        self.signs = np.zeros(1, dtype=np.int8)
        self.gradient, self.curvature = np.zeros((2, rows, labels), dtype=np.int32)
        self.scale = float(2.0 ** (_SCALE_BITS - weight_bits(weights)))
        self.versions = np.zeros(labels, dtype=np.int64)
        self._values = np.zeros(labels)
        self.solve(steps=50)

    @property
    def covers(self) -> Bytes:
        """1 where a rule covers a row, after a first column of ones."""
        return self._covers[: self._size].T

    @property
    def targets(self) -> Floats32:
        """What the probabilities should be, shape (rows, labels)."""
        return self._logistic.targets.T

    def add(self, rows: Ints32, head: Bools, sign: int = 0) -> None:
        """Append a rule that covers `rows` and may weigh the labels in `head`; its weights start at 0."""
        self.signs = np.append(self.signs, np.int8(sign))
        self._covers[self._size] = 0
        self._covers[self._size, rows] = 1
        self._size += 1
        self.coefficients = np.vstack([self.coefficients, np.zeros(len(head))])
        self.support = np.vstack([self.support, head])
        labels = np.flatnonzero(head)
        border = self._project(labels, rows)
        for place, label in enumerate(labels.tolist()):
            known = self._hessians[label]
            if known is not None:
                edge = border[self.support[:, label], place]
                grown = np.empty((len(edge), len(edge)))
                grown[:-1, :-1] = known
                grown[-1] = grown[:, -1] = edge
                self._hessians[label] = grown

    def remove(self, rule: int) -> None:
        """Take a rule out; rules are counted from 0. The weights of the others stay as they are until `solve`."""
        place = rule + 1
        touched = np.flatnonzero(self.support[place])
        self._covers[place : self._size - 1] = self._covers[place + 1 : self._size].copy()
        self._size -= 1
        self.coefficients = np.delete(self.coefficients, place, axis=0)
        self.support = np.delete(self.support, place, axis=0)
        self.signs = np.delete(self.signs, place)
        self._forget(touched)

    def restore(self, covers: Bytes, coefficients: Matrix, support: Bools, signs: npt.NDArray[np.int8]) -> None:
        """Go back to an earlier state."""
        self._size = covers.shape[1]
        self._covers[: self._size] = covers.T
        self.coefficients, self.support, self.signs = coefficients, support, signs
        self._forget(np.arange(len(self._hessians)))

    def drop(self, rule: int, label: int) -> None:
        """Take a label out of a head; rules are counted from 0. Call `solve` for the label afterwards."""
        known, place = self._hessians[label], int(self.support[: rule + 1, label].sum())
        if known is not None:
            self._hessians[label] = np.delete(np.delete(known, place, axis=0), place, axis=1)
        self.support[rule + 1, label] = False
        self.coefficients[rule + 1, label] = 0

    def solve(self, labels: Ints | None = None, steps: int = 1) -> None:
        """Take up to `steps` Newton steps for each of `labels`, all where None; then renew their slopes.

        Weights that come to have another sign than their rule may give leave its head, and the others are fitted again.
        """
        for batch in self._batches(labels):
            self._descend(batch, steps)
            while len(changed := self._drop_wrong_signs(batch)):
                self._descend(changed, steps)
            self._renew_slopes(batch)

    def objective(self) -> float:
        """The penalised loss."""
        return math.fsum(self._values)

    def saliency(self, labels: Ints | None = None) -> Matrix:
        """How much the objective would rise, to second order, without each weight; infinite outside the support.

        With `labels`, only theirs are computed and the others are infinite too.

        This allows for all other weights being refitted: w² / (2 (H⁻¹)_ww), with the curvature matrix H of the label.
        """
        worth = np.full((self._size - 1, len(self._hessians)), np.inf)
        for batch in self._batches(labels):
            support = self.support[:, batch]
            matrices = self._curvatures(batch)
            variance, good = inverse_diagonals(matrices, support, self._penalties(), self._logistic.compute)
            if not good.all():
                self._outdate(batch[~good])
                matrices = self._curvatures(batch)
                variance, _ = inverse_diagonals(matrices, support, self._penalties(), self._logistic.compute)
            squares = self.coefficients[:, batch] ** 2
            found = np.divide(squares, 2 * variance, out=np.full(support.shape, np.inf), where=support)
            worth[:, batch] = found[1:]
        return worth

    def slope(self) -> float:
        """Largest derivative of the penalised loss by any weight or intercept; 0 at the optimum."""
        _, gradient = self._evaluate(np.arange(len(self._hessians)), self.coefficients)
        return float(np.abs(gradient).max(initial=0))

    def _batches(self, labels: Ints | None) -> list[Ints]:
        every = np.arange(len(self._hessians)) if labels is None else labels
        return [every[first : first + _MOST_LABELS] for first in range(0, len(every), _MOST_LABELS)]

    def _forget(self, labels: Ints) -> None:
        self._outdate(labels)
        self._renew_slopes(labels)

    def _drop_wrong_signs(self, labels: Ints) -> Ints:
        """Take labels out of heads where their weight has the wrong sign, and return these labels."""
        if not self.signs.any():
            return labels[:0]
        wrong = self.support[:, labels] & (self.coefficients[:, labels] * self.signs[:, None] < 0)
        for place, number in np.argwhere(wrong).tolist():
            self.drop(place - 1, int(labels[number]))
        return labels[wrong.any(axis=0)]

    def _outdate(self, labels: Ints) -> None:
        for label in labels.tolist():
            self._hessians[label] = None

    def _project(self, labels: Ints, rows: Ints32) -> Matrix:
        """Curvature that each rule shares with the rows, per label; shape (1 + rules, labels)."""
        found = np.zeros((self._size, len(labels)))
        step = max(256, _BLOCK_CELLS // max(1, len(labels)))
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            covers = self._covers[: self._size, some].astype(np.float64)
            found += covers @ self.curvature[np.ix_(some, labels)].astype(np.float64)
        return found / self.scale

    def _penalties(self) -> Floats:
        penalties = np.full(self._size, self.ridge)
        penalties[0] = INTERCEPT_RIDGE
        return penalties

    def _curvatures(self, labels: Ints) -> list[Matrix]:
        """Curvature matrices of the weights in the support, without the penalty; those that are missing are made."""
        missing = np.array([label for label in labels.tolist() if self._hessians[label] is None], dtype=np.int64)
        if len(missing):
            fresh = self._logistic.curvatures(missing, self.coefficients[:, missing], self.support[:, missing])
            for label, matrix in zip(missing.tolist(), fresh, strict=True):
                self._hessians[label] = matrix
        return [matrix for label in labels.tolist() if (matrix := self._hessians[label]) is not None]

    def _steps(self, labels: Ints, gradient: Matrix) -> Matrix:
        """Newton steps; a matrix so old that it is no curvature of anything is computed afresh."""
        support, penalties, compute = self.support[:, labels], self._penalties(), self._logistic.compute
        step, good = newton_steps(self._curvatures(labels), support, penalties, gradient, compute)
        if not good.all():
            self._outdate(labels[~good])
            step, _ = newton_steps(self._curvatures(labels), support, penalties, gradient, compute)
        return step

    def _descend(self, labels: Ints, steps: int) -> None:
        """Newton steps of several labels; each stops by itself."""
        value, gradient = self._evaluate(labels, self.coefficients[:, labels])
        for _ in range(steps):
            step = self._steps(labels, gradient)
            promise = _added(gradient * step)
            useful = promise > _TOLERANCE * np.maximum(1.0, np.abs(value))
            # The last step is too short to be judged by the loss, and right to twice as many digits as stand there.
            self.coefficients[:, labels[~useful]] -= step[:, ~useful]
            self._values[labels[~useful]] = value[~useful] - promise[~useful] / 2
            labels, value, promise = labels[useful], value[useful], promise[useful]
            if not len(labels):
                return
            reached, gradient = self._walk(labels, step[:, useful], value, gradient[:, useful], promise)
            share = (value - reached) / promise
            self._outdate(labels[(share < _FAIR_GAIN[0]) | (share > _FAIR_GAIN[1])])
            better = reached < value
            self._values[labels[~better]] = value[~better]
            labels, value, gradient = labels[better], reached[better], np.ascontiguousarray(gradient[:, better])
        self._values[labels] = value

    def _walk(
        self, labels: Ints, step: Matrix, value: Floats, gradient: Matrix, promise: Floats
    ) -> tuple[Floats, Matrix]:
        """Go along `step`, halved for a label until it helps enough; return values and gradients then, or the old."""
        current = self.coefficients[:, labels]
        reached, slopes = value.copy(), gradient.copy()
        left, length = np.arange(len(labels)), 1.0
        while len(left) and length > 1e-6:
            near = current[:, left] - length * step[:, left]
            now, steepness = self._evaluate(labels[left], near)
            better = now <= value[left] - 1e-4 * length * promise[left]
            taken = left[better]
            self.coefficients[:, labels[taken]] = near[:, better]
            reached[taken], slopes[:, taken] = now[better], steepness[:, better]
            left, length = left[~better], length / 2
        return reached, slopes

    def _evaluate(self, labels: Ints, coefficients: Matrix) -> tuple[Floats, Matrix]:
        """Penalised loss of each label and its gradient by all weights; 0 outside the support."""
        support = self.support[:, labels]
        value, gradient = self._logistic.values(labels, coefficients, support)
        penalised = self._penalties()[:, None] * coefficients
        return value + _added(penalised * coefficients / 2), np.where(support, gradient + penalised, 0.0)

    def _renew_slopes(self, labels: Ints) -> None:
        self.versions[labels] += 1
        self._logistic.write_slopes(
            labels, self.coefficients[:, labels], self.support[:, labels], self.scale, self.gradient, self.curvature
        )


def _added(rows: Matrix) -> Floats:
    """Rows added up one after the other, so that the last digit is the same everywhere."""
    return np.asarray(np.cumsum(rows, axis=0)[-1])
