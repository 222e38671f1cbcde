"""Counters, and the states of blocks as far as memory allows.

All give the same answers, because integers add up in any order.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, TypeVar

from polyrule.search.counted.queries import Query
from polyrule.search.counted.requests import CommittedRule
from polyrule.search.counted.state import BlockState
from polyrule.store.packed import Block, Packed

Answer = TypeVar("Answer")


class Counter:
    """Answers questions about all rows, for the rules so far, `steps`.

    `decides`: True if a decider runs where its counts are stored.
    """

    decides = False
    steps: tuple[CommittedRule, ...] = ()

    def run(self, question: Query[Answer]) -> Answer:
        """Return the sum of the answers of all blocks."""
        raise NotImplementedError

    def advance(self, step: CommittedRule) -> None:
        """Append a committed rule. Blocks replay it on their next query."""
        self.steps = (*self.steps, step)


class LocalCounter(Counter):
    """Asks the blocks of this process, by any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from polyrule.data import Table
    >>> from polyrule.search.counted.queries import Weight
    >>> from polyrule.store import pack_table
    >>> packed = pack_table(Table.from_array([[1.0], [2.0]]), np.array([[1], [0]]), None, ("a",), block_rows=1)
    >>> LocalCounter(packed, threads=2).run(Weight())
    2
    """

    def __init__(self, packed: Packed, threads: int = 1) -> None:
        self._count = len(packed.blocks)
        self._states = States(packed.blocks, len(packed.label_names), room_for_blocks())
        self._threads = max(1, min(threads, self._count))
        self._pool = ThreadPoolExecutor(self._threads)  # starts its threads when they are first needed

    def run(self, question: Query[Answer]) -> Answer:
        """Ask every block and add up; each thread adds up its own blocks first."""
        blocks = range(self._count)
        answer: Answer
        if self._threads == 1:
            answer = self._states.run(question, self.steps, blocks)
            return answer
        shares = [blocks[start :: self._threads] for start in range(self._threads)]
        futures = [self._pool.submit(self._states.run, question, self.steps, share) for share in shares]
        try:
            answer = reduce(add, (one.result() for one in futures))
            return answer
        finally:
            wait(futures)  # if one fails or is interrupted, no other continues with a block


class States:
    """Asks blocks one by one and adds up; a block that does not fit into memory any more is read anew each time.

    Between two questions blocks may take up `room` bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from polyrule.search.counted.queries import Weight
    >>> block = Block(np.zeros((1, 3), dtype=np.uint8), np.zeros((3, 1), dtype=np.uint64))
    >>> States([block, block], 1, room=0).run(Weight(), (), range(2))
    6
    """

    def __init__(self, blocks: Sequence[Block], labels: int, room: int) -> None:
        self._blocks, self._labels, self._room = blocks, labels, room
        self._states: dict[int, BlockState] = {}
        self._cached: dict[int, tuple[Block, int]] = {}
        self._lock = threading.Lock()

    def run(self, question: Query[Any], steps: tuple[CommittedRule, ...], selected: Iterable[int]) -> Any:
        """Return the sum of the answers of the selected blocks, after some rules. Blocks have one reader at a time."""
        total: Any = None
        for index in selected:
            answer = self._answer(index, question, steps)
            if total is None:
                total = answer
            else:
                total += answer
        return total

    def _answer(self, index: int, question: Query[Any], steps: tuple[CommittedRule, ...]) -> Any:
        cached = self._cached.get(index)
        block = self._blocks[index] if cached is None else cached[0]
        state = self._states.get(index)
        if state is None:
            state = self._states[index] = BlockState(block, self._labels)
        state.block = block
        state.replay(steps)
        answer = question.answer(state)
        del state.block  # whether it stays in memory is decided here
        self._keep(index, block)
        return answer

    def _keep(self, index: int, block: Block) -> None:
        """Keep a block if there is room for it with all that was read of it by now."""
        with self._lock:
            self._room += self._cached.pop(index, (block, 0))[1]
            size = block.nbytes
            if size <= self._room:
                self._room -= size
                self._cached[index] = block, size


def room_for_blocks(parts: int = 1) -> int:
    """Bytes that blocks may take up: half of the memory this process may have, divided among some that share it."""
    limit = sys.maxsize
    with contextlib.suppress(AttributeError, ValueError, OSError):  # not every system tells
        limit = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            limit = min(limit, int(Path(path).read_text()))
    return limit // 2 // parts
