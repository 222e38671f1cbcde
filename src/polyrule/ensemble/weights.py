"""Fully corrective weights: after every rule, the weights of all rules are the best ones for the rules there are.

Given the rules, the penalised logistic loss separates over labels; each part is convex and smooth, and Newton's method
with step halving solves it in a few steps from where it stood before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

Matrix = npt.NDArray[np.float64]

# The intercept is penalised too, but so little that it only matters for a label that is always or never present.
_INTERCEPT_RIDGE = 0.01
_LEAST_CURVATURE = 1e-9


def loss(scores: Matrix, targets: Matrix, weights: Matrix) -> npt.NDArray[np.float64]:
    """Weighted logistic loss of each label; targets may lie between 0 and 1."""
    return np.asarray(weights @ (np.logaddexp(0, scores) - targets * scores))


def slopes(scores: Matrix, targets: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
    """Gradient and curvature of the loss at each score."""
    chance = expit(scores)
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

    def remove(self, rule: int) -> None:
        """Take a rule out; rules are counted from 0. The weights of the others stay as they are until `solve`."""
        place = rule + 1
        self.scores = self.scores - self._covers[:, [place]] * self.coefficients[place]
        self._covers[:, place : self._size - 1] = self._covers[:, place + 1 : self._size].copy()
        self._size -= 1
        self.coefficients = np.delete(self.coefficients, place, axis=0)
        self.support = np.delete(self.support, place, axis=0)

    def restore(self, covers: Matrix, coefficients: Matrix, support: npt.NDArray[np.bool_], scores: Matrix) -> None:
        """Go back to an earlier state."""
        self._size = covers.shape[1]
        self._covers[:, : self._size] = covers
        self.coefficients, self.support, self.scores = coefficients, support, scores

    def solve(self, labels: npt.NDArray[np.int64] | None = None, steps: int = 1) -> None:
        """Take up to `steps` Newton steps for each of `labels`, all where None."""
        every = range(self.targets.shape[1]) if labels is None else labels.tolist()
        for label in every:
            places = np.flatnonzero(self.support[:, label])
            covers = self.covers if len(places) == self._size else self.covers[:, places]
            start = self.coefficients[places, label]
            found = newton(covers, self.targets[:, label], self.weights, start, self._penalties(places), steps)
            self.coefficients[places, label] = found
            self.scores[:, label] = covers @ found

    def _penalties(self, places: npt.NDArray[np.int64]) -> Matrix:
        return np.where(places == 0, _INTERCEPT_RIDGE, self.ridge)

    def objective(self) -> float:
        """The penalised loss."""
        penalty = self.ridge * (self.coefficients[1:] ** 2).sum() + _INTERCEPT_RIDGE * (self.coefficients[0] ** 2).sum()
        return float(loss(self.scores, self.targets, self.weights).sum() + penalty / 2)

    def saliency(self, labels: npt.NDArray[np.int64] | None = None) -> Matrix:
        """How much the objective would rise, to second order, without each weight; infinite outside the support.

        With `labels`, only theirs are computed and the others are infinite too.

        This allows for all other weights being refitted: w² / (2 (H⁻¹)_ww), with the curvature matrix H of the label.
        """
        worth = np.full((self._size - 1, self.targets.shape[1]), np.inf)
        for label in range(self.targets.shape[1]) if labels is None else labels.tolist():
            places = np.flatnonzero(self.support[:, label])
            if len(places) < 2:
                continue
            covers = self.covers[:, places]
            curvature = slopes(self.scores[:, [label]], self.targets[:, [label]], self.weights)[1][:, 0]
            inverse = np.linalg.inv(_hessian(covers, curvature, self._penalties(places)))
            w = self.coefficients[places, label]
            worth[places[1:] - 1, label] = (w**2 / (2 * np.diag(inverse)))[1:]
        return worth


def newton(
    covers: Matrix,
    target: Matrix,
    weights: Matrix,
    start: Matrix,
    penalties: Matrix,
    steps: int,
    tolerance: float = 1e-8,
) -> Matrix:
    """Minimise the penalised logistic loss of one label.

    Parameters
    ----------
    covers : ndarray, shape (rows, terms)
    target, weights : ndarray, shape (rows,)
    start, penalties : ndarray, shape (terms,)
    steps : int
        Most steps taken.
    tolerance : float
        Stop when a step promises less than this share of the loss.

    Examples
    --------
    >>> newton(np.ones((4, 1)), np.array([1.0, 1.0, 1.0, 0.0]), np.ones(4), np.zeros(1), np.zeros(1), 20).round(4)
    array([1.0986])
    """
    current = start.copy()
    value = _value(covers, target, weights, current, penalties)
    for _ in range(steps):
        chance = expit(covers @ current)
        gradient = covers.T @ (weights * (chance - target)) + penalties * current
        step = np.linalg.solve(_hessian(covers, weights * chance * (1 - chance), penalties), gradient)
        promise = float(gradient @ step)
        if promise <= tolerance * max(1.0, abs(value)):
            break
        length = 1.0
        while length > 1e-6:
            moved = current - length * step
            reached = _value(covers, target, weights, moved, penalties)
            if reached <= value - 1e-4 * length * promise:
                current, value = moved, reached
                break
            length /= 2
        else:
            break
    return current


def _value(covers: Matrix, target: Matrix, weights: Matrix, current: Matrix, penalties: Matrix) -> float:
    scores = covers @ current
    return float(weights @ (np.logaddexp(0, scores) - target * scores) + (penalties * current**2).sum() / 2)


def _hessian(covers: Matrix, curvature: Matrix, penalties: Matrix) -> Matrix:
    hessian = np.asarray(covers.T @ (covers * curvature[:, None]))
    hessian[np.diag_indices_from(hessian)] += penalties + _LEAST_CURVATURE
    return hessian
