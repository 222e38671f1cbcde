"""Counting on a GPU: labels are listed row by row once, then columns are counted in shared memory, a few at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from polyrule.measures.definition import N_OUTCOMES
from polyrule.search.counted.requests import Counts, Layout
from polyrule.search.counted.state import BlockState, label_bits
from polyrule.search.gpu import device
from polyrule.search.gpu.device import CODES, Tuning

#: Most labels whose touches can be listed: label * 4 + kind has 18 bits.
MOST_LISTED = 1 << 16


def count_on_device(
    state: BlockState, rows: Any, layout: Layout, modes: tuple[int, ...], occurring: tuple[int, ...] | None = None
) -> Counts:
    """Count some rows: in shared memory where the table of a column fits, labels in turns if need be."""
    xp, block = state.xp, state.block
    cell = 4 if block.weights is None else 8
    shape = len(block.codes), block.truth.shape[1], block.codes.dtype.itemsize
    plan = _plan(layout, modes, occurring, *shape, cell, device.TUNING)
    bins = int(layout.starts[-1])
    outcomes = xp.zeros((bins, layout.labels, N_OUTCOMES), dtype=np.int64)
    weight = xp.zeros(bins, dtype=np.int64)
    listed: dict[Any, Any] = {}
    for run in plan.runs:
        for tile in run.tiles:
            for start in range(0, len(rows), tile.slab):
                slab = _Slab(state, rows, start, min(tile.slab, len(rows) - start))
                key = start, tile.labels, tile.slab
                if key not in listed:
                    listed.clear()
                    listed[key] = slab.touches(tile)
                slab.count(run, tile, listed[key], outcomes, weight)
    for position, columns, begins, codes in plan.direct:
        everything = _Slab(state, rows, 0, len(rows))
        everything.count_direct(codes, columns, begins, plan.words, outcomes[position:], weight[position:])
    cells = bins * layout.labels
    device.kernel("fill_modes")(
        (-(-cells // 256),), (256,), (outcomes, weight, plan.modes, np.int64(bins), np.int32(layout.labels))
    )
    return Counts(outcomes, weight)


@dataclass(frozen=True, eq=False)
class _Tile:
    """Some labels whose places fit into shared memory together."""

    labels: range
    slot: Any
    place_of: Any
    words: Any
    slab: int  # rows whose touches are listed at a time
    weigh: bool


@dataclass(frozen=True, eq=False)
class _Run:
    """Columns whose bins lie one after another in the table, `together` of them for every block of threads."""

    kernel: str
    columns: Any
    begins: Any
    size: int
    together: int
    widest: int
    first_bin: int
    cell: int
    tiles: tuple[_Tile, ...]


@dataclass(frozen=True, eq=False)
class _Plan:
    """Plan of counting a table: all that does not depend on the rows, on the device."""

    runs: tuple[_Run, ...]
    direct: tuple[tuple[int, Any, Any, str], ...]
    words: Any
    modes: Any


@lru_cache(maxsize=32)
def _plan(
    layout: Layout,
    modes: tuple[int, ...],
    occurring: tuple[int, ...] | None,
    features: int,
    words: int,
    code_bytes: int,
    cell: int,
    tuning: Tuning,
) -> _Plan:
    xp = device.cupy()
    labels = layout.labels
    cells = max(0, device.shared_limit() - labels * N_OUTCOMES * 4) // cell  # beside the places of all labels
    places = [
        [k for k in range(N_OUTCOMES) if k != modes[label] and (occurring is None or occurring[label] >> k & 1)]
        for label in range(labels)
    ]

    def codes(position: int) -> str:
        return CODES[2 if layout.columns[position] >= features else code_bytes - 1]

    def tile(number: int, part: tuple[range, Any, Any]) -> _Tile:
        labels_of_tile, slot, place_of = part
        slab = max(1, tuning.touches // (tuning.chunk * len(labels_of_tile))) * tuning.chunk
        modes_on_device = xp.asarray(_mode_words(modes, labels_of_tile, words))
        return _Tile(labels_of_tile, xp.asarray(slot), xp.asarray(place_of), modes_on_device, slab, number == 0)

    small = [i for i in range(len(layout.columns)) if layout.widths[i] * N_OUTCOMES <= cells and labels <= MOST_LISTED]
    runs = []
    for selected in _runs(small, [codes(i) for i in small]):
        widths = sorted((layout.widths[i] for i in selected), reverse=True)
        slots = 1 + sum(map(len, places))
        together = next((k for k in range(tuning.together, 0, -1) if sum(widths[:k]) * slots <= cells), 1)
        widest = sum(widths[:together])
        columns, begins = _device_columns(xp, layout, selected)
        kernel = f"count_shared<{'unsigned' if cell == 4 else 'u64'}, {codes(selected[0])}>"
        tiles = tuple(tile(number, part) for number, part in enumerate(_tiles(places, cells // widest - 1)))
        first_bin = int(layout.starts[selected[0]])
        runs.append(_Run(kernel, columns, begins, len(selected), together, widest, first_bin, cell, tiles))
    direct = tuple(
        (int(layout.starts[i]), *_device_columns(xp, layout, [i]), f"count_direct<{codes(i)}>")
        for i in sorted(set(range(len(layout.columns))) - set(small))
    )
    modes_on_device = xp.asarray(_mode_words(modes, range(labels), words))
    return _Plan(tuple(runs), direct, modes_on_device, xp.asarray(np.array(modes, dtype=np.int32)))


class _Slab:
    """Some rows as arguments of the kernels; a list of all rows is not read."""

    def __init__(self, state: BlockState, rows: Any, start: int, size: int) -> None:
        self.state, self.start, self.size = state, start, size
        self.selected = np.uint64(0) if len(rows) == len(state.block) else rows[start:]
        self.chunks = -(-size // device.TUNING.chunk)

    def touches(self, tile: _Tile) -> tuple[Any, Any, Any]:
        """List the unusual labels of the rows."""
        xp, block = self.state.xp, self.state.block
        room = device.TUNING.chunk * len(tile.labels)
        touches = xp.empty(self.chunks * room, dtype=np.uint32)
        touched = xp.empty(self.chunks, dtype=np.uint32)
        rows = (block.truth, self.state.set, self.selected, np.int64(self.start), np.int64(self.size))
        words = np.int32(block.truth.shape[1])
        arguments = (*rows, words, tile.words, np.int64(room), touches, touched)
        device.kernel("list_touches")((self.chunks,), (device.TUNING.deciders,), arguments)
        return touches, touched, np.int64(room)

    def count(self, run: _Run, tile: _Tile, listed: tuple[Any, Any, Any], outcomes: Any, weight: Any) -> None:
        """Count a run of columns in shared memory."""
        groups = -(-run.size // run.together)
        blocks = max(1, min(self.chunks, device.processors() * 2 * device.TUNING.resident // groups))
        size = run.widest * len(tile.place_of) * run.cell + self.state.labels * N_OUTCOMES * 4
        kernel = device.kernel(run.kernel)
        kernel.max_dynamic_shared_size_bytes = max(size, 49152)
        arguments = (
            *self._columns(),
            *(self.selected, np.int64(self.start), np.int64(self.size), *self._labels(), *listed),
            *(run.columns, run.begins, np.int32(run.size), np.int32(run.together), tile.slot, tile.place_of),
            *(np.int32(len(tile.place_of)), np.int32(tile.weigh), outcomes[run.first_bin :], weight[run.first_bin :]),
        )
        kernel((blocks, groups), (device.TUNING.threads,), arguments, shared_mem=size)

    def count_direct(self, kernel: str, columns: Any, begins: Any, words: Any, outcomes: Any, weight: Any) -> None:
        """Count one column of many bins."""
        before, *rest = self._columns(truth=True)
        arguments = (
            *(before, *rest, self.selected, np.int64(self.size), *self._labels()),
            *(columns, begins, words, outcomes, weight),
        )
        device.kernel(kernel)((max(1, min(4096, self.chunks * 4)), 1), (device.TUNING.deciders,), arguments)

    def _columns(self, truth: bool = False) -> tuple[Any, ...]:
        block = self.state.block
        stride = np.int64(block.codes.strides[0] // block.codes.itemsize)
        weights = np.uint64(0) if block.weights is None else block.weights
        labels = (*((block.truth,) if truth else ()), self.state.set, self.state.value)
        return (block.codes, stride, np.int32(len(block.codes)), *labels, weights)

    def _labels(self) -> tuple[Any, Any]:
        return np.int32(self.state.block.truth.shape[1]), np.int32(self.state.labels)


def _mode_words(modes: tuple[int, ...], labels: range, words: int) -> Any:
    """Usual kinds as bits (truth, then set), and which labels are meant."""
    bits = [label_bits((label for label in labels if modes[label] >> bit & 1), words) for bit in (0, 1)]
    return np.concatenate([*bits, label_bits(labels, words)])


def _device_columns(xp: Any, layout: Layout, selected: list[int]) -> tuple[Any, Any]:
    columns = np.array([layout.columns[i] for i in selected], dtype=np.int32)
    begins = np.concatenate([[0], np.cumsum([layout.widths[i] for i in selected])]).astype(np.int64)
    return xp.asarray(columns), xp.asarray(begins)


def _runs(selected: list[int], code_types: list[str]) -> list[list[int]]:
    """Columns that lie side by side in the table and whose codes are read alike."""
    runs: list[list[int]] = []
    for place, i in enumerate(selected):
        if runs and runs[-1][-1] == i - 1 and code_types[place - 1] == code_types[place]:
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def _tiles(places: list[list[int]], max_places: int) -> list[tuple[range, Any, Any]]:
    """Divide the labels so that each part has at most `max_places` places; place 0 of a part is the weight."""
    labels = len(places)
    tiles: list[tuple[range, Any, Any]] = []
    start = 0
    while start < labels:
        end, used = start, 0
        while end < labels and (end == start or used + len(places[end]) <= max_places):
            used += len(places[end])
            end += 1
        slot = np.full(labels * N_OUTCOMES, -1, dtype=np.int32)
        back = [0]
        for label in range(start, end):
            for k in places[label]:
                slot[label * N_OUTCOMES + k] = len(back)
                back.append(label * N_OUTCOMES + k)
        tiles.append((range(start, end), slot, np.array(back, dtype=np.int32)))
        start = end
    return tiles
