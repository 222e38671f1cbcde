"""Boosting: rules added one after the other by gain, all weights refitted each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.binning import Binning
from polyrule.binning.code_tests import AnyTest, renumbered, satisfied, single_tests
from polyrule.data.table import Table
from polyrule.ensemble.gain import Gradients
from polyrule.ensemble.growth import GrownBody, GrowthOptions, grow
from polyrule.ensemble.solver import Solver
from polyrule.utils.arrays import Bools, Bytes, Codes, Floats, Floats32, Ints, Ints32
from polyrule.utils.compute import ONE_THREAD, Compute


@dataclass(frozen=True, slots=True, eq=False)
class BoostingOptions:
    """Options of boosting.

    Parameters
    ----------
    max_rules : int
    ridge : float
        Penalty on squared weights.
    gain_ridge : float
        The same for the weights of the rule that is searched.
    label_cost : float
        Decrease of the loss, in nats, that an entry of a head must bring.
    search_cost : float
        Gain that a label must exceed to count for a body during the search. 0 judges bodies by their gain for all
        labels, which suits long heads; a cost leads to bodies with a large gain for few labels.
    max_head : int or None
        Maximum number of labels of a rule before heads are pruned; time and memory would grow with them.
    min_rows : int
        Minimum number of examples that a rule covers; synthetic ones do not count.
    growth : GrowthOptions
    words : ndarray of bool, shape (features,), or None
        Features that look like words: no condition may hold for the code of absence, see `Binning.absent`, so that
        rules test words that occur.
    """

    max_rules: int = 30
    ridge: float = 2.0
    gain_ridge: float = 2.0
    label_cost: float = 0.1
    search_cost: float = 0.0
    max_head: int | None = None
    min_rows: int = 1
    growth: GrowthOptions = field(default_factory=GrowthOptions)
    words: Bools | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PooledRule:
    """Tests of a body, the labels that its rule may weight, and the required sign of its weights, 0 for any."""

    tests: tuple[AnyTest, ...]
    head: Bools
    sign: int = 0

    def with_labels(self, head: Bools) -> PooledRule:
        """Return the rule with further labels."""
        return replace(self, head=self.head | head)


#: Called after every rule with the number of rules and a function for the penalized loss; True ends the search.
Watcher = Callable[[int, Callable[[], float]], bool]


@dataclass(frozen=True, eq=False)
class TrainingExamples:
    """Training data of rules: codes of features, soft targets and weights.

    Parameters
    ----------
    column : callable
        Returns the codes of a feature for all rows.
    targets : ndarray of float32, shape (rows, labels)
        NaN if unknown.
    weights : ndarray, shape (rows,)
    sources : ndarray of int
        Per row the example it is or, if it is synthetic, the example it was made from. Synthetic rows come last.
    examples : int
        Number of rows that are not synthetic.
    """

    column: Callable[[int], Codes]
    targets: Floats32
    weights: Floats
    sources: Ints
    examples: int

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, rows: Ints) -> TrainingExamples:
        examples = int(np.count_nonzero(rows < self.examples))
        column = self.column
        return TrainingExamples(
            lambda feature: column(feature)[rows], self.targets[rows], self.weights[rows], self.sources[rows], examples
        )


def plain_examples(binning: Binning, table: Table, targets: Floats32, weights: Floats) -> TrainingExamples:
    """Return the examples of a table, without synthetic ones."""
    rows = np.arange(len(table))
    return TrainingExamples(lambda feature: binning.column(feature, table), targets, weights, rows, len(rows))


class Booster:
    """Rules for one set of training examples, with optimal weights.

    Parameters
    ----------
    binning : Binning
    examples : TrainingExamples
    options : BoostingOptions
    capacity : int
        Maximum number of rules.
    compute : Compute
    start : sequence of PooledRule
        Rules of the model from the beginning.
    allowed : ndarray of bool, shape (features, labels), or None
        Features that rules for a label may test.
    direction : ndarray of int8, or None
        See `BinnedTable`.
    """

    def __init__(
        self,
        binning: Binning,
        examples: TrainingExamples,
        options: BoostingOptions,
        capacity: int,
        compute: Compute = ONE_THREAD,
        start: Sequence[PooledRule] = (),
        allowed: Bools | None = None,
        direction: npt.NDArray[np.int8] | None = None,
    ) -> None:
        self.options, self._compute = options, compute
        self._allowed, self._groups = allowed, _groups(allowed)
        columns = (examples.column(feature) for feature in range(len(binning.features)))
        self.table = BinnedTable.of(binning, columns, direction, options.words)
        size = capacity + len(start) + 1
        self.solver = Solver(examples.targets, examples.weights, options.ridge, size, examples.examples, compute)
        self.rules: list[PooledRule] = []
        for rule in start:
            rows: Ints32 = np.arange(self.table.rows, dtype=np.int32)
            for test in rule.tests:
                rows = self.table.covered(test, rows)
            self._append(rule.tests, rows, rule.head)

    def build(self, rules: int, watch: Watcher | None = None) -> bool:
        """Add up to `rules` rules; return False if `watch` ended the search."""
        for _ in range(rules):
            if not self._add():
                break
            if watch is not None and watch(len(self.rules), self.solver.objective):
                return False
        return True

    def _append(self, tests: tuple[AnyTest, ...], rows: Ints32, head: Bools) -> None:
        sign = self.table.sign(tests)
        self.rules.append(PooledRule(tests, head, sign))
        self.solver.add(rows, head, sign)
        self.solver.solve(np.flatnonzero(head), steps=2)

    def _add(self) -> bool:
        options, solver = self.options, self.solver
        # Bodies with labels that only exceed the cost of an entry are searched once there are no others.
        for cost in dict.fromkeys((options.search_cost, options.label_cost)):
            parameters = solver.scale, options.gain_ridge, cost, options.min_rows
            gradient, hessian = solver.gradients
            gradients = Gradients.of(gradient, hessian, *parameters, compute=self._compute)
            body = self._grown(gradients)
            if body is None:
                continue
            head = self._head(gradients.label_gains(gradients.sums(body.rows), self.table.sign(body.tests)))
            if self._allowed is not None:
                head &= self._allowed[[test.feature for test in single_tests(body.tests)]].all(axis=0)
            if head.any():
                self._append(body.tests, body.rows, head)
                return True
        return False

    def _grown(self, gradients: Gradients) -> GrownBody | None:
        """Return the best body; if labels may use some features only, the best for labels with equal features."""
        if self._groups is None:
            return grow(self.table, gradients, self.options.growth)
        best: GrownBody | None = None
        for features, labels in self._groups:
            table = self.table.only(features.tolist())
            body = grow(table, gradients.of_labels(labels), self.options.growth)
            if body is not None and (best is None or body.gain > best.gain):
                best = replace(body, tests=tuple(renumbered(test, features) for test in body.tests))
        return best

    def _head(self, gains: Floats) -> Bools:
        """Return the labels that exceed the cost of an entry; of many, those with the largest gains."""
        head, max_head = gains > self.options.label_cost, self.options.max_head
        if max_head is not None and head.sum() > max_head:
            head[np.argsort(-gains, kind="stable")[max_head:]] = False
        return head


def _groups(allowed: Bools | None) -> list[tuple[Ints, Ints]] | None:
    """Return features that some labels may use, with all labels that may use these; None if all may use all."""
    if allowed is None or allowed.all():
        return None
    groups: dict[bytes, tuple[Ints, Ints]] = {}
    for column in allowed.T:
        if column.any():
            labels = (allowed | ~column[:, None]).all(axis=0)
            groups.setdefault(column.tobytes(), (np.flatnonzero(column), np.flatnonzero(labels)))
    return list(groups.values())


def covers_of(
    bodies: Sequence[tuple[AnyTest, ...]], binning: Binning, rows: int, column: Callable[[int], Codes]
) -> Bytes:
    """Return 1 if a body covers a row, after a column of ones; only features that are tested are read."""
    covers = np.ones((rows, 1 + len(bodies)), dtype=np.uint8)
    codes: dict[int, Codes] = {}

    def cached(feature: int) -> tuple[Codes, int]:
        if feature not in codes:
            codes[feature] = column(feature)
        return codes[feature], binning.count(feature)

    for place, tests in enumerate(bodies, start=1):
        for test in tests:
            covers[:, place] &= satisfied(test, cached)
    return covers
