"""The measures that a decision can be tuned for, of one prediction and over a row of cuts; larger is better for all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyrule.arrays import Bytes, Floats, Matrix


def micro_f1(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """F1 of all decisions about all labels together."""
    right, claimed, present = _sums(truth, predicted, weights)
    return _ratio(2 * right.sum(), claimed.sum() + present.sum())


def macro_f1(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """F1 of each label, averaged; a label that is neither present nor predicted counts 0."""
    right, claimed, present = _sums(truth, predicted, weights)
    total = claimed + present
    return float(np.divide(2 * right, total, out=np.zeros_like(total), where=total > 0).mean())


def example_f1(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """F1 of each example's label set, averaged; two empty sets agree fully."""
    right = (truth & predicted).sum(axis=1, dtype=np.float64)
    total = truth.sum(axis=1, dtype=np.float64) + predicted.sum(axis=1, dtype=np.float64)
    return float(weights @ np.divide(2 * right, total, out=np.ones_like(total), where=total > 0) / weights.sum())


def subset_accuracy(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """Share of examples with all labels right."""
    return float(weights @ (truth == predicted).all(axis=1) / weights.sum())


def hamming_accuracy(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """Share of right decisions; 1 minus the Hamming loss."""
    return float(weights @ (truth == predicted).mean(axis=1) / weights.sum())


#: What `optimize` may name.
MEASURES: dict[str, Callable[[Bytes, Bytes, Floats], float]] = {
    "micro-f1": micro_f1,
    "macro-f1": macro_f1,
    "example-f1": example_f1,
    "subset": subset_accuracy,
    "hamming": hamming_accuracy,
}


def _sums(truth: Bytes, predicted: Bytes, weights: Floats) -> tuple[Floats, Floats, Floats]:
    return weights @ (truth & predicted), weights @ predicted, weights @ truth


def _ratio(numerator: float, denominator: float) -> float:
    return float(numerator / denominator) if denominator > 0 else 0.0


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
