import copy
import pickle

import numpy as np
import pytest
from sklearn.utils import _safe_indexing, resample

from polyrule.data.labels import LabelMatrix

NAMES = ("a", "b", "c")


@pytest.fixture
def labels():
    return LabelMatrix.of(np.arange(9, dtype=np.uint8).reshape(3, 3), NAMES)


@pytest.mark.parametrize(
    ("key", "names"),
    [
        (slice(1, 3), NAMES),
        ([2, 0], NAMES),
        (np.array([True, False, True]), NAMES),
        ((np.array([0, 1]), Ellipsis), NAMES),
        ((slice(None), slice(None)), NAMES),
        ((slice(None), [2, 0, 1]), ("c", "a", "b")),
        ((slice(None), slice(None, None, -1)), ("c", "b", "a")),
        (([0, 1], slice(0, 2)), ("a", "b")),
        ((slice(None), np.array([True, False, True])), ("a", "c")),
    ],
)
def test_selecting_keeps_the_right_names(labels, key, names):
    chosen = labels[key]
    assert chosen.names == names
    for j, name in enumerate(names):
        rows = key[0] if isinstance(key, tuple) else key
        np.testing.assert_array_equal(chosen[:, j], np.asarray(labels)[rows, NAMES.index(name)])


@pytest.mark.parametrize(
    "made",
    [
        lambda y: y.T,
        lambda y: y + y,
        lambda y: y.sum(axis=0),
        lambda y: y[:, 0],
        lambda y: y[0],
        lambda y: np.hstack([y, y]),
        lambda y: y[np.array([[0, 1], [1, 0]])],
        lambda y: y[None],
        lambda y: y.reshape(9, 1),
        lambda y: y[np.ix_([0, 1], [1, 0])],
        lambda y: y.take([0, 1], axis=1),
    ],
)
def test_anything_else_has_no_names(labels, made):
    assert getattr(made(labels), "names", None) is None


def test_what_scikit_learn_and_copies_do(labels):
    assert _safe_indexing(labels, [0, 2]).names == NAMES
    assert resample(labels, random_state=0).names == NAMES
    assert labels.copy().names == copy.deepcopy(labels).names == copy.copy(labels).names == NAMES
    assert labels.astype(float).names == NAMES
    assert labels.take([1], axis=0).names == NAMES
    back = pickle.loads(pickle.dumps(labels))
    assert back.names == NAMES
    np.testing.assert_array_equal(back, labels)
    assert pickle.loads(pickle.dumps(labels.sum(axis=0))).tolist() == [9, 12, 15]
