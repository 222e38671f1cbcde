"""The smallest change of the features that flips a label of one example, exact for ensembles.

The search is best-first over sets of examples, as for rule lists (`polyrule.model.flips`). A node allows every feature
some of its cells; its trial is the cheapest example it allows. Rules that the node neither forces nor forbids to fire
are undecided; the scores that are still possible lie between the sums in which each undecided rule does its worst and
its best. A node in which the old outcome holds even then is dropped. Otherwise an undecided rule is decided both ways,
without overlap. Nothing else is ever cut off, so the first flip found is the smallest.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.arrays import Floats
from polyrule.ensemble.decisions import membership
from polyrule.model.cells import Cells, cells_of
from polyrule.model.explain import example_row, format_value
from polyrule.model.flips import Change, Flip, place_of
from polyrule.model.one_example import one_example

if TYPE_CHECKING:
    from polyrule.ensemble.model import RuleEnsemble

# Sums are compared with bounds that were added up in another order.
_SLACK = 1e-9

Domain = dict[int, int]


def smallest_flip(
    ensemble: RuleEnsemble,
    example: Any,
    label: int | str,
    row: int | None = None,
    *,
    fixed: Collection[int | str] = (),
    limit: int = 20_000,
) -> Flip:
    """Find the fewest features to change, and among those the least steps, so that a label flips.

    A numeric feature may take any number, a nominal one any of its categories; a value is never made missing, but a
    missing one may be filled in.

    Parameters
    ----------
    ensemble : RuleEnsemble
    example : one example, or with `row` a table, frame, array or data set that holds it
    label : int or str
        Index or name.
    row : int, optional
        Counted from 0.
    fixed : collection of int or str
        Features that must stay as they are.
    limit : int
        Give up after this many nodes; the problem is hard in general.

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
    names = [feature.name for feature in ensemble.features]
    locked_names = {names[place_of(names, item, "feature")] for item in fixed}
    model, table = one_example(ensemble, example, row)
    values = example_row(model, table)
    target = place_of(model.label_names, label, "label")
    cells = cells_of(model, values)
    root = {
        j: (1 << cell.present if model.features[j].name in locked_names else cell.everything)
        for j, cell in cells.items()
    }
    sums = _Sums(model, cells, target)
    before = sums.outcome({j: cell.present for j, cell in cells.items()})
    number = count()
    queue: list[tuple[int, int, int, Domain]] = [(0, 0, next(number), root)]
    explored = 0
    while queue and explored < limit:
        _, steps, _, domain = heapq.heappop(queue)
        explored += 1
        trial = {j: cells[j].cheapest(mask) for j, mask in domain.items()}
        if sums.outcome(trial) != before:
            changes = tuple(
                _change(cells[j], j, trial[j], float(values[j])) for j in trial if trial[j] != cells[j].present
            )
            return Flip(model.label_names[target], before, 1 - before, changes, steps, True, explored)
        for child in sums.split(domain, trial, before):
            heapq.heappush(queue, (*_cost(cells, child), next(number), child))
    return Flip(model.label_names[target], before, 1 - before, None, 0, not queue, explored)


class _Sums:
    """Scores of an ensemble over sets of examples given by cells."""

    def __init__(self, model: RuleEnsemble, cells: dict[int, Cells], target: int) -> None:
        self.model, self.target = model, target
        self.tests = [
            [(c.feature, cells[c.feature].satisfying(c)) for c in rule.body]  # type: ignore[union-attr, arg-type]
            for rule in model.rules
        ]
        self.weights = np.zeros((len(model.rules), len(model.label_names)))
        for number, rule in enumerate(model.rules):
            for entry in rule.head:
                self.weights[number, entry.label] = entry.weight
        self.start = np.array(model.intercepts)
        by_cut = not model.decision.uses_sets
        self.relevant = [k for k in range(len(model.rules)) if not by_cut or self.weights[k, target] != 0]

    def fires(self, rule: int, trial: Domain) -> bool:
        return all(mask >> trial[feature] & 1 for feature, mask in self.tests[rule])

    def outcome(self, trial: Domain) -> int:
        """Whether the label is predicted; weights are added in the order in which the model adds them."""
        scores = self.start.copy()
        for number in range(len(self.tests)):
            if self.fires(number, trial):
                scores = scores + self.weights[number]
        return int(self.model.decision.labels(scores[None, :], self.model.unit)[0, self.target])

    def split(self, domain: Domain, trial: Domain, before: int) -> list[Domain]:
        """Parts of a node that may hold a flip, a rule decided in each; none where the outcome is certain."""
        can = {k for k in self.relevant if all(mask & domain[j] for j, mask in self.tests[k])}
        must = {k for k in can if all(not domain[j] & ~mask for j, mask in self.tests[k])}
        undecided = sorted(can - must)
        if not undecided:
            return []
        helps = self._helps(must, undecided, before)
        if helps is None:
            return []
        # First what would change the sum most from what it is in the trial.
        gain = {k: helps[i] * (-1 if self.fires(k, trial) else 1) for i, k in enumerate(undecided)}
        chosen = max(undecided, key=lambda k: (gain[k], abs(gain[k]), -k))
        inside, parts = dict(domain), []
        for feature, mask in self.tests[chosen]:
            outside = inside[feature] & ~mask
            if outside:
                parts.append(inside | {feature: outside})
            inside[feature] &= mask
        return [*parts, inside]

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


def _cost(cells: dict[int, Cells], domain: Domain) -> tuple[int, int]:
    """Features that must change, and the least steps that takes."""
    changed = {j: mask for j, mask in domain.items() if not mask >> cells[j].present & 1}
    return len(changed), sum(cells[j].steps(cells[j].cheapest(mask)) for j, mask in changed.items())


def _change(cell: Cells, index: int, chosen: int, old: float) -> Change:
    new = cell.value(chosen)
    return Change(index, cell.feature.name, old, new, format_value(cell.feature, old), cell.requirement(chosen))
