import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError

from polyrule.data.table import Table
from polyrule.errors import DataError
from polyrule.evaluation import MEASURES, MajorityClassifier, compare_with_baseline, score, simple_predictions


def test_equals_scikit_learns_most_frequent():
    rng = np.random.default_rng(3)
    for _ in range(20):
        labels = (rng.random((9, 4)) < rng.random(4)).astype(int)
        features = np.zeros((9, 1))
        ours = MajorityClassifier().fit(features, labels).predict(features)
        assert (ours == DummyClassifier(strategy="most_frequent").fit(features, labels).predict(features)).all()


def test_a_tie_is_absent():
    assert MajorityClassifier().fit([[0], [0]], [[1, 0], [0, 0]]).prediction_.tolist() == [0, 0]


def test_sparse_labels_and_probabilities():
    model = clone(MajorityClassifier()).fit(np.zeros((4, 1)), sp.csr_array([[1, 0], [1, 0], [1, 1], [0, 0]]))
    assert model.predict_proba(np.zeros((1, 1))).tolist() == [[0.75, 0.25]]


def test_bad_input():
    with pytest.raises(DataError, match="X has 2 examples but Y has 1"):
        MajorityClassifier().fit([[0], [0]], [[1, 0]])
    with pytest.raises(DataError, match="zero examples"):
        MajorityClassifier().fit(np.zeros((0, 1)), np.zeros((0, 2)))
    with pytest.raises(NotFittedError):
        MajorityClassifier().predict([[0]])


def test_comparison_uses_training_majorities():
    train, truth, predicted = [[1, 0], [1, 0], [1, 1]], [[0, 1], [1, 1]], [[0, 1], [1, 1]]
    comparison = compare_with_baseline(train, truth, predicted)
    assert comparison.baseline.as_dict() == score(truth, [[1, 0], [1, 0]]).as_dict()
    assert comparison.not_better == ()
    assert comparison.warning is None
    gains = dict(zip(comparison.frame()["measure"], comparison.frame()["gain"], strict=True))
    assert gains["hamming_loss"] == pytest.approx(0.75)
    assert gains["hamming_accuracy"] == pytest.approx(0.75)


def test_a_model_that_fails_somewhere_is_told_where():
    train, truth = [[0, 0]] * 3, [[0, 0], [0, 0], [1, 0]]
    comparison = compare_with_baseline(train, truth, [[1, 1], [1, 1], [1, 1]])
    assert "hamming_accuracy" in comparison.not_better
    assert "micro_f1" not in comparison.not_better
    assert "Hamming accuracy (0.167 against 0.833)" in comparison.text()


def test_simple_models_that_know_the_features_stand_beside_the_majority():
    rng = np.random.default_rng(3)
    X = Table.from_array(rng.normal(size=(80, 3)))
    Y = np.column_stack([X.column(0) > 0, X.column(1) > 0.8, rng.random(80) < 0.1]).astype(np.uint8)
    predicted = Y.copy()
    predicted[:40, 1] = 0
    without = compare_with_baseline(Y[:50], Y[50:], predicted[50:])
    comparison = compare_with_baseline(Y[:50], Y[50:], predicted[50:], tables=(X[:50], X[50:]))
    assert without.others == {}
    assert list(comparison.simple) == ["majority", "label set", "one rule per label"]
    expected = simple_predictions(X[:50], Y[:50], X[50:])
    for name, scores in comparison.others.items():
        assert scores.as_dict() == score(Y[50:], expected[name]).as_dict()
    assert comparison.baseline.as_dict() == without.baseline.as_dict()
    for name in MEASURES:
        values = [scores[name] for scores in comparison.simple.values()]
        best = min(values) if name == "hamming_loss" else max(values)
        assert comparison.simple[comparison.strongest(name)][name] == best
    assert list(comparison.frame().columns[1:-1]) == ["model", "baseline", "label set", "one rule per label"]
    assert "one rule" in comparison.text()


def test_a_model_that_a_rule_per_label_beats_is_named():
    X = Table.from_array(np.arange(8.0)[:, None])
    Y = (np.arange(8) >= 4).astype(np.uint8)[:, None]
    wrong = 1 - Y
    warning = compare_with_baseline(Y, Y, wrong, tables=(X, X)).warning
    assert warning == "the model is no better than a simple model anywhere"
    half = Y.copy()
    half[4] = 0
    warning = compare_with_baseline(Y, Y, half, tables=(X, X)).warning
    assert warning is not None
    assert warning.startswith("the model is no better than a simple model")


def test_simple_models_leave_out_labels_that_are_not_known():
    table = Table.from_array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    known = np.array([[1.0, 0], [np.nan, 0], [np.nan, 0], [0, 1], [0, 1]])
    filled = np.where(np.isnan(known), 1, known)
    comparison = compare_with_baseline(known, filled, filled, tables=(table, table))
    assert (
        comparison.others["label set"]["subset_accuracy"] == 2 / 5
    )  # of complete label sets, the second alone is most
