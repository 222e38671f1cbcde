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
from polyrule.measures.definition import N_OUTCOMES
from polyrule.search.counted.counter import States, room_for_blocks
from polyrule.search.counted.queries import Query, RowCounts, fill_modes
from polyrule.search.counted.requests import CommittedRule, Counts
from polyrule.store import Block, Store
from polyrule.store.packed import Blocks

_stores: dict[tuple[str, str], Store] = {}
#: Size that a share reports, so that a scheduler sends queries to the share and not the share to another worker.
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
    """Some blocks, and their states on a worker after some rules.

    The memory of a worker's machine has to do for `n_sharing` shares.

    Examples
    --------
    >>> import numpy as np
    >>> from polyrule.search.counted.queries import Weight
    >>> block = Block(np.zeros((1, 3), dtype=np.uint8), np.zeros((3, 1), dtype=np.uint64))
    >>> Share([block, block], labels=1).answer((), Weight())
    6
    """

    def __init__(self, blocks: Sequence[Block], labels: int, n_sharing: int = 1) -> None:
        self._arguments = blocks, labels, n_sharing
        self._states = States(blocks, labels, room_for_blocks(n_sharing))
        self._n_replayed = 0
        self._lock = threading.Lock()

    def answer(self, steps: tuple[CommittedRule, ...], question: Query[Any]) -> Any:
        """Answer a question after some rules; a task that runs twice, or late, changes nothing."""
        blocks, labels, _ = self._arguments
        with self._lock:
            late = len(steps) < self._n_replayed  # a query about an earlier list: newer states stay
            self._n_replayed = max(self._n_replayed, len(steps))
            states = States(blocks, labels, 0) if late else self._states
            return states.run(question, steps, range(len(blocks)))

    def __getstate__(self) -> tuple[Sequence[Block], int, int]:
        return self._arguments

    def __setstate__(self, arguments: tuple[Sequence[Block], int, int]) -> None:
        self.__init__(*arguments)  # type: ignore[misc]

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


def answer_share(share: Share, steps: tuple[CommittedRule, ...], question: Query[Any]) -> Any:
    """Ask a share; the answer is made small for its journey."""
    answer = share.answer(steps, question)
    return Parcel.of(answer, question.modes) if isinstance(question, RowCounts) else answer


def add_up(answers: list[Any]) -> Any:
    """Add answers: one node of the tree of sums."""
    return reduce(add, answers)


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """Counts without the usual kind of each label, which the weight gives back, and without kinds that no row has.

    Examples
    --------
    >>> outcomes = np.array([[[5, 2, 0, 0]], [[0, 3, 0, 0]]])
    >>> sent = Parcel.of(Counts(outcomes, np.array([7, 3])), modes=(0,))
    >>> sent.cells.tolist(), sent.cells.dtype.name
    ([[2], [3]], 'uint8')
    >>> bool(((sent + sent).counts().outcomes == 2 * outcomes).all())
    True
    """

    places: tuple[int, ...]
    cells: Any
    weight: Any
    modes: tuple[int, ...]

    @classmethod
    def of(cls, counts: Counts, modes: tuple[int, ...]) -> Parcel:
        """Pack counts."""
        flat = counts.outcomes.reshape(len(counts.weight), -1)
        sent = flat.any(axis=0)
        sent[[label * N_OUTCOMES + outcome for label, outcome in enumerate(modes)]] = False
        return cls(
            tuple(np.flatnonzero(sent).tolist()), _smallest_type(flat[:, sent]), _smallest_type(counts.weight), modes
        )

    def __add__(self, other: Parcel) -> Parcel:
        places = tuple(sorted({*self.places, *other.places}))
        cells = np.zeros((len(self.weight), len(places)), dtype=np.int64)
        for parcel in (self, other):
            cells[:, np.searchsorted(places, parcel.places)] += parcel.cells
        weight = self.weight.astype(np.int64) + other.weight
        return Parcel(places, _smallest_type(cells), _smallest_type(weight), self.modes)

    def counts(self) -> Counts:
        """Unpack."""
        weight = self.weight.astype(np.int64)
        flat = np.zeros((len(weight), len(self.modes) * N_OUTCOMES), dtype=np.int64)
        flat[:, self.places] = self.cells
        outcomes = flat.reshape(len(weight), len(self.modes), N_OUTCOMES)
        fill_modes(outcomes, weight, self.modes)
        return Counts(outcomes, weight)


def unpacked_answer(answer: Any) -> Any:
    """Return the answer of a share in full width."""
    return answer.counts() if isinstance(answer, Parcel) else answer


def _smallest_type(counts: Any) -> Any:
    largest = int(counts.max(initial=0))
    return counts.astype(
        np.int64 if largest >> 32 else np.min_scalar_type(largest)
    )  # int64 and uint64 would add as floats
