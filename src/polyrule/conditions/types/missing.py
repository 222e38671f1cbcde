"""A feature whose value is missing, or known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from polyrule.conditions.base import FeatureCondition
from polyrule.conditions.predicate import Column, Missing
from polyrule.conditions.text import Words, format_feature
from polyrule.data.table import Feature

if TYPE_CHECKING:
    from polyrule.conditions.vocabulary import Vocabulary
    from polyrule.data.documents import JsonNode


@dataclass(frozen=True, slots=True)
class MissingCondition(FeatureCondition):
    """``feature is missing`` or ``feature is known``, for a feature of any kind.

    A category that the model does not have counts as missing.

    Parameters
    ----------
    feature : int
        Column of the feature.
    missing : bool
        True for missing, False for known.

    Examples
    --------
    >>> from polyrule.model import Literal, Rule
    >>> Rule((Literal(0, 1),), (MissingCondition(3, True),))
    <Rule y0 <- x3 is missing   (TP 0, FP 0)>
    """

    feature: int
    missing: bool

    OPS: ClassVar[tuple[str, ...]] = ("is",)

    @property
    def _state(self) -> str:
        return "missing" if self.missing else "known"

    def predicate(self) -> Missing:
        """Return the test for a missing value."""
        return Missing(Column(self.feature), bool(self.missing))

    def is_valid(self, features: Sequence[Feature], n_labels: int = 0) -> bool:
        """Return True for any feature."""
        return 0 <= self.feature < len(features)

    def sketch(self) -> str:
        """Return text without names."""
        return f"x{self.feature} is {self._state}"

    def phrase_of(self, feature: Feature, words: Words) -> str:
        """Return ``age is missing``."""
        return f"{format_feature(feature.name)} is {self._state}"

    def to_json(self, names: Vocabulary) -> dict[str, Any]:
        """Return the record."""
        return self.record(names, "is", self._state)

    @classmethod
    def from_json(cls, feature: int, op: str, members: Mapping[str, JsonNode], names: Vocabulary) -> MissingCondition:
        """Return the condition of the record with these members."""
        return cls(feature, members["value"].choice("missing", "known") == "missing")
