"""Cross-validation of any estimator on a data set, with corrected intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from polyrule.data.dataset import Dataset
from polyrule.data.results import frame_of_rows, text_table
from polyrule.data.splits import make_folds
from polyrule.evaluation.confusion import ConfusionCounts
from polyrule.evaluation.scores import MEASURES, Scores, measure_words, score
from polyrule.evaluation.statistics import Interval, mean_interval


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation:
    """Result of a cross-validation.

    Attributes
    ----------
    folds : tuple of Scores
        Scores of every fold's test part.
    fit_seconds, predict_seconds : tuple of float
        Wall-clock time per fold.

    Examples
    --------
    >>> from polyrule import RuleListClassifier, datasets
    >>> found = cross_validate(RuleListClassifier(max_rules=3), datasets.load("emotions", part="train"), folds=3)
    >>> len(found.folds), 0 < found.pooled.micro_f1 < 1
    (3, True)
    """

    folds: tuple[Scores, ...]
    fit_seconds: tuple[float, ...]
    predict_seconds: tuple[float, ...]

    @property
    def pooled(self) -> Scores:
        """Scores of all test predictions together: each example once, by a model that had not seen it."""
        return pool_scores(self.folds)

    def interval(self, measure: str, level: float = 0.95) -> Interval:
        """Mean of a measure over the folds, with an interval corrected for the overlap of the training parts.

        The interval is cut off at 0 and 1, the least and the greatest value of every measure.
        """
        test_share = 1 / (len(self.folds) - 1)
        return mean_interval([fold[measure] for fold in self.folds], level, test_share, within=(0, 1))

    def frame(self) -> Any:
        """Return a row per fold with all measures and times."""
        return frame_of_rows(
            {"fold": number, "fit_seconds": fit, "predict_seconds": predict, **scores.as_dict()}
            for number, (scores, fit, predict) in enumerate(
                zip(self.folds, self.fit_seconds, self.predict_seconds, strict=True), start=1
            )
        )

    def text(self) -> str:
        """Return mean, interval and pooled value of every measure as a table."""
        pooled = self.pooled
        rows = [[measure_words(name), str(self.interval(name)), f"{pooled[name]:.3f}"] for name in MEASURES]
        return text_table([f"{len(self.folds)} folds", "mean [95% interval]", "pooled"], rows)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"CrossValidation({len(self.folds)} folds, pooled: {self.pooled!r})"


def cross_validate(
    estimator: Any,
    data: Dataset,
    folds: int = 10,
    seed: int = 0,
    stratified: bool = True,
    progress: Callable[[int, int], None] | None = None,
    fit_params: Mapping[str, Any] | None = None,
) -> CrossValidation:
    """Fit a clone of `estimator` on all but one fold and score it on that fold, for every fold.

    The estimator gets ``fit(X, Y)`` with the training rows and ``predict(X)`` with the features of the test rows, and
    nothing else: a step that must not see test data (scaling, discretising) belongs into it, for example by a Pipeline.

    Parameters
    ----------
    estimator : scikit-learn classifier for several labels
        Cloned for every fold.
    data : Dataset
        All examples.
    folds, seed, stratified
        See `polyrule.data.splits.make_folds`.
    progress : callable, optional
        Called with the number of finished folds and of all folds.
    fit_params : mapping, optional
        Further arguments of ``fit``, such as relations between labels.

    Examples
    --------
    >>> from polyrule.data.table import Table
    >>> from polyrule.evaluation import MajorityClassifier
    >>> labels = np.array([[1, 0], [1, 1], [1, 0], [0, 0]])
    >>> data = Dataset(Table.from_array(np.arange(4.0)[:, None]), labels, ("a", "b"))
    >>> result = cross_validate(MajorityClassifier(), data, folds=2, stratified=False)
    >>> result.pooled.hamming_accuracy
    0.5
    """
    results: list[Scores] = []
    fit_seconds, predict_seconds = [], []
    pairs = make_folds(data.Y, folds, seed, stratified)
    for done, (train_rows, test_rows) in enumerate(pairs, start=1):
        train, test = data[train_rows], data[test_rows]
        started = time.perf_counter()
        model = clone(estimator).fit(train.X, train.Y, **fit_params or {})
        fitted = time.perf_counter()
        predicted = model.predict(test.X)
        predict_seconds.append(time.perf_counter() - fitted)
        fit_seconds.append(fitted - started)
        results.append(score(test.Y, predicted, data.label_names))
        if progress is not None:
            progress(done, len(pairs))
    return CrossValidation(tuple(results), tuple(fit_seconds), tuple(predict_seconds))


def pool_scores(parts: tuple[Scores, ...]) -> Scores:
    """Add up the counts of several parts and score them as one."""
    first = parts[0]
    counts = ConfusionCounts(
        examples=sum(part.counts.examples for part in parts),
        tp=np.sum([part.counts.tp for part in parts], axis=0),
        fp=np.sum([part.counts.fp for part in parts], axis=0),
        fn=np.sum([part.counts.fn for part in parts], axis=0),
        example_groups=np.concatenate([part.counts.example_groups for part in parts]),
        known=np.sum([part.counts.tp + part.counts.fp + part.counts.fn + part.counts.tn for part in parts], axis=0),
    )
    return replace(first, counts=counts)
