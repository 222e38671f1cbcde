"""Measures over a row of cuts: how F1 and accuracy of each label rise and fall as its cut moves."""

from __future__ import annotations

import numpy as np

from polyrule.arrays import Bytes, Matrix

_REACH = 2


def smoothed(values: Matrix) -> Matrix:
    """Mean of each value and its two neighbours on either side, along the first axis, since a lone peak is luck.

    Examples
    --------
    >>> smoothed(np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0]))
    array([1., 1., 1., 1., 1., 0.])
    """
    edges = [(_REACH, _REACH)] + [(0, 0)] * (values.ndim - 1)
    padded = np.pad(values, edges, mode="edge")
    windows = [padded[shift : shift + len(values)] for shift in range(2 * _REACH + 1)]
    return np.asarray(np.mean(windows, axis=0))


def f1_curves(scores: Matrix, truth: Bytes, weights: Matrix, cuts: Matrix) -> Matrix:
    """F1 of every label at every cut, shape (cuts, labels); 0 where a label is neither present nor predicted."""
    right, claimed, present = _counts(scores, truth, weights, cuts)
    total = claimed + present
    return np.asarray(np.divide(2 * right, total, out=np.zeros_like(total), where=total > 0))


def accuracy_curves(scores: Matrix, truth: Bytes, weights: Matrix, cuts: Matrix) -> Matrix:
    """Share of right decisions about every label at every cut, shape (cuts, labels)."""
    right, claimed, present = _counts(scores, truth, weights, cuts)
    return np.asarray(1 - (claimed + present - 2 * right) / weights.sum())


def _counts(scores: Matrix, truth: Bytes, weights: Matrix, cuts: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Weight of the examples that have a label and are given it, that are given it, that have it."""
    right, claimed = np.empty((2, len(cuts), truth.shape[1]))
    weighted = weights[:, None] * truth
    for place, cut in enumerate(cuts):
        above = scores >= cut
        right[place] = (weighted * above).sum(axis=0)
        claimed[place] = weights @ above
    return right, claimed, weighted.sum(axis=0)
