"""Blocks of nothing but numbers, parsed without a Python loop.

Every function returns None as soon as anything is out of the ordinary; the careful line-by-line reader then finds out
whether the text is merely unusual or wrong, and where.
"""

from __future__ import annotations

import warnings

import numpy as np

from polyrule.arrays import Bytes, Floats, Ints

MOST_DIGITS = 15
_POWERS = np.power(10.0, np.arange(MOST_DIGITS + 1))
_PLUS, _MINUS, _POINT, _ZERO, _MISSING = 43, 45, 46, 48, 63


def parse_decimals(raw: Bytes, starts: Ints, ends: Ints) -> Floats | None:
    """Parse the words of `raw` between `starts` and `ends`, plain decimal numbers; ``?`` is NaN.

    A number with at most 15 digits is a whole number below 2**53 divided by a power of ten up to 10**15; both are exact
    as floats, so the quotient is correctly rounded: the same bits that `float` gives.

    Returns None if a word is anything but an optional sign and up to 15 digits with at most one point among them.

    Examples
    --------
    >>> text = np.frombuffer(b"0.25,-3,?,.5,", dtype=np.uint8)
    >>> ends = np.flatnonzero(text == ord(","))
    >>> parse_decimals(text, np.concatenate([[0], ends[:-1] + 1]), ends)
    array([ 0.25, -3.  ,   nan,  0.5 ])
    """
    lengths = ends - starts
    if not len(starts) or lengths.min() < 1:
        return None
    values = np.empty(len(starts))
    shapes = np.minimum(lengths, MOST_DIGITS + 3) * 32 + _points(raw, starts, ends, lengths)
    # most files hold words of few shapes: the same length with the point at the same place
    for shape in np.flatnonzero(np.bincount(shapes)):
        words = np.flatnonzero(shapes == shape)
        length, point = divmod(int(shape), 32)
        if point == 31 or not _parse_shape(raw, starts[words], length, point, words, values):
            return None
    return values


def _points(raw: Bytes, starts: Ints, ends: Ints, lengths: Ints) -> Ints:
    """Place of the point in every word: 30 for none, 31 for a word that cannot be parsed here."""
    places = np.full(len(starts), 30)
    points = np.flatnonzero(raw[: ends[-1]] == _POINT)
    words = np.searchsorted(ends, points)
    places[words] = points - starts[words]
    if len(words) > 1:
        places[words[1:][np.diff(words) == 0]] = 31
    places[lengths > MOST_DIGITS + 2] = 31
    return places


def _parse_shape(raw: Bytes, starts: Ints, length: int, point: int, words: Ints, values: Floats) -> bool:
    """Parse words of one length with the point at one place; False if one of them is no plain number."""
    first = raw[starts]
    signed = (first == _PLUS) | (first == _MINUS)
    missing = (first == _MISSING) if length == 1 else np.zeros(len(starts), dtype=np.bool_)
    digits = length - (point != 30)
    if digits > MOST_DIGITS + 1 or (digits == MOST_DIGITS + 1 and not signed.all()):
        return False
    if digits < 1 or (digits == 1 and signed.any()):
        return False
    whole = np.zeros(len(starts))
    for place in range(length):
        if place == point:
            continue
        digit = raw[starts + place] - np.uint8(_ZERO)
        skip = (signed | missing) if place == 0 else None
        if skip is not None and skip.any():
            digit[skip] = 0
        if digit.max() > 9:
            return False
        whole *= 10
        whole += digit
    if point != 30:
        whole /= _POWERS[length - 1 - point]
    if signed.any():
        np.negative(whole, out=whole, where=first == _MINUS)
    if missing.any():
        whole[missing] = np.nan
    values[words] = whole
    return True


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
    numbers = parse_decimals(raw, np.concatenate([[0], ends[:-1] + 1]), ends)
    if numbers is None:  # exponents, spaces, more than 15 digits
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
        text = text.replace(b"?", b"nan")
    if not text.strip():
        return np.empty(0)
    try:
        with warnings.catch_warnings():  # before NumPy 2.3 unmatched text was only a warning
            warnings.simplefilter("error", DeprecationWarning)
            numbers: Floats = np.fromstring(text, dtype=np.float64, sep=separator.decode())
    except (ValueError, DeprecationWarning):
        return None
    return numbers
