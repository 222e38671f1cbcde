"""What runs on the workers of a cluster: pure functions of a block, the rules so far and a question.

The state of a block is replayed from the rules, so a worker may keep it, lose it or never have had it: the answer is
the same. Nothing here imports dask.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import reduce
from operator import add
from typing import Any

from polyrule.errors import DataError
from polyrule.scale.coded import Step
from polyrule.scale.questions import Question
from polyrule.scale.state import BlockState
from polyrule.store import Block, Store

#: Fits whose block states a worker keeps; an older one is forgotten.
KEPT_FITS = 2


class _Kept:
    """States of blocks that this process has counted before, fit by fit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fits: OrderedDict[str, dict[int, tuple[threading.Lock, list[BlockState]]]] = OrderedDict()

    def slot(self, fit: str, index: int) -> tuple[threading.Lock, list[BlockState]]:
        """Return the place of a state, and the lock that guards it."""
        with self._lock:
            states = self._fits.setdefault(fit, {})
            self._fits.move_to_end(fit)
            while len(self._fits) > KEPT_FITS:
                self._fits.popitem(last=False)
            return states.setdefault(index, (threading.Lock(), []))

    def forget(self, fit: str) -> None:
        """Let go of the states of a fit."""
        with self._lock:
            self._fits.pop(fit, None)


_kept = _Kept()
_stores: dict[tuple[str, str], Store] = {}


def forget(fit: str) -> None:
    """Let go of what this process keeps for a fit."""
    _kept.forget(fit)


def answer_block(
    block: Block, fit: str, index: int, labels: int, steps: tuple[Step, ...], question: Question[Any]
) -> Any:
    """Answer a question about one block after some rules; a task that runs twice, or late, changes nothing."""
    lock, kept = _kept.slot(fit, index)
    with lock:
        if not kept:
            kept.append(BlockState(block, labels))
        state = kept[0]
        if state.version > len(steps):  # asked again about the past
            state = BlockState(block, labels)
        state.replay(steps)
        return question.answer(state)


def answer_blocks(
    path: str, fingerprint: str, indices: list[int], fit: str, labels: int, steps: tuple[Step, ...], question: Any
) -> Any:
    """Answer a question about some blocks of a store that this worker can read."""
    blocks = open_store(path, fingerprint).blocks
    return reduce(add, (answer_block(blocks[i], fit, i, labels, steps, question) for i in indices))


def open_store(path: str, fingerprint: str) -> Store:
    """Open a store once per process, and make sure that it is the one meant."""
    key = path, fingerprint
    if key not in _stores:
        store = Store(path)
        if store.fingerprint != fingerprint:
            raise DataError(f"{path}: the store that a worker sees is not the one that is fitted; copy it again")
        _stores[key] = store
    return _stores[key]


def add_up(answers: list[Any]) -> Any:
    """Add answers: one node of the tree of sums."""
    return reduce(add, answers)
