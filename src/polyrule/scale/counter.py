"""Counters: who is asked, and the states of the blocks as far as memory goes.

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

from polyrule.scale.coded import Step
from polyrule.scale.questions import Question
from polyrule.scale.state import BlockState
from polyrule.store.packed import Block, Packed

Answer = TypeVar("Answer")


class Counter:
    """Answers questions about all rows, for the rules so far, `steps`.

    `decides`: whether its counts lie where a decider of their own waits for them.
    """

    decides = False
    steps: tuple[Step, ...] = ()

    def ask(self, question: Question[Answer]) -> Answer:
        """Return the sum of the answers of all blocks."""
        raise NotImplementedError

    def advance(self, step: Step) -> None:
        """Let a rule join the list; whoever has the rows replays it when they are asked again."""
        self.steps = (*self.steps, step)


class LocalCounter(Counter):
    """Asks the blocks of this process, by any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from polyrule.data import Table
    >>> from polyrule.scale.questions import Weight
    >>> from polyrule.store import pack_table
    >>> packed = pack_table(Table.from_array([[1.0], [2.0]]), np.array([[1], [0]]), None, ("a",), block_rows=1)
    >>> LocalCounter(packed, threads=2).ask(Weight())
    2
    """

    def __init__(self, packed: Packed, threads: int = 1) -> None:
        self._count = len(packed.blocks)
        self._states = States(packed.blocks, len(packed.label_names), room_for_blocks())
        self._threads = max(1, min(threads, self._count))
        self._pool = ThreadPoolExecutor(self._threads)  # starts its threads when they are first needed

    def ask(self, question: Question[Answer]) -> Answer:
        """Ask every block and add up; each thread adds up its own blocks first."""
        blocks = range(self._count)
        answer: Answer
        if self._threads == 1:
            answer = self._states.ask(question, self.steps, blocks)
            return answer
        shares = [blocks[start :: self._threads] for start in range(self._threads)]
        asked = [self._pool.submit(self._states.ask, question, self.steps, share) for share in shares]
        try:
            answer = reduce(add, (one.result() for one in asked))
            return answer
        finally:
            wait(asked)  # where one fails, or an interrupt comes, no other goes on with a block by itself


class States:
    """Asks blocks one by one and adds up; a block that does not fit into memory any more is read anew each time.

    Between two questions blocks may take up `room` bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from polyrule.scale.questions import Weight
    >>> block = Block(np.zeros((1, 3), dtype=np.uint8), np.zeros((3, 1), dtype=np.uint64))
    >>> States([block, block], 1, room=0).ask(Weight(), (), range(2))
    6
    """

    def __init__(self, blocks: Sequence[Block], labels: int, room: int) -> None:
        self._blocks, self._labels, self._room = blocks, labels, room
        self._states: dict[int, BlockState] = {}
        self._held: dict[int, tuple[Block, int]] = {}
        self._lock = threading.Lock()

    def ask(self, question: Question[Any], steps: tuple[Step, ...], chosen: Iterable[int]) -> Any:
        """Return the sum of the answers of the chosen blocks, after some rules; no block is asked by two at once."""
        total: Any = None
        for index in chosen:
            found = self._answer(index, question, steps)
            if total is None:
                total = found
            else:
                total += found
        return total

    def _answer(self, index: int, question: Question[Any], steps: tuple[Step, ...]) -> Any:
        held = self._held.get(index)
        block = self._blocks[index] if held is None else held[0]
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
            self._room += self._held.pop(index, (block, 0))[1]
            size = block.nbytes
            if size <= self._room:
                self._room -= size
                self._held[index] = block, size


def room_for_blocks(parts: int = 1) -> int:
    """Bytes that blocks may take up: half of the memory this process may have, divided among some that share it."""
    most = sys.maxsize
    with contextlib.suppress(AttributeError, ValueError, OSError):  # not every system tells
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            most = min(most, int(Path(limit).read_text()))
    return most // 2 // parts
