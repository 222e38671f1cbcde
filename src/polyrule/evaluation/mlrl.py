"""Counting the rules of models learned by MLRL-SeCo and BOOMER, an optional peer."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def count_rules(model: Any) -> dict[str, int]:
    """Walk such a model with its own library's visitor; the default rule (no conditions) does not count as a rule."""
    base: Any = import_module("mlrl.common.cython.rule_model").RuleModelVisitor
    bodies: list[int] = []
    heads: list[int] = []

    class Counter(base):  # type: ignore[misc]
        def visit_empty_body(self, body: Any) -> None:
            bodies.append(0)

        def visit_conjunctive_body(self, body: Any) -> None:
            # a body keeps one array of indices per kind of condition, None where there is none
            arrays = (getattr(body, name) for name in dir(body) if name.endswith("_indices"))
            bodies.append(sum(len(array) for array in arrays if array is not None))

        def visit_complete_head(self, head: Any) -> None:
            heads.append(len(head.scores))

        def visit_partial_head(self, head: Any) -> None:
            heads.append(len(head.scores))

    model.visit_used(Counter())
    rules = [(conditions, labels) for conditions, labels in zip(bodies, heads, strict=True) if conditions > 0]
    return {
        "rules": len(rules),
        "conditions": sum(conditions for conditions, _ in rules),
        "multi_label_rules": sum(labels > 1 for _, labels in rules),
        "head_literals": sum(labels for _, labels in rules),
        "label_conditions": 0,
    }
