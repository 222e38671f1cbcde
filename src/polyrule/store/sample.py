"""A sample of bounded size, drawn from data of any size: the same one whatever the order of the rows and blocks.

Rows are put in the order of a hash of their content and taken at even distances of weight, so that equal rows, which
lie side by side, are taken in proportion. A row of weight two is as good as two rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from polyrule.binning.bins import Bins
from polyrule.data.examples import content_hashes
from polyrule.data.table import Table, unpacked_bits
from polyrule.store.packed import Block, Packed
from polyrule.store.packed_table import PackedTable
from polyrule.utils.arrays import Bytes, Ints, Words

#: Some rows as learners see them: features, labels, weights.
Examples = tuple[Table, Bytes, Ints]
_CELLS = 1 << 24  # of a block, features or labels, that are looked at at a time: enough for a thread to be busy with


def drawn_rows(hashes: Words, weights: Ints, n_draws: int) -> tuple[Ints, Ints]:
    """Return the rows of a sample, ascending, and how often each was drawn; `n_draws` draws in total.

    Examples
    --------
    >>> drawn_rows(np.array([7, 3, 5, 5], dtype=np.uint64), np.array([1, 1, 1, 5]), 4)
    (array([1, 3]), array([1, 3]))
    """
    # Rows are assigned to parts by the first bits of their hashes; only parts that something is drawn from are sorted.
    bits = min(20, max(1, len(hashes).bit_length() - 3))
    part = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    weight = np.bincount(part, weights, 1 << bits).astype(np.int64)  # exact: below 2**53
    upto = np.cumsum(weight)
    whole, rest = divmod(int(upto[-1]), n_draws)
    numbers = np.arange(n_draws)
    draws = numbers * whole + numbers * rest // n_draws
    where = np.searchsorted(upto, draws, side="right")
    is_drawn_from = np.zeros(1 << bits, dtype=bool)
    is_drawn_from[where] = True
    rows = np.flatnonzero(is_drawn_from[part])
    rows = rows[np.argsort(hashes[rows])]  # rows of one hash are the same, so it does not matter which comes first
    draws += np.cumsum(weight * is_drawn_from)[where] - upto[where]
    return np.unique(rows[np.searchsorted(np.cumsum(weights[rows]), draws, side="right")], return_counts=True)


def sample_of(packed: Packed, n_draws: int, threads: int = 1) -> Packed:
    """Return a sample of packed data, in memory; weights are how often a row was drawn.

    Examples
    --------
    >>> from polyrule.store.packed import pack_table
    >>> table = Table.from_array(np.arange(100.0).reshape(-1, 1))
    >>> packed = pack_table(table, np.ones((100, 1), dtype=np.uint8), None, ("a",), block_rows=30)
    >>> len(sample_of(packed, 10))
    10
    """
    hashed = partial(_hashed, features=packed.features, bins=packed.bins, labels=len(packed.label_names))
    hashed_blocks = packed.each(hashed, threads=threads)
    hashes, weights = (np.concatenate(parts) for parts in zip(*hashed_blocks, strict=True))
    rows, times = drawn_rows(hashes, weights, n_draws)
    ends = np.cumsum([len(part) for part, _ in hashed_blocks])
    cuts = np.searchsorted(rows, ends)
    rows_of_blocks, drawn, first = [], [], 0
    for start, last in zip((0, *ends[:-1].tolist()), cuts.tolist(), strict=True):
        rows_of_blocks.append(rows[first:last] - start)
        drawn.append(times[first:last])
        first = last
    return Packed(
        packed.features, packed.bins, packed.label_names, packed.each(_rows_of, rows_of_blocks, drawn, threads=threads)
    )


def examples_of_block(block: Block, features: Any, bins: tuple[Bins, ...], labels: int) -> Iterator[Examples]:
    """Read a block as examples, a few at a time."""
    size = max(1, _CELLS // max(1, len(bins), labels))
    for first in range(0, len(block), size):
        rows = slice(first, first + size)
        table = PackedTable(block.codes[:, rows].T, features, bins)
        weights = np.ones(len(table), dtype=np.int64) if block.weights is None else block.weights[rows]
        yield table, unpacked_bits(block.truth[rows], labels).view(np.uint8), weights


def sum_over_examples(packed: Packed, count: Callable[[Examples], Ints], threads: int = 1) -> Ints:
    """Return the sum of arrays that a function counts on all examples, a few at a time."""
    layout = packed.features, packed.bins, len(packed.label_names)
    counts = packed.each(partial(_sum_of_block, count=count, layout=layout), threads=threads)
    return np.asarray(np.sum(counts, axis=0, dtype=np.int64))


def _sum_of_block(block: Block, count: Callable[[Examples], Ints], layout: Any) -> Ints:
    counts = [count(examples) for examples in examples_of_block(block, *layout)]
    return np.asarray(np.sum(counts, axis=0, dtype=np.int64))


def _hashed(block: Block, **layout: Any) -> tuple[Words, Ints]:
    """Hashes and weights of a block's rows."""
    parts_of_block = [(content_hashes(*examples), examples[2]) for examples in examples_of_block(block, **layout)]
    hashes, weights = (np.concatenate(parts) for parts in zip(*parts_of_block, strict=True))
    return hashes, weights


def _rows_of(block: Block, rows: Ints, times: Ints) -> Block:
    """Return some rows of a block."""
    values = None
    if block.values is not None:
        values = np.array([block.values[column][rows] for column in range(len(block.codes))])
    return Block(np.ascontiguousarray(block.codes[:, rows]), block.truth[rows], times, values)
