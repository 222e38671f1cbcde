"""Logistic regression on the log-odds of several models (stacking: Wolpert 1992)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from polyrule.utils.arrays import Floats, Matrix

_MAX_STEPS = 100  # of Newton's method; a handful suffices
_MIN_STEP = 1e-6  # the next step is about its square
_MARGIN = 0.005  # keeps the log-odds of unanimous votes finite


@dataclass(frozen=True, slots=True)
class StackedModel:
    """Weights of several models by the log-odds of their estimates.

    Parameters
    ----------
    weights : tuple of float
        One per model, at least 0.
    intercept : float
    """

    weights: tuple[float, ...]
    intercept: float

    @classmethod
    def fit(cls, estimates: Sequence[Matrix], labels: Matrix, weights: Matrix) -> StackedModel:
        """Fit to out-of-fold estimates; no model gets a negative weight.

        A weak penalty pulls towards the plain mean, which keeps the weights finite if the labels are separated
        perfectly.

        Examples
        --------
        >>> labels = np.array([[1.0]] * 9 + [[0.0]] + [[0.0]] * 9 + [[1.0]])
        >>> certain = np.array([[0.99]] * 10 + [[0.01]] * 10)
        >>> model = StackedModel.fit([certain], labels, np.full(20, 100.0))
        >>> model.predict([certain])[0].round(1)
        array([0.9])
        """
        inputs = np.stack([*(log_odds(estimate).ravel() for estimate in estimates), np.ones(labels.size)], axis=1)
        inputs *= 1 - 2 * labels.reshape(-1, 1)  # the margin of the wrong class
        cell_weights = np.repeat(weights, labels.shape[1])
        center = np.append(np.full(len(estimates), 1 / len(estimates)), 0.0)
        solution, free = center.copy(), np.ones(len(center), dtype=bool)
        while True:
            penalties = np.ones(np.count_nonzero(free))
            solution[free] = minimize_logistic_loss(
                inputs[:, free], cell_weights, solution[free], center[free], penalties
            )
            smallest = int(np.argmin(solution[:-1]))
            if solution[smallest] >= 0:
                break
            solution[smallest], free[smallest] = 0.0, False
        return cls(tuple(float(weight) for weight in solution[:-1]), float(solution[-1]))

    def predict(self, estimates: Sequence[Matrix]) -> Matrix:
        """Return the stacked probabilities."""
        terms = [weight * log_odds(estimate) for weight, estimate in zip(self.weights, estimates, strict=True)]
        return np.asarray(expit(sum(terms, np.zeros_like(estimates[0])) + self.intercept))


def minimize_logistic_loss(
    inputs: Matrix, weights: Floats, start: Floats, center: Floats, penalties: Floats, offset: Floats | float = 0.0
) -> Floats:
    """Minimize the logistic loss plus a quadratic penalty for the distance from `center`, by Newton's method.

    Steps end when the next one would vanish in rounding, so that minima differ between machines in last digits only.

    Parameters
    ----------
    inputs : ndarray, shape (rows, coefficients)
        Change of the log-odds of the wrong class per unit of each coefficient.
    weights : ndarray, shape (rows,)
    start : ndarray, shape (coefficients,)
    center, penalties : ndarray, shape (coefficients,)
        Half of a penalty is the cost of a distance of 1.
    offset : ndarray, shape (rows,), or 0
        Log-odds of the wrong class with all coefficients 0.
    """

    def loss_at(point: Floats) -> tuple[float, Floats]:
        margins, distance = inputs @ point + offset, point - center
        return float(weights @ np.logaddexp(0, margins) + penalties * distance @ distance / 2), margins

    point = start
    loss, margins = loss_at(point)
    for _ in range(_MAX_STEPS):
        probabilities = expit(margins)
        gradients = weights * probabilities
        hessian = (inputs * (gradients * (1 - probabilities))[:, None]).T @ inputs + np.diag(penalties)
        step = np.linalg.solve(hessian, gradients @ inputs + penalties * point - penalties * center)
        if np.abs(step).max() < _MIN_STEP:
            return point - step
        next_loss, margins = loss_at(point - step)
        while next_loss > loss:
            step /= 2
            next_loss, margins = loss_at(point - step)
        point, loss = point - step, next_loss
    return point


def log_odds(probabilities: Matrix) -> Matrix:
    """Return the log-odds of estimates, clipped a little inside 0 and 1."""
    probabilities = np.clip(probabilities, 0, 1)
    return np.asarray(np.log((probabilities + _MARGIN) / (1 + _MARGIN - probabilities)))
