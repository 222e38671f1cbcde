"""Scores of one model on one part of the data, beside the majority baseline, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.evaluation.baseline import compare_with_baseline
from polyrule.evaluation.scores import MEASURES
from polyrule.report.inputs import Part

#: pairs of confused labels kept per model and part
MOST_CONFUSIONS = 600


def summarise(
    part: Part, predicted: npt.NDArray[np.uint8], learned_from: Part, names: tuple[str, ...]
) -> dict[str, Any]:
    """All measures, the baseline's, per-label counts and ratios, and which labels stand in for which."""
    comparison = compare_with_baseline(learned_from.truth, part.truth, predicted, names)
    per_label = comparison.model.per_label()
    return {
        "scores": {name: _rounded(comparison.model[name]) for name in MEASURES},
        "baseline": {name: _rounded(comparison.baseline[name]) for name in MEASURES},
        "warning": comparison.warning,
        "per_label": {
            key: [_rounded(value) for value in values] if key in ("precision", "recall", "f1") else values
            for key, values in per_label.items()
            if key in ("present", "predicted", "tp", "fp", "fn", "precision", "recall", "f1")
        },
        "confusion": confusion(part.truth, predicted),
    }


def confusion(truth: npt.NDArray[np.uint8], predicted: npt.NDArray[np.uint8]) -> list[list[int]]:
    """How often a label was predicted wrongly on an example on which another was missed: [predicted, missed, examples].

    Examples
    --------
    >>> confusion(np.array([[0, 1], [0, 1], [1, 0]]), np.array([[1, 0], [1, 0], [1, 0]]))
    [[0, 1, 2]]
    """
    extra = ((predicted == 1) & (truth == 0)).astype(np.float64)
    missed = ((predicted == 0) & (truth == 1)).astype(np.float64)
    both = np.rint(extra.T @ missed).astype(np.int64)
    first, second = np.nonzero(both)
    order = np.argsort(-both[first, second], kind="stable")[:MOST_CONFUSIONS]
    return [[int(first[i]), int(second[i]), int(both[first[i], second[i]])] for i in order]


def _rounded(value: float) -> float:
    return round(float(value), 6)
