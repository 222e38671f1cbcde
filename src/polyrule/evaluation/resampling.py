"""How far a score could be off: the same examples drawn again and again, with replacement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.data.labels import UNKNOWN
from polyrule.errors import DataError, OptionError
from polyrule.evaluation.confusion import encoded_labels, label_matrix
from polyrule.evaluation.scores import AVERAGES, LOWER_IS_BETTER, PARTS, RATIOS
from polyrule.utils.arrays import Bools, Floats

_BLOCK = 50


@dataclass(frozen=True, eq=False)
class ResampledScores:
    """Scores of several predictions of the same examples on the same resamples, so that pairs can be compared."""

    values: Mapping[str, Floats]  # by measure, of shape (predictions, resamples)

    def interval(self, measure: str, model: int = 0, level: float = 0.95) -> tuple[float, float]:
        """Return the percentile interval of a score."""
        low, high = np.quantile(self.values[measure][model], [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)

    def level_with(self, measure: str, best: int, level: float = 0.95) -> list[bool]:
        """Return True for each prediction whose difference to the best one has an interval with zero."""
        gap = self.values[measure][best] - self.values[measure]
        low, high = np.quantile(-gap if measure in LOWER_IS_BETTER else gap, [(1 - level) / 2, (1 + level) / 2], axis=1)
        return [bool(a <= 0 <= b) for a, b in zip(low, high, strict=True)]


def resample_scores(truth: Any, predictions: Sequence[Any], resamples: int = 400, seed: int = 0) -> ResampledScores:
    """Score predictions on bootstrap resamples of the examples.

    Parameters
    ----------
    truth : array-like or sparse matrix of 0/1, shape (examples, labels)
        The true labels; 2 or NaN where one is unknown.
    predictions : sequence of matrices of the same shape
        One per model.
    resamples : int
        How many to draw.
    seed : int
        The resamples depend on it alone.

    Examples
    --------
    >>> truth = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> found = resample_scores(truth, [truth, 1 - truth], resamples=20)
    >>> found.interval("micro_f1"), found.level_with("hamming_accuracy", 0)
    ((1.0, 1.0), [True, False])
    """
    if resamples < 1 or not len(predictions):
        raise OptionError(f"{resamples} resamples of {len(predictions)} predictions: one of each is the least")
    codes = encoded_labels(truth, "truth")
    is_known = codes != UNKNOWN
    present = np.where(is_known, codes, 0).astype(np.float64)
    counted_predictions = [is_known * _dense(labels, codes.shape) for labels in predictions]
    blocks: list[list[dict[str, Floats]]] = []
    for weights in draw(len(codes), resamples, seed):
        blocks.append([_scores(weights, present, predicted, is_known) for predicted in counted_predictions])
    names = blocks[0][0].keys()
    return ResampledScores(
        {
            name: np.array([np.concatenate([block[at][name] for block in blocks]) for at in range(len(predictions))])
            for name in names
        }
    )


def _dense(predicted: Any, shape: tuple[int, int]) -> Floats:
    labels = label_matrix(predicted, "a prediction")
    if labels.shape != shape:
        raise DataError(f"a prediction has shape {labels.shape}, but the truth has shape {shape}")
    return np.asarray(labels.toarray(), dtype=np.float64)


def draw(examples: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield how often each example is drawn, in blocks of shape (resamples, examples)."""
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, _BLOCK):
        rows = min(_BLOCK, resamples - start)
        drawn = rng.integers(0, examples, (rows, examples)) + np.arange(rows)[:, None] * examples
        counts = np.bincount(drawn.ravel(), minlength=rows * examples)
        yield counts.reshape(rows, examples).astype(np.float64)


def _scores(weights: Floats, truth: Floats, predicted: Floats, is_known: Bools) -> dict[str, Floats]:
    both = truth * predicted
    judged = is_known.any(axis=1)
    examples, cells = np.maximum(weights @ judged, 1), np.maximum(weights @ is_known.sum(axis=1), 1)
    errors = (truth != predicted).sum(axis=1)
    loss = weights @ errors / cells
    scores = {
        "hamming_loss": loss,
        "hamming_accuracy": 1 - loss,
        "subset_accuracy": weights @ (judged & (errors == 0)) / examples,
    }
    per_label = [weights @ part for part in (both, predicted, truth)]
    per_example = [part.sum(axis=1) for part in (both, predicted, truth)]
    for ratio in RATIOS:
        scores[f"{AVERAGES[0]}_{ratio}"] = ratio_of(ratio, *(part.sum(axis=1) for part in per_label))
        scores[f"{AVERAGES[1]}_{ratio}"] = ratio_of(ratio, *per_label).mean(axis=1)
        scores[f"{AVERAGES[2]}_{ratio}"] = weights @ (judged * ratio_of(ratio, *per_example)) / examples
    return scores


def ratio_of(ratio: str, tp: Any, predicted: Any, present: Any) -> Floats:
    """Return a ratio from arrays of counts; 0/0 counts 0."""
    top, bottom = PARTS[ratio](tp, predicted, present)
    return np.asarray(np.divide(top, bottom, out=np.zeros(top.shape), where=bottom > 0))
