"""The scikit-learn classes: a rule list for all labels, one list per label, a few weighted rules."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polyrule.estimators.binary_relevance import BinaryRelevanceRuleClassifier
    from polyrule.estimators.ensemble import RuleEnsembleClassifier
    from polyrule.estimators.rule_list import RuleListClassifier

__all__ = ["BinaryRelevanceRuleClassifier", "RuleEnsembleClassifier", "RuleListClassifier"]

# Imported when first used: a rule list need not wait for what an ensemble is learned with.
_HOME = {
    "BinaryRelevanceRuleClassifier": "binary_relevance",
    "RuleEnsembleClassifier": "ensemble",
    "RuleListClassifier": "rule_list",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"polyrule.estimators.{_HOME[name]}"), name)
    raise AttributeError(f"module 'polyrule.estimators' has no attribute {name!r}")
