"""Counting and deciding on a GPU, through CuPy: the same counts, the same list.

All rows lie on the device as one block; `BlockState` runs there unchanged, because CuPy's arrays behave like NumPy's.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from polyrule.binning.bins import code_type, word_count
from polyrule.measures import RatioMeasure
from polyrule.measures.definition import N_OUTCOMES
from polyrule.search.counted.counter import Counter
from polyrule.search.counted.queries import Query
from polyrule.search.counted.requests import Counts
from polyrule.search.counted.state import BlockState
from polyrule.search.gpu import device
from polyrule.store.packed import Block, Packed

Answer = TypeVar("Answer")


class GpuCounter(Counter):
    """Answers questions about rows that all lie on one GPU."""

    decides = True

    def __init__(self, packed: Packed, with_values: bool = False) -> None:
        xp = device.cupy()
        features, rows = len(packed.bins), len(packed)
        codes = xp.empty((features, rows), dtype=code_type(max(map(len, packed.bins))))
        truth = xp.empty((rows, word_count(len(packed.label_names))), dtype=np.uint64)
        weights: Any = None
        values = xp.empty((features, rows)) if with_values else None
        start = 0
        for block in packed.blocks:  # one after another: a store has more of them than memory
            place = slice(start, start + len(block))
            codes[:, place] = xp.asarray(np.ascontiguousarray(block.codes, dtype=codes.dtype))
            truth[place] = xp.asarray(np.ascontiguousarray(block.truth))
            if block.weights is not None:
                weights = xp.ones(rows, dtype=np.int64) if weights is None else weights
                weights[place] = xp.asarray(np.ascontiguousarray(block.weights))
            if values is not None:
                assert block.values is not None
                for column in range(features):
                    values[column, place] = xp.asarray(np.ascontiguousarray(block.values[column]))
            start = place.stop
        self.state = BlockState(Block(codes, truth, weights, values), len(packed.label_names), xp)

    def run(self, question: Query[Answer]) -> Answer:
        """Answer for all rows."""
        self.state.replay(self.steps)
        return question.answer(self.state)


def decide_on_device(
    counts: Counts,
    occurs: Any,
    columns: Any,
    allowed: Any,
    total: Any,
    measure: RatioMeasure,
    min_coverage: int,
    single: bool,
) -> tuple[int, int, bool] | None:
    """Return position, code and side of the best candidate; see `polyrule.search.counted.scoring.decide`."""
    if not len(columns.starts):
        return None
    xp = device.cupy()
    labels = counts.outcomes.shape[1]
    width, n_columns = labels * N_OUTCOMES, len(columns.starts)
    starts, ends, numeric, own_label = columns.on_device
    outcomes_upto, weight_upto, occurs_upto = (xp.empty_like(a) for a in (counts.outcomes, counts.weight, occurs))
    device.kernel("running_sums")(
        (-(-(width + 2) // 128), n_columns),
        (128,),
        (
            *(counts.outcomes, counts.weight, occurs, starts, ends, np.int32(n_columns), np.int32(width)),
            *(outcomes_upto, weight_upto, occurs_upto),
        ),
    )
    deciders = device.TUNING.deciders
    widest = int((columns.ends - columns.starts).max())
    across = max(1, -(-(widest - 1) * 2 // deciders))
    candidates = xp.empty((n_columns * across, 4), dtype=np.int64)
    best = xp.empty(4, dtype=np.int64)
    judged = np.zeros(1, dtype=np.dtype({"names": ["rows", "single"], "formats": ["(10,)<i8", "?"], "itemsize": 88}))
    judged["rows"][0] = [*measure.numerator, *measure.denominator]
    judged["single"] = single
    device.kernel("decide")(
        (across, n_columns),
        (deciders,),
        (
            *(
                _upload(xp, judged),
                counts.outcomes,
                counts.weight,
                outcomes_upto,
                weight_upto,
                occurs_upto,
                starts,
                ends,
            ),
            *(numeric, own_label, xp.asarray(allowed.astype(np.uint8)), xp.asarray(np.ascontiguousarray(total))),
            *(np.int32(labels), np.int64(min_coverage), candidates),
        ),
    )
    device.kernel("best_of_all")((1,), (deciders,), (candidates, np.int32(len(candidates)), best))
    order = int(best[3])
    if order < 0:
        return None
    position, rest = order >> 24, order & ((1 << 24) - 1)
    return position, rest // 2, bool(rest % 2)


def _upload(xp: Any, struct: Any) -> Any:
    return xp.asarray(np.frombuffer(struct.tobytes(), dtype=np.uint8))
