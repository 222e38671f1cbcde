"""Sparse matrices from outside, checked once before any compiled code follows their indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.errors import DataError, LimitError
from polyrule.utils.arrays import Array, Floats, Ints, Ints32
from polyrule.utils.budget import MOST_COLUMNS, current_limits

_COMPRESSED = ("csr", "csc", "bsr")


def check_sparse(matrix: Any, what: str = "X") -> Any:
    """Return a sparse matrix after checking that all indices lie inside it; the matrix itself is not changed.

    SciPy lets anyone assign to ``indices`` and ``indptr``, and its compiled code and ours believe what they find there.
    Formats without plain index arrays (lil, dok, dia) come back as coo. `what` is what an error calls it.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> matrix = sp.csc_array([[1.0, 0.0], [0.0, 2.0]])
    >>> check_sparse(matrix) is matrix
    True
    >>> matrix.indices[1] = 7
    >>> check_sparse(matrix)
    Traceback (most recent call last):
    ...
    polyrule.errors.DataError: X is a broken sparse matrix: it holds the row index 7, but there are 2 rows
    """
    if getattr(matrix, "ndim", 0) != 2:
        return matrix  # whoever reads it says so
    width = matrix.shape[1]
    if width > MOST_COLUMNS:  # each has a name and a kind, whether it stores something or not
        raise LimitError(
            f"{what} has {width} columns, more than the {MOST_COLUMNS} there can be; leave out those that store nothing"
        )
    current_limits().check_cells(what, width)
    if matrix.format in _COMPRESSED:
        _check_compressed(matrix, what)
        return matrix
    if matrix.format != "coo":
        try:
            matrix = matrix.tocoo()
        except Exception as problem:  # lists and dictionaries that a caller filled with anything
            raise _broken(what, f"it cannot be read ({' '.join(str(problem).split())})") from problem
    _check_coordinates(matrix, what)
    return matrix


def _check_compressed(matrix: Any, what: str) -> None:
    data, indices, starts = matrix.data, matrix.indices, matrix.indptr
    height, width = matrix.shape
    if matrix.format == "bsr":
        tall, wide = data.shape[1:] if data.ndim == 3 else (0, 0)
        if not tall or not wide or height % tall or width % wide:
            raise _broken(what, "its blocks do not divide its shape")
        height, width = height // tall, width // wide
    elif data.ndim != 1:
        raise _broken(what, f"its values have {data.ndim} dimensions")
    by_column = matrix.format == "csc"
    major, minor = (width, height) if by_column else (height, width)
    _check_integers(what, indices=indices, indptr=starts)
    if len(starts) != major + 1 or starts[0] != 0:
        raise _broken(what, f"indptr must start at 0 and have {major + 1} entries")
    if len(starts) > 1 and bool((starts[1:] < starts[:-1]).any()):
        raise _broken(what, "indptr goes down")
    stored = int(starts[-1])
    if stored > len(indices) or stored > len(data):
        raise _broken(what, f"indptr ends at {stored}, but there are {len(indices)} indices and {len(data)} values")
    _check_range(indices[:stored], minor, "row" if by_column else "column", what)


def _check_coordinates(matrix: Any, what: str) -> None:
    rows, columns = matrix.row, matrix.col
    _check_integers(what, row=rows, col=columns)
    if not len(rows) == len(columns) == len(matrix.data) or matrix.data.ndim != 1:
        raise _broken(what, f"it has {len(rows)} rows, {len(columns)} columns and {len(matrix.data)} values")
    _check_range(rows, matrix.shape[0], "row", what)
    _check_range(columns, matrix.shape[1], "column", what)


def _check_integers(what: str, **arrays: Array) -> None:
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iu":
            raise _broken(what, f"{name} must be a one-dimensional array of whole numbers")


def _check_range(indices: Array, size: int, axis: str, what: str) -> None:
    if not len(indices):
        return
    low, high = int(indices.min()), int(indices.max())
    if low < 0 or high >= size:
        raise _broken(what, f"it holds the {axis} index {low if low < 0 else high}, but there are {size} {axis}s")


def _broken(what: str, why: str) -> DataError:
    return DataError(f"{what} is a broken sparse matrix: {why}")


def stored_cells(values: Any) -> tuple[Floats, Ints32, Ints]:
    """Return the stored cells of a sparse matrix as the compiled kernels take them: by column, rows ascending.

    Examples
    --------
    >>> stored_cells(sp.csr_array([[0, 2], [3, 4]]))
    (array([3., 2., 4.]), array([1, 0, 1], dtype=int32), array([0, 1, 3]))
    """
    columns: Any = sp.csc_array(values)
    if not columns.has_sorted_indices:
        columns = columns.sorted_indices()
    return (
        np.ascontiguousarray(columns.data, dtype=np.float64),
        np.ascontiguousarray(columns.indices, dtype=np.int32),
        np.ascontiguousarray(columns.indptr, dtype=np.int64),
    )
