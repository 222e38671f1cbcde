"""How a rule is grown, whoever searches the bodies: begin, search each body of a level, keep the best, go on.

`Growth` is the loop; an engine says what a node is, which batches of conditions extend one, and who judges them. The
reference engine does so from rows, the counted engine from sums. The compiled engine has the same loop in C++.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np

from polyrule.arrays import Bools, Ints
from polyrule.kernels.engine import PACE, Candidate, GrowOptions, OutOfTime, Report
from polyrule.kernels.judge import Judge, Verdict
from polyrule.measures import Objective
from polyrule.model.rule import Condition, LabelCondition


@dataclass(eq=False)
class Node:
    """A body under search: its conditions, what it covers, and its best head (None where it has none)."""

    body: tuple[Condition, ...]
    weight: int
    verdict: Verdict | None

    @property
    def rank(self) -> tuple[Fraction, int]:
        """What bodies of one level are ordered by; only bodies with a head get there."""
        assert self.verdict is not None
        return self.verdict.value, self.verdict.tp


N = TypeVar("N", bound=Node)
#: The candidates of one feature, or of one label (named), in canonical order.
Batches = Iterable[tuple[Any, int | None]]


class Growth(ABC, Generic[N]):
    """The growth loop of an engine; see `polyrule.kernels.engine.Engine` for the contract.

    Parameters
    ----------
    labels : int
    objective : Objective
    options : GrowOptions
    judge : Judge
        Says which candidate of a batch is best.
    """

    def __init__(self, labels: int, objective: Objective, options: GrowOptions, judge: Judge) -> None:
        self.labels = labels
        self.objective = objective
        self.options = options
        self.deadline: float | None = None
        self.report: Report | None = None
        self._judge = judge
        self._judge.watch = self._look_at_the_clock
        self._bodies, self._told = 0, time.monotonic()
        self._best: Fraction | None = None

    # -- what an engine says ---------------------------------------------------------------------------------------

    @abstractmethod
    def begin(self, literals: Bools) -> N:
        """Return the empty body, judged."""

    @abstractmethod
    def search(self, parent: N, literals: Bools, floor: Verdict | None) -> list[N]:
        """Return the best `beam_width` extensions of one body, in canonical order among equals.

        Those that do not beat `floor` may be left out.
        """

    @abstractmethod
    def weights(self, batch: Any) -> Ints:
        """Return the weight that each candidate of a batch covers."""

    @abstractmethod
    def extended(self, parent: N, batch: Any, verdict: Verdict) -> N:
        """Return the node of the candidate that a verdict names."""

    @abstractmethod
    def candidate(self, node: N) -> Candidate:
        """Return a grown body as a rule."""

    # -- the loop --------------------------------------------------------------------------------------------------

    def grow(self, label: int | None = None, value: int | None = None) -> Candidate | None:
        """Return the best rule by greedy or beam search."""
        self._bodies, self._best, self._told = 0, None, time.monotonic()
        literals = self._literals(label, value)
        if not literals.any():
            return None
        root = self.begin(literals)
        best = root if root.verdict is not None else None
        level = [root]  # an empty body without a head may still be refined
        if best is not None and self._judge.ends_growth():
            level = []
        length = 0
        while level and (self.options.max_conditions is None or length < self.options.max_conditions):
            floor = best.verdict if best else None
            self._best = floor.value if floor else None
            level = self._next_level(level, literals, floor)
            if not level or not level[0].verdict.beats(floor):  # type: ignore[union-attr]
                break
            best, length = level[0], length + 1
        if best is None or best.weight < self.options.least_weight:
            return None
        return self.candidate(best)

    def grow_single(self) -> Candidate | None:
        """Return the best of the rules grown for each single literal."""
        best: Candidate | None = None
        for label in range(self.labels):
            for value in (1, 0) if self.objective.negative else (1,):
                found = self.grow(label, value)
                if found is not None and (best is None or _rank(found) > _rank(best)):
                    best = found
        return best

    def _literals(self, label: int | None, value: int | None) -> Bools:
        allowed = np.ones((self.labels, 2), dtype=bool)
        allowed[:, 0] = self.objective.negative
        if label is not None:
            wanted = np.zeros_like(allowed)
            wanted[label, int(value if value is not None else 1)] = True
            allowed &= wanted
        return allowed

    def _next_level(self, level: list[N], literals: Bools, best: Verdict | None) -> list[N]:
        floor = best if self.options.beam_width == 1 else None  # what does not beat it ends a greedy search
        found = [node for parent in level for node in self.search(parent, literals, floor)]
        found.sort(key=lambda node: node.rank, reverse=True)  # stable: earlier parents and conditions stay first
        first: dict[frozenset[Condition], N] = {}
        for node in found:
            first.setdefault(frozenset(node.body), node)
        return list(first.values())[: self.options.beam_width]

    def shortlist(self, parent: N, batches: Batches, literals: Bools, floor: Verdict | None = None) -> list[N]:
        """Judge the candidates of one batch after the other; return the best `beam_width` of them as nodes."""
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
            skip = self.weights(batch) < self.options.least_weight
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
        return nodes

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        if self.deadline is not None and now > self.deadline:
            raise OutOfTime
        if self.report is not None and now - self._told >= PACE:
            self._told = now
            self.report(self._bodies, None if self._best is None else float(self._best))


def without_tested(literals: Bools, body: tuple[Condition, ...]) -> Bools:
    """Return the literals less those of labels that a body tests.

    Examples
    --------
    >>> without_tested(np.ones((2, 2), dtype=bool), (LabelCondition(0, 1),)).tolist()
    [[False, False], [True, True]]
    """
    allowed = literals.copy()
    allowed[[condition.label for condition in body if isinstance(condition, LabelCondition)]] = False
    return allowed


def _rank(candidate: Candidate) -> tuple[Fraction, int, int]:
    return candidate.value, candidate.tp, -len(candidate.body)
