"""Blocks of nothing but numbers, parsed without a Python loop.

Every function returns None as soon as anything is out of the ordinary; the careful line-by-line reader then finds out
whether the text is merely unusual or wrong, and where.
"""

from __future__ import annotations

import warnings

import numpy as np

from polyrule.arrays import Floats, Ints

_DENSE = b"0123456789.+-eE \t\n?"
_SPARSE = b"0123456789.+-eE \t\n,{}?"
_NEWLINE, _OPEN, _CLOSE = 10, 123, 125


def dense_numbers(text: bytes, width: int, delimiter: bytes = b",") -> Floats | None:
    r"""Parse lines of `width` delimited numbers; ``?`` is a missing value.

    Examples
    --------
    >>> dense_numbers(b"1,2.5\n?,4\n", 2)
    array([[1. , 2.5],
           [nan, 4. ]])
    >>> dense_numbers(b"1,2\n3\n", 2) is None
    True
    """
    if not text.endswith(b"\n"):
        text += b"\n"
    if width == 0 or text.translate(None, _DENSE + delimiter):
        return None
    raw = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero((raw == delimiter[0]) | (raw == _NEWLINE))
    rows = text.count(b"\n")
    if len(ends) != rows * width or not np.all(raw[ends[width - 1 :: width]] == _NEWLINE):
        return None
    if text.translate(None, b" \t".replace(delimiter, b"")) != text:  # NumPy reads a cell of nothing but blanks as -1
        word = (raw > 32) & (raw != delimiter[0])
        begins = np.flatnonzero(word & ~np.concatenate([[False], word[:-1]]))
        if np.any(np.diff(np.searchsorted(begins, ends), prepend=0) != 1):
            return None
    numbers = flat_numbers(text.replace(b"\n", delimiter), delimiter)
    return None if numbers is None or len(numbers) != rows * width else numbers.reshape(rows, width)


def sparse_numbers(text: bytes) -> tuple[Ints, Ints, Floats, int] | None:
    r"""Parse lines of the form ``{index value, index value}``; returns rows, columns, values and the number of lines.

    Examples
    --------
    >>> sparse_numbers(b"{0 1,3 2.5}\n{}\n{1 1}\n")
    (array([0, 0, 2]), array([0, 3, 1]), array([1. , 2.5, 1. ]), 3)
    """
    if not text.endswith(b"\n"):
        text += b"\n"
    if text.translate(None, _SPARSE) or b"}," in text:
        return None
    raw = np.frombuffer(text, dtype=np.uint8)
    opens, closes = np.flatnonzero(raw == _OPEN), np.flatnonzero(raw == _CLOSE)
    newlines = np.flatnonzero(raw == _NEWLINE)
    if not len(opens) == len(closes) == len(newlines):
        return None
    starts = np.concatenate([[0], newlines[:-1] + 1])
    if not (np.array_equal(opens, starts) and np.array_equal(closes, newlines - 1)):
        return None
    blank = (raw <= 32) | (raw == _OPEN) | (raw == _CLOSE) | (raw == 44)
    token_starts = np.flatnonzero(~blank[1:] & blank[:-1]) + 1
    separators = np.flatnonzero((raw == 44) | (raw == _CLOSE))
    before = np.searchsorted(token_starts, separators)
    per_entry = np.diff(before, prepend=0)
    empty = per_entry == 0
    # every entry is two words; only "{}" may have none
    if not np.all((per_entry == 2) | (empty & (raw[separators] == _CLOSE) & (raw[separators - 1] == _OPEN))):
        return None
    numbers = flat_numbers(text.translate(_TO_SPACES), b" ")
    if numbers is None or len(numbers) != 2 * int((~empty).sum()):
        return None
    columns = numbers[0::2].astype(np.int64) if not np.isnan(numbers[0::2]).any() else None
    if columns is None or not np.array_equal(columns, numbers[0::2]):
        return None
    rows = np.searchsorted(newlines, separators[~empty])
    return rows, columns, numbers[1::2], len(newlines)


def pair_numbers(text: bytes) -> tuple[Ints, Floats] | None:
    """Parse words of the form ``index:value``; returns indices and values.

    Examples
    --------
    >>> pair_numbers(b"3:0.5 17:-2")
    (array([ 3, 17]), array([ 0.5, -2. ]))
    >>> pair_numbers(b"1:2:3 4") is None
    True
    """
    if text.translate(None, b"0123456789.+-eE: \t"):
        return None
    raw = np.frombuffer(b" " + text + b" ", dtype=np.uint8)
    blank = raw <= 32
    starts = np.flatnonzero(~blank[1:] & blank[:-1]) + 1
    colons = np.flatnonzero(raw == 58)
    if len(starts) != len(colons):
        return None
    # the first character of a word that is no digit must be its colon, and something must stand on either side of it
    others = np.flatnonzero((raw < 48) | (raw > 57))
    if not np.array_equal(others[np.searchsorted(others, starts)], colons):
        return None
    if np.any(colons == starts) or np.any(blank[colons + 1]) or np.any(colons - starts > 15):
        return None
    numbers = flat_numbers(text.replace(b":", b" ").replace(b"\t", b" "), b" ")
    if numbers is None or len(numbers) != 2 * len(starts):
        return None
    return numbers[0::2].astype(np.int64), numbers[1::2]


_TO_SPACES = bytes.maketrans(b",{}\n\t", b"     ")


def flat_numbers(text: bytes, separator: bytes) -> Floats | None:
    """Parse numbers with one separator between them; ``?`` is NaN, and None means that something else is there."""
    if b"?" in text:
        text = text.replace(b"?", b" nan")  # apart, so that -? is nothing
    if not text.strip():
        return np.empty(0)
    try:
        with warnings.catch_warnings():  # before NumPy 2.3 unmatched text was only a warning
            warnings.simplefilter("error", DeprecationWarning)
            numbers: Floats = np.fromstring(text, dtype=np.float64, sep=separator.decode())
    except (ValueError, DeprecationWarning):
        return None
    return numbers
