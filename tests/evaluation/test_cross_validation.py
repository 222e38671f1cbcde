import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from polyrule.data.dataset import Dataset
from polyrule.data.splits import make_folds
from polyrule.data.table import Table
from polyrule.evaluation.baseline import compare_with_baseline
from polyrule.evaluation.cross_validation import cross_validate, pool_scores
from polyrule.evaluation.experiment.results import scores_of
from polyrule.evaluation.scores import MEASURES, score


def example(rows=60):
    rng = np.random.default_rng(5)
    features = rng.random((rows, 4)).round(2)
    labels = np.column_stack([features[:, 0] > 0.5, features[:, 1] > 0.3, features[:, 2] > 0.8]).astype(np.uint8)
    return Dataset(Table.from_array(features), labels, ("a", "b", "c"))


def test_pooled_scores_equal_scores_of_all_predictions():
    data = example()
    result = cross_validate(DecisionTreeClassifier(random_state=0), data, folds=5)
    predictions = cross_val_predict(
        DecisionTreeClassifier(random_state=0), np.asarray(data.X), data.Y, cv=make_folds(data.Y, 5)
    )
    expected = score(data.Y, predictions)
    for measure in MEASURES:
        assert result.pooled.exact(measure) == expected.exact(measure), measure


def test_unknown_labels_count_nowhere_in_pooled_and_stored_scores():
    rng = np.random.default_rng(2)
    truth, predicted = rng.integers(0, 2, (20, 3)).astype(float), rng.integers(0, 2, (20, 3))
    truth[rng.random(truth.shape) < 0.3] = np.nan
    truth[0], truth[12:] = np.nan, rng.integers(0, 2, (8, 3))  # the second part knows all
    expected = score(truth, predicted)
    pooled = pool_scores((score(truth[:12], predicted[:12]), score(truth[12:], predicted[12:])))
    stored = scores_of({"counts": json.loads(json.dumps(expected.counts.as_dict()))}, {})
    for measure in MEASURES:
        assert pooled.exact(measure) == stored.exact(measure) == expected.exact(measure), measure


def test_frame_interval_and_text():
    seen = []
    result = cross_validate(
        DecisionTreeClassifier(random_state=0),
        example(),
        folds=4,
        progress=lambda done, all_: seen.append((done, all_)),
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    frame = result.frame()
    assert list(frame["fold"]) == [1, 2, 3, 4]
    interval = result.interval("micro_f1")
    assert interval.mean == pytest.approx(np.mean(list(frame["micro_f1"])))
    assert interval.low < interval.mean < interval.high
    assert "4 folds" in result.text()


class Spy(BaseEstimator):
    """Remembers the values of the rows it saw."""

    fitted: list
    predicted: list

    def fit(self, X, Y):
        Spy.fitted.append(set(X.column(0)))
        self.width_ = Y.shape[1]
        return self

    def predict(self, X):
        Spy.predicted.append(set(X.column(0)))
        return np.zeros((len(X), self.width_))


def test_the_estimator_never_fits_on_rows_it_predicts():
    Spy.fitted, Spy.predicted = [], []
    rows = 30
    data = Dataset(Table.from_array(np.arange(float(rows))[:, None]), np.eye(rows, 3, dtype=np.uint8), ("a", "b", "c"))
    cross_validate(Spy(), data, folds=5)
    assert len(Spy.fitted) == 5
    for fitted, predicted in zip(Spy.fitted, Spy.predicted, strict=True):
        assert not fitted & predicted
        assert fitted | predicted == set(range(rows))


def test_no_interval_leaves_the_range_of_scores():
    result = cross_validate(DecisionTreeClassifier(max_depth=2, random_state=0), example(20), folds=3)
    intervals = [result.interval(measure) for measure in MEASURES]
    assert all(0 <= interval.low <= interval.mean <= interval.high <= 1 for interval in intervals)
    assert any(interval.high == 1 for interval in intervals), "one would have left it"


def test_names_are_written_alike_everywhere():
    result = cross_validate(DecisionTreeClassifier(random_state=0), example(), folds=2)
    scores = result.pooled
    told = (
        result.text() + scores.text(per_label=True) + str(compare_with_baseline(example().Y, example().Y, example().Y))
    )
    for wrong in ("hamming", " f1", "jaccard"):
        assert wrong not in told
    assert "micro F1" in repr(scores)
    assert repr(scores) in repr(result)
    assert "\n" not in repr(result)
