"""Choosing the rules: one after the other by gain, all weights refitted each time, useless ones replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Codes, Matrix
from polyrule.data.table import Table
from polyrule.ensemble.bins import BinnedTable, Binning, BinTest, holds
from polyrule.ensemble.gain import Slopes
from polyrule.ensemble.growing import Body, Growth, grow, simplify
from polyrule.ensemble.teacher import Lesson
from polyrule.ensemble.weights import Solver, slopes

_PRUNING_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How an ensemble is built.

    Parameters
    ----------
    max_rules : int
    ridge : float
        Penalty on squared weights while rules are chosen.
    label_cost : float
        What an entry of a head must lower the loss by to be tried at all; `Builder.prune_heads` may ask for more.
    swaps : int
        How often the weakest rule may be exchanged for a better one once all rules are there.
    growth : Growth
    """

    max_rules: int = 30
    ridge: float = 2.0
    label_cost: float = 0.1
    swaps: int = 0
    growth: Growth = field(default_factory=Growth)


@dataclass(frozen=True, eq=False)
class Chosen:
    """Rules as they were chosen: tests and which labels each may weigh."""

    bodies: tuple[tuple[BinTest, ...], ...]
    heads: npt.NDArray[np.bool_]


#: Called after every rule with the number of rules so far and the penalised loss; True ends the search.
Watcher = Callable[[int, float], bool]


class Builder:
    """Chooses rules for one lesson."""

    def __init__(self, binning: Binning, lesson: Lesson, options: BuildOptions) -> None:
        self.options = options
        self.table = BinnedTable.of(binning, lesson.columns)
        self.solver = Solver(lesson.targets, lesson.weights, options.ridge, options.max_rules + 1)
        self.bodies: list[Body] = []
        self.stopped = False

    def build(self, watch: Watcher | None = None) -> Chosen:
        """Choose up to `max_rules` rules and exchange weak ones."""
        while len(self.bodies) < self.options.max_rules and self._add():
            if watch is not None and watch(len(self.bodies), self.solver.objective()):
                self.stopped = True
                break
        self._exchange()
        self.solver.solve(steps=10)
        return Chosen(tuple(simplify(body.tests) for body in self.bodies), self.solver.support[1:].copy())

    def refitted(self, ridge: float) -> Matrix:
        """Return the best intercepts and weights of the chosen rules for another penalty."""
        self.solver.ridge = ridge
        self.solver.solve(steps=30)
        return self.solver.coefficients.copy()

    def _add(self) -> bool:
        solver = self.solver
        gradient, curvature = slopes(solver.scores, solver.targets, solver.weights)
        # Bodies are judged by what they do for all labels: judged by the best few only, they fit noise sooner. Only
        # when no label of such a body pays for its entry any more are bodies sought that have one that does.
        for price in dict.fromkeys((0.0, self.options.label_cost)):
            priced = Slopes.of(gradient, curvature, self.options.ridge, price)
            body = grow(self.table, priced, self.options.growth)
            if body is None:
                return False
            head = priced.label_gains(body.rows) > self.options.label_cost
            if head.any():
                self.bodies.append(body)
                solver.add(body.rows, head)
                solver.solve(np.flatnonzero(head), steps=2)
                return True
        return False

    def _exchange(self) -> None:
        """Take out the rule that is missed least, look for a better one, and keep whichever ends lower."""
        for _ in range(self.options.swaps if self.bodies else 0):
            solver = self.solver
            solver.solve(steps=10)
            price = self.options.label_cost
            before = solver.objective() + price * solver.support[1:].sum()
            kept = (list(self.bodies), solver.coefficients.copy(), solver.support.copy(), solver.scores.copy())
            columns = solver.covers.copy()
            worth = np.where(solver.support[1:], solver.saliency() - price, 0).sum(axis=1)
            weakest = int(np.argmin(worth))
            touched = np.flatnonzero(solver.support[weakest + 1])
            solver.remove(weakest)
            del self.bodies[weakest]
            solver.solve(touched, steps=3)
            if self._add():
                solver.solve(steps=5)
            after = solver.objective() + price * solver.support[1:].sum()
            if after >= before - 1e-6 * abs(before):
                self.bodies = kept[0]
                solver.restore(columns, *kept[1:])
                return

    def prune_heads(self, price: float) -> None:
        """Drop the entries that the loss would miss by less than `price`, the least missed first.

        A rule may lose all its entries; it stays in its place, without effect.
        """
        solver = self.solver
        solver.ridge = self.options.ridge
        solver.solve(steps=10)
        solver.renew()
        touched: npt.NDArray[np.int64] | None = None
        for _ in range(_PRUNING_ROUNDS if price > 0 else 0):
            worth = solver.saliency(touched)
            weak = worth < price
            touched = np.flatnonzero(weak.any(axis=0))
            if not len(touched):
                break
            # Of each label at most a quarter goes at once: weights that stand in for each other look weak together.
            for label in touched.tolist():
                order = np.argsort(worth[:, label], kind="stable")
                count = max(1, int(solver.support[1:, label].sum()) // 4)
                for rule in [rule for rule in order.tolist() if weak[rule, label]][:count]:
                    solver.support[rule + 1, label] = False
                    solver.coefficients[rule + 1, label] = 0
            solver.solve(touched, steps=10)


def covers_of(bodies: Sequence[tuple[BinTest, ...]], binning: Binning, table: Table) -> Matrix:
    """1 where a body covers an example, after a first column of ones; only the features that are tested are read."""
    covers = np.ones((len(table), 1 + len(bodies)))
    codes: dict[int, Codes] = {}
    for place, tests in enumerate(bodies, start=1):
        for test in tests:
            if test.feature not in codes:
                codes[test.feature] = binning.encode(test.feature, table.column(test.feature))
            covers[:, place] *= holds(test, codes[test.feature], binning.count(test.feature))
    return covers
