"""Bodies to choose rules from: everything that grown lists test, whole and in parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Bools, Floats, Ints
from polyrule.data.table import Feature, Table
from polyrule.model.conditions import holds
from polyrule.model.rule import (
    Condition,
    GroupCondition,
    LabelCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
    plain_conditions,
)
from polyrule.native import native

Body = tuple[Condition, ...]
Words = npt.NDArray[np.uint64]

_MOST_CELLS = 200_000_000  # bodies times examples, one bit each
_FEWEST = 1000  # bodies, however many examples there are
_LONGEST = 4  # of longer bodies only beginnings are taken apart: parts grow with 2 to the length


class Pool:
    """Distinct bodies in the order they were found; the empty body comes first."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._most = max(_FEWEST, _MOST_CELLS // max(1, len(table)))
        # Conditions are numbered: numbers are compared far quicker.
        self._numbers: dict[Condition, int] = {}
        self._masks: list[Words] = []
        self._bodies: dict[frozenset[int], Body] = {frozenset(): ()}
        self._packed: list[Words] = [packed_rows(np.ones(len(table), dtype=bool))]

    def __len__(self) -> int:
        return len(self._bodies)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All bodies."""
        return tuple(self._bodies.values())

    def add(self, bodies: Iterable[Body], *, parts: bool = True) -> None:
        """Take in bodies, and their parts, up to what memory allows; conditions on labels are left out."""
        for body in bodies:
            kept = [condition for condition in body if not isinstance(condition, LabelCondition)]
            named = {self._number(condition): condition for condition in kept}
            for part in _parts(tuple(named)) if parts else [tuple(named)]:
                if len(self) >= self._most:
                    return
                if frozenset(part) not in self._bodies:
                    self._bodies[frozenset(part)] = tuple(named[number] for number in part)
                    rest = self._packed[0] if not part else self._masks[part[0]]
                    for number in part[1:]:
                        rest = rest & self._masks[number]
                    self._packed.append(rest)

    def covers(self, threads: int = 1) -> Covers:
        """Which body covers which example."""
        return Covers(np.array(self._packed), len(self._table), threads)

    def _number(self, condition: Condition) -> int:
        number = self._numbers.get(condition)
        if number is None:
            if isinstance(condition, GroupCondition) and condition.least == 1:
                mask = np.bitwise_or.reduce([self._masks[self._number(member)] for member in condition.members])
            else:
                mask = packed_rows(holds(condition, self._table))
            self._masks.append(mask)
            number = self._numbers[condition] = len(self._masks) - 1
        return number


class Covers:
    """Which body covers which example, as bits: 64 examples to a word, body by body.

    Examples
    --------
    >>> covers = Covers.pack(np.array([[True, True], [False, True]]))  # two bodies, two examples
    >>> covers.of(1)
    array([False,  True])
    >>> covers.sums(np.array([True, True]), np.array([[1.0], [2.0]]))
    array([[3.],
           [2.]])
    """

    def __init__(self, packed: Words, examples: int, threads: int = 1) -> None:
        self._packed, self._examples, self._threads = packed, examples, threads

    @classmethod
    def pack(cls, covers: Bools) -> Covers:
        """From an array of shape (bodies, examples)."""
        return cls(packed_rows(covers), covers.shape[1])

    def __len__(self) -> int:
        return len(self._packed)

    def of(self, body: int) -> Bools:
        """Return the examples that a body covers."""
        return self._unpacked(self._packed[body])

    def any_of(self, bodies: Sequence[int]) -> Bools:
        """Return the examples that one of the bodies covers."""
        return self._unpacked(np.bitwise_or.reduce(self._packed[list(bodies)], axis=0, initial=0))

    def all_of(self, bodies: Sequence[int]) -> Bools:
        """Return the examples that all of the bodies cover."""
        if not len(bodies):
            return np.ones(self._examples, dtype=bool)
        return self._unpacked(np.bitwise_and.reduce(self._packed[list(bodies)], axis=0))

    def sums(self, rows: Bools, worth: Floats) -> Floats:
        """For each body, what the examples of `rows` that it covers are worth, shape (bodies, columns of worth).

        `worth` holds whole numbers below 2**53 in all, for every example.
        """
        if native is not None:
            found = np.empty((len(self), worth.shape[1]))
            native.cover_sums(self._packed, packed_rows(rows), np.ascontiguousarray(worth), found, self._threads)
            return found
        return plain_sums(self, rows, worth)

    def only(self, bodies: Ints) -> Covers:
        """Return the covers of some bodies."""
        return Covers(self._packed[bodies], self._examples, self._threads)

    def key(self, body: int) -> bytes:
        """Return the same bytes for bodies that cover the same."""
        return bytes(self._packed[body].tobytes())

    def _unpacked(self, words: Words) -> Bools:
        little = words.astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(little, count=self._examples, bitorder="little").view(bool)


def counted_as(body: Body, features: Sequence[Feature]) -> int:
    """Return how many conditions a body is priced as: by how many choices there were, for that is what can overfit.

    A member of a group is a condition like any other. A set of k categories out of n is one of "n over k", so it counts
    as the fewest conditions on single categories that there are as many choices of.

    Examples
    --------
    >>> hue = Feature("hue", "nominal", tuple("abcdefgh"))
    >>> [counted_as((SetCondition(0, tuple(range(size))),), [hue]) for size in (1, 2, 3, 4)]
    [1, 2, 2, 3]
    """
    size = 0
    for condition in plain_conditions(body):
        size += 1
        if isinstance(condition, SetCondition):
            every = len(features[condition.feature].categories)
            choices, reached = comb(every, len(condition.values)), every
            while reached < choices:
                reached, size = reached * every, size + 1
    return size


def words_of(table: Table, least: float) -> Iterator[Body]:
    """Bodies that say that one word is there, of words that at least so many examples have, but less than half.

    What most examples have, the number 0 or a category, means that it is not there.

    Examples
    --------
    >>> table = Table.from_array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    >>> [body for (body,) in words_of(table, least=1)]
    [NumericCondition(feature=0, op='>', threshold=1.0), NumericCondition(feature=1, op='>', threshold=0.5)]
    """
    for number, feature in enumerate(table.features):
        lows, highs, counts = table.spans(number)
        usual = int(np.argmax(counts)) if len(counts) > 1 else -1
        others = int(counts.sum() - counts[usual])
        if usual < 0 or not least <= others < counts[usual]:
            continue
        if feature.is_nominal and len(counts) == 2:
            yield (NominalCondition(number, int(lows[1 - usual])),)
        elif not feature.is_nominal and usual == 0:
            yield (NumericCondition(number, ">", float(highs[0] + lows[1]) / 2),)


def packed_rows(rows: Bools) -> Words:
    """Truth values as bits, 64 to a word, along the last axis."""
    words = np.zeros((*rows.shape[:-1], -(-rows.shape[-1] // 64) * 8), dtype=np.uint8)
    bits = np.packbits(rows, axis=-1, bitorder="little")
    words[..., : bits.shape[-1]] = bits
    return words.view("<u8").astype(np.uint64, copy=False)


def plain_sums(covers: Covers, rows: Bools, worth: Floats) -> Floats:
    """The definition of `Covers.sums`, which the compiled one is held to."""
    return np.array([worth[covers.of(body) & rows].sum(axis=0) for body in range(len(covers))]).reshape(
        len(covers), worth.shape[1]
    )


def _parts(body: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    """Beginnings of a body as they grew, and all parts of those that are short; longer ones first."""
    for length in range(len(body), 0, -1):
        if length > _LONGEST:
            yield body[:length]
        else:
            yield from combinations(body[: max(_LONGEST, length)], length)
