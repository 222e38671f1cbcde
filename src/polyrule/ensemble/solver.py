"""Fully corrective weights: after every rule, the weights of all rules are optimal for the rules of the model.

For fixed rules, the penalized logistic loss separates over labels; each part is convex and smooth, and Newton's method
with step halving minimizes it in a few steps from the previous weights. The derivative at the end of a step shows if it
was too long. The hessian takes most of the time of a step, but changes little from rule to rule: it gets a new row and
column, and is computed anew only after a step that ended far from the predicted derivative. An old hessian costs steps,
never the optimum.

Scores are never stored: they follow from the covers of the rules, a byte per rule and row. `logistic` computes them.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from polyrule.data.table import row_blocks
from polyrule.ensemble.logistic import (
    Logistic,
    fixed_point_scale,
    inverse_diagonals,
    newton_steps,
    weight_bits,
)
from polyrule.utils.arrays import Bools, Bytes, Floats, Floats32, Ints, Ints32, Matrix
from polyrule.utils.compute import ONE_THREAD, Compute

# The intercept is penalized too, but so little that it only matters for a label that is always or never present.
INTERCEPT_RIDGE = 0.01
_TOLERANCE = 1e-10  # predicted decrease of the loss by a step, in nats of each row, that ends a descent
# A Newton step ends at the minimum on its line, with derivative 0. A step after which the loss rises by more than this
# share of its first decrease was too long; outside the other shares, the hessian is out of date.
_TOO_FAR = 0.5
_FAIR = (-0.3, 0.2)
_BLOCK_CELLS = 262_144  # scores at a time
_MAX_LABELS = 256  # at a time
_SCALE_BITS = 21  # of a gradient, the largest weight included: so 1,000 rows can be added up in 32 bits


def loss(scores: Matrix, targets: Matrix | Floats32, weights: Floats) -> Floats:
    """Return the weighted logistic loss of each label; targets are between 0 and 1, or NaN, which counts nowhere."""
    # log(1 + exp(s)) without overflow; np.logaddexp would take three times as long.
    losses = np.maximum(scores, 0) + np.log(1 + np.exp(-np.abs(scores))) - targets * scores
    return np.asarray(weights @ np.where(np.isnan(losses), 0.0, losses))


class Solver:
    """Weights of a growing set of rules, at or near their optimum.

    Parameters
    ----------
    targets : ndarray of float32, shape (rows, labels)
        Targets of the probabilities, between 0 and 1; NaN if unknown.
    weights : ndarray, shape (rows,)
    ridge : float
        Penalty: half of it times the sum of squared weights.
    capacity : int
        Maximum number of rules.
    examples : int or None
        Number of rows that are examples of the user; synthetic ones follow. By default all.
    compute : Compute

    Attributes
    ----------
    coefficients : ndarray, shape (1 + rules, labels)
        First the intercepts, then one row per rule; 0 outside the support.
    support : ndarray of bool, same shape
        Labels of each head; intercepts are always in the support.
    signs : ndarray of int8, shape (1 + rules,)
        Required sign of the weights of each rule, 0 for any.
    """

    def __init__(
        self,
        targets: Floats32,
        weights: Floats,
        ridge: float,
        capacity: int,
        examples: int | None = None,
        compute: Compute = ONE_THREAD,
    ) -> None:
        self.weights, self.ridge = np.ascontiguousarray(weights, dtype=np.float64), ridge
        rows, labels = targets.shape
        self._compute, xp = compute, compute.xp
        self._examples = rows if examples is None else examples
        self._covers = xp.zeros((1 + capacity, rows), dtype=np.uint8)
        self._covers[0] = 1
        self._size = 1
        by_label = xp.asarray(np.ascontiguousarray(targets.T, dtype=np.float32))
        scale = fixed_point_scale(self.weights)
        self._logistic = Logistic(self._covers, by_label, xp.asarray(self.weights), scale, compute)
        self._min_decrease = _TOLERANCE * max(1.0, float(self.weights.sum()))
        self._hessians: list[Matrix | None] = [None] * labels
        self.coefficients = np.zeros((1, labels))
        self.support = np.ones((1, labels), dtype=bool)
        self.signs = np.zeros(1, dtype=np.int8)
        self._gradients: npt.NDArray[np.int32] | None = None
        self.scale = float(2.0 ** (_SCALE_BITS - weight_bits(weights)))
        self._outdated = np.ones(labels, dtype=bool)  # gradients that do not belong to the weights
        self.solve(steps=50)

    @property
    def covers(self) -> Bytes:
        """1 if a rule covers a row, after a first column of ones."""
        return np.asarray(self._compute.to_host(self._covers[: self._size]).T)

    @property
    def targets(self) -> Floats32:
        """Targets of the probabilities, shape (rows, labels)."""
        return np.asarray(self._compute.to_host(self._logistic.targets).T)

    @property
    def gradients(self) -> npt.NDArray[np.int32]:
        """First and second derivatives by every score in units of 1 / `scale`, shape (2, rows, 1 + labels).

        The first column counts rows, see `polyrule.ensemble.gain`. Whole numbers, so that their sums are exact.
        """
        if self._gradients is None:
            rows, labels = len(self.weights), len(self._hessians)
            self._gradients = self._compute.xp.zeros((2, rows, 1 + labels), dtype=np.int32)
            self._gradients[0, :, 0] = 1
            self._gradients[1, : self._examples, 0] = 1
        outdated = np.flatnonzero(self._outdated)
        if len(outdated):
            self._outdated[:] = False
            weights = (outdated, self.coefficients[:, outdated], self.support[:, outdated], self.scale)
            self._logistic.write_gradients(*weights, *self._gradients)
        return self._gradients

    def release_gradients(self) -> None:
        """Free the memory of the gradients until they are read again."""
        self._gradients, self._outdated[:] = None, True

    def add(self, rows: Ints32, head: Bools, sign: int = 0) -> None:
        """Append a rule that covers `rows` and may weight the labels in `head`; its weights start at 0."""
        self.signs = np.append(self.signs, np.int8(sign))
        self._covers[self._size] = 0
        self._covers[self._size, self._compute.xp.asarray(rows)] = 1
        self._size += 1
        self.coefficients = np.vstack([self.coefficients, np.zeros(len(head))])
        self.support = np.vstack([self.support, head])
        labels = np.flatnonzero(head)
        labels = labels[[self._hessians[label] is not None for label in labels.tolist()]]
        shared = self._shared_hessian(labels, rows)
        for place, label in enumerate(labels.tolist()):
            edge = shared[self.support[:, label], place]
            grown = np.empty((len(edge), len(edge)))
            grown[:-1, :-1] = self._hessians[label]
            grown[-1] = grown[:, -1] = edge
            self._hessians[label] = grown

    def remove(self, rule: int) -> None:
        """Remove a rule, counted from 0. The weights of the others do not change until `solve`."""
        place = rule + 1
        labels = np.flatnonzero(self.support[place])
        for label in labels.tolist():
            self._shrink_hessian(place, label)
        self._covers[place : self._size - 1] = self._covers[place + 1 : self._size].copy()
        self._size -= 1
        self.coefficients = np.delete(self.coefficients, place, axis=0)
        self.support = np.delete(self.support, place, axis=0)
        self.signs = np.delete(self.signs, place)
        self._outdated[labels] = True

    def widen(self, rule: int, head: Bools) -> None:
        """Add labels to the head of a rule, counted from 0."""
        added = np.flatnonzero(head & ~self.support[rule + 1])
        self.support[rule + 1, added] = True
        self._outdate(added)

    def drop(self, rule: int, label: int) -> None:
        """Remove a label from the head of a rule, counted from 0. Call `solve` for the label afterwards."""
        self._shrink_hessian(rule + 1, label)
        self.support[rule + 1, label] = False
        self.coefficients[rule + 1, label] = 0

    def solve(self, labels: Ints | None = None, steps: int = 1) -> None:
        """Take up to `steps` Newton steps for each of `labels`, by default all.

        Weights with a sign that their rule must not have leave its head, and the others are fitted again.
        """
        for batch in self._batches(labels):
            self._descend(batch, steps)
            while len(changed := self._drop_wrong_signs(batch)):
                self._descend(changed, steps)
            self._outdated[batch] = True

    def objective(self) -> float:
        """Return the penalized loss."""
        terms = [math.fsum((self._penalties()[:, None] * self.coefficients**2 / 2).flat)]
        covers, targets = self.covers, self.targets
        for rows in row_blocks(len(targets), targets.shape[1], _BLOCK_CELLS, least=256):
            scores = np.zeros((len(self.weights[rows]), len(self._hessians)))
            for covered, weights in zip(covers[rows].T, self.coefficients, strict=False):
                scores += np.where(covered[:, None], weights, 0)  # a product would depend on the library
            terms.extend(loss(scores, targets[rows], self.weights[rows]).tolist())
        return math.fsum(terms)

    def set_cover(self, rule: int, covered: Bools) -> None:
        """Change the rows that a rule, counted from 0, covers. The weights do not change until `solve`."""
        labels = np.flatnonzero(self.support[rule + 1])
        self._covers[rule + 1] = self._compute.xp.asarray(covered.astype(np.uint8))
        self._outdate(labels)
        self._outdated[labels] = True

    def restore(self, labels: Ints, coefficients: Matrix, support: Bools) -> None:
        """Set weights and support of `labels` to those of an earlier state."""
        self.coefficients[:, labels], self.support[:, labels] = coefficients, support
        self._outdate(labels)
        self._outdated[labels] = True

    def hessians_of(self, labels: Ints) -> list[Matrix]:
        """Return the hessians of the weights in the support, without the penalty; compute those that are missing."""
        missing = np.array([label for label in labels.tolist() if self._hessians[label] is None], dtype=np.int64)
        if len(missing):
            weights = self.coefficients[:, missing], self.support[:, missing]
            for label, matrix in zip(missing.tolist(), self._logistic.hessians(missing, *weights), strict=True):
                self._hessians[label] = matrix
        return [matrix for label in labels.tolist() if (matrix := self._hessians[label]) is not None]

    def saliency(self, labels: Ints | None = None) -> Matrix:
        """Return the increase of the objective, to second order, without each weight; infinite outside the support.

        All other weights adapt: w² / (2 (H⁻¹)_ww), with the hessian H of the label (LeCun, Denker and Solla 1990;
        Hassibi and Stork 1993). With `labels`, only theirs are computed and the others are infinite too.
        """
        increase = np.full((self._size - 1, len(self._hessians)), np.inf)
        for batch in self._batches(labels):
            support = self.support[:, batch]
            variance, good = inverse_diagonals(self.hessians_of(batch), support, self._penalties(), self._compute)
            if not good.all():
                self._outdate(batch[~good])
                variance, _ = inverse_diagonals(self.hessians_of(batch), support, self._penalties(), self._compute)
            squares = self.coefficients[:, batch] ** 2
            increase[:, batch] = np.divide(squares, 2 * variance, out=np.full(support.shape, np.inf), where=support)[1:]
        return increase

    def max_derivative(self) -> float:
        """Return the largest derivative of the penalized loss by any weight or intercept; 0 at the optimum."""
        return float(np.abs(self._gradient(np.arange(len(self._hessians)), self.coefficients)).max(initial=0))

    def _batches(self, labels: Ints | None) -> list[Ints]:
        all_labels = np.arange(len(self._hessians)) if labels is None else labels
        return [all_labels[places] for places in row_blocks(len(all_labels), 1, _MAX_LABELS)]

    def _drop_wrong_signs(self, labels: Ints) -> Ints:
        """Remove labels from heads if their weight has the wrong sign, and return these labels."""
        if not self.signs.any():
            return labels[:0]
        wrong = self.support[:, labels] & (self.coefficients[:, labels] * self.signs[:, None] < 0)
        for place, number in np.argwhere(wrong).tolist():
            self.drop(place - 1, int(labels[number]))
        return labels[wrong.any(axis=0)]

    def _outdate(self, labels: Ints) -> None:
        for label in labels.tolist():
            self._hessians[label] = None

    def _shrink_hessian(self, place: int, label: int) -> None:
        """Remove the row and column of a rule from the hessian of a label."""
        hessian, inside = self._hessians[label], int(self.support[:place, label].sum())
        if hessian is not None:
            self._hessians[label] = np.delete(np.delete(hessian, inside, axis=0), inside, axis=1)

    def _shared_hessian(self, labels: Ints, rows: Ints32) -> Matrix:
        """Return the hessian that each rule shares with the rows, per label; shape (1 + rules, labels)."""
        total, (_, hessian) = np.zeros((self._size, len(labels))), self.gradients
        if self._compute.device is not None:
            arrays = (self._covers[: self._size], rows, hessian, labels + 1)
            return np.asarray(self._compute.device.shared_curvature(*arrays).astype(np.float64) / self.scale)
        for block in row_blocks(len(rows), len(labels), _BLOCK_CELLS, least=256):
            block_rows = rows[block]
            covers = self._covers[: self._size, block_rows].astype(np.float64)
            total += covers @ hessian[np.ix_(block_rows, labels + 1)].astype(np.float64)
        return total / self.scale

    def _penalties(self) -> Floats:
        return penalties_of(self._size, self.ridge)

    def _steps(self, labels: Ints, gradient: Matrix) -> Matrix:
        """Return Newton steps; an old matrix that is not positive definite is computed anew."""
        support, penalties, compute = self.support[:, labels], self._penalties(), self._compute
        step, good = newton_steps(self.hessians_of(labels), support, penalties, gradient, compute)
        if not good.all():
            self._outdate(labels[~good])
            step, _ = newton_steps(self.hessians_of(labels), support, penalties, gradient, compute)
        return step

    def _descend(self, labels: Ints, steps: int) -> None:
        """Take Newton steps of several labels until each has converged."""
        gradient = self._gradient(labels, self.coefficients[:, labels])
        for _ in range(steps):
            step = self._steps(labels, gradient)
            decrease = _added(gradient * step)
            useful = decrease > self._min_decrease
            # The last step squares its error: its end need not be evaluated.
            self.coefficients[:, labels[~useful]] -= step[:, ~useful]
            labels, gradient = self._walk(labels[useful], step[:, useful], decrease[useful])
            if not len(labels):
                return

    def _walk(self, labels: Ints, step: Matrix, decrease: Floats) -> tuple[Ints, Matrix]:
        """Go along `step`, halved for a label while it is too long; return labels that moved and their gradients."""
        start, gradients = self.coefficients[:, labels], np.zeros(step.shape)
        left, length = np.arange(len(labels)), 1.0
        while len(left) and length > 1e-6:
            near = start[:, left] - length * step[:, left]
            now = self._gradient(labels[left], near)
            ahead = _added(now * step[:, left]) / decrease[left]
            self._outdate(labels[left[(ahead < _FAIR[0]) | (ahead > _FAIR[1])]])
            fine = ahead >= -_TOO_FAR
            self.coefficients[:, labels[left[fine]]], gradients[:, left[fine]] = near[:, fine], now[:, fine]
            left, length = left[~fine], length / 2
        moved = np.delete(np.arange(len(labels)), left)
        return labels[moved], gradients[:, moved]

    def _gradient(self, labels: Ints, coefficients: Matrix) -> Matrix:
        """Return derivatives of each label's penalized loss by all weights; 0 outside the support."""
        support = self.support[:, labels]
        gradient = self._logistic.gradients(labels, coefficients, support)
        return np.asarray(np.where(support, gradient + self._penalties()[:, None] * coefficients, 0.0))


def penalties_of(count: int, ridge: float) -> Floats:
    """Return the penalties on the squares of `count` weights, the first of which is the intercept."""
    penalties = np.full(count, ridge)
    penalties[:1] = INTERCEPT_RIDGE
    return penalties


def _added(rows: Matrix) -> Floats:
    """Return the sum of rows, added one after the other, so that the last digit is equal everywhere."""
    return np.asarray(np.cumsum(rows, axis=0)[-1])
