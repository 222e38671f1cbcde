"""A short name for the exact training data, so that a model can be checked against it later."""

from __future__ import annotations

import hashlib
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyrule.data.table import Table


def fingerprint(table: Table, labels: Any, weights: npt.NDArray[np.int64] | None = None) -> str:
    """Hash names, kinds, values, labels and weights; equal data gives an equal fingerprint on every machine.

    Examples
    --------
    >>> table = Table.from_array([[1.0], [2.0]])
    >>> fingerprint(table, np.array([[1], [0]], dtype=np.uint8))
    'blake2b:...'
    """
    digest = hashlib.blake2b(digest_size=16)
    # neighbours in a wide table are mostly of one kind: it is named once, with how many there are
    runs = groupby(table.features, attrgetter("kind", "categories"))
    kinds = [(kind, len(list(same))) for kind, same in runs]
    digest.update(repr((table.shape, table.feature_names, kinds)).encode())
    for matrix in (*_short(table), labels, weights):
        if matrix is None:
            continue
        if sp.issparse(matrix):
            tidy = sp.csc_array(matrix)
            tidy.sum_duplicates()
            for part in (tidy.indptr.astype("<i8"), tidy.indices.astype("<i8"), tidy.data.astype("<f8")):
                digest.update(part.tobytes())
        else:
            array = np.asarray(matrix)
            digest.update(np.asarray(array, dtype=array.dtype.newbyteorder("<")).tobytes(order="F"))
    return f"blake2b:{digest.hexdigest()}"


def _short(table: Table) -> list[Any]:
    """Return the values, those that are categories in less memory, because hashing takes long."""
    values: Any = table.values
    nominal = np.array([feature.has_categories for feature in table.features], dtype=bool)
    if sp.issparse(values) or not nominal.any():
        return [values]
    pairs = nominal & (values.max(axis=0, initial=0) < 2)  # nothing but the first two categories, none missing
    others = values.T[nominal & ~pairs]
    bits = np.packbits((values.T != 0)[pairs])
    return [pairs, bits, np.where(np.isnan(others), -1, others).astype(np.int32), values.T[~nominal]]
