"""Packed data read as a table, for learners that need the examples themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.binning.bins import MAX_BINS, Bins, bins_of, code_type
from polyrule.data.table import Feature, Table, looked_up, unpacked_bits
from polyrule.errors import OptionError
from polyrule.store.packed import BLOCK_ROWS, Block, Packed, divided, label_words
from polyrule.utils.arrays import Array, Bools, Bytes, Floats, Ints, Words


@dataclass(frozen=True, eq=False, repr=False)
class PackedTable(Table):
    """A table of codes, one or two bytes each, that shows every value as the largest one of its bin.

    The code after the last bin of a feature is a missing value.

    Examples
    --------
    >>> from polyrule.data.table import Feature
    >>> bins = Bins(np.array([1.0, 5.0]), np.array([2.0, 9.0]))
    >>> table = PackedTable(np.array([[0], [1], [1], [2]], dtype=np.uint8), (Feature("x"),), (bins,))
    >>> table.column(0), table.spans(0)
    (array([ 2.,  9.,  9., nan]), (array([1., 5.]), array([2., 9.]), array([1, 2])))
    """

    bins: tuple[Bins, ...] = ()

    def column(self, index: int) -> Floats:
        """Return one column: the largest value of every example's bin."""
        return self.apply(index, np.asarray)

    def apply(self, index: int, function: Callable[[Floats], Array]) -> Array:
        """Return the values of a function at the largest value of each example's bin."""
        return np.asarray(function(np.append(self.bins[index].highs, np.nan))[self.values[:, index]])

    def apply_to_places(self, index: int, function: Callable[[Floats], Array]) -> Array:
        """Return the values of a function at the place of each example's bin among those that occur.

        Examples
        --------
        >>> bins = Bins(np.array([1.0, 3.0, 5.0]), np.array([2.0, 4.0, 9.0]))
        >>> table = PackedTable(np.array([[0], [2], [3]], dtype=np.uint8), (Feature("x"),), (bins,))
        >>> table.apply_to_places(0, np.asarray)
        array([ 0.,  1., nan])
        """
        codes = self.values[:, index]
        occurs = np.bincount(codes, minlength=len(self.bins[index]) + 1)[: len(self.bins[index])] > 0
        return np.asarray(function(np.append(np.cumsum(occurs) - 1.0, np.nan))[codes])

    def added(self, function: Callable[[Floats, Any], Words], keys: Words) -> Words:
        """Return per example the sum of a function of its values and keys; it is called with bins only."""
        values = np.concatenate([part for bins in self.bins for part in (bins.highs, [np.nan])])
        sizes = self._missing + 1
        return looked_up(self.values.T, function(values, np.repeat(keys, sizes)), sizes)

    def spans(self, index: int) -> tuple[Floats, Floats, Ints]:
        """Smallest and largest value of every bin that occurs in a column, and how often it does."""
        bins = self.bins[index]
        counts = np.bincount(self.values[:, index], minlength=len(bins) + 1)[: len(bins)]
        occurring = np.flatnonzero(counts)
        return bins.lows[occurring], bins.highs[occurring], counts[occurring]

    def neighbours(self, index: int, thresholds: Floats) -> list[tuple[float, float] | None]:
        """Return the values on either side of thresholds between two bins, None within one."""
        return self.bins[index].neighbours(thresholds)

    def gaps(self) -> Ints:
        """Return the columns in which values are missing."""
        return np.flatnonzero((self.values == self._missing).any(axis=0))

    def with_columns(self, columns: Sequence[Floats], features: Sequence[Feature]) -> PackedTable:
        """Return the table with more columns behind its own; those have few distinct values, and lose none."""
        more = [bins_of(column, feature, MAX_BINS) for column, feature in zip(columns, features, strict=True)]
        bins = (*self.bins, *more)
        codes = np.empty((len(bins), len(self)), dtype=code_type(max(map(len, bins))))
        codes[: len(self.bins)] = self.values.T
        for row, of_column, column in zip(codes[len(self.bins) :], more, columns, strict=True):
            row[:] = of_column.codes(column)
        return PackedTable(codes.T, (*self.features, *features), bins)

    def emptied(self, is_kept: Bools) -> PackedTable:
        """Return the table with the other columns emptied, so that nothing can be learned from them."""
        values = self.values.copy(order="K")
        values[:, ~is_kept] = self._missing[~is_kept]
        return PackedTable(values, self.features, self.bins)

    def decoded(self, features: Iterable[int] | None = None) -> Table:
        """Return the table with the largest value of its bin for every code, at least of some `features`."""
        if features is None:
            return Table(np.asarray(self), self.features)
        values = np.zeros(self.shape, order="F")  # pages that are not written take no memory
        for j in features:
            values[:, j] = self.column(j)
        return Table(values, self.features)

    def packed(self, truth: Bytes, weights: Ints, block_rows: int = BLOCK_ROWS) -> Packed:
        """Return the codes with labels, as they are counted."""
        blocks = divided(Block(self.values.T, label_words(truth), weights), block_rows)
        return Packed(self.features, self.bins, tuple(map(str, range(truth.shape[1]))), blocks)

    def __getitem__(self, rows: Any) -> PackedTable:
        return PackedTable(super().__getitem__(rows).values, self.features, self.bins)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("codes become values in a new array; leave out copy=False")
        values = np.empty(self.shape, dtype=dtype or np.float64, order="F")
        for j in range(len(self.features)):
            values[:, j] = self.column(j)
        return values

    @property
    def _missing(self) -> Ints:
        return np.array([len(bins) for bins in self.bins])


def unpack(packed: Packed) -> tuple[PackedTable, Bytes, Ints]:
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
    for rows_of_block, block in _placed(packed):
        codes[:, rows_of_block] = block.codes
        truth[rows_of_block] = unpacked_bits(block.truth, labels)
        if block.weights is not None:
            weights[rows_of_block] = block.weights
    return PackedTable(codes.T, packed.features, packed.bins), truth, weights


def _placed(packed: Packed) -> Iterator[tuple[slice, Block]]:
    """Blocks, each with the rows of the whole that it holds."""
    start = 0
    for block in packed.blocks:
        yield slice(start, start + len(block)), block
        start += len(block)


def unpack_values(packed: Packed) -> Table:
    """Read the original values of all blocks into memory, where they were kept beside the codes."""
    values = np.empty((len(packed.features), len(packed)))
    for rows_of_block, block in _placed(packed):
        if block.values is None:
            raise OptionError("refine=True needs the original values; pack the data with keep_values=True")
        for j in range(len(packed.features)):
            values[j, rows_of_block] = block.values[j]
    return Table(values.T, packed.features)
