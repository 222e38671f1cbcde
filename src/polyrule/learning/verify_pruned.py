"""Checking what is special about a pruned list: that every rule and every label of a head earns its price.

The targets are made anew, as they were for learning (the teacher draws the same samples again), and what each rule adds
to the list is summed up from the rules as they stand: nothing here is shared with the selection but what a cell gains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from polyrule.data.table import Table
from polyrule.errors import ModelError
from polyrule.learning.body_pool import counted_as
from polyrule.learning.composing import Composition
from polyrule.learning.relearn import Finding
from polyrule.learning.selection import Pruning, digest_of
from polyrule.learning.separate import Learner
from polyrule.measures import Objective, get
from polyrule.model.rule_list import RuleList
from polyrule.utils.arrays import Bools, Bytes, Ints, Matrix


def _is_whole(stored: Any, labels: int) -> bool:
    """Whether a file says, in whole numbers, which values were reached and what things cost."""
    if not isinstance(stored, dict) or not isinstance(stored.get("costs"), list) or len(stored["costs"]) != 3:
        return False
    levels = stored.get("levels")
    if not isinstance(levels, list) or len(levels) != labels:
        return False
    return all(isinstance(number, int) and 0 <= number < 2**53 for number in (*levels, *stored["costs"]))


@dataclass(frozen=True, eq=False)
class Earnings:
    """What each rule of a pruned list adds to it; the examples are those that rules were chosen by.

    Parameters
    ----------
    model : RuleList
    covers : ndarray of bool, shape (rules, examples)
    gains : ndarray, shape (examples, labels)
        What each cell adds when it is said to be present.
    costs : tuple of int
        Of a rule, a condition and a label of a head.
    """

    model: RuleList
    covers: Bools
    gains: Matrix
    costs: tuple[int, int, int]

    @classmethod
    def of(
        cls, model: RuleList, table: Table, truth: Bytes, weights: Ints, scale: Fraction, options: dict[str, Any]
    ) -> Earnings | str:
        """Look at a list on its training data; say why where it cannot be told what its rules add."""
        stored = model.info.get("pruning")
        if stored is None or not _is_whole(stored, truth.shape[1]):
            raise ModelError("the model does not say at which prices its rules were chosen, so it cannot be checked")
        if "sample" in stored:
            return "the rules were chosen from a sample"
        if stored.get("kept") or any(rule.origin != "learned" for rule in model.rules):
            return "some rules were made by hand or there before learning, and need not earn anything"
        taught = options.get("teacher") is not None
        pruning = Pruning(str(options.get("prune")), teacher=taught)
        made = Composition(table, truth, weights, model.label_names, Learner(Objective(get("f1"))), pruning, scale)
        if taught and digest_of(made.targets) != stored.get("targets"):  # else there was no time for a teacher
            made = replace(made).taught()
            if digest_of(made.targets) != stored.get("targets"):
                return "the teacher's targets could not be drawn again"
        gains = made.gains(made.targets, np.array(stored["levels"]))
        covers = np.array([made.covered(rule.body) for rule in model.rules]).reshape(len(model), len(gains))
        rule_cost, condition_cost, literal_cost = stored["costs"]
        return cls(model, covers, gains, (int(rule_cost), int(condition_cost), int(literal_cost)))

    def check(self) -> Iterator[Finding]:
        """Check that no rule and no label can be left out without loss."""
        for number, rule in enumerate(self.model.rules):
            proof = self.proof(number)
            if rule.certificate is not None and rule.certificate != proof:
                yield Finding(number, "the proof", str(rule.certificate), str(proof))
            surplus = np.array(proof["gains"]) - self.costs[2]
            for literal, extra in zip(rule.head, surplus, strict=True):
                if extra <= 0:
                    what = f"what label {self.model.label_names[literal.label]!r} adds"
                    yield Finding(number, what, f"more than {self.costs[2]}", str(extra + self.costs[2]))
            if surplus.sum() <= proof["price"]:
                yield Finding(number, "what the rule adds", f"more than {proof['price']}", str(int(surplus.sum())))

    def proof(self, number: int) -> dict[str, Any]:
        """Return what each label of a rule adds to the list, and what the rule and its conditions cost."""
        rule = self.model.rules[number]
        gains = []
        for literal in rule.head:
            mine = self.covers[number].copy()
            for other, other_rule in enumerate(self.model.rules):
                if other != number and any(one.label == literal.label for one in other_rule.head):
                    mine &= ~self.covers[other]
            gains.append(int(self.gains[mine, literal.label].sum()))
        price = self.costs[0] + self.costs[1] * counted_as(rule.body, self.model.features)
        return {"method": "list", "gains": gains, "price": price}
