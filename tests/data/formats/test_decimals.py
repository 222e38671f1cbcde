import io

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polyrule.data import read
from polyrule.data.formats.numbers import dense_numbers, sparse_numbers

DECIMALS = st.from_regex(r"[+-]?([0-9]{1,13}(\.[0-9]{0,4})?|\.[0-9]{1,12})|\?", fullmatch=True)


def parse(words: list[str]):
    found = dense_numbers(",".join(words).encode(), len(words))
    return None if found is None else found[0]


def bits(numbers) -> list[int]:
    return np.array(numbers, dtype=np.float64).view(np.int64).tolist()


@settings(max_examples=150, deadline=None)
@given(st.lists(DECIMALS, min_size=1, max_size=12))
@example(["0", "-0", "-0.0", "999999999999999", "0.1", "1.", ".5", "+7", "?", "123456789012345"])
def test_the_same_bits_as_float(words):
    found = parse(words)
    assert found is not None
    assert bits(found) == bits([float("nan") if word == "?" else float(word) for word in words])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text(st.sampled_from("0123456789.+-eE? "), max_size=19), min_size=1, max_size=4))
@example(["1.2.3"])
@example(["1-2"])
@example(["-"])
@example(["."])
@example(["+."])
@example(["??"])
@example(["-?"])
@example(["1", " ", "2"])
@example([""])
@example(["1234567890123456"])
@example(["-1234567890123456"])
@example(["0.30000000000000004"])
def test_anything_else_is_left_to_the_careful_reader(words):
    found = parse(words)
    if found is not None:
        assert bits(found) == bits([float("nan") if word.strip() == "?" else float(word) for word in words])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=1, max_size=5
    ),
    st.sampled_from([",", "\t", ";", "|"]),
)
def test_any_floats_come_back_whatever_the_delimiter(rows, delimiter):
    text = "".join(delimiter.join(map(repr, row)) + "\n" for row in rows)
    np.testing.assert_array_equal(dense_numbers(text.encode(), 3, delimiter.encode()), rows)


def test_rows_of_other_widths_are_not_shifted_into_each_other():
    assert dense_numbers(b"1,2,3\n4,5\n6,7,8,9\n", 3) is None
    assert dense_numbers(b"1,2\n\n3,4\n", 2) is None
    assert sparse_numbers(b"{1 2 3,4}\n{5 6}\n") is None
    assert sparse_numbers(b"{1 2}\n{3}\n{4 5 6}\n") is None
    assert sparse_numbers(b"{1 2}{3 4}\n\n") is None
    assert sparse_numbers(b"{1 2,}\n") is None
    assert sparse_numbers(b"{,1 2}\n") is None
    assert sparse_numbers(b"{1.5 2}\n") is None


def test_a_blank_cell_is_missing_among_numbers():
    with_blanks = read(io.BytesIO(b"a,b,y\n1, ,0\n2, 3 ,1\n"), labels="y").X.values
    np.testing.assert_array_equal(with_blanks, [[1, np.nan], [2, 3]])
