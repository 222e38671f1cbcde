"""Selection of rules from a pool by coordinate search: add, exchange and remove rules, and move labels between bodies.

Each rule makes labels present, so that a list predicts a label if any of its rules does, and the order of rules does
not matter. The value of the whole list, from which gains follow, is updated until it no longer rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyrule.selection.covers import Covers
from polyrule.selection.objective import Costs, HeadedBody, reached_levels
from polyrule.selection.pool import Pool
from polyrule.selection.problem import ListProblem
from polyrule.utils.arrays import Bools, Floats, Ints, Matrix

_MAX_UPDATES = 10  # of the value of the list
_MAX_SWEEPS = 3


@dataclass(frozen=True)
class SelectedRule:
    """Rule of a selection: a body of the pool, and the labels that it makes present."""

    body: int
    labels: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Selected:
    """Selected rules, and the values that their labels are selected for, in units of 1 / QUANTUM."""

    rules: tuple[HeadedBody, ...]
    levels: Ints


@dataclass(frozen=True, eq=False)
class _Trial:
    """Rules that were selected for given levels, and the levels that they reach: of the list, and of each label."""

    rules: tuple[SelectedRule, ...]
    levels: Ints
    reached: int
    label_levels: Ints


def select(problem: ListProblem, pool: Pool, allowed: Bools | None = None) -> Selected:
    """Select the rules with the largest sum of gains less costs, at the value that the list reaches itself.

    When that value rises no more, labels of lower value are selected once more, each for a lower one. That is kept if
    the value of the list does not fall.

    Parameters
    ----------
    problem : ListProblem
    pool : Pool
    allowed : ndarray of bool, shape (bodies, labels), optional
        Instead of that of the pool.
    """
    allowed = pool.allowed if allowed is None else allowed
    n_labels = len(problem.predictable)
    best = _select_at(problem, pool, allowed, np.full(n_labels, problem.first_level), ())
    for _ in range(_MAX_UPDATES):
        trial = _select_at(problem, pool, allowed, np.full(n_labels, best.reached), best.rules)
        if trial.reached <= best.reached:
            break
        best = trial
    trial = _select_at(problem, pool, allowed, best.label_levels, best.rules)
    best = trial if trial.reached >= best.reached else best
    return Selected(tuple((pool.bodies[rule.body], rule.labels) for rule in best.rules), best.levels)


def _select_at(
    problem: ListProblem, pool: Pool, allowed: Bools, levels: Ints, rules: tuple[SelectedRule, ...]
) -> _Trial:
    """Select rules for given levels, from other rules on."""
    settings, fixed = problem.settings, problem.fixed
    levels = np.maximum(levels, settings.min_level)
    gains = problem.gains(problem.targets, levels)
    costs, max_head_size = problem.costs, settings.max_head_size
    selection = RuleSelection(pool.covers, pool.cost_units, gains, costs, fixed.cells, allowed, max_head_size)
    for rule in rules:
        selection.add(rule)
    selection.search(settings.max_rules)
    predicted = problem.known_cells & np.where(fixed.cells, fixed.present, selection.count > 0)
    reached = reached_levels(problem.validation_targets, problem.train.weights, predicted, settings.beta_squared)
    return _Trial(tuple(selection.rules), levels, *reached)


class RuleSelection:
    """Selection of bodies and heads that is changed step by step.

    Parameters
    ----------
    covers : Covers
    cost_units : ndarray of int
        Conditions of each body, as they are priced.
    gains : ndarray of float64, shape (rows, labels)
        Gain of predicting each cell as present; whole numbers.
    costs : Costs
    fixed : ndarray of bool, shape (rows, labels)
        Cells that earlier rules have set.
    allowed : ndarray of bool, shape (bodies, labels), optional
        Labels that may be in the head for each body.
    max_head_size : int, optional
    """

    def __init__(
        self,
        covers: Covers,
        cost_units: Ints,
        gains: Matrix,
        costs: Costs,
        fixed: Bools,
        allowed: Bools | None = None,
        max_head_size: int | None = None,
    ) -> None:
        # Most operations are on single labels, so each label's numbers are contiguous.
        self.covers, self.costs = covers, costs
        self.allowed = None if allowed is None or allowed.all() else np.asfortranarray(allowed)
        self.max_head_size = gains.shape[1] if max_head_size is None else min(max_head_size, gains.shape[1])
        self.gains = np.asfortranarray(np.where(fixed, 0.0, gains))
        self.body_costs = costs.of_bodies(cost_units)
        self.count = np.zeros(gains.shape, dtype=np.int32)
        #: gain of the cells that each body covers, and of those that no rule sets yet
        self.full_scores = np.asfortranarray(covers.sums(np.ones(len(gains), dtype=bool), self.gains))
        self.scores = self.full_scores.copy(order="F")
        self.head_gains = np.maximum(self._net_gains(), 0.0).sum(axis=1)
        self.rules: list[SelectedRule] = []

    def search(self, max_rules: int | None) -> None:
        """Improve the selection until nothing changes."""
        for _ in range(_MAX_SWEEPS):
            if not (self.exchange() | self.move_labels(max_rules) | self.grow(max_rules)):
                break
        self.prune()

    def add(self, rule: SelectedRule) -> None:
        """Append a rule."""
        rows, labels = np.flatnonzero(self.covers.of(rule.body)), np.array(rule.labels)
        cells = np.ix_(rows, labels)
        self._update(rows, labels, self.count[cells] == 0, -1.0)
        self.count[cells] += 1
        self.rules.append(rule)

    def remove(self, place: int) -> SelectedRule:
        """Remove a rule."""
        rule = self.rules.pop(place)
        rows, labels = np.flatnonzero(self.covers.of(rule.body)), np.array(rule.labels)
        cells = np.ix_(rows, labels)
        self.count[cells] -= 1
        self._update(rows, labels, self.count[cells] == 0, 1.0)
        return rule

    def _update(self, rows: Ints, labels: Ints, free: Bools, sign: float) -> None:
        """Add the gains of free cells to the scores of all bodies that cover them, or subtract them."""
        changed = np.zeros(len(self.gains), dtype=bool)
        changed[rows] = free.any(axis=1)
        gains = np.zeros((len(self.gains), len(labels)))
        gains[rows] = sign * np.where(free, self.gains[np.ix_(rows, labels)], 0.0)
        self._replace_scores(labels, self.scores[:, labels] + self.covers.sums(changed, gains))

    def _replace_scores(self, labels: Ints, scores: Matrix) -> None:
        """Replace the scores of some labels, and update the gains of the best heads."""
        self.head_gains -= np.maximum(self._net_gains(labels), 0.0).sum(axis=1)
        self.scores[:, labels] = scores
        self.head_gains += np.maximum(self._net_gains(labels), 0.0).sum(axis=1)

    def values(self) -> Matrix:
        """Return the net gain of each body with its best head."""
        if self.max_head_size == self.gains.shape[1]:
            return np.asarray(self.head_gains - self.body_costs)
        gains = np.maximum(self._net_gains(), 0.0)
        return np.asarray(
            np.partition(gains, -self.max_head_size, axis=1)[:, -self.max_head_size :].sum(axis=1) - self.body_costs
        )

    def head(self, body: int, scores: Floats | None = None) -> SelectedRule | None:
        """Return a body with its best head, by the current or other scores; None if it does not exceed its costs."""
        gains = (self.scores[body] if scores is None else scores) - self.costs.literal
        gains = gains if self.allowed is None else np.where(self.allowed[body], gains, -1.0)
        labels = np.flatnonzero(gains > 0)
        labels = np.sort(labels[np.argsort(-gains[labels], kind="stable")[: self.max_head_size]])
        exceeds = gains[labels].sum() > self.body_costs[body]
        return SelectedRule(body, tuple(labels.tolist())) if exceeds else None

    def _net_gains(self, labels: Ints | slice = slice(None)) -> Matrix:
        gains = self.scores[:, labels] - self.costs.literal
        return gains if self.allowed is None else np.where(self.allowed[:, labels], gains, -1.0)

    def best(self) -> SelectedRule | None:
        """Return the rule with the largest net gain, the first body of equals; None if none exceeds its costs."""
        values = self.values()
        return self.head(int(np.argmax(values))) if len(values) else None

    def grow(self, max_rules: int | None) -> bool:
        """Add the best rule while there is one; return True if there was."""
        n_before = len(self.rules)
        while max_rules is None or len(self.rules) < max_rules:
            rule = self.best()
            if rule is None:
                break
            self.add(rule)
        return len(self.rules) > n_before

    def exchange(self) -> bool:
        """Replace each rule by the best one, or by none; return True if anything changed."""
        changed = False
        for place in reversed(range(len(self.rules))):
            changed |= self._revise(place, exchange=True)
        return changed

    def prune(self) -> None:
        """Remove rules and labels that do not exceed their costs, and add labels that do, until nothing changes."""
        changed = True
        while changed:
            changed = False
            for place in reversed(range(len(self.rules))):
                changed |= self._revise(place, exchange=False)

    def _revise(self, place: int, *, exchange: bool) -> bool:
        if not exchange and self._has_best_head(self.rules[place]):
            return False
        labels = np.array(self.rules[place].labels)
        scores_before = self.scores[:, labels]
        old = self.remove(place)
        new = self.head(old.body)
        if exchange:
            values = self.values()
            best = int(np.argmax(values))
            if values[best] > values[old.body]:
                new = self.head(best)
            if new is not None and new == old:  # no sums have to be computed again
                self.count[np.ix_(self.covers.of(old.body), labels)] += 1
                self._replace_scores(labels, scores_before)
                self.rules.insert(place, old)
                return False
        if new is not None:
            self.add(new)
            self.rules.insert(place, self.rules.pop())
        return True

    def _has_best_head(self, rule: SelectedRule) -> bool:
        """Return True if the head of a rule is the best one for its body, with the other rules as they are."""
        cells = np.ix_(self.covers.of(rule.body), np.array(rule.labels))
        scores = self.scores[rule.body].copy()
        scores[list(rule.labels)] += np.where(self.count[cells] == 1, self.gains[cells], 0.0).sum(axis=0)
        return self.head(rule.body, scores) == rule

    def move_labels(self, max_rules: int | None) -> bool:
        """Select the bodies of each label anew; return True if anything changed.

        A large head for a general body gains more than any single rule that could replace it, but its labels may each
        gain more elsewhere. A label on a body that other labels use has no cost of a rule.
        """
        changed, heads = False, self._heads()
        for label in range(self.gains.shape[1]):
            if self._move_label(label, heads, max_rules):
                changed, heads = True, self._heads()
        return changed

    def _heads(self) -> dict[int, set[int]]:
        """Return the labels of each body."""
        heads: dict[int, set[int]] = {}
        for rule in self.rules:
            heads.setdefault(rule.body, set()).update(rule.labels)
        return heads

    def _move_label(self, label: int, heads: dict[int, set[int]], max_rules: int | None) -> bool:
        old = [body for body, labels in heads.items() if label in labels]
        sizes = ((body, len(labels) - (label in labels)) for body, labels in heads.items())
        shared = {body: size >= self.max_head_size for body, size in sizes if size}
        costs = self._label_costs(label, shared)
        new = self.bodies_for(label, costs)
        if set(new) == set(old):
            return False
        before, after = self._net_gain(label, old, costs), self._net_gain(label, new, costs)
        changed = dict.fromkeys([*new, *old])
        heads_after = {body: set(labels) for body, labels in heads.items() if body not in changed}
        for body in changed:
            labels = heads.get(body, set()) - {label} | ({label} if body in new else set())
            heads_after |= {body: labels} if labels else {}
        n_rules = sum(-(-len(labels) // self.max_head_size) for labels in heads_after.values())
        if after <= before or (max_rules is not None and n_rules > max(max_rules, len(self.rules))):
            return False
        self._move(label, [rule.body for rule in self.rules if label in rule.labels], new)
        self.rules = [rule for rule in self.rules if rule.body not in changed]
        for body in changed:
            labels_left = sorted(heads_after.get(body, ()))
            for place in range(0, len(labels_left), self.max_head_size):
                self.rules.append(SelectedRule(body, tuple(labels_left[place : place + self.max_head_size])))
        return True

    def _move(self, label: int, old: Sequence[int], new: Sequence[int]) -> None:
        """Move one label from the heads of `old` bodies to those of `new` bodies. Other labels do not change."""
        count = self.count[:, label]
        free = count == 0
        for bodies, step in ((old, -1), (new, 1)):
            for body in bodies:
                count[self.covers.of(body)] += step
        change = free.astype(np.float64) - (count == 0)  # cells that are no longer free lose their gains
        labels, gains = np.array([label]), -change * self.gains[:, label]
        self._replace_scores(labels, self.scores[:, labels] + self.covers.sums(change != 0, gains[:, None]))

    def _label_costs(self, label: int, shared: dict[int, bool]) -> Matrix:
        """Return the costs of a label for each body, given the bodies of other labels and if their heads are full."""
        costs = self.body_costs + self.costs.literal
        for body, full in shared.items():
            costs[body] = np.inf if full else self.costs.literal
        if self.allowed is not None:
            costs[~self.allowed[:, label]] = np.inf
        return costs

    def bodies_for(self, label: int, costs: Matrix) -> list[int]:
        """Cover the cells of one label greedily, and remove bodies that turn out to be redundant."""
        gains, scores = self.gains[:, label].copy(), self.full_scores[:, label].copy()
        bodies: list[int] = []
        while len(self.covers):
            best = int(np.argmax(scores - costs))
            if not scores[best] > costs[best]:
                break
            rows = self.covers.of(best) & (gains != 0)
            scores -= self.covers.sums(rows, gains[:, None])[:, 0]
            gains[rows] = 0.0
            bodies.append(best)
        for body in reversed(bodies.copy()):
            fewer = [other for other in bodies if other != body]
            if self._net_gain(label, fewer, costs) >= self._net_gain(label, bodies, costs):
                bodies = fewer
        return bodies

    def _net_gain(self, label: int, bodies: list[int], costs: Matrix) -> float:
        predicted = self.covers.any_of(bodies)
        return float(self.gains[predicted, label].sum() - costs[bodies].sum())
