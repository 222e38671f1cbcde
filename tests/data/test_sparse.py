"""Sparse matrices whose index arrays lie are refused before compiled code follows them."""

import numpy as np
import pytest
import scipy.sparse as sp

from polyrule import Dataset, RuleListClassifier, Table
from polyrule.data.sparse import check_sparse
from polyrule.errors import DataError
from polyrule.evaluation.confusion import label_matrix

RANDOM = np.random.default_rng(0)
X = (RANDOM.random((30, 4)) < 0.5) * RANDOM.random((30, 4))
Y = (RANDOM.random((30, 3)) < 0.4).astype(np.uint8)
DAMAGE = [
    ("indices", 3, 10**6),
    ("indices", 3, -5),
    ("indptr", 2, 10**6),
    ("indptr", 2, -3),
    ("indptr", -1, 10**6),
    ("indptr", 0, 5),
]


def damaged(make, attribute, position, value, values=X):
    matrix = make(values)
    array = getattr(matrix, attribute).copy()
    array[position] = value
    setattr(matrix, attribute, array)
    return matrix


@pytest.mark.parametrize("make", [sp.csc_matrix, sp.csr_matrix, sp.csc_array, sp.csr_array, sp.bsr_array])
@pytest.mark.parametrize("damage", DAMAGE)
def test_fit_refuses_indices_that_lie(make, damage):
    matrix = damaged(make, *damage)
    with pytest.raises(DataError, match="X is a broken sparse matrix"):
        RuleListClassifier(max_rules=2).fit(matrix, Y)
    with pytest.raises(DataError, match="broken sparse matrix"):
        Table.from_array(matrix)


@pytest.mark.parametrize("make", [sp.csc_matrix, sp.csr_array])
def test_predict_refuses_them_too(make):
    fitted = RuleListClassifier(max_rules=2).fit(sp.csc_array(X), Y)
    matrix = damaged(make, "indices", 3, 10**6)
    for predict in (fitted.predict, fitted.rules_.predict, fitted.predict_proba):
        with pytest.raises(DataError, match="broken sparse matrix"):
            predict(matrix)


def test_labels_that_lie():
    matrix = damaged(sp.csr_array, "indices", 0, 10**6, Y)
    with pytest.raises(DataError, match="Y is a broken sparse matrix"):
        RuleListClassifier(max_rules=2).fit(X, matrix)
    with pytest.raises(DataError, match="broken sparse matrix"):
        RuleListClassifier(max_rules=2).fit(X, Y).score(X, matrix)
    with pytest.raises(DataError, match="broken sparse matrix"):
        Dataset(Table.from_array(X), matrix, ("a", "b", "c"))
    with pytest.raises(DataError, match="broken sparse matrix"):
        label_matrix(matrix, "truth")


def test_coordinates_that_lie():
    matrix = sp.coo_matrix(X)
    matrix.row = matrix.row.copy()
    matrix.row[0] = 99
    with pytest.raises(DataError, match="row index 99, but there are 30 rows"):
        check_sparse(matrix)


@pytest.mark.parametrize("make", [sp.lil_array, sp.dok_array, sp.dia_array, sp.coo_array, sp.bsr_array, sp.csr_matrix])
def test_honest_matrices_of_every_format_pass(make):
    np.testing.assert_array_equal(check_sparse(make(X)).toarray(), X)


def test_a_table_is_csc():
    with pytest.raises(DataError, match="needs a csc_array, got csr"):
        Table(sp.csr_array(X), Table.from_array(X).features)
