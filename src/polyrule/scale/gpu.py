"""Counting and deciding on a GPU, through CuPy: the same counts, the same list.

All rows lie on the device as one block; `BlockState` runs there unchanged, because CuPy's arrays behave like NumPy's.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from polyrule.errors import OptionError
from polyrule.kernels.singles import RatioValues
from polyrule.scale.coded import KINDS, Counts, Layout, Step
from polyrule.scale.questions import Question
from polyrule.scale.state import BlockState
from polyrule.store.packed import Block, Packed

Answer = TypeVar("Answer")
TOGETHER = 4  # kTogether of kernels.cu
THREADS, DECIDERS = 1024, 256


def cupy() -> Any:
    """Return CuPy, or say what is missing."""
    try:
        import cupy as found

        if found.cuda.runtime.getDeviceCount() < 1:
            raise OptionError(
                "device='cuda': this machine has no GPU that CUDA can use; leave it out to count on the CPU"
            )
    except ImportError as problem:
        raise OptionError("device='cuda' needs CuPy and an NVIDIA GPU; pip install polyrule[cuda]") from problem
    except OptionError:
        raise
    except Exception as problem:  # CuPy has errors of its own for drivers that are missing or too old
        raise OptionError(
            f"device='cuda': the GPU cannot be used ({problem}); leave it out to count on the CPU"
        ) from None
    return found


class GpuCounter:
    """Answers questions about rows that all lie on one GPU."""

    decides = True

    def __init__(self, packed: Packed) -> None:
        xp = cupy()
        blocks = list(packed.blocks)
        codes = xp.empty((len(packed.bins), len(packed)), dtype=blocks[0].codes.dtype)
        truth = xp.empty((len(packed), blocks[0].truth.shape[1]), dtype=np.uint64)
        weighted = any(block.weights is not None for block in blocks)
        weights = xp.ones(len(packed), dtype=np.int64) if weighted else None
        values = None
        if all(block.values is not None for block in blocks):
            values = xp.empty((len(packed.bins), len(packed)))
        start = 0
        for block in blocks:
            rows = slice(start, start + len(block))
            codes[:, rows] = xp.asarray(np.ascontiguousarray(block.codes))
            truth[rows] = xp.asarray(np.ascontiguousarray(block.truth))
            if weights is not None and block.weights is not None:
                weights[rows] = xp.asarray(np.ascontiguousarray(block.weights))
            if values is not None and block.values is not None:
                values[:, rows] = xp.asarray(np.ascontiguousarray(block.values))
            start += len(block)
        self.steps: tuple[Step, ...] = ()
        self.state = BlockState(Block(codes, truth, weights, values), len(packed.label_names), xp)

    def ask(self, question: Question[Answer]) -> Answer:
        """Answer for all rows."""
        self.state.replay(self.steps)
        return question.answer(self.state)

    def advance(self, step: Step) -> None:
        """Let a rule join the list."""
        self.steps = (*self.steps, step)


@cache
def _kernels() -> Any:
    folder = Path(__file__).parent
    text = "".join((folder / name).read_text(encoding="utf-8") for name in ("kernel.h", "kernels.cu"))
    names = ("count_shared<unsigned>", "count_shared<u64>", "count_direct", "fill_usual", "running_sums", "decide")
    module = cupy().RawModule(
        code=text.replace("#pragma once", ""),
        options=("-std=c++17", "--device-int128"),
        name_expressions=(*names, "best_of_all"),
    )
    return {name: module.get_function(name) for name in (*names, "best_of_all")}


@cache
def _shared_limit() -> int:
    return int(cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


@cache
def _processors() -> int:
    return int(cupy().cuda.Device().attributes["MultiProcessorCount"])


def _row_arguments(state: BlockState, rows: Any) -> tuple[Any, ...]:
    """Return what the counting kernels are told about rows; a list of all of them is not read."""
    block: Any = state.block
    nothing = np.uint64(0)
    return (
        block.codes,
        np.int32(block.codes.dtype == np.uint16),
        np.int64(len(block)),
        np.int32(len(block.codes)),
        block.truth,
        state.set,
        state.value,
        nothing if block.weights is None else block.weights,
        nothing if len(rows) == len(block) else rows,
        np.int64(len(rows)),
        np.int32(block.truth.shape[1]),
        np.int32(state.labels),
    )


def _upload(xp: Any, struct: Any) -> Any:
    return xp.asarray(np.frombuffer(struct.tobytes(), dtype=np.uint8))


def count_on_device(
    state: BlockState, rows: Any, layout: Layout, usual: tuple[int, ...], occurring: tuple[int, ...] | None = None
) -> Counts:
    """Count some rows: in shared memory where the table of a column fits, labels in turns if need be."""
    xp = state.xp
    starts = layout.starts
    kinds = xp.zeros((int(starts[-1]), layout.labels, KINDS), dtype=np.int64)
    weight = xp.zeros(int(starts[-1]), dtype=np.int64)
    counting = _Counting(state, rows, layout, usual, occurring, kinds, weight)
    small = [i for i in range(len(layout.columns)) if layout.widths[i] * KINDS <= counting.cells]
    for run in _runs(small):
        counting.shared(run)
    for i in sorted(set(range(len(layout.columns))) - set(small)):
        counting.direct(i)
    cells = int(starts[-1]) * layout.labels
    usual_kind = xp.asarray(np.array(usual, dtype=np.int32))
    _kernels()["fill_usual"](
        (-(-cells // 256),), (256,), (kinds, weight, usual_kind, np.int64(starts[-1]), np.int32(layout.labels))
    )
    return Counts(kinds, weight)


class _Counting:
    """One question to the counting kernels."""

    def __init__(
        self,
        state: BlockState,
        rows: Any,
        layout: Layout,
        usual: tuple[int, ...],
        occurring: tuple[int, ...] | None,
        kinds: Any,
        weight: Any,
    ) -> None:
        self.state, self.layout, self.usual, self.kinds, self.weight = state, layout, usual, kinds, weight
        self.rows = _row_arguments(state, rows)
        self.n = len(rows)
        self.cell = 4 if state.block.weights is None else 8
        self.table = layout.labels * KINDS * 4  # bytes of the places in shared memory
        self.cells = max(0, _shared_limit() - self.table) // self.cell
        self.places = [
            [k for k in range(KINDS) if k != usual[label] and (occurring is None or occurring[label] >> k & 1)]
            for label in range(layout.labels)
        ]

    def shared(self, run: list[int]) -> None:
        """Count columns whose bins lie one after another, as many together as fit with all labels."""
        xp = self.state.xp
        widths = sorted((self.layout.widths[i] for i in run), reverse=True)
        slots = 1 + sum(map(len, self.places))
        together = next((k for k in range(TOGETHER, 0, -1) if sum(widths[:k]) * slots <= self.cells), 1)
        widest = sum(widths[:together])
        columns, begins = _device_columns(xp, self.layout, run)
        base = int(self.layout.starts[run[0]])
        kernel = _kernels()["count_shared<unsigned>" if self.cell == 4 else "count_shared<u64>"]
        groups = -(-len(run) // together)
        blocks = max(1, min(-(-self.n // (THREADS * 4)), _processors() * 4 // groups))
        for number, (labels, slot, place_of) in enumerate(_tiles(self.places, self.cells // widest - 1)):
            size = widest * len(place_of) * self.cell + self.table
            kernel.max_dynamic_shared_size_bytes = max(size, 49152)
            arguments = (
                *self.rows,
                columns,
                begins,
                np.int32(len(run)),
                np.int32(together),
                self._usual_words(labels),
                xp.asarray(slot),
                xp.asarray(place_of),
                np.int32(len(place_of)),
                np.int32(number == 0),
                self.kinds[base:],
                self.weight[base:],
            )
            kernel((blocks, groups), (THREADS,), arguments, shared_mem=size)

    def direct(self, position: int) -> None:
        """Count one column of many bins."""
        columns, begins = _device_columns(self.state.xp, self.layout, [position])
        begins += int(self.layout.starts[position])
        words = self._usual_words(range(self.layout.labels))
        grid = (max(1, min(4096, -(-self.n // THREADS))), 1)
        arguments = (*self.rows, columns, begins, words, self.kinds, self.weight)
        _kernels()["count_direct"](grid, (THREADS,), arguments)

    def _usual_words(self, labels: range) -> Any:
        """Usual kinds as bits (truth, then set), and which labels are meant."""
        out = np.zeros((3, self.state.block.truth.shape[1]), dtype=np.uint64)
        for label in labels:
            bit = np.uint64(1 << (label % 64))
            for kind in (0, 1):
                out[kind, label // 64] |= bit if self.usual[label] >> kind & 1 else np.uint64(0)
            out[2, label // 64] |= bit
        return self.state.xp.asarray(out.ravel())


def _device_columns(xp: Any, layout: Layout, chosen: list[int]) -> tuple[Any, Any]:
    columns = np.array([layout.columns[i] for i in chosen], dtype=np.int32)
    begins = np.concatenate([[0], np.cumsum([layout.widths[i] for i in chosen])]).astype(np.int64)
    return xp.asarray(columns), xp.asarray(begins)


def _runs(chosen: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for i in chosen:
        if runs and runs[-1][-1] == i - 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def _tiles(places: list[list[int]], most: int) -> list[tuple[range, Any, Any]]:
    """Divide the labels so that each part has at most `most` places; place 0 of a part is the weight."""
    labels = len(places)
    tiles: list[tuple[range, Any, Any]] = []
    start = 0
    while start < labels:
        end, used = start, 0
        while end < labels and (end == start or used + len(places[end]) <= most):
            used += len(places[end])
            end += 1
        slot = np.full(labels * KINDS, -1, dtype=np.int32)
        back = [0]
        for label in range(start, end):
            for k in places[label]:
                slot[label * KINDS + k] = len(back)
                back.append(label * KINDS + k)
        tiles.append((range(start, end), slot, np.array(back, dtype=np.int32)))
        start = end
    return tiles


def decide_on_device(
    counts: Counts,
    occurs: Any,
    columns: Any,
    allowed: Any,
    total: Any,
    values: RatioValues,
    min_coverage: float,
    single: bool,
) -> tuple[int, int, bool] | None:
    """Return position, code and side of the best candidate; see `polyrule.scale.decide.decide`."""
    if not len(columns.starts):
        return None
    xp, kernels = cupy(), _kernels()
    labels = counts.kinds.shape[1]
    width, n_columns = labels * KINDS, len(columns.starts)
    starts, ends = xp.asarray(columns.starts), xp.asarray(columns.ends)
    kinds_upto, weight_upto, occurs_upto = (xp.empty_like(a) for a in (counts.kinds, counts.weight, occurs))
    kernels["running_sums"](
        (-(-(width + 2) // 128), n_columns),
        (128,),
        (
            *(counts.kinds, counts.weight, occurs, starts, ends, np.int32(n_columns), np.int32(width)),
            *(kinds_upto, weight_upto, occurs_upto),
        ),
    )
    widest = int((columns.ends - columns.starts).max())
    across = max(1, -(-(widest - 1) * 2 // DECIDERS))
    found = xp.empty((n_columns * across, 4), dtype=np.int64)
    best = xp.empty(4, dtype=np.int64)
    measure = np.zeros(1, dtype=np.dtype({"names": ["rows", "single"], "formats": ["(10,)<i8", "?"], "itemsize": 88}))
    measure["rows"][0] = [*values.num, *values.den]
    measure["single"] = single
    first = slice(int(columns.starts[0]), int(columns.ends[0]))
    node_weight = np.int64(int(counts.weight[first].sum()))
    kernels["decide"](
        (across, n_columns),
        (DECIDERS,),
        (
            *(_upload(xp, measure), counts.kinds, counts.weight, kinds_upto, weight_upto, occurs_upto, starts, ends),
            *(xp.asarray(columns.numeric), xp.asarray(columns.own_label), xp.asarray(allowed.astype(np.uint8))),
            *(xp.asarray(np.ascontiguousarray(total)), np.int32(labels), node_weight, np.float64(min_coverage), found),
        ),
    )
    kernels["best_of_all"]((1,), (DECIDERS,), (found, np.int32(len(found)), best))
    order = int(best[3])
    if order < 0:
        return None
    position, rest = order >> 24, order & ((1 << 24) - 1)
    return position, rest // 2, bool(rest % 2)
