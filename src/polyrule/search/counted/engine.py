"""Engine that decides from counts, with the same rules for any counter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.conditions import Condition, fixed_features, label_conditions
from polyrule.errors import DataError, OptionError
from polyrule.measures import Objective, RatioMeasure
from polyrule.search.counted.batches import CountedBatch, equality_batch, numeric_batch
from polyrule.search.counted.counter import Counter
from polyrule.search.counted.queries import CommitEffect, PairCounts, RowCounts, UnsetWeight, Weight
from polyrule.search.counted.requests import LABEL_CODES, Body, CommittedRule, Counts, Layout, Range, on_host
from polyrule.search.counted.scoring import ColumnViews, CountedScorer, decide
from polyrule.search.growth import Batches, Growth, SearchNode, without_tested
from polyrule.search.protocol import Candidate, GrowOptions, Outcome, rows_to_keep
from polyrule.search.scoring import ScoredCandidate, no_condition
from polyrule.store.packed import Packed
from polyrule.utils.arrays import Bools, Ints
from polyrule.utils.compute import native
from polyrule.utils.messages import parameter_name

#: Most bytes of one table of counts; where all columns take more, they are searched range by range.
LARGEST_TABLE = 4 << 30
#: All weights are below this, so that counts are exact as doubles, and sums of a few of them as 64-bit integers.
LARGEST_TOTAL = 2**53


@dataclass(frozen=True, slots=True, eq=False)
class CountedCandidate(Candidate):
    """A rule whose rows are not listed: `covered` is empty, `ranges` defines them.

    `counts` are those of its body after `version` rules, where the search has asked for them.
    """

    ranges: Body
    counts: Counts | None
    version: int


@dataclass(eq=False)
class CountedNode(SearchNode):
    """A body as ranges of codes, with its counts once they are needed.

    Its rows are those of the `parent` that satisfy its last condition; the empty body has no parent.
    """

    ranges: Body = ()
    parent: CountedNode | None = None
    counts: Counts | None = None


class CountedEngine(Growth[CountedNode]):
    """Grows rules from counts. See `polyrule.search.protocol.Engine` for the contract; `covered` stays empty.

    Counts of the empty body are kept between rules and those of a body along a rule, unless they are too large: then
    columns are searched in ranges, and every range of a body is counted when it is its turn.

    Examples
    --------
    >>> from polyrule.data import Table
    >>> from polyrule.search.counted.counter import LocalCounter
    >>> from polyrule.store import pack_table
    >>> table, truth = Table.from_array([[1.0], [2.0], [3.0]]), np.array([[1, 0], [1, 0], [0, 1]])
    >>> packed = pack_table(table, truth, None, ("a", "b"))
    >>> CountedEngine(LocalCounter(packed), packed, Objective("f0.5"), GrowOptions()).grow().body
    (NumericCondition(feature=0, op='<=', threshold=2.5),)
    """

    name = "counted"

    def __init__(
        self,
        counter: Counter,
        packed: Packed,
        objective: Objective,
        options: GrowOptions,
        compiled: bool = True,
    ) -> None:
        labels = len(packed.label_names)
        judge = CountedScorer(labels, objective, lambda body, s: counter.run(PairCounts(body, s)))
        super().__init__(labels, objective, options, judge)
        self._judge: CountedScorer = judge
        self.counter = counter
        self.features, self.bins = packed.features, packed.bins
        self.compiled = compiled and native is not None
        self._can_decide = self.compiled or counter.decides
        self.total = int(counter.run(Weight()))
        if not 0 <= self.total < LARGEST_TOTAL:
            raise DataError("the weights sum to 2**53 or more; divide them by a common factor and pack the data again")
        self.remaining = self.total
        self._root: Counts | None = None
        self._use_layout(Layout.of(self.bins, labels, tuple(range(len(self.features)))))
        self._modes = (0,) * labels
        self._ever_set = np.zeros(labels, dtype=bool)
        self._weights: dict[Layout, Any] = {}
        self._viewed: tuple[tuple[Layout, list[int]], ColumnViews] | None = None

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def has_unset(self) -> bool:
        """True if something is left to predict."""
        outcomes = self._totals()
        return bool(outcomes[:, :2].any() if self.objective.negative else outcomes[:, 1].any())

    def leftover(self) -> Ints:
        """Per label, present and absent weight that no rule has set."""
        return np.asarray(self.counter.run(UnsetWeight()))

    def commit(self, candidate: Candidate, stop_threshold: float | None, keep_covered: bool) -> Outcome:
        """Apply a rule: count its effect, decide which rows stay, and advance the counter."""
        assert isinstance(candidate, CountedCandidate)
        full, negative = self.objective.scope == "full", self.objective.negative
        head = tuple((label, value) for label, value, _, _ in candidate.head)
        answer = self.counter.run(CommitEffect(candidate.ranges, head, full, negative))
        covered, still_open, newly = int(answer[0]), int(answer[1]), answer[2:]
        stay = rows_to_keep(covered, still_open, stop_threshold, keep_covered)
        step = CommittedRule(candidate.ranges, head, stay, full, negative)
        self._ever_set |= newly > 0
        before = candidate.counts if candidate.version == len(self.counter.steps) else None
        self._advance(step, covered, before)
        self.remaining -= {"none": covered, "open": covered - still_open, "all": 0}[step.stay]
        self._add_columns([label for label in range(self.labels) if newly[label]])
        return Outcome(covered, still_open, int(newly.sum()), stay == "none")

    def _advance(self, step: CommittedRule, covered: int, before: Counts | None) -> None:
        """Correct the counts of the empty body by the rows that change, or forget them where most rows do."""
        if self._root is None or 2 * covered > self.remaining:
            self._root = None
            self.counter.advance(step)
            return
        if before is None:
            before = self._count(step.body)
        self.counter.advance(step)
        self._root = self._root - before
        if step.stay == "all":
            self._root += self._set(before, step)
        elif step.stay == "open":  # the rows are those of the body that are still in the working set
            self._root += self._count(step.body)

    def _set(self, before: Counts, step: CommittedRule) -> Counts:
        """Return the counts of the rows of a rule once its labels are set, from those before."""
        values = dict(step.head)
        filled = list(range(self.labels)) if step.full else sorted(values)
        outcomes, weight = before.outcomes.copy(), before.weight.copy()
        outcomes[:, filled, 2:] += outcomes[:, filled, :2]
        outcomes[:, filled, :2] = 0
        for place, column in enumerate(self._layout.columns):
            label = column - len(self.features)
            if label in filled:  # in its own column, what was unset has a value now
                unset = int(self._layout.starts[place]) + LABEL_CODES - 1
                value = int(self._layout.starts[place]) + values.get(label, 0)
                for table in (outcomes, weight):
                    table[value] += table[unset]
                    table[unset] = 0
        return Counts(outcomes, weight)

    def _add_columns(self, newly: list[int]) -> None:
        if not self.options.label_conditions:
            return
        columns = set(self._layout.columns)
        fresh = tuple(c for c in (len(self.features) + label for label in newly) if c not in columns)
        if not fresh:
            return
        added = Layout.of(self.bins, self.labels, fresh)
        if self._root is not None:
            self._root = self._root.followed_by(self._count((), layout=added))
        self._use_layout(
            Layout.of(self.bins, self.labels, (*(c for part in self._ranges for c in part.columns), *fresh))
        )

    def _use_layout(self, layout: Layout) -> None:
        """Search these columns from now on: as one range where a table of them is small enough."""
        self._ranges = [layout] if layout.nbytes <= LARGEST_TABLE else layout.divided(LARGEST_TABLE)
        self._layout = self._ranges[0]
        self._ranged = len(self._ranges) > 1
        if self._ranged:
            self._root = None
        largest = max(part.nbytes for part in self._ranges)
        if largest > LARGEST_TABLE:
            raise OptionError(
                f"counts of one column by {self.labels} labels would take {largest / 2**30:.1f} GB; use fewer bins "
                f"({parameter_name('max_bins')})"
            )

    # -- counting --------------------------------------------------------------------------------------------------

    def _count(self, body: Body, without: Range | None = None, layout: Layout | None = None) -> Counts:
        self._look_at_the_clock()
        # a label that no rule has set is unset in every row
        occurring = tuple(15 if was_set else 3 for was_set in self._ever_set)
        return self.counter.run(RowCounts(body, layout or self._layout, self._modes, without, self.compiled, occurring))

    def _whole(self) -> Counts:
        """Counts of the empty body, kept between rules."""
        if self._ranged:
            return self._count(())
        if self._root is None:
            self._root = self._count(())
        return self._root

    def _occurs(self) -> Any:
        """Weight of every bin of the range in the working set, which stays the same along a rule."""
        if not self._ranged:
            return self._whole().weight
        if self._layout not in self._weights:
            self._weights[self._layout] = self._whole().weight
        return self._weights[self._layout]

    def _counts(self, node: CountedNode) -> Counts:
        """Counts of a node: counted, or the parent's less those of its sibling where that has fewer rows."""
        if self._ranged:
            return self._count(node.ranges)
        if node.counts is None:
            parent = node.parent
            if parent is None or 2 * node.weight <= parent.weight:
                node.counts = self._count(node.ranges)
            else:
                node.counts = self._counts(parent) - self._count(parent.ranges, node.ranges[-1])
        return node.counts

    def _totals(self) -> Ints:
        """Rows of the working set by label and kind."""
        if self._ranged:  # any one column has every row in one of its bins
            counts = self._count((), layout=Layout.of(self.bins, self.labels, self._ranges[0].columns[:1]))
        else:
            counts = self._column(self._whole(), 0)
        return np.asarray(counts.on_host().outcomes.sum(axis=0))

    def _column(self, counts: Counts, position: int) -> Counts:
        starts = self._layout.starts
        return counts.at(slice(int(starts[position]), int(starts[position + 1])))

    # -- search ----------------------------------------------------------------------------------------------------

    def begin(self, literals: Bools) -> CountedNode:
        """Return the empty body, judged."""
        outcomes = self._totals()
        self._modes = tuple(int(outcome) for outcome in outcomes.argmax(axis=1))
        self._judge.update(outcomes, self.remaining)
        self._weights.clear()
        whole = CountedBatch(outcomes[None], np.array([self.remaining]), lambda index: (), no_condition)
        verdict = self._judge.best(whole, literals)
        return CountedNode((), self.remaining, verdict, counts=None if self._ranged else self._whole())

    def search(self, parent: CountedNode, literals: Bools, floor: ScoredCandidate | None) -> list[CountedNode]:
        """Return the best extensions of one body."""
        nodes: list[CountedNode] = []
        for part in self._ranges:
            self._layout = part
            if self._open_columns(parent.body):
                nodes += self._search(parent, self._counts(parent), literals, floor)
        nodes.sort(key=lambda node: node.rank, reverse=True)  # stable: earlier ranges stay first
        return nodes[: self.options.beam_width]

    def _search(
        self, parent: CountedNode, counts: Counts, literals: Bools, floor: ScoredCandidate | None
    ) -> list[CountedNode]:
        greedy = self.options.beam_width == 1
        measure = self._judge.fast_measure(literals) if greedy and self._can_decide else None
        if measure is not None:
            return self._decide(parent, counts, literals, measure)
        return self.shortlist(parent, self._batches(parent, counts, self._batch), literals, floor)

    def extended(self, parent: CountedNode, batch: CountedBatch, verdict: ScoredCandidate) -> CountedNode:
        """Return the node of the candidate that a verdict names."""
        index = verdict.index
        body = (*parent.body, batch.condition(index))
        return CountedNode(body, int(batch.weight[index]), verdict, batch.body(index), parent)

    def candidate(self, node: CountedNode) -> Candidate:
        """Return a grown body as a rule; its rows are not listed."""
        assert node.verdict is not None
        nobody, version = np.zeros(0, dtype=np.int64), len(self.counter.steps)
        verdict = node.verdict
        return CountedCandidate(node.body, verdict.head, verdict.value, nobody, node.ranges, node.counts, version)

    def _batches(
        self, parent: CountedNode, counts: Counts, batch_of: Callable[[Body, Counts, int], CountedBatch]
    ) -> Batches:
        for column in self._open_columns(parent.body):
            label = column - len(self.features)
            yield batch_of(parent.ranges, counts, column), label if label >= 0 else None

    def _decide(self, parent: CountedNode, counts: Counts, literals: Bools, measure: RatioMeasure) -> list[CountedNode]:
        """Find the best extension by the compiled decider; the judge then names its head."""
        self._look_at_the_clock()
        allowed = without_tested(literals, parent.body)
        columns = self._open_columns(parent.body)
        single = self.objective.max_head_size == 1
        occurs, total = self._occurs(), self._judge.total
        best = decide(counts, occurs, self._views(columns), allowed, total, measure, self.options.min_weight, single)
        if best is None:
            return []
        position, cut, above = best
        column = columns[position]
        batch = self._batch(parent.ranges, counts, column, (cut, above))
        if column >= len(self.features):
            allowed[column - len(self.features)] = False
        verdict = self._judge.best(batch, allowed)
        assert verdict is not None
        return [self.extended(parent, batch, verdict)]

    def _views(self, columns: list[int]) -> ColumnViews:
        key = self._layout, columns
        if self._viewed is None or self._viewed[0] != key:
            starts, place, features = self._layout.starts, self._place, len(self.features)
            views = ColumnViews(
                np.array([starts[place[c]] for c in columns], dtype=np.int64),
                np.array([starts[place[c] + 1] for c in columns], dtype=np.int64),
                np.array([self._is_numeric(c) for c in columns], dtype=np.uint8),
                np.array([c - features if c >= features else -1 for c in columns], dtype=np.int32),
            )
            self._viewed = key, views  # most queries are about the same columns
        return self._viewed[1]

    @property
    def _place(self) -> dict[int, int]:
        return {column: position for position, column in enumerate(self._layout.columns)}

    def _is_numeric(self, column: int) -> bool:
        return column < len(self.features) and not self.features[column].is_nominal

    def _open_columns(self, body: tuple[Condition, ...]) -> list[int]:
        """Columns that a body may still test, in canonical order."""
        tested = fixed_features(body) | {len(self.features) + c.label for c in label_conditions(body)}
        return [c for c in sorted(self._layout.columns) if c not in tested]

    def _batch(self, body: Body, counts: Counts, column: int, only: tuple[int, bool] | None = None) -> CountedBatch:
        place = self._place[column]
        column_counts = self._column(counts, place).on_host()
        if not self._is_numeric(column):
            return equality_batch(body, column, self.features, column_counts, None if only is None else only[0])
        occurs = self._occurs()[self._layout.starts[place] : self._layout.starts[place + 1]]
        return numeric_batch(body, column, self.bins[column], column_counts, on_host(occurs), only)
