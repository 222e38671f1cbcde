"""Raw cells of one column become numbers, category indices or labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from polyrule.arrays import Bytes, Floats
from polyrule.data.columns import UnseenCategories, category_text, is_missing, listing, shorten
from polyrule.data.dates import day_said, day_written, is_local_date
from polyrule.data.formats.number_style import NumberStyle, other_style
from polyrule.data.labels import TRUTH, UNKNOWN, tag_mark
from polyrule.data.table import Feature, FeatureKind
from polyrule.errors import DataError

_PLAIN = b"0123456789.+-eE"
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
WORDS = {"nan": np.nan, "inf": np.inf, "+inf": np.inf, "-inf": -np.inf, "infinity": np.inf, "-infinity": -np.inf}


class KindConflict(Exception):
    """A column that looked numeric so far holds text: the kinds must be found again from the whole file."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


@dataclass(frozen=True, slots=True)
class Place:
    """Where a block of cells stands, for error messages."""

    file: str
    column: str
    lines: Sequence[int]
    unit: str = "line"

    def error(self, row: int, problem: str) -> DataError:
        """Make an error that names file, line and column."""
        return DataError(f"{self.file}, {self.unit} {self.lines[row]}, column {self.column!r}: {problem}")


def parse_number(text: str) -> float | None:
    """Read a number written in the ordinary way, or None: no underscores, no foreign digits.

    Examples
    --------
    >>> parse_number(" -1.5e3 "), parse_number("1_000"), parse_number("12 cm")
    (-1500.0, None, None)
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    return WORDS.get(text.lower())


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


class Encoder:
    """Encodes one feature column, block after block.

    The categories of a nominal or ordinal column come in their order; those of a nominal one may be left out: they are
    gathered from the cells and sorted at the end. Categories that are not among them are counted in `unseen` and
    missing, or without it an error. `tentative`: the kind is a guess from the first rows, so that text among numbers,
    or what is no date among dates, raises `KindConflict`. `date_form`: how dates are written, if not as 2021-12-31.
    """

    def __init__(
        self,
        name: str,
        kind: FeatureKind,
        categories: tuple[str, ...] | None = None,
        unseen: UnseenCategories | None = None,
        tentative: bool = False,
        date_form: str | None = None,
    ) -> None:
        self.name, self.kind, self.unseen, self.tentative, self.date_form = name, kind, unseen, tentative, date_form
        self.frozen = categories is not None
        self._infinite: DataError | None = None
        self._take(categories or ())

    def _take(self, categories: tuple[str, ...]) -> None:
        self._index = {category: code for code, category in enumerate(categories)}
        self._by_number: dict[float, int] = {}
        for code, category in enumerate(categories):
            number = parse_number(category)
            if number is not None and np.isfinite(number):
                self._by_number.setdefault(number, code)
        self._counts_up = [*self._index] == [str(code) for code in range(len(self._index))]

    @property
    def takes_numbers(self) -> bool:
        """Whether cells may come as parsed numbers without losing anything."""
        if self.kind == "numeric":
            return True
        return self.kind != "date" and self.frozen and len(self._by_number) == len(self._index)

    @property
    def plain_codes(self) -> int:
        """Number of categories if they are 0, 1, 2, … in this order, so that a number is its own code; otherwise 0."""
        return len(self._index) if self.kind in ("nominal", "ordinal") and self.frozen and self._counts_up else 0

    def encode(self, cells: Any, place: Place) -> Floats:
        """Encode a block of cells: an array of numbers, or a list of texts and other values."""
        if self.kind == "numeric":
            return self._numbers(cells, place)
        if self.kind == "date":
            return self._days(cells, place)
        if isinstance(cells, np.ndarray):
            return self._codes_of_numbers(cells, place)
        codes = np.array(
            [np.nan if cell is None else self._index.get(cell, -1) if isinstance(cell, str) else -1 for cell in cells],
            dtype=np.float64,
        )
        for row in np.flatnonzero(codes < 0):
            codes[row] = self._code(cells[row], int(row), place)
        return codes

    def feature(self) -> Feature:
        """Describe the column; gathered categories come sorted."""
        if self._infinite is not None:
            raise self._infinite
        if self.kind in ("numeric", "date"):
            return Feature(self.name, self.kind)
        return Feature(self.name, self.kind, tuple(self._index if self.frozen else sorted(self._index)))

    def final_codes(self, codes: Floats) -> Floats:
        """Translate codes given while categories were still being gathered to the final, sorted order."""
        if self.kind in ("numeric", "date") or self.frozen:
            return codes
        ranks = {category: rank for rank, category in enumerate(sorted(self._index))}
        table = np.array([ranks[category] for category in self._index] + [np.nan])
        return table[np.where(np.isnan(codes), len(ranks), codes).astype(np.int64)]

    def freeze(self) -> None:
        """Fix the categories gathered so far, sorted."""
        self._take(self.feature().categories)
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
            day = np.nan if is_missing(cell) else day_written(cell, self.date_form)
            if day is None and not self.tentative:
                day = day_said(cell)
            if day is None:
                if self.date_form is not None and is_local_date(cell):
                    raise place.error(
                        row, f"{shorten(cell)} is no date, if dates are written {self.date_form}; see dates="
                    )
                if self.tentative:
                    raise KindConflict(self.name)
                hint = "; pass dates='day/month/year' or dates='month/day/year'" if "/" in str(cell) else ""
                raise place.error(row, f"expected a date such as 2021-03-05, found {shorten(cell)}{hint}")
            days[row] = day
        return days

    def _code(self, cell: Any, row: int, place: Place) -> float:
        if cell is None or cell != cell:
            return np.nan
        if isinstance(cell, (list, dict)):
            raise place.error(row, f"nested values such as {shorten(cell)} are not supported")
        text = category_text(cell)
        code = self._index.get(text)
        if code is None and not self.frozen:
            code = self._index[text] = len(self._index)
        if code is None:  # another way to write a number that is a category: 1.0 for 1
            number = parse_number(text)
            code = None if number is None else self._by_number.get(number)
        if code is not None:
            return code
        if self.unseen is not None:
            self.unseen.add(self.name, [text])
            return np.nan
        raise place.error(row, f"{shorten(text)} is not one of the declared values {listing(self._index)}")

    def _codes_of_numbers(self, numbers: Floats, place: Place) -> Floats:
        if self._counts_up:
            wrong = ~(
                (numbers >= 0) & (numbers < len(self._index)) & (numbers == np.floor(numbers)) | np.isnan(numbers)
            )
            if not wrong.any():
                return numbers
        distinct, position = np.unique(numbers, return_inverse=True)
        codes = np.array([self._by_number.get(float(number), np.nan) for number in distinct], dtype=np.float64)
        unknown = np.isnan(codes) & ~np.isnan(distinct)
        if unknown.any() and self.unseen is not None:
            self.unseen.add(self.name, numbers[unknown[position]].tolist())
        elif unknown.any():
            row = int(np.argmax(unknown[position]))
            shown = category_text(float(numbers[row]))
            raise place.error(row, f"{shorten(shown)} is not one of the declared values {listing(self._index)}")
        return codes[position]


def encode_labels(cells: Any, place: Place) -> Bytes:
    """Read cells of a label column: 0 and 1, or words such as no and yes; a missing one is unknown."""
    if isinstance(cells, np.ndarray):
        unknown = np.isnan(cells)
        wrong = ~((cells == 0) | (cells == 1) | unknown)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise _no_label(category_text(float(cells[row])), row, place)
        return np.where(unknown, UNKNOWN, cells).astype(np.uint8)
    return np.array([label_truth(cell, row, place) for row, cell in enumerate(cells)], dtype=np.uint8)


def label_truth(cell: Any, row: int, place: Place) -> int:
    """Read one cell of a label column; a missing one is unknown."""
    if cell is None or (isinstance(cell, float) and isnan(cell)):
        return UNKNOWN
    if isinstance(cell, str):
        truth = TRUTH.get(cell.strip().lower())
        if truth is None and parse_number(cell) in (0.0, 1.0):
            truth = int(float(cell))
    else:
        truth = int(cell) if isinstance(cell, (bool, int, float)) and cell in (0, 1) else None
    if truth is None:
        raise _no_label(cell, row, place)
    return truth


def _no_label(cell: Any, row: int, place: Place) -> DataError:
    mark = tag_mark(cell)
    hint = f"; if the column lists tags, say tags= instead of labels=, and tag_separator={mark!r}" if mark else ""
    return place.error(row, f"{shorten(cell)} is not a label; a label is 0 or 1, or a word such as no or yes{hint}")
