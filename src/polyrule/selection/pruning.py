"""Pruning of a selected list: whatever can be left out without loss is left out.

That is a condition, a member of a group, a label of a head, or a rule. Rules that test different categories of one
feature, and are equal otherwise, become one if it costs less. A label of whose rules nothing is left over for
any example, or that is predicted with the same gain for all of them, becomes a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from polyrule.conditions import Condition, GroupCondition, NominalCondition, SetCondition, one_of
from polyrule.conditions.evaluate import evaluate
from polyrule.selection.derived_columns import largest_set
from polyrule.selection.objective import Body, HeadedBody, condition_cost_units, order_by_gain
from polyrule.selection.problem import ListProblem
from polyrule.utils.arrays import Bools, Ints


def prune(problem: ListProblem, rules: Sequence[HeadedBody], levels: Ints) -> tuple[HeadedBody, ...]:
    """Return rules of which nothing can be left out without loss, the one that adds most first, constants before all.

    Parameters
    ----------
    problem : ListProblem
    rules : sequence of bodies with labels
    levels : ndarray of int
        Value that each label is selected for.
    """
    return RulePruner(problem, rules, levels).pruned()


def shorter_bodies(body: Body) -> Iterator[Body]:
    """Yield the bodies with one condition, or one member of a group, less.

    Examples
    --------
    >>> from polyrule.conditions import MissingCondition
    >>> a, b, c = (MissingCondition(feature, True) for feature in range(3))
    >>> list(shorter_bodies((a, GroupCondition((b, c))))) == [(GroupCondition((b, c)),), (a,), (a, c), (a, b)]
    True
    """
    for place, condition in enumerate(body):
        before, after = body[:place], body[place + 1 :]
        yield (*before, *after)
        if isinstance(condition, GroupCondition):
            for member in condition.members:
                rest = tuple(other for other in condition.members if other != member)
                yield (*before, rest[0] if len(rest) == 1 else GroupCondition(rest, condition.least), *after)


def united_categories(body_a: Body, body_b: Body) -> tuple[Body, NominalCondition | SetCondition] | None:
    """Return the body that holds if either does, and its condition on the categories of both.

    None if the bodies do not differ in exactly one condition each, on categories of the same feature.

    Examples
    --------
    >>> a, b, c = (NominalCondition(0, value) for value in range(3))
    >>> united_categories((a,), (c,))
    ((SetCondition(feature=0, values=(0, 2)),), SetCondition(feature=0, values=(0, 2)))
    >>> united_categories((a,), (NominalCondition(1, 0),)) is None
    True
    """
    only_a = [condition for condition in body_a if condition not in body_b]
    only_b = [condition for condition in body_b if condition not in body_a]
    pair = [condition for condition in (*only_a, *only_b) if isinstance(condition, NominalCondition | SetCondition)]
    if not len(only_a) == len(only_b) == 1 or len(pair) < 2 or pair[0].feature != pair[1].feature:
        return None
    a, b = pair
    union = one_of(a.feature, {*a.categories, *b.categories})
    return tuple(union if condition == a else condition for condition in body_a), union


@dataclass(eq=False)
class _PrunedRule:
    """Rule that becomes shorter."""

    body: Body
    head: set[int]


class RulePruner:
    """Rules that become fewer and shorter.

    Parameters
    ----------
    problem, rules, levels
        See `prune`.
    """

    def __init__(self, problem: ListProblem, rules: Sequence[HeadedBody], levels: Ints) -> None:
        self._problem, self._costs = problem, problem.costs
        limit = problem.settings.max_head_size
        self._max_head_size = len(levels) if limit is None else limit
        self._gains = np.where(problem.fixed.cells, 0.0, problem.gains(problem.targets, levels))
        self._masks: dict[Condition, Bools] = {}
        self._covers: dict[Body, Bools] = {}
        self._rules: list[_PrunedRule] = []
        self._count = np.zeros(self._gains.shape, dtype=np.int32)
        for body, labels in rules:
            self._add(body, set(labels))

    def pruned(self) -> tuple[HeadedBody, ...]:
        """Prune until nothing changes, and return the rules in order."""
        changed = True
        while changed:
            changed = False
            for rule in reversed(list(self._rules)):
                changed |= self._shorten(rule)
            while self._unite():
                changed = True
            for label in sorted(set().union(*(rule.head for rule in self._rules))):
                changed |= self._make_constant(label)
        heads = [tuple(sorted(rule.head)) for rule in self._rules]
        order = order_by_gain([self.cover(rule.body) for rule in self._rules], heads, self._gains)
        order.sort(key=lambda number: bool(self._rules[number].body))
        return tuple((self._rules[number].body, heads[number]) for number in order)

    def cover(self, body: Body) -> Bools:
        """Return the rows that a body covers."""
        if body not in self._covers:
            cover = np.ones(len(self._gains), dtype=bool)
            for condition in body:
                if condition not in self._masks:
                    self._masks[condition] = evaluate(condition, self._problem.train.table)
                cover &= self._masks[condition]
            self._covers[body] = cover
        return self._covers[body]

    def _shorten(self, rule: _PrunedRule) -> bool:
        """Apply the best change to a rule while one is no loss; return True if there was one."""
        changed = False
        while any(other is rule for other in self._rules):
            options = [(body, rule.head) for body in shorter_bodies(rule.body) if self._covers_enough(body)]
            options += [(rule.body, rule.head - {label}) for label in sorted(rule.head)]
            options += [(rule.body, set())]
            losses = [self._loss(rule, *option) for option in options]
            best = int(np.argmin(losses))
            if losses[best] > 0:
                break
            rule, changed = self._replace(rule, *options[best]), True
        return changed

    def _unite(self) -> bool:
        """Replace two rules that differ in categories of one feature by one; return True if that saved costs.

        The rules predict the same cells as before. Sets stay as small as those that are grown.
        """
        features = self._problem.train.table.features
        for rule_a, rule_b in combinations(self._rules, 2):
            union = united_categories(rule_a.body, rule_b.body) if rule_a.head == rule_b.head else None
            if union is None:
                continue
            body, condition = union
            costs = [self._body_cost(one) for one in (rule_a.body, rule_b.body, body)]
            saves = costs[2] < costs[0] + costs[1] + self._costs.literal * len(rule_a.head)
            if saves and len(condition.categories) <= largest_set(len(features[condition.feature].categories)):
                head = set(rule_a.head)
                self._replace(rule_b, rule_b.body, set())
                self._replace(rule_a, body, head)
                return True
        return False

    def _covers_enough(self, body: Body) -> bool:
        """Return True if a body covers enough examples, in number and in weight."""
        examples = self._problem.examples
        rows = self.cover(body)[: len(examples)]
        has_rows = np.count_nonzero(rows) >= self._problem.settings.least_rows(len(examples))
        return bool(has_rows and examples.weights[rows].sum() >= self._problem.min_coverage)

    def _body_cost(self, body: Body) -> float:
        units = condition_cost_units(body, self._problem.train.table.features)
        return float(self._costs.of_bodies(np.array([units]))[0])

    def _partner(self, body: Body, head: set[int], rule: _PrunedRule | None = None) -> _PrunedRule | None:
        """Return another rule with this body whose head has room for these labels, if there is one."""
        for other in self._rules:
            if other is not rule and other.body == body and len(other.head | head) <= self._max_head_size:
                return other
        return None

    def _loss(self, rule: _PrunedRule, new_body: Body, new_head: set[int]) -> float:
        """Return the loss of the objective if a rule has another body or head; an empty head removes it."""
        old, new = self.cover(rule.body), self.cover(new_body)
        labels = sorted(rule.head & new_head)
        loss = self._gain(old & ~new, labels, 1) - self._gain(new & ~old, labels, 0)
        loss += self._gain(old, sorted(rule.head - new_head), 1)
        loss -= self._body_cost(rule.body) + self._costs.literal * len(rule.head)
        if new_head:
            partner = None if new_body == rule.body else self._partner(new_body, new_head, rule)
            present = set() if partner is None else partner.head
            loss += self._costs.literal * len(new_head - present)
            loss += 0.0 if present else self._body_cost(new_body)
        return loss

    def _gain(self, rows: Bools, labels: list[int], count: int) -> float:
        """Return the gains of the cells that `count` rules set."""
        cells = np.ix_(np.flatnonzero(rows), np.array(labels, dtype=np.int64))
        return float(self._gains[cells][self._count[cells] == count].sum())

    def _replace(self, rule: _PrunedRule, new_body: Body, new_head: set[int]) -> _PrunedRule:
        """Give a rule another body and head, or join it to the rule that has this body; return that rule."""
        place = next(number for number, other in enumerate(self._rules) if other is rule)
        self._rules.pop(place)
        self._count[np.ix_(np.flatnonzero(self.cover(rule.body)), np.array(sorted(rule.head)))] -= 1
        return self._add(new_body, new_head, place) if new_head else rule

    def _add(self, body: Body, head: set[int], place: int | None = None) -> _PrunedRule:
        """Add a rule, or labels to the rule that has this body; return that rule."""
        rule = self._partner(body, head)
        if rule is None:
            rule = _PrunedRule(body, set())
            self._rules.insert(len(self._rules) if place is None else place, rule)
        new = np.array(sorted(head - rule.head), dtype=np.int64)
        self._count[np.ix_(np.flatnonzero(self.cover(body)), new)] += 1
        rule.head |= head
        return rule

    def _make_constant(self, label: int) -> bool:
        """Predict a label for all examples if that is no loss, or if its rules do so together; return True if done.

        If there is no room for another rule, the last rule of such a label loses it.
        """
        rules = [rule for rule in self._rules if label in rule.head]
        if any(not rule.body for rule in rules):
            return False
        n_rows = len(self._problem.examples)
        open_rows = ~self._problem.fixed.cells[:n_rows, label] & self._problem.known_cells[:n_rows, label]
        everywhere = bool((self._count[:n_rows, label] > 0)[open_rows].all())
        loss = self._costs.literal * (1 - len(rules)) - self._gains[self._count[:, label] == 0, label].sum()
        loss -= sum(self._body_cost(rule.body) for rule in rules if len(rule.head) == 1)
        if loss > 0 and not everywhere:
            return False
        limit = self._problem.settings.max_rules
        n_left = sum(rule.head != {label} for rule in self._rules)
        if limit is not None and n_left >= limit and self._partner((), {label}) is None:
            if everywhere:
                self._replace(rules[-1], rules[-1].body, rules[-1].head - {label})
            return everywhere
        for rule in rules:
            self._replace(rule, rule.body, rule.head - {label})
        self._add((), {label})
        return True
