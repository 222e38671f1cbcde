"""Choosing the rules: one after the other by gain, all weights refitted each time, useless ones replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.binning import Binning
from polyrule.binning.code_tests import AnyTest, meaning, renumbered, satisfied, single_tests
from polyrule.data.table import Table
from polyrule.ensemble.gain import Slopes
from polyrule.ensemble.growing import Body, Growth, grow
from polyrule.ensemble.weights import Solver
from polyrule.utils.arrays import Bools, Bytes, Codes, Floats, Floats32, Ints, Ints32
from polyrule.utils.compute import ONE_THREAD, Compute

_PRUNING_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How an ensemble is built.

    Parameters
    ----------
    max_rules : int
    ridge : float
        Penalty on squared weights while rules are chosen.
    gain_ridge : float
        The same for the weights of the rule that is searched for.
    label_cost : float
        What an entry of a head must lower the loss by to be tried at all; `Builder.prune_heads` may ask for more.
    search_cost : float
        What a label must gain to count for a body while bodies are searched. 0 judges bodies by what they do for all
        labels, which suits long heads; a price leads to bodies that do much for the few labels a short head names.
    max_head : int or None
        Most labels that a rule weighs before its head is pruned; time and memory would grow with them.
    swaps : int
        How often the weakest rule may be exchanged for a better one once all rules are there.
    spare : float
        Share of rules that are learned beyond `max_rules`, before those that are missed least are taken out again:
        which rules go well together shows only when they are there.
    growth : Growth
    presence : bool
        Whether no condition may hold for what stands for "not there", see `Binning.absent`: alternatives that are there
        say what conditions on absent words would, and are easier to read.
    """

    max_rules: int = 30
    ridge: float = 2.0
    gain_ridge: float = 2.0
    label_cost: float = 0.1
    search_cost: float = 0.0
    max_head: int | None = None
    swaps: int = 0
    spare: float = 0.5
    growth: Growth = field(default_factory=Growth)
    presence: bool = False

    @property
    def grown(self) -> int:
        """How many rules are learned, the spare ones among them."""
        return self.max_rules + int(self.spare * self.max_rules)


@dataclass(frozen=True, eq=False)
class Chosen:
    """Rules as they were chosen: tests and which labels each may weigh."""

    bodies: tuple[tuple[AnyTest, ...], ...]
    heads: Bools


#: Tests and head of a rule that was there from the start.
Kept = tuple[tuple[AnyTest, ...], Bools]

#: Called after every rule with the number of rules so far and what tells the penalised loss; True ends the search.
Watcher = Callable[[int, Callable[[], float]], bool]


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples as they are given."""

    table: Table
    truth: Bytes
    weights: Floats

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, rows: Ints) -> Examples:
        return Examples(self.table[rows], self.truth[rows], self.weights[rows])


@dataclass(frozen=True, eq=False)
class TrainingExamples:
    """What the rules are fitted to: bins of one feature after the other, soft targets and weights of the examples."""

    columns: Iterable[Codes]
    targets: Floats32
    weights: Floats


def plain_examples(columns: Iterable[Codes], truth: Bytes, weights: Floats) -> TrainingExamples:
    """Return the training examples as they are."""
    return TrainingExamples(columns, truth.astype(np.float32), weights)


class Builder:
    """Chooses rules for one set of training examples."""

    def __init__(
        self,
        binning: Binning,
        examples: TrainingExamples,
        options: BuildOptions,
        compute: Compute = ONE_THREAD,
        kept: Sequence[Kept] = (),
        allowed: Bools | None = None,
        direction: npt.NDArray[np.int8] | None = None,
    ) -> None:
        self.options = options
        self._compute = compute
        self.table = BinnedTable.of(binning, examples.columns, direction, options.presence)
        self.solver = Solver(
            examples.targets,
            examples.weights,
            options.ridge,
            options.grown + len(kept) + 1,
            compute,
        )
        self.bodies: list[Body] = []
        self.stopped = False
        self._kept = len(kept)
        self._allowed = allowed
        self._groups = _groups(allowed)
        for tests, head in kept:
            rows: Ints32 = np.arange(self.table.rows, dtype=np.int32)
            for test in tests:
                rows = self.table.covered(test, rows)
            self.bodies.append(Body(tests, rows, np.zeros((2, 0), dtype=np.int64), 0.0))
            self.solver.add(rows, head, self.table.sign(tests))
            self.solver.solve(np.flatnonzero(head), steps=2)

    def build(self, watch: Watcher | None = None) -> None:
        """Choose up to `max_rules` rules and some to spare, take the weak ones out, and exchange others."""
        while len(self.bodies) < self.options.grown and self._add():
            if watch is not None and watch(len(self.bodies), self.solver.objective):
                self.stopped = True
                break
        self._thin_out()
        self._exchange()
        self.solver.forget_slopes()
        self.solver.solve(steps=10)

    def chosen(self) -> Chosen:
        """The rules there are."""
        return Chosen(tuple(body.tests for body in self.bodies), self.solver.support[1:].copy())

    def prices(self, wanted: Sequence[float], labels_per_head: float | None = None) -> Iterator[float]:
        """Go through ascending prices, heads pruned accordingly; one of them leaves heads just short enough."""
        reached = 0.0
        for price in wanted:
            if labels_per_head is not None and price > wanted[0] and self.labels_per_head() > labels_per_head:
                between = self._shorten(labels_per_head, price)
                if between is not None:
                    reached = max(between, 1.001 * reached)
                    yield reached
            self.prune_heads(price)
            reached = price
            yield price
        if labels_per_head is not None and self.labels_per_head() > labels_per_head:
            between = self._shorten(labels_per_head, np.inf)
            if between is not None:
                yield max(between, 1.001 * reached)

    def labels_per_head(self) -> float:
        """Labels in a head on average; rules that test the same are one.

        Those without labels do not count, nor those that were there from the start.
        """
        heads: dict[object, Bools] = {}
        for body, head in zip(self.bodies[self._kept :], self.solver.support[1 + self._kept :], strict=True):
            same = meaning(body.tests)
            heads[same] = heads[same] | head if same in heads else head
        sizes = np.array([head.sum() for head in heads.values()])
        return float(sizes[sizes > 0].mean()) if sizes.any() else 0.0

    def _add(self) -> bool:
        solver = self.solver
        # Only when no label of the best body pays for its entry any more are bodies sought that have one that does.
        for price in dict.fromkeys((self.options.search_cost, self.options.label_cost)):
            gradient, curvature = solver.slopes
            ridge = self.options.gain_ridge
            priced = Slopes.of(gradient, curvature, solver.scale, ridge, price, self._compute)
            body = self._grown(priced)
            if body is None:
                continue
            sign = self.table.sign(body.tests)
            head = self._head(priced.label_gains(priced.sums(body.rows), sign))
            if self._allowed is not None:
                head &= self._allowed[[test.feature for test in single_tests(body.tests)]].all(axis=0)
            if head.any():
                self.bodies.append(body)
                solver.add(body.rows, head, sign)
                solver.solve(np.flatnonzero(head), steps=2)
                return True
        return False

    def _grown(self, slopes: Slopes) -> Body | None:
        """The best body; where labels may use some features only, the best of those for labels that share theirs."""
        if self._groups is None:
            return grow(self.table, slopes, self.options.growth)
        best: Body | None = None
        for features, labels in self._groups:
            body = grow(self.table.only(features.tolist()), slopes.some(labels), self.options.growth)
            if body is not None and (best is None or body.gain > best.gain):
                tests = tuple(renumbered(test, features) for test in body.tests)
                best = replace(body, tests=tests)
        return best

    def _head(self, gains: Floats) -> Bools:
        """Labels that pay for their entry; of very many, those that gain most."""
        head = gains > self.options.label_cost
        most = self.options.max_head
        if most is not None and head.sum() > most:
            head[np.argsort(-gains, kind="stable")[most:]] = False
        return head

    def _thin_out(self) -> None:
        """Take the rules out that are missed least until there are few enough."""
        solver = self.solver
        if len(self.bodies) > self.options.max_rules:
            solver.solve(steps=10)
        while len(self.bodies) > max(self.options.max_rules, self._kept):
            worth = np.where(solver.support[1:], solver.saliency(), 0).sum(axis=1)
            self._take_out_weakest(worth)

    def _take_out_weakest(self, worth: Floats) -> None:
        """Take out the rule that is worth least; kept ones stay."""
        worth[: self._kept] = np.inf
        weakest = int(np.argmin(worth))
        touched = np.flatnonzero(self.solver.support[weakest + 1])
        self.solver.remove(weakest)
        del self.bodies[weakest]
        self.solver.solve(touched, steps=3)

    def _exchange(self) -> None:
        """Take out the rule that is missed least, look for a better one, and keep whichever ends lower."""
        for _ in range(self.options.swaps if len(self.bodies) > self._kept else 0):
            solver = self.solver
            solver.solve(steps=10)
            price = self.options.label_cost
            before = solver.objective() + price * solver.support[1:].sum()
            kept = (list(self.bodies), solver.coefficients.copy(), solver.support.copy(), solver.signs.copy())
            columns = solver.covers.copy()
            worth = np.where(solver.support[1:], solver.saliency() - price, 0).sum(axis=1)
            self._take_out_weakest(worth)
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
        touched: Ints | None = None
        for _ in range(_PRUNING_ROUNDS if price > 0 else 0):
            worth = solver.saliency(touched)
            worth[: self._kept] = np.inf
            weak = worth < price
            touched = np.flatnonzero(weak.any(axis=0))
            if not len(touched):
                break
            # Of each label at most a quarter goes at once: weights that stand in for each other look weak together.
            for label in touched.tolist():
                order = np.argsort(worth[:, label], kind="stable")
                count = max(1, int(solver.support[1:, label].sum()) // 4)
                for rule in [rule for rule in order.tolist() if weak[rule, label]][:count]:
                    solver.drop(rule, label)
            solver.solve(touched, steps=10)

    def _shorten(self, labels_per_head: float, most: float) -> float | None:
        """Drop the entries that are missed least until heads are short, unless one is missed by `most` or more.

        Returns the largest loss that an entry was dropped for; None where `most` was reached first.
        """
        solver = self.solver
        solver.ridge = self.options.ridge
        solver.solve(steps=10)
        price = 0.0
        while self.labels_per_head() > labels_per_head:
            worth = solver.saliency()
            worth[: self._kept] = np.inf
            count = int(solver.support[1 + self._kept :].sum())
            enough = max(1, int(count * (1 - labels_per_head / self.labels_per_head())))
            order = np.argsort(worth, axis=None, kind="stable")[: min(enough, 1 + count // 6)]
            price = max(price, float(worth.flat[order[-1]]))
            if price >= most:
                return None
            places, labels = np.unravel_index(order, worth.shape)
            for rule, label in zip(places.tolist(), labels.tolist(), strict=True):
                solver.drop(rule, label)
            solver.solve(np.unique(labels), steps=5)
        return price


def _groups(allowed: Bools | None) -> list[tuple[Ints, Ints]] | None:
    """Features that some labels may use, and all labels that may use these; None where all may use all."""
    if allowed is None or allowed.all():
        return None
    found: dict[bytes, tuple[Ints, Ints]] = {}
    for column in allowed.T:
        if column.any():
            labels = (allowed | ~column[:, None]).all(axis=0)
            found.setdefault(column.tobytes(), (np.flatnonzero(column), np.flatnonzero(labels)))
    return list(found.values())


def covers_of(bodies: Sequence[tuple[AnyTest, ...]], binning: Binning, table: Table) -> Bytes:
    """1 where a body covers an example, after a first column of ones; only the features that are tested are read."""
    covers = np.ones((len(table), 1 + len(bodies)), dtype=np.uint8)
    codes: dict[int, Codes] = {}

    def column(feature: int) -> tuple[Codes, int]:
        if feature not in codes:
            codes[feature] = binning.column(feature, table)
        return codes[feature], binning.count(feature)

    for place, tests in enumerate(bodies, start=1):
        for test in tests:
            covers[:, place] &= satisfied(test, column)
    return covers
