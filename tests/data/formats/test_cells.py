"""Columns converted at once: the same cells, numbers and errors as the csv module and Python give cell by cell."""

import csv
import io
import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polyrule.data import Feature, read
from polyrule.data.columns import parse_number
from polyrule.data.formats import cells as cells_module
from polyrule.data.formats import delimited
from polyrule.data.formats.cells import split_cells
from polyrule.errors import DataError, PolyruleError

MISSING = frozenset({"", "NA"})
ODD = ["-", ".", "5.", ".5", "1e3", "1_0", "nan", "1.2.3", "9" * 17, "0.1" + "0" * 20, "\u00a07", "-999", "2021-03-05"]
TEXTS = ["a", "b c", '"', 'x"y', "a,b", "two\nlines", "é", "x" * 70, "\0", "a\0"]
CELLS = st.sampled_from(["", "NA", " 1", "2 ", "-3.5", "+4", *ODD, *TEXTS])


def outcome(raw, **options):
    """What reading gives: names, values and categories, or the error."""
    try:
        data = read(io.BytesIO(raw), labels=None, name="data", **options)
    except PolyruleError as problem:
        return type(problem).__name__, str(problem)
    return [*data.features], np.nan_to_num(np.asarray(data.X), nan=-12345.0).tolist(), data.row_ids


def row_by_row(raw, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "split_cells", lambda *_: None)
        return outcome(raw, **options)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=12), st.sampled_from([0, 1, 2]), st.booleans())
@example([("1", "a", "x"), ("two\nlines", "b", "y"), ("3", "c", "oops")], 0, True)
def test_written_tables_read_as_row_by_row(rows, quoting, plain):
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n", quoting=quoting)
    writer.writerow(["p", "q", "r"])
    writer.writerows(rows)
    raw = stream.getvalue().encode()
    options = {} if plain else {"missing": ["-999"], "identifier": "r"}
    assert outcome(raw, **options) == row_by_row(raw, **options)


@given(st.text('a1", \n.-é', max_size=40))
@example('1,"a"b\n')
@example('1,"a""\n')
@example('1,"a\n\n,2\n')
@example("1\n")
@example("\n1,2\n\n")
def test_any_text_reads_as_row_by_row(text):
    raw = f"p,q\n{text}".encode()
    assert outcome(raw) == row_by_row(raw)


def test_numbers_are_those_of_python_to_the_last_bit():
    rng = random.Random(0)
    written = [f"{rng.uniform(-1e4, 1e4):.{digits}f}" for digits in range(15) for _ in range(300)]
    written += [str(rng.random() * 10 ** rng.randint(-300, 300)) for _ in range(300)]
    written += [
        "-0",
        "+0.0",
        "00012",
        "9007199254740993",
        "900719925474099.3",
        "123456789012345678",
        "1" * 30,
        ".5",
        "5.",
    ]
    found = split_cells("\n".join(written).encode(), ",", 1, 1, 100).numbers([0], MISSING, set())[0]
    expected = np.array([float(text) for text in written])
    assert found.tobytes() == expected.tobytes()
    plain = [text for text in written if len(text) < 12]
    assert split_cells("\n".join(plain).encode(), ",", 1, 1, 100).numbers([0], MISSING, set())[0].tolist() == [
        float(text) for text in plain
    ]


@pytest.mark.parametrize("odd", ["-", "+", ".", "1_0", "1.2.3", "0x1", "--1", "1-", "٣", "1e", "x"])
def test_what_is_no_number_is_none(odd):
    assert parse_number(odd) is None
    assert split_cells(f"1\n{odd}\n".encode(), ",", 1, 1, 100).numbers([0], MISSING, set()) == [None]


@pytest.mark.parametrize("length", [1, 5, 8, 9, 30, 64, 65, 200])
def test_distinct_texts_stand_in_the_order_of_their_first_rows(length):
    rng = random.Random(length)
    known = [f"{number:x}".rjust(length, "k") for number in rng.sample(range(16**4), 3000)] + ["NA", "NA\0"]
    written = [rng.choice(known) for _ in range(20_000)]
    column = split_cells("\n".join(written).encode(), ",", 1, 1, 1000).texts(0, MISSING)
    assert list(column) == [None if text == "NA" else text for text in written]
    assert [*column.first_rows] == [written.index("NA" if text is None else text) for text in column.texts]
    assert column[7] == list(column)[7]
    assert column[:3] == list(column)[:3]


def test_texts_that_share_buckets_are_told_apart(monkeypatch):
    monkeypatch.setattr(cells_module, "_MULTIPLIERS", np.zeros(3, dtype=np.uint64))  # all in one bucket
    column = split_cells(b"b\na\nb\nc\na\n", ",", 1, 1, 10).texts(0, MISSING)
    assert (column.texts, column.codes.tolist()) == (["b", "a", "c"], [0, 1, 0, 2, 1])


@pytest.mark.parametrize(
    "text", [b"1,2\n3\n", b"1,2\n\n3,4\n", b'1,a"b\n', b'1,"a"b\n', b'"1,2\n', b"1,2\r3\n", b"1,2,3\n4\n", b"1,22222\n"]
)
def test_odd_blocks_are_left_to_the_csv_module(text):
    assert split_cells(text, ",", 2, 1, 4) is None


def test_errors_name_the_physical_line_after_quoted_line_breaks():
    rows = b'1,"a\nb"\n2,"c\n\nd"\n3,e\noops,f\n'
    features = (Feature("size"), Feature("hue", "nominal", ("a",)))
    with pytest.raises(DataError, match="line 8, column 'size': expected a number, found 'oops'"):
        read(io.BytesIO(b"size,hue\n" + rows), labels=None, features=features)
    rows = b'1,"0\n"\n2,"1\n\n"\n3,1\n4,oops\n'
    with pytest.raises(DataError, match="line 8, column 'L': 'oops' is not a label"):
        read(io.BytesIO(b"size,L\n" + rows), labels=["L"])


def test_unknown_categories_are_counted_by_rows():
    features = (Feature("hue", "nominal", ("a",)),)
    with pytest.warns(UserWarning, match="3 values are categories that the model does not know.*'hue'"):
        data = read(io.BytesIO(b"hue\na\nb\nb\nc\n"), labels=None, features=features)
    assert np.isnan(data.X.values[:, 0]).tolist() == [False, True, True, True]
