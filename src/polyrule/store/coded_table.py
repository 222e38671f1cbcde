"""Packed data read as a table, for learners that need the examples themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Bytes, Floats, Ints
from polyrule.data.table import Table
from polyrule.store.bins import Bins, code_type
from polyrule.store.packed import Packed


@dataclass(frozen=True, eq=False, repr=False)
class CodedTable(Table):
    """A table of codes, one or two bytes each, that shows every value as the largest one of its bin.

    Parameters
    ----------
    values : ndarray of uint8 or uint16, shape (examples, features)
        Codes; the one after the last bin is a missing value.
    features : tuple of Feature
    bins : tuple of Bins
        One per feature.

    Examples
    --------
    >>> from polyrule.data.table import Feature
    >>> bins = Bins(np.array([1.0, 5.0]), np.array([2.0, 9.0]))
    >>> table = CodedTable(np.array([[0], [1], [1], [2]], dtype=np.uint8), (Feature("x"),), (bins,))
    >>> table.column(0), table.spans(0)
    (array([ 2.,  9.,  9., nan]), (array([1., 5.]), array([2., 9.]), array([1, 2])))
    """

    bins: tuple[Bins, ...] = ()

    def column(self, index: int) -> Floats:
        """Return one column: the largest value of every example's bin."""
        return np.asarray(np.append(self.bins[index].highs, np.nan)[self.values[:, index]])

    def spans(self, index: int) -> tuple[Floats, Floats, Ints]:
        """Smallest and largest value of every bin that occurs in a column, and how often it does."""
        bins = self.bins[index]
        counts = np.bincount(self.values[:, index], minlength=len(bins) + 1)[: len(bins)]
        occurring = np.flatnonzero(counts)
        return bins.lows[occurring], bins.highs[occurring], counts[occurring]

    def neighbours(self, index: int, threshold: float) -> tuple[float, float] | None:
        """Return the values on either side of a threshold between two bins, None within one."""
        return self.bins[index].neighbours(threshold)

    def __getitem__(self, rows: Any) -> CodedTable:
        return CodedTable(super().__getitem__(rows).values, self.features, self.bins)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        columns = [self.column(j) for j in range(len(self.features))]
        return np.stack(columns, axis=1).astype(dtype or np.float64, copy=False)


def unpack(packed: Packed) -> tuple[CodedTable, Bytes, Ints]:
    """Read all blocks into memory: codes, labels as a 0/1 matrix, and weights.

    Examples
    --------
    >>> from polyrule.store.packed import pack_table
    >>> packed = pack_table(Table.from_array([[1.0], [7.0]]), np.array([[1, 0], [1, 1]]), None, ("a", "b"))
    >>> table, truth, weights = unpack(packed)
    >>> table.values.tolist(), truth.tolist(), weights.tolist()
    ([[0], [1]], [[1, 0], [1, 1]], [1, 1])
    """
    rows, labels = len(packed), len(packed.label_names)
    codes = np.empty((len(packed.features), rows), dtype=code_type(max(map(len, packed.bins))))
    truth = np.empty((rows, labels), dtype=np.uint8)
    weights = np.ones(rows, dtype=np.int64)
    start = 0
    for block in packed.blocks:
        own = slice(start, start + len(block))
        codes[:, own] = block.codes
        words = np.ascontiguousarray(block.truth, dtype="<u8")
        truth[own] = np.unpackbits(words.view(np.uint8), axis=1, count=labels, bitorder="little")
        if block.weights is not None:
            weights[own] = block.weights
        start = own.stop
    return CodedTable(codes.T, packed.features, packed.bins), truth, weights
