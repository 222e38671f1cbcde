"""The states of some blocks, and the blocks themselves as far as memory goes."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from polyrule.scale.coded import Step
from polyrule.scale.questions import Question
from polyrule.scale.state import BlockState
from polyrule.store.packed import Block


class States:
    """Asks blocks one by one and adds up; a block that does not fit into memory any more is read anew each time.

    Parameters
    ----------
    blocks : sequence of Block
        In memory, or read whenever one is asked for.
    labels : int
    room : int
        Bytes that blocks may take up between two questions.

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
