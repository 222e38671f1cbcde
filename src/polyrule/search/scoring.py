"""Which candidate of a batch is best, and with which head.

Three ways, all exact:

- *singles*: if the best head has the value of its best literal, all literals of all candidates are valued at
  once; doubles only pick out what could be best, integers in lowest terms decide.
- *filtered*: a vectorised upper bound in doubles (with slack) picks the few candidates that can be best; each then gets
  the exact head search.
- *general*: every candidate gets the exact head search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from polyrule.conditions import Condition
from polyrule.heads import HeadProblem, HeadResult, LabelCounts, best_head
from polyrule.heads.no_condition import no_condition_wins
from polyrule.measures import FastForm, Objective, RatioMeasure, SubsetAccuracy
from polyrule.measures.definition import weights_by_truth
from polyrule.search.bounds import Bounds, monotone_bounds, ratio_bounds
from polyrule.search.literals import LiteralValues, lowered
from polyrule.utils.arrays import Bools, Ints


class Batch(Protocol):
    """Candidates of one feature, or of one label, in canonical order."""

    @property
    def outcomes(self) -> Ints:
        """Weight that each candidate covers, by label and kind: (candidates, labels, N_OUTCOMES)."""

    @property
    def weight(self) -> Ints:
        """Weight that each candidate covers."""

    @property
    def condition(self) -> Callable[[int], Condition]:
        """Makes the condition of a candidate."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """The best candidate of a batch: its position, value, and head as (label, value, tp, fp).

    `problem` is where the head was found if it may not be the best one there.
    """

    index: int
    value: Fraction
    tp: int
    head: tuple[tuple[int, int, int, int], ...]
    problem: HeadProblem | None = field(default=None, compare=False, repr=False)

    @property
    def rank(self) -> tuple[Fraction, int]:
        """Order of bodies: value, then true positives."""
        return self.value, self.tp

    def beats(self, other: ScoredCandidate | None) -> bool:
        """Return True if this candidate is better."""
        return other is None or self.rank > other.rank


class Scorer:
    """Finds the best candidate of a batch for one objective and the current working set."""

    def __init__(self, labels: int, objective: Objective) -> None:
        self.objective = objective
        #: called during every head search; ends it by raising
        self.watch: Callable[[], None] | None = None
        self._last: tuple[HeadProblem, HeadResult] | None = None
        #: weight of the working set, by label and truth, and in all
        self.total: Ints = np.zeros((labels, 2), dtype=np.int64)
        self.weight = 0
        form = objective.fast_form(labels)
        self._form = None if form is None or form.formula or form.kind == "example" else form  # for the compiled engine

    def update(self, outcomes: Ints, weight: int) -> None:
        """Take note of the working set: (labels, N_OUTCOMES) and its weight."""
        self.total, self.weight = weights_by_truth(outcomes), weight

    def counts(self, batch: Batch) -> LabelCounts:
        """Label counts of every candidate."""
        return LabelCounts.of(batch.outcomes, self.total)

    def best(
        self, batch: Batch, allowed: Bools, skip: Bools | None = None, floor: ScoredCandidate | None = None
    ) -> ScoredCandidate | None:
        """Return the best candidate not in `skip`; among equals the first in canonical order.

        It may be left out if it does not beat `floor`.
        """
        values = self._literal_values(allowed)
        if values is not None:
            return self._best_by_singles(batch, allowed, skip, values)
        candidates = np.arange(len(batch)) if skip is None else np.flatnonzero(~skip)
        if len(candidates) > 1:
            bounds = self._bounds(batch, allowed)
            if bounds is not None:
                return self._best_bounded(batch, allowed, candidates, bounds, floor)
        best: ScoredCandidate | None = None
        for index in candidates:
            best = self._better(best, self._search(batch, int(index), allowed))
        return best

    def _bounds(self, batch: Any, allowed: Bools) -> Bounds | None:
        """Bound the value of any head, per candidate; None where nothing is known."""
        if self.form is not None:
            return Bounds(ratio_bounds(self.counts(batch), self.weight, self.form, allowed))
        objective = self.objective
        plain = objective.averaging == "micro" and objective.scope == "head" and objective.lift.is_none
        if plain and objective.measure.monotone and not isinstance(objective.measure, SubsetAccuracy):
            return monotone_bounds(
                self.counts(batch), objective.measure, allowed, objective.max_head_size or len(allowed)
            )
        return None

    @staticmethod
    def _better(best: ScoredCandidate | None, other: ScoredCandidate | None) -> ScoredCandidate | None:
        if other is None:
            return best
        return other if best is None or (*other.rank, -other.index) > (*best.rank, -best.index) else best

    def _best_bounded(
        self, batch: Batch, allowed: Bools, candidates: Ints, bounds: Bounds, floor: ScoredCandidate | None
    ) -> ScoredCandidate | None:
        best: ScoredCandidate | None = None
        for index in candidates[np.argsort(-bounds.values[candidates], kind="stable")]:
            rival, bound = best or floor, bounds.values[index]
            if bound == -np.inf or (rival is not None and bound < lowered(float(rival.value))):
                break
            # a tie with a floor is lost, one within the batch goes to the first
            if rival is not None and bounds.rules_out(int(index), rival.value, rival.tp + (best is None)):
                continue
            candidate = self._search(batch, int(index), allowed)
            if candidate is not None and (floor is None or candidate.beats(floor)):
                best = self._better(best, candidate)
        return best

    def _problem(self, batch: Any, index: int, allowed: Bools) -> HeadProblem:
        """Return the head problem of a candidate."""
        return HeadProblem.from_counts(LabelCounts.of(batch.outcomes[index], self.total), self.weight, allowed)

    def ends_growth(self) -> bool:
        """Return True if no condition can make the body better whose head was searched last."""
        if self.objective.effort is not None:  # nothing is proved about a head that may not be the best
            return False
        return self._last is not None and no_condition_wins(self._last[0], self.objective, self._last[1], self.watch)

    def _search(self, batch: Any, index: int, allowed: Bools) -> ScoredCandidate | None:
        """Search the best head of a candidate."""
        problem = self._problem(batch, index, allowed)
        result = best_head(problem, self.objective, self.watch)
        if result is None:
            return None
        self._last = problem, result
        return scored_candidate(
            index, result.value, result.head, problem.counts, problem if result.strategy == "climb" else None
        )

    # -- singles ---------------------------------------------------------------------------------------------------

    @property
    def form(self) -> FastForm | None:
        """The form of the objective, where it is a ratio of what is counted."""
        if isinstance(self.objective.measure, SubsetAccuracy) and (self.total.sum(axis=1) < self.weight).any():
            return None  # an example with an unknown label may be right without a TP or TN
        return self._form

    def _literal_values(self, allowed: Bools) -> LiteralValues | None:
        """Return the values of single literals if they decide; None if the head needs a search."""
        objective, form, measure = self.objective, self.form, self.objective.measure
        if objective.scope != "head" or not objective.lift.is_none:
            return None
        one_literal = int(allowed.sum()) == 1
        if isinstance(measure, SubsetAccuracy):
            if form is None or not one_literal:
                return None
            return LiteralValues(RatioMeasure("subset", (0, 1, 0, 1, 0), (self.weight, 0, 0, 0, 0)), self.weight)
        by_label = objective.averaging == "label" and not measure.rounded
        best = one_literal or (form is not None and form.kind == "singles")
        decides = by_label or (objective.averaging == "micro" and best)
        return LiteralValues(measure, self.weight) if decides else None

    def _best_by_singles(
        self, batch: Batch, allowed: Bools, skip: Bools | None, values: LiteralValues
    ) -> ScoredCandidate | None:
        counts = self.counts(batch)
        usable = allowed[None] & (counts.tp > 0)
        if skip is not None:
            usable &= ~skip[:, None, None]
        if not usable.any():
            return None
        four = counts.literals()
        approximate = np.where(usable, values.approximate(four), -np.inf)
        near = approximate >= lowered(float(approximate.max()))
        value, tied = values.exact_maximum(four, near)
        # where both literals of a label tie, more true positives win, then the present one
        fewer = counts.tp[..., 0] <= counts.tp[..., 1]
        tied[..., 0] &= ~(tied[..., 1] & fewer)
        tied[..., 1] &= ~tied[..., 0]
        if self.objective.max_head_size is not None:
            tied = _largest_only(tied, counts.tp, self.objective.max_head_size)
        true_positives = (tied * counts.tp).sum(axis=(1, 2))
        index = int(np.argmax(np.where(tied.any(axis=(1, 2)), true_positives, -1)))
        counts = LabelCounts.of(batch.outcomes[index], self.total)
        return scored_candidate(index, value, np.argwhere(tied[index]).tolist(), counts)


def _largest_only(tied: Bools, true_positives: Ints, size: int) -> Bools:
    """Keep at most `size` literals per candidate: those with the most true positives, then the first labels."""
    weight = np.where(tied, true_positives, 0).max(axis=2)
    order = np.argsort(-weight, axis=1, kind="stable")
    largest = np.zeros(weight.shape, dtype=bool)
    np.put_along_axis(largest, order[:, :size], True, axis=1)
    return np.asarray(tied & largest[:, :, None])


def scored_candidate(
    index: int, value: Fraction, head: Iterable[Sequence[int]], counts: LabelCounts, problem: HeadProblem | None = None
) -> ScoredCandidate:
    """Return the verdict that a candidate with these counts has this head and value."""
    literals = tuple((k, v, int(counts.tp[k, v]), int(counts.fp[k, v])) for k, v in head)
    return ScoredCandidate(index, value, sum(tp for _, _, tp, _ in literals), literals, problem)


def no_condition(index: int) -> Any:
    """Stand in for the condition of a batch whose only candidate is the empty body."""
    raise IndexError("the body as it is adds no condition")
