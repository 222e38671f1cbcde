"""A rule list run on one example, rule by rule."""

from __future__ import annotations

from typing import Any

from tests.twin.engine import holds

from polyrule.model import RuleList


def predict(model: RuleList, row: Any) -> list[int]:
    """Labels of one example: the first rule to set a label wins, a stop counts only for a rule that set one."""
    labels = [-1] * len(model.label_names)
    for rule in model.rules:
        if not all(holds(condition, row, labels) for condition in rule.body):
            continue
        said = [(literal.label, literal.value) for literal in rule.head]
        if model.full:
            said += [(label, 0) for label in range(len(labels))]
        newly = False
        for label, value in said:
            if labels[label] < 0:
                labels[label] = value
                newly = True
        if rule.stop and newly:
            break
    return [default if label < 0 else label for label, default in zip(labels, model.defaults, strict=True)]
