"""A nominal feature that has one of several categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from polyrule.conditions.base import FeatureCondition
from polyrule.conditions.predicate import Column, OneOf
from polyrule.conditions.text import Words, format_category, format_feature
from polyrule.conditions.types.nominal import NominalCondition
from polyrule.data.table import Feature

if TYPE_CHECKING:
    from polyrule.conditions.vocabulary import Vocabulary
    from polyrule.data.documents import JsonNode


@dataclass(frozen=True, slots=True)
class SetCondition(FeatureCondition):
    """``feature in {value, …}``, for a nominal feature; a missing value never satisfies it.

    Parameters
    ----------
    feature : int
        Column of the feature.
    values : tuple of int
        Indices among the feature's categories, ascending.

    Examples
    --------
    >>> from polyrule.model import Literal, Rule
    >>> Rule((Literal(0, 1),), (SetCondition(3, (0, 2)),))
    <Rule y0 <- x3 in categories {0, 2}   (TP 0, FP 0)>
    """

    feature: int
    values: tuple[int, ...]

    OPS: ClassVar[tuple[str, ...]] = ("in",)

    @property
    def categories(self) -> tuple[int, ...]:
        """The categories that satisfy the condition, ascending."""
        return self.values

    def predicate(self) -> OneOf:
        """Return the test for the codes."""
        return OneOf(Column(self.feature), self.values)

    def is_valid(self, features: Sequence[Feature], n_labels: int = 0) -> bool:
        """Return True for distinct categories of a nominal feature, at least one, ascending."""
        if not 0 <= self.feature < len(features):
            return False
        feature, values = features[self.feature], self.values
        ascending = len(values) > 0 and list(values) == sorted(set(values))
        return feature.is_nominal and ascending and values[0] >= 0 and values[-1] < len(feature.categories)

    def sketch(self) -> str:
        """Return text without names."""
        return f"x{self.feature} in categories {{{', '.join(map(str, self.values))}}}"

    def phrase_of(self, feature: Feature, words: Words) -> str:
        """Return ``region in {South, West}``."""
        names = ", ".join(format_category(feature.categories[value]) for value in self.values)
        return f"{format_feature(feature.name)} in {{{names}}}"

    def to_json(self, names: Vocabulary) -> dict[str, Any]:
        """Return the record with the names of the categories."""
        return self.record(names, "in", [names.categories(self.feature).write(value) for value in self.values])

    @classmethod
    def from_json(cls, feature: int, op: str, members: Mapping[str, JsonNode], names: Vocabulary) -> FeatureCondition:
        """Return the condition of the record with these members."""
        values = {names.categories(feature).read(item) for item in members["value"]}
        if not values:
            members["value"].fail("must name at least one category")
        return one_of(feature, values)


def one_of(feature: int, values: Iterable[int]) -> NominalCondition | SetCondition:
    """Return the condition that a nominal feature has one of some values; of one value, an equality.

    >>> one_of(0, [2, 1]), one_of(0, [2])
    (SetCondition(feature=0, values=(1, 2)), NominalCondition(feature=0, value=2))
    """
    categories = tuple(sorted(values))
    return NominalCondition(feature, categories[0]) if len(categories) == 1 else SetCondition(feature, categories)
