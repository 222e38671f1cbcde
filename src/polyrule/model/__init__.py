"""Frozen rules and rule lists: predict, print, explain, edit, store, export."""

from polyrule.model.parsing import parse_rule
from polyrule.model.rule import (
    Condition,
    GroupCondition,
    LabelCondition,
    Literal,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    Rule,
    SetCondition,
)
from polyrule.model.rule_list import RuleList

__all__ = [
    "Condition",
    "GroupCondition",
    "LabelCondition",
    "Literal",
    "MissingCondition",
    "NominalCondition",
    "NumericCondition",
    "Rule",
    "RuleList",
    "SetCondition",
    "parse_rule",
]
