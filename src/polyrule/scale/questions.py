"""What can be asked about some rows so that the answers of all blocks add up to the answer for all rows.

Rows are counted by the compiled kernel, by a GPU, or by a slow obvious twin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from polyrule.scale.coded import Body, Counts, Layout, Range
from polyrule.scale.gpu_count import count_on_device
from polyrule.scale.state import BlockState
from polyrule.utils.arrays import Ints
from polyrule.utils.compute import native

Answer = TypeVar("Answer", covariant=True)


class Question(Protocol[Answer]):
    """Answered block by block; answers add up with ``+``."""

    def answer(self, state: BlockState) -> Answer:
        """Return the answer for one block."""


@dataclass(frozen=True, eq=False)
class CountRows:
    """How many rows of each kind has each bin, among those that satisfy the body and not the condition `without`?

    `usual` is the kind that most rows have, label by label: it is found by subtraction, so that it costs nothing. The
    answer does not depend on it. `occurring` says as bits which kinds there can be at all.
    """

    body: Body
    layout: Layout
    usual: tuple[int, ...]
    without: Range | None = None
    compiled: bool = True
    occurring: tuple[int, ...] | None = None

    def answer(self, state: BlockState) -> Counts:
        """Count."""
        rows = state.rows(self.body)
        if self.without is not None:
            rows = rows[~state.satisfies(self.without, rows)]
        if state.xp is not np:
            return count_on_device(state, rows, self.layout, self.usual, self.occurring)
        counts = Counts.zeros(int(self.layout.starts[-1]), self.layout.labels)
        if self.compiled and native is not None:
            _count_compiled(state, rows, self.layout, self.usual, counts)
        else:
            _count_plainly(state, rows, self.layout, counts)
        return counts


@dataclass(frozen=True, eq=False)
class WhatIf:
    """What would a rule do? Weight covered, weight still open, and per label the examples newly set."""

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
class Leftover:
    """Per label, how much present and absent weight has nobody set, over all rows?"""

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
class Agreement:
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
    """How much do all rows weigh?"""

    def answer(self, state: BlockState) -> Any:
        """Return the weight of the block."""
        return len(state.block) if state.block.weights is None else int(state.block.weights.sum())


def _count_plainly(state: BlockState, rows: Any, layout: Layout, counts: Counts) -> None:
    """Count with NumPy, without tricks."""
    kinds, weights = state.kinds(rows), state.weights(rows)
    for column, start in zip(layout.columns, layout.starts, strict=False):
        counts.add_rows(start + state.codes(column, rows), kinds, weights)


def _count_compiled(state: BlockState, rows: Any, layout: Layout, usual: tuple[int, ...], counts: Counts) -> None:
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
        usual=np.array(usual, dtype=np.uint8),
        kinds=counts.kinds,
        weight=counts.weight,
    )
    fill_modes(counts.kinds, counts.weight, usual)


def fill_modes(kinds: Any, weight: Any, usual: tuple[int, ...]) -> None:
    """Find the counts of the usual kinds, which nobody has counted, from the rest."""
    rest = kinds.sum(axis=2)
    for label, kind in enumerate(usual):
        kinds[:, label, kind] = weight - rest[:, label]
