import numpy as np
import pytest
import scipy.sparse as sp

from polyrule.data import Feature, Table
from polyrule.data.examples import fingerprint

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


def kinds(*sizes: int) -> list[Feature]:
    named = [(f"f{j}", tuple("abcdef"[:size])) for j, size in enumerate(sizes)]
    return [Feature(name, "nominal", values) if values else Feature(name) for name, values in named]


MIXED = np.array([[0.0, 1.0, 2.0, 0.5, 0.0], [1.0, 1.0, 0.0, 1.5, np.nan], [0.0, 0.0, 5.0, np.nan, 1.0]])


@pytest.mark.parametrize(("row", "column"), [(row, column) for row in range(3) for column in range(5)])
def test_every_cell_counts_whatever_its_kind(row, column):
    features = kinds(2, 2, 6, 0, 2)
    one = fingerprint(Table.from_array(MIXED, features), Y)
    assert one == fingerprint(Table.from_array(MIXED.copy(), features), Y)
    seen = {one}
    for value in (0.0, 1.0, 3.0, np.nan):
        changed = MIXED.copy()
        changed[row, column] = value
        if not np.array_equal(changed, MIXED, equal_nan=True):
            seen.add(fingerprint(Table.from_array(changed, features), Y))
    assert len(seen) == 4 + (MIXED[row, column] not in (0.0, 1.0, 3.0) and not np.isnan(MIXED[row, column]))


def test_names_and_categories_count():
    features = kinds(2, 2, 6, 0, 2)
    swapped = [features[1], features[0], *features[2:]]
    other = [*features[:4], Feature("f4", "nominal", ("a", "z"))]
    numeric = [*features[:4], Feature("f4")]
    seen = {fingerprint(Table.from_array(MIXED, some), Y) for some in (features, swapped, other, numeric)}
    assert len(seen) == 4
