import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError

from polyrule.errors import DataError
from polyrule.evaluation import MajorityClassifier, compare_with_baseline, score


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
