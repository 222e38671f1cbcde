"""What spreadsheets and survey tools write around a table is read, or refused with what to do."""

import io

import pytest
from fuzz.seeds import workbook
from tests.data.formats.test_xlsx import sheet

from polyrule.data import read
from polyrule.errors import DataError, DataWarning


def look(raw, **options):
    return read(io.BytesIO(raw), labels=None, **options)


def test_columns_at_the_end_with_neither_name_nor_value_are_left_out():
    for raw in (b"a,b,,\n1,2,,\n3,4,,\n", b"a,b\n1,2,\n3,4,\n", b"a,b,\n1,2, \n3,4,NA\n"):
        data = look(raw)
        assert data.feature_names == ("a", "b")
        assert data.X.values.tolist() == [[1, 2], [3, 4]]
    assert look(b"a,b,\n1,2,5\n").feature_names == ("a", "b", "column 2")


@pytest.mark.parametrize("odd", ["", 'x"y'])  # by columns, and row by row
def test_a_value_in_a_column_without_a_name_is_refused(odd):
    rows = "1,a,\n" * 20_000 + f"2,{odd},late\n"
    with pytest.raises(DataError, match="line 20002: 'late' stands in column 3, which has no name"):
        look(f"a,b,\n{rows}".encode())


def test_further_header_rows_are_refused_in_a_sentence():
    rows = [["How old?", "How tall?", "Town"], [31, 170, "A"], [45, 182, "B"], [27, 165, "A"]]
    lines = [["Q1", "Q2", "Q3"], *rows]
    raw = "".join(",".join(map(str, line)) + "\n" for line in lines).encode()
    told = "2: a further header row, such as 'How old\\?' above the numbers of column 'Q1'; delete it, or pass missing="
    for content, unit in ((raw, "line"), (workbook(sheet(*lines)), "row")):
        with pytest.raises(DataError, match=f"{unit} {told}"):
            look(content)
    lines.insert(2, ['{"ImportId":"QID1"}', '{"ImportId":"QID2"}', '{"ImportId":"QID3"}'])
    with pytest.raises(DataError, match="rows 2 to 3: further header rows"):
        look(workbook(sheet(*lines)))
    assert look(raw, missing=["How old?", "How tall?"]).features[0].kind == "numeric"


def test_texts_and_odd_numbers_are_no_header_rows():
    assert look(b"a,b\nx,low\n1,5\n2,6\n3,7\n", nominal=["a", "b"], missing=["low"]).features[1].kind == "nominal"
    assert look(b"a,b\n<5,3\n1,5\n2,6\n3,7\n").features[0].kind == "nominal"
    assert len(look(b"a,b\nx,y\nz,u\nx,u\n")) == 3


def test_a_footer_of_a_sheet_is_left_out_with_a_warning():
    rows = [["a", "b"], [1, 2], [3, 4], [], ["Source: town hall"], ["as of June"]]
    with pytest.warns(DataWarning, match="below row 3 are left out as a footer, such as 'Source: town hall'"):
        data = look(workbook(sheet(*rows)))
    assert data.X.values.tolist() == [[1, 2], [3, 4]]
    assert len(look(workbook(sheet(["a", "b"], [1, 2], [], [3, None], [5, 6])))) == 3
    assert len(look(workbook(sheet(["a", "b"], [1, 2], [3])))) == 2


def test_rows_of_another_width_say_what_to_do():
    with pytest.raises(DataError, match="line 3: 1 values, but there are 2 columns; delete it if it is a note"):
        look(b"a,b\n1,2\nSource\n")
    with pytest.raises(DataError, match="line 2: 2 values, but there are 1 columns; delete the lines above the one"):
        look(b"Report of June\na,b\n1,2\n")


@pytest.mark.filterwarnings("ignore")
def test_columns_of_one_name_are_numbered_in_every_format():
    arff = b"@relation r\n@attribute a numeric\n@attribute a numeric\n@data\n1,2\n"
    for raw in (workbook(sheet(["a", "a"], [1, 2])), b"a,a\n1,2\n", arff):
        assert look(raw).feature_names == ("a", "a (2)")
