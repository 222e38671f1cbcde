"""Calibration: one slope and one shift for all labels, so that of the labels given 70 % about 70 % are present."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from polyrule.arrays import Matrix


@dataclass(frozen=True, slots=True)
class Calibration:
    """A straight line through scores (log-odds); it keeps a model additive, so it disappears into its weights."""

    slope: float = 1.0
    shift: float = 0.0

    @classmethod
    def fit(cls, scores: Matrix, truth: Matrix, weights: Matrix) -> Calibration:
        """Fit by logistic regression on scores of examples that were not used to make them.

        A weak penalty pulls towards the identity, which also keeps the slope finite where the scores separate the
        labels perfectly. A slope that is not positive would turn the model around; such scores are left as they are.

        Examples
        --------
        >>> scores = np.array([[4.0]] * 10 + [[-4.0]] * 10)
        >>> truth = np.array([[1.0]] * 9 + [[0.0]] + [[0.0]] * 9 + [[1.0]])
        >>> line = Calibration.fit(scores, truth, np.full(20, 100.0))
        >>> line.apply(scores)[0].round(1)  # the log-odds of 9 : 1
        array([2.2])
        """
        flat, wanted, every = scores.ravel(), truth.ravel(), np.repeat(weights, scores.shape[1])

        def value(line: Matrix) -> tuple[float, Matrix]:
            moved = line[0] + line[1] * flat
            surplus = every * (expit(moved) - wanted)
            away = line - np.array([0.0, 1.0])
            height = every @ (np.logaddexp(0, moved) - wanted * moved) + away @ away / 2
            return float(height), np.array([surplus.sum(), surplus @ flat]) + away

        shift, slope = minimize(value, np.array([0.0, 1.0]), jac=True, method="L-BFGS-B").x
        return cls(float(slope), float(shift)) if slope > 0 else cls()

    def apply(self, scores: Matrix) -> Matrix:
        """Return calibrated scores."""
        return self.slope * scores + self.shift
