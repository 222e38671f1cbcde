"""How a fit counts: with which bins, where, and by whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polyrule.binning.bins import check_max_bins
from polyrule.measures import Objective
from polyrule.search.counted.counter import Counter, LocalCounter
from polyrule.search.counted.engine import CountedEngine
from polyrule.search.counted.refine import RefiningEngine
from polyrule.search.counted.state import BlockState
from polyrule.search.gpu.counter import GpuCounter
from polyrule.search.gpu.device import check_device
from polyrule.search.protocol import Engine, GrowOptions
from polyrule.store.packed import Block, Blocks, Packed
from polyrule.utils.compute import ONE_THREAD, Compute

Maker = Callable[[Packed], Counter]


@dataclass(frozen=True)
class Counting:
    """Options of a fit that counts."""

    max_bins: int | None = None  # most bins of a numeric feature; None counts only where the data is packed already
    refine: bool = False  # whether thresholds between the bins are looked for, too
    device: str = "cpu"  # one of "cpu", "cuda"; where rows are counted
    maker: Maker | None = None  # makes the counter of some packed data

    def __post_init__(self) -> None:
        if self.max_bins is not None:
            check_max_bins(self.max_bins)
        check_device(self.device)


def counted_engine(
    packed: Packed,
    objective: Objective,
    options: GrowOptions,
    counting: Counting,
    compute: Compute = ONE_THREAD,
) -> Engine:
    """Return the engine that learns from packed data."""
    if counting.maker is not None:
        counter = counting.maker(packed)
    elif counting.device == "cuda":
        counter = GpuCounter(packed, counting.refine)
    else:
        counter = LocalCounter(packed, compute.threads)
    maker: type[CountedEngine] = RefiningEngine if counting.refine else CountedEngine
    return maker(counter, packed, objective, options, compiled=compute.kernels != "reference")


def present_weight(packed: Packed, label: int) -> int:
    """Weight of the examples that have a label."""
    total = 0
    for block in packed.blocks:
        state = BlockState(block, len(packed.label_names))
        present = state.bit(block.truth, label, slice(None)).astype(np.int64)
        total += int((present * state.weights(np.arange(len(block)))).sum())
    return total


def one_label(packed: Packed, label: int, value: int = 1) -> Packed:
    """Return the same examples with one label only, present where the label has the given value."""
    blocks = _OneLabel(packed.blocks, label, value)
    return Packed(packed.features, packed.bins, (packed.label_names[label],), blocks)


@dataclass(frozen=True)
class _OneLabel(Blocks):
    """Blocks whose label bits are narrowed to one label."""

    blocks: Sequence[Block]
    label: int
    value: int

    def __len__(self) -> int:
        return len(self.blocks)

    def read(self, index: int) -> Block:
        """Return a block with one label."""
        block = self.blocks[index]
        word = block.truth[:, self.label // 64] >> np.uint64(self.label % 64)
        present = (word & np.uint64(1)) ^ np.uint64(1 - self.value)
        return replace(block, truth=np.ascontiguousarray(present[:, None]))
