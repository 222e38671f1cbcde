"""Growth of the body of one rule: add the condition with the largest gain until none gains enough.

A condition is added to those that must all hold, or to a group of alternatives of which some must. Either way it
decides about some rows, the border, while others are covered in any case; see `polyrule.ensemble.gain`. An example, in
which "at least 2 of" the group (a, b) gets the member c::

    row             0  1  2  3  4  5  6  7  8  9
    a holds         x  x  x  x  .  .  .  .  .  .
    b holds         x  x  .  .  x  x  .  .  .  .
    members held    2  2  1  1  1  1  0  0  0  0
    covered anyway  x  x  .  .  .  .  .  .  .  .   the offset: its sums are added to those of each candidate
    border          .  .  x  x  x  x  .  .  .  .   covered if c holds; only these rows are searched
    c holds         .  x  x  .  x  .  x  .  .  .
    covered with c  x  x  x  .  x  .  .  .  .  .   the offset, and rows 2 and 4 of the border
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.code_tests import AnyTest, BinGroup, BinTest, direction_key, simplify, single_tests
from polyrule.ensemble.gain import BestConditions, Gradients, best_conditions
from polyrule.utils.arrays import Bools, Ints, Ints32

# Members of groups are searched among the features with the largest gains at the start: a quarter, or at least these.
_MIN_FEATURES = 40
# Heads are not longer before they are pruned: of more labels, those with the largest gains judge further conditions.
# With the count of rows, they make four vectors of eight numbers.
_MAX_JUDGES = 31


@dataclass(frozen=True, slots=True)
class GrowthOptions:
    """Options of the search for a body.

    Parameters
    ----------
    max_conditions : int
        A group counts as one.
    max_members : int
        Maximum number of members of a group; 1 for bodies without one.
    min_improvement : float
        Share by which a further condition, or a member of a group, must increase the gain.
    chance : float
        Nats that it must gain on top, times the logarithm of the number of features: the largest of many gains is
        large by chance.
    judges : int
        Labels that judge members of a group, those with the largest gains. With many rare labels, a group would
        otherwise join a word for one label and a word for another.
    """

    max_conditions: int = 4
    max_members: int = 1
    min_improvement: float = 0.03
    chance: float = 0.3
    judges: int = 6

    def min_gain(self, gain: float, features: int) -> float:
        """Return the gain that a body with gain `gain` must reach with one condition more."""
        return gain * (1 + self.min_improvement) + self.chance * math.log(1 + features)


@dataclass(frozen=True, slots=True, eq=False)
class GrownBody:
    """Body during the search: its tests, the rows it covers, their sums, and its gain."""

    tests: tuple[AnyTest, ...]
    rows: Ints32
    sums: Ints
    gain: float


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Extension of a body: a test becomes one of `members`, of which `least` must hold beside the `rest`.

    Without members it is one more condition that must hold.
    """

    body: GrownBody
    rest: tuple[AnyTest, ...]
    members: tuple[BinTest, ...] = ()
    least: int = 1

    def tests(self, test: BinTest) -> tuple[AnyTest, ...]:
        """Return the tests of the extended body."""
        added = BinGroup((*self.members, test), self.least) if self.members else test
        return simplify((*self.rest, added))

    def allows(self, test: BinTest) -> bool:
        """Return True if `test` is a new member: "at least 2 of" must not count the same direction twice."""
        return self.least == 1 or direction_key(test) not in map(direction_key, self.members)


def grow(table: BinnedTable, gradients: Gradients, options: GrowthOptions) -> GrownBody | None:
    """Return the body with the largest gain of a greedy search; None if no condition gains anything.

    Ties are resolved in favor of the shorter body, then of the first one; features are searched in column order.
    """
    return Search(table, gradients, options).best()


class Search:
    """Search for one body."""

    def __init__(self, table: BinnedTable, gradients: Gradients, options: GrowthOptions) -> None:
        self.table, self.gradients, self.options = table, gradients, options
        self._rows: Ints32 = np.arange(table.rows, dtype=np.int32)
        self._features: Ints = np.arange(len(table.slot))
        self._member_features = self._features
        self._masks: dict[AnyTest, Bools] = {}

    def best(self) -> GrownBody | None:
        """Return the best body of the search."""
        start = Step(GrownBody((), self._rows, self.gradients.sums(self._rows[:0]), 0.0), ())
        first = self._extended(start, self._features)
        return None if first is None else self._grown(first)

    def _grown(self, body: GrownBody) -> GrownBody:
        """Return the body extended by the step with the largest gain, until none gains enough."""
        while True:
            offers = [offer for step in self.steps(body) if (offer := self.extended(step)) is not None]
            if not offers:
                return body
            best = max(offers, key=lambda offer: offer.gain)
            if best.gain <= body.gain * (1 + self.options.min_improvement):
                return body
            body = best

    def steps(self, body: GrownBody) -> Iterator[Step]:
        """Yield the extensions of a body: a further condition, or a further member of a group, or a first group."""
        tests, max_members = body.tests, self.options.max_members
        yield Step(body, tests)
        group = next((test for test in tests if isinstance(test, BinGroup)), None)
        if group is not None:
            if len(group.members) < max_members:
                rest = tuple(test for test in tests if test is not group)
                yield Step(body, rest, group.members, group.least)
                yield Step(body, rest, group.members, group.least + 1)
            return
        singles = tuple(single_tests(tests))
        if max_members > 1 and singles:
            yield Step(body, tests[:-1], singles[-1:])
        if max_members > 2 and len(singles) == 2:
            yield Step(body, (), singles, 2)

    def rows(self, step: Step) -> tuple[Ints32, Ints32]:
        """Return the rows that are covered in any case, and the border, which is covered if the test holds."""
        if not step.members:
            return step.body.rows[:0], step.body.rows
        inside = np.logical_and.reduce([self._mask(test) for test in step.rest]) if step.rest else True
        count = np.sum([self._mask(test) for test in step.members], axis=0, dtype=np.uint8)
        sure, border = inside & (count >= step.least), inside & (count == step.least - 1)
        return np.flatnonzero(sure).astype(np.int32), np.flatnonzero(border).astype(np.int32)

    def extended(self, step: Step) -> GrownBody | None:
        """Return the best body that a step leads to; None if no test gains enough."""
        features, tests = self._member_features if step.members else self._features, step.body.tests
        if not step.members and len(tests) >= self.options.max_conditions:
            # Only a tighter test of a feature of the body keeps its length.
            features = np.unique([t.feature for t in tests if isinstance(t, BinTest)])
        return self._extended(step, features)

    def _extended(self, step: Step, features: Ints) -> GrownBody | None:
        body, gradients, options = step.body, self.gradients, self.options
        sure, border = self.rows(step)
        offset = body.sums if np.array_equal(sure, body.rows) else gradients.sums(sure)
        best, min_gain = self._scan(step, features, border, offset)
        if not body.tests and options.max_members > 1 and len(features) > _MIN_FEATURES:
            order = np.argsort(-best.gain, kind="stable")
            self._member_features = np.sort(order[: max(_MIN_FEATURES, len(features) // 4)])
        for place in np.argsort(-best.gain, kind="stable").tolist():
            if best.gain[place] <= min_gain:
                return None
            test = BinTest(int(features[place]), int(best.kind[place]), int(best.bin[place]))
            tests = step.tests(test)
            if len(tests) > options.max_conditions or not step.allows(test):
                continue
            rows = border[self._mask(test)[border]]
            sums = offset + gradients.sums(rows)
            if len(sure):
                rows = np.sort(np.concatenate([sure, rows]), kind="stable")  # quick for two that are in order
            longer = self._body(tests, rows, sums)
            if longer.gain > body.gain:
                return longer
        return None

    def _scan(self, step: Step, features: Ints, border: Ints32, offset: Ints) -> tuple[BestConditions, float]:
        """Return the best condition on each feature, and the minimum gain."""
        body, gradients, options = step.body, self.gradients, self.options
        sign, judges, min_gain = self.table.sign(body.tests), None, 0.0
        if body.tests:
            gains = gradients.label_gains(body.sums, sign)
            max_labels = options.judges if step.members else _MAX_JUDGES
            if max_labels < len(gains):
                judges = np.sort(np.argsort(-gains, kind="stable")[:max_labels])
                gains = gains[judges]
            min_gain = options.min_gain(math.fsum(np.maximum(gains - gradients.cost, 0)), len(self._features))
        return best_conditions(self.table, border, gradients, features, sign, offset, judges), min_gain

    def _mask(self, test: AnyTest) -> Bools:
        if test not in self._masks:
            self._masks[test] = self.table.satisfied(test)
        return self._masks[test]

    def _body(self, tests: tuple[AnyTest, ...], rows: Ints32, sums: Ints) -> GrownBody:
        return GrownBody(tests, rows, sums, self.gradients.gain(sums, self.table.sign(tests)))
