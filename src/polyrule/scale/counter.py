"""Counters: who is asked. All give the same answers, because integers add up in any order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Protocol, TypeVar

from polyrule.scale.block_states import States, room_for_blocks
from polyrule.scale.coded import Step
from polyrule.scale.questions import Question
from polyrule.store.packed import Packed

Answer = TypeVar("Answer")


class Counter(Protocol):
    """Answers questions about all rows, for the rules so far."""

    decides: bool
    """Whether its counts lie where a decider of their own waits for them."""

    steps: tuple[Step, ...]
    """The rules so far."""

    def ask(self, question: Question[Answer]) -> Answer:
        """Return the sum of the answers of all blocks."""

    def advance(self, step: Step) -> None:
        """Let a rule join the list."""


class LocalCounter:
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

    decides = False

    def __init__(self, packed: Packed, threads: int = 1) -> None:
        self.steps: tuple[Step, ...] = ()
        self._count = len(packed.blocks)
        self._states = States(packed.blocks, len(packed.label_names), room_for_blocks())
        self._threads = max(1, threads)

    def ask(self, question: Question[Answer]) -> Answer:
        """Ask every block and add up; each thread adds up its own blocks first."""
        blocks = range(self._count)
        shares = [blocks[start :: self._threads] for start in range(min(self._threads, len(blocks)))]
        answer: Answer
        if len(shares) <= 1:
            answer = self._states.ask(question, self.steps, blocks)
            return answer
        with ThreadPoolExecutor(len(shares)) as pool:
            answer = reduce(add, pool.map(lambda share: self._states.ask(question, self.steps, share), shares))
            return answer

    def advance(self, step: Step) -> None:
        """Note the rule; blocks replay it when they are asked again."""
        self.steps = (*self.steps, step)
