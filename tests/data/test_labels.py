import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from polyrule.data import read, to_labels
from polyrule.data.labels import require_known
from polyrule.errors import DataError

ONES = [[1, 0], [0, 1], [0, 0]]
FORMS = {
    "list": ONES,
    "int": np.array(ONES),
    "float": np.array(ONES, dtype=float),
    "bool": np.array(ONES, dtype=bool),
    "object": np.array(ONES, dtype=object),
    "text": np.array(ONES).astype(str),
    "words": [["true", "False"], ["false", "TRUE"], ["0", "0"]],
    "pandas": pd.DataFrame(ONES, columns=["y0", "y1"]),
    "categories": pd.DataFrame(ONES, columns=["y0", "y1"]).astype("category"),
    "polars": pl.DataFrame(ONES, schema=["y0", "y1"], orient="row"),
    "pyarrow": pa.Table.from_pandas(pd.DataFrame(ONES, columns=["y0", "y1"])),
    "csr_array": sp.csr_array(ONES),
    "csc_matrix": sp.csc_matrix(ONES),
    "coo with explicit zeros": sp.coo_array(([1, 1, 0], ([0, 1, 2], [0, 1, 1])), shape=(3, 2)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_labels(form):
    labels, names = to_labels(FORMS[form])
    assert names == ("y0", "y1")
    assert labels.dtype == np.uint8
    if sp.issparse(FORMS[form]):
        assert isinstance(labels, sp.csr_array)
        assert labels.nnz == 2
        labels = labels.toarray()
    np.testing.assert_array_equal(labels, ONES)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[1, 2]], "label 'y1', row 0: 2 is not 0 or 1"),
        ([[0], [np.nan]], "label 'y0', row 1: nan is not 0 or 1"),
        ([[0], [np.inf]], "row 1: inf is not"),
        ([[0], [-1]], "row 1: -1 is not"),
        ([[0], [0.5]], "row 1: 0.5 is not"),
        ([["yes please"]], "row 0: 'yes please' is not"),
        ([[None]], "row 0: None is not"),
        ([[0, 1], [1]], "different lengths"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "must be 0 or 1"),
        (sp.csr_array([[0, 3]]), "label 'y1', row 0: 3 is not"),
        (sp.csr_array([[0, np.nan]]), "label 'y1', row 0: nan is not"),
        (pd.DataFrame({"jazz": [1, None]}), "label 'jazz', row 1"),
        (pl.DataFrame({"jazz": [1, None]}), "label 'jazz', row 1: None is not"),
    ],
)
def test_other_values_are_refused_by_row_and_column(labels, message):
    with pytest.raises(DataError, match=message):
        to_labels(labels)


def test_names():
    assert to_labels(ONES, ["jazz", "calm"])[1] == ("jazz", "calm")
    assert to_labels(pd.DataFrame(ONES, columns=["a", "b"]))[1] == ("a", "b")
    assert to_labels([0, 1])[0].shape == (2, 1)
    with pytest.raises(DataError, match="1 label name"):
        to_labels(ONES, ["jazz"])
    with pytest.raises(DataError, match="label name 'a' appears twice"):
        to_labels(ONES, ["a", "a"])


def test_the_callers_sparse_matrix_is_left_alone():
    given = sp.csr_array((np.array([1, 0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    to_labels(given)
    assert given.indices.tolist() == [1, 0]
    assert given.nnz == 2


@pytest.mark.parametrize(
    ("absent", "present"),
    [
        ("no", "yes"),
        ("No", "YES"),
        ("False", "True"),
        ("N", "Y"),
        ("f", "T"),
        ("absent", "Present"),
        ("0", "1"),
        (" n ", "y"),
    ],
)
def test_labels_as_people_write_them(absent, present):
    """In a frame of any library, in an array, and in a file alike."""
    words = [absent, present, present, absent]
    wanted = [[0, 1], [1, 0], [1, 0], [0, 1]]
    columns = {"red": words, "blue": words[1:2] + words[:1] + words[3:] + words[1:2]}
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    text = "size,red,blue\n" + "".join(f"1,{','.join(row)}\n" for row in rows)
    found = [
        to_labels(pd.DataFrame(columns))[0],
        to_labels(pd.DataFrame(columns, dtype="category"))[0],
        to_labels(pl.DataFrame(columns))[0],
        to_labels(pa.table(columns))[0],
        to_labels(np.array(rows))[0],
        to_labels(rows)[0],
        read(io.BytesIO(text.encode()), labels="red,blue").Y,
    ]
    for labels in found:
        assert labels.tolist() == wanted


def test_a_label_that_is_stored_twice_is_not_unknown():
    """SciPy adds them up, to what an unknown label is written as."""
    twice = sp.coo_array(([1, 1], ([0, 0], [1, 1])), shape=(2, 2))
    for given in (twice, sp.csr_array(([1, 1], [1, 1], [0, 2, 2]), shape=(2, 2))):
        with pytest.raises(DataError, match="label 'y1', row 0: 2 is not 0 or 1"):
            to_labels(given, unknown=True)
    assert to_labels(sp.csr_array([[2, 1]]), unknown=True)[0].toarray().tolist() == [[2, 1]]


@pytest.mark.parametrize(
    ("absent", "present"), [("nein", "ja"), ("non", "oui"), ("no", "sí"), ("No", "Si"), ("não", "sim")]
)
def test_yes_and_no_in_other_languages(absent: str, present: str) -> None:
    truth, _ = to_labels([[absent], [present], [absent.upper()]])
    assert truth.ravel().tolist() == [0, 1, 0]


def test_rows_with_unknown_labels_are_named() -> None:
    truth, _ = to_labels([[1, 0], [None, 1]] * 8, unknown=True)
    with pytest.raises(DataError, match=r"missing \(rows 1, 3, 5, 7, 9 and 3 more\)"):
        require_known(truth, "a store")
