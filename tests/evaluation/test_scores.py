"""Every measure against scikit-learn's, and against sums written out by hand."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from polyrule.errors import DataError, OptionError
from polyrule.evaluation import MEASURES, score

SKLEARN = {
    "precision": metrics.precision_score,
    "recall": metrics.recall_score,
    "f1": metrics.f1_score,
    "jaccard": metrics.jaccard_score,
}


@st.composite
def label_pairs(draw, max_rows=7, max_labels=5):
    rows, labels = draw(st.integers(1, max_rows)), draw(st.integers(2, max_labels))
    bits = st.lists(st.integers(0, 1), min_size=rows * labels, max_size=rows * labels)
    return (np.array(draw(bits)).reshape(rows, labels) for _ in range(2))


@given(label_pairs(), st.sampled_from([0, 1]))
@settings(max_examples=40, deadline=None)
def test_equals_scikit_learn(pair, zero_division):
    truth, predicted = pair
    scores = score(truth, predicted, zero_division=zero_division)
    assert scores.hamming_loss == pytest.approx(metrics.hamming_loss(truth, predicted))
    assert scores.hamming_accuracy == pytest.approx(1 - metrics.hamming_loss(truth, predicted))
    assert scores.subset_accuracy == pytest.approx(metrics.accuracy_score(truth, predicted))
    for ratio, reference in SKLEARN.items():
        for ours, theirs in (("micro", "micro"), ("macro", "macro"), ("example", "samples")):
            expected = reference(truth, predicted, average=theirs, zero_division=zero_division)
            assert scores[f"{ours}_{ratio}"] == pytest.approx(expected), (ours, ratio)
        per_label = reference(truth, predicted, average=None, zero_division=zero_division)
        assert scores.per_label()[ratio] == pytest.approx(list(per_label))


@given(label_pairs())
@settings(max_examples=20, deadline=None)
def test_dense_sparse_bool_and_float_agree(pair):
    truth, predicted = pair
    expected = {name: score(truth, predicted).exact(name) for name in MEASURES}
    for convert in (sp.csr_array, sp.csc_matrix, sp.coo_array, lambda y: y.astype(bool), lambda y: y.astype(float)):
        other = score(convert(truth), convert(predicted))
        assert {name: other.exact(name) for name in MEASURES} == expected


def test_exact_fractions():
    truth = [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    predicted = [[1, 0, 0], [1, 1, 0], [0, 0, 0]]
    scores = score(truth, predicted)
    assert scores.exact("hamming_loss") == Fraction(2, 9)
    assert scores.exact("subset_accuracy") == Fraction(1, 3)
    assert scores.exact("micro_f1") == Fraction(2, 3)
    assert scores.exact("macro_precision") == (Fraction(1, 2) + 1 + 0) / 3
    assert scores.exact("example_jaccard") == (Fraction(1, 2) + Fraction(1, 2) + 0) / 3


def test_empty_label_and_empty_example():
    truth = [[1, 0, 0], [0, 0, 0], [0, 1, 0]]
    predicted = [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert score(truth, predicted).exact("macro_f1") == Fraction(1, 3)
    # the third label is nowhere present nor predicted; the second is present and missed, so it stays 0
    published = score(truth, predicted, empty_label=1)
    assert published.exact("macro_f1") == published.exact("macro_precision") == Fraction(2, 3)
    assert published.exact("micro_f1") == score(truth, predicted).exact("micro_f1")
    assert score(truth, predicted, empty_example=1).exact("example_f1") == Fraction(2, 3)
    assert "never present nor predicted counts 1" in published.text()
    assert "(0/0 counts 0.1)" in score([[1]], [[1]], zero_division=0.1).text()


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_unknown_labels_of_a_sparse_matrix_count_nowhere(form):
    truth, predicted = np.array([[1, np.nan, 0], [0, 1, 1], [np.nan, np.nan, 1]]), [[1, 1, 0], [0, 0, 1], [1, 0, 1]]
    expected = score(truth, predicted).as_dict()
    assert score(form(truth), predicted).as_dict() == expected
    assert score(form(np.where(np.isnan(truth), 2, truth).astype(np.uint8)), predicted).as_dict() == expected
    assert expected["micro_precision"] == 1


def test_labels_may_be_texts_or_missing_in_a_frame():
    frame = pd.DataFrame({"a": pd.array([True, None], dtype="boolean"), "b": [0, 1]})
    assert score(frame, [[1, 0], [1, 1]]).as_dict() == score([[1, 0], [np.nan, 1]], [[1, 0], [1, 1]]).as_dict()
    assert score(np.array([["1", "0"]]), [[1, 0]]).micro_f1 == 1


def test_large_counts_stay_exact():
    truth = np.zeros((3000, 40), dtype=np.uint8)
    truth[::2] = 1
    scores = score(truth, np.ones_like(truth))
    assert scores.exact("micro_precision") == Fraction(1, 2)
    assert scores.exact("hamming_loss") == Fraction(1, 2)


def test_frames_and_dictionary():
    scores = score([[1, 0], [0, 1]], [[1, 0], [1, 1]], label_names=["a", "b"])
    frame = scores.frame()
    assert dict(zip(frame["measure"], frame["value"], strict=True)) == scores.as_dict()
    labels = scores.frame(per_label=True)
    assert list(labels["label"]) == ["a", "b"]
    assert list(labels["fp"]) == [1, 0]
    assert set(MEASURES) <= set(dir(scores))
    assert list(scores) == list(MEASURES)


def test_survives_pickling():
    scores = score([[1, 0]], [[1, 1]])
    assert pickle.loads(pickle.dumps(scores)).as_dict() == scores.as_dict()


@pytest.mark.parametrize(
    ("truth", "predicted", "message"),
    [
        ([[1, 0]], [[1, 0], [0, 1]], r"shape \(1, 2\) but Y_pred has shape \(2, 2\)"),
        ([[1, 2]], [[1, 0]], "Y_true may hold only 0 .* found 2"),
        ([[1, 0]], [[np.nan, 0]], "Y_pred may hold only 0 .* found nan"),
        ([["yes", "no"]], [[1, 0]], "Y_true may hold only 0"),
        ([[1, 0], [0]], [[1, 0], [0, 1]], "the rows of Y_true have different lengths"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "nothing to score"),
        (np.zeros((1, 1, 1)), np.zeros((1, 1, 1)), "3 dimensions"),
        (sp.csr_array([[1.0, 3.0]]), [[1, 0]], "Y_true may hold only 0"),
    ],
)
def test_bad_labels_are_named(truth, predicted, message):
    with pytest.raises(DataError, match=message):
        score(truth, predicted)


def test_bad_options_are_named():
    with pytest.raises(OptionError, match="zero_division must be between 0 and 1"):
        score([[1]], [[1]], zero_division=2)
    with pytest.raises(DataError, match="1 label names for 2 labels"):
        score([[1, 0]], [[1, 0]], label_names=["a"])
    with pytest.raises(OptionError, match="unknown measure 'f3'"):
        score([[1, 0]], [[1, 0]])["f3"]
    with pytest.raises(AttributeError):
        _ = score([[1, 0]], [[1, 0]]).f3


def test_one_label_as_a_vector():
    scores = score([1, 0, 1], [1, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert scores.micro_f1 == pytest.approx(metrics.f1_score([1, 0, 1], [1, 1, 1]))
