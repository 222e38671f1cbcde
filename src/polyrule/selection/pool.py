"""Pool of bodies from which rules are selected: grown bodies and their parts, words, and bodies with groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from polyrule.conditions import Condition, GroupCondition, LabelCondition, NominalCondition, NumericCondition
from polyrule.conditions.evaluate import evaluate
from polyrule.data.table import Table, packed_bits
from polyrule.selection.covers import Covers
from polyrule.selection.groups import GroupGrowth
from polyrule.selection.grow import GrownBodies
from polyrule.selection.objective import QUANTUM, Body, condition_cost_units, gain_coefficients
from polyrule.selection.problem import ListProblem
from polyrule.utils.arrays import Bools, Ints, Words

_MAX_CELLS = 200_000_000  # bodies times rows, one bit each
_MIN_BODIES = 1000  # of a full pool, however many rows there are
_MAX_DIVIDED = 4  # conditions; of longer bodies only beginnings are divided, because parts grow with 2 to the length


@dataclass(frozen=True, eq=False)
class Pool:
    """Bodies that rules may have.

    Parameters
    ----------
    bodies : tuple of bodies
        The empty body is one of them.
    covers : Covers
    cost_units : ndarray of int
        Conditions of each body, as they are priced.
    allowed : ndarray of bool, shape (bodies, labels)
        Labels that may be in the head for each body.
    """

    bodies: tuple[Body, ...]
    covers: Covers
    cost_units: Ints
    allowed: Bools


def build_pool(problem: ListProblem, grown: GrownBodies) -> Pool:
    """Return the pool: parts of grown bodies, words of a text, groups; the shortest body for each cover."""
    bodies = BodySet(problem.train.table)
    bodies.add(grown.bodies)
    if grown.reason == "complete":
        present = presence_bodies(problem.examples.table, problem.min_weight)
        bodies.add(filter(problem.is_allowed, present), parts=False)
        if problem.settings.max_members:
            bodies.add(_groups(problem, bodies), parts=False)
    return _reduced(problem, bodies.bodies, bodies.covers(problem.threads))


def _reduced(problem: ListProblem, bodies: tuple[Body, ...], covers: Covers) -> Pool:
    """Return the pool without bodies that cover too little, or the same as a shorter body."""
    allowed = problem.allowed_labels(bodies)
    units = np.array([condition_cost_units(body, problem.train.table.features) for body in bodies])
    numbers = shortest_of_equal(units, covers, allowed)
    numbers = numbers[problem.covers_enough(covers.only(numbers))]
    return Pool(tuple(bodies[number] for number in numbers), covers.only(numbers), units[numbers], allowed[numbers])


def _groups(problem: ListProblem, bodies: BodySet) -> Iterator[Body]:
    """Grow bodies with a group, for the value that the list is expected to reach."""
    level = problem.first_level
    slope, offset = gain_coefficients(problem.settings.beta_squared, level)
    return GroupGrowth(
        problem.train.table,
        bodies.bodies,
        bodies.covers(problem.threads),
        problem.gains(problem.targets, level),
        problem.example * float(max(slope * QUANTUM - offset, offset)),
        problem.costs,
        problem.settings.max_members,
        None if problem.constraints is None else problem.allowed_labels(bodies.bodies),
    ).bodies_with_groups()


class BodySet:
    """Distinct bodies in the order they were found; the empty body is first."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._max_bodies = max(_MIN_BODIES, _MAX_CELLS // max(1, len(table)))
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
        """Add bodies, and their parts, up to the limit on memory; conditions on labels are left out."""
        for body in bodies:
            feature_conditions = [condition for condition in body if not isinstance(condition, LabelCondition)]
            numbered = {self._number(condition): condition for condition in feature_conditions}
            for part in _parts(tuple(numbered)) if parts else [tuple(numbered)]:
                if len(self) >= self._max_bodies:
                    return
                if frozenset(part) not in self._bodies:
                    self._bodies[frozenset(part)] = tuple(numbered[number] for number in part)
                    mask = self._packed[0] if not part else self._masks[part[0]]
                    for number in part[1:]:
                        mask = mask & self._masks[number]
                    self._packed.append(mask)

    def covers(self, threads: int = 1) -> Covers:
        """Return the rows that each body covers."""
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


def _parts(body: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    """Beginnings of a body as it grew, and all parts of short ones; longer ones first."""
    for length in range(len(body), 0, -1):
        if length > _MAX_DIVIDED:
            yield body[:length]
        else:
            yield from combinations(body[: max(_MAX_DIVIDED, length)], length)


def presence_bodies(table: Table, min_weight: float) -> Iterator[Body]:
    """Yield a body for each word or category that a minimum of examples have, but less than half.

    A word is absent if the column has the number 0 or the category that most examples have.

    Examples
    --------
    >>> table = Table.from_array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    >>> [body for (body,) in presence_bodies(table, min_weight=1)]
    [NumericCondition(feature=0, op='>', threshold=1.0), NumericCondition(feature=1, op='>', threshold=0.5)]
    """
    for number, feature in enumerate(table.features):
        lows, highs, counts = table.spans(number)
        if len(counts) < 2:
            continue
        most_common = int(np.argmax(counts))
        if feature.is_nominal:
            for place, code in enumerate(lows):
                if min_weight <= counts[place] < counts.sum() - counts[place]:
                    yield (NominalCondition(number, int(code)),)
        elif most_common == 0 and min_weight <= counts.sum() - counts[most_common] < counts[most_common]:
            yield (NumericCondition(number, ">", float(highs[0] + lows[1]) / 2),)


def shortest_of_equal(units: Ints, covers: Covers, allowed: Bools | Sequence[Bools]) -> Ints:
    """Return positions of bodies without those that have the cover of a shorter, or earlier and equally short, one."""
    first: dict[bytes, int] = {}
    for number, size in enumerate(units):
        key = covers.key(number) + allowed[number].tobytes()
        if size < units[first.setdefault(key, number)]:
            first[key] = number
    return np.array(sorted(first.values()), dtype=np.int64)
