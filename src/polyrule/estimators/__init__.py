"""The scikit-learn classes: a rule list for all labels, one list per label, a few weighted rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyrule.utils.lazy import lazy_names

if TYPE_CHECKING:
    from polyrule.estimators.binary_relevance import BinaryRelevanceRuleClassifier
    from polyrule.estimators.ensemble import RuleEnsembleClassifier
    from polyrule.estimators.rule_list import RuleListClassifier

__all__ = ["BinaryRelevanceRuleClassifier", "RuleEnsembleClassifier", "RuleListClassifier"]

# Imported when first used: a rule list need not wait for what an ensemble is learned with.
__getattr__ = lazy_names(
    __name__,
    {
        "binary_relevance": "BinaryRelevanceRuleClassifier",
        "ensemble": "RuleEnsembleClassifier",
        "rule_list": "RuleListClassifier",
    },
)
