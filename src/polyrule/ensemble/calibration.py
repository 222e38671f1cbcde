"""Calibration: one slope and one shift for all labels, so that of the labels given 70 % about 70 % are present."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polyrule.arrays import Bytes, Floats, Ints, Matrix
from polyrule.ensemble.logistic import chances_of, falling, log_of_one_and, unit_for, whole

_MOST_CELLS = 2_000_000
_BLOCK = 65_536  # scores at a time
_MOST_STEPS = 60
_FARTHEST = 50.0  # log-odds beyond it say nothing more


@dataclass(frozen=True, slots=True)
class Calibration:
    """A straight line through scores (log-odds); it keeps a model additive, so it disappears into its weights."""

    slope: float = 1.0
    shift: float = 0.0

    @classmethod
    def fit(cls, scores: Matrix, truth: Matrix | Bytes, weights: Floats) -> Calibration:
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
        some = slice(None, None, max(1, scores.size // _MOST_CELLS))
        flat = np.clip(scores[some].ravel().astype(np.float64), -_FARTHEST, _FARTHEST)
        wanted = truth[some].ravel().astype(np.float64)
        every = np.repeat(weights[some], scores.shape[1])
        value = np.inf
        line: Floats = np.array([0.0, 1.0])
        step: Floats = np.zeros(2)
        for _ in range(_MOST_STEPS):
            here, gradient, curvature = _around(line - step, flat, wanted, every)
            if here > value:
                step = step / 2.0
                continue
            improved, line, value = value - here, line - step, here
            if improved <= 1e-12 * abs(value):
                break
            step = _solved(curvature, gradient)
        shift, slope = np.round(line, 9).tolist()
        return cls(slope, shift) if slope > 0 else cls()

    def apply(self, scores: Matrix) -> Matrix:
        """Return calibrated scores."""
        return self.slope * scores + self.shift


def _around(line: Floats, flat: Floats, wanted: Floats, every: Floats) -> tuple[float, Floats, Matrix]:
    """Penalised loss of a line, its gradient and its curvature; sums are exact, the same on every machine."""
    away = line - np.array([0.0, 1.0])
    unit = unit_for(every) / 4096  # one number may be as large as a few thousand
    sums: Ints = np.zeros(6, dtype=np.int64)
    for first in range(0, len(flat), _BLOCK):
        block = slice(first, first + _BLOCK)
        scores, weights, truth = flat[block], every[block], wanted[block]
        moved = line[0] + line[1] * scores
        chance = chances_of(moved)
        losses = np.maximum(moved, 0) + log_of_one_and(falling(np.abs(moved))) - truth * moved
        surplus, bent = chance - truth, chance * (1 - chance)
        terms = (losses, surplus, surplus * scores, bent, bent * scores, bent * scores * scores)
        sums += [whole(weights, term, unit).sum() for term in terms]
    value, down, tilt, flatness, cross, spread = (sums.astype(np.float64) / unit).tolist()
    value += (away[0] * away[0] + away[1] * away[1]) / 2
    return value, np.array([down, tilt]) + away, np.array([[flatness + 1, cross], [cross, spread + 1]])


def _solved(curvature: Matrix, gradient: Floats) -> Floats:
    """The Newton step, by Cramer's rule."""
    (a, b), (_, d) = curvature.tolist()
    first, second = gradient.tolist()
    size = a * d - b * b
    return np.array([(d * first - b * second) / size, (a * second - b * first) / size])
