"""Counts of a list that an edit made stale: those of rules behind which other rules now come first."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from polyrule.conditions.body import canonical_key, label_conditions
from polyrule.model.rule import Rule

if TYPE_CHECKING:
    from polyrule.model.rule_list import RuleList

OUTDATED_DEFAULTS = "stale_defaults"
"""Member of the information about a list whose default counts are those before an edit."""

_BY_LABEL = "BinaryRelevanceRuleClassifier"


def mark_outdated(before: RuleList, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return the rules of an edited list, marked as stale if their counts depend on rules that have changed.

    The counts of a rule depend on the earlier rules that set its labels. They depend on all earlier rules if one of
    these stops the list or sets all labels, if a condition tests a label, and in lists whose counts are those of the
    working set in which they were grown. Rules that were not in the list before stay as they are.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import RuleList
    >>> from polyrule.conditions import MissingCondition
    >>> from polyrule.model.rule import Literal
    >>> rules = tuple(Rule((Literal(label, 1, tp=8),), (MissingCondition(0, label > 0),)) for label in (0, 1, 0))
    >>> model = RuleList(rules, (Feature("x"),), ("a", "b"), info={"pruning": {}})
    >>> [rule.stale for rule in mark_outdated(model, rules[1:])]
    [False, True]
    """
    chains: dict[Hashable, int] = {}
    old = dict(zip(before.rules, _histories(before, before.rules, chains), strict=False))
    new = _histories(before, rules, chains)
    marked = []
    for rule, history in zip(rules, new, strict=False):  # the last history is that of the defaults
        counted = rule.coverage is not None or bool(rule.tp or rule.fp)
        is_outdated = counted and not rule.stale and old.get(rule, history) != history
        marked.append(_as_outdated(rule) if is_outdated else rule)
    return tuple(marked)


def has_outdated_defaults(before: RuleList, rules: Sequence[Rule]) -> bool:
    """Return True if the default counts of an edited list depend on rules that have changed.

    Examples
    --------
    >>> from polyrule.model import Literal, RuleList
    >>> rules = Rule((Literal(0, 1),)), Rule((Literal(1, 1),))
    >>> model = RuleList(rules, (), ("a", "b"), default_counts=((1, 3), (0, 2)), info={"pruning": {}})
    >>> has_outdated_defaults(model, rules[::-1]), has_outdated_defaults(model, rules[:1])
    (False, True)
    """
    if not any(map(any, before.default_counts)) and all(rule.coverage is None for rule in before.rules):
        return False  # nothing was counted
    chains: dict[Hashable, int] = {}
    return _histories(before, before.rules, chains)[-1] != _histories(before, rules, chains)[-1]


def _as_outdated(rule: Rule) -> Rule:
    """Mark a rule; what it does alone stays right unless it tests labels."""
    if not any(label_conditions(rule.body)):
        return replace(rule, stale=True)
    return replace(rule, stale=True, head=tuple(replace(literal, alone=None) for literal in rule.head))


def _histories(model: RuleList, rules: Sequence[Rule], chains: dict[Hashable, int]) -> list[Hashable]:
    """Return a key of the earlier rules that the counts of each rule, and last the default counts, depend on.

    `chains` numbers sequences of rules.
    """
    info = model.info
    all_matter = model.full or not (info.get("learner") == _BY_LABEL or info.keys() & {"pruning", "recounted"})

    def chain(previous: int, rule: Rule) -> int:
        values = tuple((literal.label, literal.value) for literal in rule.head)
        return chains.setdefault((previous, values, canonical_key(rule.body), rule.stop), len(chains) + 1)

    whole, by_label = 0, dict.fromkeys(range(len(model.label_names)), 0)
    histories: list[Hashable] = []
    for rule in rules:
        labels = [literal.label for literal in rule.head]
        all_matter = all_matter or any(label_conditions(rule.body))
        histories.append(("all", whole) if all_matter else tuple(by_label[label] for label in labels))
        all_matter = all_matter or rule.stop
        whole = chain(whole, rule)
        for label in labels:
            by_label[label] = chain(by_label[label], rule)
    histories.append(("all", whole) if all_matter else tuple(by_label.values()))
    return histories
