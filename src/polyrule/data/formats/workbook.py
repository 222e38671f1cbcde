"""What lies in a workbook (.xlsx): a zip archive of XML, read as a stream by the parser that Python brings.

Only what is needed is unpacked, what it unpacks to is held against the budget first, and a document that declares
entities is refused.
"""

from __future__ import annotations

import datetime
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any
from xml.parsers import expat

from polyrule.budget import Budget
from polyrule.data.columns import listing, shorten
from polyrule.data.formats.encoders import parse_number
from polyrule.errors import DataError

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
    """A workbook that has been opened.

    Parameters
    ----------
    content : path or seekable binary stream
    budget : Budget
        What it may cost; it names the file in errors.
    sheet : str, optional
        The sheet to read; the first that is not hidden by default.

    Attributes
    ----------
    sheets : tuple of str
        The names of those that are not hidden.
    """

    def __init__(self, content: Any, budget: Budget, sheet: str | None = None) -> None:
        self._budget, self.name = budget, budget.name
        try:
            self._archive = zipfile.ZipFile(content)
        except _DAMAGE as problem:
            raise DataError(f"{self.name}: not a readable workbook or zip archive ({problem})") from problem
        self.close = self._archive.close
        main = self._related("_rels/.rels", "Type").get("officeDocument", "")
        if not main.endswith("workbook.xml"):
            raise DataError(f"{self.name}: this is a zip archive but no workbook (.xlsx); unpack it, or save it as CSV")
        related = _relations(main)
        self._epoch, ids, self.sheets = self._main(main)
        self.sheet = sheet if sheet is not None else next(iter(self.sheets), "")
        if sheet is not None and sheet not in ids:
            raise DataError(
                f"{self.name}: there is no sheet {shorten(sheet)}; there are {listing(self.sheets)} (sheet=)"
            )
        found = self._related(related, "Id").get(ids.get(self.sheet, ""))
        if found is None:
            raise DataError(f"{self.name}: the workbook has no sheet")
        self._sheet, self._beside = found, self._related(related, "Type")

    @cached_property
    def _texts(self) -> list[str]:
        """Texts that cells refer to by number."""
        return self._shared(self._beside.get("sharedStrings"))

    @cached_property
    def _dates(self) -> set[str]:
        """Numbers of the styles that show a number as a date."""
        return self._date_styles(self._beside.get("styles"))

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

        for _ in self._parse(self._sheet, _Texts("c", take, begin)):
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

    def _shared(self, path: str | None) -> list[str]:
        texts: list[str] = []
        if path is not None:
            for _ in self._parse(path, _Texts("si", lambda _, text: texts.append(text))):
                pass
        return texts

    def _date_styles(self, path: str | None) -> set[str]:
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

    def _elements(self, path: str, *names: str) -> list[tuple[str, Attributes]]:
        """The attributes of all elements of these names, in order."""
        found = _Elements(frozenset(names))
        for _ in self._parse(path, found):
            pass
        return found.found

    def _parse(self, path: str, into: _Elements | _Texts) -> Iterator[None]:
        """Parse one part of the archive, a piece at a time."""
        info = self._archive.NameToInfo.get(path)
        if info is None:
            raise DataError(f"{self.name}: {shorten(path)} is missing in the workbook")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack without a bound
            raise DataError(f"{self.name}: {shorten(path)} in it is packed in a way that workbooks are not")
        self._budget.bytes(info.file_size, "unpacked content")  # no more than this is ever unpacked
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = into.start, into.end
        parser.CharacterDataHandler = into.text
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


class _Elements:
    """Keeps the attributes of elements with certain names."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self.found: list[tuple[str, Attributes]] = []

    def start(self, tag: str, given: Attributes) -> None:
        if (name := tag.rpartition(":")[2]) in self._names:
            self.found.append((name, given))

    def end(self, tag: str) -> None: ...

    def text(self, text: str) -> None: ...


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


def _relations(path: str) -> str:
    """Where the archive says what a part of it refers to."""
    part = PurePosixPath(path)
    return str(part.parent / "_rels" / f"{part.name}.rels")


def _whole(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1
