"""The reference engine: plain NumPy, every objective, no tricks that a reader could not check."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyrule.arrays import Ints
from polyrule.data.table import Table
from polyrule.kernels.cuts import CutFinder
from polyrule.kernels.engine import PACE, Candidate, GrowOptions, Outcome, OutOfTime, Report
from polyrule.kernels.judge import Judge, Verdict, whole
from polyrule.kernels.state import TrainingState
from polyrule.measures import Objective
from polyrule.model.rule import Condition, LabelCondition


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A body under search, with its cover and the verdict on its best head."""

    body: tuple[Condition, ...]
    rows: Ints
    verdict: Verdict


class ReferenceEngine:
    """Grows rules with NumPy only. See `polyrule.kernels.engine.Engine` for the contract.

    Examples
    --------
    >>> from polyrule.measures import Objective, get
    >>> table = Table.from_array([[1.0], [2.0], [3.0], [4.0]])
    >>> truth = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.uint8)
    >>> engine = ReferenceEngine(table, truth, np.ones(4, dtype=np.int64), Objective(get("f0.5")), GrowOptions())
    >>> rule = engine.grow()
    >>> rule.body, rule.head
    ((NumericCondition(feature=0, op='<=', threshold=2.5),), ((0, 1, 2, 0),))
    """

    name = "reference"

    def __init__(
        self,
        table: Table,
        truth: Any,
        weights: npt.NDArray[np.int64],
        objective: Objective,
        options: GrowOptions,
        n_jobs: int = 1,
    ) -> None:
        dense = truth.toarray() if sp.issparse(truth) else truth
        full = objective.scope == "full"
        self.state = TrainingState(np.ascontiguousarray(dense, dtype=np.uint8), weights, objective.negative, full)
        self.objective = objective
        self.options = options
        self._cuts = CutFinder(table, self.state, options.label_conditions)
        self._judge = Judge(self.state, objective)
        self.deadline: float | None = None
        self.report: Report | None = None
        self._bodies, self._told = 0, 0.0
        self._best: Fraction | None = None
        self._judge.watch = self._look_at_the_clock

    @property
    def remaining(self) -> int:
        """Weight of the working set."""
        return self.state.remaining

    @property
    def has_unset(self) -> bool:
        """Whether something is left to predict."""
        return self.state.has_unset

    def leftover(self) -> npt.NDArray[np.int64]:
        """Per label, present and absent weight that nobody has set."""
        return self.state.leftover()

    def commit(self, candidate: Candidate, stop_threshold: float | None, keep_covered: bool) -> Outcome:
        """Apply a rule to the training state."""
        outcome = self.state.commit(candidate, stop_threshold, keep_covered)
        self._cuts.forget()
        self._judge.refresh()
        return outcome

    def grow(self, label: int | None = None, value: int | None = None) -> Candidate | None:
        """Return the best rule by greedy or beam search."""
        self._bodies, self._best, self._told = 0, None, time.monotonic()
        literals = self._literals(label, value)
        rows = np.flatnonzero(self.state.working)
        start = self._judge.best(whole(rows), literals)
        best = None if start is None else _Node((), rows, start)
        if best is not None and self._judge.ends_growth():
            return self._grown(best)
        beam: list[_Node | None] = [best]  # None: the empty body has no head of its own but may still be refined
        length = 0
        while beam and (self.options.max_conditions is None or length < self.options.max_conditions):
            self._best = best.verdict.value if best else None
            level = self._extend(beam, rows, literals, best.verdict if best else None)
            if not level or not level[0].verdict.beats(best.verdict if best else None):
                break
            best, beam, length = level[0], list(level), length + 1
        return self._grown(best)

    def _grown(self, best: _Node | None) -> Candidate | None:
        if best is None or int(self.state.weights[best.rows].sum()) < self.options.least_weight:
            return None
        return Candidate(best.body, best.verdict.head, best.verdict.value, best.rows)

    def grow_single(self) -> Candidate | None:
        """Return the best of the rules grown for each single literal."""
        best: Candidate | None = None
        for label in range(self.state.truth.shape[1]):
            for value in (1, 0) if self.objective.negative else (1,):
                found = self.grow(label, value)
                if found is not None and (best is None or _rank(found) > _rank(best)):
                    best = found
        return best

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        if self.deadline is not None and now > self.deadline:
            raise OutOfTime
        if self.report is not None and now - self._told >= PACE:
            self._told = now
            self.report(self._bodies, None if self._best is None else float(self._best))

    def _literals(self, label: int | None, value: int | None) -> npt.NDArray[np.bool_]:
        allowed = np.ones((self.state.truth.shape[1], 2), dtype=bool)
        allowed[:, 0] = self.objective.negative
        if label is not None:
            wanted = np.zeros_like(allowed)
            wanted[label, int(value if value is not None else 1)] = True
            allowed &= wanted
        return allowed

    def _extend(
        self, beam: list[_Node | None], everything: Ints, literals: npt.NDArray[np.bool_], best: Verdict | None
    ) -> list[_Node]:
        floor = best if self.options.beam_width == 1 else None  # what does not beat it ends a greedy search
        found: list[tuple[Fraction, int, _Node]] = []
        for parent in beam:
            body, rows = (parent.body, parent.rows) if parent else ((), everything)
            found += [
                (node.verdict.value, node.verdict.tp, node) for node in self._refinements(body, rows, literals, floor)
            ]
        found.sort(key=lambda entry: entry[:2], reverse=True)  # stable: earlier parents and conditions stay first
        level: list[_Node] = []
        seen: set[frozenset[Condition]] = set()
        for _, _, node in found:
            key = frozenset(node.body)
            if key not in seen:
                seen.add(key)
                level.append(node)
        return level[: self.options.beam_width]

    def _refinements(
        self, body: tuple[Condition, ...], rows: Ints, literals: npt.NDArray[np.bool_], floor: Verdict | None
    ) -> list[_Node]:
        """The best `beam_width` extensions of one body, in canonical order among equals."""
        nodes: list[_Node] = []
        tested = [condition.label for condition in body if isinstance(condition, LabelCondition)]
        for batch in self._cuts.batches(rows, body):
            self._look_at_the_clock()
            self._bodies += len(batch)
            allowed = literals.copy()
            allowed[tested] = False
            first = batch.condition(0)
            if isinstance(first, LabelCondition):
                allowed[first.label] = False
            skip = batch.sums(self.state.weights) < self.options.least_weight
            for _ in range(min(self.options.beam_width, len(batch))):
                full = len(nodes) >= self.options.beam_width
                verdict = self._judge.best(batch, allowed, skip, nodes[-1].verdict if full else floor)
                if verdict is None:
                    break
                skip[verdict.index] = True
                if full and not verdict.beats(nodes[-1].verdict):
                    break
                longer = (*body, batch.condition(verdict.index))
                nodes.append(_Node(longer, batch.covered(verdict.index), verdict))
                nodes.sort(key=lambda node: (node.verdict.value, node.verdict.tp), reverse=True)
                del nodes[self.options.beam_width :]
        return nodes


def _rank(candidate: Candidate) -> tuple[Fraction, int, int]:
    return candidate.value, candidate.tp, -len(candidate.body)
