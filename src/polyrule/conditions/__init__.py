"""Conditions: their types, the neutral form between types and targets, evaluation, packing and text."""

from polyrule.conditions.base import Condition, FeatureCondition
from polyrule.conditions.body import (
    Body,
    canonical_key,
    feature_conditions,
    fixed_features,
    flatten,
    group_of,
    groups_of,
    is_valid,
    label_conditions,
    map_conditions,
    map_thresholds,
    n_conditions,
    thresholds,
    ungrouped_conditions,
    without_labels,
)
from polyrule.conditions.types import (
    CONDITION_TYPES,
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
)
from polyrule.conditions.types.sets import one_of

__all__ = [
    "CONDITION_TYPES",
    "Body",
    "Condition",
    "FeatureCondition",
    "GroupCondition",
    "LabelCondition",
    "MissingCondition",
    "NominalCondition",
    "NumericCondition",
    "SetCondition",
    "canonical_key",
    "feature_conditions",
    "fixed_features",
    "flatten",
    "group_of",
    "groups_of",
    "is_valid",
    "label_conditions",
    "map_conditions",
    "map_thresholds",
    "n_conditions",
    "one_of",
    "thresholds",
    "ungrouped_conditions",
    "without_labels",
]
