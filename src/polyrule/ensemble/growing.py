"""Growing the body of one rule: add the condition with the largest gain, keeping a few bodies in play.

A condition is added to those that must all hold, or to a group of alternatives of which some must. Either way it
decides about some rows, the border, while others are covered whether it holds or not; see `polyrule.ensemble.gain`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.code_tests import AnyTest, BinGroup, BinTest, simplify, single_tests, what_about
from polyrule.ensemble.gain import BestConditions, Slopes, best_conditions
from polyrule.utils.arrays import Bools, Ints, Ints32

# Members of groups are sought among the features that gain most at the start: a quarter of them, or so many.
_FEW = 40
# No head is longer before it is pruned: of more labels, those that a body tells most about judge what it goes on with.
_MOST_JUDGES = 32


@dataclass(frozen=True, slots=True)
class Growth:
    """How bodies are searched.

    Parameters
    ----------
    max_conditions : int
        A group counts as one.
    max_members : int
        Most members of a group; 1 for bodies without one.
    beam_width : int
        Bodies kept after each step; more than 1 looks past a condition that pays only together with the next.
    min_improvement : float
        Share by which a condition, or a member of a group, must raise the gain to be worth reading.
    chance : float
        So many nats it must gain on top, times the logarithm of the number of features: the best of many is so good by
        chance.
    judging : int
        Members of a group are judged by so many labels, those that the body tells most about. With many rare labels, a
        group would otherwise join a word for one label and a word for another.
    """

    max_conditions: int = 4
    max_members: int = 1
    beam_width: int = 1
    min_improvement: float = 0.03
    chance: float = 0.3
    judging: int = 6

    def enough(self, gain: float, features: int) -> float:
        """Return what a body that gained `gain` must gain with one condition more."""
        return gain * (1 + self.min_improvement) + self.chance * math.log(1 + features)


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A body while it is searched for: its tests, the rows it covers, their slopes added up, and what it gains."""

    tests: tuple[AnyTest, ...]
    rows: Ints32
    sums: npt.NDArray[np.int64]
    gain: float


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A way to go on with a body: what is found becomes one of `members`, of which `least` must hold beside `others`.

    Without members it is one more condition that must hold.
    """

    body: Body
    others: tuple[AnyTest, ...]
    members: tuple[BinTest, ...] = ()
    least: int = 1

    def tests(self, found: BinTest) -> tuple[AnyTest, ...]:
        """Return the tests of the body with what was found."""
        added = BinGroup((*self.members, found), self.least) if self.members else found
        return simplify((*self.others, added))

    def takes(self, found: BinTest) -> bool:
        """Whether what was found is a member of its own: "at least 2 of" must not count the same thing twice."""
        return self.least == 1 or what_about(found) not in map(what_about, self.members)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a step may add: the best condition on each feature, and what it must gain at least.

    Rows that are covered whatever is found, the border, which is covered where it holds, and the slopes of the former.
    """

    best: BestConditions
    features: Ints
    least: float
    sure: Ints32
    border: Ints32
    offset: npt.NDArray[np.int64]


def grow(table: BinnedTable, slopes: Slopes, options: Growth) -> Body | None:
    """Return the body with the largest gain that the search meets; None where no condition gains anything.

    At the start a condition and its opposite gain alike, for the intercept makes up for the difference, but not what is
    added to them: the search starts from both. Ties go to the shorter body, then to the one that was met first;
    features are tried in column order.
    """
    return Search(table, slopes, options).best()


class Search:
    """The search for one body."""

    def __init__(self, table: BinnedTable, slopes: Slopes, options: Growth) -> None:
        self.table, self.slopes, self.options = table, slopes, options
        self._every: Ints32 = np.arange(table.rows, dtype=np.int32)
        self._all: Ints = np.arange(len(table.slot))
        self._masks: dict[AnyTest, Bools] = {}  # which rows satisfy a test
        self._telling = self._all  # features that members of groups test

    def best(self) -> Body | None:
        """Return the best of all bodies that the search meets."""
        start = Step(Body((), self._every, self.slopes.sums(self._every[:0]), 0.0), ())
        found = self._scan(start, self._all)
        if self.options.max_members > 1 and len(found.features) > _FEW:
            telling = np.argsort(-found.best.gain, kind="stable")[: max(_FEW, len(found.features) // 4)]
            self._telling = np.sort(telling)
        firsts = self._leading(self._bodies(start, found))
        sides = (firsts, self._opposites(firsts))
        grown = [self._grown(beam) for beam in sides if beam]
        return max(grown, key=lambda body: body.gain, default=None)

    def _grown(self, beam: Sequence[Body]) -> Body:
        """Return the best of all bodies that the search meets from `beam` on."""
        best = beam[0]
        while beam:
            for body in beam:
                if body.gain > best.gain * (1 + self.options.min_improvement):
                    best = body
            beam = self._leading(offer for body in beam for step in self.steps(body) for offer in self.offers(step))
        return best

    def _opposites(self, firsts: Sequence[Body]) -> list[Body]:
        """Bodies of one condition each, the opposites of others; those that gain nothing are left out."""
        bodies = []
        for test in (self.table.opposite(first) for body in firsts for first in single_tests(body.tests)):
            if test is not None:
                rows = self._covered(test, self._every)
                bodies.append(self._body((test,), rows, self.slopes.sums(rows)))
        return [body for body in bodies if body.gain > 0]

    def _leading(self, offers: Iterable[Body]) -> list[Body]:
        """Return the best bodies with different rows, as many as the beam is wide."""
        grown: dict[bytes, Body] = {}
        for offer in sorted(offers, key=lambda offer: -offer.gain):
            grown.setdefault(offer.rows.tobytes(), offer)
            if len(grown) == self.options.beam_width:
                break
        return list(grown.values())

    def steps(self, body: Body) -> Iterator[Step]:
        """Ways to go on with a body: a condition more, or a member more of a group, which the last one may begin."""
        tests, most = body.tests, self.options.max_members
        yield Step(body, tests)
        group = next((test for test in tests if isinstance(test, BinGroup)), None)
        if group is not None:
            if len(group.members) < most:
                others = tuple(test for test in tests if test is not group)
                yield Step(body, others, group.members, group.least)
                yield Step(body, others, group.members, group.least + 1)
            return
        singles = tuple(single_tests(tests))
        if most > 1 and singles:
            yield Step(body, tests[:-1], singles[-1:])
        if most > 2 and len(singles) == 2:
            yield Step(body, (), singles, 2)

    def rows(self, step: Step) -> tuple[Ints32, Ints32]:
        """Rows that are covered whatever is found, and the border, which is covered where it holds."""
        if not step.members:
            return step.body.rows[:0], step.body.rows
        inside = np.logical_and.reduce([self._mask(test) for test in step.others]) if step.others else True
        count = np.sum([self._mask(test) for test in step.members], axis=0, dtype=np.uint8)
        sure, border = inside & (count >= step.least), inside & (count == step.least - 1)
        return np.flatnonzero(sure).astype(np.int32), np.flatnonzero(border).astype(np.int32)

    def offers(self, step: Step) -> Iterator[Body]:
        """Yield the best bodies that a step leads to, as many as the beam is wide."""
        features, tests = self._telling if step.members else self._all, step.body.tests
        if not step.members and len(tests) >= self.options.max_conditions:
            # Only a tighter test of a feature that is there already leaves the body as long as it is.
            features = np.unique([t.feature for t in tests if isinstance(t, BinTest)])
        return self._bodies(step, self._scan(step, features))

    def _scan(self, step: Step, features: Ints) -> Found:
        """Find the best condition on each feature."""
        body, slopes, options = step.body, self.slopes, self.options
        sign = self.table.sign(body.tests)
        gains, judges = slopes.label_gains(body.sums, sign), None
        most = options.judging if step.members else _MOST_JUDGES
        if body.tests and most < len(gains):
            judges = np.sort(np.argsort(-gains, kind="stable")[:most])
            gains = gains[judges]
        reached = math.fsum(np.maximum(gains - slopes.cost, 0))
        least = options.enough(reached, len(self._all)) if body.tests else 0.0
        sure, border = self.rows(step)
        offset = body.sums if np.array_equal(sure, body.rows) else slopes.sums(sure)
        best = best_conditions(self.table, border, slopes, features, sign, offset, judges)
        return Found(best, features, least, sure, border, offset)

    def _bodies(self, step: Step, found: Found) -> Iterator[Body]:
        body, options, best = step.body, self.options, found.best
        taken = 0
        for place in np.argsort(-best.gain, kind="stable").tolist():
            if taken == options.beam_width or best.gain[place] <= found.least:
                return
            test = BinTest(int(found.features[place]), int(best.kind[place]), int(best.bin[place]))
            tests = step.tests(test)
            if len(tests) > options.max_conditions or not step.takes(test):
                continue
            rows = self._covered(test, found.border)
            sums = found.offset + self.slopes.sums(rows)
            if len(found.sure):
                rows = np.sort(np.concatenate([found.sure, rows]), kind="stable")  # quick for two that are in order
            longer = self._body(tests, rows, sums)
            if longer.gain > body.gain:
                taken += 1
                yield longer

    def _covered(self, test: AnyTest, rows: Ints32) -> Ints32:
        return rows[self._mask(test)[rows]]

    def _mask(self, test: AnyTest) -> Bools:
        if test not in self._masks:
            self._masks[test] = self.table.satisfied(test)
        return self._masks[test]

    def _body(self, tests: tuple[AnyTest, ...], rows: Ints32, sums: npt.NDArray[np.int64]) -> Body:
        return Body(tests, rows, sums, self.slopes.gain(sums, self.table.sign(tests)))
