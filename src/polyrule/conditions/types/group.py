"""A group of conditions of which some must hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from polyrule.conditions.base import Condition, FeatureCondition
from polyrule.conditions.predicate import AtLeast
from polyrule.conditions.text import Words, at_least, format_feature, format_name, quoted
from polyrule.data.table import Feature
from polyrule.errors import ModelError

if TYPE_CHECKING:
    from polyrule.conditions.vocabulary import Vocabulary

#: characters of a group's name, which is printed beside its members
MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class GroupCondition(Condition):
    """At least `least` of some conditions hold: "any of" them if it is 1. A body has at most one group.

    Parameters
    ----------
    members : tuple of conditions on features
        At least two, all different, in the order in which they were added.
    least : int
        Less than the number of members: all of them would be a body without a group.
    name : str
        Name for readers; not part of what makes two groups equal.

    Examples
    --------
    >>> from polyrule.model import Literal, NominalCondition, NumericCondition, Rule
    >>> members = NumericCondition(3, ">", 65), NominalCondition(4, 1), NumericCondition(5, ">", 150)
    >>> Rule((Literal(0, 1),), (GroupCondition(members, 2),))
    <Rule y0 <- at least 2 of (x3 > 65, x4 = category 1, x5 > 150)   (TP 0, FP 0)>
    """

    members: tuple[FeatureCondition, ...]
    least: int = 1
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not all(isinstance(member, FeatureCondition) for member in self.members):
            raise ModelError("the members of a group must be plain conditions on features")
        if len(set(self.members)) < len(self.members):
            raise ModelError("the members of a group must be distinct")
        if not 1 <= self.least < len(self.members):
            raise ModelError(f"at least {self.least} of {len(self.members)} conditions is no group of alternatives")
        if len(self.name) > MAX_NAME or not self.name.isprintable():
            raise ModelError(f"the name of a group must be a line of at most {MAX_NAME} visible characters")

    @property
    def alternatives(self) -> tuple[FeatureCondition, ...]:
        """The members if one is enough."""
        return self.members if self.least == 1 else ()

    @property
    def key(self) -> Any:
        """Value that is equal for groups that differ in the order of members only."""
        return frozenset(self.members), self.least

    def predicate(self) -> AtLeast:
        """Return the count of members that must hold."""
        return AtLeast(self.least, tuple(member.predicate() for member in self.members))  # type: ignore[misc]

    def is_valid(self, features: Sequence[Feature], n_labels: int = 0) -> bool:
        """Return True if all members are valid."""
        return all(member.is_valid(features) for member in self.members)

    def map(self, change: Callable[[Any], Any]) -> Condition:
        """Return the group with changed members."""
        return replace(self, members=tuple(map(change, self.members)))

    def as_read(self, features: Sequence[Feature]) -> Any:
        """Return a value that is equal for groups with the same text, but for the name."""
        return self.least, tuple(member.as_printed() for member in self.members)

    def flags(self, features: Sequence[Feature]) -> list[str]:
        """Return the bare names of the members if all of them state presence or absence, else nothing."""
        flags = [member.flag(features[member.feature]) for member in self.members]
        return [] if None in flags else list(map(str, flags))

    def items(self, features: Sequence[Feature]) -> list[str]:
        """Return the words or members that a column has if that is what all conditions state, else nothing."""
        derived = [features[member.feature].derived for member in self.members]
        flags = self.flags(features)
        columns = {one.column for one in derived if one is not None and one.item}
        if len(columns) != 1 or not flags or not all(one is not None and one.item for one in derived):
            return []
        items = [format_name(one.item) for one in derived if one is not None]
        has = [f"{format_feature(next(iter(columns)))} has {item}" for item in items]
        return items if flags == has else []

    def sketch(self) -> str:
        """Return text without names."""
        return f"{at_least(self.least)} of ({', '.join(member.sketch() for member in self.members)})"

    def phrase(self, words: Words) -> str:
        """Return columns that state presence by their names in braces, other members in parentheses.

        >>> from polyrule.conditions.text import ConditionFormatter, Names
        >>> from polyrule.model import NominalCondition, NumericCondition
        >>> flags = Feature("jam", "nominal", ("0", "1")), Feature("queue", "nominal", ("no", "yes"))
        >>> words = ConditionFormatter(Names([*flags, Feature("age")]))
        >>> jam, queue, old = NominalCondition(0, 1), NominalCondition(1, 1), NumericCondition(2, ">", 65)
        >>> words.condition(GroupCondition((jam, queue), name="road words"))
        'any of "road words" {jam, queue}'
        >>> words.condition(GroupCondition((jam, queue, old), 2))
        'at least 2 of (jam, queue = yes, age > 65)'
        """
        start = f"{at_least(self.least)} of " + (f"{quoted(self.name)} " if self.name else "")
        if items := self.items(words.names.features):
            column = words.names.features[self.members[0].feature].column
            return f"{format_feature(column)} has {start}{{{', '.join(items)}}}"
        if flags := self.flags(words.names.features):
            return f"{start}{{{', '.join(flags)}}}"
        return f"{start}({', '.join(member.phrase_as_member(words) for member in self.members)})"

    def to_json(self, names: Vocabulary) -> dict[str, Any]:
        """Return the record."""
        named = {"name": self.name} if self.name else {}
        return {"least": self.least, "members": [member.to_json(names) for member in self.members]} | named
