"""Cross-validation of any estimator on a data set, with honest intervals.

Also the parts that it is made of: rows taken together, and folds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import KFold

from polyrule.arrays import Ints
from polyrule.data.dataset import Dataset
from polyrule.data.results import MissingExtraError, frame_of_rows, text_table
from polyrule.errors import OptionError
from polyrule.evaluation.confusion import ConfusionCounts
from polyrule.evaluation.intervals import Interval, mean_interval
from polyrule.evaluation.scores import MEASURES, Scores, measure_words, score


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation:
    """What came out of a cross-validation.

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
        """Lay out mean, interval and pooled value of every measure."""
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
        See `polyrule.evaluation.cross_validation.make_folds`.
    progress : callable, optional
        Called with the number of finished folds and of all folds.

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
        train, test = take_rows(data, train_rows), take_rows(data, test_rows)
        started = time.perf_counter()
        model = clone(estimator).fit(train.X, train.Y)
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
    groups = np.concatenate([part.counts.example_groups for part in parts])
    kinds, where = np.unique(groups[:, :3], axis=0, return_inverse=True)
    numbers = np.zeros(len(kinds), dtype=np.int64)
    np.add.at(numbers, where.ravel(), groups[:, 3])
    counts = ConfusionCounts(
        examples=sum(part.counts.examples for part in parts),
        tp=np.sum([part.counts.tp for part in parts], axis=0),
        fp=np.sum([part.counts.fp for part in parts], axis=0),
        fn=np.sum([part.counts.fn for part in parts], axis=0),
        example_groups=np.column_stack([kinds, numbers]),
    )
    return Scores(counts, first.label_names, first.zero_division, first.empty_label, first.empty_example)


def take_rows(data: Dataset, rows: Any) -> Dataset:
    """Return the data set with only the given rows, in the given order.

    Examples
    --------
    >>> from polyrule.data.table import Table
    >>> data = Dataset(Table.from_array([[1.0], [2.0], [3.0]]), np.array([[1], [0], [1]]), ("a",))
    >>> take_rows(data, [2, 0]).X.column(0)
    array([3., 1.])
    """
    rows = np.asarray(rows)
    labels = sp.csr_array(data.Y)[rows] if sp.issparse(data.Y) else data.Y[rows]
    return replace(
        data,
        X=data.X[rows],
        Y=labels,
        row_ids=None if data.row_ids is None else tuple(data.row_ids[row] for row in rows),
        weights=None if data.weights is None else data.weights[rows],
    )


def make_folds(Y: Any, folds: int = 10, seed: int = 0, stratified: bool = True) -> list[tuple[Ints, Ints]]:
    """Split rows into `folds` pairs of training and test indices; every row is in exactly one test part.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0 and 1
        The labels; only a stratified split looks at them.
    folds : int
        At least 2, at most the number of rows.
    seed : int
        The same seed gives the same folds.
    stratified : bool
        Spread every label evenly over the folds by iterative stratification (Sechidis et al. 2011), as implemented in
        the package iterative-stratification (extra ``splits``).

    Examples
    --------
    >>> [test.tolist() for _, test in make_folds(np.eye(4), folds=2, stratified=False)]
    [[2, 3], [0, 1]]
    """
    rows = Y.shape[0] if hasattr(Y, "shape") else len(Y)
    if not 2 <= folds <= rows:
        raise OptionError(f"folds must lie between 2 and the number of examples ({rows}), got {folds}")
    return list(_split(Y, rows, folds, seed, stratified))


def _split(Y: Any, rows: int, folds: int, seed: int, stratified: bool) -> Iterator[tuple[Ints, Ints]]:
    placeholder = np.zeros((rows, 1))
    if not stratified:
        yield from KFold(folds, shuffle=True, random_state=seed).split(placeholder)
        return
    try:
        from iterstrat.ml_stratifiers import MultilabelStratifiedKFold
    except ImportError:
        raise MissingExtraError(
            "a stratified split needs the package iterative-stratification: "
            "install polyrule[splits] or ask for stratified=False"
        ) from None
    labels = np.asarray(Y.toarray() if sp.issparse(Y) else Y) == 1  # an unknown label is not spread
    if labels.ndim == 1:
        labels = labels[:, None]
    # the splitter takes a matrix with one column for a plain vector; a second, constant column changes nothing
    if labels.shape[1] == 1:
        labels = np.column_stack([labels, np.zeros(rows, dtype=bool)])
    yield from MultilabelStratifiedKFold(folds, shuffle=True, random_state=seed).split(placeholder, labels)
