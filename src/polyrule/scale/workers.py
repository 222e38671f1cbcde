"""What lies on the workers of a cluster: shares of the rows, with the state of their blocks beside them.

The state of a block is replayed from the rules, so a worker may keep it, lose it or never have had it: the answer is
the same. Counts travel as parcels: only what cannot be found from the rest, in as few bytes as hold it. Nothing here
imports dask.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from polyrule.errors import DataError
from polyrule.measures.definition import KINDS
from polyrule.scale.coded import Counts, Step
from polyrule.scale.counter import States, room_for_blocks
from polyrule.scale.questions import CountRows, Question, fill_modes
from polyrule.store import Block, Store
from polyrule.store.packed import Blocks

_stores: dict[tuple[str, str], Store] = {}
#: What a share says about its size, so that a scheduler rather sends the question to it than it to another worker.
DEAR = 64 << 20


@dataclass(frozen=True)
class StoreBlocks(Blocks):
    """Some blocks of a store that every worker can read; only their names travel."""

    path: str
    fingerprint: str
    indices: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.indices)

    def read(self, index: int) -> Block:
        """Read a block of the store that this worker sees."""
        return open_store(self.path, self.fingerprint).blocks[self.indices[index]]


class Share:
    """Some blocks, and what a worker knows about them after some rules.

    The memory of a worker's machine has to do for `others` shares.

    Examples
    --------
    >>> import numpy as np
    >>> from polyrule.scale.questions import Weight
    >>> block = Block(np.zeros((1, 3), dtype=np.uint8), np.zeros((3, 1), dtype=np.uint64))
    >>> Share([block, block], labels=1).answer((), Weight())
    6
    """

    def __init__(self, blocks: Sequence[Block], labels: int, others: int = 1) -> None:
        self._given = blocks, labels, others
        self._states = States(blocks, labels, room_for_blocks(others))
        self._known = 0
        self._lock = threading.Lock()

    def answer(self, steps: tuple[Step, ...], question: Question[Any]) -> Any:
        """Answer a question after some rules; a task that runs twice, or late, changes nothing."""
        blocks, labels, _ = self._given
        with self._lock:
            late = len(steps) < self._known  # asked about the past: what is known now stays
            self._known = max(self._known, len(steps))
            states = States(blocks, labels, 0) if late else self._states
            return states.ask(question, steps, range(len(blocks)))

    def __getstate__(self) -> tuple[Sequence[Block], int, int]:
        return self._given

    def __setstate__(self, given: tuple[Sequence[Block], int, int]) -> None:
        self.__init__(*given)  # type: ignore[misc]

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
    answer = share.answer(steps, question)
    return Parcel.of(answer, question.usual) if isinstance(question, CountRows) else answer


def add_up(answers: list[Any]) -> Any:
    """Add answers: one node of the tree of sums."""
    return reduce(add, answers)


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """Counts without the usual kind of each label, which the weight gives back, and without kinds that no row has.

    Examples
    --------
    >>> kinds = np.array([[[5, 2, 0, 0]], [[0, 3, 0, 0]]])
    >>> sent = Parcel.of(Counts(kinds, np.array([7, 3])), usual=(0,))
    >>> sent.cells.tolist(), sent.cells.dtype.name
    ([[2], [3]], 'uint8')
    >>> bool(((sent + sent).counts().kinds == 2 * kinds).all())
    True
    """

    places: tuple[int, ...]
    cells: Any
    weight: Any
    usual: tuple[int, ...]

    @classmethod
    def of(cls, counts: Counts, usual: tuple[int, ...]) -> Parcel:
        """Pack counts."""
        flat = counts.kinds.reshape(len(counts.weight), -1)
        sent = flat.any(axis=0)
        sent[[label * KINDS + kind for label, kind in enumerate(usual)]] = False
        return cls(tuple(np.flatnonzero(sent).tolist()), _narrow(flat[:, sent]), _narrow(counts.weight), usual)

    def __add__(self, other: Parcel) -> Parcel:
        places = tuple(sorted({*self.places, *other.places}))
        cells = np.zeros((len(self.weight), len(places)), dtype=np.int64)
        for parcel in (self, other):
            cells[:, np.searchsorted(places, parcel.places)] += parcel.cells
        weight = self.weight.astype(np.int64) + other.weight
        return Parcel(places, _narrow(cells), _narrow(weight), self.usual)

    def counts(self) -> Counts:
        """Unpack."""
        weight = self.weight.astype(np.int64)
        flat = np.zeros((len(weight), len(self.usual) * KINDS), dtype=np.int64)
        flat[:, self.places] = self.cells
        kinds = flat.reshape(len(weight), len(self.usual), KINDS)
        fill_modes(kinds, weight, self.usual)
        return Counts(kinds, weight)


def unpacked_answer(answer: Any) -> Any:
    """Return what a share answered, before it was made small."""
    return answer.counts() if isinstance(answer, Parcel) else answer


def _narrow(counts: Any) -> Any:
    most = int(counts.max(initial=0))
    return counts.astype(np.int64 if most >> 32 else np.min_scalar_type(most))  # int64 and uint64 would add as floats
