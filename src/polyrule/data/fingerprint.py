"""A short name for the exact training data, so that a model can be checked against it later."""

from __future__ import annotations

import hashlib
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
    digest.update(repr((table.shape, [(f.name, f.kind, f.categories) for f in table.features])).encode())
    for matrix in (_short(table), labels, weights):
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


def _short(table: Table) -> Any:
    """Return the values in less memory where all of them are categories, for they take longest to hash."""
    values = table.values
    if sp.issparse(values) or not all(feature.is_nominal for feature in table.features):
        return values
    return np.where(np.isnan(values), -1, values).astype(np.int32)
