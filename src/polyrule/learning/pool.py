"""Bodies to choose rules from: everything that grown lists test, whole and in parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np

from polyrule.arrays import Bools, Bytes, Floats, Ints
from polyrule.data.table import Table
from polyrule.model.conditions import holds
from polyrule.model.rule import Condition, LabelCondition

Body = tuple[Condition, ...]

_MOST_CELLS = 200_000_000  # bodies times examples, one bit each
_FEWEST = 1000  # bodies, however many examples there are
_BLOCK = 2_000_000  # cells that are taken apart at one time
_HELD = 4_000_000  # cells that are held as doubles and, the other way round, as truth values, which is quicker
_LONGEST = 4  # of longer bodies only beginnings are taken apart: parts grow with 2 to the length


class Pool:
    """Distinct bodies in the order they were found; the empty body comes first."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._most = max(_FEWEST, _MOST_CELLS // max(1, len(table)))
        self._bodies: dict[frozenset[Condition], Body] = {frozenset(): ()}

    def __len__(self) -> int:
        return len(self._bodies)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All bodies."""
        return tuple(self._bodies.values())

    def add(self, bodies: Iterable[Body]) -> None:
        """Take in bodies and their parts, up to what memory allows; conditions on labels are left out."""
        for body in bodies:
            kept = tuple(condition for condition in body if not isinstance(condition, LabelCondition))
            for part in _parts(kept):
                if len(self) >= self._most:
                    return
                self._bodies.setdefault(frozenset(part), part)

    def covers(self) -> Covers:
        """Which body covers which example."""
        bodies = self.bodies
        packed = np.empty((len(self._table), -(-len(bodies) // 8)), dtype=np.uint8)
        for rows in row_blocks(np.arange(len(self._table)), len(bodies)):
            some = self._table[rows]
            masks: dict[Condition, Bools] = {}
            covers = np.ones((len(rows), len(bodies)), dtype=bool)
            for number, body in enumerate(bodies):
                for condition in body:
                    if condition not in masks:
                        masks[condition] = holds(condition, some)
                    covers[:, number] &= masks[condition]
            packed[rows] = np.packbits(covers, axis=1)
        return Covers(packed, len(bodies))


class Covers:
    """Which body covers which example, as bits: eight bodies to a byte, example by example.

    Examples
    --------
    >>> covers = Covers.pack(np.array([[True, True], [False, True]]))  # two bodies, two examples
    >>> covers.of(1)
    array([False,  True])
    >>> covers.sums(np.array([0, 1]), np.array([[1.0], [2.0]]))
    array([[3.],
           [2.]])
    """

    def __init__(self, packed: Bytes, bodies: int) -> None:
        self._packed, self._bodies = packed, bodies
        self._doubles: Floats | None = None
        if len(packed) * bodies <= _HELD:
            self._doubles = self._unpacked(slice(None)).astype(np.float64)
            self._bools = np.ascontiguousarray(self._doubles.T, dtype=bool)

    @classmethod
    def pack(cls, covers: Bools) -> Covers:
        """From an array of shape (bodies, examples)."""
        return cls(np.packbits(covers.T, axis=1), len(covers))

    def __len__(self) -> int:
        return self._bodies

    def of(self, body: int) -> Bools:
        """Return the examples that a body covers."""
        if self._doubles is not None:
            return np.asarray(self._bools[body])
        return np.asarray(self._packed[:, body // 8] >> (7 - body % 8) & 1, dtype=bool)

    def any_of(self, bodies: Iterable[int]) -> Bools:
        """Return the examples that one of the bodies covers."""
        if self._doubles is not None:
            return np.asarray(self._bools[list(bodies)].any(axis=0))
        covered = np.zeros(len(self._packed), dtype=bool)
        for body in bodies:
            covered |= self.of(body)
        return covered

    def sums(self, rows: Ints, worth: Floats) -> Floats:
        """For each body, what those of some examples that it covers are worth, shape (bodies, columns of worth)."""
        total = np.zeros((worth.shape[1], self._bodies))
        for place in row_blocks(np.arange(len(rows)), self._bodies):
            some = rows[place]
            doubles = self._unpacked(some).astype(np.float64) if self._doubles is None else self._doubles[some]
            total += worth[place].T @ doubles
        return total.T

    def only(self, bodies: Ints) -> Covers:
        """Return the covers of some bodies."""
        packed = np.empty((len(self._packed), -(-len(bodies) // 8)), dtype=np.uint8)
        for rows in row_blocks(np.arange(len(packed)), self._bodies):
            packed[rows] = np.packbits(self._unpacked(rows)[:, bodies], axis=1)
        return Covers(packed, len(bodies))

    def by_body(self) -> Bytes:
        """Return the bits the other way round: eight examples to a byte, body by body."""
        blocks = row_blocks(np.arange(len(self._packed)), 8 * self._bodies, multiple=8)
        return np.concatenate([np.packbits(self._unpacked(rows).T, axis=1) for rows in blocks], axis=1)

    def _unpacked(self, rows: Ints | slice) -> Bytes:
        return np.unpackbits(self._packed[rows], axis=1, count=self._bodies)


def row_blocks(rows: Ints, width: int, multiple: int = 1) -> Iterator[Ints]:
    """Some rows at a time, so that memory stays bounded."""
    step = max(1, _BLOCK // max(1, width * multiple)) * multiple
    for start in range(0, max(1, len(rows)), step):
        yield rows[start : start + step]


def _parts(body: Body) -> Iterable[Body]:
    """Beginnings of a body as they grew, and all parts of those that are short; longer ones first."""
    for length in range(len(body), 0, -1):
        if length > _LONGEST:
            yield body[:length]
        else:
            yield from combinations(body[: max(_LONGEST, length)], length)
