"""The reference engine: plain NumPy, every objective, no tricks that a reader could not check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.data.labels import dense_labels
from polyrule.data.table import Table
from polyrule.heads import HeadProblem, LabelCounts
from polyrule.measures import Objective
from polyrule.search.bounds import Bounds, hamming_bounds, is_example_hamming
from polyrule.search.candidates import CandidateFinder, RowBatch
from polyrule.search.growth import Growth, SearchNode
from polyrule.search.protocol import Candidate, GrowOptions, Outcome
from polyrule.search.scoring import ScoredCandidate, Scorer, no_condition
from polyrule.search.state import TrainingState
from polyrule.utils.arrays import Bools, Ints


class RowScorer(Scorer):
    """Finds the best candidate of a batch of rows, also if a head has no value by counts per label alone."""

    def __init__(self, state: TrainingState, objective: Objective) -> None:
        super().__init__(state.truth.shape[1], objective)
        self.state = state

    def _bounds(self, batch: RowBatch, allowed: Bools) -> Bounds | None:
        if not is_example_hamming(self.objective):
            return super()._bounds(batch, allowed)
        open_rows = (np.any(self.state.outcomes[:, :, :2], axis=2) & allowed.any(axis=1)).any(axis=1)
        weight = batch.sums(open_rows * self.state.weights)
        return hamming_bounds(self.counts(batch), weight, self.weight, allowed)

    def _problem(self, batch: RowBatch, index: int, allowed: Bools) -> HeadProblem:
        state, rows = self.state, self.state.working
        covered = np.zeros(len(rows), dtype=bool)
        covered[batch.covered(index)] = True
        problem = HeadProblem(state.truth[rows], covered[rows], state.assigned[rows], state.weights[rows], allowed)
        vars(problem)["counts"] = LabelCounts.of(batch.outcomes[index], self.total)  # they are known already
        return problem


@dataclass(eq=False)
class RowNode(SearchNode):
    """A body with the rows that it covers."""

    rows: Ints


class ReferenceEngine(Growth[RowNode]):
    """Grows rules with NumPy only. See `polyrule.search.protocol.Engine` for the contract.

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
    ) -> None:
        self.table = table
        self.state = TrainingState(dense_labels(truth), weights, objective.negative, objective.scope == "full")
        super().__init__(truth.shape[1], objective, options, RowScorer(self.state, objective))

    @property
    def remaining(self) -> int:
        """Weight of the working set."""
        return self.state.remaining

    @property
    def has_unset(self) -> bool:
        """True if something is left to predict."""
        return self.state.has_unset

    def leftover(self) -> npt.NDArray[np.int64]:
        """Per label, present and absent weight that no rule has set."""
        return self.state.leftover()

    def commit(self, candidate: Candidate, stop_threshold: float | None, keep_covered: bool) -> Outcome:
        """Apply a rule to the training state."""
        return self.state.commit(candidate, stop_threshold, keep_covered)

    def resume(self, working: Bools, assigned: npt.NDArray[np.int8]) -> None:
        """Go on from the state that another engine has reached: its working set, and what labels are set to."""
        self.state.resume(working, assigned.reshape(self.state.truth.shape))

    def begin(self, literals: Bools) -> RowNode:
        """Return the empty body, judged."""
        self._cuts = CandidateFinder(self.table, self.state, self.options.label_conditions)
        self._judge.update(self.state.outcomes.sum(axis=0), self.remaining)
        rows = np.flatnonzero(self.state.working)
        whole = RowBatch(self.state, rows, np.array([0]), np.array([len(rows)]), no_condition)
        return RowNode((), self.remaining, self._judge.best(whole, literals), rows)

    def search(self, parent: RowNode, literals: Bools, floor: ScoredCandidate | None) -> list[RowNode]:
        """Return the best extensions of one body."""
        return self.shortlist(parent, self._cuts.batches(parent.rows, parent.body), literals, floor)

    def extended(self, parent: RowNode, batch: RowBatch, verdict: ScoredCandidate) -> RowNode:
        """Return the node of the candidate that a verdict names."""
        index = verdict.index
        body = (*parent.body, batch.condition(index))
        return RowNode(body, int(batch.weight[index]), verdict, batch.covered(index))

    def candidate(self, node: RowNode) -> Candidate:
        """Return a grown body as a rule."""
        assert node.verdict is not None
        return Candidate(node.body, node.verdict.head, node.verdict.value, node.rows)
