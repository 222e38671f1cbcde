"""polyrule: readable, exact rules for multi-label classification, at native speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyrule.utils.lazy import lazy_names
from polyrule.utils.version import __version__

if TYPE_CHECKING:
    from polyrule import datasets, measures
    from polyrule.data import Dataset, Feature, Table
    from polyrule.estimators import (
        BinaryRelevanceRuleClassifier,
        Constraints,
        RuleEnsembleClassifier,
        RuleListClassifier,
        SeCoClassifier,
        config_context,
        get_config,
        set_config,
    )
    from polyrule.estimators.naming import name_features
    from polyrule.model import Rule, RuleList
    from polyrule.model.files import load
    from polyrule.store import Store, pack
    from polyrule.utils.budget import limits

__all__ = [
    "BinaryRelevanceRuleClassifier",
    "Constraints",
    "Dataset",
    "Feature",
    "Rule",
    "RuleEnsembleClassifier",
    "RuleList",
    "RuleListClassifier",
    "SeCoClassifier",
    "Store",
    "Table",
    "__version__",
    "config_context",
    "datasets",
    "get_config",
    "limits",
    "load",
    "measures",
    "name_features",
    "pack",
    "set_config",
]

# Names are imported when first used, so that the command line answers at once and does not wait for scikit-learn.
__getattr__ = lazy_names(
    __name__,
    {
        "": "datasets measures",
        "utils.budget": "limits",
        "data": "Dataset Feature Table",
        "estimators.binary_relevance": "BinaryRelevanceRuleClassifier",
        "estimators.config": "config_context get_config set_config",
        "estimators.constraints": "Constraints",
        "estimators.ensemble": "RuleEnsembleClassifier",
        "estimators.naming": "name_features",
        "estimators.rule_list": "RuleListClassifier",
        "estimators.seco": "SeCoClassifier",
        "model": "Rule RuleList",
        "model.files": "load",
        "store": "Store pack",
    },
)


def __dir__() -> list[str]:
    return __all__
