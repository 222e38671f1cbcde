"""Which models a report can show, and what each kind contributes."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from polyrule.ensemble.model import RuleEnsemble
from polyrule.errors import OptionError
from polyrule.model.rule import Rule
from polyrule.model.rule_list import RuleList
from polyrule.report import ensemble_summary, list_summary


def kind_of(model: Any) -> ModuleType:
    """Return the module that summarises this kind of model."""
    if isinstance(model, RuleList):
        return list_summary
    if isinstance(model, RuleEnsemble):
        return ensemble_summary
    raise OptionError(f"cannot report on {type(model).__name__}: only rule lists and rule ensembles have a report")


def signed_rules(model: Any) -> Sequence[Rule]:
    """Return a model's rules as heads of present and absent labels with their bodies."""
    if isinstance(model, RuleEnsemble):
        return [ensemble_summary.signed_rule(rule) for rule in model.rules]
    rules: Sequence[Rule] = model.rules
    return rules
