"""The selection of a pruned list, checked: every rule and every label of a head gains more than it costs.

The targets are computed again as they were for learning (the teacher draws the same samples), and the gain of each rule
is summed from the rules of the list: nothing is shared with the selection but the gain of one label of one example.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyrule.covering.learner import Learner
from polyrule.errors import ModelError
from polyrule.measures import Objective, get
from polyrule.model.rule_list import RuleList
from polyrule.selection.model import covered_rows
from polyrule.selection.objective import Costs, condition_cost_units, targets_digest
from polyrule.selection.problem import Examples, prepare
from polyrule.selection.settings import SELECTION_VERSION, ListSettings
from polyrule.soft_targets.regression import blas
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
    costs : Costs
    """

    model: RuleList
    covers: Bools
    cell_gains: Matrix
    costs: Costs

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
        if stored.get("version") != SELECTION_VERSION:
            return "an earlier version of polyrule selected them"
        settings = ListSettings(str(replay.options["optimize"]), teacher=replay.options.get("teacher") is not None)
        examples = Examples(replay.table, replay.truth, replay.weights, model.label_names, replay.scale)
        learner = Learner(Objective(get("f1")))
        with blas().limit(limits=1):
            problem = prepare(examples, settings, learner)
            if settings.teacher and targets_digest(problem.targets) != stored.get("targets"):
                problem = prepare(
                    examples, replace(settings, teacher=False), learner
                )  # there was no time for a teacher
        if targets_digest(problem.targets) != stored.get("targets"):
            return "the teacher's targets could not be drawn again"
        cell_gains = problem.gains(problem.targets, np.array(stored["levels"]))
        covers = [covered_rows(rule.body, problem.train.table) for rule in model.rules]
        costs = Costs(*map(int, stored["costs"]))
        return cls(model, np.array(covers).reshape(len(model), len(cell_gains)), cell_gains, costs)

    def check(self) -> Iterator[Finding]:
        """Check that no rule and no label can be left out without loss."""
        for number, rule in enumerate(self.model.rules):
            proof = self.proof(number)
            if rule.certificate is not None and rule.certificate != proof:
                yield Finding(number, "the proof", str(rule.certificate), str(proof))
            net_gains = np.array(proof["gains"]) - self.costs.literal
            for literal, net_gain in zip(rule.head, net_gains, strict=True):
                if net_gain <= 0:
                    what = f"what label {self.model.label_names[literal.label]!r} adds"
                    yield Finding(number, what, f"more than {self.costs.literal}", str(net_gain + self.costs.literal))
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
        units = condition_cost_units(rule.body, self.model.features)
        price = int(self.costs.of_bodies(np.array([units]))[0])
        return {"method": "list", "gains": gains, "price": price}
