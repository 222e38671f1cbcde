"""What arrays are called in signatures, everywhere in the package, and how large ones are gone through."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
#: The same type as `Floats`, where rows are examples.
Matrix = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Ints8 = npt.NDArray[np.int8]
Bools = npt.NDArray[np.bool_]
#: Labels: 0 is absent, 1 is present.
Bytes = npt.NDArray[np.uint8]
#: Numbers of bins.
Codes = npt.NDArray[np.uint16]
#: 64 bits each: of sets of examples, or hashes.
Words = npt.NDArray[np.uint64]


def row_blocks(rows: int, columns: int, cells: int, least: int = 1) -> list[slice]:
    """Cut rows into blocks of at most so many cells, but no fewer than `least` rows: what is made of one stays small.

    Examples
    --------
    >>> row_blocks(5, 3, 6)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    step = max(least, cells // max(1, columns))
    return [slice(first, first + step) for first in range(0, rows, step)]
