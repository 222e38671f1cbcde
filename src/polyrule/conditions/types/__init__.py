"""The condition types, one file each."""

from polyrule.conditions.base import Condition, FeatureCondition
from polyrule.conditions.types.group import GroupCondition
from polyrule.conditions.types.label import LabelCondition
from polyrule.conditions.types.missing import MissingCondition
from polyrule.conditions.types.nominal import NominalCondition
from polyrule.conditions.types.numeric import NumericCondition
from polyrule.conditions.types.sets import SetCondition

CONDITION_TYPES: tuple[type[Condition], ...] = (
    NumericCondition,
    NominalCondition,
    SetCondition,
    MissingCondition,
    LabelCondition,
    GroupCondition,
)
FEATURE_TYPES: tuple[type[FeatureCondition], ...] = (
    MissingCondition,
    NumericCondition,
    NominalCondition,
    SetCondition,
)
"""Those that test one feature, in the order in which a record of a model file is matched with them."""

__all__ = [
    "CONDITION_TYPES",
    "FEATURE_TYPES",
    "GroupCondition",
    "LabelCondition",
    "MissingCondition",
    "NominalCondition",
    "NumericCondition",
    "SetCondition",
]
