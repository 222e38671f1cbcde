"""Searches of counterfactuals by type of model: the outcome of one example, and which features alone force it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.model.decisions import membership
from polyrule.model.predict import final_labels, follow
from polyrule.model.region_grid import Domain, RegionGrid, Trial, split
from polyrule.utils.arrays import Floats

if TYPE_CHECKING:
    from polyrule.model.rule_ensemble import RuleEnsemble
    from polyrule.model.rule_list import RuleList


class ReasonSearch:
    """Search of a rule list for a counterfactual; see `counterfactual.CounterfactualSearch`.

    A trial with the old outcome has *reasons*, a few features whose regions alone force that outcome. A counterfactual
    must leave the regions of at least one of them.
    """

    def __init__(self, rule_list: RuleList, grid: RegionGrid, target: int) -> None:
        self.rule_list, self.target = rule_list, target
        self.stops = [number for number, rule in enumerate(rule_list.rules) if rule.stop]
        self.bodies = [grid.of_body(rule.body) for rule in rule_list.rules]
        self.needed = (target,) if rule_list.plan is None else rule_list.plan.component(target)

    def outcome(self, trial: Trial) -> int:
        """Return the label's value for one example."""
        self.trace = follow(self.rule_list, partial(self._holds, trial), range(len(self.bodies)))
        return final_labels(self.rule_list, self.trace)[self.target]

    def _holds(self, trial: Trial, number: int, state: dict[int, int]) -> bool:
        return self.bodies[number].holds(trial) and all(
            state.get(test.label) == test.value for test in self.rule_list.label_tests[number]
        )

    def parts(self, domain: Domain, trial: Trial, before: int) -> list[Domain]:
        """Divide a node whose trial, the last one that was judged, has the old outcome."""
        return split(domain, _Cause(self, trial, domain).of_labels(self.needed).items())[0]


class _Cause:
    """A conjunction of regions that forces a trial's trace: every example of `domain` in them has the same.

    Facts to be explained are put on a list, each a method and its arguments: "label j has this value just before rule
    t", "rule q fired", "rule q did not fire", "rule q was reached". They are explained by other facts or by the region
    of a feature.
    """

    def __init__(self, search: ReasonSearch, trial: Trial, domain: Domain) -> None:
        self.search, self.run, self.trial, self.domain = search, search.trace, trial, domain
        self.fired = set(self.run.fired)
        self.heads, self.writers = search.rule_list.heads, search.rule_list.writers
        self.regions: Domain = {}
        self.done: set[tuple[Any, ...]] = set()
        self.todo: list[tuple[Any, ...]] = []

    def of_labels(self, labels: tuple[int, ...]) -> Domain:
        """Return the features that force by whom labels are set, each with some regions."""
        for label in labels:
            self._add(self._why_label, label, len(self.heads))
        while self.todo:
            explain, *about = self.todo.pop()
            explain(*about)
        return self.regions

    def _add(self, *fact: Any) -> None:
        if fact not in self.done:
            self.done.add(fact)
            self.todo.append(fact)

    def _why_label(self, label: int, before: int) -> None:
        setter = self.run.setter.get(label, before)
        writers = [rule for rule in self.writers[label] if rule < min(setter, before)]
        if setter < before:
            self._add(self._why_fired, setter)
            self._add(self._why_reached, setter)
        elif self.run.stopped is not None and any(rule > self.run.stopped for rule in writers):
            stopped = self.run.stopped
            writers = [rule for rule in writers if rule < stopped]
            self._add(self._why_fired, stopped)
            self._add(self._why_reached, stopped)
            # The stop took effect because of some label that was not set before it; one such label is enough.
            unset = next(j for j in self.heads[stopped] if self.run.setter.get(j) == stopped)
            self._add(self._why_label, unset, stopped)
        for rule in writers:
            self._add(self._why_failed, rule)

    def _why_fired(self, rule: int) -> None:
        body = self.search.bodies[rule]
        for feature, mask in body.plain.items():
            self._require(feature, mask)
        self._require_some([test for test in body.members if self._holds(*test)], body.min_members)
        for test in self.search.rule_list.label_tests[rule]:
            self._add(self._why_label, test.label, rule)

    def _why_failed(self, rule: int) -> None:
        """Pick one condition that failed; best one that cannot hold anywhere in the domain, or is a reason already.

        A group failed because of as many members as are too many to spare.
        """
        body = self.search.bodies[rule]
        plain = [(f, ~mask) for f, mask in body.plain.items() if not self._holds(f, mask)]
        members = [(f, ~mask) for f, mask in body.members if not self._holds(f, mask)]
        spare = len(body.members) - body.min_members
        # A member more than can be spared says as much as a plain condition, but takes several reasons to say it.
        if plain:
            self._require_some(plain, 1)
            return
        if len(members) > spare:
            self._require_some(members, spare + 1)
            return
        for test in self.search.rule_list.label_tests[rule]:
            state = self.run.state.get(test.label) if self.run.setter.get(test.label, rule) < rule else None
            if state != test.value:
                self._add(self._why_label, test.label, rule)
                return

    def _why_reached(self, rule: int) -> None:
        for stop in self.search.stops:
            if stop >= rule:
                return
            if stop not in self.fired:
                self._add(self._why_failed, stop)
                continue
            for label in self.heads[stop]:  # all were set before, or it would have ended the list
                self._add(self._why_label, label, stop)

    def _holds(self, feature: int, mask: int) -> bool:
        return bool(mask >> self.trial[feature] & 1)

    def _require_some(self, tests: list[tuple[int, int]], count: int) -> None:
        """Make reasons of `count` tests: first those that hold in the whole domain or are reasons already."""
        for test in sorted(tests, key=self._news)[:count]:
            self._require(*test)

    def _news(self, test: tuple[int, int]) -> int:
        feature, mask = test
        if self.domain[feature] & ~mask == 0 or self.regions.get(feature, -1) & ~mask == 0:
            return 0
        return 1 if feature in self.regions else 2

    def _require(self, feature: int, mask: int) -> None:
        self.regions[feature] = self.regions.get(feature, self.domain[feature]) & mask


# Sums are compared with bounds that were added up in another order.
_SLACK = 1e-9


class SumSearch:
    """Search of an ensemble for a counterfactual, by its scores over sets of examples given by regions.

    Rules that a node neither forces nor forbids to fire are undecided; the scores that are still possible are between
    the sums in which each undecided rule does its worst and its best. A node in which the old outcome holds even then
    is dropped. Otherwise an undecided rule is decided both ways.

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
    >>> print(model.smallest_flip([80.0, 5.0], "calm"))
    calm is absent; the smallest change that makes it present: loud <= 3 (now 5)
    """

    def __init__(self, model: RuleEnsemble, grid: RegionGrid, target: int) -> None:
        self.model, self.target = model, target
        self.bodies = [grid.of_body(rule.body) for rule in model.rules]
        self.weights = np.zeros((len(model.rules), len(model.label_names)))
        for number, rule in enumerate(model.rules):
            for entry in rule.head:
                self.weights[number, entry.label] = entry.weight
        self.start = np.array(model.intercepts)
        by_cut = not model.decision.uses_sets
        self.needed = [target] if model.plan is None else list(model.plan.component(target))
        self.relevant = [k for k in range(len(model.rules)) if not by_cut or self.weights[k, self.needed].any()]

    def outcome(self, trial: Trial) -> int:
        """Return 1 if the label is predicted; weights are added in the order in which the model adds them."""
        scores = self.start.copy()
        for number in range(len(self.bodies)):
            if self.bodies[number].holds(trial):
                scores = scores + self.weights[number]
        return int(self.model.decide(scores[None, :])[0, self.target])

    def parts(self, domain: Domain, trial: Trial, before: int) -> list[Domain]:
        """Return parts of a node that may contain a counterfactual; none if the outcome is certain."""
        can = {k for k in self.relevant if self.bodies[k].possible(domain)}
        must = {k for k in can if self.bodies[k].certain(domain)}
        undecided = sorted(can - must)
        if not undecided:
            return []
        helps = self._helps(must, undecided, before)
        if helps is None:
            return []
        # First what would change the sum most from what it is in the trial.
        gain = {k: helps[i] * (-1 if self.bodies[k].holds(trial) else 1) for i, k in enumerate(undecided)}
        decided = max(undecided, key=lambda k: (gain[k], abs(gain[k]), -k))
        return self.bodies[decided].parts(domain)

    def _helps(self, must: set[int], undecided: list[int], before: int) -> Floats | None:
        """Return the contribution of each undecided rule to the new outcome; None if it is impossible."""
        decision = self.model.decision
        sure = self.start + self.weights[sorted(must)].sum(axis=0)
        open_weights = self.weights[undecided]
        if decision.kind == "expected-f1":  # no additive bound: every rule is decided in turn
            return np.asarray(np.abs(open_weights).sum(axis=1))
        if len(self.needed) > 1 and not decision.uses_sets:  # nor has a decision for several labels together
            return np.asarray(np.abs(open_weights[:, self.needed]).sum(axis=1))
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
