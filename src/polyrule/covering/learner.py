"""Separate-and-conquer: grow a rule, set its labels, shrink the working set, repeat.

On top of it the paper's three learners: several labels per head, one label per head, one list per label.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import starmap
from math import floor
from typing import Any
from typing import Literal as Choice

import numpy as np
import numpy.typing as npt

from polyrule.covering.progress import Callback, Progress, wants_within
from polyrule.data.examples import unscaled
from polyrule.data.labels import UNKNOWN, dense_labels
from polyrule.data.table import Table
from polyrule.errors import MeasureWarning
from polyrule.heads.search import check_search
from polyrule.measures import Objective
from polyrule.measures.ratio import exact_number
from polyrule.model.rule import Literal, Rule
from polyrule.model.rule_list import RuleList
from polyrule.search.counted.counting import Counting, counted_engine, one_label, present_weight
from polyrule.search.forecast import warn_about_time
from polyrule.search.native import make_engine
from polyrule.search.protocol import Candidate, Engine, GrowOptions, Outcome, OutOfTime
from polyrule.store import Packed
from polyrule.store.packed_table import PackedTable
from polyrule.utils.arrays import Ints
from polyrule.utils.compute import ONE_THREAD, Compute
from polyrule.utils.messages import depth_of_caller

logger = logging.getLogger(__name__)

Reason = Choice["complete", "max_rules", "time_limit", "callback", "interrupted"]


@dataclass(frozen=True, slots=True)
class SeparateOptions:
    """Stops of rules, examples that stay, and ends of learning.

    Parameters
    ----------
    remaining : float
        CoveringLoop ends when the working set holds no more than this share of the training weight.
    stop_threshold : float or None
        A rule gets a stop when at most this share of what it covers still has an unset label. None: no stops.
    keep_covered : bool
        Whether examples covered by a rule without a stop all stay, or only those with an unset label.
    max_rules : int or None
        Longest list.
    time_limit : float or None
        Seconds after which learning ends with the list so far, and the rule in progress as far as it has come.
    all_stay : bool
        No stops, and every example stays, so that no body depends on the rules before it.
    """

    remaining: float = 0.1
    stop_threshold: float | None = 0.01
    keep_covered: bool = True
    max_rules: int | None = None
    time_limit: float | None = None
    all_stay: bool = False


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """Time limit of a fit, and its start on the monotonic clock."""

    limit: float | None = None
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def deadline(self) -> float | None:
        """End of the time, on the monotonic clock."""
        return None if self.limit is None else self.started + self.limit


class _Ended(Exception):
    """The callback ends learning while a rule is searched."""


class CoveringLoop:
    """Loop that learns one rule after another; `rules` and `reason` are valid at every moment."""

    def __init__(
        self,
        options: SeparateOptions,
        scale: Fraction = Fraction(1),
        callback: Callback | None = None,
        labels: int = 1,
        budget: TimeBudget | None = None,
    ) -> None:
        self.options = options
        self.scale = scale
        self.callback = callback
        self.rules: list[Rule] = []
        self.reason: Reason = "complete"
        self.budget = TimeBudget(options.time_limit) if budget is None else budget
        self.labels = labels
        #: weight of the label decisions that the present engine's rules have made
        self.decided = 0
        #: where an engine learns one label (binary relevance): which one it is in the list, and which value its 1 means
        self.target: tuple[int, int] | None = None

    def run(self, engine: Engine, grow: Callable[[], Candidate | None], total: int) -> None:
        """Learn rules with `engine` until an end is reached; an interrupt is noted in `reason`, not raised."""
        engine.deadline = self.budget.deadline
        self.decided = 0
        if wants_within(self.callback):
            engine.report = lambda bodies, best: self._report(engine, total, bodies, best)
        try:
            for rule in self._steps(engine, grow, total):
                self.rules.append(rule)
                if self._must_end(engine, total):
                    break
        except OutOfTime as late:
            self.reason = "time_limit"
            self._keep_unfinished(engine, late.best)
        except _Ended:
            self.reason = "callback"
        except KeyboardInterrupt:
            self.reason = "interrupted"
        logger.info("%d rules in %.3f s (%s)", len(self.rules), self.budget.elapsed, self.reason)

    def _steps(self, engine: Engine, grow: Callable[[], Candidate | None], total: int) -> Iterator[Rule]:
        end_weight = floor(exact_number(self.options.remaining) * total)  # what remains is a whole number, too
        while engine.remaining > end_weight and engine.has_unset:
            candidate = grow()
            if candidate is None:
                return
            yield self._stored(candidate, self._commit(engine, candidate))

    def _commit(self, engine: Engine, candidate: Candidate) -> Outcome:
        # Open examples are never so few as a negative share, so none of the covered ones leaves.
        threshold, keep = (
            (-1.0, True) if self.options.all_stay else (self.options.stop_threshold, self.options.keep_covered)
        )
        outcome = engine.commit(candidate, threshold, keep)
        self.decided += outcome.newly_set
        return outcome

    def _keep_unfinished(self, engine: Engine, candidate: Candidate | None) -> None:
        """Take the rule that was being grown when the time was over, if it has conditions."""
        if candidate is not None and candidate.body and self.target is None and not self.options.all_stay:
            self.rules.append(replace(self._stored(candidate, self._commit(engine, candidate)), unfinished=True))

    def _stored(self, candidate: Candidate, outcome: Outcome) -> Rule:
        """Turn a search result into a stored rule, its counts back in the units of the sample weights."""
        scale = self.scale
        counts: Iterable[tuple[int, int, float, float]] = candidate.head
        if scale != 1:
            counts = [
                (label, value, unscaled(tp, scale), unscaled(fp, scale)) for label, value, tp, fp in candidate.head
            ]
        if self.target is not None:
            counts = [(*self.target, tp, fp) for _, _, tp, fp in counts]
        head = tuple(starmap(Literal, counts))
        coverage = unscaled(outcome.covered, self.scale)
        return Rule(head, candidate.body, outcome.stopped, candidate.value, "learned", coverage, bound=candidate.bound)

    def _done(self, total: int) -> float:
        """Share of all label decisions made; where each label has an engine of its own, those before it count whole."""
        if self.target is None:
            return self.decided / (total * self.labels)
        return (self.target[0] + self.decided / total) / self.labels

    def _notify(self, engine: Engine, total: int, *rule: Any) -> bool:
        """Tell the callback about a rule that is learned or searched; whether it wants no more."""
        if self.callback is None:
            return False
        remaining, done = engine.remaining / total, self._done(total)
        return self.callback(Progress(len(self.rules), remaining, done, self.budget.elapsed, *rule)) is True

    def _report(self, engine: Engine, total: int, bodies: int, best: float | None) -> None:
        """Tell the callback about the rule that is being searched."""
        if self._notify(engine, total, None, bodies, best):
            raise _Ended

    def _must_end(self, engine: Engine, total: int) -> bool:
        if self._notify(engine, total, self.rules[-1]):
            self.reason = "callback"
            return True
        if self.options.max_rules is not None and len(self.rules) >= self.options.max_rules:
            self.reason = "max_rules"
            return True
        if self.budget.limit is not None and self.budget.elapsed > self.budget.limit:
            self.reason = "time_limit"
            return True
        return False


@dataclass(frozen=True, eq=False)
class Training:
    """Examples that a list is learned from.

    Parameters
    ----------
    table : Table or Packed
        Packed data takes the place of table and labels.
    truth : ndarray of uint8 or sparse matrix, shape (examples, labels); None for packed data
    weights : ndarray of int64
        Of packed data, the total weight.
    label_names : tuple of str
    scale : Fraction
        The weight that one unit of `weights` stands for.
    """

    table: Table | Packed
    truth: Any
    weights: Ints
    label_names: tuple[str, ...]
    scale: Fraction


_QUICKER_SORTED = 1 << 16  # examples; of more, counting their bins is quicker than sorting their values


@dataclass(frozen=True, eq=False)
class Learner:
    """Learner without the data.

    Parameters
    ----------
    objective : Objective
        Objective of a head.
    growing : GrowOptions
        Options of growing one rule.
    separating : SeparateOptions
        Options of building the list.
    compute : Compute
        Threads and engine.
    counting : Counting
        Options of counting packed data.
    """

    objective: Objective
    growing: GrowOptions = field(default_factory=GrowOptions)
    separating: SeparateOptions = field(default_factory=SeparateOptions)
    compute: Compute = ONE_THREAD
    counting: Counting = field(default_factory=Counting)

    def rule_list(
        self, examples: Training, heads: str = "multi", callback: Callback | None = None
    ) -> tuple[RuleList, Reason]:
        """Learn one list for all labels, with heads of several labels (`multi`) or of one (`single`)."""
        learning = CoveringLoop(self.separating, examples.scale, callback, len(examples.label_names))
        unset = self.grow(learning, examples, heads)
        return self.model_of(learning, examples, unset), learning.reason

    def grow(
        self,
        learning: CoveringLoop,
        examples: Training,
        heads: str,
        begin: Callable[[Engine], None] | None = None,
    ) -> list[tuple[float, float]]:
        """Grow rules for some labels; return per label the weight of the examples on which nobody has set it.

        An engine may `begin` in a state that earlier rules have left.
        """
        several = len(examples.label_names) > 1
        if several:
            check_search(self.objective)  # an engine with a faster exact form would never run the search asked for
        engine = self.engine(examples)
        if begin is not None:
            begin(engine)
        if learning.reason == "complete":
            if engine.name == "reference" and several and isinstance(examples.table, Table):
                warn_about_time(self.objective, examples.table, examples.truth, examples.weights)
            learning.run(engine, engine.grow if heads == "multi" else engine.grow_single, int(examples.weights.sum()))
        return [_pair(row, learning.scale) for row in engine.leftover()]

    def model_of(
        self,
        learning: CoveringLoop,
        examples: Training,
        unset: Sequence[tuple[float, float]],
        start_rules: tuple[Rule, ...] = (),
    ) -> RuleList:
        """Return what was learned as a list, behind the rules that were there before."""
        rules, full = (*start_rules, *learning.rules), self.objective.scope == "full"
        model = RuleList(rules, examples.table.features, examples.label_names, default_counts=tuple(unset), full=full)
        warn_about_rules(self.objective, learning.rules)
        note_proof(model, self.objective)
        return model

    def binary_relevance(self, examples: Training, callback: Callback | None = None) -> tuple[RuleList, Reason]:
        """Learn an independent list per label and join them.

        Each list predicts the rarer value of its label, from features only, until no rule with more true than false
        positives is found; its default is the majority of the examples no rule covers. All counts are those of the
        binary problem whose positive class is the predicted value: where that is "absent", the engine learns the
        label's opposite.
        """
        learning = CoveringLoop(self.separating, examples.scale, callback, len(examples.label_names))
        defaults: list[int] = []
        counts: list[tuple[float, float]] = []
        for label in range(len(examples.label_names)):
            present, absent = _label_weights(examples, label)
            rarer = 1 if present <= absent else 0
            if learning.reason == "complete":
                engine = self.engine(_one_label(examples, label, rarer), replace(self.growing, label_conditions=False))
                learning.target = label, rarer
                learning.run(engine, _improving(engine), int(examples.weights.sum()))
                unset = engine.leftover()[0] if rarer else engine.leftover()[0][::-1]
            else:
                unset = np.array([present, absent])
            defaults.append(int(unset[0] > unset[1]) if unset.any() else 1 - rarer)
            counts.append(_pair(unset, examples.scale))
        rules, names = tuple(learning.rules), examples.label_names
        model = RuleList(rules, examples.table.features, names, tuple(defaults), tuple(counts))
        return model, learning.reason

    def engine(self, examples: Training, growing: GrowOptions | None = None, like: Engine | None = None) -> Engine:
        """Return the engine that grows rules for this data; one for the same table may lend its columns (`like`).

        It counts in units of `scale` examples; whatever speaks of a number of examples is brought to these units here.
        """
        objective, options = self.objective.in_units(examples.scale), (growing or self.growing).in_units(examples.scale)
        table, truth, weights = examples.table, examples.truth, examples.weights
        if isinstance(table, PackedTable):
            few = len(table) <= _QUICKER_SORTED and self.counting.device == "cpu"
            table = table.decoded() if few else table.packed(truth, weights)
        if isinstance(table, Packed):
            return counted_engine(table, objective, options, self.counting, self.compute)
        return make_engine(table, truth, weights, objective, options, self.compute, like)


_MOSTLY = 0.6  # share of rules without a condition from which the measure is to blame


def warn_about_rules(objective: Objective, rules: Sequence[Rule]) -> None:
    """Warn if most rules have no condition, so that the list predicts nearly the same for every example."""
    bare = sum(not rule.body for rule in rules)
    if len(rules) < 2 or bare < _MOSTLY * len(rules):
        return
    often, same = ("every time", "the same") if bare == len(rules) else ("most of the time", "nearly the same")
    warnings.warn(
        f"measure {objective.measure.name!r}: 'label <- true' won {often}, so the list predicts {same} for every "
        "example; a measure that punishes false positives more, such as f0.5, gives rules with conditions",
        MeasureWarning,
        stacklevel=depth_of_caller(),
    )


def note_proof(model: RuleList, objective: Objective) -> None:
    """Store the proof about the measure that the head searches relied on, if there is one."""
    proof = objective.proof()
    if proof is not None:
        model.info["measure_proof"] = proof


def _label_weights(examples: Training, label: int) -> tuple[int, int]:
    """Return the weight of the examples that have a label, and of those that lack it."""
    if isinstance(examples.table, Packed):
        present = present_weight(examples.table, label)
        return present, int(examples.weights.sum()) - present
    column = dense_labels(examples.truth[:, [label]])[:, 0]
    return int(examples.weights[column == 1].sum()), int(examples.weights[column == 0].sum())


def _one_label(examples: Training, label: int, rarer: int) -> Training:
    """Return the data with the one column to learn, in which 1 is the rarer value of a label."""
    if isinstance(examples.table, Packed):
        return replace(examples, table=one_label(examples.table, label, rarer))
    column = dense_labels(examples.truth[:, [label]])
    return replace(examples, truth=column if rarer else np.where(column < UNKNOWN, 1 - column, column))


def _improving(engine: Engine) -> Callable[[], Candidate | None]:
    def grow() -> Candidate | None:
        candidate = engine.grow(0, 1)
        return (
            candidate
            if candidate is not None and candidate.tp > sum(literal[3] for literal in candidate.head)
            else None
        )

    return grow


def _pair(row: npt.NDArray[np.int64], scale: Fraction) -> tuple[float, float]:
    return unscaled(int(row[0]), scale), unscaled(int(row[1]), scale)
