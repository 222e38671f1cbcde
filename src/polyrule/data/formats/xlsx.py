"""Workbooks (.xlsx): one sheet, the first that is not hidden or one by name; its first row names the columns."""

from __future__ import annotations

import datetime
import re
import tempfile
import warnings
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

import numpy as np

from polyrule.data.columns import category_text, listing, shorten
from polyrule.data.dates import DateForms
from polyrule.data.formats.blocks import (
    CELLS_AT_ONCE,
    Block,
    DenseBlock,
    FileColumn,
    Hints,
    column_of_text,
)
from polyrule.data.formats.delimited import DelimitedOptions
from polyrule.data.formats.margins import check_headers, last_row
from polyrule.data.sources import Source
from polyrule.errors import DataError, DataWarning
from polyrule.utils.budget import Budget
from polyrule.utils.messages import argument, depth_of_caller

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

_CHUNK_BYTES = 1 << 16
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)
_MAIN, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_BESIDE = ("_rels/.rels", "[Content_Types].xml", _RELATIONS, _MAIN, "xl/sharedStrings.xml", "xl/styles.xml")
"""Parts that calamine reads whatever the sheet is."""
_PLACE = re.compile(r"([A-Za-z]{1,3})(\d{1,7})", re.ASCII)
_NUMBER = re.compile(r"\d{1,10}", re.ASCII)
_EMPTY_CELL = re.compile(rb'<c r="[A-Z]+\d+"(?: s="\d+")?/>')
_SMALL = 1 << 20
_INTEGER = re.compile(rb">\s*\+?0*(\d{1,9})\s*<")

Attributes = dict[str, str]


class Workbook:
    """A workbook that has been opened and whose parts are checked before calamine reads a sheet.

    calamine allocates what a sheet asks for, so it gets an archive that holds the checked parts and nothing else: their
    sizes, the place of the last cell and the length of all texts have been compared with the budget, and XML that
    declares a document type is refused.
    """

    def __init__(self, content: Any, budget: Budget, sheet: str | None = None) -> None:
        self._budget, self.name = budget, budget.name
        try:
            self._archive = zipfile.ZipFile(content)
        except _DAMAGE as problem:
            raise DataError(f"{self.name}: not a readable workbook or zip archive ({problem})") from problem
        self.close = self._archive.close
        if _MAIN not in self._archive.NameToInfo:
            raise DataError(f"{self.name}: this is a zip archive but no workbook (.xlsx); unpack it, or save it as CSV")
        sheets = [attributes for name, attributes in self._elements(_MAIN) if name == "sheet"]
        names = {attributes.get("name", ""): attributes for attributes in reversed(sheets)}
        shown = {sheet.get("name", ""): None for sheet in sheets if sheet.get("state", "visible") == "visible"}
        self.sheets = tuple(shown or reversed(names))
        self.sheet = sheet if sheet is not None else next(iter(self.sheets), "")
        if sheet is not None and sheet not in names:
            raise DataError(
                f"{self.name}: there is no sheet {shorten(sheet)}; there are {listing(self.sheets)} "
                f"({argument('sheet')})"
            )
        key = next((value for key, value in names.get(self.sheet, {}).items() if key.endswith(":id")), "")
        target = self._target(key)
        if target is None:
            raise DataError(f"{self.name}: the workbook has no sheet")
        self._path = target

    def rows(self) -> Iterator[Sequence[Any]]:
        """Yield the rows of the sheet from its first on, all of one length; an empty cell is an empty text."""
        return self._table.iter_rows() if self._table.height else iter(())

    @cached_property
    def _table(self) -> CalamineSheet:
        """The sheet, read by calamine from a copy of the checked parts."""
        from python_calamine import CalamineWorkbook

        with tempfile.TemporaryDirectory(prefix="polyrule-") as folder:
            path = str(Path(folder) / "checked.xlsx")
            with zipfile.ZipFile(path, "w") as copy:
                self._copy_checked(copy)
            try:
                with CalamineWorkbook.from_path(path) as book:
                    return book.get_sheet_by_name(self.sheet)
            except BaseException as problem:  # a panic of Rust is no Exception
                if not isinstance(problem, Exception) and type(problem).__name__ != "PanicException":
                    raise
                raise DataError(
                    f"{self.name}: the sheet {shorten(self.sheet)} cannot be read ({problem}); open the workbook and "
                    "save it again, or save the sheet as CSV"
                ) from problem

    def _copy_checked(self, copy: zipfile.ZipFile) -> None:
        """Copy what calamine reads, after its extent has been compared with the budget."""
        texts, cells = _Texts(), _Cells()
        for path in _BESIDE:
            if path in self._archive.NameToInfo:
                is_texts = path == "xl/sharedStrings.xml"
                content = self._unpack(path)
                self._parse(path, content, texts.start if is_texts else None, texts.text if is_texts else None)
                copy.writestr(path, content)
        content = self._unpack(self._path)
        self._parse(self._path, content, cells.start)
        if cells.rows * cells.columns > max(_SMALL, 16 * cells.values) and cells.all_placed:
            content, cells = _EMPTY_CELL.sub(b"", content), _Cells()  # formatted cells may be far outside
            self._parse(self._path, content, cells.start)
        self._budget.cells(cells.rows * cells.columns)
        lengths = np.array(texts.lengths or [0])
        if cells.shared * int(lengths.max()) > self._budget.most_bytes:  # each cell gets a copy of its text
            numbers = np.array([int(digits) for digits in _INTEGER.findall(content)], dtype=np.int64)
            self._budget.bytes(int(lengths[numbers[numbers < len(lengths)]].sum()), "text")
        copy.writestr(self._path, content)

    def _target(self, key: str) -> str | None:
        """Path of the part that the workbook refers to by this key."""
        targets = {a.get("Id"): a.get("Target", "") for name, a in self._elements(_RELATIONS) if name == "Relationship"}
        target = targets.get(key)
        if target is None:
            return None
        target = target.removeprefix("/")
        return target if target.startswith("xl/") else f"xl/{target}"

    def _elements(self, path: str) -> list[tuple[str, Attributes]]:
        """Names and attributes of all elements of a part, in order."""
        elements: list[tuple[str, Attributes]] = []
        self._parse(path, self._unpack(path), lambda tag, attributes: elements.append((_local(tag), attributes)))
        return elements

    def _unpack(self, path: str) -> bytes:
        """Bytes of one part of the archive."""
        info = self._archive.NameToInfo.get(path)
        if info is None:
            raise DataError(f"{self.name}: {shorten(path)} is missing in the workbook")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack without a bound
            raise DataError(f"{self.name}: {shorten(path)} in it is packed in a way that workbooks are not")
        self._budget.bytes(info.file_size, "unpacked content")  # no more than this is ever unpacked
        self._budget.tick()
        try:
            return self._archive.read(info)
        except _DAMAGE as problem:
            raise DataError(f"{self.name}: {shorten(path)} in it cannot be read ({problem})") from problem

    def _parse(
        self,
        path: str,
        content: bytes,
        start: Callable[[str, Attributes], None] | None,
        text: Callable[[str], None] | None = None,
    ) -> None:
        """Call back for each element of a part and for its texts."""
        parser = expat.ParserCreate("UTF-8")  # whatever encoding it declares: calamine reads nothing else
        parser.buffer_text = True
        parser.StartElementHandler, parser.CharacterDataHandler = start, text
        parser.StartDoctypeDeclHandler = self._no_doctype
        try:
            for begin in range(0, len(content), _CHUNK_BYTES):
                self._budget.tick()
                parser.Parse(content[begin : begin + _CHUNK_BYTES], False)
            parser.Parse(b"", True)
        except (expat.ExpatError, ValueError) as problem:
            raise DataError(f"{self.name}: {shorten(path)} in it cannot be read ({problem})") from problem

    def _no_doctype(self, *_: Any) -> None:
        raise DataError(f"{self.name}: its XML declares a document type, which workbooks do not")


class _Cells:
    """Rows, columns and values of a sheet, counted as calamine places its cells."""

    def __init__(self) -> None:
        self.rows = self.columns = self.values = self.shared = 0
        self.all_placed = True
        self._row, self._column = 0, -1

    def start(self, tag: str, attributes: Attributes) -> None:
        name = tag if ":" not in tag else _local(tag)
        if name == "c":
            place = attributes.get("r")
            if place is None:
                row, self._column, self.all_placed = self._row, self._column + 1, False
            elif found := _PLACE.fullmatch(place):
                row, self._column = int(found[2]), _column_number(found[1])
            else:
                raise ValueError(f"{shorten(place)} is no place in a sheet")
            self.rows, self.columns = max(self.rows, row), max(self.columns, self._column + 1)
            self.shared += attributes.get("t") == "s"
        elif name in ("v", "is"):
            self.values += 1
        elif name == "row":
            number = attributes.get("r", str(self._row + 1))
            if not _NUMBER.fullmatch(number):
                raise ValueError(f"{shorten(number)} is no row of a sheet")
            self._row, self._column = int(number), -1


class _Texts:
    """Lengths of the texts that cells refer to by number."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def start(self, tag: str, _: Attributes) -> None:
        if _local(tag) == "si":
            self.lengths.append(0)

    def text(self, text: str) -> None:
        if self.lengths:
            self.lengths[-1] += len(text)


def _local(tag: str) -> str:
    return tag.rpartition(":")[2]


@cache
def _column_number(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - 64
    return number - 1


def _plain(value: Any) -> Any:
    """Value of a cell; a time of day or a duration is a number of days, as the sheet stores it."""
    if isinstance(value, datetime.time):
        value = datetime.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second)
    if isinstance(value, datetime.timedelta):
        return value / datetime.timedelta(days=1)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


_SAMPLE_ROWS = 1000


class XlsxReader:
    """Reads a sheet; kinds are found in the values.

    Numbers that the sheet shows as dates are dates, formulas are what they gave when the workbook was saved, and a cell
    with an error such as ``#N/A`` is missing. Rows without any value are skipped.
    """

    def __init__(self, source: Source, options: DelimitedOptions | None = None) -> None:
        self.name, self.unit, self.hints = source.name, "row", Hints()
        self._budget, self._options = source.budget, options or DelimitedOptions()
        self._missing, self._missing_numbers = self._options.missing_texts, self._options.missing_numbers
        self._source = source  # whose copy, if it is one, is read from here on
        self._book = Workbook(source.seekable(), source.budget, self._options.sheet)
        weakref.finalize(self, self._book.close)
        names, self._first = self._names()
        self.columns = [FileColumn(name, "nominal") for name in names]
        self._last = self._below_table()
        sample = next(self._blocks(_SAMPLE_ROWS), None)
        cells = [[]] * len(names) if sample is None else sample.cells
        if sample is not None:
            check_headers(self.name, self.unit, sample.lines, names, cells)
        self.columns = [self._guess(name, column) for name, column in zip(names, cells, strict=True)]

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield the rows as columns of cells; `numeric` is not needed, because the cells have types."""
        return self._blocks(max(1, CELLS_AT_ONCE // len(self.columns)))

    def _names(self) -> tuple[list[str], int]:
        """Names of the columns, and the row where the data begins."""
        rows = enumerate(self._book.rows(), 1)
        number, values = next(((n, cells) for n, row in rows if (cells := _by_column(row))), (0, {}))
        if not values:
            raise DataError(f"{self.name}: the sheet {shorten(self._book.sheet)} is empty")
        width = max(values) + 1
        self._budget.names(width)
        has_names = self._options.header
        if has_names is None and all(isinstance(value, float) for value in values.values()):
            raise DataError(
                f"{self.name}, row {number}: all cells of the first row are numbers; it must name the columns, or pass "
                f"{argument('header', False)} if it is data"
            )
        if has_names is False:
            return [f"x{j}" for j in range(width)], number
        return [category_text(values.get(j, f"column {j}")).strip() for j in range(width)], number + 1

    def _below_table(self) -> int:
        """Number of the last row of the table, with a warning about a footer below it."""
        rows = list(self._book.rows())
        last = last_row(rows)
        if last < len(rows):
            note = shorten(category_text(next(row[0] for row in rows[last:] if row[0] != "")))
            told = f"{self.name}: the rows below row {last} are left out as a footer, such as {note}"
            warnings.warn(told, DataWarning, stacklevel=depth_of_caller())
        return last

    def _guess(self, name: str, sample: list[Any]) -> FileColumn:
        known = [value for value in sample if value is not None]
        if all(isinstance(value, float) for value in known):
            return FileColumn(name, "auto")
        return column_of_text(name, "auto-date", DateForms(known), self._options.dates, self.hints)

    def _blocks(self, n_rows: int) -> Iterator[DenseBlock]:
        """Yield rows of data as columns, a missing value as None; rows without any value are skipped."""
        width = len(self.columns)
        rows = islice(enumerate(self._book.rows(), 1), self._first - 1, self._last)
        while chunk := list(islice(rows, n_rows)):
            self._budget.tick()
            lines = [number for number, _ in chunk]
            columns = [self._column(column) for column in zip(*(row for _, row in chunk), strict=True)]
            for j, cells in enumerate(columns[width:], width):
                if (at := next((at for at, cell in enumerate(cells) if cell is not None), None)) is not None:
                    raise DataError(
                        f"{self.name}, row {lines[at]}, column {_letters(j)}: a value stands outside the {width} "
                        "columns that the first row names; begin the sheet with one row that names every column"
                    )
            columns = columns[:width]
            empty = [at for at, row in enumerate(zip(*columns, strict=True)) if all(cell is None for cell in row)]
            if empty:
                keep = np.delete(np.arange(len(lines)), empty).tolist()
                lines, columns = [lines[at] for at in keep], [[cells[at] for at in keep] for cells in columns]
            if lines:
                yield DenseBlock(columns, lines)

    def _column(self, cells: Sequence[Any]) -> list[Any]:
        """Cells of a column as Python objects, None for what stands for a missing value."""
        types = set(map(type, cells))
        if types != {float}:
            cells = [_plain(cell) for cell in cells] if types - {float, str, bool} else cells
            missing = self._missing
            cells = [None if type(cell) is str and cell.strip() in missing else cell for cell in cells]
        if self._missing_numbers:
            cells = [None if type(cell) is float and cell in self._missing_numbers else cell for cell in cells]
        return list(cells)


def _by_column(row: Sequence[Any]) -> dict[int, Any]:
    return {column: _plain(value) for column, value in enumerate(row) if value != ""}


def _letters(column: int) -> str:
    """Name a column as a sheet does.

    >>> _letters(0), _letters(25), _letters(26), _letters(16383)
    ('A', 'Z', 'AA', 'XFD')
    """
    text = ""
    while column >= 0:
        column, letter = divmod(column, 26)
        text, column = chr(65 + letter) + text, column - 1
    return text
