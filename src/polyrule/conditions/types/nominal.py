"""A nominal feature that has one category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from polyrule.conditions.base import FeatureCondition
from polyrule.conditions.predicate import Column, OneOf
from polyrule.conditions.text import Words, format_category, format_feature, is_flag
from polyrule.data.table import Feature

if TYPE_CHECKING:
    from polyrule.conditions.vocabulary import Vocabulary
    from polyrule.data.documents import JsonNode


@dataclass(frozen=True, slots=True)
class NominalCondition(FeatureCondition):
    """``feature = value``, for a nominal feature; a missing value never satisfies it.

    Parameters
    ----------
    feature : int
        Column of the feature.
    value : int
        Index among the feature's categories.

    Examples
    --------
    >>> from polyrule.model import Literal, Rule
    >>> Rule((Literal(0, 1),), (NominalCondition(3, 2),))
    <Rule y0 <- x3 = category 2   (TP 0, FP 0)>
    """

    feature: int
    value: int

    OPS: ClassVar[tuple[str, ...]] = ("=",)

    @property
    def categories(self) -> tuple[int, ...]:
        """The categories that satisfy the condition, ascending."""
        return (self.value,)

    def predicate(self) -> OneOf:
        """Return the test for one code."""
        return OneOf(Column(self.feature), (self.value,))

    def is_valid(self, features: Sequence[Feature], n_labels: int = 0) -> bool:
        """Return True for a category of a nominal feature."""
        if not 0 <= self.feature < len(features):
            return False
        feature = features[self.feature]
        return feature.is_nominal and 0 <= self.value < len(feature.categories)

    def flag(self, feature: Feature) -> str | None:
        """Return the bare name if the feature has the categories no and yes."""
        return ("" if self.value == 1 else "¬") + format_feature(feature.name) if is_flag(feature) else None

    def sketch(self) -> str:
        """Return text without names."""
        return f"x{self.feature} = category {self.value}"

    def phrase_of(self, feature: Feature, words: Words) -> str:
        """Return ``religion = hindu``."""
        return f"{format_feature(feature.name)} = {format_category(feature.categories[self.value])}"

    def to_json(self, names: Vocabulary) -> dict[str, Any]:
        """Return the record with the name of the category."""
        return self.record(names, "=", names.categories(self.feature).write(self.value))

    @classmethod
    def from_json(cls, feature: int, op: str, members: Mapping[str, JsonNode], names: Vocabulary) -> NominalCondition:
        """Return the condition of the record with these members."""
        return cls(feature, names.categories(feature).read(members["value"]))
