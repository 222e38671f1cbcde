"""A rule list run on one example, rule by rule."""

from __future__ import annotations

from typing import Any

from tests.twin.engine import holds

from polyrule.model import RuleList


def predict(model: RuleList, row: Any) -> list[int]:
    """Return the labels of one example: those that rules set, and the defaults."""
    labels = labels_set(model, row)
    return [default if label < 0 else label for label, default in zip(labels, model.defaults, strict=True)]


def unset_weight(model: RuleList, rows: Any, truth: Any, weights: list[int]) -> list[list[int]]:
    """Return the present and absent weight, per label, of the examples on which no rule sets it."""
    sums = [[0, 0] for _ in model.label_names]
    for row, present, weight in zip(rows, truth, weights, strict=True):
        for label, value in enumerate(labels_set(model, row)):
            if value < 0 and present[label] < 2:
                sums[label][1 - present[label]] += weight
    return sums


def labels_set(model: RuleList, row: Any) -> list[int]:
    """Return what rules set, -1 if none does: the first one wins, a stop counts only for a rule that set a label."""
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
    return labels
