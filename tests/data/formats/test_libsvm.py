import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from polyrule.data import read, read_chunks
from polyrule.errors import DataError, OptionError


def svm(text: str, **options):
    return read(io.BytesIO(text.encode()), **{"format": "libsvm", **options})


def test_multi_label_lines():
    data = svm("10,3 1:0.5 4:2\n3 2:1 # a remark\n# nothing\n 1:7\n2\n")
    assert data.X.is_sparse
    assert data.feature_names == ("x1", "x2", "x3", "x4")
    assert data.X.values.toarray().tolist() == [[0.5, 0, 0, 2], [0, 1, 0, 0], [7, 0, 0, 0], [0, 0, 0, 0]]
    assert data.label_names == ("2", "3", "10")
    assert data.Y.tolist() == [[0, 1, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0]]


def test_extreme_classification_header():
    data = svm("2 5 3\n0,2 0:0.5 4:2\n1 2:1\n")
    assert data.feature_names == ("x0", "x1", "x2", "x3", "x4")
    assert data.label_names == ("0", "1", "2")
    assert data.Y.tolist() == [[1, 0, 1], [0, 1, 0]]


def test_labels_given_or_ignored():
    assert svm("b,a 1:1\n", labels=["a", "b", "c"]).Y.tolist() == [[1, 1, 0]]
    assert svm("b,a 1:1\n", labels=None).Y.shape == (1, 0)
    with pytest.raises(DataError, match="line 1, column 'labels': the tag 'b' is not among the given labels"):
        svm("b,a 1:1\n", labels=["a"])


def test_a_models_features_are_picked_by_index():
    features = svm("1 1:1 3:2\n").features
    data = svm("1 3:5 4:9 2:7\n", features=features)
    assert data.X.values.toarray().tolist() == [[0, 7, 5]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:2:3 4\n", "line 1: '1:2:3' is not of the form index:value"),
        ("1 1:x\n", "line 1: '1:x' is not"),
        ("1 1:1 1:2\n", "line 1: feature index 1 appears twice"),
        ("1 1:1e999\n", "line 1: a value is too large"),
        ("1 -1:2\n", "line 1: '-1:2' is not"),
        ("1 999999999:2\n", "line 1: feature index 999999999 is larger than"),
        ("1 qid:3 1:1\n", "'qid:3' is not of the form"),
        ("2 1000000000 3\n0 0:1\n", "line 1: the header claims 1000000000 features"),
        ("2 3 1000000000\n0 0:1\n", "line 1: the header claims 1000000000 labels"),
        ("3 3 2\n0 0:1\n", "the header says 3 examples, but there are 1"),
        ("1 3 2\n0 3:1\n", "line 2: feature index 3 is out of range"),
        ("1 3 2\n7 0:1\n", "the tag '7' is not among the given labels"),
        ("", "the file is empty"),
    ],
)
def test_bad_lines(text, message):
    with pytest.raises(DataError, match=message):
        svm(text)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 4), min_size=1, unique=True),
            st.dictionaries(st.integers(1, 6), st.floats(-1e6, 1e6).filter(bool), max_size=4),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_same_as_scikit_learns_reader(rows):
    text = "".join(
        ",".join(map(str, labels)) + "".join(f" {j}:{value!r}" for j, value in sorted(pairs.items())) + "\n"
        for labels, pairs in rows
    )
    data = svm(text)
    X, Y = load_svmlight_file(io.BytesIO(text.encode()), multilabel=True, n_features=6, zero_based=False)
    width = data.X.shape[1]
    np.testing.assert_array_equal(data.X.values.toarray(), X.toarray()[:, :width])
    assert not X.toarray()[:, width:].any()
    names = sorted({int(label) for labels in Y for label in labels})
    assert data.label_names == tuple(map(str, names))
    assert [[int(data.label_names[j]) for j in np.flatnonzero(row)] for row in data.Y] == [
        sorted(map(int, labels)) for labels in Y
    ]


def test_chunks_agree_on_features_and_labels(monkeypatch):
    monkeypatch.setattr("polyrule.data.sources.BLOCK_BYTES", 8)
    text = "1 1:1\n2 3:5\n1,3 2:2\n"
    whole = svm(text)
    parts = list(read_chunks(io.BytesIO(text.encode()), format="libsvm"))
    assert len(parts) > 1
    assert {part.label_names for part in parts} == {("1", "2", "3")}
    np.testing.assert_array_equal(np.vstack([part.Y for part in parts]), whole.Y)
    np.testing.assert_array_equal(np.vstack([part.X.values.toarray() for part in parts]), whole.X.values.toarray())


def test_labels_can_be_named_in_a_text():
    data = read(io.BytesIO(b"calm,sad 1:2\nsad 2:1\n"), format="libsvm", labels="sad, calm")
    assert data.label_names == ("sad", "calm")
    assert data.Y.tolist() == [[1, 1], [1, 0]]
    with pytest.raises(OptionError, match="labels= gives the names there may be; or leave it out"):
        read(io.BytesIO(b"calm 1:2\n"), format="libsvm", labels=3)
