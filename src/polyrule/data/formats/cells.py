"""Cells of delimited text by whole columns: numbers, or distinct texts and a code per row.

A block that is written in an odd way, such as a row that is too short or a quote inside a cell, is not split here: the
csv module reads it, and finds out whether it is wrong, and where. A number of up to 15 digits is a whole number
divided by a power of ten, which is exact (Clinger, How to read floating point numbers accurately, 1990); others are
read one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from polyrule.data.columns import parse_number
from polyrule.utils.arrays import Array, Bools, Floats, Ints

_NEWLINE, _QUOTE, _SPACE, _PLUS, _MINUS, _POINT, _ZERO = b'\n" +-.0'
_OF_NUMBERS = b"0123456789.+-eE"
_WORD = 8
"""Bytes that are compared at a time."""
_LONGEST_TEXT = 64
"""Bytes of a text that is compared by words; a column with a longer one is compared as Python does."""
_LONGEST_NUMBER = 18
_POWERS = 10.0 ** np.arange(_LONGEST_NUMBER + 1)
_EXACT = 1 << 53
_CELLS_AT_ONCE = 1 << 14
"""Numbers that are converted together: arrays of them fit the processor's cache."""
_BUCKETS = 1 << 20
_MULTIPLIERS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
_KEEP = np.array([(1 << (8 * n)) - 1 for n in range(_WORD + 1)], dtype=np.uint64)
"""Masks for the first bytes of a word."""


@dataclass(frozen=True, slots=True)
class TextColumn(Sequence["str | None"]):
    """Cells of a column as distinct texts, in the order of their first rows, and the text of each row by its number.

    Examples
    --------
    >>> hue = TextColumn(["red", None], np.array([0, 1, 0]), np.array([0, 1]))
    >>> list(hue), hue[2], len(hue)
    (['red', None, 'red'], 'red', 3)
    """

    texts: list[str | None]
    codes: Ints
    first_rows: Ints

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> str | None: ...
    @overload
    def __getitem__(self, row: slice) -> list[str | None]: ...
    def __getitem__(self, row: Any) -> Any:
        return list(self)[row] if isinstance(row, slice) else self.texts[self.codes[row]]

    def __iter__(self) -> Iterator[str | None]:
        distinct = np.empty(len(self.texts), dtype=object)
        distinct[:] = self.texts
        return iter(distinct[self.codes].tolist())


@dataclass(slots=True)
class SplitCells:
    """A block of delimited text that has been cut into cells."""

    text: bytes
    begins: Ints  # (rows, columns)
    ends: Ints
    lines: Sequence[int]
    _bytes: Array = field(init=False)
    _words: Array = field(init=False)

    def __post_init__(self) -> None:
        padded = self.text + bytes(2 * _LONGEST_TEXT)
        self._bytes = np.frombuffer(padded, dtype=np.uint8)
        self._words = np.ndarray(len(self.text) + _LONGEST_TEXT, "<u8", padded, strides=(1,))

    def __len__(self) -> int:
        return len(self.begins)

    def texts(self, column: int, missing: AbstractSet[str]) -> TextColumn:
        """Return the texts of a column without quotes and outer blanks, None for `missing` ones."""
        begins, ends = self._unquoted(column)
        first_rows, codes = self._distinct(begins, ends)
        texts: list[str | None] = []
        for begin, end in zip(begins[first_rows].tolist(), ends[first_rows].tolist(), strict=True):
            cell = self.text[begin:end].decode().strip()
            if '"' in cell:
                cell = self.text[begin:end].decode().replace('""', '"').strip()
            texts.append(None if cell in missing else cell)
        return TextColumn(texts, codes, first_rows)

    def numbers(
        self, columns: Sequence[int], missing: AbstractSet[str], missing_numbers: AbstractSet[float]
    ) -> list[Floats | None]:
        """Return the numbers of each column, NaN for `missing` texts; None for a column with anything else."""
        at_once = max(1, _CELLS_AT_ONCE // len(self))
        if len(columns) > at_once:
            parts = (columns[at : at + at_once] for at in range(0, len(columns), at_once))
            return [numbers for part in parts for numbers in self.numbers(part, missing, missing_numbers)]
        begins, ends = self._unquoted(columns)
        begins, ends = self._trimmed(begins.ravel(), ends.ravel())
        values, is_read = self._decimals(begins, ends)
        if missing_numbers:
            is_read &= ~np.isin(values, list(missing_numbers))
        if "" in missing:
            values[begins == ends] = np.nan
            is_read |= begins == ends
        rest = np.flatnonzero(~is_read)
        columns_of_numbers: list[Floats | None] = list(values.reshape(-1, len(columns)).T)
        for at in np.unique(rest % len(columns)).tolist():
            cells = rest[rest % len(columns) == at]
            converted = self._other_numbers(begins[cells], ends[cells], missing, bool(missing_numbers))
            if converted is None:
                columns_of_numbers[at] = None
            else:
                values[cells] = converted
        return columns_of_numbers

    def _other_numbers(
        self, begins: Ints, ends: Ints, missing: AbstractSet[str], some_are_missing: bool
    ) -> Floats | None:
        """Return numbers of many digits, with exponents or in words; None if a cell is not a number."""
        if not some_are_missing and (numbers := self._floats(begins, ends)) is not None:
            return numbers
        first_rows, codes = self._distinct(begins, ends)
        cells = [self.text[begins[row] : ends[row]].decode() for row in first_rows.tolist()]
        distinct = [np.nan if cell.strip() in missing else parse_number(cell) for cell in cells]
        return None if None in distinct else np.array(distinct, dtype=np.float64)[codes]

    def _unquoted(self, columns: Any) -> tuple[Ints, Ints]:
        begins, ends = self.begins[:, columns], self.ends[:, columns]
        is_quoted = self._bytes[begins] == _QUOTE
        return (begins + is_quoted, ends - is_quoted) if is_quoted.any() else (begins, ends)

    def _trimmed(self, begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """Move begins and ends past blanks."""
        while (blank := (self._bytes[begins] == _SPACE) & (begins < ends)).any():
            begins = begins + blank
        while (blank := (self._bytes[ends - 1] == _SPACE) & (begins < ends)).any():
            ends = ends - blank
        return begins, ends

    def _decimals(self, begins: Ints, ends: Ints) -> tuple[Floats, Bools]:
        """Return the values of plain decimals, and whether a cell is one: [+-]digits[.digits]."""
        sign = self._bytes[begins]
        is_negative = sign == _MINUS
        begins = begins + (is_negative | (sign == _PLUS))
        lengths = ends - begins
        mantissa = np.zeros(len(begins), dtype=np.int64)
        n_digits = np.zeros(len(begins), dtype=np.uint8)
        n_points, n_decimals = n_digits.copy(), n_digits.copy()
        for at in range(min(int(lengths.max(initial=0)), _LONGEST_NUMBER)):
            byte = self._bytes[begins + at]
            is_inside = lengths > at
            digit = byte - np.uint8(_ZERO)
            is_digit = (digit < 10) & is_inside
            np.multiply(mantissa, 10, out=mantissa, where=is_digit)
            np.add(mantissa, digit, out=mantissa, where=is_digit)
            n_digits += is_digit
            n_decimals += is_digit & (n_points > 0)
            n_points += (byte == _POINT) & is_inside
        is_decimal = (n_digits + n_points == lengths) & (n_digits > 0) & (n_points <= 1) & (mantissa < _EXACT)
        values = mantissa / _POWERS[n_decimals]
        np.negative(values, out=values, where=is_negative)
        return values, is_decimal

    def _floats(self, begins: Ints, ends: Ints) -> Floats | None:
        """Return cells of digits, signs, points and exponents as numbers; None if one is not a number."""
        cells = [self.text[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        if b"".join(cells).translate(None, _OF_NUMBERS):
            return None
        try:
            return np.array([float(cell) for cell in cells])
        except ValueError:
            return None

    def _distinct(self, begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """Return the first row of each distinct text, in order, and the number of its text for each row."""
        lengths = ends - begins
        longest = int(lengths.max(initial=0))
        if longest > _LONGEST_TEXT:
            return self._distinct_in_python(begins, ends)
        keys = [lengths.astype(np.uint64)]
        for at in range(0, longest, _WORD):
            keys.append(self._words[begins + at] & _KEEP[np.clip(lengths - at, 0, _WORD)])
        first = np.empty(len(begins), dtype=np.int64)
        rows: Any = slice(None)
        for multiplier in _MULTIPLIERS:
            keys_of_rows = keys if isinstance(rows, slice) else [key[rows] for key in keys]
            first_rows, is_same = _first_of_bucket(keys_of_rows, multiplier)
            first[rows] = first_rows if isinstance(rows, slice) else rows[first_rows]
            if is_same.all():
                break
            rows = np.flatnonzero(~is_same) if isinstance(rows, slice) else rows[~is_same]
        else:
            return self._distinct_in_python(begins, ends)
        is_first = first == np.arange(len(first))
        return np.flatnonzero(is_first), (np.cumsum(is_first) - 1)[first]

    def _distinct_in_python(self, begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
        numbers: dict[bytes, int] = {}
        text = self.text
        codes = np.array(
            [
                numbers.setdefault(text[begin:end], len(numbers))
                for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
            ],
            dtype=np.int64,
        )
        return np.unique(codes, return_index=True)[1], codes


def _first_of_bucket(keys: list[Array], multiplier: Any) -> tuple[Ints, Bools]:
    """Return for each row the first one in its bucket of a hash table, and whether their keys are equal."""
    hashes = keys[0] * multiplier
    for key in keys[1:]:
        hashes = (hashes ^ key) * multiplier
        hashes ^= hashes >> np.uint64(29)
    bucket = ((hashes * multiplier) >> np.uint64(44)).astype(np.int64)
    rows = np.arange(len(bucket), dtype=np.int32)
    table = np.empty(_BUCKETS, dtype=np.int32)
    table[bucket[::-1]] = rows[::-1]  # of rows in one bucket the last one written stays: the first row
    first = table[bucket].astype(np.int64)
    is_same = np.ones(len(bucket), dtype=np.bool_)
    for key in keys:
        is_same &= key == key[first]
    return first, is_same


def split_cells(text: bytes, delimiter: str, width: int, first_line: int, longest: int) -> SplitCells | None:
    r"""Cut rows of `width` cells, of which none has more than `longest` bytes, at delimiters outside quotes.

    Examples
    --------
    >>> cells = split_cells(b'1,"a, b"\n 2.5,c\n,"a, b"\n', ",", 2, first_line=2, longest=100)
    >>> cells.numbers([0], {""}, set()), list(cells.texts(1, {""}))
    ([array([1. , 2.5, nan])], ['a, b', 'c', 'a, b'])
    >>> split_cells(b"1,2\n3\n", ",", 2, first_line=2, longest=100) is None
    True
    """
    if not text.endswith(b"\n"):
        text += b"\n"
    if width == 0 or b"\r" in text or not delimiter.isascii():
        return None
    raw = np.frombuffer(text, dtype=np.uint8)
    is_newline = raw == _NEWLINE
    is_end = (raw == ord(delimiter)) | is_newline
    if has_quotes := b'"' in text:
        is_quote = raw == _QUOTE
        if not _quotes_enclose_cells(raw, np.flatnonzero(is_quote), ord(delimiter)):
            return None
        n_quotes = np.cumsum(is_quote.view(np.uint8), dtype=np.uint8)  # it wraps around, which parity survives
        is_end &= (n_quotes & 1) == 0
    ends = np.flatnonzero(is_end)
    begins = np.concatenate([[0], ends[:-1] + 1])
    rows = len(ends) // width
    is_last = is_newline[ends]
    if len(ends) != rows * width or np.count_nonzero(is_last) != rows or not is_last[width - 1 :: width].all():
        return None
    lengths = ends - begins
    if lengths.max(initial=0) > longest or (width == 1 and not lengths.all()):
        return None
    lines: Any = range(first_line, first_line + rows)
    if has_quotes and np.count_nonzero(is_newline) != rows:
        lines = first_line + np.searchsorted(np.flatnonzero(is_newline), begins[::width])
    return SplitCells(text, begins.reshape(rows, width), ends.reshape(rows, width), lines)


def _quotes_enclose_cells(raw: Array, quotes: Ints, delimiter: int) -> bool:
    """Return True if quotes enclose whole cells, and each quote inside of them is doubled."""
    around = np.zeros(256, dtype=np.bool_)
    around[[_QUOTE, _NEWLINE, delimiter]] = True
    opening, closing = quotes[0::2], quotes[1::2]
    opening = opening[opening > 0]
    return len(quotes) % 2 == 0 and bool(around[raw[opening - 1]].all() and around[raw[closing + 1]].all())
