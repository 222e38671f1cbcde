"""The reference engine: plain NumPy, every objective, no tricks that a reader could not check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Bools, Ints
from polyrule.data.labels import dense_labels
from polyrule.data.table import Table
from polyrule.kernels.cuts import Batch, CutFinder
from polyrule.kernels.engine import Candidate, GrowOptions, Outcome
from polyrule.kernels.growth import Batches, Growth, Node, Step
from polyrule.kernels.judge import Judge, Verdict, whole
from polyrule.kernels.state import TrainingState
from polyrule.measures import Objective
from polyrule.model.rule import GroupCondition


@dataclass(eq=False)
class RowNode(Node):
    """A body with the rows that it covers."""

    rows: Ints


class ReferenceEngine(Growth[RowNode]):
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
        full = objective.scope == "full"
        self.state = TrainingState(dense_labels(truth), weights, objective.negative, full)
        self._cuts = CutFinder(table, self.state, options.label_conditions)
        super().__init__(truth.shape[1], objective, options, Judge(self.state, objective))

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
        self._refresh()
        return outcome

    def resume(self, working: Bools, assigned: npt.NDArray[np.int8]) -> None:
        """Go on from the state that another engine has reached: its working set, and what labels are set to."""
        self.state.resume(working, assigned.reshape(self.state.truth.shape))
        self._refresh()

    def _refresh(self) -> None:
        self._cuts.forget()
        self._judge.refresh()

    def begin(self, literals: Bools) -> RowNode:
        """Return the empty body, judged."""
        rows = np.flatnonzero(self.state.working)
        return RowNode((), self.remaining, self._judge.best(whole(rows), literals), rows)

    def search(self, parent: RowNode, step: Step, literals: Bools, floor: Verdict | None) -> list[RowNode]:
        """Return the best extensions of one body by a step."""
        batches: Batches = self._cuts.batches(parent.rows, parent.body)
        if step.members:
            batches = self._cuts.members(parent.rows, self._border(step))
        return self.shortlist(parent, step, batches, literals, floor)

    def _border(self, step: Step) -> Ints:
        """Rows where one more member would make the group hold, and all other conditions do."""
        rows = np.flatnonzero(self.state.working)
        for condition in step.others:
            assert not isinstance(condition, GroupCondition)
            rows = rows[self._cuts.holding(condition, rows)]
        count = np.sum([self._cuts.holding(member, rows) for member in step.members], axis=0)
        return np.asarray(rows[count == step.least - 1])

    def weights(self, batch: Batch) -> Ints:
        """Return the weight that each candidate of a batch covers."""
        return batch.sums(self.state.weights)

    def extended(self, parent: RowNode, step: Step, batch: Batch, verdict: Verdict) -> RowNode:
        """Return the node of the candidate that a verdict names."""
        rows = batch.covered(verdict.index)
        body = step.body(batch.condition(verdict.index))
        return RowNode(body, int(self.state.weights[rows].sum()), verdict, rows)

    def candidate(self, node: RowNode) -> Candidate:
        """Return a grown body as a rule."""
        assert node.verdict is not None
        return Candidate(node.body, node.verdict.head, node.verdict.value, node.rows)
