"""Frozen rules and rule lists: predict, print, explain, edit, store, export."""

from polyrule.conditions import (
    Condition,
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
)
from polyrule.model.parsing import parse_rule
from polyrule.model.rule import Literal, Rule
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
