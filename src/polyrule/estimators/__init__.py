"""Scikit-learn classes: two learners of rule lists, one list per label, and an ensemble of weighted rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyrule.utils.lazy import lazy_names

if TYPE_CHECKING:
    from polyrule.estimators.binary_relevance import BinaryRelevanceRuleClassifier
    from polyrule.estimators.config import config_context, get_config, set_config
    from polyrule.estimators.constraints import Constraints
    from polyrule.estimators.ensemble import RuleEnsembleClassifier
    from polyrule.estimators.rule_list import RuleListClassifier
    from polyrule.estimators.seco import SeCoClassifier

__all__ = [
    "BinaryRelevanceRuleClassifier",
    "Constraints",
    "RuleEnsembleClassifier",
    "RuleListClassifier",
    "SeCoClassifier",
    "config_context",
    "get_config",
    "set_config",
]

# Imported when first used: a rule list need not wait for the modules of ensembles.
__getattr__ = lazy_names(
    __name__,
    {
        "binary_relevance": "BinaryRelevanceRuleClassifier",
        "config": "config_context get_config set_config",
        "constraints": "Constraints",
        "ensemble": "RuleEnsembleClassifier",
        "rule_list": "RuleListClassifier",
        "seco": "SeCoClassifier",
    },
)
