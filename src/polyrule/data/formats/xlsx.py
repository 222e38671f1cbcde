"""Workbooks (.xlsx): one sheet, the first that is shown or one by name; its first row names the columns."""

from __future__ import annotations

import datetime
import re
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import PurePosixPath
from typing import Any
from xml.parsers import expat

from polyrule.data.columns import category_text, listing, parse_number, shorten
from polyrule.data.dates import DateForms
from polyrule.data.formats.blocks import (
    Block,
    Column,
    Hints,
    blocks_of_rows,
    column_of_text,
)
from polyrule.data.formats.delimited import DelimitedOptions
from polyrule.data.sources import Source
from polyrule.errors import DataError
from polyrule.utils.budget import Budget
from polyrule.utils.messages import argument

_PIECE = 1 << 16
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)
_DATES = frozenset(map(str, (14, 15, 16, 17, 22, *range(27, 37), *range(50, 59))))
"""Formats for dates that every workbook knows without saying so."""
# Texts, colours and conditions inside a format, none of which says anything about days and years.
_ASIDE = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')
_PLACE = re.compile(r"([A-Z]{1,3})\d{1,7}", re.ASCII)

Attributes = dict[str, str]
Row = tuple[int, dict[int, Any]]


class Workbook:
    """A workbook that has been opened: a zip archive of XML, read as a stream by the parser that Python brings.

    Only what is needed is unpacked, what it unpacks to is held against the budget first, and a document that declares
    entities is refused. Of `sheets`, those that are not hidden, the first is read unless one is named.
    """

    def __init__(self, content: Any, budget: Budget, sheet: str | None = None) -> None:
        self._budget, self.name = budget, budget.name
        try:
            self._archive = zipfile.ZipFile(content)
        except _DAMAGE as problem:
            raise DataError(f"{self.name}: not a readable workbook or zip archive ({problem})") from problem
        self.close = self._archive.close
        main = PurePosixPath(self._related("_rels/.rels", "Type").get("officeDocument", ""))
        if not main.name.endswith("workbook.xml"):
            raise DataError(f"{self.name}: this is a zip archive but no workbook (.xlsx); unpack it, or save it as CSV")
        related = str(main.parent / "_rels" / f"{main.name}.rels")  # says what the workbook refers to
        self._epoch, ids, self.sheets = self._main(str(main))
        self.sheet = sheet if sheet is not None else next(iter(self.sheets), "")
        if sheet is not None and sheet not in ids:
            raise DataError(
                f"{self.name}: there is no sheet {shorten(sheet)}; there are {listing(self.sheets)} "
                f"({argument('sheet')})"
            )
        found = self._related(related, "Id").get(ids.get(self.sheet, ""))
        if found is None:
            raise DataError(f"{self.name}: the workbook has no sheet")
        self._sheet, self._beside = found, self._related(related, "Type")

    @cached_property
    def _texts(self) -> list[str]:
        """Texts that cells refer to by number."""
        texts: list[str] = []
        if (path := self._beside.get("sharedStrings")) is not None:
            into = _Texts("si", lambda _, text: texts.append(text))
            for _ in self._parse(path, into.start, into.end, into.text):
                pass
        return texts

    @cached_property
    def _dates(self) -> set[str]:
        """Numbers of the styles that show a number as a date."""
        path = self._beside.get("styles")
        found = [] if path is None else self._elements(path, "numFmt", "cellXfs", "xf", "cellStyles")
        shows = set(_DATES)
        styles: list[str] | None = None
        for name, given in found:
            if name == "numFmt":
                plain = _ASIDE.sub("", given.get("formatCode", "")).lower()
                if "d" in plain or "y" in plain:
                    shows.add(given.get("numFmtId", ""))
            elif name == "cellXfs":
                styles = []
            elif name == "cellStyles":
                break
            elif styles is not None:
                styles.append(given.get("numFmtId", ""))
        return {str(at) for at, style in enumerate(styles or ()) if style in shows}

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the sheet: their numbers, and the values by column; missing ones are left out."""
        done: list[Row] = []
        number, column, values = 0, -1, dict[int, Any]()

        def begin(given: Attributes) -> None:
            nonlocal number, column, values
            number, column, values = _whole(given.get("r", ""), number + 1), -1, {}
            done.append((number, values))

        def take(given: Attributes, text: str) -> None:
            nonlocal column
            place = _PLACE.fullmatch(given.get("r", ""))
            column = _column(place[1]) if place else column + 1
            value = self._value(given.get("t", "n"), given.get("s", ""), text)
            if value is not None:
                values[column] = value

        into = _Texts("c", take, begin)
        for _ in self._parse(self._sheet, into.start, into.end, into.text):
            if len(done) > 1:  # the last one may go on
                yield from done[:-1]
                done = done[-1:]
        yield from done

    def _value(self, kind: str, style: str, text: str) -> Any:
        """What a cell holds; None where that is nothing, or an error such as #N/A."""
        if kind == "e" or not text:
            return None
        if kind == "s":
            at = _whole(text, len(self._texts))
            if at >= len(self._texts):
                raise DataError(f"{self.name}: a cell refers to a text {shorten(text)} that is not there")
            return self._texts[at]
        if kind == "b":
            return text.strip() == "1"
        if kind != "n":
            return text
        number = parse_number(text)
        if number is None:
            raise DataError(f"{self.name}: a cell says that {shorten(text)} is a number")
        return self._day(number) if style in self._dates else number

    def _day(self, serial: float) -> Any:
        """The day that is stored as a number; the 1900 of workbooks has a 29th of February."""
        early = self._epoch.year == 1899 and serial < 60
        try:
            return self._epoch + datetime.timedelta(days=int(serial) + early)
        except (OverflowError, ValueError):
            return serial

    def _main(self, path: str) -> tuple[datetime.date, dict[str, str], tuple[str, ...]]:
        """The day 0 of the workbook, the ids of its sheets by name, and the names of those that are not hidden."""
        found = self._elements(path, "sheet", "workbookPr")
        old = any(given.get("date1904") in ("1", "true") for name, given in found if name == "workbookPr")
        ids: dict[str, str] = {}
        shown: dict[str, None] = {}
        for given in (given for name, given in found if name == "sheet"):
            called = given.get("name", "")
            ids.setdefault(called, next((value for key, value in given.items() if key.endswith(":id")), ""))
            if given.get("state", "visible") == "visible":
                shown[called] = None
        return datetime.date(1904, 1, 1) if old else datetime.date(1899, 12, 30), ids, tuple(shown or ids)

    def _related(self, path: str, key: str) -> dict[str, str]:
        """Parts of the archive that another part refers to, by their id or by the last word of their type."""
        if path not in self._archive.NameToInfo:
            return {}
        base = PurePosixPath(path).parent.parent
        found = self._elements(path, "Relationship")
        return {
            given.get(key, "").rpartition("/")[2]: str(base / given.get("Target", "")).lstrip("/") for _, given in found
        }

    def _elements(self, path: str, *names: str) -> list[tuple[str, Attributes]]:
        """The attributes of all elements of these names, in order."""
        found: list[tuple[str, Attributes]] = []

        def start(tag: str, given: Attributes) -> None:
            if (name := tag.rpartition(":")[2]) in names:
                found.append((name, given))

        for _ in self._parse(path, start):
            pass
        return found

    def _parse(
        self,
        path: str,
        start: Callable[[str, Attributes], None],
        end: Callable[[str], None] | None = None,
        text: Callable[[str], None] | None = None,
    ) -> Iterator[None]:
        """Parse one part of the archive, a piece at a time."""
        info = self._archive.NameToInfo.get(path)
        if info is None:
            raise DataError(f"{self.name}: {shorten(path)} is missing in the workbook")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack without a bound
            raise DataError(f"{self.name}: {shorten(path)} in it is packed in a way that workbooks are not")
        self._budget.bytes(info.file_size, "unpacked content")  # no more than this is ever unpacked
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
        parser.StartDoctypeDeclHandler = self._no_doctype
        try:
            with self._archive.open(info) as stream:
                while piece := stream.read(_PIECE):
                    self._budget.tick()
                    parser.Parse(piece, False)
                    yield
            parser.Parse(b"", True)
        except (DataError, MemoryError):
            raise
        except (expat.ExpatError, *_DAMAGE) as problem:
            raise DataError(f"{self.name}: {shorten(path)} in it cannot be read ({problem})") from problem
        yield

    def _no_doctype(self, *_: Any) -> None:
        raise DataError(f"{self.name}: its XML declares a document type, which workbooks do not")


class _Texts:
    """Hands on the text of every element of one name: of its runs, but not of how they are pronounced."""

    def __init__(
        self, name: str, take: Callable[[Attributes, str], None], row: Callable[[Attributes], None] | None = None
    ) -> None:
        self._name, self._take, self._row = name, take, row
        self._given: Attributes = {}
        self._pieces: list[str] = []
        self._inside = self._aside = False

    def start(self, tag: str, given: Attributes) -> None:
        name = tag.rpartition(":")[2]
        if name == self._name:
            self._given, self._pieces = given, []
        elif name in ("v", "t"):
            self._inside = not self._aside
        elif name == "rPh":
            self._aside = True
        elif name == "row" and self._row is not None:
            self._row(given)

    def end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        if name in ("v", "t"):
            self._inside = False
        elif name == self._name:
            self._take(self._given, "".join(self._pieces))
        elif name == "rPh":
            self._aside = False

    def text(self, text: str) -> None:
        if self._inside:
            self._pieces.append(text)


def _whole(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


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
        self.columns = [Column(name, "nominal") for name in names]
        sample = [values for _, values in islice(self._rows(), _SAMPLE_ROWS)]
        self.columns = [self._guess(name, [row.get(j) for row in sample]) for j, name in enumerate(names)]

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield the rows as columns of cells."""
        every = range(len(self.columns))  # a row has its values by column
        return blocks_of_rows(self._rows(), every, numeric, self._budget)

    def _names(self) -> tuple[list[str], int]:
        """Names of the columns, and the row where the data begins."""
        number, values = next((row for row in self._book.rows() if row[1]), (0, {}))
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

    def _guess(self, name: str, sample: list[Any]) -> Column:
        known = [value for value in sample if value is not None]
        if all(isinstance(value, float) for value in known):
            return Column(name, "auto")
        return column_of_text(name, "auto-date", DateForms(known), self._options.dates, self.hints)

    def _rows(self) -> Iterator[Row]:
        """Rows of data, without what stands for a missing value."""
        width = len(self.columns)
        for number, found in self._book.rows():
            if number < self._first:
                continue
            values = {j: value for j, value in found.items() if not self._is_missing(value)}
            if not values:
                continue
            if max(values) >= width:
                raise DataError(
                    f"{self.name}, row {number}, column {_letters(max(values))}: a value stands outside the {width} "
                    "columns that the first row names; begin the sheet with one row that names every column"
                )
            yield number, values

    def _is_missing(self, value: Any) -> bool:
        if isinstance(value, str):
            return value.strip() in self._missing
        return isinstance(value, float) and value in self._missing_numbers


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
