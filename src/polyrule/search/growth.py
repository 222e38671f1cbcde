"""Growth loop of an engine: begin, search each body of a level, keep the best, go on.

`Growth` is the loop; an engine defines its nodes, the batches of conditions that extend one, and their scorer. The
reference engine does so from rows, the counted engine from sums. The compiled engine has the same loop in C++.

A body is a conjunction of conditions. Each step adds one condition on a feature or a label to a body of the last level,
up to `max_conditions`. A candidate covers some rows of its body, not all of them; thresholds that divide these rows
alike are one candidate, at the lowest of them. Heads are judged from the counts of what is covered.

The bodies of a level are ordered by value, then true positives; then the earlier parent comes first, then the earlier
condition: features by column, labels last.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np

from polyrule.conditions import Condition, label_conditions
from polyrule.heads.bounding import bound_heads
from polyrule.measures import Objective
from polyrule.search.protocol import PACE, Candidate, GrowOptions, OutOfTime, Report
from polyrule.search.scoring import Batch, ScoredCandidate, Scorer
from polyrule.utils.arrays import Bools

Body = tuple[Condition, ...]


@dataclass(eq=False)
class SearchNode:
    """A body under search: its conditions, what it covers, and its best head (None where it has none)."""

    body: Body
    weight: int
    verdict: ScoredCandidate | None

    @property
    def rank(self) -> tuple[Fraction, int]:
        """Order of the bodies of one level, all of which have a head."""
        assert self.verdict is not None
        return self.verdict.rank


N = TypeVar("N", bound=SearchNode)
#: Batches, each with the label that its conditions test, if they do.
Batches = Iterable[tuple[Batch, int | None]]


class Growth(ABC, Generic[N]):
    """The growth loop of an engine; see `polyrule.search.protocol.Engine` for the contract.

    Parameters
    ----------
    labels : int
    objective : Objective
    options : GrowOptions
    judge : Scorer
        Finds the best candidate of a batch.
    """

    def __init__(self, labels: int, objective: Objective, options: GrowOptions, judge: Scorer) -> None:
        self.labels = labels
        self.objective = objective
        self.options = options
        self.deadline: float | None = None
        self.report: Report | None = None
        self._judge = judge
        self._judge.watch = self._look_at_the_clock
        self._bodies, self._reported = 0, time.monotonic()
        self._best: Fraction | None = None
        #: the best body that the rule in progress has come to
        self._reached: N | None = None

    # -- what an engine says ---------------------------------------------------------------------------------------

    @abstractmethod
    def begin(self, literals: Bools) -> N:
        """Return the empty body, judged."""

    @abstractmethod
    def search(self, parent: N, literals: Bools, floor: ScoredCandidate | None) -> list[N]:
        """Return the best `beam_width` extensions of one body, in canonical order among equals.

        Those that do not beat `floor` may be left out.
        """

    @abstractmethod
    def extended(self, parent: N, batch: Any, verdict: ScoredCandidate) -> N:
        """Return the node of the candidate that a verdict names."""

    @abstractmethod
    def candidate(self, node: N) -> Candidate:
        """Return a grown body as a rule."""

    # -- the loop --------------------------------------------------------------------------------------------------

    def grow(self, label: int | None = None, value: int | None = None) -> Candidate | None:
        """Return the best rule by greedy or beam search."""
        self._bodies, self._best, self._reported, self._reached = 0, None, time.monotonic(), None
        literals = self._literals(label, value)
        if not literals.any():
            return None
        try:
            return self._grow(literals)
        except OutOfTime:
            raise OutOfTime(self._finished(self._reached)) from None

    def _grow(self, literals: Bools) -> Candidate | None:
        root = self.begin(literals)
        best = self._reached = root if root.verdict is not None else None
        level = [root]  # an empty body without a head may still be refined
        if best is not None and self._judge.ends_growth():
            level = []
        while level:
            floor = best.verdict if best else None
            self._best = floor.value if floor else None
            level = self._next_level(level, literals, floor)
            if not level or not level[0].verdict.beats(floor):  # type: ignore[union-attr]
                break
            best = level[0]
        return self._finished(best)

    def _finished(self, best: N | None) -> Candidate | None:
        """Return a body as a rule if it covers enough, with a bound where its head may not be the best."""
        if best is None or best.weight < self.options.min_weight:
            return None
        rule, problem = self.candidate(best), best.verdict.problem if best.verdict else None
        return rule if problem is None else replace(rule, bound=bound_heads(problem, self.objective, rule.value))

    def grow_single(self) -> Candidate | None:
        """Return the best of the rules grown for each single literal."""
        best: Candidate | None = None
        for label in range(self.labels):
            for value in (1, 0) if self.objective.negative else (1,):
                try:
                    rule = self.grow(label, value)
                except OutOfTime as late:
                    raise OutOfTime(_better(best, late.best)) from None
                best = _better(best, rule)
        return best

    def _literals(self, label: int | None, value: int | None) -> Bools:
        allowed = np.ones((self.labels, 2), dtype=bool)
        allowed[:, 0] = self.objective.negative
        if label is not None:
            requested = np.zeros_like(allowed)
            requested[label, int(value if value is not None else 1)] = True
            allowed &= requested
        return allowed

    def _next_level(self, level: list[N], literals: Bools, best: ScoredCandidate | None) -> list[N]:
        floor = best if self.options.beam_width == 1 else None  # what does not beat it ends a greedy search
        nodes = [
            node
            for parent in level
            if self.options.max_conditions is None or len(parent.body) < self.options.max_conditions
            for node in self.search(parent, literals, floor)
        ]
        nodes.sort(key=lambda node: node.rank, reverse=True)  # stable: earlier parents and conditions stay first
        first: dict[frozenset[Condition], N] = {}
        for node in nodes:
            first.setdefault(frozenset(node.body), node)
        return list(first.values())[: self.options.beam_width]

    def shortlist(self, parent: N, batches: Batches, literals: Bools, floor: ScoredCandidate | None = None) -> list[N]:
        """Scorer the candidates of one batch after the other; return the best `beam_width` of them as nodes."""
        nodes: list[N] = []
        width = self.options.beam_width
        open_literals = without_tested(literals, parent.body)
        for batch, label in batches:
            self._look_at_the_clock()
            self._bodies += len(batch)
            allowed = open_literals
            if label is not None:
                allowed = open_literals.copy()
                allowed[label] = False
            skip = batch.weight < self.options.min_weight
            for _ in range(min(width, len(batch))):
                full = len(nodes) >= width
                verdict = self._judge.best(batch, allowed, skip, nodes[-1].verdict if full else floor)
                if verdict is None:
                    break
                skip[verdict.index] = True
                if full and not verdict.beats(nodes[-1].verdict):
                    break
                nodes.append(self.extended(parent, batch, verdict))
                nodes.sort(key=lambda node: node.rank, reverse=True)
                del nodes[width:]
                if verdict.beats(self._reached.verdict if self._reached else None):
                    self._reached = nodes[0]
        return nodes

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        if self.deadline is not None and now > self.deadline:
            raise OutOfTime
        if self.report is not None and now - self._reported >= PACE:
            self._reported = now
            self.report(self._bodies, None if self._best is None else float(self._best))


def without_tested(literals: Bools, body: Body) -> Bools:
    """Return the literals less those of labels that a body tests.

    Examples
    --------
    >>> from polyrule.conditions import LabelCondition
    >>> without_tested(np.ones((2, 2), dtype=bool), (LabelCondition(0, 1),)).tolist()
    [[False, False], [True, True]]
    """
    allowed = literals.copy()
    allowed[[condition.label for condition in label_conditions(body)]] = False
    return allowed


def _better(best: Candidate | None, other: Candidate | None) -> Candidate | None:
    if best is None or other is None:
        return other if best is None else best
    return other if _rank(other) > _rank(best) else best


def _rank(candidate: Candidate) -> tuple[Fraction, int, int]:
    return candidate.value, candidate.tp, -len(candidate.body)
