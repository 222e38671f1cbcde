"""A list counted again rule by rule, without the engines that learned it.

For every rule the replay has the state of training in which it was grown: which examples were in the working set, which
labels were set. Nothing is shared with the engines but the definition of a head's value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from polyrule.conditions import label_conditions
from polyrule.conditions.evaluate import evaluate as evaluate_condition
from polyrule.data.dataset import Dataset
from polyrule.data.examples import examples_of, fingerprint, unscaled
from polyrule.data.labels import dense_labels
from polyrule.data.preparation import as_fitted
from polyrule.data.table import Table
from polyrule.errors import ModelError
from polyrule.estimators.from_model import current_options
from polyrule.estimators.options import check_parameters
from polyrule.heads.bounding import bound_heads
from polyrule.heads.certificate_check import verify_certificate
from polyrule.heads.problem import HeadProblem, evaluate
from polyrule.heads.search import best_head
from polyrule.measures.objective import Objective
from polyrule.measures.ratio import exact_number
from polyrule.model.counting import list_counts, with_counts
from polyrule.model.files import learning_options
from polyrule.model.packed import check_table
from polyrule.model.predict import predict
from polyrule.model.printing import format_literal, is_counted
from polyrule.model.rule import Literal, Rule
from polyrule.model.rule_list import RuleList
from polyrule.model.staleness import OUTDATED_DEFAULTS
from polyrule.utils.arrays import Bools, Bytes, Ints
from polyrule.verification.result import Finding

BINARY_RELEVANCE = "BinaryRelevanceRuleClassifier"
_NEEDED = {
    "RuleListClassifier": ("measure", "optimize", "max_head_size"),
    "SeCoClassifier": (
        *("measure", "averaging", "scope", "negative", "heads", "max_head_size", "lift", "search"),
        *("stop_threshold", "keep_covered"),
    ),
    BINARY_RELEVANCE: ("measure",),
}


@dataclass(frozen=True)
class Subproblem:
    """Labels that one list is learned for: all, or one of binary relevance, inverted if its absence is rarer.

    Parameters
    ----------
    truth : ndarray of uint8
    first_label : int
        Number of the first of these labels in the model.
    inverted : bool
    """

    truth: Bytes
    first_label: int = 0
    inverted: bool = False

    def local(self, literal: Literal) -> tuple[int, int]:
        """Return label and value of a literal in this problem."""
        return literal.label - self.first_label, literal.value ^ self.inverted

    def in_model(self, label: int, value: int) -> Literal:
        """Return the literal of the model for a label and value of this problem."""
        return Literal(label + self.first_label, value ^ self.inverted)


@dataclass(frozen=True)
class ReplayedRule:
    """One rule in the state of training in which it was grown."""

    number: int
    rule: Rule
    world: HeadProblem
    objective: Objective
    scale: Fraction
    problem: Subproblem
    stopped: bool
    label_names: tuple[str, ...]

    @property
    def local_head(self) -> tuple[tuple[int, int], ...]:
        """Labels and values of the head in the rule's own problem."""
        return tuple(map(self.problem.local, self.rule.head))

    def compare_counts(self) -> Iterator[Finding]:
        """Compare the counts and the coverage of the rule."""
        counts, scale = self.world.counts, self.scale
        head = tuple(
            replace(literal, tp=unscaled(int(counts.tp[cell]), scale), fp=unscaled(int(counts.fp[cell]), scale))
            for literal, cell in zip(self.rule.head, self.local_head, strict=True)
        )
        coverage = unscaled(int(self.world.weights[self.world.covered].sum()), scale)
        counted = replace(self.rule, head=head, coverage=coverage)
        yield from compare_counts(self.number, self.rule, counted, self.label_names)

    def compare_value(self) -> Iterator[Finding]:
        """Compare the measure's value and the stop."""
        if self.rule.value is not None:
            value = evaluate(self.world, self.objective, self.local_head)
            if value != self.rule.value:
                yield self._finding("the value", self.rule.value, value)
        if self.rule.stop != self.stopped and self.rule.origin == "learned":
            yield self._finding("the stop", self.rule.stop, self.stopped)

    def search_again(self) -> Iterator[Finding]:
        """Search the best head of the body again."""
        if self.rule.unfinished and self.rule.bound is not None:
            return  # the head was the best that was found in time
        best = best_head(self.world, self.objective)
        if best is None or best.head != self.local_head:
            found = "none" if best is None else f"{self._head_words(best.head)} with value {best.value}"
            yield self._finding("the best head", self._head_words(self.local_head), found)

    def compare_bound(self) -> Iterator[Finding]:
        """Prove again how far the head may be from the best one."""
        objective, value = self.objective, self.rule.value
        if value is None or (objective.effort is None and not self.rule.unfinished):
            bound = None
        else:
            bound = bound_heads(self.world, replace(objective, effort=objective.effort or 1), value)
        if self.rule.bound != bound and not (self.rule.unfinished and self.rule.bound is None):
            yield self._finding("the bound on other heads", self.rule.bound, bound)

    def check_certificate(self) -> Iterator[Finding]:
        """Check the stored proof that no other head is better."""
        for problem in verify_certificate(self.world, self.objective, self.local_head, self.rule.certificate or {}):
            yield self._finding("the proof of the head", "valid", f"wrong, because {problem}")

    def _head_words(self, head: Iterable[tuple[int, int]]) -> str:
        return ", ".join(format_literal(self.problem.in_model(*literal), self.label_names) for literal in head)

    def _finding(self, what: str, stated: object, found: object) -> Finding:
        return Finding(self.number, what, str(stated), str(found))


@dataclass
class ListReplay:
    """Data and options of a list that is counted again.

    `unset` has, once the rules are replayed, the present and absent weight of each label that no rule set.
    """

    table: Table
    truth: Bytes
    weights: Ints
    scale: Fraction
    fingerprint: str
    learner: str
    options: dict[str, Any]
    label_names: tuple[str, ...]
    counted_on: str  # name of the other data that the counts are from; empty if they are from this one
    unset: dict[int, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: RuleList, data: Dataset) -> ListReplay:
        """Read the options of a list, and its examples as learning has them."""
        earlier_name = model.info.get("learner")
        if not isinstance(earlier_name, str) or earlier_name not in _NEEDED:
            raise ModelError("the model does not say how it was learned, so it cannot be checked against data")
        learner, options = current_options(earlier_name, learning_options(model.info))
        for name in _NEEDED[learner]:
            if name not in options:
                raise ModelError(f"the model does not say with which {name} it was learned, so it cannot be checked")
        check_parameters({name: options[name] for name in ("negative", "keep_covered") if name in options})
        if learner == BINARY_RELEVANCE and model.info.keys() & {"pruning", "grown"}:
            raise ModelError("the model states that binary relevance selected its rules, which it does not")
        raw, truth, weights, scale = examples_of(data)
        table = as_fitted(raw, model.features)
        check_table(model, table)
        counted_on = model.info.get("recounted", data.name)
        elsewhere = "" if counted_on == data.name else str(counted_on)
        digest = fingerprint(raw, truth, weights)
        return cls(table, dense_labels(truth), weights, scale, digest, learner, options, model.label_names, elsewhere)

    @property
    def searches_heads(self) -> bool:
        """True if the best head was searched for every body."""
        return self.learner == "SeCoClassifier" and self.options.get("heads") == "multi"

    @property
    def objective(self) -> Objective:
        """Objective by which heads are judged."""
        if self.learner == BINARY_RELEVANCE:
            return Objective(self.options["measure"])
        names = ("measure", "averaging", "scope", "lift", "search", "negative", "max_head_size", "effort")
        settings = {name: self.options[name] for name in names if name in self.options}
        if self.options.get("heads") == "single":
            settings["max_head_size"] = 1
        return Objective(**settings)

    def steps(self, model: RuleList) -> Iterator[ReplayedRule]:
        """Replay the rules in the order of training."""
        numbered = list(enumerate(model.rules))
        if self.learner != BINARY_RELEVANCE:
            ends = self.options.get("stop_threshold"), self.options.get("keep_covered", True)
            yield from self._steps(numbered, Subproblem(self.truth), *ends)
            return
        for label in range(self.truth.shape[1]):
            rules_of_label = [(number, rule) for number, rule in numbered if rule.head[0].label == label]
            if any(len(rule.head) > 1 for _, rule in rules_of_label):
                raise ModelError("a rule of binary relevance has one label in its head")
            column = self.truth[:, [label]]
            present, absent = (int(self.weights[column[:, 0] == truth].sum()) for truth in (1, 0))
            inverted = present > absent
            opposite = np.where(column < 2, 1 - column, column)
            problem = Subproblem(opposite if inverted else column, label, inverted)
            yield from self._steps(rules_of_label, problem, None, False)

    def _steps(
        self, numbered: list[tuple[int, Rule]], problem: Subproblem, threshold: float | None, keep: bool
    ) -> Iterator[ReplayedRule]:
        objective, truth = self.objective.in_units(self.scale), problem.truth
        assigned = np.full(truth.shape, -1, dtype=np.int8)
        working = np.ones(len(truth), dtype=bool)
        for number, rule in numbered:
            covered = working & self._cover(rule, assigned)
            world = self._world(rule, truth, assigned, covered, working, objective)
            for label, value in map(problem.local, rule.head):
                column = assigned[:, label]
                column[covered & (column < 0)] = value
            if objective.scope == "full":
                assigned[covered[:, None] & (assigned < 0)] = 0
            unset = (assigned < 0) & (truth < 2) & (objective.negative | (truth == 1))
            open_rows = covered & unset.any(axis=1)
            share = Fraction(int(self.weights[open_rows].sum()), max(1, int(self.weights[covered].sum())))
            stopped = threshold is not None and share <= exact_number(threshold)
            if rule.stop if rule.origin != "learned" else stopped:
                working &= ~covered
            elif threshold is None or not keep:
                working &= ~covered | open_rows
            yield ReplayedRule(number, rule, world, objective, self.scale, problem, stopped, self.label_names)
        for label in range(truth.shape[1]):
            unset_rows = assigned[:, label] < 0
            sums = [int(self.weights[unset_rows & (truth[:, label] == v ^ problem.inverted)].sum()) for v in (1, 0)]
            self.unset[problem.first_label + label] = unscaled(sums[0], self.scale), unscaled(sums[1], self.scale)

    def _cover(self, rule: Rule, assigned: Any) -> Bools:
        covered = np.ones(len(self.truth), dtype=bool)
        for condition in rule.body:
            covered &= evaluate_condition(condition, self.table, assigned)
        return covered

    def _world(
        self, rule: Rule, truth: Bytes, assigned: Any, covered: Bools, working: Bools, objective: Objective
    ) -> HeadProblem:
        allowed = np.ones((truth.shape[1], 2), dtype=bool)
        allowed[:, 0] = objective.negative
        for condition in label_conditions(rule.body):
            allowed[condition.label] = False
        rows = np.flatnonzero(working)
        return HeadProblem(truth[rows], covered[rows], assigned[rows].copy(), self.weights[rows], allowed)

    def compare_run(self, model: RuleList, after: int = 0) -> Iterator[Finding]:
        """Compare all counts from rule `after` on with those of the list as it predicts."""
        if self.counted_on:
            return
        counts = list_counts(model, self.table, self.truth, self.weights)
        counted = with_counts(model, counts, partial(unscaled, scale=self.scale))
        for number, rule in list(enumerate(model.rules))[after:]:
            if not rule.stale:
                yield from compare_counts(number, rule, counted.rules[number], self.label_names)
        if OUTDATED_DEFAULTS not in model.info:
            yield from self.compare_default_counts(model, counted.default_counts)

    def compare_alone(self, model: RuleList, after: int = 0) -> Iterator[Finding]:
        """Compare the counts of each rule from `after` on that do not depend on other rules."""
        required = bool(model.info.keys() & {"pruning", "recounted"})
        assigned = np.full(self.truth.shape, -1, dtype=np.int8)
        running = np.ones(len(self.truth), dtype=np.bool_)
        for number, rule in enumerate(model.rules):
            cover = self._cover(rule, assigned)
            for literal in rule.head if number >= after else ():
                yield from self._compare_alone(number, rule, literal, cover, required)
            labels = list(range(len(self.label_names))) if model.full else [literal.label for literal in rule.head]
            values = {literal.label: literal.value for literal in rule.head}
            newly = (running & cover)[:, None] & (assigned[:, labels] < 0)
            head_values = np.array([values.get(label, 0) for label in labels], dtype=np.int8)
            assigned[:, labels] = np.where(newly, head_values, assigned[:, labels])
            if rule.stop:
                running &= ~newly.any(axis=1)

    def _compare_alone(
        self, number: int, rule: Rule, literal: Literal, cover: Bools, required: bool
    ) -> Iterator[Finding]:
        column = self.truth[:, literal.label]
        labeled = cover & (column < 2)
        right = int(self.weights[labeled & (column == literal.value)].sum())
        counts = unscaled(right, self.scale), unscaled(int(self.weights[labeled].sum()) - right, self.scale)
        if literal.alone is None:
            unknown = rule.stale and any(label_conditions(rule.body))  # since an edit
            missing = required and rule.coverage is not None and not unknown
            agrees = not missing
        else:
            agrees = all(map(is_count, literal.alone, counts))
        if not agrees:
            what = f"what it does alone for label {self.label_names[literal.label]!r}"
            yield Finding(number, what, str(literal.alone), str(counts))

    def default_counts(self, model: RuleList) -> list[tuple[float, float]]:
        """Return the weights of the labels that no rule sets as the list predicts; of binary relevance, in training."""
        if self.learner == BINARY_RELEVANCE:
            return [self.unset[label] for label in range(len(model.label_names))]
        setter = predict(model, self.table).setter
        sums = [
            [int(self.weights[(setter[:, label] < 0) & (self.truth[:, label] == value)].sum()) for value in (1, 0)]
            for label in range(len(model.label_names))
        ]
        return [(unscaled(present, self.scale), unscaled(absent, self.scale)) for present, absent in sums]

    def compare_default_counts(self, model: RuleList, counts: Sequence[tuple[float, float]]) -> Iterator[Finding]:
        """Compare the weights of the labels that no rule sets."""
        for name, count, pair in zip(self.label_names, model.default_counts, counts, strict=True):
            if not all(map(is_count, count, pair)):
                yield Finding(None, f"the unset weight of label {name!r}", str(count), str(pair))

    def compare_defaults(self, model: RuleList) -> Iterator[Finding]:
        """Compare the values of labels that no rule sets, and whether a rule sets all labels."""
        for label, default in enumerate(model.defaults):
            majority = self._majority(label) if self.learner == BINARY_RELEVANCE else 0
            if default != majority:
                yield Finding(None, f"the default of label {self.label_names[label]!r}", str(default), str(majority))
        full = self.options.get("scope") == "full"
        if model.full != full:
            yield Finding(None, "whether rules set all labels (full)", str(model.full), str(full))

    def _majority(self, label: int) -> int:
        """Return the commoner value of a label on the examples that no rule covers, or on all if there are none."""
        column = self.truth[:, label]
        present, absent = self.unset[label]
        if not present and not absent:
            present, absent = (int(self.weights[column == value].sum()) for value in (1, 0))
        return int(present > absent)


def compare_counts(number: int, rule: Rule, counted: Rule, label_names: Sequence[str]) -> Iterator[Finding]:
    """Compare the counts and the coverage of a rule with the right ones; a rule that is not counted has none."""
    if not is_counted(rule):
        return
    for stated_literal, right_literal in zip(rule.head, counted.head, strict=True):
        for count in ("tp", "fp"):
            stated, right = getattr(stated_literal, count), getattr(right_literal, count)
            if not is_count(stated, right):
                what = f"{count.upper()} of label {label_names[stated_literal.label]!r}"
                yield Finding(number, what, str(stated), str(right))
    if rule.coverage is None and rule.origin != "learned":
        return  # made by hand, and not counted
    if rule.coverage is None or (counted.coverage is not None and not is_count(rule.coverage, counted.coverage)):
        yield Finding(number, "the coverage", str(rule.coverage), str(counted.coverage))


def is_count(stated: float, right: float) -> bool:
    """Return True if a stated count is the right one, or the double next to it."""
    return stated in (right, float(right))
