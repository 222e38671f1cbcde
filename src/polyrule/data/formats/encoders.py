"""Raw cells of one column become numbers, category indices or labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.data.columns import (
    Categories,
    UnseenCategories,
    category_text,
    cell_text,
    is_missing,
    listing,
    parse_number,
    shorten,
)
from polyrule.data.dates import DATE_FORMS, day_said, is_local_date, moment_of
from polyrule.data.formats.cells import TextColumn
from polyrule.data.formats.number_style import NumberStyle, other_style
from polyrule.data.labels import UNKNOWN, tag_mark, truths
from polyrule.data.table import CODED, TEXTUAL, Feature, FeatureKind
from polyrule.errors import DataError
from polyrule.utils.arrays import Bytes, Floats, Ints
from polyrule.utils.messages import argument

_PLAIN = b"0123456789.+-eE"


class KindConflict(Exception):
    """A column that looked numeric so far holds text: the kinds must be found again from the whole file."""


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a block of cells, for error messages."""

    file: str
    column: str
    lines: Sequence[int]
    unit: str = "line"

    def error(self, row: int, problem: str) -> DataError:
        """Make an error that names file, line and column."""
        return DataError(f"{self.file}, {self.unit} {self.lines[row]}, column {self.column!r}: {problem}")


def parse_numbers(cells: Sequence[Any]) -> Floats | int:
    """Read a list of cells as numbers; returns the position of the first cell that is none."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    joined = "".join(texts)
    only_text = len(texts) + cells.count(None) == len(cells)
    if only_text and joined.isascii() and not joined.encode().translate(None, _PLAIN):
        try:
            return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=np.float64)
        except ValueError:
            pass  # such as "1-2" or "": found again below
    numbers = np.empty(len(cells))
    for row, cell in enumerate(cells):
        number = _cell_number(cell)
        if number is None:
            return row
        numbers[row] = number
    return numbers


def _cell_number(cell: Any) -> float | None:
    if cell is None:
        return float("nan")
    if isinstance(cell, str):
        return parse_number(cell)
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return None
    try:
        return float(cell)
    except OverflowError:
        return float("inf")


class ColumnEncoder:
    """Encodes one feature column, block after block.

    The categories of a nominal or ordinal column come in their order; those of a nominal one may be left out: they are
    gathered from the cells and sorted at the end. Categories that are not among them are counted in `unseen` and
    missing, or without it an error. `tentative`: the kind is a guess from the first rows, so that text among numbers,
    or what is no date among dates, raises `KindConflict`. `date_form`: how dates are written, if not as 2021-12-31.

    Examples
    --------
    >>> hue = ColumnEncoder("hue", "nominal")
    >>> codes = hue.encode(["red", "blue", None, "red"], Place("songs.csv", "hue", [2, 3, 4, 5]))
    >>> hue.final_codes(codes), hue.feature().categories
    (array([ 1.,  0., nan,  1.]), ('blue', 'red'))
    """

    def __init__(
        self,
        name: str,
        kind: FeatureKind,
        categories: tuple[str, ...] | None = None,
        unseen: UnseenCategories | None = None,
        tentative: bool = False,
        date_form: str | None = None,
        separator: str = "",
        declared: bool = False,
    ) -> None:
        self.separator, self.declared = separator, declared
        self.name, self.kind, self.unseen, self.tentative, self.date_form = name, kind, unseen, tentative, date_form
        self.frozen = categories is not None
        self._infinite: DataError | None = None
        self._categories = Categories(categories or ())

    @property
    def takes_numbers(self) -> bool:
        """True if cells may be parsed as numbers without losing anything."""
        if self.kind == "numeric":
            return True
        return self.kind != "date" and self.frozen and len(self._categories.numbers) == len(self._categories.codes)

    @property
    def plain_codes(self) -> int:
        """Number of categories if they are 0, 1, 2, … in this order, so that a number is its own code; otherwise 0."""
        return len(self._categories.codes) if self.kind in CODED and self.frozen and self._categories.count_up else 0

    def encode(self, cells: Any, place: Place) -> Floats:
        """Encode a block of cells: an array of numbers, or a list of texts and other values."""
        if self.kind == "numeric":
            return self._numbers(cells, place)
        if isinstance(cells, TextColumn):
            return self._of_texts(cells, place)
        return self._days(cells, place) if self.kind == "date" else self._codes(cells, place)

    def _of_texts(self, cells: TextColumn, place: Place) -> Floats:
        """Encode each distinct text once; where the first row of one is, an error is."""
        lines = [place.lines[row] for row in cells.first_rows]
        place = Place(place.file, place.column, lines, place.unit)
        if self.kind == "date":
            return self._days(cells.texts, place)[cells.codes]
        n_rows = None if self.unseen is None else np.bincount(cells.codes, minlength=len(cells.texts))
        return self._codes(cells.texts, place, n_rows)[cells.codes]

    def feature(self) -> Feature:
        """Describe the column; gathered categories come sorted."""
        if self._infinite is not None:
            raise self._infinite
        if self.kind in ("numeric", "date"):
            return Feature(self.name, self.kind, form=self.date_form or "")
        categories = tuple(self._categories.codes if self.frozen else sorted(self._categories.codes))
        return Feature(self.name, self.kind, categories, separator=self.separator)

    def restart(self) -> None:
        """Forget the texts or lists of the rows so far, which no later row needs."""
        if self.kind in TEXTUAL and not self.frozen:
            self._categories = Categories()

    def final_codes(self, codes: Floats) -> Floats:
        """Translate codes given while categories were still being gathered to the final, sorted order."""
        if self.kind in ("numeric", "date") or self.frozen:
            return codes
        ranks = {category: rank for rank, category in enumerate(sorted(self._categories.codes))}
        table = np.array([ranks[category] for category in self._categories.codes] + [np.nan])
        return table[np.where(np.isnan(codes), len(ranks), codes).astype(np.int64)]

    def freeze(self) -> None:
        """Fix the categories gathered so far, sorted."""
        self._categories = Categories(self.feature().categories)
        self.frozen, self.tentative = True, False

    def _numbers(self, cells: Any, place: Place) -> Floats:
        numbers = cells if isinstance(cells, np.ndarray) else parse_numbers(cells)
        if isinstance(numbers, int):
            if self.tentative:
                raise KindConflict(self.name)
            cell = cells[numbers]
            other = other_style([cell], NumberStyle()) if isinstance(cell, str) else None
            hint = "" if other is None else f"; if these are {other[0].partition(' such as ')[0]}, {other[1]}"
            raise place.error(numbers, f"expected a number, found {shorten(cell)}{hint}")
        infinite = np.isinf(numbers)
        if infinite.any():
            error = place.error(int(np.argmax(infinite)), "the value is infinite or too large for a number")
            if not self.tentative:
                raise error
            self._infinite = self._infinite or error  # text further down would make it a category
        return numbers

    def _days(self, cells: Any, place: Place) -> Floats:
        days = np.empty(len(cells))
        for row, cell in enumerate(cells):
            day = np.nan if is_missing(cell) else moment_of(cell, self.date_form)
            if day is None and not self.tentative:
                day = day_said(cell)
            if day is None:
                if self.date_form is not None and is_local_date(cell):
                    why = f"{shorten(cell)} is no date, if dates are written {self.date_form}; see {argument('dates')}"
                    raise place.error(row, why)
                if self.tentative:
                    raise KindConflict(self.name)
                forms = " or ".join(argument("dates", form) for form in DATE_FORMS)
                hint = f"; pass {forms}" if is_local_date(cell) else ""
                raise place.error(row, f"expected a date such as 2021-03-05, found {shorten(cell)}{hint}")
            days[row] = day
        return days

    def _codes(self, cells: Any, place: Place, n_rows: Ints | None = None) -> Floats:
        if self.frozen and self.unseen is not None and not self._categories.codes:
            return np.full(len(cells), np.nan)  # a column that was left out when the model was fitted
        if self.kind in TEXTUAL:
            for row, cell in enumerate(cells):
                if not isinstance(cell, (str, list, int, float, type(None))):
                    raise place.error(row, f"nested values and times such as {shorten(cell)} are not supported")
            cells = [cell_text(cell, self.separator) for cell in cells]
        codes, lost = self._categories.encode(cells)
        for row in lost:
            if isinstance(cells[row], (list, dict)):
                raise place.error(row, f"nested values such as {shorten(cells[row])} are not supported")
            text = category_text(cells[row])
            if not self.frozen:
                codes[row] = self._categories.codes.setdefault(text, len(self._categories.codes))
            elif self.unseen is None:
                declared = listing(self._categories.codes)
                raise place.error(row, f"{shorten(text)} is not one of the declared values {declared}")
        if self.unseen is not None:
            rows = lost if n_rows is None else np.repeat(lost, n_rows[lost])
            self.unseen.add(self.name, [cells[row] for row in rows])
        return codes


def encode_labels(cells: Any, place: Place) -> Bytes:
    """Read cells of a label column: 0 and 1, or words such as no and yes; a missing one is unknown."""
    truth = truths(cells.texts)[cells.codes] if isinstance(cells, TextColumn) else truths(cells)
    wrong = truth > UNKNOWN
    if wrong.any():
        row = int(np.argmax(wrong))
        cell = category_text(float(cells[row])) if isinstance(cells, np.ndarray) else cells[row]
        mark = tag_mark(cell)
        is_list = mark or isinstance(cell, list)
        hint = f"; if the column lists tags, pass {argument('tags')} instead of {argument('labels')}" if is_list else ""
        hint += f", and {argument('tag_separator', mark)}" if mark else ""
        raise place.error(row, f"{shorten(cell)} is not a label; a label is 0 or 1, or a word such as no or yes{hint}")
    return truth
