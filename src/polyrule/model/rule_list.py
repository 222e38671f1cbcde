"""A learned rule list: the rules in order, and everything needed to predict, print and audit them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from polyrule.data.table import Feature
from polyrule.errors import ModelError
from polyrule.model.rule import LabelCondition, Rule


@dataclass(frozen=True, eq=False)
class RuleList:
    """Rules in order; the first rule to set a label wins.

    Parameters
    ----------
    rules : tuple of Rule
    features : tuple of Feature
        Name and kind of every column the rules may test.
    label_names : tuple of str
    defaults : tuple of int
        What a label is when nobody set it; all absent unless the learner found otherwise (binary relevance).
    default_counts : tuple of (present, absent)
        Per label, the training weight left unset at the end; the evidence behind a probability for an unset label.
    full : bool
        Full predictions: a rule that fires sets every label not yet set, those outside its head to absent.
    info : dict
        How the list was made: options, data fingerprint, version. Plain JSON values only.
    """

    rules: tuple[Rule, ...]
    features: tuple[Feature, ...]
    label_names: tuple[str, ...]
    defaults: tuple[int, ...] = ()
    default_counts: tuple[tuple[float, float], ...] = ()
    full: bool = False
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        width = len(self.label_names)
        if not self.defaults:
            object.__setattr__(self, "defaults", (0,) * width)
        if not self.default_counts:
            object.__setattr__(self, "default_counts", ((0, 0),) * width)
        for name, given in (("defaults", self.defaults), ("default_counts", self.default_counts)):
            if len(given) != width:
                raise ModelError(f"{name}: {len(given)} entries for {width} labels")
        for number, rule in enumerate(self.rules, start=1):
            _check_indices(rule, number, len(self.features), width)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __getitem__(self, index: int) -> Rule:
        return self.rules[index]


def _check_indices(rule: Rule, number: int, features: int, labels: int) -> None:
    for literal in rule.head:
        if not 0 <= literal.label < labels or literal.value not in (0, 1):
            raise ModelError(f"rule {number}: head literal {literal} names no label of this model")
    for condition in rule.body:
        if isinstance(condition, LabelCondition):
            known = 0 <= condition.label < labels and condition.value in (0, 1)
        else:
            known = 0 <= condition.feature < features
        if not known:
            raise ModelError(f"rule {number}: condition {condition} names no column of this model")
