"""Sets of examples as bits: 64 to a word, so that counting a hundred thousand takes microseconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Bools, Ints

Words = npt.NDArray[np.uint64]


def pack(mask: Any) -> Words:
    """Return a mask, or one per row of a matrix, as words; bits behind the end are 0.

    Examples
    --------
    >>> count(pack(np.array([True, False, True])))
    2
    >>> unpack(pack(np.array([True, False, True])), 3)
    array([ True, False,  True])
    """
    packed = np.packbits(np.ascontiguousarray(mask, dtype=bool), axis=-1, bitorder="little")
    missing = -packed.shape[-1] % 8
    if missing:
        packed = np.concatenate([packed, np.zeros((*packed.shape[:-1], missing), dtype=np.uint8)], axis=-1)
    return np.ascontiguousarray(packed).view(np.uint64)


def unpack(words: Words, rows: int) -> Bools:
    """Return the mask, or matrix of masks, that was packed."""
    return np.unpackbits(words.view(np.uint8), axis=-1, count=rows, bitorder="little").astype(bool)


def count(words: Words) -> int:
    """Return how many bits are set."""
    return int(counts(words))


def counts(words: Words) -> Ints:
    """Return how many bits are set in the last dimension."""
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(words).sum(axis=-1, dtype=np.int64))
    return np.asarray(_HALF_WORDS[words.view(np.uint16)].sum(axis=-1, dtype=np.int64))  # NumPy before 2.0


def first(words: Words, rows: int, start: int, most: int) -> tuple[list[int], int]:
    """Return at most `most` set positions after the first `start` ones, and how many there are in all."""
    places = np.flatnonzero(unpack(words, rows))
    return places[start : start + most].tolist(), len(places)


_HALF_WORDS = np.array([bin(number).count("1") for number in range(1 << 16)], dtype=np.uint8)
