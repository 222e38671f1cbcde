"""Fully corrective weights: after every rule, the weights of all rules are the best ones for the rules there are.

Given the rules, the penalised logistic loss separates over labels; each part is convex and smooth, and Newton's method
with step halving solves it in a few steps from where it stood before. How steep the loss still is at the end of a step
tells whether it went too far. The curvature matrix, by far the dearest part of a step, changes little from rule to
rule: it only gets a new row and column, and is computed afresh once a step ended where the loss is much steeper than
the matrix foretold. An old one costs steps, never the answer.

Scores are never stored: they follow from which rules cover which rows, a byte each. `logistic` does the arithmetic.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from polyrule.data.table import row_blocks
from polyrule.ensemble.logistic import Logistic, inverse_diagonals, newton_steps, unit_for, weight_bits
from polyrule.utils.arrays import Bools, Bytes, Floats, Floats32, Ints, Ints32, Matrix
from polyrule.utils.compute import ONE_THREAD, Compute

# The intercept is penalised too, but so little that it only matters for a label that is always or never present.
INTERCEPT_RIDGE = 0.01
_TOLERANCE = 1e-10  # nats of each row, that a step promises
# A Newton step ends at the lowest point of its line, where the slope is 0. One that ends where the line rises by more
# than this share of what it fell by at first went too far; outside the other shares, the curvature is out of date.
_TOO_FAR = 0.5
_FAIR = (-0.3, 0.2)
_BLOCK_CELLS = 262_144  # scores at a time
_MOST_LABELS = 256  # labels at a time
_SCALE_BITS = 21  # of a slope, the largest weight included: so 1,000 rows can be added up in 32 bits


def loss(scores: Matrix, targets: Matrix | Floats32, weights: Floats) -> Floats:
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
        self._compute, xp = compute, compute.xp
        self._covers = xp.zeros((1 + capacity, rows), dtype=np.uint8)
        self._covers[0] = 1
        self._size = 1
        by_label = xp.asarray(np.ascontiguousarray(targets.T, dtype=np.float32))
        self._logistic = Logistic(self._covers, by_label, xp.asarray(self.weights), unit_for(self.weights), compute)
        self._least = _TOLERANCE * max(1.0, float(self.weights.sum()))
        self._hessians: list[Matrix | None] = [None] * labels
        self.coefficients = np.zeros((1, labels))
        self.support = np.ones((1, labels), dtype=bool)
        self.signs = np.zeros(1, dtype=np.int8)
        self._slopes: npt.NDArray[np.int32] | None = None
        self.scale = float(2.0 ** (_SCALE_BITS - weight_bits(weights)))
        self._stale = np.ones(labels, dtype=bool)  # slopes that have to be renewed before they are looked at
        self.solve(steps=50)

    @property
    def covers(self) -> Bytes:
        """1 where a rule covers a row, after a first column of ones."""
        return np.asarray(self._compute.to_host(self._covers[: self._size]).T)

    @property
    def targets(self) -> Floats32:
        """What the probabilities should be, shape (rows, labels)."""
        return np.asarray(self._compute.to_host(self._logistic.targets).T)

    @property
    def slopes(self) -> npt.NDArray[np.int32]:
        """First and second derivatives of the loss by every score, shape (2, rows, labels), in units of 1 / `scale`.

        Whole numbers, so that sums of them are exact.
        """
        if self._slopes is None:
            rows, labels = len(self.weights), len(self._hessians)
            self._slopes = self._compute.xp.zeros((2, rows, labels), dtype=np.int32)
        stale = np.flatnonzero(self._stale)
        if len(stale):
            self._stale[:] = False
            given = (stale, self.coefficients[:, stale], self.support[:, stale], self.scale)
            self._logistic.write_slopes(*given, *self._slopes)
        return self._slopes

    def forget_slopes(self) -> None:
        """Give their memory back until somebody asks for them."""
        self._slopes, self._stale[:] = None, True

    def add(self, rows: Ints32, head: Bools, sign: int = 0) -> None:
        """Append a rule that covers `rows` and may weigh the labels in `head`; its weights start at 0."""
        self.signs = np.append(self.signs, np.int8(sign))
        self._covers[self._size] = 0
        self._covers[self._size, self._compute.xp.asarray(rows)] = 1
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
        self._covers[: self._size] = self._compute.xp.asarray(covers.T)
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
        """Take up to `steps` Newton steps for each of `labels`, all where None.

        Weights that come to have another sign than their rule may give leave its head, and the others are fitted again.
        """
        for batch in self._batches(labels):
            self._descend(batch, steps)
            while len(changed := self._drop_wrong_signs(batch)):
                self._descend(changed, steps)
            self._stale[batch] = True

    def objective(self) -> float:
        """The penalised loss."""
        found = [math.fsum((self._penalties()[:, None] * self.coefficients**2 / 2).flat)]
        covers, targets = self.covers, self.targets
        for some in row_blocks(len(targets), targets.shape[1], _BLOCK_CELLS, least=256):
            scores = np.zeros((len(self.weights[some]), len(self._hessians)))
            for covered, weights in zip(covers[some].T, self.coefficients, strict=False):
                scores += np.where(covered[:, None], weights, 0)  # a product would depend on the library that adds up
            found.extend(loss(scores, targets[some], self.weights[some]).tolist())
        return math.fsum(found)

    def saliency(self, labels: Ints | None = None) -> Matrix:
        """How much the objective would rise, to second order, without each weight; infinite outside the support.

        With `labels`, only theirs are computed and the others are infinite too.

        This allows for all other weights being refitted: w² / (2 (H⁻¹)_ww), with the curvature matrix H of the label.
        """
        worth = np.full((self._size - 1, len(self._hessians)), np.inf)
        for batch in self._batches(labels):
            support = self.support[:, batch]
            matrices = self._curvatures(batch)
            variance, good = inverse_diagonals(matrices, support, self._penalties(), self._compute)
            if not good.all():
                self._outdate(batch[~good])
                matrices = self._curvatures(batch)
                variance, _ = inverse_diagonals(matrices, support, self._penalties(), self._compute)
            squares = self.coefficients[:, batch] ** 2
            found = np.divide(squares, 2 * variance, out=np.full(support.shape, np.inf), where=support)
            worth[:, batch] = found[1:]
        return worth

    def slope(self) -> float:
        """Largest derivative of the penalised loss by any weight or intercept; 0 at the optimum."""
        return float(np.abs(self._gradient(np.arange(len(self._hessians)), self.coefficients)).max(initial=0))

    def _batches(self, labels: Ints | None) -> list[Ints]:
        every = np.arange(len(self._hessians)) if labels is None else labels
        return [every[some] for some in row_blocks(len(every), 1, _MOST_LABELS)]

    def _forget(self, labels: Ints) -> None:
        self._outdate(labels)
        self._stale[labels] = True

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
        found, (_, curvature) = np.zeros((self._size, len(labels))), self.slopes
        if self._compute.device is not None:
            given = (self._covers[: self._size], rows, curvature, labels)
            return np.asarray(self._compute.device.shared_curvature(*given).astype(np.float64) / self.scale)
        for block in row_blocks(len(rows), len(labels), _BLOCK_CELLS, least=256):
            some = rows[block]
            covers = self._covers[: self._size, some].astype(np.float64)
            found += covers @ curvature[np.ix_(some, labels)].astype(np.float64)
        return found / self.scale

    def _penalties(self) -> Floats:
        return penalties_of(self._size, self.ridge)

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
        support, penalties, compute = self.support[:, labels], self._penalties(), self._compute
        step, good = newton_steps(self._curvatures(labels), support, penalties, gradient, compute)
        if not good.all():
            self._outdate(labels[~good])
            step, _ = newton_steps(self._curvatures(labels), support, penalties, gradient, compute)
        return step

    def _descend(self, labels: Ints, steps: int) -> None:
        """Newton steps of several labels; each stops by itself."""
        gradient = self._gradient(labels, self.coefficients[:, labels])
        for _ in range(steps):
            step = self._steps(labels, gradient)
            promise = _added(gradient * step)
            useful = promise > self._least
            # The last step is right to twice as many digits as stand there: nobody needs to look where it ends.
            self.coefficients[:, labels[~useful]] -= step[:, ~useful]
            labels, gradient = self._walk(labels[useful], step[:, useful], promise[useful])
            if not len(labels):
                return

    def _walk(self, labels: Ints, step: Matrix, promise: Floats) -> tuple[Ints, Matrix]:
        """Go along `step`, halved for a label while it goes too far; return labels that moved and their gradients."""
        start, slopes = self.coefficients[:, labels], np.zeros(step.shape)
        left, length = np.arange(len(labels)), 1.0
        while len(left) and length > 1e-6:
            near = start[:, left] - length * step[:, left]
            now = self._gradient(labels[left], near)
            ahead = _added(now * step[:, left]) / promise[left]
            self._outdate(labels[left[(ahead < _FAIR[0]) | (ahead > _FAIR[1])]])
            fine = ahead >= -_TOO_FAR
            self.coefficients[:, labels[left[fine]]], slopes[:, left[fine]] = near[:, fine], now[:, fine]
            left, length = left[~fine], length / 2
        moved = np.delete(np.arange(len(labels)), left)
        return labels[moved], slopes[:, moved]

    def _gradient(self, labels: Ints, coefficients: Matrix) -> Matrix:
        """Derivatives of each label's penalised loss by all weights; 0 outside the support."""
        support = self.support[:, labels]
        found = self._logistic.descents(labels, coefficients, support)
        return np.asarray(np.where(support, found + self._penalties()[:, None] * coefficients, 0.0))


def penalties_of(count: int, ridge: float) -> Floats:
    """Penalties on the squares of so many numbers, the first of which is the intercept."""
    penalties = np.full(count, ridge)
    penalties[:1] = INTERCEPT_RIDGE
    return penalties


def _added(rows: Matrix) -> Floats:
    """Rows added up one after the other, so that the last digit is the same everywhere."""
    return np.asarray(np.cumsum(rows, axis=0)[-1])
