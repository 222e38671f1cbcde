"""Size and shape of a rule list in numbers, and the list as a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyrule.model import printing
from polyrule.model.narrowing import used_features
from polyrule.model.rule import LabelCondition, plain_conditions, size_of

if TYPE_CHECKING:
    from polyrule.model.rule_list import RuleList


def statistics(rule_list: RuleList) -> dict[str, float]:
    """Count what a list is made of.

    Returns
    -------
    dict
        rules; conditions; label_conditions; rules_with_label_conditions; rules_with_multi_label_heads and their
        percentage; labels_per_head and conditions_per_rule (averages, 0 for an empty list); negative_literals;
        literals; stops; features_used; labels_predicted; hand_made (rules edited or written by hand).

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, Rule, RuleList
    >>> stats = statistics(RuleList((Rule((Literal(0, 1), Literal(1, 0))),), (), ("a", "b")))
    >>> stats["rules"], stats["labels_per_head"], stats["rules_with_multi_label_heads"]
    (1, 2.0, 1)
    """
    rules = rule_list.rules
    conditions = [condition for rule in rules for condition in plain_conditions(rule.body)]
    label_tests = sum(isinstance(condition, LabelCondition) for condition in conditions)
    literals = [literal for rule in rules for literal in rule.head]
    multi = sum(rule.is_multi_label for rule in rules)
    count = max(1, len(rules))
    return {
        "rules": len(rules),
        "conditions": len(conditions),
        "label_conditions": label_tests,
        "rules_with_label_conditions": sum(
            any(isinstance(condition, LabelCondition) for condition in rule.body) for rule in rules
        ),
        "rules_with_multi_label_heads": multi,
        "multi_label_heads_percent": 100 * multi / count,
        "labels_per_head": len(literals) / count,
        "conditions_per_rule": len(conditions) / count,
        "literals": len(literals),
        "negative_literals": sum(literal.value == 0 for literal in literals),
        "stops": sum(rule.stop for rule in rules),
        "features_used": len(used_features(rules)),
        "labels_predicted": len({literal.label for literal in literals}),
        "hand_made": sum(rule.origin != "learned" for rule in rules),
    }


def records(rule_list: RuleList, digits: int | None = None) -> list[dict[str, Any]]:
    """One plain dict per rule: what a frame, CSV or JSON shows; texts with `digits` as in `printing.format_list`."""
    features, names = rule_list.features, rule_list.label_names
    return [
        {
            "rule": number,
            "head": printing.format_head(rule, names),
            "body": printing.format_body(rule.body, features, names, digits),
            "labels": len(rule.head),
            "conditions": size_of(rule.body),
            "tp": rule.tp,
            "fp": rule.fp,
            "expected": rule.expected,
            "value": None if rule.value is None else float(rule.value),
            "coverage": rule.coverage,
            "stop": rule.stop,
            "origin": rule.origin,
        }
        for number, rule in enumerate(rule_list, start=1)
    ]
