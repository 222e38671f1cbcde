"""Blending teachers: one logistic line through the estimates of all of them, the same for all labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from polyrule.arrays import Matrix

_EDGE = 0.005  # keeps the log-odds of unanimous votes finite


@dataclass(frozen=True, slots=True)
class Blend:
    """How much each teacher is listened to, by the log-odds of its estimates."""

    slopes: tuple[float, ...]
    shift: float

    @classmethod
    def fit(cls, estimates: Sequence[Matrix], truth: Matrix, weights: Matrix) -> Blend:
        """Fit to estimates of examples that were not used to make them; no teacher counts negatively.

        A weak penalty pulls towards the plain mean, which also keeps the slopes finite where the labels are separated
        perfectly.

        Examples
        --------
        >>> truth = np.array([[1.0]] * 9 + [[0.0]] + [[0.0]] * 9 + [[1.0]])
        >>> sure = np.array([[0.99]] * 10 + [[0.01]] * 10)
        >>> blend = Blend.fit([sure], truth, np.full(20, 100.0))
        >>> blend.apply([sure])[0].round(1)
        array([0.9])
        """
        seen = np.stack([log_odds(estimate).ravel() for estimate in estimates], axis=1)
        wanted, every = truth.ravel(), np.repeat(weights, truth.shape[1])
        usual = np.append(np.full(len(estimates), 1 / len(estimates)), 0.0)

        def value(line: Matrix) -> tuple[float, Matrix]:
            moved = seen @ line[:-1] + line[-1]
            surplus = every * (expit(moved) - wanted)
            away = line - usual
            height = every @ (np.logaddexp(0, moved) - wanted * moved) + away @ away / 2
            return float(height), np.append(surplus @ seen, surplus.sum()) + away

        bounds = [(0.0, None)] * len(estimates) + [(None, None)]
        line = minimize(value, usual, jac=True, method="L-BFGS-B", bounds=bounds).x
        return cls(tuple(float(slope) for slope in line[:-1]), float(line[-1]))

    def apply(self, estimates: Sequence[Matrix]) -> Matrix:
        """Return probabilities."""
        parts = [slope * log_odds(estimate) for slope, estimate in zip(self.slopes, estimates, strict=True)]
        return np.asarray(expit(sum(parts, np.zeros_like(estimates[0])) + self.shift))


def log_odds(chances: Matrix) -> Matrix:
    """Log-odds of estimates, kept a little away from 0 and 1, which they may lie outside of."""
    return np.asarray(logit((np.clip(chances, 0, 1) + _EDGE) / (1 + 2 * _EDGE)))
