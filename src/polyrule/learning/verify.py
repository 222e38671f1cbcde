"""Checking a model against the data it was learned from, rule by rule, without the engine that learned it.

The list is replayed: for every rule, which examples of the working set it covers, how often each label of its head is
right, the measure's exact value, whether no other head is better for its body, whether it stops, and which examples
stay. Nothing here is shared with the engines but the definition of a head's value. What a replay cannot show, that
these are the rules to find and that they are all, learning the list anew does (`relearn`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.data.dataset import Dataset
from polyrule.data.examples import examples_of, fingerprint, is_of_examples, unscaled
from polyrule.data.labels import dense_labels
from polyrule.data.table import Table
from polyrule.errors import ModelError
from polyrule.heads.bounding import bound_heads
from polyrule.heads.certificate import certify as certify_head
from polyrule.heads.certificate_check import verify_certificate
from polyrule.heads.search import best_head
from polyrule.heads.world import World, evaluate
from polyrule.learning.relearn import (
    DATA,
    Finding,
    Verification,
    compare_counts,
    is_count,
    kept_rules,
    list_statements,
    relearn,
)
from polyrule.learning.verify_pruned import Earnings
from polyrule.measures.objective import Objective
from polyrule.measures.proofs import recheck
from polyrule.measures.proofs.smt import load as load_z3
from polyrule.measures.ratio import exact_number
from polyrule.model.bodies import check_table
from polyrule.model.conditions import holds
from polyrule.model.counting import list_counts, with_counts
from polyrule.model.files import learning_options
from polyrule.model.printing import format_literal
from polyrule.model.rule import LabelCondition, Literal, Rule
from polyrule.model.rule_list import RuleList

_NEEDED = {
    "RuleListClassifier": (
        *("measure", "averaging", "scope", "negative", "heads", "max_head_size", "lift", "search"),
        *("stop_threshold", "keep_covered"),
    ),
    "BinaryRelevanceRuleClassifier": ("measure",),
}


def verify(model: RuleList, data: Dataset, *, learn: bool = True) -> Verification:
    """Replay a model on its training data, learn it anew, and compare everything it states.

    Parameters
    ----------
    model : RuleList
        As an estimator of polyrule learned it; it says with which options.
    data : Dataset
        The training data.
    learn : bool
        Whether the list is learned anew with the options it states, which takes as long as learning did. Without that
        each rule is shown to be true, but not that learning finds these rules and no others.

    Examples
    --------
    >>> from polyrule import RuleListClassifier, datasets
    >>> data = datasets.load("emotions", part="train")
    >>> print(verify(RuleListClassifier.paper(max_rules=2).fit(data).model_, data))
    2 rules replayed, 0 proofs checked, 2 heads searched anew, learned anew: everything is as the model says
    """
    training = _Training.of(model, data)
    if is_of_examples(model.info.get("data_fingerprint")) and training.fingerprint != model.info["data_fingerprint"]:
        stated = _data_words(model.info.get("examples"), model.info.get("data_fingerprint"))
        found = _data_words(len(training.table), training.fingerprint)
        return Verification(0, 0, 0, (Finding(None, DATA, stated, found),))
    checked = _replayed(model, training)
    measure, wrong = _check_measure(model, training)
    findings, unchecked = [*checked.findings, *training.compare_defaults(model), *wrong], list(checked.unchecked)
    if not findings:
        findings, left = relearn(model, data, list_statements, what="these rules and no others", learn=learn)
        unchecked = [*left, *unchecked] if left else []  # the same list says the same
    doubts = sum(rule.bound is not None for rule in model.rules)
    if doubts:
        unchecked.append(f"that the heads of {doubts} of {len(model)} rules are the best, which nobody has proved")
    return replace(checked, findings=tuple(findings), measure=measure, unchecked=tuple(unchecked))


def _replayed(model: RuleList, training: _Training) -> Verification:
    """Check every number that a list states about its rules."""
    if "pruning" in model.info:
        return training.check_pruned(model)
    if "grown" in model.info:
        why = "the counts, because lists behind kept rules, or with features of single labels, are not replayed"
        return Verification(0, 0, 0, (), unchecked=(why,))
    findings: list[Finding] = []
    certified = searched = 0
    recounted = "recounted" in model.info
    for step in training.replay(model):
        findings += [*(() if recounted else step.compare_counts()), *step.compare()]
        if step.rule.origin != "learned" or not training.multi:
            continue
        if step.rule.certificate is not None:
            certified += 1
            findings += step.check_certificate()
        else:
            searched += 1
            findings += step.search_again()
    if recounted:
        findings += training.compare_run(model)
    else:
        findings += training.compare_rest(model, [training.left[label] for label in range(len(model.label_names))])
    return Verification(len(model), certified, searched, tuple(findings), unchecked=training.elsewhere)


def _check_measure(model: RuleList, training: _Training) -> tuple[str, list[Finding]]:
    """Check the proof on which the head searches relied, if one is stored."""
    stored = model.info.get("measure_proof")
    if stored is None:
        return "", []
    problems = recheck(training.objective.measure, stored)
    if problems and isinstance(stored, dict) and stored.get("by") == "z3" and load_z3() is None:
        return "the proof about the measure not checked: that takes z3", []
    wrong = [Finding(None, "the proof about the measure", "valid", f"wrong, because {p}") for p in problems]
    return "the proof about the measure checked", wrong


def _data_words(examples: Any, name: Any) -> str:
    return f"{'data' if examples is None else f'{examples} examples'} with the fingerprint {name}"


def certify(model: RuleList, data: Dataset) -> RuleList:
    """Return the model with a proof in every rule that no other head is better for its body.

    Rules of a list with one label per head get none: there the best head is not searched for a given body. In a pruned
    list the proof says what each label adds to the whole, and what the rule costs; where that cannot be told, the list
    stays as it is.
    """
    training = _Training.of(model, data)
    if training.fingerprint != model.info.get("data_fingerprint"):
        raise ModelError("this is not the data that the model was learned from, so nothing can be proved about it")
    rules = list(model.rules)
    if "pruning" in model.info:
        earned = training.earnings(model)
        if isinstance(earned, str):
            return model
        return replace(model, rules=tuple(replace(r, certificate=earned.proof(k)) for k, r in enumerate(rules)))
    for step in training.replay(model):
        if training.multi and step.rule.origin == "learned":
            rules[step.number] = replace(step.rule, certificate=certify_head(step.world, step.objective))
    return replace(model, rules=tuple(rules))


@dataclass(frozen=True)
class _Part:
    """What one list is learned from: all labels, or one of them, for binary relevance turned where absence is rarer."""

    truth: npt.NDArray[np.uint8]
    first: int = 0
    turned: bool = False

    def local(self, literal: Literal) -> tuple[int, int]:
        """A literal as this part sees it."""
        return literal.label - self.first, literal.value ^ self.turned


@dataclass(frozen=True)
class _Step:
    """One rule in the state of learning in which it was found."""

    number: int
    rule: Rule
    world: World
    objective: Objective
    scale: Fraction
    part: _Part
    stopped: bool
    names: tuple[str, ...]

    @property
    def local_head(self) -> tuple[tuple[int, int], ...]:
        return tuple(map(self.part.local, self.rule.head))

    def compare_counts(self) -> Iterator[Finding]:
        counts, scale = self.world.counts, self.scale
        head = tuple(
            replace(literal, tp=unscaled(int(counts.tp[cell]), scale), fp=unscaled(int(counts.fp[cell]), scale))
            for literal, cell in zip(self.rule.head, self.local_head, strict=True)
        )
        coverage = unscaled(int(self.world.weights[self.world.covered].sum()), scale)
        yield from compare_counts(self.number, self.rule, replace(self.rule, head=head, coverage=coverage), self.names)

    def compare(self) -> Iterator[Finding]:
        if self.rule.value is not None:
            worth = evaluate(self.world, self.objective, self.local_head)
            if worth != self.rule.value:
                yield self._finding("the value", self.rule.value, worth)
        if self.rule.stop != self.stopped and self.rule.origin == "learned":
            yield self._finding("the stop", self.rule.stop, self.stopped)

    def search_again(self) -> Iterator[Finding]:
        yield from self._check_bound()
        if self.rule.unfinished and self.rule.bound is not None:
            return  # the head was the best that could be had in time
        best = best_head(self.world, self.objective)
        if best is None or best.head != self.local_head:
            found = "none" if best is None else f"{self._words(best.head)} with value {best.value}"
            yield self._finding("the best head", self._words(self.local_head), found)

    def _check_bound(self) -> Iterator[Finding]:
        """Prove anew how far the head may be from the best one."""
        objective, value = self.objective, self.rule.value
        if value is None or (objective.effort is None and not self.rule.unfinished):
            found = None
        else:
            found = bound_heads(self.world, replace(objective, effort=objective.effort or 1), value)
        if self.rule.bound != found and not (self.rule.unfinished and self.rule.bound is None):
            yield self._finding("the bound on other heads", self.rule.bound, found)

    def check_certificate(self) -> Iterator[Finding]:
        for problem in verify_certificate(self.world, self.objective, self.local_head, self.rule.certificate or {}):
            yield self._finding("the proof of the head", "valid", f"wrong, because {problem}")

    def _words(self, head: Iterable[tuple[int, int]]) -> str:
        return ", ".join(format_literal(Literal(label, value), self.names) for label, value in head)

    def _finding(self, what: str, stated: object, found: object) -> Finding:
        return Finding(self.number, what, str(stated), str(found))


@dataclass
class _Training:
    """Data, options and state of a learner, replayed."""

    table: Table
    truth: npt.NDArray[np.uint8]
    weights: npt.NDArray[np.int64]
    scale: Fraction
    fingerprint: str
    learner: str
    options: dict[str, Any]
    names: tuple[str, ...]
    elsewhere: tuple[str, ...]  # why counts are not compared, where they are those on other data
    left: dict[int, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, model: RuleList, data: Dataset) -> _Training:
        learner = model.info.get("learner")
        if learner not in _NEEDED:
            raise ModelError("the model does not say how it was learned, so it cannot be checked against data")
        options = learning_options(model.info, *_NEEDED[learner])
        check_table(model, data.X)
        if data.label_names != model.label_names:
            raise ModelError(f"{data.name}: its labels are not those of the model, in the same order")
        table, truth, weights, scale = examples_of(data)
        name = fingerprint(table, truth, weights)
        counted = model.info.get("recounted", data.name)
        elsewhere = () if counted == data.name else (f"the counts, because they are those on {counted}",)
        return cls(table, dense_labels(truth), weights, scale, name, learner, options, model.label_names, elsewhere)

    @property
    def multi(self) -> bool:
        """Whether the best head was searched for every body."""
        return self.learner == "RuleListClassifier" and self.options.get("heads") == "multi"

    @property
    def objective(self) -> Objective:
        if self.learner == "BinaryRelevanceRuleClassifier":
            return Objective(self.options["measure"])
        chosen = {name: self.options[name] for name in ("measure", "averaging", "scope", "lift", "search")}
        chosen["negative"] = self.options["negative"] is not False  # None, the default, is yes for grown lists
        chosen["max_head_size"] = 1 if self.options["heads"] == "single" else self.options["max_head_size"]
        chosen["effort"] = self.options.get("effort")  # files of earlier versions do not name it
        return Objective(**chosen)

    def earnings(self, model: RuleList) -> Earnings | str:
        """Return what the rules of a pruned list add to it, or why that cannot be told."""
        return Earnings.of(model, self.table, self.truth, self.weights, self.scale, self.options)

    def check_pruned(self, model: RuleList) -> Verification:
        """Check a list whose rules were chosen for the list as a whole: its counts, and what each rule adds."""
        earned, kept = self.earnings(model), kept_rules(model)
        findings = [] if isinstance(earned, str) else list(earned.check())
        findings += self.compare_run(model, kept)
        for number, rule in list(enumerate(model.rules))[kept:]:
            if rule.stop and rule.origin == "learned":
                findings.append(Finding(number, "the stop", "True", "False"))
        if isinstance(earned, str):
            why = f"what each rule adds, because {earned}"
            return Verification(len(model), 0, 0, tuple(findings), unchecked=(why, *self.elsewhere))
        proofs = sum(rule.certificate is not None for rule in model.rules)
        return Verification(len(model), proofs, len(model) - proofs, tuple(findings), unchecked=self.elsewhere)

    def compare_run(self, model: RuleList, after: int = 0) -> Iterator[Finding]:
        """Compare what is stated with the counts of the list as it predicts, from the rule on that `after` says."""
        if self.elsewhere:
            return
        counts = list_counts(model, self.table, self.truth, self.weights)
        found = with_counts(model, counts, partial(unscaled, scale=self.scale))
        for number, rule in list(enumerate(model.rules))[after:]:
            yield from compare_counts(number, rule, found.rules[number], self.names)
        yield from self.compare_rest(model, found.default_counts)

    def replay(self, model: RuleList) -> Iterator[_Step]:
        numbered = list(enumerate(model.rules))
        if self.learner == "RuleListClassifier":
            options = self.options
            yield from self._list(numbered, _Part(self.truth), options["stop_threshold"], options["keep_covered"])
            return
        for label in range(self.truth.shape[1]):
            mine = [(number, rule) for number, rule in numbered if rule.head[0].label == label]
            column = self.truth[:, [label]]
            present, absent = (int(self.weights[column[:, 0] == truth].sum()) for truth in (1, 0))
            turned = present > absent
            opposite = np.where(column < 2, 1 - column, column)
            yield from self._list(mine, _Part(opposite if turned else column, label, turned), None, False)

    def _list(
        self, numbered: list[tuple[int, Rule]], part: _Part, threshold: float | None, keep: bool
    ) -> Iterator[_Step]:
        """Replay one list."""
        objective, truth = self.objective.in_units(self.scale), part.truth
        assigned = np.full(truth.shape, -1, dtype=np.int8)
        working = np.ones(len(truth), dtype=bool)
        for number, rule in numbered:
            covered = working & self._covers(rule, assigned)
            world = self._world(rule, truth, assigned, covered, working, objective)
            for label, value in map(part.local, rule.head):
                column = assigned[:, label]
                column[covered & (column < 0)] = value
            if objective.scope == "full":
                assigned[covered[:, None] & (assigned < 0)] = 0
            unset = (assigned < 0) & (truth < 2) & (objective.negative | (truth == 1))
            open_ = covered & unset.any(axis=1)
            share = Fraction(int(self.weights[open_].sum()), max(1, int(self.weights[covered].sum())))
            stopped = threshold is not None and share <= exact_number(threshold)
            if rule.stop if rule.origin != "learned" else stopped:
                working &= ~covered
            elif threshold is None or not keep:
                working &= ~covered | open_
            names = self.names[part.first : part.first + truth.shape[1]]
            yield _Step(number, rule, world, objective, self.scale, part, stopped, names)
        for label in range(truth.shape[1]):
            unset_ = assigned[:, label] < 0
            sums = [int(self.weights[unset_ & (truth[:, label] == value ^ part.turned)].sum()) for value in (1, 0)]
            self.left[part.first + label] = unscaled(sums[0], self.scale), unscaled(sums[1], self.scale)

    def _covers(self, rule: Rule, assigned: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
        covered = np.ones(len(self.truth), dtype=bool)
        for condition in rule.body:
            if isinstance(condition, LabelCondition):
                covered &= assigned[:, condition.label] == condition.value
            else:
                covered &= holds(condition, self.table)
        return covered

    def _world(
        self,
        rule: Rule,
        truth: npt.NDArray[np.uint8],
        assigned: npt.NDArray[np.int8],
        covered: npt.NDArray[np.bool_],
        working: npt.NDArray[np.bool_],
        objective: Objective,
    ) -> World:
        allowed = np.ones((truth.shape[1], 2), dtype=bool)
        allowed[:, 0] = objective.negative
        for condition in rule.body:
            if isinstance(condition, LabelCondition):
                allowed[condition.label] = False
        rows = np.flatnonzero(working)
        return World(truth[rows], covered[rows], assigned[rows].copy(), self.weights[rows], allowed)

    def compare_rest(self, model: RuleList, found: Sequence[tuple[float, float]]) -> Iterator[Finding]:
        """Compare what nobody set."""
        for name, stated, pair in zip(self.names, model.default_counts, found, strict=False):
            if not all(map(is_count, stated, pair)):
                yield Finding(None, f"the unset weight of label {name!r}", str(stated), str(pair))

    def compare_defaults(self, model: RuleList) -> Iterator[Finding]:
        """Compare what a label is when nobody sets it, and whether rules set all labels."""
        for label, stated in enumerate(model.defaults):
            found = self._majority(label) if self.learner == "BinaryRelevanceRuleClassifier" else 0
            if stated != found:
                yield Finding(None, f"the default of label {self.names[label]!r}", str(stated), str(found))
        full = self.options.get("scope") == "full"
        if model.full != full:
            yield Finding(None, "whether rules set all labels (full)", str(model.full), str(full))

    def _majority(self, label: int) -> int:
        """Return the commoner value of a label where no rule of it fires; of all examples where there are none."""
        column = self.truth[:, label]
        present, absent = self.left[label]
        if not present and not absent:
            present, absent = (int(self.weights[column == value].sum()) for value in (1, 0))
        return int(present > absent)
