"""What all types of conditions have in common.

A condition type is one file in `types`: its fields, its predicate, its text and its record in model files. Code
outside this room asks a condition or a body for what it needs (see `body`), and does not distinguish types.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from polyrule.conditions.predicate import Predicate
from polyrule.conditions.text import Words, is_0_or_1
from polyrule.data.table import Feature

if TYPE_CHECKING:
    from polyrule.conditions.vocabulary import Vocabulary
    from polyrule.data.documents import JsonNode


class Condition:
    """One condition of a body; frozen, made of indices and numbers.

    Examples
    --------
    >>> from polyrule.conditions import MissingCondition, NumericCondition
    >>> all(isinstance(one, Condition) for one in (NumericCondition(0, ">", 3), MissingCondition(1, True)))
    True
    """

    __slots__ = ()

    @property
    def members(self) -> tuple[Any, ...]:
        """The conditions that a reader reads: the members of a group, else the condition itself."""
        return (self,)

    @property
    def name(self) -> str:
        """Name for readers; only groups have one."""
        return ""

    @property
    def alternatives(self) -> tuple[FeatureCondition, ...]:
        """Conditions on features of which any must hold, if that is what the condition states; else nothing."""
        return ()

    @property
    def key(self) -> Any:
        """Value that is equal for conditions that differ in the order of members only."""
        return self

    @property
    def divides_0_from_1(self) -> bool:
        """True for a threshold with no training value between 0 and 1."""
        return False

    @abstractmethod
    def predicate(self) -> Predicate:
        """Return the neutral form, which states which values satisfy the condition."""

    @abstractmethod
    def is_valid(self, features: Sequence[Feature], n_labels: int = 0) -> bool:
        """Return True if a model with these features, and a list with this number of labels, can test it."""

    @abstractmethod
    def phrase(self, words: Words) -> str:
        """Return the condition as people read it and `parse_rule` reads it back."""

    @abstractmethod
    def sketch(self) -> str:
        """Return text without names, as a rule printed alone shows it."""

    @abstractmethod
    def to_json(self, names: Vocabulary) -> dict[str, Any]:
        """Return the record in a model file."""

    def as_read(self, features: Sequence[Feature]) -> Any:
        """Return a value that is equal for conditions with the same text."""
        return self

    def phrase_after(self, previous: Condition, words: Words) -> str | None:
        """Return one phrase for the previous condition and this one, such as ``3 < age <= 60``; else None."""
        return None

    def map(self, change: Callable[[Any], Any]) -> Condition:
        """Return the condition with `change` applied to each condition on a feature."""
        return self

    def with_labels(self, labels: Sequence[int]) -> Condition:
        """Return the condition on the label that has the number ``labels[label]``."""
        return self


class FeatureCondition(Condition):
    """A condition on one feature; a member of a group is one."""

    __slots__ = ()

    feature: int
    OPS: ClassVar[tuple[str, ...]]
    """Values of "op" in model files."""

    @property
    def alternatives(self) -> tuple[FeatureCondition, ...]:
        """The condition."""
        return (self,)

    def map(self, change: Callable[[Any], Any]) -> Condition:
        """Return the changed condition."""
        changed: Condition = change(self)
        return changed

    def on_feature(self, feature: int) -> Self:
        """Return the condition on another column."""
        return replace(self, feature=feature)  # type: ignore[type-var]

    def flag(self, feature: Feature) -> str | None:
        """Return the feature's bare name, with ``¬`` for its absence, if the condition states no more; else None."""
        return None

    def as_printed(self) -> Self:
        """Return the condition as its text is read again."""
        return self

    @abstractmethod
    def phrase_of(self, feature: Feature, words: Words) -> str:
        """Return text for a feature that its bare name does not express."""

    def phrase(self, words: Words) -> str:
        """Return the condition; one that its name expresses is that name, unless a label has it, too."""
        return self.phrase_as_member(words, words.names.label_names)

    def phrase_as_member(self, words: Words, label_names: Sequence[str] = ()) -> str:
        """Return text for a place where names of labels are not read."""
        feature = words.names.features[self.feature]
        if is_0_or_1(feature) and feature.name not in label_names and (bare := self.flag(feature)):
            return bare
        return self.phrase_of(feature, words)

    def record(self, names: Vocabulary, op: str, value: Any) -> dict[str, Any]:
        """Return the record in a model file."""
        return {"feature": names.features.write(self.feature), "op": op, "value": value}

    @classmethod
    @abstractmethod
    def from_json(cls, feature: int, op: str, members: Mapping[str, JsonNode], names: Vocabulary) -> FeatureCondition:
        """Return the condition of the record with these members."""
