"""Bodies to choose rules from: everything that grown lists test, whole and in parts, and bodies with alternatives.

A group of alternatives grows for one label. It starts from a body of the pool, one condition of which becomes its first
member. A further member covers, beside what is covered already, the rows of the border: those where all other
conditions hold and no member does yet. So every candidate is judged by one sum over border rows. A member is chosen
among many, and the luckiest of many gains something even where none is any good. So beside its price it must gain some
standard errors of what it gains: one or so for a word, which is there or not, and more for a threshold, which is one of
many. Rules of one head that differ in one condition become one rule with a group, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from polyrule.conditions import (
    Condition,
    FeatureCondition,
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
    flatten,
)
from polyrule.conditions.evaluate import evaluate
from polyrule.conditions.simplify import simplify_group
from polyrule.data.table import Feature, Table, packed_bits, row_blocks, unpacked_bits
from polyrule.utils.arrays import Bools, Floats, Ints, Words
from polyrule.utils.compute import native

Body = tuple[Condition, ...]
Rules = list[tuple[Body, tuple[int, ...]]]

_MOST_CELLS = 200_000_000  # bodies times examples, one bit each
_FEWEST = 1000  # bodies, however many examples there are
_LONGEST = 4  # of longer bodies only beginnings are taken apart: parts grow with 2 to the length

_STARTS = 3  # single conditions that groups of a label start from
_RESTS = 4  # longer bodies of a label, each of whose conditions may become the first member
_DOUBT = 0.5  # squared standard errors, about, that a member must gain for every bit it takes to say its test
_MOST_BITS = 6
_FEW_ROWS = 1000  # to find out whether a column has many values
_MOST_GROUP_CELLS = 20_000_000  # groups that grow, times examples
_BLOCK_CELLS = 2_000_000  # of these at a time


class Pool:
    """Distinct bodies in the order they were found; the empty body comes first."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._most = max(_FEWEST, _MOST_CELLS // max(1, len(table)))
        # Conditions are numbered: numbers are compared far quicker.
        self._numbers: dict[Condition, int] = {}
        self._masks: list[Words] = []
        self._bodies: dict[frozenset[int], Body] = {frozenset(): ()}
        self._packed: list[Words] = [packed_bits(np.ones(len(table), dtype=bool))]

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
                mask = packed_bits(evaluate(condition, self._table))
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
        return cls(packed_bits(covers), covers.shape[1])

    def __len__(self) -> int:
        return len(self._packed)

    def of(self, body: int) -> Bools:
        """Return the examples that a body covers."""
        return unpacked_bits(self._packed[body], self._examples)

    def any_of(self, bodies: Sequence[int]) -> Bools:
        """Return the examples that one of the bodies covers."""
        return unpacked_bits(np.bitwise_or.reduce(self._packed[list(bodies)], axis=0, initial=0), self._examples)

    def all_of(self, bodies: Sequence[int]) -> Bools:
        """Return the examples that all of the bodies cover."""
        if not len(bodies):
            return np.ones(self._examples, dtype=bool)
        return unpacked_bits(np.bitwise_and.reduce(self._packed[list(bodies)], axis=0), self._examples)

    def sums(self, rows: Bools, worth: Floats) -> Floats:
        """For each body, what the examples of `rows` that it covers are worth, shape (bodies, columns of worth).

        `worth` holds whole numbers below 2**53 in all, for every example.
        """
        if native is not None:
            found = np.empty((len(self), worth.shape[1]))
            native.cover_sums(self._packed, packed_bits(rows), np.ascontiguousarray(worth), found, self._threads)
            return found
        return plain_sums(self, rows, worth)

    def only(self, bodies: Ints) -> Covers:
        """Return the covers of some bodies."""
        return Covers(self._packed[bodies], self._examples, self._threads)

    def key(self, body: int) -> bytes:
        """Return the same bytes for bodies that cover the same."""
        return bytes(self._packed[body].tobytes())


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
    for condition in flatten(body):
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
        if len(counts) < 2:
            continue
        usual = int(np.argmax(counts))
        if not least <= counts.sum() - counts[usual] < counts[usual]:
            continue
        if feature.is_nominal and len(counts) == 2:
            yield (NominalCondition(number, int(lows[1 - usual])),)
        elif not feature.is_nominal and usual == 0:
            yield (NumericCondition(number, ">", float(highs[0] + lows[1]) / 2),)


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


@dataclass(frozen=True, slots=True)
class Costs:
    """What a rule, a condition and a label of a head must earn, in the units of gains."""

    rule: int
    condition: int
    literal: int


@dataclass(frozen=True, slots=True)
class Start:
    """Where a group begins: its label, the conditions beside it and its first member, as places among the members."""

    label: int
    rest: tuple[int, ...]
    first: int


@dataclass(frozen=True, eq=False)
class Alternatives:
    """What groups are made from and judged by.

    Parameters
    ----------
    table : Table
    bodies : sequence of bodies
        Those without alternatives.
    covers : Covers
        Of these bodies.
    gains : ndarray of float64, shape (examples, labels)
        What each cell adds when it is said to be present; whole numbers.
    largest : float
        The largest gain or loss of one example's label.
    costs : Costs
    most : int
        Members of a group, at most.
    allowed : ndarray of bool, shape (bodies, labels), optional
        Which label may stand over which body.
    """

    table: Table
    bodies: Sequence[Body]
    covers: Covers
    gains: Floats
    largest: float
    costs: Costs
    most: int
    allowed: Bools | None = None

    def grown(self) -> Iterator[Body]:
        """Bodies with a group, as they grow; one label after the other."""
        singles = np.array([number for number, body in enumerate(self.bodies) if len(body) == 1], dtype=np.int64)
        members = self.covers.only(singles)
        counts: dict[int, int] = {}
        bits = np.array([bits_of(self._condition(number), self.table, counts) for number in singles.tolist()])
        fits = None if self.allowed is None else self.allowed[singles]
        starts = self._starts(singles)[: max(1, _MOST_GROUP_CELLS // len(self.gains))]
        for some in row_blocks(len(starts), len(self.gains), _BLOCK_CELLS):
            for start, group in self._groups(starts[some], members, bits, fits):
                rest = tuple(self._condition(singles[place]) for place in start.rest)
                found = tuple(self._condition(singles[place]) for place in group)
                shorter = simplify_group(GroupCondition(found))
                if isinstance(shorter, GroupCondition):
                    yield (*rest, shorter)

    def _condition(self, body: int) -> FeatureCondition:
        condition = self.bodies[body][0]
        assert isinstance(condition, FeatureCondition)
        return condition

    def _starts(self, singles: Ints) -> list[Start]:
        """Per label, its best single conditions and its best longer bodies; those of the best labels first."""
        places = {self.bodies[number][0]: place for place, number in enumerate(singles.tolist())}
        alone = self.covers.sums(np.ones(len(self.gains), dtype=bool), self.gains)
        if self.allowed is not None:
            alone = np.where(self.allowed, alone, -1.0)
        lengths = np.array([len(body) for body in self.bodies])
        found: list[tuple[float, Start]] = []
        for label in range(self.gains.shape[1]):
            worth = alone[:, label] - self.costs.condition * lengths
            for number in _best(np.where(lengths == 1, worth, 0.0), _STARTS):
                found.append((worth[number], Start(label, (), places[self.bodies[number][0]])))
            for number in _best(np.where(lengths > 1, worth - self.costs.rule, 0.0), _RESTS):
                conditions = [places.get(condition) for condition in self.bodies[number]]
                known = [place for place in conditions if place is not None]
                if len(known) == len(conditions):  # a full pool may lack single conditions
                    for first in known:
                        rest = tuple(place for place in known if place != first)
                        found.append((worth[number], Start(label, rest, first)))
        return [start for _, start in sorted(found, key=lambda pair: -pair[0])]

    def _groups(
        self, starts: Sequence[Start], members: Covers, bits: Ints, fits: Bools | None
    ) -> Iterator[tuple[Start, tuple[int, ...]]]:
        """Grow groups from all starts at once: per step, one sum over the border of each for all candidates."""
        everything = np.ones(len(self.gains), dtype=bool)
        labels = np.array([start.label for start in starts], dtype=np.int64)
        border = np.empty((len(self.gains), len(starts)))
        for column, start in enumerate(starts):
            free = members.all_of(start.rest) & ~members.of(start.first)
            border[:, column] = np.where(free, self.gains[:, start.label], 0.0)
        groups: list[tuple[int, ...]] = [(start.first,) for start in starts]
        live = np.arange(len(starts))
        while len(live):
            worth = np.ascontiguousarray(border[:, live])
            gained, moved = members.sums(everything, worth), members.sums(everything, np.abs(worth))
            sure = gained - np.sqrt(_DOUBT * self.largest * bits[:, None] * moved)
            if fits is not None:
                sure = np.where(fits[:, labels[live]], sure, -1.0)
            best = np.argmax(sure, axis=0)
            good = sure[best, np.arange(len(live))] > self.costs.condition
            for column, place in zip(live[good].tolist(), best[good].tolist(), strict=True):
                border[members.of(place), column] = 0.0
                groups[column] = _needed((*groups[column], place), members, starts[column].rest)
                if len(groups[column]) > 1:
                    yield starts[column], groups[column]
            live = np.array([column for column in live[good] if len(groups[column]) < self.most], dtype=np.int64)


def bits_of(condition: FeatureCondition, table: Table, counts: dict[int, int] | None = None) -> int:
    """Return how many bits it takes to say which test of its feature a condition is, few or many.

    How many values a feature has is looked up in `counts`, if it is there, and put there.

    Examples
    --------
    >>> table = Table.from_array([[0.0, 0.1], [1.0, 0.2], [0.0, 0.3], [1.0, 0.4]])
    >>> bits_of(NumericCondition(0, ">", 0.5), table), bits_of(NumericCondition(1, ">", 0.25), table)
    (1, 2)
    """
    if isinstance(condition, MissingCondition):
        return 1
    categories = len(table.features[condition.feature].categories)
    if isinstance(condition, SetCondition):
        return min(categories, _MOST_BITS)
    known = {} if counts is None else counts
    if not categories and condition.feature not in known:
        column = table.column(condition.feature)
        for values in (column[:_FEW_ROWS], column):
            known[condition.feature] = len(np.unique(values[~np.isnan(values)]))
            if known[condition.feature] > 1 << _MOST_BITS:
                break
    categories = categories or known[condition.feature]
    return min(max(1, (categories - 1).bit_length()), _MOST_BITS)


def _best(worth: Floats, most: int) -> list[int]:
    """Positions of the largest positive numbers, the first of equals first."""
    order = np.argsort(-worth, kind="stable")[:most]
    return [int(number) for number in order if worth[number] > 0]


def _needed(group: tuple[int, ...], members: Covers, rest: tuple[int, ...]) -> tuple[int, ...]:
    """Return a group without the members that cover nothing that the others do not."""
    inside = members.all_of(rest)
    for place in group:
        others = tuple(other for other in group if other != place)
        if not (inside & members.of(place) & ~members.any_of(others)).any():
            group = others
    return group


def joined(rules: Rules, most: int) -> Rules:
    """Make one of every two rules with the same head that differ in one condition; the list says the same as before.

    Examples
    --------
    >>> x0, x1, x2 = (MissingCondition(feature, True) for feature in range(3))
    >>> [(body, head)] = joined([((x0,), (7,)), ((x1,), (7,)), ((x2,), (7,))], most=8)
    >>> body[0].members == (x0, x1, x2), head
    (True, (7,))
    """
    kept: Rules = []
    for body, labels in rules:
        for place, (other, others) in enumerate(kept):
            union = _union(other, body, most) if others == labels else None
            if union is not None:
                kept[place] = union, labels
                break
        else:
            kept.append((body, labels))
    return kept if len(kept) == len(rules) else joined(kept, most)


def _union(one: Body, two: Body, most: int) -> Body | None:
    """Return the body that covers what either does, if they differ in one condition and it takes one group."""
    mine, others = [c for c in one if c not in two], [c for c in two if c not in one]
    common = [condition for condition in one if condition in two]
    if len(mine) != 1 or len(others) != 1 or any(isinstance(condition, GroupCondition) for condition in common):
        return None
    members: dict[FeatureCondition, None] = {}
    for condition in (*mine, *others):
        some = _alternatives(condition)
        if some is None:
            return None
        members |= dict.fromkeys(some)
    union = simplify_group(GroupCondition(tuple(members)))
    if isinstance(union, GroupCondition) and len(union.members) > most:
        return None
    return tuple(union if condition == mine[0] else condition for condition in one)


def _alternatives(condition: Condition) -> tuple[FeatureCondition, ...] | None:
    if isinstance(condition, GroupCondition):
        return condition.members if condition.least == 1 else None
    return (condition,) if isinstance(condition, FeatureCondition) else None
