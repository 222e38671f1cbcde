import numpy as np
import pytest
import scipy.sparse as sp

from polyrule.data.dataset import Dataset
from polyrule.data.splits import make_folds
from polyrule.data.table import Table
from polyrule.errors import OptionError


@pytest.mark.parametrize("stratified", [True, False])
@pytest.mark.parametrize("labels", [1, 5])
def test_every_row_is_tested_once_and_never_trained_on_then(stratified, labels):
    Y = (np.random.default_rng(0).random((53, labels)) < 0.3).astype(np.uint8)
    folds = make_folds(Y, 7, seed=3, stratified=stratified)
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(53))
    for train, test in folds:
        assert not set(train) & set(test)
        assert len(train) + len(test) == 53


def test_seeded():
    Y = (np.random.default_rng(0).random((40, 3)) < 0.3).astype(np.uint8)
    same = [make_folds(Y, 4, seed=1), make_folds(Y, 4, seed=1)]
    assert all((a[1] == b[1]).all() for a, b in zip(*same, strict=True))
    assert any((a[1].tolist() != b[1].tolist()) for a, b in zip(same[0], make_folds(Y, 4, seed=2), strict=True))


def test_stratified_spreads_a_rare_label():
    Y = np.zeros((60, 3), dtype=np.uint8)
    Y[:6, 0] = 1
    Y[:30, 1] = 1
    for _, test in make_folds(sp.csr_array(Y), 6):
        assert Y[test, 0].sum() == 1
        assert Y[test, 1].sum() == 5


def test_bad_number_of_folds():
    for folds in (1, 6):
        with pytest.raises(OptionError, match="between 2 and the number of examples"):
            make_folds(np.eye(5), folds)


def test_take_rows_keeps_everything_together():
    data = Dataset(
        Table.from_array([[1.0], [2.0], [3.0]]),
        sp.csr_array([[1, 0], [0, 1], [1, 1]]),
        ("a", "b"),
        row_ids=("x", "y", "z"),
        weights=np.array([1.0, 2.0, 3.0]),
    )
    part = data[[2, 0]]
    assert part.X.column(0).tolist() == [3.0, 1.0]
    assert part.Y.toarray().tolist() == [[1, 1], [1, 0]]
    assert part.row_ids == ("z", "x")
    assert part.weights.tolist() == [3.0, 1.0]
