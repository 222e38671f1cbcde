"""Checking a pruned list: its counts, and that every rule and every label of a head earns its price.

The targets are made anew (the teacher draws the same samples again), and what each rule adds to the list is summed up
from the rules as they stand: nothing here is shared with the selection but the definition of a cell's gain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from polyrule.arrays import Bools, Bytes, Ints, Matrix
from polyrule.data.examples import by_content, unscaled
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table
from polyrule.errors import ModelError
from polyrule.learning.body_pool import counted_as
from polyrule.learning.expecting import Taught, is_text, teach
from polyrule.learning.relearn import Finding, Verification, kept_rules
from polyrule.learning.selection import Pruning, cell_gains, digest_of, targets_of, with_mixed
from polyrule.model.conditions import holds
from polyrule.model.rule_list import RuleList

_UNSURE = (
    "what each rule adds, because the teacher's targets could not be drawn again",
    "what each rule adds, because the rules were chosen from a sample",
)


def _is_whole(stored: Any, labels: int) -> bool:
    """Whether a file says, in whole numbers, which values were reached and what things cost."""
    if not isinstance(stored, dict) or not isinstance(stored.get("costs"), list) or len(stored["costs"]) != 3:
        return False
    levels = stored.get("levels")
    if not isinstance(levels, list) or len(levels) != labels:
        return False
    return all(isinstance(number, int) and 0 <= number < 2**53 for number in (*levels, *stored["costs"]))


def _targets(
    truth: Bytes, table: Table, weights: Ints, scale: Fraction, taught: bool, stated: Any
) -> tuple[Taught, Matrix, bool]:
    """Make the examples that rules are chosen by, and their targets; are they those that the list was chosen for?

    Where a time limit left no time for a teacher, they are the bare labels.
    """
    examples = weights.astype(np.float64) * float(scale)
    bare = targets_of(truth, None, examples, text=False)
    plain = Taught(table, truth, weights, bare)
    if not taught or digest_of(bare) == stated:
        return plain, bare, True
    order = by_content(table, truth, weights)
    text = is_text(table, order)
    told = teach(table, truth, weights, order, text=text)
    if told is None:
        return plain, bare, False
    targets = with_mixed(targets_of(truth, told.opinion[: len(truth)], examples, text=text), told.opinion)
    return told, targets, digest_of(targets) == stated


@dataclass(frozen=True, eq=False)
class PrunedCheck:
    """A pruned list on its training data: what every rule covers, and what each of its cells is worth.

    Covers and gains go on with the mixed examples that rules were chosen by, if there were any.
    """

    truth: Bytes
    weights: Ints
    scale: Fraction
    covers: Bools
    gains: Matrix
    costs: tuple[int, int, int]
    sure: bool
    sample: bool = False

    @classmethod
    def of(
        cls, model: RuleList, table: Table, truth: Bytes, weights: Ints, scale: Fraction, options: dict[str, Any]
    ) -> PrunedCheck:
        """Replay a list on its training data."""
        stored = model.info.get("pruning")
        if stored is None or not _is_whole(stored, truth.shape[1]):
            raise ModelError("the model does not say at which prices its rules were chosen, so it cannot be checked")
        known = truth != UNKNOWN
        taught = options.get("teacher") is not None and bool(known.all())
        plain = np.where(known, truth, 0)
        told, targets, sure = _targets(plain, table, weights, scale, taught, stored.get("targets"))
        squared = Pruning(str(options["prune"])).beta_squared
        gains = told.weights[:, None] * cell_gains(targets, squared, np.array(stored["levels"]))
        gains[: len(known)][~known] = 0.0
        covers = np.ones((len(model), len(told.table)), dtype=bool)
        for number, rule in enumerate(model.rules):
            for condition in rule.body:
                covers[number] &= holds(condition, told.table)
        rule_cost, condition_cost, literal_cost = stored["costs"]
        costs = int(rule_cost), int(condition_cost), int(literal_cost)
        sample = "sample" in stored
        return cls(truth, weights, scale, covers, gains, costs, sure and not sample, sample)

    def verify(self, model: RuleList) -> Verification:
        """Compare every number that the list states, and what each rule adds with what it costs."""
        findings = [*self._counts(model), *(self._earnings(model) if self.sure else ())]
        for number, rule in enumerate(model.rules[kept_rules(model) :], start=kept_rules(model)):
            if rule.stop and rule.origin == "learned":
                findings.append(Finding(number, "the stop", "True", "False"))
        proofs = sum(rule.certificate is not None for rule in model.rules)
        unsure = () if self.sure else (_UNSURE[self.sample],)
        return Verification(len(model), proofs, len(model) - proofs, tuple(findings), unchecked=unsure)

    def certify(self, model: RuleList) -> RuleList:
        """Return the list with what each label of each head adds to the whole, and what the rule costs.

        Without the targets that the rules were chosen for there is nothing to prove, and the list stays as it is.
        """
        if not self.sure:
            return model
        rules = tuple(replace(rule, certificate=self._proof(number, model)) for number, rule in enumerate(model.rules))
        return replace(model, rules=rules)

    def _counts(self, model: RuleList) -> Iterator[Finding]:
        unset = np.ones(self.truth.shape, dtype=bool)
        for number, rule in enumerate(model.rules):
            covered = self.covers[number, : len(self.truth)]
            for literal in rule.head:
                mine = covered & unset[:, literal.label]
                right = mine & (self.truth[:, literal.label] == literal.value)
                wrong = mine & (self.truth[:, literal.label] == 1 - literal.value)  # what is unknown is neither
                unset[mine, literal.label] = False
                name = model.label_names[literal.label]
                for what, stated, rows in (("TP", literal.tp, right), ("FP", literal.fp, wrong)):
                    yield from self._compare(number, f"{what} of label {name!r}", stated, rows)
            if rule.coverage is not None:
                yield from self._compare(number, "the coverage", rule.coverage, covered)
        for label, stated_pair in enumerate(model.default_counts):
            rest = unset[:, label]
            for what, stated, rows in zip(
                ("present", "absent"),
                stated_pair,
                (rest & (self.truth[:, label] == 1), rest & (self.truth[:, label] == 0)),
                strict=True,
            ):
                name = model.label_names[label]
                yield from self._compare(None, f"the unset weight of label {name!r}, {what},", stated, rows)

    def _compare(self, number: int | None, what: str, stated: float, rows: Bools) -> Iterator[Finding]:
        found = unscaled(int(self.weights[rows].sum()), self.scale)
        if float(found) != float(stated):
            yield Finding(number, what, str(stated), str(found))

    def _earnings(self, model: RuleList) -> Iterator[Finding]:
        """Check that no rule and no label can be left out, and no label added, without loss."""
        if model.info["pruning"].get("kept") or any(rule.origin != "learned" for rule in model.rules):
            return  # rules made by hand need not earn anything, and change what the others add
        for number, rule in enumerate(model.rules):
            proof = self._proof(number, model)
            if rule.certificate is not None and rule.certificate != proof:
                yield Finding(number, "the proof", str(rule.certificate), str(proof))
            surplus = np.array(proof["gains"]) - self.costs[2]
            for literal, extra in zip(rule.head, surplus, strict=True):
                if extra <= 0:
                    name = model.label_names[literal.label]
                    yield Finding(
                        number, f"what label {name!r} adds", f"more than {self.costs[2]}", str(extra + self.costs[2])
                    )
            if surplus.sum() <= proof["price"]:
                yield Finding(number, "what the rule adds", f"more than {proof['price']}", str(int(surplus.sum())))

    def _proof(self, number: int, model: RuleList) -> dict[str, Any]:
        """Return what each label of a rule adds to the list, and what the rule and its conditions cost."""
        rule = model.rules[number]
        gains = []
        for literal in rule.head:
            mine = self.covers[number].copy()
            for other, other_rule in enumerate(model.rules):
                if other != number and any(one.label == literal.label for one in other_rule.head):
                    mine &= ~self.covers[other]
            gains.append(int(self.gains[mine, literal.label].sum()))
        return {
            "method": "list",
            "gains": gains,
            "price": self.costs[0] + self.costs[1] * counted_as(rule.body, model.features),
        }
