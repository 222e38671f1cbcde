"""The measures that a decision can be tuned for; larger is better for all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polyrule.arrays import Bytes, Floats


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
