import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.data import Dataset, Feature, Table
from polyrule.errors import DataError


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_selecting_rows_is_the_same_dense_and_sparse(data):
    height, width = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 4))
    values = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=height * width, max_size=height * width))
    )
    values = values.reshape(height, width)
    rows = data.draw(
        st.lists(st.integers(0, max(height - 1, 0)), max_size=4 if height else 0).map(lambda r: np.array(r, dtype=int))
        | st.slices(height)
        | st.lists(st.booleans(), min_size=height, max_size=height).map(lambda m: np.array(m, dtype=bool))
    )
    dense, sparse = Table.from_array(values), Table.from_array(sp.csr_array(values))
    for table in (dense[rows], sparse[rows]):
        np.testing.assert_array_equal(np.asarray(table), values[rows])
        assert table.features == dense.features
    for j in range(width):
        np.testing.assert_array_equal(sparse.column(j), values[:, j])


def test_shapes_and_kinds_are_checked():
    with pytest.raises(DataError, match="2-dimensional"):
        Table.from_array([1.0, 2.0])
    with pytest.raises(DataError, match=r"2 column.s. but 1 feature description"):
        Table.from_array([[1.0, 2.0]], [Feature("a")])
    with pytest.raises(DataError, match="has no categories"):
        Feature("a", "numeric", ("x",))
    with pytest.raises(DataError, match="kind must be"):
        Feature("a", "tensor")
    assert repr(Table.from_array([[1.0]])) == "Table(1 examples x 1 features, dense)"


def test_data_sets_are_checked_and_cut():
    X = Table.from_array([[1.0], [2.0], [3.0]])
    Y = np.array([[1], [0], [1]], dtype=np.uint8)
    data = Dataset(X, Y, ("a",), "toy", ("r", "s", "t"), np.array([1.0, 2.0, 3.0]))
    assert repr(data) == "Dataset('toy': 3 examples x 1 features, 1 labels)"
    for rows, ids in ((slice(1, None), ("s", "t")), ([2, 0], ("t", "r")), (Y[:, 0] == 1, ("r", "t")), (1, ("s",))):
        part = data[rows]
        assert part.row_ids == ids
        assert [("rst".index(i) + 1.0) for i in ids] == part.weights.tolist() == part.X.column(0).tolist()
        assert part.label_names == ("a",)
    for wrong in ({"Y": Y[:2]}, {"label_names": ("a", "b")}, {"row_ids": ("r",)}, {"weights": np.ones(2)}):
        with pytest.raises(DataError, match="toy"):
            Dataset(**{"X": X, "Y": Y, "label_names": ("a",), "name": "toy", **wrong})
