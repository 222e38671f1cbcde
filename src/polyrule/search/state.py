"""The training state: which examples still count, and which of their labels earlier rules have set."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from polyrule.measures.definition import UNSET, weights_by_outcome
from polyrule.search.protocol import Candidate, Outcome, rows_to_keep
from polyrule.utils.arrays import Ints


class TrainingState:
    """Working set and label assignments of the training examples.

    Parameters
    ----------
    truth : ndarray of uint8, shape (examples, labels)
        0 is absent, 1 is present, 2 is unknown: counted nowhere, and no reason to keep an example.
    weights : ndarray of int64
        Integer weights; an example of weight 0 is never in the working set.
    negative : bool
        Whether absent labels are predicted too; otherwise only a present label can be *open*.
    full : bool
        Full predictions: a rule sets every unset label of the examples it covers.
    """

    def __init__(
        self, truth: npt.NDArray[np.uint8], weights: npt.NDArray[np.int64], negative: bool = True, full: bool = False
    ) -> None:
        self.truth = truth
        self.weights = weights
        self.negative = negative
        self.full = full
        self.working = weights > 0  # an example of weight 0 counts nowhere, so it is not looked at either
        self.assigned = np.full(truth.shape, UNSET, dtype=np.int8)
        #: labels that some head has set; only those may be tested in a body
        self.ever_set = np.zeros(truth.shape[1], dtype=bool)

    @cached_property
    def outcomes(self) -> Ints:
        """Weight of every example by label and kind; 0 outside the working set."""
        return weights_by_outcome(self.truth, self.assigned, self.weights * self.working)

    @property
    def remaining(self) -> int:
        """Weight of the working set."""
        return int(self.weights[self.working].sum())

    @property
    def has_unset(self) -> bool:
        """True if something is left to predict on the working set."""
        return bool(self._open(np.flatnonzero(self.working)).any())

    def _open(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        # An unknown label is set like any other, but nothing is left to learn about it.
        unset = (self.assigned[rows] == UNSET) & (self.truth[rows] < 2 if self.negative else self.truth[rows] == 1)
        return np.asarray(unset.any(axis=1))

    def commit(self, candidate: Candidate, stop_threshold: float | None, keep_covered: bool) -> Outcome:
        """Apply a rule to the examples it covers and decide which of them stay.

        Examples
        --------
        >>> from fractions import Fraction
        >>> state = TrainingState(np.array([[1, 0], [0, 0]], dtype=np.uint8), np.array([1, 1]))
        >>> rule = Candidate((), ((1, 0, 2, 0),), Fraction(1), np.array([0, 1]))
        >>> state.commit(rule, stop_threshold=0.01, keep_covered=True)
        Outcome(covered=2, open=2, newly_set=2, stopped=False)
        >>> state.remaining
        2
        """
        self.__dict__.pop("outcomes", None)
        rows = candidate.covered
        newly_set = 0
        for label, value, _, _ in candidate.head:
            newly_set += self._set(rows, label, value)
        if self.full:
            for label in range(self.truth.shape[1]):
                newly_set += self._set(rows, label, 0)
        open_rows = self._open(rows)
        covered, still_open = int(self.weights[rows].sum()), int(self.weights[rows[open_rows]].sum())
        stay = rows_to_keep(covered, still_open, stop_threshold, keep_covered)
        if stay != "all":
            self.working[rows if stay == "none" else rows[~open_rows]] = False
        return Outcome(covered, still_open, newly_set, stay == "none")

    def resume(self, working: npt.NDArray[np.bool_], assigned: npt.NDArray[np.int8]) -> None:
        """Take over another working set and what labels are set to."""
        self.__dict__.pop("outcomes", None)
        self.working, self.assigned = working, assigned
        self.ever_set = (assigned != UNSET).any(axis=0)

    def _set(self, rows: npt.NDArray[np.int64], label: int, value: int) -> int:
        column = self.assigned[:, label]
        fresh = rows[column[rows] == UNSET]
        column[fresh] = value
        self.ever_set[label] |= fresh.size > 0
        return int(fresh.size)

    def leftover(self) -> npt.NDArray[np.int64]:
        """Per label, the weight of present and of absent truth that no rule has set, over all examples."""
        unset = (self.assigned == UNSET) * self.weights[:, None]
        return np.stack([(unset * (self.truth == truth)).sum(axis=0) for truth in (1, 0)], axis=1)
