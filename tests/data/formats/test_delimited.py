import csv
import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.data import Feature, read, read_chunks
from polyrule.data.columns import parse_number
from polyrule.data.formats.delimited import MISSING
from polyrule.errors import DataError, DataWarning, OptionError

NAN = float("nan")


def table(text: str | bytes, **options):
    raw = text.encode() if isinstance(text, str) else text
    return read(io.BytesIO(raw), **{"labels": None, "format": "csv", **options})


@pytest.mark.parametrize(
    ("delimiter", "format"), [(",", "csv"), (";", "csv"), ("\t", "csv"), ("\t", "tsv"), ("|", "csv")]
)
def test_the_delimiter_is_found(delimiter, format):
    data = table(f"a{delimiter}b\n1{delimiter}x\n2{delimiter}y\n", format=format)
    assert data.features == (Feature("a"), Feature("b", "nominal", ("x", "y")))
    np.testing.assert_array_equal(data.X.values, [[1, 0], [2, 1]])


@pytest.mark.parametrize("said", ["sep=;\n", '"sep=;"\r\n', "\nSEP=;\n\n"])
def test_the_line_in_which_spreadsheets_name_the_delimiter_is_no_header(said):
    data = table(said + "a,b;c\n1;2\n", labels=None)
    assert data.feature_names == ("a,b", "c")
    assert data.X.values.tolist() == [[1, 2]]
    assert table(said + "1;2\n3;4\n", header=False).X.values.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(DataError, match=f"line {said.count(chr(10)) + 2}: 1 values"):
        table(said + "a;b\n1\n")


def test_quotes_newlines_and_spaces():
    data = table('name, note\n"a, ""b""","two\nlines"\n  c ,d\n')
    assert data.feature_names == ("name", "note")
    assert data.features[0].categories == ('a, "b"', "c")
    assert data.features[1].categories == ("d", "two\nlines")


def test_missing_values_and_what_stands_for_them():
    data = table("a,b\n1,x\n?,NA\n,y\n")
    np.testing.assert_array_equal(data.X.values, [[1, 0], [NAN, NAN], [NAN, 1]])
    exported = table("a,b\n1,x\n\\N,\\N\n#N/A,<NA>\nn/a,y\n")  # by databases, spreadsheets, pandas
    np.testing.assert_array_equal(exported.X.values, [[1, 0], [NAN, NAN], [NAN, NAN], [NAN, 1]])
    namibia = table("a,b\n1,x\n2,NA\n", missing=["-"])
    assert namibia.features[1].categories == ("NA", "x")
    assert table("a,b\n1,A\n2,NA\n", missing="NA").features[1].categories == ("A",)


@pytest.mark.parametrize("missing", [["?", "-999"], [*MISSING, "-999"], "-999"])
def test_a_number_may_stand_for_a_missing_value(missing):
    data = table("a,b\n1.5,-999\n-999,3\n,4\n", missing=missing)  # an empty cell is missing whatever else is
    np.testing.assert_array_equal(data.X.values, [[1.5, NAN], [NAN, 3], [NAN, 4]])


def test_decimal_commas_are_not_mistaken_for_categories():
    text = "a;b\n1,5;x\n2,5;y\n"
    with pytest.raises(DataError, match=r"holds numbers with a decimal comma such as '1,5'; pass decimal=','"):
        list(read_chunks(io.BytesIO(text.encode()), labels=None))
    assert table(text).X.values[:, 0].tolist() == [1.5, 2.5]
    assert table(text, decimal=",").X.values[:, 0].tolist() == [1.5, 2.5]
    assert table(text, nominal="a").features[0].categories == ("1,5", "2,5")


VOTES = "votes;hue\n7,750;x\n338;y\n1,234,567;x\n"


def test_groups_of_three_digits_are_thousands():
    with pytest.raises(
        DataError, match=r"'votes' holds numbers with thousands separators such as '7,750'; pass thousands=','"
    ):
        list(read_chunks(io.BytesIO(VOTES.encode()), rows=1, labels=None))
    assert table(VOTES).X.values[:, 0].tolist() == [7750, 338, 1234567]
    assert table(VOTES, thousands=",").X.values[:, 0].tolist() == [7750, 338, 1234567]
    parts = read_chunks(io.BytesIO(VOTES.encode()), rows=1, labels=None, thousands=",")
    assert [part.X.values[0, 0] for part in parts] == [7750, 338, 1234567]
    assert table(VOTES, nominal="votes").features[0].categories == ("1,234,567", "338", "7,750")


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["7,750", "338"], "pass thousands=','"),
        (["7,750.5", "3.25", "12"], "pass thousands=','"),
        (["7.750.000", "338"], "pass decimal=',' and thousands='.'"),
        (["7.750,5", "3,25"], "pass decimal=',' and thousands='.'"),
        (["7 750", "338"], "pass thousands=' '"),
        (["7\u202f750", "338"], "pass thousands=' '"),
        (["7'750", "338.5"], 'pass thousands="\'"'),
        (["3,25", "338"], "pass decimal=','"),
        (["0,125", "1,250"], "pass decimal=','"),
        (["7,750", "12345"], "write them in one way"),
        (["7,750", "3,25", "1.5"], "write them in one way"),
        (["1,234,567", "3,25"], "write them in one way"),
    ],
)
def test_no_advice_that_changes_numbers(cells, told):
    """Whatever is advised reads every number as one way of writing reads all of them; nothing else is advised."""
    text = "a|b\n" + "".join(f"{cell}|x\n" for cell in cells)
    with pytest.raises(DataError) as caught:
        list(read_chunks(io.BytesIO(text.encode()), labels=None, delimiter="|"))
    assert f"; {told}, drop it" in str(caught.value)
    if told == "write them in one way":
        with pytest.raises(DataError, match="; write them in one way, drop it"):
            table(text, delimiter="|")
    advice = dict(re.findall(r"(decimal|thousands)=[\"'](.)[\"']", told))
    if advice:
        point, group = advice.get("decimal", "."), advice.get("thousands", "")
        for blank in "\u00a0\u202f":
            cells = [cell.replace(blank, " ") for cell in cells]
        wanted = [float((cell.replace(group, "") if group else cell).replace(point, ".")) for cell in cells]
        assert table(text, delimiter="|", **advice).X.values[:, 0].tolist() == wanted
        assert table(text, delimiter="|").X.values[:, 0].tolist() == wanted
        assert advice != {"decimal": ","} or any(
            not re.search(r"^[1-9]\d{0,2}(,\d{3})+$", c) for c in cells if "," in c
        )


@pytest.mark.parametrize("text", ["Smith, John", "1.2.3", "31.12.2021", "10.0.0.1", "A 7,750", "7,75,0", "12 34"])
def test_text_with_such_signs_stays_text(text):
    assert table(f"a|b\n{text}|x\n7,750|y\n", delimiter="|").features[0].is_nominal


def test_a_group_far_below_is_not_taken_for_a_category():
    text = "votes|b\n" + "338|x\n" * 1500 + "7,750|y\n"
    for reading in (table, lambda text, **more: list(read_chunks(io.BytesIO(text.encode()), labels=None, **more))):
        with pytest.raises(DataError, match=r"line 1502, column 'votes': numbers with thousands separators"):
            reading(text, delimiter="|")
    assert table(text, delimiter="|", thousands=",").X.values[-1, 0] == 7750
    assert table(text, delimiter="|", nominal="votes").features[0].categories == ("338", "7,750")


def test_what_the_reader_was_told_is_not_bent():
    """A point in a file with decimal commas parts thousands, or is a mistake; neither is a decimal point."""
    with pytest.raises(DataError, match=r"holds numbers with thousands separators such as '1\.234'; pass decimal"):
        table("a|b\n1.234|x\n338|y\n", delimiter="|", decimal=",")
    with pytest.raises(DataError, match=r"column 'a' holds numbers written in several ways, such as '3\.5'"):
        table("a|b\n3.5|x\n338|y\n", delimiter="|", decimal=",")
    with pytest.raises(DataError, match=r"line 1502, column 'a': '3\.5' is not written as other numbers are"):
        table("a|b\n" + "1,5|x\n" * 1500 + "3.5|y\n", delimiter="|", decimal=",")
    data = table("a|b\n1.234,5|7,750\n2|x\n", delimiter="|", decimal=",", thousands=".")
    assert data.X.values[:, 0].tolist() == [1234.5, 2]
    assert data.features[1].categories == ("7,750", "x"), "text is not touched"


@pytest.mark.parametrize("options", [{"thousands": "."}, {"thousands": "x"}, {"decimal": ",", "thousands": ","}])
def test_signs_that_cannot_part_thousands(options):
    with pytest.raises(OptionError, match="thousands must be one of"):
        table("a\n1\n", **options)


@given(
    st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1),
    st.sampled_from([".", ","]),
    st.sampled_from([",", ".", " ", "'", ""]),
)
def test_numbers_come_back_as_they_were_written(numbers, decimal, thousands):
    if decimal == thousands:
        thousands = ""
    written = [f"{number:,.2f}".translate({44: thousands, 46: decimal}) for number in numbers]
    text = "a|b\n" + "".join(f"{cell}|x\n" for cell in written)
    data = table(text, delimiter="|", decimal=decimal, thousands=thousands or None)
    assert data.X.values[:, 0].tolist() == [float(number) for number in numbers]


def test_a_header_of_numbers_must_be_declared():
    with pytest.raises(DataError, match=r"line 1: all cells of the first line are numbers; pass header=False"):
        table("1,2\n3,4\n")
    assert table("1,2\n3,4\n", header=False).X.values.tolist() == [[1, 2], [3, 4]]
    assert table("1,2\n3,4\n", header=True).feature_names == ("1", "2")


def test_an_unnamed_column_gets_its_position():
    assert table(",a\n0,5\n").feature_names == ("column 0", "a")


def test_a_column_that_turns_out_to_be_text_late_in_the_file_is_nominal_throughout():
    rows = 30_000
    text = "a,b,L\n" + "1.0,2,0\n" * rows + "x,2,1\n"
    data = table(text.encode() * 1, labels="L")
    assert data.features == (Feature("a", "nominal", ("1.0", "x")), Feature("b"))
    assert data.X.values[-1].tolist() == [1, 2]


def test_late_text_across_blocks_restarts_the_reading(monkeypatch):
    monkeypatch.setattr("polyrule.data.sources.BLOCK_BYTES", 64)
    monkeypatch.setattr("polyrule.data.formats.delimited._SAMPLE_BYTES", 64)
    text = "a,b\n" + "1.0,2\n" * 200 + "x,2\n"
    data = table(text)
    assert data.features[0] == Feature("a", "nominal", ("1.0", "x"))
    parts = list(read_chunks(io.BytesIO(text.encode()), labels=None, format="csv", rows=7))
    assert {part.features for part in parts} == {data.features}
    assert all(len(part) <= 7 for part in parts)
    np.testing.assert_array_equal(np.vstack([part.X.values for part in parts]), data.X.values)


def test_quoted_newlines_across_blocks(monkeypatch):
    monkeypatch.setattr("polyrule.data.sources.BLOCK_BYTES", 16)
    value = "a long\nquoted\n\ncell over\nmany blocks"
    data = table(f'a,b\n"{value}",1\n"{value}",2\nz,3\n')
    assert data.features[0].categories == (value, "z")
    assert data.X.values[:, 1].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("a,b\n1\n", "line 2: 1 values, but there are 2 columns"),
        ("a,b\n1,2\n\n3,4,5\n", "line 4: 3 values"),
        ('a,b\n1,"x\n', "line 2: a quote is opened but never closed"),
        ('a,b\n1,"x"y\n', "line 2: "),
        ("a,b\n1,inf\n", "line 2, column 'b': the value is infinite"),
    ],
)
def test_bad_files(text, message):
    with pytest.raises(DataError, match=message):
        table(text)


def test_columns_of_equal_names_are_numbered():
    text = "a,b,a,a (2),a\n1,2,3,4,5\n"
    with pytest.warns(DataWarning, match=r"equal names are told apart by numbers: 'a \(3\)', 'a \(4\)'"):
        data = table(text)
    assert data.X.feature_names == ("a", "b", "a (3)", "a (2)", "a (4)")
    with pytest.warns(DataWarning):
        again = read(io.BytesIO(text.encode()), labels=None, features=data.features[2:3])
    assert again.X.values.tolist() == [[3.0]]


def test_bad_options():
    for options in ({"delimiter": "ab"}, {"delimiter": "\n"}, {"decimal": "x"}, {"decimal": ",", "delimiter": ","}):
        with pytest.raises(OptionError):
            table("a\n1\n", **options)


@pytest.mark.parametrize("text", ["1", "-1.5", "+.5", "1e5", "1.", " 2 ", "1E-3"])
def test_numbers(text):
    assert parse_number(text) == float(text)


@pytest.mark.parametrize("text", ["", "1_0", "١", "0x1", "1e", ".", "1,5", "1 2", "--1"])
def test_not_numbers(text):
    assert parse_number(text) is None


CELLS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=5) | st.sampled_from(
    ["1", "2.5", "-3", "", "?", "a", "a,b", 'q"q', "x\ny"]
)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=8)
    )
)
def test_random_tables_are_read_as_pythons_csv_module_reads_them(rows):
    names = [f"c{j}" for j in range(len(rows[0]))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    writer.writerows(rows)
    data = table(out.getvalue(), delimiter=",", nominal=names)
    kept = [row for row in rows if len(row) == 1 or True]
    assert len(data) == len(kept)
    for j in range(len(names)):
        column = [row[j].strip() for row in kept]
        known = [None if cell in MISSING else cell for cell in column]
        categories = data.features[j].categories
        assert list(categories) == sorted({cell for cell in known if cell is not None})
        codes = data.X.values[:, j]
        assert [None if np.isnan(code) else categories[int(code)] for code in codes] == known
