"""Whole points instead of weights, so that a person can add up the score of a label."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polyrule.ensemble.logistic import sigmoid
from polyrule.ensemble.solver import loss
from polyrule.utils.arrays import Bytes, Floats, Matrix


def to_points(
    coefficients: Matrix,
    covers: Matrix | Bytes,
    weights: Floats,
    max_points: int,
    signs: npt.NDArray[np.int8] | None = None,
    *,
    one_unit: bool = False,
) -> tuple[Matrix, float | tuple[float, ...]]:
    """Round weights to whole points of at most `most`, then correct points while that improves the probabilities.

    The points of each label are added up separately, so each label has its unit: with one unit, a label with a large
    weight would leave the others a point or none.

    Parameters
    ----------
    coefficients : ndarray, shape (1 + rules, labels)
        Intercepts, then weights.
    covers : ndarray, shape (rows, 1 + rules)
    weights : ndarray
        Weights of the rows.
    max_points : int
        Maximum number of points of a rule, positive or negative; intercepts may be larger.
    signs : ndarray of int8, shape (1 + rules,), optional
        Required sign of the points of each rule, 0 for any.
    one_unit : bool
        True for one unit for all labels, which decisions among label sets need.

    Returns
    -------
    points : ndarray, shape of `coefficients`
        Whole numbers; a weight of 0 points stays 0.
    unit : float or tuple of float
        Log-odds that one point is worth, by label or for all.
    """
    largest = np.abs(coefficients[1:]).max(axis=0, initial=0)
    if one_unit:
        largest = np.full(len(largest), largest.max(initial=0))
    unit = np.where(largest > 0, largest / max_points, 1.0)
    points = np.rint(coefficients / unit)
    lower, upper = np.full(len(points), -float(max_points)), np.full(len(points), float(max_points))
    lower[0], upper[0] = -np.inf, np.inf
    if signs is not None:
        lower[signs > 0] = upper[signs < 0] = 0
    for label in range(coefficients.shape[1]):
        free = np.flatnonzero(coefficients[:, label])
        # The target is the probability by weights, not the label, which would undo the ridge and the calibration.
        target = sigmoid(covers @ coefficients[:, [label]])
        points[:, label] = _corrected(points[:, label], free, covers, target, weights, float(unit[label]), lower, upper)
    return points, (float(unit[0]) if one_unit and len(unit) else tuple(unit.tolist()))


def _corrected(
    points: npt.NDArray[np.float64],
    free: npt.NDArray[np.int64],
    covers: Matrix | Bytes,
    target: Matrix,
    weights: Floats,
    unit: float,
    lower: Floats,
    upper: Floats,
) -> npt.NDArray[np.float64]:
    """Change one number by one point at a time, by which the loss decreases most, until none decreases it."""
    current = points.copy()
    scores = (covers[:, free] @ current[free] * unit)[:, None]
    reached = float(loss(scores, target, weights)[0])
    for _ in range(4 * len(free)):
        best, move = reached, None
        for place in free.tolist():
            for step in (-1.0, 1.0):
                if not lower[place] <= current[place] + step <= upper[place]:
                    continue
                value = float(loss(scores + step * unit * covers[:, [place]], target, weights)[0])
                if value < best - 1e-9 * abs(best):
                    best, move = value, (place, step)
        if move is None:
            break
        place, step = move
        current[place] += step
        scores = scores + step * unit * covers[:, [place]]
        reached = best
    return current
