"""Fully corrective weights: after every rule, the weights of all rules are the best ones for the rules there are.

Given the rules, the penalised logistic loss separates over labels; each part is convex and smooth, and Newton's method
with step halving solves it in a few steps from where it stood before. All labels step at once. The curvature matrix, by
far the dearest part of a step, changes little from rule to rule: it only gets a new row and column, and is computed
afresh once a step has gained much more or less than the matrix foretold. An old one costs steps, never the answer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Ints, Matrix

# The intercept is penalised too, but so little that it only matters for a label that is always or never present.
_INTERCEPT_RIDGE = 0.01
_LEAST_CURVATURE = 1e-9
_TOLERANCE = 1e-10
# A Newton step gains half of what the slope alone promises; outside these shares, the curvature is out of date.
_FAIR_GAIN = (0.35, 0.6)
_MOST_AT_ONCE = 4_000_000  # scores; more labels than that go one batch after the other


def loss(scores: Matrix, targets: Matrix, weights: Matrix) -> npt.NDArray[np.float64]:
    """Weighted logistic loss of each label; targets may lie between 0 and 1."""
    # log(1 + exp(s)) without overflow; np.logaddexp would take three times as long.
    return np.asarray(weights @ (np.maximum(scores, 0) + np.log(1 + np.exp(-np.abs(scores))) - targets * scores))


def chances(scores: Matrix) -> Matrix:
    """Probability that log-odds stand for."""
    falling = np.exp(-np.abs(scores))
    return np.asarray(np.where(scores >= 0, 1, falling) / (1 + falling))


def slopes(scores: Matrix, targets: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
    """Gradient and curvature of the loss at each score."""
    chance = chances(scores)
    return weights[:, None] * (chance - targets), weights[:, None] * (chance * (1 - chance))


class Solver:
    """Weights of a growing set of rules, kept at or near their optimum.

    Parameters
    ----------
    targets : ndarray, shape (rows, labels)
        What the probabilities should be, between 0 and 1.
    weights : ndarray, shape (rows,)
        How much each row counts.
    ridge : float
        Penalty: half of it times the sum of squared weights.
    capacity : int
        Largest number of rules.

    Attributes
    ----------
    coefficients : ndarray, shape (1 + rules, labels)
        First the intercepts, then one row per rule; 0 outside the support.
    support : ndarray of bool, same shape
        Which labels are in which head; intercepts always are.
    """

    def __init__(self, targets: Matrix, weights: Matrix, ridge: float, capacity: int) -> None:
        self.targets, self.weights, self.ridge = targets, weights, ridge
        labels = targets.shape[1]
        self._covers = np.ones((len(targets), 1 + capacity), order="F")
        self._size = 1
        self._hessian = np.zeros((labels, 1 + capacity, 1 + capacity))
        self._stale = np.ones(labels, dtype=bool)
        self.coefficients = np.zeros((1, labels))
        self.support = np.ones((1, labels), dtype=bool)
        self.scores = np.zeros(targets.shape)
        self.solve(steps=50)

    @property
    def covers(self) -> Matrix:
        """1 where a rule covers a row, after a first column of ones."""
        return self._covers[:, : self._size]

    def add(self, rows: npt.NDArray[np.int32], head: npt.NDArray[np.bool_]) -> None:
        """Append a rule that covers `rows` and may weigh the labels in `head`; its weights start at 0."""
        column = self._covers[:, self._size]
        column[:] = 0
        column[rows] = 1
        self._size += 1
        self.coefficients = np.vstack([self.coefficients, np.zeros(len(head))])
        self.support = np.vstack([self.support, head])
        curvature = slopes(self.scores[rows], self.targets[rows], self.weights[rows])[1]
        border = (self.covers[rows].T @ curvature).T
        self._hessian[:, self._size - 1, : self._size] = border
        self._hessian[:, : self._size, self._size - 1] = border

    def remove(self, rule: int) -> None:
        """Take a rule out; rules are counted from 0. The weights of the others stay as they are until `solve`."""
        place = rule + 1
        self.scores = self.scores - self._covers[:, [place]] * self.coefficients[place]
        self._covers[:, place : self._size - 1] = self._covers[:, place + 1 : self._size].copy()
        self._size -= 1
        self._stale[:] = True
        self.coefficients = np.delete(self.coefficients, place, axis=0)
        self.support = np.delete(self.support, place, axis=0)

    def restore(self, covers: Matrix, coefficients: Matrix, support: npt.NDArray[np.bool_], scores: Matrix) -> None:
        """Go back to an earlier state."""
        self._size = covers.shape[1]
        self._covers[:, : self._size] = covers
        self._stale[:] = True
        self.coefficients, self.support, self.scores = coefficients, support, scores

    def solve(self, labels: Ints | None = None, steps: int = 1) -> None:
        """Take up to `steps` Newton steps for each of `labels`, all where None."""
        every = np.arange(self.targets.shape[1]) if labels is None else labels
        batch = max(1, _MOST_AT_ONCE // max(1, len(self.targets)))
        for first in range(0, len(every), batch):
            self._descend(every[first : first + batch], steps)

    def renew(self, labels: Ints | None = None) -> None:
        """Compute the curvature matrices of some labels, all where None, afresh."""
        every = np.arange(self.targets.shape[1]) if labels is None else labels
        curvature = slopes(self.scores[:, every], self.targets[:, every], self.weights)[1]
        covers = np.ascontiguousarray(self.covers.T)
        for place, label in enumerate(every.tolist()):
            self._hessian[label, : self._size, : self._size] = (covers * curvature[:, place]) @ covers.T
        self._stale[every] = False

    def objective(self) -> float:
        """The penalised loss."""
        penalty = self.ridge * (self.coefficients[1:] ** 2).sum() + _INTERCEPT_RIDGE * (self.coefficients[0] ** 2).sum()
        return float(loss(self.scores, self.targets, self.weights).sum() + penalty / 2)

    def saliency(self, labels: Ints | None = None) -> Matrix:
        """How much the objective would rise, to second order, without each weight; infinite outside the support.

        With `labels`, only theirs are computed and the others are infinite too.

        This allows for all other weights being refitted: w² / (2 (H⁻¹)_ww), with the curvature matrix H of the label.
        """
        worth = np.full((self._size - 1, self.targets.shape[1]), np.inf)
        every = np.arange(self.targets.shape[1]) if labels is None else labels
        inverse = np.linalg.inv(self._bent(every))
        variance = np.diagonal(inverse, axis1=1, axis2=2).T[1:]
        gone = self.coefficients[1:, every] ** 2 / (2 * variance)
        worth[:, every] = np.where(self.support[1:, every], gone, np.inf)
        return worth

    def _penalties(self) -> Matrix:
        penalties = np.full(self._size, self.ridge)
        penalties[0] = _INTERCEPT_RIDGE
        return penalties

    def _bent(self, labels: Ints) -> Matrix:
        """Curvature matrices with the penalty; a weight outside the support is cut off from all others."""
        support = self.support[:, labels].T
        inside = support[:, :, None] & support[:, None, :]
        bent = np.where(inside, self._hessian[labels, : self._size, : self._size], 0.0)
        places = np.arange(self._size)
        bent[:, places, places] += np.where(support, self._penalties() + _LEAST_CURVATURE, 1.0)
        return bent

    def _descend(self, labels: Ints, steps: int) -> None:
        """Newton steps of several labels; each stops by itself."""
        penalties, covers = self._penalties()[:, None], self.covers
        value = self._values(labels, self.coefficients[:, labels], self.scores[:, labels])
        for _ in range(steps):
            if self._stale[labels].any():
                self.renew(labels[self._stale[labels]])
            current, scores = self.coefficients[:, labels], self.scores[:, labels]
            surplus = self.weights[:, None] * (chances(scores) - self.targets[:, labels])
            gradient = np.where(self.support[:, labels], covers.T @ surplus + penalties * current, 0.0)
            step = np.linalg.solve(self._bent(labels), gradient.T[:, :, None])[:, :, 0].T.astype(np.float64)
            promise = (gradient * step).sum(axis=0)
            useful = promise > _TOLERANCE * np.maximum(1.0, np.abs(value))
            labels, value, promise = labels[useful], value[useful], promise[useful]
            if not len(labels):
                return
            reached = self._walk(labels, current[:, useful], scores[:, useful], step[:, useful], value, promise)
            share = (value - reached) / promise
            self._stale[labels[(share < _FAIR_GAIN[0]) | (share > _FAIR_GAIN[1])]] = True
            labels, value = labels[reached < value], reached[reached < value]

    def _walk(
        self, labels: Ints, current: Matrix, scores: Matrix, step: Matrix, value: Matrix, promise: Matrix
    ) -> Matrix:
        """Go along `step`, halved for a label until it helps enough; return the values then, or the old ones."""
        change = self.covers @ step
        reached = value.copy()
        left, length = np.arange(len(labels)), 1.0
        while len(left) and length > 1e-6:
            near, far = current[:, left] - length * step[:, left], scores[:, left] - length * change[:, left]
            now = self._values(labels[left], near, far)
            better = now <= value[left] - 1e-4 * length * promise[left]
            taken = left[better]
            self.coefficients[:, labels[taken]] = near[:, better]
            self.scores[:, labels[taken]] = far[:, better]
            reached[taken] = now[better]
            left, length = left[~better], length / 2
        return reached

    def _values(self, labels: Ints, coefficients: Matrix, scores: Matrix) -> Matrix:
        penalty = (self._penalties()[:, None] * coefficients**2).sum(axis=0) / 2
        return np.asarray(loss(scores, self.targets[:, labels], self.weights) + penalty)
