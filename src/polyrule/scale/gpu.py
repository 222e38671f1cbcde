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


def _rows_struct(state: BlockState, rows: Any, everything: bool) -> Any:
    """Return the kernels' argument `Rows` on the device, field by field as C lays it out."""
    block: Any = state.block
    layout = np.dtype(
        [(name, "<u8") for name in ("codes", "truth", "set", "value", "weights", "chosen")]
        + [("n", "<i8"), ("stride", "<i8")]
        + [(name, "<i4") for name in ("wide_codes", "features", "words", "labels")]
    )
    weights = 0 if block.weights is None else block.weights.data.ptr
    chosen = 0 if everything else rows.data.ptr
    wide = int(block.codes.dtype == np.uint16)
    words = block.truth.shape[1]
    pointers = (block.codes.data.ptr, block.truth.data.ptr, state.set.data.ptr, state.value.data.ptr, weights, chosen)
    numbers = (len(rows), len(block), wide, len(block.codes), words, state.labels)
    return _upload(state.xp, np.array([(*pointers, *numbers)], dtype=layout))


def _upload(xp: Any, struct: Any) -> Any:
    return xp.asarray(np.frombuffer(struct.tobytes(), dtype=np.uint8))


def count_on_device(
    state: BlockState, rows: Any, layout: Layout, usual: tuple[int, ...], occurring: tuple[int, ...] | None = None
) -> Counts:
    """Count some rows; labels are taken in turns where the table of a column does not fit shared memory."""
    xp = state.xp
    starts = layout.starts
    kinds = xp.zeros((int(starts[-1]), layout.labels, KINDS), dtype=np.int64)
    weight = xp.zeros(int(starts[-1]), dtype=np.int64)
    struct = _rows_struct(state, rows, len(rows) == len(state.block))
    cell = 4 if state.block.weights is None else 8
    limit = _shared_limit() // cell
    order = sorted(range(len(layout.columns)), key=lambda i: layout.widths[i])
    small = [i for i in order if layout.widths[i] * KINDS <= limit]
    if small:
        _count_shared(state, (struct, len(rows)), layout, small, usual, occurring, (kinds, weight), limit, cell)
    for i in order[len(small) :]:
        columns, begins = _device_columns(xp, layout, [i])
        grid = (max(1, min(4096, -(-len(rows) // THREADS))), 1)
        usual_words = xp.asarray(_usual_words(usual, state.block.truth.shape[1], range(layout.labels)))
        arguments = (struct, columns, begins + int(starts[i]), usual_words, kinds, weight)
        _kernels()["count_direct"](grid, (THREADS,), arguments)
    cells = int(starts[-1]) * layout.labels
    usual_kind = xp.asarray(np.array(usual, dtype=np.int32))
    _kernels()["fill_usual"](
        (-(-cells // 256),), (256,), (kinds, weight, usual_kind, np.int64(starts[-1]), np.int32(layout.labels))
    )
    return Counts(kinds, weight)


def _device_columns(xp: Any, layout: Layout, chosen: list[int]) -> tuple[Any, Any]:
    columns = np.array([layout.columns[i] for i in chosen], dtype=np.int32)
    begins = np.concatenate([[0], np.cumsum([layout.widths[i] for i in chosen])]).astype(np.int64)
    return xp.asarray(columns), xp.asarray(begins)


def _count_shared(
    state: BlockState,
    what: tuple[Any, int],
    layout: Layout,
    chosen: list[int],
    usual: tuple[int, ...],
    occurring: tuple[int, ...] | None,
    out: tuple[Any, Any],
    limit: int,
    cell: int,
) -> None:
    """Count columns that fit shared memory: in runs of neighbours whose bins lie one after another in the table."""
    xp = state.xp
    (struct, n), (kinds, weight) = what, out
    words = state.block.truth.shape[1]
    kernel = _kernels()["count_shared<unsigned>" if cell == 4 else "count_shared<u64>"]
    for run in _runs(sorted(chosen)):
        widths = sorted((layout.widths[i] for i in run), reverse=True)
        together = next(k for k in (TOGETHER, 2, 1) if sum(widths[:k]) * KINDS <= limit)
        widest = sum(widths[:together])
        columns, begins = _device_columns(xp, layout, run)
        base = int(layout.starts[run[0]])
        most = limit // widest - 1  # places beside the weight
        for number, (labels, slot, place_of) in enumerate(_tiles(layout.labels, usual, occurring, most)):
            slots = len(place_of)
            size = widest * slots * cell
            kernel.max_dynamic_shared_size_bytes = max(size, 49152)
            groups = -(-len(run) // together)
            blocks = max(1, min(-(-n // (THREADS * 4)), -(-_processors() * 4 // groups)))
            arguments = (
                struct,
                columns,
                begins,
                np.int32(len(run)),
                np.int32(together),
                xp.asarray(_usual_words(usual, words, labels)),
                xp.asarray(slot),
                xp.asarray(place_of),
                np.int32(slots),
                np.int32(number == 0),
                kinds[base:],
                weight[base:],
            )
            kernel((blocks, groups), (THREADS,), arguments, shared_mem=size)


def _runs(chosen: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for i in chosen:
        if runs and runs[-1][-1] == i - 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def _tiles(
    labels: int, usual: tuple[int, ...], occurring: tuple[int, ...] | None, most: int
) -> list[tuple[range, Any, Any]]:
    """Divide the labels so that each part has at most `most` places; place 0 of a part is the weight."""
    places = [
        [k for k in range(KINDS) if k != usual[label] and (occurring is None or occurring[label] >> k & 1)]
        for label in range(labels)
    ]
    tiles: list[tuple[range, Any, Any]] = []
    start = 0
    while start < labels or not tiles:
        end, used = start, 0
        while end < labels and (end == start or used + len(places[end]) <= most):
            used += len(places[end])
            end += 1
        slot = np.full(max(1, labels * KINDS), -1, dtype=np.int32)
        back = [0]
        for label in range(start, end):
            for k in places[label]:
                slot[label * KINDS + k] = len(back)
                back.append(label * KINDS + k)
        tiles.append((range(start, end), slot, np.array(back, dtype=np.int32)))
        start = end
    return tiles


def _usual_words(usual: tuple[int, ...], words: int, labels: range) -> Any:
    out = np.zeros((3, words), dtype=np.uint64)
    for label in labels:
        bit = np.uint64(1 << (label % 64))
        out[0, label // 64] |= bit if usual[label] & 1 else np.uint64(0)
        out[1, label // 64] |= bit if usual[label] & 2 else np.uint64(0)
        out[2, label // 64] |= bit
    return out.ravel()


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
    xp = cupy()
    kernels = _kernels()
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
