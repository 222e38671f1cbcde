"""Which candidate of a batch is best, and with which head.

Three ways, all exact:

- *singles*: where the best head is worth as much as its best literal, all literals of all candidates are valued at
  once; doubles only pick out what could be best, integers in lowest terms decide.
- *filtered*: a vectorised upper bound in doubles (with slack) picks the few candidates that can be best; each then gets
  the exact head search.
- *general*: every candidate gets the exact head search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from polyrule.arrays import Bools, Ints
from polyrule.heads import HeadResult, LabelCounts, World, best_head
from polyrule.heads.no_condition import no_condition_wins
from polyrule.kernels.bounds import Bounds, hamming_bounds, is_example_hamming, monotone_bounds, ratio_bounds
from polyrule.kernels.cuts import Batch
from polyrule.kernels.singles import LiteralValues, lowered
from polyrule.kernels.state import TrainingState
from polyrule.measures import Objective, RatioMeasure, SubsetAccuracy
from polyrule.measures.definition import UNSET
from polyrule.model.rule import Condition


@dataclass(frozen=True, slots=True)
class Verdict:
    """The best candidate of a batch: its position, value, and head as (label, value, tp, fp).

    `world` is where the head was found if it may not be the best one there.
    """

    index: int
    value: Fraction
    tp: int
    head: tuple[tuple[int, int, int, int], ...]
    world: World | None = field(default=None, compare=False, repr=False)

    def beats(self, other: Verdict | None) -> bool:
        """Whether this is better by value, then by true positives."""
        return other is None or (self.value, self.tp) > (other.value, other.tp)


class Judge:
    """Finds the best candidate of a batch for one objective and the current training state."""

    def __init__(self, state: TrainingState, objective: Objective) -> None:
        self.state = state
        self.objective = objective
        #: called during every head search; ends it by raising
        self.watch: Callable[[], None] | None = None
        self._last: tuple[World, HeadResult] | None = None
        form = objective.fast_form(state.truth.shape[1])
        self.form = None if form is None or form.formula or form.kind == "example" else form  # for the compiled engine
        if form is not None and form.kind == "subset" and bool((state.truth > 1).any()):
            self.form = None  # an example with an unknown label may be right without a TP or TN
        self.refresh()

    def refresh(self) -> None:
        """Recompute what depends on the state; called after every commit."""
        state = self.state
        weighted = np.stack([state.truth == 0, state.truth == 1], axis=2) * state.weights[:, None, None]
        self._any_state = weighted * state.working[:, None, None]
        self._unset = self._any_state * (state.assigned == UNSET)[:, :, None]
        self.total = self._any_state.sum(axis=0)
        self._working_rows = np.flatnonzero(state.working)
        self._working_weight = state.remaining

    def counts(self, batch: Batch) -> LabelCounts:
        """Label counts of every candidate."""
        covered = batch.sums(self._any_state)
        return LabelCounts.of(batch.sums(self._unset), covered, self.total - covered)

    def best(
        self, batch: Batch, allowed: Bools, skip: Bools | None = None, floor: Verdict | None = None
    ) -> Verdict | None:
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
        best: Verdict | None = None
        for index in candidates:
            best = self._better(best, self._search(batch, int(index), allowed))
        return best

    def _bounds(self, batch: Batch, allowed: Bools) -> Bounds | None:
        """Bound the value of any head, per candidate; None where nothing is known."""
        if self.form is not None:
            return Bounds(ratio_bounds(self.counts(batch), self._working_weight, self.form, allowed))
        if is_example_hamming(self.objective):
            open_rows = (self._unset.any(axis=2) & allowed.any(axis=1)).any(axis=1)
            weight = batch.sums(open_rows * self.state.weights)
            return hamming_bounds(self.counts(batch), weight, self._working_weight, allowed)
        objective = self.objective
        plain = objective.averaging == "micro" and objective.scope == "head" and objective.lift.is_none
        if plain and objective.measure.monotone and not isinstance(objective.measure, SubsetAccuracy):
            return monotone_bounds(
                self.counts(batch), objective.measure, allowed, objective.max_head_size or len(allowed)
            )
        return None

    @staticmethod
    def _better(best: Verdict | None, found: Verdict | None) -> Verdict | None:
        if found is None:
            return best
        if best is None or (found.value, found.tp, -found.index) > (best.value, best.tp, -best.index):
            return found
        return best

    def _best_bounded(
        self, batch: Batch, allowed: Bools, candidates: Ints, bounds: Bounds, floor: Verdict | None
    ) -> Verdict | None:
        best: Verdict | None = None
        for index in candidates[np.argsort(-bounds.values[candidates], kind="stable")]:
            rival, bound = best or floor, bounds.values[index]
            if bound == -np.inf or (rival is not None and bound < lowered(float(rival.value))):
                break
            # a tie with a floor is lost, one within the batch goes to the first
            if rival is not None and bounds.rules_out(int(index), rival.value, rival.tp + (best is None)):
                continue
            found = self._search(batch, int(index), allowed)
            if found is not None and (floor is None or found.beats(floor)):
                best = self._better(best, found)
        return best

    def _world(self, batch: Batch, index: int, allowed: Bools) -> World:
        rows = self._working_rows
        covered = np.zeros(len(self.state.truth), dtype=bool)
        covered[batch.covered(index)] = True
        return World(
            self.state.truth[rows], covered[rows], self.state.assigned[rows], self.state.weights[rows], allowed
        )

    def ends_growth(self) -> bool:
        """Whether no condition can make the body better whose head was searched last."""
        if self.objective.effort is not None:  # nothing is proved about a head that may not be the best
            return False
        return self._last is not None and no_condition_wins(self._last[0], self.objective, self._last[1], self.watch)

    def _search(self, batch: Batch, index: int, allowed: Bools) -> Verdict | None:
        world = self._world(batch, index, allowed)
        found = best_head(world, self.objective, self.watch)
        if found is None:
            return None
        self._last = world, found
        head = tuple(
            (label, value, int(tp), int(fp)) for (label, value), (tp, fp) in zip(found.head, found.counts, strict=True)
        )
        return Verdict(index, found.value, found.tp, head, world if found.strategy == "climb" else None)

    # -- singles ---------------------------------------------------------------------------------------------------

    def _literal_values(self, allowed: Bools) -> LiteralValues | None:
        """How to value single literals, where that decides; None where the head needs a search of its own."""
        objective, form = self.objective, self.form
        if objective.scope != "head" or not objective.lift.is_none:
            return None
        one_literal = int(allowed.sum()) == 1
        if form is None:
            measure = objective.measure
            if isinstance(measure, SubsetAccuracy):
                return None
            by_label = objective.averaging == "label" and not measure.rounded
            alone = objective.averaging == "micro" and one_literal
            return LiteralValues(measure, self._working_weight) if by_label or alone else None
        if form.kind == "singles" or (form.kind == "ratio" and one_literal):
            return LiteralValues(objective.measure, self._working_weight)
        if form.kind == "subset" and one_literal:
            share = RatioMeasure("subset", (0, 1, 0, 1, 0), (self._working_weight, 0, 0, 0, 0))
            return LiteralValues(share, self._working_weight)
        return None

    def _best_by_singles(
        self, batch: Batch, allowed: Bools, skip: Bools | None, values: LiteralValues
    ) -> Verdict | None:
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
        head = tuple(
            (int(label), int(sign), int(counts.tp[index, label, sign]), int(counts.tp[index, label, 1 - sign]))
            for label, sign in zip(*np.nonzero(tied[index]), strict=True)
        )
        return Verdict(index, value, int(true_positives[index]), head)


def _largest_only(tied: Bools, true_positives: Ints, size: int) -> Bools:
    """Keep at most `size` literals per candidate: those with the most true positives, then the first labels."""
    weight = np.where(tied, true_positives, 0).max(axis=2)
    order = np.argsort(-weight, axis=1, kind="stable")
    kept = np.zeros(weight.shape, dtype=bool)
    np.put_along_axis(kept, order[:, :size], True, axis=1)
    return np.asarray(tied & kept[:, :, None])


def whole(rows: Ints) -> Batch:
    """Return a batch with one candidate that covers all of `rows`: the body as it is."""

    def no_condition(index: int) -> Condition:
        raise IndexError("the body as it is adds no condition")

    return Batch(rows, np.array([0]), np.array([len(rows)]), no_condition)
