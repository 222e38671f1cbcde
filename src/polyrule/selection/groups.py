"""Bodies with a group of alternatives, grown for single labels.

A group starts from a body of the pool, one condition of which becomes its first member. A further member newly covers
the border: the rows for which all other conditions hold and no member does yet. So each candidate is judged by one sum
over border rows. The best of many candidates gains by chance, so beside its cost a member must gain some standard
errors of its gain: about one for a word, more for a threshold, which is one of many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from polyrule.conditions import FeatureCondition, GroupCondition, MissingCondition, SetCondition
from polyrule.conditions.simplify import simplify_group
from polyrule.data.table import Table, row_blocks
from polyrule.selection.covers import Covers
from polyrule.selection.objective import Body, Costs
from polyrule.utils.arrays import Bools, Floats, Ints

_MAX_SINGLE_STARTS = 3  # single conditions that groups of a label start from
_MAX_BODY_STARTS = 4  # longer bodies of a label, each of whose conditions may become the first member
_SQUARED_ERRORS = 0.5  # squared standard errors that a member must gain for every bit of its description
_MAX_BITS = 6
_FEW_ROWS = 1000  # to find out if a column has many values
_MAX_CELLS = 20_000_000  # groups that grow, times rows
_BLOCK_CELLS = 2_000_000  # of these at a time


@dataclass(frozen=True, slots=True)
class GroupSeed:
    """Start of a group: its label, the conditions beside it and its first member, as positions among the members."""

    label: int
    rest: tuple[int, ...]
    first: int


@dataclass(frozen=True, eq=False)
class GroupGrowth:
    """Data that groups are grown from, and the objective.

    Parameters
    ----------
    table : Table
    bodies : sequence of bodies
        Those without groups.
    covers : Covers
        Of these bodies.
    gains : ndarray of float64, shape (rows, labels)
        Gain of predicting each cell as present; whole numbers.
    max_gain : float
        Largest gain or loss of one cell of one example.
    costs : Costs
    max_members : int
    allowed : ndarray of bool, shape (bodies, labels), optional
        Labels that may be in the head for each body.
    """

    table: Table
    bodies: Sequence[Body]
    covers: Covers
    gains: Floats
    max_gain: float
    costs: Costs
    max_members: int
    allowed: Bools | None = None

    def bodies_with_groups(self) -> Iterator[Body]:
        """Yield bodies with a group, at each step of its growth."""
        singles = np.array([number for number, body in enumerate(self.bodies) if len(body) == 1], dtype=np.int64)
        members = self.covers.only(singles)
        counts: dict[int, int] = {}
        bits = np.array([description_length(self._condition(n), self.table, counts) for n in singles.tolist()])
        fits = None if self.allowed is None else self.allowed[singles]
        seeds = self._seeds(singles)[: max(1, _MAX_CELLS // len(self.gains))]
        for block in row_blocks(len(seeds), len(self.gains), _BLOCK_CELLS):
            for seed, group in self._grow(seeds[block], members, bits, fits):
                rest = tuple(self._condition(singles[place]) for place in seed.rest)
                conditions = tuple(self._condition(singles[place]) for place in group)
                shorter = simplify_group(GroupCondition(conditions))
                if isinstance(shorter, GroupCondition):
                    yield (*rest, shorter)

    def _condition(self, body: int) -> FeatureCondition:
        condition = self.bodies[body][0]
        assert isinstance(condition, FeatureCondition)
        return condition

    def _seeds(self, singles: Ints) -> list[GroupSeed]:
        """Return the best single conditions and longer bodies of each label, by gain."""
        places = {self.bodies[number][0]: place for place, number in enumerate(singles.tolist())}
        body_gains = self.covers.sums(np.ones(len(self.gains), dtype=bool), self.gains)
        if self.allowed is not None:
            body_gains = np.where(self.allowed, body_gains, -1.0)
        lengths = np.array([len(body) for body in self.bodies])
        seeds: list[tuple[float, GroupSeed]] = []
        for label in range(self.gains.shape[1]):
            net_gains = body_gains[:, label] - self.costs.condition * lengths
            for number in _best(np.where(lengths == 1, net_gains, 0.0), _MAX_SINGLE_STARTS):
                seeds.append((net_gains[number], GroupSeed(label, (), places[self.bodies[number][0]])))
            for number in _best(np.where(lengths > 1, net_gains - self.costs.rule, 0.0), _MAX_BODY_STARTS):
                conditions = [places[condition] for condition in self.bodies[number] if condition in places]
                if len(conditions) == len(self.bodies[number]):  # a full pool may lack single conditions
                    for first in conditions:
                        rest = tuple(place for place in conditions if place != first)
                        seeds.append((net_gains[number], GroupSeed(label, rest, first)))
        return [seed for _, seed in sorted(seeds, key=lambda pair: -pair[0])]

    def _grow(
        self, seeds: Sequence[GroupSeed], members: Covers, bits: Ints, fits: Bools | None
    ) -> Iterator[tuple[GroupSeed, tuple[int, ...]]]:
        """Grow all groups at once: per step, one sum over the border of each for all candidates."""
        all_rows = np.ones(len(self.gains), dtype=bool)
        labels = np.array([seed.label for seed in seeds], dtype=np.int64)
        border = np.empty((len(self.gains), len(seeds)))
        for column, seed in enumerate(seeds):
            free = members.all_of(seed.rest) & ~members.of(seed.first)
            border[:, column] = np.where(free, self.gains[:, seed.label], 0.0)
        groups: list[tuple[int, ...]] = [(seed.first,) for seed in seeds]
        live = np.arange(len(seeds))
        while len(live):
            cells = np.ascontiguousarray(border[:, live])
            gains, magnitudes = members.sums(all_rows, cells), members.sums(all_rows, np.abs(cells))
            lower_bounds = gains - np.sqrt(_SQUARED_ERRORS * self.max_gain * bits[:, None] * magnitudes)
            if fits is not None:
                lower_bounds = np.where(fits[:, labels[live]], lower_bounds, -1.0)
            best = np.argmax(lower_bounds, axis=0)
            good = lower_bounds[best, np.arange(len(live))] > self.costs.condition
            for column, place in zip(live[good].tolist(), best[good].tolist(), strict=True):
                border[members.of(place), column] = 0.0
                groups[column] = _without_redundant((*groups[column], place), members, seeds[column].rest)
                if len(groups[column]) > 1:
                    yield seeds[column], groups[column]
            live = np.array([column for column in live[good] if len(groups[column]) < self.max_members], dtype=np.int64)


def description_length(condition: FeatureCondition, table: Table, counts: dict[int, int] | None = None) -> int:
    """Return the number of bits that select one test of a feature, up to a limit.

    The numbers of values of features are stored in `counts`.

    Examples
    --------
    >>> from polyrule.conditions import NumericCondition
    >>> table = Table.from_array([[0.0, 0.1], [1.0, 0.2], [0.0, 0.3], [1.0, 0.4]])
    >>> conditions = NumericCondition(0, ">", 0.5), NumericCondition(1, ">", 0.25)
    >>> [description_length(condition, table) for condition in conditions]
    [1, 2]
    """
    if isinstance(condition, MissingCondition):
        return 1
    n_values = len(table.features[condition.feature].categories)
    if isinstance(condition, SetCondition):
        return min(n_values, _MAX_BITS)
    n_distinct = {} if counts is None else counts
    if not n_values and condition.feature not in n_distinct:
        column = table.column(condition.feature)
        for values in (column[:_FEW_ROWS], column):
            n_distinct[condition.feature] = len(np.unique(values[~np.isnan(values)]))
            if n_distinct[condition.feature] > 1 << _MAX_BITS:
                break
    n_values = n_values or n_distinct[condition.feature]
    return min(max(1, (n_values - 1).bit_length()), _MAX_BITS)


def _best(gains: Floats, number: int) -> list[int]:
    """Return positions of the largest positive numbers, the first of equals first."""
    order = np.argsort(-gains, kind="stable")[:number]
    return [int(place) for place in order if gains[place] > 0]


def _without_redundant(group: tuple[int, ...], members: Covers, rest: tuple[int, ...]) -> tuple[int, ...]:
    """Return a group without members that cover only what the others cover."""
    inside = members.all_of(rest)
    for place in group:
        others = tuple(other for other in group if other != place)
        if not (inside & members.of(place) & ~members.any_of(others)).any():
            group = others
    return group
