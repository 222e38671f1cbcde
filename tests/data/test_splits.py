import sys

import numpy as np
import pytest
import scipy.sparse as sp

from polyrule.data import Dataset, Table
from polyrule.data.results import MissingExtraError
from polyrule.data.splits import train_test_split
from polyrule.datasets import load
from polyrule.errors import DataError, OptionError


@pytest.mark.parametrize("stratified", [True, False])
def test_the_parts_make_the_whole_and_the_seed_decides(stratified):
    data = load("emotions")
    train, test = train_test_split(data, 0.25, seed=3, stratified=stratified)
    again = train_test_split(data, 0.25, seed=3, stratified=stratified)
    other = train_test_split(data, 0.25, seed=4, stratified=stratified)
    assert len(train) + len(test) == len(data)
    assert abs(len(test) / len(data) - 0.25) < 0.03
    np.testing.assert_array_equal(test.X.values, again[1].X.values)
    assert not np.array_equal(test.X.values, other[1].X.values[: len(test)])
    rows = {row.tobytes() for row in np.asarray(data.X)}
    assert {row.tobytes() for part in (train, test) for row in np.asarray(part.X)} == rows


def test_stratified_parts_have_the_labels_of_the_whole():
    data = load("emotions")
    train, test = train_test_split(data, 0.5)
    np.testing.assert_allclose(train.Y.mean(axis=0), test.Y.mean(axis=0), atol=0.02)


def test_one_label_sparse_labels_ids_and_weights():
    X = Table.from_array(np.arange(20.0).reshape(-1, 1))
    Y = sp.csr_array(np.arange(20).reshape(-1, 1) % 2)
    data = Dataset(X, Y, ("odd",), "n", tuple(map(str, range(20))), np.arange(20.0))
    train, test = train_test_split(data, 0.5)
    for part in (train, test):
        assert [float(i) for i in part.row_ids] == part.weights.tolist() == part.X.column(0).tolist()
        np.testing.assert_array_equal(part.Y.toarray().ravel(), part.X.column(0) % 2)


def test_bad_options(monkeypatch):
    data = load("emotions")
    for share in (0, 1, -1, 2):
        with pytest.raises(OptionError, match="test_share must lie between 0 and 1"):
            train_test_split(data, share)
    with pytest.raises(DataError, match="cannot be split"):
        train_test_split(data[:1])
    monkeypatch.setitem(sys.modules, "iterstrat.ml_stratifiers", None)
    with pytest.raises(MissingExtraError, match=r"install polyrule\[splits\]"):
        train_test_split(data)
