"""A short name for the exact training data, so that a model can be checked against it later."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyrule.data.table import Table
from polyrule.data.targets import read_target
from polyrule.data.weights import integer_weights

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset

_CELLS = 1 << 20
"""How many cells are converted at a time."""


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
    for array in _parts(table, labels, weights):
        digest.update(np.ascontiguousarray(array).data)
    return f"blake2b:{digest.hexdigest()}"


def is_of_examples(name: object) -> bool:
    """Whether a name is a fingerprint of examples, and not that of a store, or none."""
    return isinstance(name, str) and name.startswith("blake2b:")


def examples_of(data: Dataset) -> tuple[Table, Any, npt.NDArray[np.int64], Fraction]:
    """Return the examples of positive weight as learning sees them: features, labels, whole weights and their unit."""
    weights, scale = integer_weights(data.weights, len(data))
    table, truth, kept = data.X, read_target(data.Y, data.label_names).truth, weights > 0
    if kept.all():
        return table, truth, weights, scale
    return table[kept], truth[kept], weights[kept], scale


def _parts(table: Table, labels: Any, weights: Any) -> Iterator[npt.NDArray[Any]]:
    """All numbers, in pieces: large data is never held twice."""
    values: Any = table.values
    nominal = table.coded
    if sp.issparse(values):
        yield from _sparse_parts(values)
    elif nominal.any():  # categories take less memory, because hashing takes long
        pairs = nominal & (values.max(axis=0, initial=0) < 2)  # nothing but the first two categories, none missing
        others = values.T[nominal & ~pairs]
        yield pairs
        yield np.packbits((values.T != 0)[pairs])
        yield np.where(np.isnan(others), -1, others).astype("<i4").T
        numeric = np.flatnonzero(~nominal)
        step = max(1, _CELLS // max(1, len(numeric)))
        for start in range(0, len(values), step):
            yield values[start : start + step, numeric].astype("<f8")
    else:
        yield from (values[:, j].astype("<f8", copy=False) for j in range(values.shape[1]))
    for matrix in (labels, weights):
        if sp.issparse(matrix):
            yield from _sparse_parts(matrix)
        elif matrix is not None:
            array = np.asarray(matrix)
            yield array.astype(array.dtype.newbyteorder("<"), copy=False).T


def _sparse_parts(matrix: Any) -> Iterator[npt.NDArray[Any]]:
    tidy = sp.csc_array(matrix)
    if not tidy.has_canonical_format:
        tidy = tidy.copy()  # the caller's matrix stays as it is
        tidy.sum_duplicates()
    for part, kind in ((tidy.indptr, "<i8"), (tidy.indices, "<i8"), (tidy.data, "<f8")):
        for start in range(0, len(part), _CELLS):
            yield part[start : start + _CELLS].astype(kind, copy=False)
