"""ARFF: the traps one by one, then random files against a slow, obvious writer."""

import io

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polyrule.data import Feature, read
from polyrule.errors import DataError

NAN = float("nan")


def arff(body: str, header: str = "@attribute a {x,y}\n@attribute n numeric\n@attribute L {0,1}", **options):
    text = f"@relation test\n{header}\n@data\n{body}"
    return read(io.BytesIO(text.encode()), **{"labels": ["L"], **options})


def dense(data):
    return data.X.values.toarray() if data.X.is_sparse else data.X.values


def test_a_plain_file():
    data = arff("x,1.5,0\ny,?,1\n")
    assert data.features == (Feature("a", "nominal", ("x", "y")), Feature("n"))
    np.testing.assert_array_equal(data.X.values, [[0, 1.5], [1, NAN]])
    assert data.Y.tolist() == [[0], [1]]
    assert data.label_names == ("L",)


def test_escaped_quotes_in_names_and_values():
    header = r"""@attribute 'Swainson\'s Thrush' {'it\'s', "a \"b\"", 'c\\d'}""" + "\n@attribute L {0,1}"
    data = arff(r"'it\'s',0" + "\n" + r'"a \"b\"",1' + "\n" + r"'c\\d',1", header)
    assert data.features == (Feature("Swainson's Thrush", "nominal", ("it's", 'a "b"', "c\\d")),)
    assert data.X.values.ravel().tolist() == [0, 1, 2]


def test_comments_blank_lines_and_line_ends():
    text = "% top\r\n@RELATION r\r\n\r\n@Attribute a REAL % unit: m\r\n@attribute L {0,1}\r\n% body\r\n@DATA\r\n"
    body = "1,0\r\n\r\n  % nothing\r\n2,1 % last\r\n"
    data = read(io.BytesIO((text + body).encode()), labels="L")
    assert data.X.values.ravel().tolist() == [1, 2]
    old_mac = (text + body).replace("\r\n", "\r").encode()
    assert read(io.BytesIO(old_mac), labels="L").X.values.ravel().tolist() == [1, 2]


def test_values_with_spaces_commas_percent_and_braces():
    header = "@attribute a {'New York','a, b','50 % {off}','?'}\n@attribute L {0,1}"
    data = arff("'New York',0\n'a, b',0\n'50 % {off}',1\n'?',1\n?,0\n", header)
    np.testing.assert_array_equal(data.X.values.ravel(), [0, 1, 2, 3, NAN])
    sparse = arff("{0 'a, b',1 1}\n{0 '50 % {off}'}\n{}\n{0 '?'}\n{0 ?}\n", header)
    np.testing.assert_array_equal(dense(sparse).ravel(), [1, 2, 0, 3, NAN])
    assert sparse.Y.ravel().tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("name", ["-", "/", "0", "0;", "don't", "größe", "a:b"])
def test_odd_unquoted_names(name):
    assert arff("1,0\n", f"@attribute {name} numeric\n@attribute L {{0,1}}").feature_names == (name,)


def test_omitted_sparse_values_are_zero_or_the_first_category():
    header = "@attribute a {x,y,z}\n@attribute n numeric\n@attribute b {1,0}\n@attribute L {0,1}\n@attribute M {1,0}"
    data = arff("{1 2.5, 0 z}\n{}\n{2 0,3 1,4 0}\n", header, labels=["L", "M"])
    assert data.X.is_sparse
    np.testing.assert_array_equal(dense(data), [[2, 2.5, 0], [0, 0, 0], [0, 0, 1]])
    assert data.Y.tolist() == [[0, 1], [0, 1], [1, 0]]


def test_sparse_indices_may_come_in_any_order_but_once():
    header = "@attribute a numeric\n@attribute b numeric\n@attribute L {0,1}"
    assert dense(arff("{1 2, 0 1}\n", header)).tolist() == [[1, 2]]
    with pytest.raises(DataError, match="line 7: index 0 appears twice"):
        arff("{0 1}\n{0 1, 1 2, 0 3}\n", header)
    with pytest.raises(
        DataError, match=r"line 6: index 3 is out of range; the header declares 3 attributes \(0 to 2\)"
    ):
        arff("{3 1}\n", header)


def test_dense_and_sparse_rows_may_be_mixed():
    header = "@attribute a {x,y}\n@attribute n numeric\n@attribute L {0,1}\n@attribute M {1,0}"
    data = arff("y,1.5,1,0\n{1 2}\nx,?,0,1\n", header, labels=["L", "M"])
    assert data.X.is_sparse
    np.testing.assert_array_equal(dense(data), [[1, 1.5], [0, 2], [0, NAN]])
    assert data.Y.tolist() == [[1, 0], [0, 1], [0, 1]]


def test_example_weights():
    assert arff("x,1,0, {2.5}\ny,2,1\n").weights.tolist() == [2.5, 1]
    assert arff("{1 2}, {0.5}\n{}\n").weights.tolist() == [0.5, 1]
    assert arff("x,1,0\n").weights is None
    with pytest.raises(DataError, match="line 6: a brace at the end of a row must hold an example weight"):
        arff("x,1,0, {heavy}\n")
    with pytest.raises(DataError, match="line 6: an example weight must be"):
        arff("x,1,0, {-1}\n")


def test_another_way_to_write_a_declared_number_is_understood():
    header = "@attribute a {1,2}\n@attribute L {0,1}"
    assert arff("2.0,0\n1,1\n", header).X.values.ravel().tolist() == [1, 0]
    assert arff("2.0,0\n1,1 % careful path\n", header).X.values.ravel().tolist() == [1, 0]


@pytest.mark.parametrize(
    ("header", "body", "message"),
    [
        ("@attribute d date 'yyyy'\n@attribute L {0,1}", "2000,0", "expected a date such as 2021-03-05, found '2000'"),
        ("@attribute s string\n@attribute L {0,1}", "abc,0", "column 's' holds free text"),
        ("@attribute r relational\n@attribute L {0,1}", "", "column 'r' holds relational values"),
        ("@attribute a {x,x}\n@attribute L {0,1}", "", "line 2: attribute 'a' declares the value 'x' twice"),
        ("@attribute a {x,\n@attribute L {0,1}", "", "line 2: the values of attribute 'a' do not end"),
        ("@attribute a fancy\n@attribute L {0,1}", "", "line 2: attribute 'a' has no known type"),
        ("@attribute\n@attribute L {0,1}", "", "line 2: the attribute has no name"),
        ("@attribute 'a numeric\n@attribute L {0,1}", "", "line 2: a quote is opened but not closed"),
        ("what is this\n@attribute L {0,1}", "", "line 2: expected @relation, @attribute or @data"),
    ],
)
def test_bad_headers(header, body, message):
    with pytest.raises(DataError, match=message):
        arff(body, header)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x,1,0\nx,1\n", "line 7: 2 values, but the header declares 3 attributes"),
        ("x,1,0,5\n", "line 6: 4 values"),
        ("x,one,0\n", "line 6, column 'n': expected a number, found 'one'"),
        ("x,1e999,0\n", "line 6, column 'n': the value is infinite"),
        ("x,inf,0\n", "line 6, column 'n': the value is infinite"),
        ("x,1_0,0\n", "expected a number, found '1_0'"),
        ("x,,0\n", "expected a number, found ''"),
        ("z,1,0\n", "line 6, column 'a': 'z' is not one of the declared values 'x', 'y'"),
        ("x,1,2\n", "line 6, column 'L': '2' is not a label"),
        ("x,1,'0\n", "line 6: a quote is opened but not closed"),
        ("'x' y,1,0\n", "line 6: text follows the closing quote"),
        ("{0 y\n", "line 6: the sparse row does not end"),
        ("{0}\n", "line 6: index 0 has no value"),
        ("{y 1}\n", "line 6: expected 'index value'"),
        ("{0 z}\n", "line 6, column 'a': 'z' is not one of the declared values"),
        ("{99999999999999999999 1}\n", "line 6: expected 'index value'"),
        ("{-1 1}\n", "line 6: expected 'index value'"),
    ],
)
def test_bad_rows_name_line_and_column(body, message):
    with pytest.raises(DataError, match=message):
        arff(body)


@pytest.mark.parametrize("body", ["1,0\n2,2\n", "{0 1}\n{0 2,1 2}\n"])
def test_bad_labels_on_the_fast_path_name_their_line(body):
    with pytest.raises(DataError, match="line 6, column 'L': '2' is not a label"):
        arff(body, "@attribute n numeric\n@attribute L {0,1}")


def test_a_file_without_data_line_or_rows():
    with pytest.raises(DataError, match="no @data line"):
        read(io.BytesIO(b"@relation r\n@attribute a numeric\n"), labels=None)
    with pytest.raises(DataError, match="declares no attributes"):
        read(io.BytesIO(b"@relation r\n@data\n"), labels=None)
    assert len(arff("")) == 0


@pytest.mark.parametrize(("option", "labels"), [("-C 2", ("a", "b")), ("-C -1", ("d",)), ("-c 1", ("a",))])
def test_meka_says_how_many_labels(option, labels):
    names = "".join(f"@attribute {name} {{0,1}}\n" for name in "abcd")
    data = read(io.BytesIO(f"@relation 'music: {option}'\n{names}@data\n0,1,0,1\n".encode()))
    assert data.label_names == labels


def test_meka_options_that_cannot_be_trusted():
    names = "".join(f"@attribute {name} {{0,1}}\n" for name in "abcd")
    filtered = f"@relation 'M: -C 2 -I 0-weka.filters.unsupervised.attribute.Remove-R1'\n{names}@data\n0,1,0,1\n"
    with pytest.raises(DataError, match="a Weka filter was applied afterwards"):
        read(io.BytesIO(filtered.encode()))
    with pytest.raises(DataError, match="says -C 1000000000, but the file has 4 columns"):
        read(io.BytesIO(f"@relation 'm: -C 1000000000'\n{names}@data\n0,1,0,1\n".encode()))
    with pytest.raises(DataError, match="nothing says which columns are labels"):
        read(io.BytesIO(f"@relation m\n{names}@data\n0,1,0,1\n".encode()))


def test_text_columns_can_be_dropped_named_or_declared():
    header = "@attribute s string\n@attribute L {0,1}"
    assert arff("'b c',0\na,1\n", header, drop=["s"]).X.shape == (2, 0)
    assert arff("'b c',0\na,1\n", header, identifier="s").row_ids == ("b c", "a")
    declared = arff("'b c',0\na,1\n", header, nominal=["s"])
    assert declared.features == (Feature("s", "nominal", ("a", "b c")),)
    assert declared.X.values.ravel().tolist() == [1, 0]
    with pytest.raises(DataError, match="a sparse row that omits it has no meaning"):
        arff("{0 b}\n", header, nominal=["s"])


WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\x85\u2028\u2029", exclude_categories=("Cs", "Cc")), max_size=6
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@st.composite
def files(draw):
    """A random file as text, with what must be read from it."""
    names = draw(st.lists(WORDS.filter(bool), min_size=1, max_size=4, unique=True))
    kinds = [draw(st.none() | st.lists(WORDS, min_size=1, max_size=3, unique=True)) for _ in names]
    rows = draw(st.integers(0, 5))
    cells = [
        [draw(st.none() | (NUMBERS if kind is None else st.sampled_from(kind))) for kind in kinds] for _ in range(rows)
    ]
    return names, kinds, cells


@settings(max_examples=80, deadline=None)
@given(files(), st.booleans())
@example((["a"], [None], [[0.0], [None]]), True)
def test_random_files_come_back(made, sparse):
    names, kinds, rows = made
    lines = ["@relation 'random'"]
    for name, kind in zip(names, kinds, strict=True):
        lines.append(
            f"@attribute {quote(name)} " + ("numeric" if kind is None else "{" + ",".join(map(quote, kind)) + "}")
        )
    lines.append("@data")
    for row in rows:
        cells = [
            "?" if cell is None else repr(cell) if kind is None else quote(cell)
            for cell, kind in zip(row, kinds, strict=True)
        ]
        lines.append(
            "{" + ", ".join(f"{j} {cell}" for j, cell in enumerate(cells)) + "}" if sparse else ", ".join(cells)
        )
    data = read(io.BytesIO("\n".join(lines).encode()), labels=None)
    assert data.feature_names == tuple(names)
    assert [feature.categories for feature in data.features] == [tuple(kind or ()) for kind in kinds]
    expected = [
        [
            NAN if cell is None else cell if kind is None else kind.index(cell)
            for cell, kind in zip(row, kinds, strict=True)
        ]
        for row in rows
    ]
    np.testing.assert_array_equal(dense(data), np.array(expected).reshape(len(rows), len(names)))
    assert data.X.is_sparse == (sparse and len(rows) > 0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["1", "0", "2.5", "-3e2", "?", ".5", "+7", "1e-400"]), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    )
)
def test_fast_and_careful_path_agree(rows):
    header = "@attribute a numeric\n@attribute b numeric\n@attribute c numeric"
    body = "\n".join(",".join(row) for row in rows)
    careful = "\n".join(",".join(row) + " % slow" for row in rows)
    fast, slow = arff(body, header, labels=None), arff(careful, header, labels=None)
    np.testing.assert_array_equal(fast.X.values, slow.X.values)
    entries = ["{" + ",".join(f"{j} {cell}" for j, cell in enumerate(row)) + "}" for row in rows]
    sparse = arff("\n".join(entries), header, labels=None)
    assert sp.issparse(sparse.X.values)
    np.testing.assert_array_equal(sparse.X.values.toarray(), slow.X.values)
