"""The smallest change of the features that flips a label of one example, exact for ensembles.

The search is that of `polyrule.model.flips`. Rules that a node neither forces nor forbids to fire are undecided; the
scores that are still possible lie between the sums in which each undecided rule does its worst and its best. A node in
which the old outcome holds even then is dropped. Otherwise an undecided rule is decided both ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.arrays import Floats
from polyrule.ensemble.decisions import membership
from polyrule.model.cells import Domain, Grid, Trial
from polyrule.model.flips import Flip, find_flip

if TYPE_CHECKING:
    from polyrule.ensemble.model import RuleEnsemble

# Sums are compared with bounds that were added up in another order.
_SLACK = 1e-9


def smallest_flip(
    ensemble: RuleEnsemble, example: Any, label: int | str, row: int | None = None, **options: Any
) -> Flip:
    """Find the smallest flip; parameters and cost are those of `polyrule.model.flips.smallest_flip`.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
    >>> from polyrule.model import NumericCondition
    >>> rules = (
    ...     WeightedRule((Entry(0, 2.0),), (NumericCondition(0, "<=", 96.0),)),
    ...     WeightedRule((Entry(0, -1.5),), (NumericCondition(1, ">", 3.0),)),
    ... )
    >>> features, decision = (Feature("tempo"), Feature("loud")), Decision("threshold", (0.0,))
    >>> model = RuleEnsemble(rules, features, ("calm",), (-1.0,), decision)
    >>> print(smallest_flip(model, [80.0, 5.0], "calm"))
    calm is absent; the smallest change that makes it present: loud <= 3 (now 5)
    """
    return find_flip(SumSearch, ensemble, example, label, row, **options)


class SumSearch:
    """Scores of an ensemble over sets of examples given by cells."""

    def __init__(self, model: RuleEnsemble, grid: Grid, target: int) -> None:
        self.model, self.target = model, target
        self.asked = [grid.asked(rule.body) for rule in model.rules]
        self.weights = np.zeros((len(model.rules), len(model.label_names)))
        for number, rule in enumerate(model.rules):
            for entry in rule.head:
                self.weights[number, entry.label] = entry.weight
        self.start = np.array(model.intercepts)
        by_cut = not model.decision.uses_sets
        self.relevant = [k for k in range(len(model.rules)) if not by_cut or self.weights[k, target] != 0]

    def outcome(self, trial: Trial) -> int:
        """Whether the label is predicted; weights are added in the order in which the model adds them."""
        scores = self.start.copy()
        for number in range(len(self.asked)):
            if self.asked[number].holds(trial):
                scores = scores + self.weights[number]
        return int(self.model.decision.labels(scores[None, :], self.model.unit)[0, self.target])

    def parts(self, domain: Domain, trial: Trial, before: int) -> list[Domain]:
        """Parts of a node that may hold a flip, a rule decided in each; none where the outcome is certain."""
        can = {k for k in self.relevant if self.asked[k].possible(domain)}
        must = {k for k in can if self.asked[k].certain(domain)}
        undecided = sorted(can - must)
        if not undecided:
            return []
        helps = self._helps(must, undecided, before)
        if helps is None:
            return []
        # First what would change the sum most from what it is in the trial.
        gain = {k: helps[i] * (-1 if self.asked[k].holds(trial) else 1) for i, k in enumerate(undecided)}
        chosen = max(undecided, key=lambda k: (gain[k], abs(gain[k]), -k))
        return self.asked[chosen].parts(domain)

    def _helps(self, must: set[int], undecided: list[int], before: int) -> Floats | None:
        """What each undecided rule adds towards a flip; None where no flip is possible."""
        decision = self.model.decision
        sure = self.start + self.weights[sorted(must)].sum(axis=0)
        open_weights = self.weights[undecided]
        if decision.kind == "expected-f1":  # no additive bound: every rule is decided in turn
            return np.asarray(np.abs(open_weights).sum(axis=1))
        if not decision.uses_sets:
            sign = 1.0 if before == 0 else -1.0
            helps = sign * open_weights[:, self.target]
            reach = sign * (sure[self.target] - decision.cuts[self.target]) + np.maximum(helps, 0).sum()
            return helps if reach >= -_SLACK else None
        # A set with the new outcome must beat the best one with the old outcome, in particular each single one.
        members = membership(decision.label_sets, len(self.start)).astype(np.float64)
        margins = np.array(decision.every_bonus) + members @ (sure - np.array(decision.cuts))
        open_margins = open_weights @ members.T
        new = members[:, self.target] != before
        if not new.any() or new.all():
            return None
        old = int(np.argmax(np.where(new, -np.inf, margins)))
        differences = open_margins[:, new] - open_margins[:, [old]]
        reach = margins[new] - margins[old] + np.maximum(differences, 0).sum(axis=0)
        best = int(np.argmax(reach))
        return differences[:, best] if reach[best] >= -_SLACK else None
