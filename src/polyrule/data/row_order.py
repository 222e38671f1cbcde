"""An order of examples that does not depend on the order they came in.

Whoever draws examples, deals them into folds or adds up real numbers of them does so in this order, and the model is
the same however the rows of a file are shuffled.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Bytes, Floats, Ints
from polyrule.data.table import Table

Hashes = npt.NDArray[np.uint64]


def by_content(table: Table, labels: Bytes, weights: Floats | Ints) -> Ints:
    """Return the rows in the order of a hash of everything that is known about each: features and weight, then labels.

    Rows of the same hash are the same (but for one chance in 2**64 per pair), so that it does not matter which of them
    comes first. A dense and a sparse table of the same numbers are ordered alike, and so are numbers on other scales.

    Examples
    --------
    >>> table = Table.from_array([[1.0, np.nan], [0.0, 2.0], [-0.0, 3.0]])
    >>> labels, weights = np.array([[0], [1], [1]], dtype=np.uint8), np.ones(3)
    >>> first, shuffled = by_content(table, labels, weights), np.array([2, 0, 1])
    >>> again = shuffled[by_content(table[shuffled], labels[shuffled], weights)]
    >>> bool(np.array_equal(first, again))
    True
    """
    width = table.shape[1]
    keys = _mixed(np.arange(1, width + labels.shape[1] + 2, dtype=np.uint64)) | np.uint64(1)
    seen, zeros = np.zeros(len(table), dtype=np.uint64), np.zeros(1, dtype=np.uint64)
    values: Any = table.values
    for number, key in enumerate(keys[:width]):
        if table.is_sparse:
            stored = slice(values.indptr[number], values.indptr[number + 1])
            rows, column = values.indices[stored], np.append(values.data[stored], 0.0)
            hashes = _hashed(_ranks(column if len(rows) < len(table) else column[:-1], column), key)
            seen[rows] += hashes[:-1] - hashes[-1]
            zeros += hashes[-1]
        else:
            seen += table.apply(number, partial(_hashed_ranks, table.spans(number)[1], key))
    seen += zeros + _hashed(weights, keys[-1])
    told = np.zeros_like(seen)
    for column, key in zip(labels.T, keys[width:], strict=False):
        told += _hashed(column, key)
    return np.lexsort((told, seen))


def _ranks(known: Floats, column: Floats) -> Floats:
    """Places of values among the distinct ones that are known: rules do not see how far apart two numbers are."""
    distinct = np.unique(known[~np.isnan(known)])
    return np.where(np.isnan(column), np.nan, np.searchsorted(distinct, column))


def _hashed_ranks(known: Floats, key: np.uint64, column: Floats) -> Hashes:
    return _hashed(_ranks(known, column), key)


def _hashed(values: npt.NDArray[Any], key: np.uint64) -> Hashes:
    """Hashes of numbers, to be added up over the columns."""
    plain = values.astype(np.float64)
    plain[np.isnan(plain)] = np.nan  # of which there are many
    # Of small whole numbers only the first bits differ, and a product would keep them apart from those of the key.
    return _mixed(_mixed(plain.view(np.uint64)) * key)


def _mixed(bits: Hashes) -> Hashes:
    """Spread every bit over all 64 (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
