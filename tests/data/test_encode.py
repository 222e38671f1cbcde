import datetime
import io
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule import RuleListClassifier
from polyrule.data import Dataset, Feature, Table, frames, integer_weights, read, to_table
from polyrule.data.encode import read_target
from polyrule.errors import DataError, UnseenCategoryWarning

NAN = float("nan")


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "count": pd.array([1, None, 3], dtype="Int64"),
            "text": ["x", None, "y"],
            "declared": pd.Categorical(["u", "v", "u"], categories=["v", "u", "w"]),
            "flag": [True, False, True],
            "size": [1.5, NAN, 2.0],
        }
    )


FRAMES = {
    "pandas": frame,
    "pandas-pyarrow": lambda: frame().convert_dtypes(dtype_backend="pyarrow").assign(declared=frame()["declared"]),
    "polars": lambda: pl.from_pandas(frame()).with_columns(pl.col("declared").cast(pl.Enum(["v", "u", "w"]))),
    "pyarrow": lambda: pa.Table.from_pandas(frame()),
}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_give_the_same_table_whatever_the_library(library):
    table = to_table(FRAMES[library]())
    assert table.features == (
        Feature("count"),
        Feature("text", "nominal", ("x", "y")),
        Feature("declared", "nominal", ("v", "u", "w")),
        Feature("flag", "nominal", ("False", "True")),
        Feature("size"),
    )
    expected = [[1, 0, 1, 1, 1.5], [NAN, NAN, 0, 0, NAN], [3, 1, 1, 1, 2]]
    np.testing.assert_array_equal(table.values, expected)
    assert table.values.flags.f_contiguous


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_at_prediction_is_matched_by_name_and_unknown_categories_are_missing(library):
    features = to_table(frame()).features
    given_frame = FRAMES[library]()
    names = list(given_frame.columns if library != "pyarrow" else given_frame.column_names)[::-1]
    reordered = given_frame.select(names) if library in ("polars", "pyarrow") else given_frame[names]
    table = to_table(reordered, features)
    assert table.features == features
    np.testing.assert_array_equal(table.values, to_table(frame()).values)
    unseen = pd.DataFrame({"count": [1], "text": ["z"], "declared": ["w"], "flag": [False], "size": [0.0]})
    with pytest.warns(UnseenCategoryWarning, match=r"1 value is a category .* 1 in 'text' \('z'\)"):
        np.testing.assert_array_equal(to_table(unseen, features).values, [[1, NAN, 2, 0, 0]])


def test_polars_categorical_is_sorted_because_its_order_is_that_of_the_rows():
    one = to_table(pl.DataFrame({"c": pl.Series(["b", "a"], dtype=pl.Categorical)}))
    assert one.features[0].categories == ("a", "b")


BAD_FRAMES = {
    "time": (pd.DataFrame({"x": [datetime.time(10)]}), "column 'x', row 0: time values"),
    "struct": (pl.DataFrame({"s": [{"a": 1}]}), "column 's' holds Struct"),
    "lazy": (pl.DataFrame({"a": [1]}).lazy(), "collect"),
    "series": (pd.Series([1, 2], name="a"), "2-dimensional|single column"),
    "duplicate": (pd.DataFrame([[1, 2]], columns=["a", "a"]), "column names must be distinct"),
    "duplicate text": (pd.DataFrame([[1, 2]], columns=[0, "0"]), "column name '0' appears twice"),
    "infinite": (pd.DataFrame({"x": [1, np.inf]}), "column 'x', row 1: the value is infinite"),
    "mixed": (
        pd.DataFrame({"x": np.array([1, "a"], dtype=object)}),
        "column 'x' mixes numbers .row 0. and text .row 1.",
    ),
    "complex": (pd.DataFrame({"x": [1j]}), "column 'x', row 0: complex values"),
    "dict": (pd.DataFrame({"x": [{"a": 1}]}), "column 'x', row 0: dict values"),
}


@pytest.mark.parametrize("case", BAD_FRAMES)
def test_unusable_frames_are_refused_by_name(case):
    data, message = BAD_FRAMES[case]
    with pytest.raises(DataError, match=message):
        to_table(data)


def test_columns_missing_and_unexpected_are_named():
    features = (Feature("a"), Feature("b"))
    with pytest.raises(DataError, match="missing 'b'; not expected 'c'"):
        to_table(pd.DataFrame({"a": [1], "c": [2]}), features)
    with pytest.raises(DataError, match=r"X has 1 column.s., but the model was fitted on 2"):
        to_table([[1]], features)


@pytest.mark.parametrize("name", ["a-b", "0", "x y", "größe λ", "é" * 10_000, "", " "])
def test_odd_names_are_names_like_any_other(name):
    assert to_table(pd.DataFrame({name: [1]})).feature_names == (name,)


def test_arrays_and_lists():
    assert to_table(np.arange(6).reshape(3, 2)).feature_names == ("x0", "x1")
    mixed = to_table([[1, "red"], [2, "blue"], [None, "red"]])
    assert [feature.kind for feature in mixed.features] == ["numeric", "nominal"]
    np.testing.assert_array_equal(mixed.values, [[1, 1], [2, 0], [NAN, 1]])
    assert to_table(np.array([["a", "b"]])).features[1] == Feature("x1", "nominal", ("b",))
    assert to_table(np.array([[True], [False]])).features[0].categories == ("False", "True")
    objects = to_table(np.array([[1, None], [2.5, None]], dtype=object))
    assert not any(feature.is_nominal for feature in objects.features)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1, 2], "Reshape your data"),
        ([[1, 2], [3]], "different lengths"),
        (np.array([[1j]]), "Complex data not supported"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "datetime64"),
        (np.zeros((2, 2, 2)), "3 dimension"),
        (5, "0 dimension"),
        (None, "0 dimension"),
    ],
)
def test_unusable_arrays(data, message):
    with pytest.raises(DataError, match=message):
        to_table(data)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_stays_sparse_and_the_callers_matrix_is_left_alone(layout, kind):
    dense = np.array([[0, 1.5, 0], [2, 0, 0]])
    given = getattr(sp, f"{layout}_{kind}")(dense)
    table = to_table(given)
    assert table.is_sparse
    assert isinstance(table.values, sp.csc_array)
    np.testing.assert_array_equal(table.values.toarray(), dense)


def test_unsorted_sparse_input_is_not_sorted_in_place():
    given = sp.csc_array((np.array([1.0, 2.0, 0.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(3, 1))
    table = to_table(given)
    assert given.indices.tolist() == [2, 0, 1]
    assert table.values.indices.tolist() == [0, 2]


def test_sparse_infinity_is_found():
    with pytest.raises(DataError, match="column 'x1', row 2"):
        to_table(sp.csr_array(np.array([[0, 0], [1, 0], [0, np.inf]])))


def test_pandas_sparse_columns_stay_sparse():
    columns = {"a": [0.0, 1.0], "b": [0.0, 0.0]}
    frame = pd.DataFrame({name: pd.arrays.SparseArray(cells, fill_value=0) for name, cells in columns.items()})
    table = to_table(frame)
    assert table.is_sparse
    assert table.feature_names == ("a", "b")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_nominal_sparse_columns_encode_like_dense_ones(data):
    """Stored or not, a number means the category written with that number."""
    categories = data.draw(st.permutations(["0", "1", "2"]))[: data.draw(st.integers(1, 3))]
    features = (Feature("n"), Feature("c", "nominal", tuple(categories)))
    cells = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=6))
    said = []
    for matrix in (np.array(cells, dtype=float), sp.csr_array(np.array(cells, dtype=float))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            said.append((to_table(matrix, features), [str(w.message).partition("(")[0] for w in caught]))
    (dense, told), (sparse, told_sparse) = said
    unknown = sum(str(c) not in categories for _, c in cells)
    assert told == told_sparse
    assert [f" {unknown} in 'c'" in text for text in told] == [True] * bool(unknown)
    np.testing.assert_array_equal(dense.values, sparse.values.toarray())
    slow = [[n, categories.index(str(c)) if str(c) in categories else NAN] for n, c in cells]
    np.testing.assert_array_equal(dense.values, slow)


def test_numbers_for_text_categories_and_text_for_numbers_are_refused():
    hue = Feature("hue", "nominal", ("blue", "red"))
    with pytest.raises(DataError, match="'hue' is nominal with values 'blue', 'red', but numbers were given"):
        to_table([[1.0]], (hue,))
    with pytest.raises(DataError, match="column 'size', row 1: expected a number, got 'big'"):
        to_table([[1.0], ["big"]], (Feature("size"),))
    assert to_table([[1], [0]], (Feature("flag", "nominal", ("False", "True")),)).values.tolist() == [[1], [0]]


def test_tables_are_brought_to_other_features():
    table = to_table(pd.DataFrame({"hue": ["red", "blue"], "size": [1, 2]}))
    features = (Feature("size"), Feature("hue", "nominal", ("red", "green", "blue")))
    assert to_table(table, table.features) is table
    np.testing.assert_array_equal(to_table(table, features).values, [[1, 0], [2, 2]])
    data = Dataset(table, np.zeros((2, 1), dtype=np.uint8), ("y",))
    assert to_table(data) is table
    sparse = Table.from_array(sp.csc_array(table.values), table.features)
    np.testing.assert_array_equal(to_table(sparse, features).values.toarray(), [[1, 0], [2, 2]])


def test_the_order_of_the_rows_does_not_change_the_features():
    rows = [["b", 1], ["a", 2], ["c", 3]]
    assert to_table(rows).features == to_table(rows[::-1]).features


def test_a_whole_number_too_large_for_a_float_is_infinite():
    table = to_table(pd.DataFrame({"a": [1, 2]}))
    with pytest.raises(DataError, match="column 'a', row 1: the value is infinite"):
        to_table(pd.DataFrame({"a": [1, 10**400]}, dtype=object), table.features)
    with pytest.raises(DataError, match="column 'a', row 0: the value is infinite"):
        to_table(pd.DataFrame({"a": [-(10**400), 1]}, dtype=object))


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("cells", [1, 7, 1 << 20])
def test_columns_of_numbers_read_together_are_those_read_one_by_one(library, cells, monkeypatch):
    rng = np.random.default_rng(cells)
    columns = {
        f"{dtype}_{k}": (100 * rng.normal(size=11)).astype(dtype)
        for k in range(2)
        for dtype in ("float64", "int64", "float32", "int8", "uint16", "uint64")
    }
    columns["float64_1"][3] = np.nan
    columns["uint64_0"][0] = 2**64 - 2**11
    frame = pd.DataFrame(columns)
    frame.insert(3, "hue", ["red", "blue", None, *["red"] * 8])
    frame["count"] = pd.array([1, None, 3, *[4] * 8], dtype="Int64")
    given_as = frame if library == "pandas" else pytest.importorskip("polars").from_pandas(frame)
    monkeypatch.setattr(frames, "_READ_CELLS", cells)
    together = to_table(given_as)
    monkeypatch.setattr(frames, "_plain_numbers", lambda frame, positions: {})
    one_by_one = to_table(given_as)
    assert together.features == one_by_one.features
    assert together.values.dtype == one_by_one.values.dtype
    assert np.array_equal(together.values, one_by_one.values, equal_nan=True)
    again = to_table(given_as[list(given_as.columns)[::-1]], together.features)
    assert np.array_equal(again.values, together.values, equal_nan=True)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_an_infinite_number_among_many_columns_is_named(library, monkeypatch):
    monkeypatch.setattr(frames, "_READ_CELLS", 4)
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 2.0, np.inf, 4.0], "c": [1, 2, 3, 4]})
    given_as = frame if library == "pandas" else pytest.importorskip("polars").from_pandas(frame)
    with pytest.raises(DataError, match="column 'b', row 2: the value is infinite"):
        to_table(given_as)


def test_a_frame_of_narrow_numbers_stays_narrow():
    frame = pd.DataFrame({"a": np.arange(3, dtype=np.int8), "b": np.ones(3, dtype=np.float32), "c": ["x", "y", "x"]})
    assert to_table(frame).values.dtype == np.float32
    assert to_table(frame.astype({"a": "int32"})).values.dtype == np.float64


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.float32, np.float64])
def test_a_category_that_a_model_lacks_is_missing_in_a_table_of_any_type(kind):
    given = Table(np.array([[0], [1]], dtype=kind), (Feature("hue", "nominal", ("red", "teal")),))
    with pytest.warns(UnseenCategoryWarning):
        found = to_table(given, (Feature("hue", "nominal", ("red",)),))
    assert np.array_equal(np.asarray(found), [[0.0], [np.nan]], equal_nan=True)


def test_a_boolean_feature_is_found_in_a_file_that_writes_0_and_1():
    model = to_table(pd.DataFrame({"sick": [True, False]})).features
    given = read(io.BytesIO(b"sick,red\n1,0\n0,1\nTrue,0\n"), labels=["red"], features=model)
    assert given.X.column(0).tolist() == [1.0, 0.0, 1.0]


def test_a_sparse_frame_may_not_hold_infinite_numbers():
    sparse = pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, np.inf]}).astype(pd.SparseDtype(float, 0.0))
    with pytest.raises(DataError, match="column 'b', row 1: the value is infinite"):
        to_table(sparse)


def test_what_is_masked_is_missing():
    """NumPy and scikit-learn show what is behind the mask."""
    masked = np.ma.masked_array([[1, 2], [3, 4], [5, 6], [7, 8]], mask=[[True, False], *[[False, False]] * 3])
    assert np.isnan(np.asarray(to_table(masked))[0, 0])
    words = np.ma.masked_array(np.array([["a"], ["b"]]), mask=[[False], [True]])
    assert to_table(words).features[0].categories == ("a",)
    y = np.ma.masked_array([[0], [1], [0], [1]], mask=[[False], [True], [False], [False]])
    assert read_target(y).truth.tolist() == [[0], [2], [0], [1]]
    learned = RuleListClassifier(teacher=None).fit(masked, [0, 1, 0, 1]).model_
    assert (
        learned.rules
        == RuleListClassifier(teacher=None).fit(masked.astype(float).filled(np.nan), [0, 1, 0, 1]).rules_.rules
    )
    with pytest.raises(DataError, match="row 1: nan is not a weight"):
        integer_weights(np.ma.masked_array([1, 2], mask=[False, True]), 2)


@pytest.mark.parametrize(
    "y", [["a", None], pd.Series(["a", None], dtype="string"), [1, None], pd.Series(["a", np.nan])]
)
def test_a_class_that_is_missing_is_told(y):
    with pytest.raises(DataError, match="y, row 1: the class is missing"):
        read_target(y)


def test_the_row_numbers_of_a_shuffled_frame_are_no_feature(tmp_path):
    """Pandas writes them as a column; rules on them would be learned."""
    frame = pd.DataFrame({"size": [3.0, 1.0, 2.0], "red": [1, 0, 1]}, index=[7, 0, 3])
    frame.to_parquet(tmp_path / "songs.parquet")
    arrow = pa.Table.from_pandas(frame)
    assert arrow.column_names == ["size", "red", "__index_level_0__"]
    assert read(tmp_path / "songs.parquet", labels="last:1").feature_names == ("size",)
    for shown in (arrow, pl.from_arrow(arrow)):
        assert to_table(shown).feature_names == ("size", "red")
        learned = RuleListClassifier(teacher=None).fit(shown, labels=["red"])
        assert learned.feature_names_in_.tolist() == ["size"]
        assert learned.predict(shown).tolist() == learned.predict(frame).tolist()


def test_a_batch_of_arrow_keeps_its_names():
    whole = pa.table({"size": [1.0, 2.0, 3.0], "hue": ["b", "a", None]})
    found = to_table(whole.to_batches()[0])
    assert found.features == to_table(whole).features
    assert to_table(whole.select(["hue", "size"]).to_batches()[0], found.features).column(0).tolist() == [1.0, 2.0, 3.0]


def test_a_table_with_dates_where_a_model_has_numbers_is_told():
    """And the other way round: the days were taken for places in a list."""
    days = Table.from_array([[18691.0], [np.nan]], [Feature("on", "date")])
    with pytest.raises(DataError, match="column 'on' held numbers when the model was fitted, but dates were given"):
        to_table(days, [Feature("on")])
    numbers = Table.from_array([[2021.0], [np.nan]], [Feature("on")])
    with pytest.raises(DataError, match="column 'on' held dates when the model was fitted, but numbers were given"):
        to_table(numbers, [Feature("on", "date")])


@pytest.mark.parametrize(("given", "told"), [("a.csv", "'a.csv'"), (None, "NoneType"), (object(), "object")])
def test_what_is_no_table_at_all_is_told_by_what_it_is(given, told):
    with pytest.raises(DataError, match=f"X must be .* this has 0 dimensions: {told}$"):
        to_table(given)


def test_a_feature_without_categories_may_say_so_by_none():
    assert Feature("size", "numeric", None).categories == ()
