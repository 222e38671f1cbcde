"""Packed data: codes by column, labels as bits, in blocks of rows that may lie in memory or in files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, overload

import numpy as np

from polyrule.binning.bins import Bins, bins_of, check_max_bins, code_type, word_count
from polyrule.data.labels import dense_labels, require_known
from polyrule.data.table import Feature, Table, packed_bits, row_blocks
from polyrule.errors import DataError
from polyrule.utils.arrays import Array, Floats, Ints, Words

BLOCK_ROWS = 1 << 18  # of data in memory: enough for a thread to be busy with


class ValueColumns(Protocol):
    """Original values by column: a matrix, or an object that reads them on access."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""

    def __getitem__(self, column: int, /) -> Floats:
        """Return the values of a column."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some rows: `codes` and `values` by column, `truth` as words of 64 labels by row; weights None are all 1."""

    codes: Array
    truth: Words
    weights: Ints | None = None
    values: ValueColumns | None = None

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(part.nbytes for part in (self.codes, self.truth, self.weights, self.values) if part is not None)


class Blocks(Sequence[Block]):
    """Blocks that are made or read on each access and are not cached."""

    def read(self, index: int) -> Block:
        """Return one block."""
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Block]: ...
    def __getitem__(self, index: int | slice) -> Block | Sequence[Block]:
        indices = range(len(self))[index]
        return self.read(indices) if isinstance(indices, int) else [self.read(i) for i in indices]


@dataclass(frozen=True, eq=False)
class Packed:
    """Examples as codes and bits.

    Parameters
    ----------
    features : tuple of Feature
    bins : tuple of Bins
        One per feature.
    label_names : tuple of str
    blocks : sequence of Block
    """

    features: tuple[Feature, ...]
    bins: tuple[Bins, ...]
    label_names: tuple[str, ...]
    blocks: Sequence[Block] = field(repr=False)

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def total_weight(self) -> int:
        """Weight of all examples."""
        return sum(len(block) if block.weights is None else int(block.weights.sum()) for block in self.blocks)

    def each(self, function: Callable[..., Any], *given: Sequence[Any], threads: int = 1) -> list[Any]:
        """Call a function with each block and its given, in the process that has the block; each thread holds one.

        Examples
        --------
        >>> packed = pack_table(Table.from_array([[1.0], [2.0], [2.0]]), np.ones((3, 1)), None, ("a",), block_rows=2)
        >>> packed.each(lambda block, more: len(block) + more, [10, 20])
        [12, 21]
        """
        blocks = self.blocks
        with ThreadPoolExecutor(max(1, threads)) as pool:
            return list(
                pool.map(lambda i, *own_arguments: function(blocks[i], *own_arguments), range(len(blocks)), *given)
            )

    def neighbours(self, index: int, thresholds: Floats) -> list[tuple[float, float] | None]:
        """Return the values on either side of thresholds between two bins, None within one."""
        return self.bins[index].neighbours(thresholds)


def pack_table(
    table: Table,
    truth: Any,
    weights: Ints | None,
    label_names: tuple[str, ...],
    max_bins: int = 255,
    block_rows: int | None = None,
    keep_values: bool = False,
) -> Packed:
    """Pack a table that is in memory.

    Parameters
    ----------
    table : Table
    truth : array of shape (rows, labels)
        0 and 1.
    weights : array of integers, or None
        One per row.
    label_names : tuple of str
    max_bins : int
        A numeric column with more distinct values is cut into at most `max_bins` bins.
    block_rows : int, optional
        Rows of a block; chosen by the width of the table unless given.
    keep_values : bool
        Whether the values stay beside their codes, so that thresholds can be placed between them.

    Examples
    --------
    >>> table = Table.from_array([[1.0], [2.0], [2.0]])
    >>> packed = pack_table(table, np.array([[1, 0], [0, 1], [1, 1]]), None, ("a", "b"))
    >>> packed.blocks[0].codes.tolist(), packed.blocks[0].truth.ravel().tolist()
    ([[0, 1, 1]], [1, 2, 3])
    """
    max_bins = check_max_bins(max_bins)
    if truth.shape != (len(table), len(label_names)) or (weights is not None and len(weights) != len(table)):
        and_weights = "" if weights is None else f" and {len(weights)} weights"
        raise DataError(
            f"{len(table)} examples and {len(label_names)} names, but labels of shape {truth.shape}{and_weights}"
        )
    bins = tuple(bins_of(table.column(j), feature, max_bins) for j, feature in enumerate(table.features))
    whole = encoded(table, bins, truth, weights, keep_values)
    return Packed(table.features, bins, label_names, divided(whole, block_rows or max(1, len(table))))


def encoded(table: Table, bins: tuple[Bins, ...], truth: Any, weights: Ints | None, keep_values: bool) -> Block:
    """Return the rows of a table as one block."""
    codes = np.empty((len(bins), len(table)), dtype=code_type(max(map(len, bins))))
    for j, of_column in enumerate(bins):
        codes[j] = of_column.codes(table.column(j))
    values = np.stack([table.column(j) for j in range(len(bins))]) if keep_values else None
    return Block(codes, label_words(truth), weights, values)


def divided(whole: Block, size: int) -> list[Block]:
    """Cut a block in memory into blocks of at most `size` rows; weights that are all 1 are left out."""
    weights = None if whole.weights is None or bool((whole.weights == 1).all()) else whole.weights
    blocks = []
    for start in range(0, len(whole), size):
        rows = slice(start, start + size)
        block_weights = None if weights is None else np.ascontiguousarray(weights[rows], dtype=np.int64)
        block_values = None if whole.values is None else np.asarray(whole.values)[:, rows]
        blocks.append(Block(np.ascontiguousarray(whole.codes[:, rows]), whole.truth[rows], block_weights, block_values))
    return blocks


def label_words(truth: Any) -> Words:
    """Pack a 0/1 matrix into words of 64 labels, row by row.

    >>> label_words(np.array([[1, 0, 1]])).tolist()
    [[5]]
    """
    require_known(truth, "a store")
    rows, labels = truth.shape
    words = np.empty((rows, word_count(labels)), dtype=np.uint64)
    for rows_at_once in row_blocks(rows, labels, 1 << 24):
        words[rows_at_once] = packed_bits(dense_labels(truth[rows_at_once]))
    return words
