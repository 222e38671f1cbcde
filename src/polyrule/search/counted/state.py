"""State of the rows of one block: a function of the block and of the rules so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from polyrule.search.counted.requests import Body, CommittedRule, Range
from polyrule.store.packed import Block

WORD = 64
#: Covers that are cached; a search follows one path, so it needs the last few.
REMEMBERED = 4


class BlockState:
    """Working set and assigned labels of one block, after some rules.

    It is never sent: a process that has the block replays the rules. `xp` is NumPy, or CuPy where the block lies on a
    GPU.
    """

    def __init__(self, block: Block, labels: int, xp: Any = np) -> None:
        self.block = block
        self.labels = labels
        self.xp = xp
        self.version = 0
        self.working = xp.ones(len(block), dtype=bool)
        self.set = xp.zeros_like(block.truth)
        self.value = xp.zeros_like(block.truth)
        self._covers: dict[Body, Any] = {}

    def replay(self, steps: tuple[CommittedRule, ...]) -> None:
        """Apply the rules that are new."""
        for step in steps[self.version :]:
            self._apply(step)

    # -- which rows ------------------------------------------------------------------------------------------------

    def rows(self, body: Body) -> Any:
        """Row numbers of the working set that satisfy the body, ascending."""
        cover = self._covers.get(body)
        if cover is not None:
            return cover
        if not body:
            rows = self.xp.flatnonzero(self.working)
        elif body[:-1] in self._covers:
            parent = self._covers[body[:-1]]
            rows = parent[self.satisfies(body[-1], parent)]
        else:
            mask = self.working
            for condition in body:
                mask = mask & self.satisfies(condition, slice(None))
            rows = self.xp.flatnonzero(mask)
        if rows.dtype != np.uint32:
            rows = rows.astype(np.uint32)
        while len(self._covers) >= REMEMBERED:
            self._covers.pop(next(iter(self._covers)))
        self._covers[body] = rows
        return rows

    def satisfies(self, condition: Range, rows: Any) -> Any:
        """Return True if each of the rows satisfies a condition."""
        if condition.threshold is not None:
            assert self.block.values is not None
            values = self.block.values[condition.column][rows]
            return values > condition.threshold if condition.above else values <= condition.threshold
        codes = self.codes(condition.column, rows)
        if condition.low == condition.high:
            return codes == condition.low
        if condition.low == 0:
            return codes <= condition.high
        return (codes >= condition.low) & (codes <= condition.high)

    def codes(self, column: int, rows: Any) -> Any:
        """Codes of a feature, or of what earlier rules have set for a label."""
        features = len(self.block.codes)
        if column < features:
            return self.block.codes[column][rows]
        is_set, value = (self.bit(words, column - features, rows) for words in (self.set, self.value))
        return self.xp.where(is_set, value, np.uint8(2))

    def bit(self, words: Any, label: int, rows: Any) -> Any:
        """Bit of a label for each of the rows."""
        shifted = words[rows, label // WORD] >> np.uint64(label % WORD)
        return (shifted & np.uint64(1)).astype(np.uint8)

    def outcomes(self, rows: Any) -> list[Any]:
        """Outcome of each of the rows, label by label."""
        return [self.bit(self.block.truth, k, rows) + 2 * self.bit(self.set, k, rows) for k in range(self.labels)]

    def weigh(self, rows: Any) -> int:
        """Weight of some rows."""
        return len(rows) if self.block.weights is None else int(self.block.weights[rows].sum())

    def weights(self, rows: Any) -> Any:
        """Weights of some rows."""
        if self.block.weights is None:
            return self.xp.ones(len(rows), dtype=np.int64)
        return self.block.weights[rows]

    # -- what a rule does ------------------------------------------------------------------------------------------

    def fresh(self, rows: Any, label: int) -> Any:
        """Return a mask of the rows whose label is unset."""
        return self.bit(self.set, label, rows) == 0

    def open_rows(self, rows: Any, filled: tuple[int, ...], negative: bool) -> Any:
        """Return a mask of the rows that would have an unset label if the `filled` ones were set."""
        left = ~self.set[rows]
        if not negative:
            left &= self.block.truth[rows]
        keep = self.xp.asarray(label_bits(range(self.labels), left.shape[1]) & ~label_bits(filled, left.shape[1]))
        return (left & keep).any(axis=1)

    def _apply(self, step: CommittedRule) -> None:
        rows = self.rows(step.body)
        words = self.set.shape[1]
        head = tuple(label for label, _ in step.head)
        filled = tuple(range(self.labels)) if step.full else head
        still_open = self.open_rows(rows, filled, step.negative) if step.stay == "open" else None
        unset = ~self.set[rows]
        present = self.xp.asarray(label_bits((label for label, value in step.head if value), words))
        self.value[rows] |= unset & present
        self.set[rows] |= self.xp.asarray(label_bits(filled, words))
        if step.stay == "none":
            self.working[rows] = False
        elif still_open is not None:
            self.working[rows[~still_open]] = False
        self._covers.clear()
        self.version += 1


def label_bits(labels: Iterable[int], words: int) -> Any:
    """Return labels as bits of `words` words."""
    out = np.zeros(words, dtype=np.uint64)
    for label in labels:
        out[label // WORD] |= np.uint64(1 << (label % WORD))
    return out
