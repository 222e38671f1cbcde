"""What every format reader hands on: columns, and blocks of rows whose cells still have to be encoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, Protocol

import numpy as np

from polyrule.data.columns import shorten
from polyrule.data.dates import IN_WORDS, DateForms
from polyrule.errors import DataError
from polyrule.utils.arrays import Floats, Ints
from polyrule.utils.budget import Budget
from polyrule.utils.messages import argument

ColumnKind = Literal["numeric", "nominal", "string", "date", "relational", "nested", "mixed", "auto", "auto-date"]

CELLS_AT_ONCE = 200_000
"""Cells that are held as Python objects at a time."""


@dataclass(frozen=True, slots=True)
class FileColumn:
    """Description of one column by its file; kind "auto" if only the values can tell whether they
    are numbers, "auto-date" if the first of them are dates.
    """

    name: str
    kind: ColumnKind
    categories: tuple[str, ...] | None = None
    remark: str = ""
    advice: str = "make it one kind"
    date_form: str | None = None  # how its dates are written, if not as 2021-12-31

    @property
    def omitted(self) -> str:
        """Value of the column in a sparse row that omits it."""
        return "0" if self.kind == "numeric" else (self.categories or ("",))[0]


@dataclass(slots=True)
class DenseBlock:
    """Rows as columns of raw cells.

    Each column is an array of numbers, or a list of cells: text, or None where the value is missing. Typed formats also
    put numbers, booleans and lists into cells.
    """

    cells: Sequence[Any]
    lines: Sequence[int]
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, position: int, _: str) -> Sequence[Any]:
        """Cells of one column."""
        cells: Sequence[Any] = self.cells[position]
        return cells


@dataclass(slots=True)
class SparseBlock:
    """Rows as (row, column, cell) entries; an entry that is not there is 0 or the first category.

    A format that lists the labels of a row by name puts them into `tags`.
    """

    rows: Ints
    columns: Ints
    cells: Any
    lines: Sequence[int]
    weights: Floats | None = None
    tags: list[list[str]] | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def refuse_outside(self, file: str, what: str, width: int, reason: str) -> None:
        """Refuse an entry of a column that is not there; `reason` quotes the header."""
        outside = (self.columns < 0) | (self.columns >= width)
        if outside.any():
            entry = int(np.argmax(outside))
            where = f"{file}, line {self.lines[self.rows[entry]]}"
            raise DataError(f"{where}: {what} {self.columns[entry]} is out of range; {reason} (0 to {width - 1})")

    def refuse_twice(self, file: str, what: str) -> None:
        """Refuse a row that mentions a column twice; the order of its entries is free."""
        if ((np.diff(self.columns) > 0) | (np.diff(self.rows) > 0)).all():
            return
        order = np.lexsort((self.columns, self.rows))
        twice = (np.diff(self.columns[order]) == 0) & (np.diff(self.rows[order]) == 0)
        if twice.any():
            entry = order[int(np.argmax(twice))]
            line = self.lines[self.rows[entry]]
            raise DataError(f"{file}, line {line}: {what} {self.columns[entry]} appears twice")

    def column(self, position: int, omitted: str) -> Sequence[Any]:
        """Cells of one column, `omitted` where a row does not mention it."""
        cells: list[Any] = [omitted] * len(self)
        for entry in np.flatnonzero(self.columns == position):
            cells[self.rows[entry]] = self.cells[entry]
        return cells


Block = DenseBlock | SparseBlock


@dataclass
class Hints:
    """Hints in a file about its labels and the form of its dates."""

    meka: int | None = None
    filtered_after_meka: bool = False
    lists_labels: bool = False
    label_names: tuple[str, ...] | None = None
    dates: str | None = None


class Reader(Protocol):
    """A format: the columns first, then the rows, as often as asked; `unit` is what its rows are called in messages."""

    name: str
    unit: str
    columns: list[FileColumn]
    hints: Hints

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield the rows; `numeric` marks the columns whose cells may come as arrays of numbers."""


EITHER = "day/month/year or month/day/year"
"""In place of a form: the column does not show which it is."""
TIMES = "times of day"


def column_of_text(name: str, kind: ColumnKind, dates: DateForms, dates_option: str | None, hints: Hints) -> FileColumn:
    """Describe a column of text by the forms that its cells have as dates: of this `kind`, or of categories.

    If more than one form is left the column is "mixed", unless `dates_option` chooses. What is found about slashes is
    noted in `hints`, because new data may not tell.

    >>> column_of_text("on", "date", DateForms(["3/4/2021"]), None, Hints()).advice
    "pass dates='day/month/year' or dates='month/day/year'"
    >>> column_of_text("on", "date", DateForms(["31.12.2021"]), None, Hints()).date_form
    'day/month/year'
    >>> column_of_text("at", "date", DateForms(["2021-03-05 14:30:00", None]), None, Hints()).remark
    'times of day'
    """
    forms = [dates_option] if dates_option in dates.left else dates.left
    if not forms and not dates.plain:
        return FileColumn(name, "nominal")
    if len(forms) > 1:
        remark = f"dates such as {shorten(dates.example)}, in which every day may be a month"
        advice = "pass " + " or ".join(argument("dates", form) for form in forms)
        return FileColumn(name, "mixed", remark=remark, advice=advice, date_form=EITHER)
    if dates.slashes:
        hints.dates = forms[0]
    remark = TIMES if dates.timed else ""
    form = IN_WORDS if dates.in_words else None
    return FileColumn(name, kind, date_form=forms[0] if forms else form, remark=remark)


def blocks_of_rows(
    rows: Iterator[tuple[int, Mapping[Any, Any]]], position: Any, numeric: Sequence[bool], budget: Budget
) -> Iterator[DenseBlock]:
    """Yield rows, each with its number in the file, as columns; `position` tells the column of a key.

    Only the values that are there are looked at, however many columns there are.
    """
    seen, width = 0, len(numeric)
    while batch := list(islice(rows, max(1, CELLS_AT_ONCE // max(width, 1)))):
        seen += len(batch)
        budget.cells(seen * width)
        cells: dict[int, list[Any]] = {}
        for row, (_, entries) in enumerate(batch):
            for key, value in entries.items():
                j = position[key]
                if j not in cells:
                    cells[j] = [None] * len(batch)
                cells[j][row] = value
        missing = [None] * len(batch), np.full(len(batch), np.nan)  # shared by the columns without values
        lines = [line for line, _ in batch]
        yield DenseBlock([cells.get(j, missing[is_number]) for j, is_number in enumerate(numeric)], lines)
