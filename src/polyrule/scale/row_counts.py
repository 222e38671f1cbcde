"""Counting the rows of one block: the compiled kernel, and its slow obvious twin."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyrule.native import native
from polyrule.scale.coded import KINDS, Counts, Layout
from polyrule.scale.gpu_count import count_on_device
from polyrule.scale.state import BlockState


def count_rows(
    state: BlockState,
    rows: Any,
    layout: Layout,
    usual: tuple[int, ...],
    compiled: bool = True,
    occurring: tuple[int, ...] | None = None,
) -> Counts:
    """Count some rows of a block by column, bin, label and kind."""
    if state.xp is not np:
        return count_on_device(state, rows, layout, usual, occurring)
    if compiled and native is not None and hasattr(native, "count_rows"):
        return _compiled(state, rows, layout, usual)
    return count_plainly(state, rows, layout)


def count_plainly(state: BlockState, rows: Any, layout: Layout) -> Counts:
    """Count with NumPy, without tricks."""
    starts = layout.starts
    kinds = np.zeros((int(starts[-1]), layout.labels, KINDS), dtype=np.int64)
    weight = np.zeros(int(starts[-1]), dtype=np.int64)
    weights = state.weights(rows)
    kind = [
        state.bit(state.block.truth, label, rows) + 2 * state.bit(state.set, label, rows)
        for label in range(layout.labels)
    ]
    for column, start in zip(layout.columns, starts, strict=False):
        bins = start + state.codes(column, rows)
        np.add.at(weight, bins, weights)
        for label in range(layout.labels):
            np.add.at(kinds, (bins, label, kind[label]), weights)
    return Counts(kinds, weight)


def _compiled(state: BlockState, rows: Any, layout: Layout, usual: tuple[int, ...]) -> Counts:
    assert native is not None
    starts = layout.starts
    kinds = np.zeros((int(starts[-1]), layout.labels, KINDS), dtype=np.int64)
    weight = np.zeros(int(starts[-1]), dtype=np.int64)
    block = state.block
    native.count_rows(
        codes=block.codes,
        truth=block.truth,
        set=state.set,
        value=state.value,
        weights=block.weights,
        rows=rows,
        columns=np.array(layout.columns, dtype=np.int32),
        starts=starts,
        usual=np.array(usual, dtype=np.uint8),
        kinds=kinds,
        weight=weight,
    )
    fill_usual(kinds, weight, usual)
    return Counts(kinds, weight)


def fill_usual(kinds: Any, weight: Any, usual: tuple[int, ...]) -> None:
    """Find the counts of the usual kinds, which nobody has counted, from the rest."""
    rest = kinds.sum(axis=2)
    for label, kind in enumerate(usual):
        kinds[:, label, kind] = weight - rest[:, label]
