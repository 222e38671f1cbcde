import numpy as np
import pytest
import scipy.sparse as sp

from polyrule.data import Feature, Table
from polyrule.data.fingerprint import fingerprint

X = np.array([[0.0, 1.0], [2.0, np.nan]])
Y = np.array([[1, 0], [0, 1]], dtype=np.uint8)


def test_equal_data_has_an_equal_fingerprint():
    one = fingerprint(Table.from_array(X), Y)
    assert one == fingerprint(Table.from_array(X.copy(order="C")), Y.copy(order="F"))
    sparse = fingerprint(Table.from_array(sp.csr_array(X)), sp.csr_array(Y))
    assert sparse == fingerprint(Table.from_array(sp.coo_array(X)), sp.csc_array(Y))


@pytest.mark.parametrize(
    "change",
    [
        lambda: fingerprint(Table.from_array(X + 1), Y),
        lambda: fingerprint(Table.from_array(X), Y[::-1]),
        lambda: fingerprint(Table.from_array(X, [Feature("a"), Feature("b")]), Y),
        lambda: fingerprint(Table.from_array(X), Y, np.array([1, 2])),
    ],
)
def test_other_data_has_another_one(change):
    assert change() != fingerprint(Table.from_array(X), Y)
