import gzip
import io
import zipfile

import numpy as np
import pytest
from fuzz.seeds import workbook

import polyrule
from polyrule.data import Feature, read, read_chunks
from polyrule.data.reading import sheet_names
from polyrule.errors import DataError, DataWarning, LimitError, OptionError

NAN = float("nan")
NAMESPACES = (
    'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)


def cell(place, value, kind="", style=""):
    shown = f' t="{kind}"' if kind else ""
    look = f' s="{style}"' if style else ""
    text = f"<is><t>{value}</t></is>" if kind == "inlineStr" else f"<v>{value}</v>"
    return f'<c r="{place}"{shown}{look}>{text}</c>'


def sheet(*rows, first=1):
    """A sheet from rows of values: texts, numbers, booleans; None is a cell that is not there."""
    lines = []
    for number, row in enumerate(rows, first):
        cells = []
        for column, value in enumerate(row):
            place = f"{chr(65 + column)}{number}"
            if isinstance(value, bool):
                cells.append(cell(place, int(value), "b"))
            elif isinstance(value, str):
                cells.append(cell(place, value, "inlineStr"))
            elif value is not None:
                cells.append(cell(place, value))
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    return f"<worksheet><sheetData>{''.join(lines)}</sheetData></worksheet>".encode()


def look(raw, **options):
    return read(io.BytesIO(raw), **{"labels": None, **options})


def test_kinds_and_missing_values():
    rows = [["id", "size", "hue", "big", "L"]]
    rows += [
        ["a", 1, "red", True, 1],
        ["b", None, "blue", False, 0],
        ["c", "NA", "?", None, 1],
        ["d", 2.5, "red", True, 0],
    ]
    data = look(workbook(sheet(*rows)), labels=["L"], identifier="id")
    assert data.features == (
        Feature("size"),
        Feature("hue", "nominal", ("blue", "red")),
        Feature("big", "nominal", ("False", "True")),
    )
    np.testing.assert_array_equal(data.X.values, [[1, 1, 1], [NAN, 0, 0], [NAN, NAN, NAN], [2.5, 1, 1]])
    assert data.Y.tolist() == [[1], [0], [1], [0]]
    assert data.row_ids == ("a", "b", "c", "d")


def test_a_number_may_stand_for_a_missing_value():
    raw = workbook(sheet(["size", "hue", "big"], [1, "red", True], [-999, "-", False], [0, "-999", True]))
    data = look(raw, missing=["-", "-999"])
    np.testing.assert_array_equal(data.X.values, [[1, 0, 1], [NAN, NAN, 0], [0, NAN, 1]])
    assert data.features[2].categories == ("False", "True")


def test_dates_shared_texts_errors_and_rows_that_are_not_there():
    data = look(workbook(), labels=["L"])
    assert [feature.name for feature in data.features] == ["on", "on year", "on month", "on weekday", "hue"]
    assert data.features[-1].categories == ("dark red",)
    np.testing.assert_array_equal(data.X.values[:, 0], [18691, NAN])  # 2021-03-05
    assert data.Y.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("code", "number", "kind"),
    [
        ("yyyy\\-mm\\-dd", 1.5, "date"),
        ('0.0" days"', 1.5, "numeric"),
        ("[Red]0", 1.5, "numeric"),
        ("h:mm", 0.5, "numeric"),
        ("[h]:mm", 1.5, "numeric"),
    ],
)
def test_a_number_is_a_date_where_its_format_shows_days_or_years(code, number, kind):
    shown = code.replace('"', "&quot;")
    styles = f'<styleSheet><numFmts><numFmt numFmtId="170" formatCode="{shown}"/></numFmts>'
    styles += '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="170"/></cellXfs>'
    styles += "<cellStyles><x/></cellStyles></styleSheet>"
    rows = f"<row>{cell('A1', 'on', 'str')}</row><row>{cell('A2', number, style='0')}</row>"
    raw = f"<worksheet><sheetData>{rows}</sheetData></worksheet>".encode()
    data = look(workbook(raw, styles=styles.encode()))
    assert data.features[0].kind == kind
    assert kind == "date" or data.X.values[0, 0] == number


@pytest.mark.parametrize(("system", "day"), [("", -25567), ('<workbookPr date1904="1"/>', -24106)])
def test_both_calendars(system, day):
    main = f'<workbook {NAMESPACES}>{system}<sheets><sheet name="S" state="hidden" r:id="r1"/>'
    main += '<sheet name="T" r:id="r1"/></sheets></workbook>'
    raw = "<x:worksheet><x:sheetData><x:row><x:c t='str'><x:v>on</x:v></x:c></x:row>"
    raw += "<x:row><x:c s='1'><x:v>1</x:v></x:c></x:row></x:sheetData></x:worksheet>"
    data = look(workbook(raw.encode(), workbook=main.encode()))
    assert data.X.values[0, 0] == day  # 1900-01-01 and 1904-01-02


def test_how_a_text_is_pronounced_is_no_part_of_it():
    texts = "<sst><si><t>課</t><rPh sb='0' eb='1'><t>カ</t></rPh></si><si><t>x</t></si></sst>"
    assert look(workbook(sharedStrings=texts.encode())).features[0].name == "課"


def test_dates_written_as_text():
    raw = workbook(sheet(["on", "at"], ["31.12.2021", "3/14/2021"], ["1.2.2022", "3/1/2021"]))
    assert [feature.kind for feature in look(raw).features if feature.derived is None] == ["date", "date"]
    raw = workbook(sheet(["at"], ["3/4/2021"]))
    assert look(raw, dates="month/day/year").X.values[0, 0] == 18690
    with pytest.raises(DataError, match="every day may be a month"):
        look(raw)


def test_text_below_numbers_and_dates_is_as_in_csv():
    rows = [["size", "on"], *([number, "2021-03-05"] for number in range(1200)), ["large", "soon"]]
    with pytest.warns(DataWarning, match="column 'size' is read as numbers, and 'large' as missing"):
        data = look(workbook(sheet(*rows)))
    assert [feature.kind for feature in data.features] == ["numeric", "nominal"]
    assert np.isnan(data.X.column(0)[-1])
    assert data.X.column(0)[1199] == 1199


def test_chunks_streams_and_compressed_workbooks_are_the_same(tmp_path):
    raw = workbook(sheet(["a", "L"], *([number, number % 2] for number in range(7))))
    (tmp_path / "table.xlsx").write_bytes(raw)
    (tmp_path / "table.xlsx.gz").write_bytes(gzip.compress(raw))
    for origin in (io.BytesIO(raw), tmp_path / "table.xlsx", tmp_path / "table.xlsx.gz"):
        parts = list(read_chunks(origin, labels=["L"], rows=3))
        assert [len(part) for part in parts] == [3, 3, 1]
        assert np.concatenate([part.X.values[:, 0] for part in parts]).tolist() == list(range(7))


def book_of(**sheets):
    """A workbook with these sheets, of which one called `notes` is hidden."""
    numbered = list(enumerate(sheets.items(), 1))
    states = {"notes": ' state="hidden"'}
    sheets = "".join(f'<sheet name="{name}"{states.get(name, "")} r:id="s{n}"/>' for n, (name, _) in numbered)
    related = "".join(
        f'<Relationship Id="s{n}" Type="x/worksheet" Target="worksheets/own{n}.xml"/>' for n, _ in numbered
    )
    parts = {f"worksheets/own{n}": content for n, (_, content) in numbered}
    parts["workbook"] = f"<workbook {NAMESPACES}>{sheets}</workbook>".encode()
    return workbook(**parts, relations=f"<Relationships>{related}</Relationships>".encode())


def test_a_sheet_is_chosen_by_name(tmp_path):
    raw = book_of(notes=sheet(["n"], [0]), cover=sheet(), patients=sheet(["a", "L"], [5, 1]), visits=sheet(["b"], [7]))
    (tmp_path / "book.xlsx").write_bytes(raw)
    assert sheet_names(tmp_path / "book.xlsx") == ("cover", "patients", "visits")
    assert look(raw, sheet="patients", labels=["L"]).X.values.tolist() == [[5]]
    assert look(raw, sheet="visits").features == (Feature("b"),)
    assert look(raw, sheet="notes").features == (Feature("n"),)
    assert [len(part) for part in read_chunks(io.BytesIO(raw), sheet="visits", labels=None)] == [1]
    with pytest.raises(DataError, match="the sheet 'cover' is empty"):
        look(raw)
    with pytest.raises(DataError, match=r"no sheet 'visit'; there are 'cover', 'patients', 'visits' \(sheet=\)"):
        look(raw, sheet="visit")


def test_only_workbooks_have_sheets(tmp_path):
    with pytest.raises(OptionError, match=r"sheet= is for workbooks \(.xlsx\)"):
        look(b"a,b\n1,2\n", sheet="visits")
    (tmp_path / "plain.csv").write_bytes(b"a,b\n1,2\n")
    assert sheet_names(tmp_path / "plain.csv") == ()


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (workbook(sheet()), "the sheet 'S' is empty"),
        (workbook(sheet([1, 2], [3, 4])), "row 1: all cells of the first row are numbers"),
        (workbook(sheet(["Report"], ["a", "b"], [1, 2])), "row 2, column B: a value stands outside the 1 columns"),
        (workbook(b"<worksheet><row>"), "cannot be read"),
        (
            workbook(sheet(["a"]).replace(b"</row>", b"<c t='s'><v>7</v></c></row>")),
            "not found in shared strings",
        ),
        (workbook(sheet(["a"]).replace(b"</row>", b"<c t='e'><v>odd</v></c></row>")), "'S' cannot be read .*'odd'"),
        (workbook(sheet(["a"]).replace(b"A1", b"C2147483648")), "'C2147483648' is no place in a sheet"),
        (workbook(sheet(["a"]).replace(b'<row r="1"', b'<row r="-1"')), "'-1' is no row of a sheet"),
        (workbook(b"<!DOCTYPE a [<!ENTITY b 'c'>]><worksheet/>"), "declares a document type"),
        (workbook(workbook=b"<workbook/>"), "has no sheet"),
        (workbook(workbook=b'<workbook><sheet r:id="r2"/></workbook>')[:-30], "not a readable workbook"),
        (workbook(packing=zipfile.ZIP_LZMA), "packed in a way that workbooks are not"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "save it as .xlsx"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(raw, words):
    with pytest.raises(DataError, match=words):
        look(raw)


def test_another_archive_is_no_workbook():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("songs.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match="a zip archive but no workbook"):
        look(stream.getvalue())


def test_a_damaged_part_is_refused():
    raw = bytearray(workbook(packing=zipfile.ZIP_STORED))
    raw[raw.index(b"<v>44260")] = ord("[")
    with pytest.raises(DataError, match=r"sheet1\.xml"):
        look(bytes(raw))


def test_a_small_workbook_does_not_unpack_to_a_large_bill():
    empty = b"<worksheet>" + b" " * 30_000_000 + b"</worksheet>"
    with polyrule.limits(max_bytes=1_000_000), pytest.raises(LimitError, match="unpacked content"):
        look(workbook(empty))
    wide = sheet(["a"]).replace(b"A1", b"XFD1") + b""
    with polyrule.limits(max_cells=1000), pytest.raises(LimitError, match="a table of 16384 cells"):
        look(workbook(wide))
    rows = workbook(sheet(["a", "b"], *([1, 2] for _ in range(2000))))
    with polyrule.limits(max_cells=3000), pytest.raises(LimitError, match="4002 cells"):
        look(rows)


def test_cells_far_apart_and_copies_of_a_long_text_are_counted_before_they_are_made():
    for far in (b'<c r="XFD1048576"><v>1</v></c>', b'<c r="xfd1048576" t="inlineStr"><is><t>a</t></is></c>'):
        with pytest.raises(LimitError, match="a table of 17179869184 cells"):
            look(workbook(sheet(["a"]).replace(b"</row>", far + b"</row>")))
    with pytest.raises(LimitError, match="a table of 4000000000 cells"):
        look(workbook(sheet(["a"]).replace(b"</row>", b'</row><row r="4000000000"><c><v>1</v></c></row>')))
    plain = sheet(["a"], [1]).replace(b"</row>", b'<c r="XFD1048576" s="0"/></row>')
    assert look(workbook(plain)).X.values.tolist() == [[1]]  # a cell that is only formatted
    texts = b"<sst><si><t>a</t></si><si><t>" + b"x" * 100_000 + b"</t></si></sst>"
    rows = [b"<row><c t='s'><v>%d</v></c></row>" % (number > 0) for number in range(1000)]
    many = workbook(b"<worksheet><sheetData>" + b"".join(rows) + b"</sheetData></worksheet>", sharedStrings=texts)
    with polyrule.limits(max_bytes=10_000_000), pytest.raises(LimitError, match="text of 99900001 bytes"):
        look(many)
    few = workbook(b"<worksheet><sheetData>" + b"".join(rows[:10]) + b"</sheetData></worksheet>", sharedStrings=texts)
    with polyrule.limits(max_bytes=10_000_000):
        assert len(look(few)) == 9


def test_an_archive_cannot_lie_about_its_size():
    raw = bytearray(workbook(b"<worksheet>" + b" " * 100_000 + b"</worksheet>"))
    at = raw.index(b"PK\x01\x02")
    while b"sheet1.xml" not in raw[at : at + 80]:
        at = raw.index(b"PK\x01\x02", at + 4)
    raw[at + 24 : at + 28] = (40).to_bytes(4, "little")  # what it says it unpacks to
    with pytest.raises(DataError, match=r"sheet1\.xml"):
        look(bytes(raw))
