"""What can be asked about some rows so that the answers of all blocks add up to the answer for all rows.

Rows are counted by the compiled kernel, by a GPU, or by a slow obvious twin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from polyrule.search.counted.requests import Body, Counts, Layout, Range
from polyrule.search.counted.state import BlockState
from polyrule.search.gpu.counts import count_on_device
from polyrule.utils.arrays import Ints
from polyrule.utils.compute import native

Answer = TypeVar("Answer", covariant=True)


class Query(Protocol[Answer]):
    """Answered block by block; answers add up with ``+``."""

    def answer(self, state: BlockState) -> Answer:
        """Return the answer for one block."""


@dataclass(frozen=True, eq=False)
class RowCounts:
    """Weight of each bin by outcome, among rows that satisfy the body but not the condition `without`.

    `modes` is the most common outcome of each label: it follows by subtraction, so that it costs nothing. The
    answer does not depend on it. `occurring` holds as bits the outcomes that are possible.
    """

    body: Body
    layout: Layout
    modes: tuple[int, ...]
    without: Range | None = None
    compiled: bool = True
    occurring: tuple[int, ...] | None = None

    def answer(self, state: BlockState) -> Counts:
        """Count."""
        rows = state.rows(self.body)
        if self.without is not None:
            rows = rows[~state.satisfies(self.without, rows)]
        if state.xp is not np:
            return count_on_device(state, rows, self.layout, self.modes, self.occurring)
        counts = Counts.zeros(int(self.layout.starts[-1]), self.layout.labels)
        if self.compiled and native is not None:
            _count_compiled(state, rows, self.layout, self.modes, counts)
        else:
            _count_plainly(state, rows, self.layout, counts)
        return counts


@dataclass(frozen=True, eq=False)
class CommitEffect:
    """Effect of a rule: weight covered, weight with an unset label, and per label the examples newly set."""

    body: Body
    head: tuple[tuple[int, int], ...]
    full: bool
    negative: bool

    def answer(self, state: BlockState) -> Ints:
        """Return covered and open weight, then a number per label."""
        rows = state.rows(self.body)
        filled = tuple(range(state.labels)) if self.full else tuple(label for label, _ in self.head)
        still_open = state.open_rows(rows, filled, self.negative)
        out = np.zeros(2 + state.labels, dtype=np.int64)
        out[0] = state.weigh(rows)
        out[1] = state.weigh(rows[still_open])
        for label in filled:
            out[2 + label] = int(state.fresh(rows, label).sum())
        return out


@dataclass(frozen=True, eq=False)
class UnsetWeight:
    """Present and absent weight that no rule has set, per label, over all rows."""

    def answer(self, state: BlockState) -> Ints:
        """Return (present, absent) per label."""
        everything = slice(None)
        weights = state.weights(state.xp.arange(len(state.block)))
        out = np.zeros((state.labels, 2), dtype=np.int64)
        for label in range(state.labels):
            unset = weights * state.fresh(everything, label)
            out[label, 0] = int((unset * state.bit(state.block.truth, label, everything)).sum())
            out[label, 1] = int(unset.sum()) - out[label, 0]
        return out


@dataclass(frozen=True, eq=False)
class PairCounts:
    """For every two literals: the weight of working-set examples that both treat rightly (subset accuracy)."""

    body: Body
    literals: tuple[tuple[int, int], ...]

    def answer(self, state: BlockState) -> Ints:
        """Return a square matrix."""
        xp = state.xp
        working, covered = state.rows(()), state.rows(self.body)
        inside = xp.zeros(len(state.block), dtype=bool)
        inside[covered] = True
        inside = inside[working]
        right = xp.empty((len(self.literals), len(working)), dtype=bool)
        for i, (label, value) in enumerate(self.literals):
            truth = state.bit(state.block.truth, label, working)
            right[i] = xp.where(inside, state.fresh(working, label) & (truth == value), truth == 0)
        weights = state.weights(working)
        out = np.zeros((len(right), len(right)), dtype=np.int64)
        for i in range(len(right)):
            for j in range(i, len(right)):
                out[i, j] = out[j, i] = int(weights[right[i] & right[j]].sum())
        return out


@dataclass(frozen=True, eq=False)
class Weight:
    """Weight of all rows."""

    def answer(self, state: BlockState) -> Any:
        """Return the weight of the block."""
        return len(state.block) if state.block.weights is None else int(state.block.weights.sum())


def _count_plainly(state: BlockState, rows: Any, layout: Layout, counts: Counts) -> None:
    """Count with NumPy, without tricks."""
    outcomes, weights = state.outcomes(rows), state.weights(rows)
    for column, start in zip(layout.columns, layout.starts, strict=False):
        counts.add_rows(start + state.codes(column, rows), outcomes, weights)


def _count_compiled(state: BlockState, rows: Any, layout: Layout, modes: tuple[int, ...], counts: Counts) -> None:
    assert native is not None
    block = state.block
    native.count_rows(
        codes=block.codes,
        truth=block.truth,
        set=state.set,
        value=state.value,
        weights=block.weights,
        rows=rows,
        columns=np.array(layout.columns, dtype=np.int32),
        starts=layout.starts,
        modes=np.array(modes, dtype=np.uint8),
        outcomes=counts.outcomes,
        weight=counts.weight,
    )
    fill_modes(counts.outcomes, counts.weight, modes)


def fill_modes(outcomes: Any, weight: Any, modes: tuple[int, ...]) -> None:
    """Fill in the most common outcome of each label, which is not counted, from the others."""
    rest = outcomes.sum(axis=2)
    for label, outcome in enumerate(modes):
        outcomes[:, label, outcome] = weight - rest[:, label]
