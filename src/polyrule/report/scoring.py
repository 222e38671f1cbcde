"""Scores of one model on one part of the data, with intervals and beside simple models, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from polyrule.evaluation.baseline import BaselineComparison, simple_predictions
from polyrule.evaluation.resampling import ResampledScores, resample_scores
from polyrule.evaluation.scores import LOWER_IS_BETTER, MEASURES, Scores, score
from polyrule.report.counts import PredictionCounts, counts
from polyrule.report.inputs import DataPart
from polyrule.utils.arrays import Bytes

#: pairs of confused labels kept per model and part
MOST_CONFUSIONS = 600
#: parts of the examples that simple models are fitted without, in turn
FOLDS = 5


#: label decisions that resampling may count; large data needs fewer resamples for the same precision
MOST_COUNTED = 4_000_000_000
SIMPLE = Mapping[str, Scores]


def simple_scores(part: DataPart, learned_from: DataPart) -> dict[str, Scores]:
    """Scores of the simple models that a reader would try first, fitted on the training data.

    If there are only new examples, they are fitted on four fifths of them at a time and predict the rest, so that
    they know no more about an example than the model does.
    """
    if not learned_from.unseen:
        predictions = simple_predictions(learned_from.table, learned_from.truth, part.table)
    else:
        predictions = _cross_fitted(part)
    return {name: score(part.answers, labels) for name, labels in predictions.items()}


def _cross_fitted(part: DataPart) -> dict[str, Bytes]:
    fold = np.arange(len(part)) % FOLDS
    predictions: dict[str, Bytes] = {}
    for number in range(FOLDS):
        rest, held_out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if not len(rest):
            rest = held_out  # a single example has no others to learn from
        for name, labels in simple_predictions(part.table[rest], part.truth[rest], part.table[held_out]).items():
            predictions.setdefault(name, np.zeros_like(part.truth))[held_out] = labels
    return predictions


def resample(
    part: DataPart, predictions: Sequence[Bytes], most_counted: int = MOST_COUNTED, min_times: int = 60
) -> ResampledScores:
    """Score all models on the same resamples of the examples: 400 of them, on large data at least `min_times`."""
    times = most_counted // max(1, part.truth.size * len(predictions))
    return resample_scores(part.truth, predictions, resamples=min(400, max(min_times, times)))


def interval_entries(resampled: ResampledScores, names: Iterable[str], at: int = 0) -> dict[str, list[float]]:
    """Return the 95 % intervals of a model's scores as plain values."""
    return {name: [round(bound, 4) for bound in resampled.interval(name, at)] for name in names}


def level_with_best(scores: Sequence[Mapping[str, float]], resampled: ResampledScores) -> dict[str, list[bool]]:
    """Per measure, which models cannot be told from the best one on these examples."""
    level = {}
    for name in MEASURES:
        values = [-entry[name] if name in LOWER_IS_BETTER else entry[name] for entry in scores]
        level[name] = resampled.level_with(name, int(np.argmax(values)))
    return level


def summarise(part: DataPart, run: PredictionCounts, simple: SIMPLE) -> dict[str, Any]:
    """All measures, those of simple models, and the counts of each label."""
    comparison = BaselineComparison(model=score(part.answers, run.labels), baseline=simple["majority"])
    return {
        "scores": {name: _rounded(comparison.model[name]) for name in MEASURES},
        "simple": {other: {name: _rounded(scores[name]) for name in MEASURES} for other, scores in simple.items()},
        "warning": comparison.warning,
        **about_labels(part, run),
    }


def about_labels(part: DataPart, run: PredictionCounts, confused: bool = True) -> dict[str, Any]:
    """Per label its counts and ratios and where no rule set it, and, if `confused`, which labels stand in for which."""
    return {
        "per_label": {name: np.round(values, 6).tolist() for name, values in run.per_label.items()},
        "unset": counts(run.unset).tolist(),
        "confusion": confusion(part.truth, run.labels) if confused else [],
    }


def confusion(truth: Bytes, predicted: Bytes) -> list[list[int]]:
    """Count examples on which one label was predicted wrongly and another missed: [predicted, missed, examples].

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
