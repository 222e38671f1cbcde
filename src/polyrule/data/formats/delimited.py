"""CSV and TSV: quoted by the rules of RFC 4180, kinds found in the values."""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.data.columns import WORDS, parse_number, shorten
from polyrule.data.dates import DATE_FORMS, DateForms
from polyrule.data.formats.blocks import (
    CELLS_AT_ONCE,
    Block,
    DenseBlock,
    FileColumn,
    Hints,
    column_of_text,
)
from polyrule.data.formats.cells import SplitCells, split_cells
from polyrule.data.formats.encoders import Place
from polyrule.data.formats.margins import check_headers
from polyrule.data.formats.number_style import NumberStyle, other_style
from polyrule.data.sources import LONGEST_LINE, LineBlock, Source, line_blocks
from polyrule.data.written_numbers import find_quantities
from polyrule.errors import DataError, OptionError
from polyrule.utils.budget import MOST_COLUMNS
from polyrule.utils.messages import argument

MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", r"\N")
"""Cells that mean "missing" unless the user says otherwise; databases export ``\\N``, spreadsheets ``#N/A``."""
_DELIMITERS = (",", "\t", ";", "|")
_SAID = re.compile(rb'\n*"?sep=([^\w\n"])"?[ \t]*\n', re.IGNORECASE)
"""The line above the header in which spreadsheets name the delimiter."""
LONGEST_CELL = 131_072
"""Characters of one cell; the csv module reads no longer ones."""

_SAMPLE_ROWS = 1000
_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True)
class DelimitedOptions:
    """Options of delimited text.

    Parameters
    ----------
    delimiter : str, optional
        One character; found in the first line by default.
    header : bool, optional
        Whether the first line holds the names. By default it does, unless all its cells are numbers: then the caller
        must say, because a lost first row would go unnoticed. Without a header the columns are x0, x1, …
    missing : sequence of str
        Cells that stand for a missing value, such as ``-999``, in place of the usual ones; an empty cell always does.
    decimal : str
        The decimal point: ``.`` or ``,``.
    thousands : str, optional
        What stands between groups of three digits: ``,``, ``.``, a space or ``'``. Only columns of numbers are read
        with it, and a column that fits no way of writing numbers as a whole is refused.
    dates : {"day/month/year", "month/day/year"}, optional
        How dates with slashes are written. Found in a column in which some day is past the 12th.
    sheet : str, optional
        The sheet of a workbook; the first that is not hidden by default.
    """

    delimiter: str | None = None
    header: bool | None = None
    missing: Sequence[str] = MISSING
    decimal: str = "."
    thousands: str | None = None
    dates: str | None = None
    sheet: str | None = None

    @property
    def missing_texts(self) -> frozenset[str]:
        """The cells that stand for a missing value."""
        return frozenset({"", *self.missing})

    @property
    def missing_numbers(self) -> frozenset[float]:
        """The numbers that stand for a missing value."""
        plain = NumberStyle()
        return frozenset(float(text) for text in self.missing if plain.plain(text) is not None)

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\n\r'):
            raise OptionError(parameter="delimiter", value=self.delimiter, allowed="one character")
        if self.delimiter is not None and self.delimiter == self.decimal:
            raise OptionError(parameter="decimal", value=self.decimal, allowed="another character than the delimiter")
        if isinstance(self.missing, str):  # one text, not its characters
            object.__setattr__(self, "missing", (self.missing,))
        NumberStyle(self.decimal, self.thousands)  # which refuses what is no style
        if self.dates is not None and self.dates not in DATE_FORMS:
            raise OptionError(parameter="dates", value=self.dates, allowed=f"one of {', '.join(DATE_FORMS)}")


class DelimitedReader:
    """Reads delimited text; a column is tentatively numeric if its first rows are."""

    def __init__(self, source: Source, options: DelimitedOptions | None = None, ending: str = "") -> None:
        self.name, self.unit = source.name, "line"
        self.hints = Hints()
        self._source, self._options = source, options or DelimitedOptions()
        self._missing = self._options.missing_texts
        self._style = NumberStyle(self._options.decimal, self._options.thousands)
        self._unnamed: list[bool] | None = None
        first = next((block for block in line_blocks(source, _SAMPLE_BYTES) if block.text.strip()), None)
        if first is None:
            raise DataError(f"{source.name}: the file is empty")
        sep_line = _SAID.match(first.text)
        self._above = sep_line[0].count(b"\n") if sep_line else 0  # lines before the first row
        guessed = sep_line[1].decode("latin-1") if sep_line else guess_delimiter(first.text, ending)
        self.delimiter = self._options.delimiter or guessed
        names, self._body_line = self._header()
        self._width = len(names)  # including columns at the end that have neither a name nor a value
        self.columns = [FileColumn(name, "auto") for name in names]
        self.columns = self._guess_columns(names)

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield the rows by whole columns; blocks that are written in an odd way row by row."""
        for block in self._body():
            self._source.budget.tick()
            cells = split_cells(block.text, self.delimiter, self._width, block.first, LONGEST_CELL)
            if cells is None:
                yield from self._careful(block, numeric)
            else:
                yield DenseBlock(self._columns(cells, numeric), cells.lines)

    def _columns(self, cells: SplitCells, numeric: Sequence[bool]) -> list[Any]:
        """Convert all columns: arrays of numbers where they are, else texts."""
        self._check_outside([cells.texts(j, self._missing) for j in range(len(numeric), self._width)], cells.lines)
        columns: list[Any] = [None] * len(numeric)
        if self._style.is_plain and (places := [j for j, is_number in enumerate(numeric) if is_number]):
            missing = self._missing, self._options.missing_numbers
            for j, numbers in zip(places, cells.numbers(places, *missing), strict=True):
                columns[j] = numbers
        for j, is_number in enumerate(numeric):
            if columns[j] is None:
                columns[j] = cells.texts(j, self._missing)
                if is_number and not self._style.is_plain:
                    columns[j] = self._in_python(list(columns[j]), Place(self.name, self.columns[j].name, cells.lines))
        return columns

    def _body(self, block_bytes: int | None = None) -> Iterator[LineBlock]:
        """Blocks of whole rows below the header."""
        blocks = (block.below(self._body_line) for block in self._whole_rows(block_bytes))
        return (block for block in blocks if block.text)

    def _whole_rows(self, block_bytes: int | None = None) -> Iterator[LineBlock]:
        """Line blocks, joined where a quoted cell runs over the end of one."""
        rest: LineBlock | None = None
        for block in line_blocks(self._source, block_bytes):
            if rest is not None:
                block = LineBlock(rest.first, rest.text + block.text)
                rest = None
            if block.text.count(b'"') % 2:
                end = _end_of_rows(block.text)
                if end:
                    yield LineBlock(block.first, block.text[:end])
                rest = LineBlock(block.first + block.text.count(b"\n", 0, end), block.text[end:])
                self._check_quote(rest)
            else:
                yield block
        if rest is not None:
            yield rest

    def _check_quote(self, block: LineBlock) -> None:
        """Refuse a row that cannot end well: its last cell is already longer than one can be, or the row is."""
        last = block.text.rfind(b'"')
        if len(block.text) - last > 4 * LONGEST_CELL or len(block.text) > LONGEST_LINE:
            line = block.first + block.text.count(b"\n", 0, last)
            raise DataError(
                f"{self.name}, line {line}: a quote is opened but not closed within {LONGEST_CELL} characters"
            )

    def _careful(self, block: LineBlock, numeric: Sequence[bool] = ()) -> Iterator[DenseBlock]:
        """Go row by row; text takes much more room as Python objects, so it is handed on in small pieces."""
        width = self._width
        max_rows = max(1, CELLS_AT_ONCE // max(width, 1))
        lines: list[int] = []
        rows: list[list[str]] = []
        reader = csv.reader(self._lines(block), delimiter=self.delimiter, strict=True)
        line = block.first
        try:
            for row in reader:
                if row and (len(row) > 1 or row[0].strip() or width == 1):
                    if len(row) != width:
                        raise self._wrong_width(line, len(row))
                    lines.append(line)
                    rows.append(row)
                    if len(rows) >= max_rows:
                        self._source.budget.tick()
                        yield DenseBlock(self._cells(rows, lines, numeric), lines)
                        lines, rows = [], []
                line = block.first + reader.line_num
        except csv.Error as problem:
            raise DataError(f"{self.name}, line {line}: {_reason(problem)}") from problem
        if rows:
            yield DenseBlock(self._cells(rows, lines, numeric), lines)

    def _wrong_width(self, line: int, n_values: int) -> DataError:
        advice = ""
        if n_values == 1:
            advice = "; delete it if it is a note around the table"
        elif self._width == 1:
            advice = "; delete the lines above the one that names the columns"
        return DataError(f"{self.name}, line {line}: {n_values} values, but there are {self._width} columns{advice}")

    def _check_outside(self, columns: Sequence[Sequence[str | None]], lines: Sequence[int]) -> None:
        """Raise if there is a value in a column without a name."""
        for j, cells in enumerate(columns, len(self.columns)):
            if (row := next((row for row, cell in enumerate(cells) if cell is not None), None)) is not None:
                raise DataError(
                    f"{self.name}, line {lines[row]}: {shorten(cells[row])} stands in column {j + 1}, which has no "
                    "name; give it one in the first line"
                )

    def _lines(self, block: LineBlock) -> Iterator[str]:
        """The lines of a block, unless one has more cells than can be meant."""
        for number, line in enumerate(block.lines(), start=block.first):
            if len(line) > MOST_COLUMNS and line.count(self.delimiter) >= MOST_COLUMNS:
                raise DataError(f"{self.name}, line {number}: more than the {MOST_COLUMNS} columns that can be read")
            yield line + "\n"

    def _cells(self, rows: list[list[str]], lines: list[int], numeric: Sequence[bool]) -> list[list[str | None]]:
        missing = self._missing
        columns: list[list[str | None]] = []
        for j, column in enumerate(zip(*rows, strict=True)):
            cells: list[str | None] = [None if (cell := raw.strip()) in missing else cell for raw in column]
            if j < len(numeric) and numeric[j] and not self._style.is_plain:
                cells = self._in_python(cells, Place(self.name, self.columns[j].name, lines))
            columns.append(cells)
        if len(numeric):
            self._check_outside(columns[len(numeric) :], lines)
            del columns[len(numeric) :]
        return columns

    def _in_python(self, cells: list[str | None], place: Place) -> list[str | None]:
        """Write numbers as Python does; what is no number stays, unless Python would take it for another one."""
        plain = [cell if cell is None else self._style.plain(cell) for cell in cells]
        for row, (cell, number) in enumerate(zip(cells, plain, strict=True)):
            if cell is not None and number is None:
                if parse_number(cell) is not None and cell.lower() not in WORDS:
                    problem = f"{shorten(cell)} is not written as other numbers are; check {argument('decimal')}"
                    raise place.error(row, problem)
                plain[row] = cell
        return plain

    def _header(self) -> tuple[list[str], int]:
        """Names of the columns, and the line where the data begins."""
        for block in self._whole_rows(_SAMPLE_BYTES):
            block = block.below(self._above + 1)
            reader = csv.reader(self._lines(block), delimiter=self.delimiter, strict=True)
            above = 0
            try:
                for row in reader:
                    if any(cell.strip() for cell in row):
                        names, is_header = self._names(self._name_cells(row, block, above))
                        self._source.budget.names(len(names))
                        return names, block.first + reader.line_num if is_header else self._above + 1
                    above = reader.line_num
            except csv.Error as problem:
                raise DataError(f"{self.name}, line {block.first}: {_reason(problem)}") from problem
        raise DataError(f"{self.name}: the file is empty")

    def _name_cells(self, row: list[str], block: LineBlock, above: int) -> list[str]:
        """The cells of the first row; spaces around a name count only inside its quotes."""
        if not any(cell != cell.strip() for cell in row):
            return row
        text = block.text.split(b"\n", above)[above].decode()
        quoted = _quoted_cells(text, self.delimiter, len(row))
        return [cell if inside and cell.strip() else cell.strip() for cell, inside in zip(row, quoted, strict=True)]

    def _names(self, first: list[str]) -> tuple[list[str], bool]:
        is_header = self._options.header
        if is_header is None:
            if all(self._style.plain(cell) is not None or cell.strip().lower() in WORDS for cell in first):
                raise DataError(
                    f"{self.name}, line 1: all cells of the first line are numbers; pass {argument('header', False)} "
                    f"if it is data, {argument('header', True)} if these are the names of the columns"
                )
            is_header = True
        if not is_header:
            return [f"x{j}" for j in range(len(first))], False
        self._unnamed = [not name for name in first]
        return [name or f"column {j}" for j, name in enumerate(first)], True

    def _guess_columns(self, names: list[str]) -> list[FileColumn]:
        first = next(self._body(_SAMPLE_BYTES), None)
        row: list[str] = []
        if first is not None:
            with contextlib.suppress(csv.Error):  # which is found again, with its line
                row = next(csv.reader(self._lines(first), delimiter=self.delimiter), [])
        if len(row) > len(names) and not any(cell.strip() for cell in row[len(names) :]):
            self._width = len(row)  # each row ends with a delimiter
        blocks = (part for block in self._body(_SAMPLE_BYTES) for part in self._careful(block))
        block = next(blocks, None)
        if block is None:
            return [FileColumn(name, "numeric") for name in names]
        named = len(names)
        while (
            named > 1
            and self._unnamed
            and self._unnamed[named - 1]
            and all(cell is None for cell in block.cells[named - 1])
        ):
            named -= 1
        columns = [cells[:_SAMPLE_ROWS] for cells in block.cells[:named]]
        if self._style.is_plain:
            check_headers(self.name, self.unit, block.lines, names[:named], columns)
        return [self._guess(name, cells) for name, cells in zip(names[:named], columns, strict=True)]

    def _guess(self, name: str, sample: Sequence[str | None]) -> FileColumn:
        style = self._style
        if all(cell is None or style.plain(cell) is not None or cell.lower() in WORDS for cell in sample):
            return FileColumn(name, "auto")
        other = other_style(sample, style)
        if other is not None:
            cells = [cell for cell in sample if cell is not None]
            is_read = style.is_plain and find_quantities(name, cells, [1] * len(cells))
            return FileColumn(name, "nominal" if is_read else "mixed", remark=other[0], advice=other[1])
        return column_of_text(name, "auto-date", DateForms(sample), self._options.dates, self.hints)


def _end_of_rows(text: bytes) -> int:
    """End of the last row whose quotes are all closed."""
    raw = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(raw == 10)
    quotes = np.flatnonzero(raw == 34)
    closed = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return int(closed[-1]) + 1 if len(closed) else 0


def _quoted_cells(text: str, delimiter: str, count: int) -> list[bool]:
    """Mask of the first cells of a text in quotes, which csv.reader does not return."""
    inside = re.compile(r'"(?:[^"]++|"")*+"?')
    flags, position = [], 0
    for _ in range(count):
        quoted = inside.match(text, position)
        flags.append(quoted is not None)
        end = text.find(delimiter, quoted.end() if quoted else position)
        position = len(text) if end < 0 else end + 1
    return flags


def guess_delimiter(text: bytes, ending: str = "") -> str:
    """Find the delimiter in the first line, outside quotes.

    Examples
    --------
    >>> guess_delimiter(b'"a,b";c;d')
    ';'
    """
    if ending == ".tsv":
        return "\t"
    first = text.lstrip(b"\n").split(b"\n", 1)[0].decode()
    outside = "".join(part for j, part in enumerate(first.split('"')) if j % 2 == 0)
    return max(_DELIMITERS, key=outside.count)


def _reason(problem: csv.Error) -> str:
    if "unexpected end of data" in str(problem):
        return "a quote is opened but never closed"
    if "field larger than field limit" in str(problem):
        return f"a cell is longer than {LONGEST_CELL} characters; a quote may not be closed"
    return str(problem)
