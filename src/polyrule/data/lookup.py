"""Whole numbers looked up by code and added up over columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polyrule.arrays import Ints, Words
from polyrule.native import native


def looked_up(codes: Any, tables: Words, sizes: Sequence[int] | Ints) -> Words:
    """Return per row the sum, modulo 2**64, of what each column's table says of its code.

    Parameters
    ----------
    codes : ndarray of uint8 or uint16, shape (columns, rows)
    tables : ndarray of uint64
        One after the other.
    sizes : sequence of int
        Numbers in each of them.

    Examples
    --------
    >>> codes = np.array([[0, 1, 1], [2, 0, 1]], dtype=np.uint8)
    >>> looked_up(codes, np.array([1, 2, 10, 20, 30], dtype=np.uint64), [2, 3])
    array([31, 12, 22], dtype=uint64)
    """
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    found = np.zeros(codes.shape[1], dtype=np.uint64)
    if native is not None and codes.dtype in (np.uint8, np.uint16):
        native.add_looked_up(codes, tables, starts, found)
        return found
    for column, start, end in zip(codes, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        found += tables[start:end][column]
    return found
