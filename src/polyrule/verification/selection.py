"""The selection of a pruned list, checked: every rule and every label of a head gains more than it costs.

The targets are computed again as they were for learning (the teacher draws the same samples), and the gain of each rule
is summed from the rules of the list: nothing is shared with the selection but the gain of one label of one example.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyrule.errors import ModelError
from polyrule.learning.body_pool import counted_as
from polyrule.learning.composing import Composition
from polyrule.learning.selection import Pruning, digest_of
from polyrule.learning.separate import Learner
from polyrule.measures import Objective, get
from polyrule.model.rule_list import RuleList
from polyrule.utils.arrays import Bools, Matrix
from polyrule.verification.replay import ListReplay
from polyrule.verification.result import Finding


def _is_account(stored: Any, n_labels: int) -> bool:
    """Return True if a file has the levels and costs of a selection, in whole numbers."""
    if not isinstance(stored, dict) or not isinstance(stored.get("costs"), list) or len(stored["costs"]) != 3:
        return False
    levels = stored.get("levels")
    if not isinstance(levels, list) or len(levels) != n_labels:
        return False
    numbers = (*levels, *stored["costs"])
    return all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**53 for n in numbers)


@dataclass(frozen=True, eq=False)
class RuleGains:
    """Gain of each rule of a pruned list, on the targets it was selected by.

    Parameters
    ----------
    model : RuleList
    covers : ndarray of bool, shape (rules, examples)
    cell_gains : ndarray, shape (examples, labels)
        Gain of predicting each label of each example as present.
    costs : tuple of int
        Of a rule, a condition and a label of a head.
    """

    model: RuleList
    covers: Bools
    cell_gains: Matrix
    costs: tuple[int, int, int]

    @classmethod
    def of(cls, model: RuleList, replay: ListReplay) -> RuleGains | str:
        """Return the gains of a list on its training data, or the reason why they cannot be computed."""
        stored = model.info.get("pruning")
        if not isinstance(stored, dict) or not _is_account(stored, replay.truth.shape[1]):
            raise ModelError("the model does not say at which prices its rules were chosen, so it cannot be checked")
        if "sample" in stored:
            return "the rules were chosen from a sample"
        if stored.get("kept") or any(rule.origin != "learned" for rule in model.rules):
            return "some rules were made by hand or there before learning, and need not earn anything"
        taught = replay.options.get("teacher") is not None
        pruning = Pruning(str(replay.options.get("optimize")), teacher=taught)
        learner = Learner(Objective(get("f1")))
        data = (replay.table, replay.truth, replay.weights, model.label_names)
        problem = Composition(*data, learner, pruning, replay.scale)
        if taught and digest_of(problem.targets) != stored.get("targets"):  # else there was no time for a teacher
            problem = replace(problem).taught()
            if digest_of(problem.targets) != stored.get("targets"):
                return "the teacher's targets could not be drawn again"
        cell_gains = problem.gains(problem.targets, np.array(stored["levels"]))
        covers = np.array([problem.covered(rule.body) for rule in model.rules]).reshape(len(model), len(cell_gains))
        rule_cost, condition_cost, literal_cost = stored["costs"]
        return cls(model, covers, cell_gains, (int(rule_cost), int(condition_cost), int(literal_cost)))

    def check(self) -> Iterator[Finding]:
        """Check that no rule and no label can be left out without loss."""
        for number, rule in enumerate(self.model.rules):
            proof = self.proof(number)
            if rule.certificate is not None and rule.certificate != proof:
                yield Finding(number, "the proof", str(rule.certificate), str(proof))
            net_gains = np.array(proof["gains"]) - self.costs[2]
            for literal, net_gain in zip(rule.head, net_gains, strict=True):
                if net_gain <= 0:
                    what = f"what label {self.model.label_names[literal.label]!r} adds"
                    yield Finding(number, what, f"more than {self.costs[2]}", str(net_gain + self.costs[2]))
            if net_gains.sum() <= proof["price"]:
                yield Finding(number, "what the rule adds", f"more than {proof['price']}", str(int(net_gains.sum())))

    def proof(self, number: int) -> dict[str, Any]:
        """Return the gain of each label of a rule, and the cost of the rule with its conditions."""
        rule = self.model.rules[number]
        gains = []
        for literal in rule.head:
            rows = self.covers[number].copy()
            for position, other in enumerate(self.model.rules):
                if position != number and any(entry.label == literal.label for entry in other.head):
                    rows &= ~self.covers[position]
            gains.append(int(self.cell_gains[rows, literal.label].sum()))
        price = self.costs[0] + self.costs[1] * counted_as(rule.body, self.model.features)
        return {"method": "list", "gains": gains, "price": price}
