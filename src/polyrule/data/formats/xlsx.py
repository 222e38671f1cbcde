"""Workbooks (.xlsx): one sheet, the first that is shown or one by name; its first row names the columns."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from polyrule.data.columns import category_text, shorten
from polyrule.data.dates import DateForms
from polyrule.data.formats.blocks import CELLS_AT_ONCE, Block, Column, DenseBlock, Hints
from polyrule.data.formats.date_columns import column_of_dates, column_of_text
from polyrule.data.formats.delimited import DelimitedOptions
from polyrule.data.formats.workbook import Row, Workbook
from polyrule.data.sources import Source
from polyrule.errors import DataError

_SAMPLE_ROWS = 1000


class XlsxReader:
    """Reads a sheet; kinds are found in the values.

    Numbers that the sheet shows as dates are dates, formulas are what they gave when the workbook was saved, and a cell
    with an error such as ``#N/A`` is missing. Rows without any value are skipped.
    """

    def __init__(self, source: Source, options: DelimitedOptions | None = None) -> None:
        self.name, self.unit, self.hints = source.name, "row", Hints()
        self._budget, self._options = source.budget, options or DelimitedOptions()
        self._missing = frozenset(self._options.missing)
        self._source = source  # whose copy, if it is one, is read from here on
        self._book = Workbook(source.seekable(), source.budget, self._options.sheet)
        weakref.finalize(self, self._book.close)
        names, self._first = self._names()
        self.columns = [Column(name, "nominal") for name in names]
        sample = [values for _, values in islice(self._rows(), _SAMPLE_ROWS)]
        self.columns = [self._guess(name, [row.get(j) for row in sample]) for j, name in enumerate(names)]

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield the rows as columns of cells."""
        rows, seen = self._rows(), 0
        while block := list(islice(rows, max(1, CELLS_AT_ONCE // len(self.columns)))):
            seen += len(block)
            self._budget.cells(seen * len(self.columns))
            cells = [[values.get(j) for _, values in block] for j in range(len(self.columns))]
            yield DenseBlock(cells, [number for number, _ in block])

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
                "header=False if it is data"
            )
        if has_names is False:
            return [f"x{j}" for j in range(width)], number
        return [category_text(values.get(j, f"column {j}")).strip() for j in range(width)], number + 1

    def _guess(self, name: str, sample: list[Any]) -> Column:
        known = [value for value in sample if value is not None]
        if all(isinstance(value, float) for value in known):
            return Column(name, "auto")
        dates = column_of_dates(name, "auto-date", DateForms(known), self._options.dates, self.hints)
        return dates or column_of_text(name, known)

    def _rows(self) -> Iterator[Row]:
        """Rows of data, without what stands for a missing value."""
        width, missing = len(self.columns), self._missing
        for number, found in self._book.rows():
            if number < self._first:
                continue
            values = {j: v for j, v in found.items() if not (isinstance(v, str) and v.strip() in missing)}
            if not values:
                continue
            if max(values) >= width:
                raise DataError(
                    f"{self.name}, row {number}, column {_letters(max(values))}: a value stands outside the {width} "
                    "columns that the first row names; begin the sheet with one row that names every column"
                )
            yield number, values


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
