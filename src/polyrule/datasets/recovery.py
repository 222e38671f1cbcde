"""How much of what was planted a learner has found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.data.dataset import Dataset
from polyrule.datasets.synthetic import PlantedCondition, PlantedRule


@dataclass(frozen=True, slots=True)
class Recovery:
    """Which learned rule found which planted one.

    Attributes
    ----------
    matches : tuple of int or None
        For every planted rule the number of the learned rule that is most like it, or None.
    precision : float
        Share of the learned rules that match a planted one.
    recall : float
        Share of the planted rules that a learned one matches.

    Examples
    --------
    The first of two planted rules was found, as the third of four learned ones:

    >>> Recovery(matches=(2, None), precision=0.25, recall=0.5).recall
    0.5
    """

    matches: tuple[int | None, ...]
    precision: float
    recall: float


def recovery(
    learned: Iterable[Any],
    planted: Sequence[PlantedRule],
    data: Dataset,
    agreement: float = 0.8,
    whole_head: bool = True,
) -> Recovery:
    """Compare a learned rule list with the planted rules on the examples of `data`.

    A learned rule matches a planted one if both predict the same literals (with ``whole_head=False``: share a literal)
    and the examples that satisfy their bodies agree: intersection over union at least `agreement`. Conditions are
    judged by what they cover, because two thresholds that cut the examples alike are the same condition.

    Parameters
    ----------
    learned : rule list, or any rules with `head` (literals with `label`, `value`) and `body`
        The model to be judged, such as `RuleListClassifier.rules_`.
    planted : sequence of PlantedRule
        The truth, from `planted_rules`.
    data : Dataset
        The examples on which bodies are compared.
    agreement : float
        Least intersection over union of what two bodies cover.
    whole_head : bool
        Whether heads must be equal, or only share a literal.

    Examples
    --------
    >>> from polyrule.datasets.synthetic import planted_rules
    >>> data, rules = planted_rules(examples=300, rules=3, seed=2)
    >>> recovery([], rules, data).recall
    0.0
    """
    X = np.asarray(data.X)
    targets = _coverages(planted, X, len(data.label_names))
    found = _coverages([_as_planted(rule) for rule in learned], X, len(data.label_names))
    matches: list[int | None] = []
    matched: set[int] = set()
    for head, covered in targets:
        scores = [
            _overlap(covered, other) if _same_head(head, other_head, whole_head) else 0.0 for other_head, other in found
        ]
        best = int(np.argmax(scores)) if scores else -1
        matches.append(best if best >= 0 and scores[best] >= agreement else None)
        matched |= {number for number, score in enumerate(scores) if score >= agreement}
    hits = sum(match is not None for match in matches)
    return Recovery(
        tuple(matches), len(matched) / len(found) if found else 0.0, hits / len(targets) if targets else 0.0
    )


def _same_head(one: frozenset[tuple[int, int]], other: frozenset[tuple[int, int]], whole: bool) -> bool:
    return one == other if whole else bool(one & other)


def _overlap(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> float:
    union = int((one | other).sum())
    return float((one & other).sum() / union) if union else 0.0


def _coverages(
    rules: Sequence[PlantedRule], X: npt.NDArray[np.float64], labels: int
) -> list[tuple[frozenset[tuple[int, int]], npt.NDArray[np.bool_]]]:
    """Heads and covered examples, with label conditions reading what earlier rules of the same list have set."""
    state = np.full((len(X), labels), -1, dtype=np.int8)
    made = []
    for rule in rules:
        covered = rule.covers(X, state)
        made.append((frozenset(rule.head), covered))
        for label, value in rule.head:
            state[covered & (state[:, label] < 0), label] = value
    return made


def _as_planted(rule: Any) -> PlantedRule:
    head = tuple((int(literal.label), int(literal.value)) for literal in rule.head)
    return PlantedRule(head, tuple(_condition(condition) for condition in rule.body))


def _condition(condition: Any) -> Any:
    """Stored rules live in a later stage, so their conditions are told apart by what they have."""
    if hasattr(condition, "threshold"):
        return PlantedCondition("numeric", condition.feature, condition.op, condition.threshold)
    if hasattr(condition, "label"):
        return PlantedCondition("label", condition.label, "=", condition.value)
    if hasattr(condition, "value"):
        return PlantedCondition("nominal", condition.feature, "=", condition.value)
    return _Learned(condition)


@dataclass(frozen=True, slots=True)
class _Learned:
    """A condition that is never planted: a set of categories, whether a value is missing, or a group of conditions."""

    condition: Any

    def holds(self, X: npt.NDArray[np.float64], state: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
        if hasattr(self.condition, "members"):
            held = [_condition(member).holds(X, state) for member in self.condition.members]
            return np.asarray(np.sum(held, axis=0) >= self.condition.least)
        column = X[:, self.condition.feature]
        if hasattr(self.condition, "values"):
            return np.isin(column, self.condition.values)
        return np.asarray(np.isnan(column) == self.condition.missing)
