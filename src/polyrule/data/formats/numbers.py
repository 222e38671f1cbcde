"""Blocks of nothing but numbers, parsed without a Python loop.

Every function returns None as soon as anything is out of the ordinary; the careful line-by-line reader then finds out
whether the text is merely unusual or wrong, and where.
"""

from __future__ import annotations

import re
import warnings

import numpy as np

from polyrule.utils.arrays import Floats, Ints

_DENSE = b"0123456789.+-eE \t\n?"
_TO_SPACES = bytes.maketrans(b",:{}\n\t", b"      ")
# Possessive throughout: what has been matched is never tried again in another way.
_NUMBER = rb"[+-]?+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?+\d++)?+"
_INDEX = rb"\d{1,15}+"  # exact as a double
_ENTRY = rb"[ \t]*+%b[ \t]++(?:%b|\?)[ \t]*+" % (_INDEX, _NUMBER)
_SPARSE = re.compile(rb"(?:\{(?:%b(?:,%b)*+)?+\}\n)*+" % (_ENTRY, _ENTRY))
_PAIRS = re.compile(rb"[ \t]*+(?:%b:%b(?:[ \t]++|\Z))*+" % (_INDEX, _NUMBER))


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
    text = _whole_lines(text)
    if width == 0 or text.translate(None, _DENSE + delimiter):
        return None
    raw = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero((raw == delimiter[0]) | (raw == 10))
    rows = text.count(b"\n")
    if len(ends) != rows * width or not np.all(raw[ends[width - 1 :: width]] == 10):
        return None
    if text.translate(None, b" \t".replace(delimiter, b"")) != text:  # NumPy reads a cell of nothing but blanks as -1
        word = (raw > 32) & (raw != delimiter[0])
        begins = np.flatnonzero(word & ~np.concatenate([[False], word[:-1]]))
        if np.any(np.diff(np.searchsorted(begins, ends), prepend=0) != 1):
            return None
    numbers = _flat_numbers(text.replace(b"\n", delimiter), delimiter)
    return None if numbers is None or len(numbers) != rows * width else numbers.reshape(rows, width)


def sparse_numbers(text: bytes) -> tuple[Ints, Ints, Floats, int] | None:
    r"""Parse lines of the form ``{index value, index value}``; returns rows, columns, values and the number of lines.

    Examples
    --------
    >>> sparse_numbers(b"{0 1,3 2.5}\n{}\n{1 1}\n")
    (array([0, 0, 2]), array([0, 3, 1]), array([1. , 2.5, 1. ]), 3)
    """
    text = _whole_lines(text)
    numbers = _flat_numbers(text.translate(_TO_SPACES), b" ") if _SPARSE.fullmatch(text) else None
    if numbers is None:
        return None
    lines = text.split(b"\n")[:-1]
    counts = [0 if line == b"{}" else line.count(b",") + 1 for line in lines]
    return np.repeat(np.arange(len(lines)), counts), numbers[0::2].astype(np.int64), numbers[1::2], len(lines)


def pair_numbers(text: bytes) -> tuple[Ints, Floats] | None:
    """Parse words of the form ``index:value``; returns indices and values.

    Examples
    --------
    >>> pair_numbers(b"3:0.5 17:-2")
    (array([ 3, 17]), array([ 0.5, -2. ]))
    >>> pair_numbers(b"1:2:3 4") is None
    True
    """
    numbers = _flat_numbers(text.translate(_TO_SPACES), b" ") if _PAIRS.fullmatch(text) else None
    return None if numbers is None else (numbers[0::2].astype(np.int64), numbers[1::2])


def _whole_lines(text: bytes) -> bytes:
    return text if text.endswith(b"\n") else text + b"\n"


def _flat_numbers(text: bytes, separator: bytes) -> Floats | None:
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
