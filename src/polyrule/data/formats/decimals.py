"""Plain decimal numbers, parsed by array operations.

A number with at most 15 digits is a whole number below 2**53 divided by a power of ten up to 10**15; both are exact as
floats, so the quotient is correctly rounded: the same bits that `float` gives.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

MOST_DIGITS = 15
_POWERS = np.power(10.0, np.arange(MOST_DIGITS + 1))
_PLUS, _MINUS, _POINT, _ZERO, _MISSING = 43, 45, 46, 48, 63


def parse_decimals(
    raw: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64] | None:
    """Parse the words of `raw` between `starts` and `ends`; ``?`` is NaN.

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


def _points(
    raw: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Place of the point in every word: 30 for none, 31 for a word that cannot be parsed here."""
    places = np.full(len(starts), 30)
    points = np.flatnonzero(raw[: ends[-1]] == _POINT)
    words = np.searchsorted(ends, points)
    places[words] = points - starts[words]
    if len(words) > 1:
        places[words[1:][np.diff(words) == 0]] = 31
    places[lengths > MOST_DIGITS + 2] = 31
    return places


def _parse_shape(
    raw: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    length: int,
    point: int,
    words: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
) -> bool:
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
