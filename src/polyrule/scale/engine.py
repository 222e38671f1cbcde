"""The engine that decides from counts: whoever counts them, the rules are the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from polyrule.data.table import Feature
from polyrule.errors import DataError, OptionError
from polyrule.kernels.engine import PACE, Candidate, GrowOptions, Outcome, OutOfTime, Report
from polyrule.kernels.judge import Verdict
from polyrule.kernels.singles import RatioValues
from polyrule.measures import Objective
from polyrule.measures.ratio import exact_number
from polyrule.model.rule import Condition, LabelCondition
from polyrule.native import native
from polyrule.scale.batches import equality_batch, numeric_batch, whole_batch
from polyrule.scale.coded import KINDS, LABEL_CODES, Body, Counts, Layout, Step
from polyrule.scale.counter import Counter
from polyrule.scale.decide import ColumnViews, decide
from polyrule.scale.judge import CountedBatch, CountedJudge
from polyrule.scale.questions import Agreement, CountRows, Leftover, Weight, WhatIf
from polyrule.store.bins import Bins

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: Most bytes of one table of counts.
LARGEST_TABLE = 4 << 30
#: All weights are below this, so that counts are exact as doubles, and sums of a few of them as 64-bit integers.
LARGEST_TOTAL = 2**53


@dataclass(frozen=True, slots=True, eq=False)
class CountedCandidate(Candidate):
    """A rule whose rows nobody has listed: `covered` is empty, `coded` says which they are.

    `counts` are those of its body after `version` rules, where the search has asked for them.
    """

    coded: Body
    counts: Counts | None
    version: int


@dataclass(eq=False)
class Node:
    """A body under search."""

    body: tuple[Condition, ...]
    coded: Body
    weight: int
    verdict: Verdict | None
    parent: Node | None = None
    counts: Counts | None = None


class CountedEngine:
    """Grows rules from counts. See `polyrule.kernels.engine.Engine` for the contract; `covered` stays empty.

    Examples
    --------
    >>> from polyrule.data import Table
    >>> from polyrule.scale.counter import LocalCounter
    >>> from polyrule.store import pack_table
    >>> table, truth = Table.from_array([[1.0], [2.0], [3.0]]), np.array([[1, 0], [1, 0], [0, 1]])
    >>> packed = pack_table(table, truth, None, ("a", "b"))
    >>> engine = CountedEngine(
    ...     LocalCounter(packed), packed.features, packed.bins, 2, Objective("f0.5"), GrowOptions()
    ... )
    >>> engine.grow().body
    (NumericCondition(feature=0, op='<=', threshold=2.5),)
    """

    name = "counted"

    def __init__(
        self,
        counter: Counter,
        features: tuple[Feature, ...],
        bins: tuple[Bins, ...],
        labels: int,
        objective: Objective,
        options: GrowOptions,
        compiled: bool = True,
    ) -> None:
        self.counter = counter
        self.features = features
        self.bins = bins
        self.labels = labels
        self.objective = objective
        self.options = options
        self.compiled = compiled and native is not None
        self._can_decide = self.compiled or counter.decides
        self.deadline: float | None = None
        self.report: Report | None = None
        self._columns_seen, self._told = 0, time.monotonic()
        self.total = int(counter.ask(Weight()))
        if not 0 <= self.total < LARGEST_TOTAL:
            raise DataError("the weights sum to 2**53 or more; divide them by a common factor and pack the data again")
        self.remaining = self.total
        self._judge = CountedJudge(labels, objective, lambda body, s: counter.ask(Agreement(body, s)))
        self._judge.watch = self._look_at_the_clock
        self._layout = Layout.of(bins, labels, tuple(range(len(features))))
        self._usual = (0,) * labels
        self._ever_set = np.zeros(labels, dtype=bool)
        self._root: Counts | None = None
        self._check_size()

    # -- state -----------------------------------------------------------------------------------------------------

    @property
    def has_unset(self) -> bool:
        """Whether something is left to predict."""
        kinds = self._totals()
        return bool(kinds[:, :2].any() if self.objective.negative else kinds[:, 1].any())

    def leftover(self) -> Ints:
        """Per label, present and absent weight that nobody has set."""
        return np.asarray(self.counter.ask(Leftover()))

    def commit(self, candidate: Candidate, stop_threshold: float | None, keep_covered: bool) -> Outcome:
        """Apply a rule: ask what it would do, decide, and let everybody know."""
        assert isinstance(candidate, CountedCandidate)
        full, negative = self.objective.scope == "full", self.objective.negative
        head = tuple((label, value) for label, value, _, _ in candidate.head)
        answer = self.counter.ask(WhatIf(candidate.coded, head, full, negative))
        covered, still_open, newly = int(answer[0]), int(answer[1]), answer[2:]
        stopped = stop_threshold is not None and still_open <= exact_number(stop_threshold) * covered
        step = Step(candidate.coded, head, "all", full, negative)
        if stopped:
            step = replace(step, stay="none")
        elif stop_threshold is None or not keep_covered:
            step = replace(step, stay="open")
        self._ever_set |= newly > 0
        known = candidate.counts if candidate.version == len(self.counter.steps) else None
        self._advance(step, covered, known)
        self.remaining -= {"none": covered, "open": covered - still_open, "all": 0}[step.stay]
        self._add_columns([label for label in range(self.labels) if newly[label]])
        return Outcome(covered, still_open, int(newly.sum()), stopped)

    def _advance(self, step: Step, covered: int, known: Counts | None) -> None:
        """Correct the counts of the empty body by the rows that change, or forget them where most rows do."""
        if self._root is None or 2 * covered > self.remaining:
            self._root = None
            self.counter.advance(step)
            return
        before = self._count(step.body) if known is None else known
        self.counter.advance(step)
        self._root = self._root - before
        if step.stay == "all":
            self._root += self._set(before, step)
        elif step.stay == "open":  # the rows are those of the body among what is left in the working set
            self._root += self._count(step.body)

    def _set(self, before: Counts, step: Step) -> Counts:
        """Return the counts of the rows of a rule once its labels are set, from those before."""
        values = dict(step.head)
        filled = list(range(self.labels)) if step.full else sorted(values)
        kinds, weight = before.kinds.copy(), before.weight.copy()
        kinds[:, filled, 2:] += kinds[:, filled, :2]
        kinds[:, filled, :2] = 0
        for place, column in enumerate(self._layout.columns):
            label = column - len(self.features)
            if label in filled:  # in its own column, what was unset has a value now
                unset = int(self._layout.starts[place]) + LABEL_CODES - 1
                value = int(self._layout.starts[place]) + values.get(label, 0)
                for table in (kinds, weight):
                    table[value] += table[unset]
                    table[unset] = 0
        return Counts(kinds, weight)

    def _add_columns(self, newly: list[int]) -> None:
        if not self.options.label_conditions:
            return
        known = set(self._layout.columns)
        fresh = tuple(c for c in (len(self.features) + label for label in newly) if c not in known)
        if not fresh:
            return
        added = Layout.of(self.bins, self.labels, fresh)
        if self._root is not None:
            more = self.counter.ask(CountRows((), added, self._usual, None, self.compiled, self._occurring()))
            self._root = self._root.followed_by(more)
        self._layout = Layout.of(self.bins, self.labels, (*self._layout.columns, *fresh))
        self._check_size()

    def _check_size(self) -> None:
        size = int(self._layout.starts[-1]) * self.labels * KINDS * 8
        if size > LARGEST_TABLE:
            columns = len(self._layout.columns)
            raise OptionError(
                f"counts of {columns} columns by {self.labels} labels would take {size / 2**30:.1f} GB; "
                "use fewer bins (max_bins), or label_conditions=False"
            )

    # -- counting --------------------------------------------------------------------------------------------------

    def _count(self, body: Body, without: Body = ()) -> Counts:
        self._look_at_the_clock()
        excluded = without[0] if without else None
        question = CountRows(body, self._layout, self._usual, excluded, self.compiled, self._occurring())
        return self.counter.ask(question)

    def _occurring(self) -> tuple[int, ...]:
        """Kinds that rows can have, as bits, label by label: a label that nobody has set is never found set."""
        return tuple(15 if was_set else 3 for was_set in self._ever_set)

    def _whole(self) -> Counts:
        """Counts of the empty body, kept between rules."""
        if self._root is None:
            self._root = self._count(())
        return self._root

    def _counts(self, node: Node) -> Counts:
        """Counts of a node: counted, or the parent's less those of its sibling where that has fewer rows."""
        if node.counts is None:
            parent = node.parent
            assert parent is not None
            if 2 * node.weight <= parent.weight:
                node.counts = self._count(node.coded)
            else:
                node.counts = self._counts(parent) - self._count(parent.coded, node.coded[-1:])
        return node.counts

    def _totals(self) -> Ints:
        """Rows of the working set by label and kind."""
        return np.asarray(self._column(self._whole(), 0).on_host().kinds.sum(axis=0))

    def _column(self, counts: Counts, position: int) -> Counts:
        starts = self._layout.starts
        rows = slice(int(starts[position]), int(starts[position + 1]))
        return Counts(counts.kinds[rows], counts.weight[rows])

    # -- search ----------------------------------------------------------------------------------------------------

    def grow(self, label: int | None = None, value: int | None = None) -> Candidate | None:
        """Return the best rule by greedy or beam search."""
        if label is not None and value == 0 and not self.objective.negative:
            return None
        self._columns_seen, self._told = 0, time.monotonic()
        literals = self._literals(label, value)
        kinds = self._totals()
        self._usual = tuple(int(kind) for kind in kinds.argmax(axis=1))
        self._judge.update(kinds[:, :2] + kinds[:, 2:], self.remaining)
        start = self._judge.best(whole_batch(self._column(self._whole(), 0).on_host()), literals)  # type: ignore[arg-type]
        root = Node((), (), self.remaining, start, None, self._whole())
        best = None if start is None else root
        beam = [root]
        length = 0
        while beam and (self.options.max_conditions is None or length < self.options.max_conditions):
            level = self._extend(beam, literals)
            if not level or not _verdict(level[0]).beats(best.verdict if best else None):
                break
            best, beam, length = level[0], level, length + 1
        if best is None or best.weight < self.options.least_weight:
            return None
        verdict = _verdict(best)
        nobody = np.zeros(0, dtype=np.int64)
        version = len(self.counter.steps)
        return CountedCandidate(best.body, verdict.head, verdict.value, nobody, best.coded, best.counts, version)

    def grow_single(self) -> Candidate | None:
        """Return the best of the rules grown for each single literal."""
        best: Candidate | None = None
        for label in range(self.labels):
            for value in (1, 0) if self.objective.negative else (1,):
                found = self.grow(label, value)
                if found is not None and (best is None or _rank(found) > _rank(best)):
                    best = found
        return best

    def _literals(self, label: int | None, value: int | None) -> Mask:
        allowed = np.ones((self.labels, 2), dtype=bool)
        allowed[:, 0] = self.objective.negative
        if label is not None:
            allowed[:] = False
            allowed[label, int(value if value is not None else 1)] = True
        return allowed

    def _extend(self, beam: list[Node], literals: Mask) -> list[Node]:
        found = [node for parent in beam for node in self._refinements(parent, literals)]
        found.sort(key=lambda node: _verdict(node).value, reverse=True)
        found.sort(key=lambda node: (_verdict(node).value, _verdict(node).tp), reverse=True)
        level: list[Node] = []
        seen: set[frozenset[Condition]] = set()
        for node in found:
            key = frozenset(node.body)
            if key not in seen:
                seen.add(key)
                level.append(node)
        return level[: self.options.beam_width]

    def _refinements(self, parent: Node, literals: Mask) -> list[Node]:
        """The best `beam_width` extensions of one body, in canonical order among equals."""
        values = self._judge.fast_values(literals) if self.options.beam_width == 1 and self._can_decide else None
        if values is not None:
            return self._decide(parent, literals, values)
        return self._search(parent, literals, lambda column: self._batch(parent, column))

    def _search(self, parent: Node, literals: Mask, batch_of: Callable[[int], CountedBatch]) -> list[Node]:
        """Judge the candidates of one column after the other."""
        nodes: list[Node] = []
        width = self.options.beam_width
        tested = [condition.label for condition in parent.body if isinstance(condition, LabelCondition)]
        for column in self._open_columns(parent):
            self._look_at_the_clock()
            batch = batch_of(column)
            allowed = literals.copy()
            allowed[tested] = False
            if column >= len(self.features):
                allowed[column - len(self.features)] = False
            skip = batch.weight < self.options.least_weight
            for _ in range(min(width, len(batch))):
                verdict = self._judge.best(batch, allowed, skip)  # type: ignore[arg-type]
                if verdict is None:
                    break
                skip[verdict.index] = True
                if len(nodes) >= width and not verdict.beats(nodes[-1].verdict):
                    break
                body = (*parent.body, batch.condition(verdict.index))
                weight = int(batch.weight[verdict.index])
                nodes.append(Node(body, batch.body(verdict.index), weight, verdict, parent))
                nodes.sort(key=lambda node: (_verdict(node).value, _verdict(node).tp), reverse=True)
                del nodes[width:]
        return nodes

    def _decide(self, parent: Node, literals: Mask, values: RatioValues) -> list[Node]:
        """Find the best extension by the compiled decider; the judge then names its head."""
        allowed = literals.copy()
        allowed[[condition.label for condition in parent.body if isinstance(condition, LabelCondition)]] = False
        columns = self._open_columns(parent)
        single = self.objective.max_head_size == 1
        counts, whole, total = self._counts(parent), self._whole(), self._judge.total
        found = decide(
            counts, whole.weight, self._views(columns), allowed, total, values, self.options.least_weight, single
        )
        if found is None:
            return []
        position, cut, above = found
        column = columns[position]
        batch = self._batch(parent, column)
        chosen = batch.only(batch.find(cut, above))
        if column >= len(self.features):
            allowed[column - len(self.features)] = False
        verdict = self._judge.best(chosen, allowed)  # type: ignore[arg-type]
        assert verdict is not None
        body = (*parent.body, chosen.condition(0))
        return [Node(body, chosen.body(0), int(chosen.weight[0]), verdict, parent)]

    def _views(self, columns: list[int]) -> ColumnViews:
        starts = self._layout.starts
        place = self._place
        features = len(self.features)
        return ColumnViews(
            np.array([starts[place[c]] for c in columns], dtype=np.int64),
            np.array([starts[place[c] + 1] for c in columns], dtype=np.int64),
            np.array([self._is_numeric(c) for c in columns], dtype=np.uint8),
            np.array([c - features if c >= features else -1 for c in columns], dtype=np.int32),
        )

    @property
    def _place(self) -> dict[int, int]:
        return {column: position for position, column in enumerate(self._layout.columns)}

    def _is_numeric(self, column: int) -> bool:
        return column < len(self.features) and not self.features[column].is_nominal

    def _open_columns(self, parent: Node) -> list[int]:
        """Columns that may extend a body, in canonical order."""
        tested = {coded.column for coded in parent.coded}
        return [c for c in sorted(self._layout.columns) if self._is_numeric(c) or c not in tested]

    def _batch(self, parent: Node, column: int) -> CountedBatch:
        place = self._place[column]
        own = self._column(self._counts(parent), place).on_host()
        if not self._is_numeric(column):
            return equality_batch(parent.coded, column, self.features, own)
        occurs = self._column(self._whole(), place).on_host().weight
        return numeric_batch(parent.coded, column, self.bins[column], own, occurs)

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        if self.deadline is not None and now > self.deadline:
            raise OutOfTime
        self._columns_seen += 1
        if self.report is not None and now - self._told >= PACE:
            self._told = now
            self.report(self._columns_seen, None)


def _verdict(node: Node) -> Verdict:
    assert node.verdict is not None
    return node.verdict


def _rank(candidate: Candidate) -> tuple[Fraction, int, int]:
    return candidate.value, candidate.tp, -len(candidate.body)
