"""polyrule: readable, exact rules for multi-label classification, at native speed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from polyrule.version import __version__

if TYPE_CHECKING:
    from polyrule import datasets, measures
    from polyrule.budget import limits
    from polyrule.data import Dataset, Feature, Table
    from polyrule.estimators import BinaryRelevanceRuleClassifier, RuleEnsembleClassifier, RuleListClassifier
    from polyrule.kinds import load
    from polyrule.model import Rule, RuleList
    from polyrule.store import Store, pack

__all__ = [
    "BinaryRelevanceRuleClassifier",
    "Dataset",
    "Feature",
    "Rule",
    "RuleEnsembleClassifier",
    "RuleList",
    "RuleListClassifier",
    "Store",
    "Table",
    "__version__",
    "datasets",
    "limits",
    "load",
    "measures",
    "pack",
]

# Names are imported when first used, so that the command line answers at once and does not wait for scikit-learn.
_HOME = {
    "BinaryRelevanceRuleClassifier": "polyrule.estimators",
    "Dataset": "polyrule.data",
    "Feature": "polyrule.data",
    "Rule": "polyrule.model",
    "RuleEnsembleClassifier": "polyrule.estimators",
    "RuleList": "polyrule.model",
    "RuleListClassifier": "polyrule.estimators",
    "Store": "polyrule.store",
    "Table": "polyrule.data",
    "limits": "polyrule.budget",
    "load": "polyrule.kinds",
    "pack": "polyrule.store",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in ("datasets", "measures"):
        return import_module(f"polyrule.{name}")
    raise AttributeError(f"module 'polyrule' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
