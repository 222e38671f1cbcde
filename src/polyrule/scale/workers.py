"""What lies on the workers of a cluster: shares of the rows, with the state of their blocks beside them.

The state of a block is replayed from the rules, so a worker may keep it, lose it or never have had it: the answer is
the same. Nothing here imports dask.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from polyrule.errors import DataError
from polyrule.scale.coded import Step
from polyrule.scale.parcel import for_the_journey
from polyrule.scale.questions import Question
from polyrule.scale.state import BlockState
from polyrule.store import Block, Store

_stores: dict[tuple[str, str], Store] = {}
#: What a share says about its size, so that a scheduler rather sends the question to it than it to another worker.
DEAR = 64 << 20


@dataclass(frozen=True)
class StoreBlocks:
    """Some blocks of a store that every worker can read; only their names travel."""

    path: str
    fingerprint: str
    indices: tuple[int, ...]

    def __iter__(self) -> Iterator[Block]:
        blocks = open_store(self.path, self.fingerprint).blocks
        return (blocks[index] for index in self.indices)


class Share:
    """Some blocks, and what a worker knows about them after some rules.

    Examples
    --------
    >>> import numpy as np
    >>> from polyrule.scale.questions import Weight
    >>> block = Block(np.zeros((1, 3), dtype=np.uint8), np.zeros((3, 1), dtype=np.uint64))
    >>> Share([block, block], labels=1).answer((), Weight())
    6
    """

    def __init__(self, blocks: Sequence[Block] | StoreBlocks, labels: int) -> None:
        self._blocks = blocks
        self._labels = labels
        self._states: list[BlockState] = []
        self._lock = threading.Lock()

    def answer(self, steps: tuple[Step, ...], question: Question[Any]) -> Any:
        """Answer a question after some rules; a task that runs twice, or late, changes nothing."""
        with self._lock:
            if not self._states:
                self._states = self._anew()
            late = self._states[0].version > len(steps)  # asked about the past: what is known now stays
            total: Any = None
            for state in self._anew() if late else self._states:
                state.replay(steps)
                found = question.answer(state)
                if total is None:
                    total = found
                else:
                    total += found
            return total

    def _anew(self) -> list[BlockState]:
        return [BlockState(block, self._labels) for block in self._blocks]

    def __getstate__(self) -> tuple[Any, int]:
        return self._blocks, self._labels

    def __setstate__(self, known: tuple[Any, int]) -> None:
        self.__init__(*known)  # type: ignore[misc]

    def __sizeof__(self) -> int:
        return DEAR


def open_store(path: str, fingerprint: str) -> Store:
    """Open a store once per process, and make sure that it is the one meant."""
    key = path, fingerprint
    if key not in _stores:
        store = Store(path)
        if store.fingerprint != fingerprint:
            raise DataError(f"{path}: the store that a worker sees is not the one that is fitted; copy it again")
        _stores[key] = store
    return _stores[key]


def answer_share(share: Share, steps: tuple[Step, ...], question: Question[Any]) -> Any:
    """Ask a share; the answer is made small for its journey."""
    return for_the_journey(share.answer(steps, question), question)


def add_up(answers: list[Any]) -> Any:
    """Add answers: one node of the tree of sums."""
    return reduce(add, answers)
