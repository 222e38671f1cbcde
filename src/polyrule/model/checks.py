"""How one example stands to the conditions of a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polyrule.model.conditions import met, shown_threshold
from polyrule.model.printing import Formatter, format_feature, format_flags, format_name, format_value
from polyrule.model.rule import Condition, FeatureCondition, GroupCondition, LabelCondition, NumericCondition
from polyrule.utils.arrays import Floats


@dataclass(frozen=True)
class Check:
    """One condition and how the example stands to it: ``colours > 5.5``, in words ``colours = 7``, the value ``7``.

    The value of a group of alternatives says which of its members hold, and which would make it hold; each member has
    a check of its own.
    """

    condition: str
    actual: str
    holds: bool
    value: str
    members: tuple[Check, ...] = ()

    def __str__(self) -> str:
        """The condition, and the example's value where that says more: ``¬laptop`` needs no 0 behind it."""
        bare = self.condition.removeprefix("¬")
        said = self.actual in (self.condition, f"{bare} = 0", f"{bare} = 1")
        return self.condition if said else f"{self.condition} ({self.value})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; only a group has members."""
        entry = {"condition": self.condition, "actual": self.actual, "holds": self.holds, "value": self.value}
        return entry | ({"members": [member.to_dict() for member in self.members]} if self.members else {})


def checks(words: Formatter, body: Sequence[Condition], row: Floats, state: Mapping[int, int]) -> tuple[Check, ...]:
    """Check all conditions of a body; `state` holds the labels that are set so far.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model.printing import Names
    >>> words = Formatter(Names(tuple(map(Feature, ("age", "pulse", "sodium")))))
    >>> group = GroupCondition(tuple(NumericCondition(j, ">", 65) for j in range(3)), 2)
    >>> checks(words, [group], [70, 60, 50], {})[0].value
    '1 of 3 holds: age > 65 (70); pulse > 65 (60) or sodium > 65 (50) would make it'
    """
    return tuple(_check(condition, words, row, state) for condition in body)


def _check(condition: Condition, words: Formatter, row: Floats, state: Mapping[int, int]) -> Check:
    if isinstance(condition, GroupCondition):
        return _check_group(condition, words, row)
    if not isinstance(condition, LabelCondition):
        return _check_feature(condition, words, row)
    text = words.condition(condition)
    value = state.get(condition.label)
    name = format_name(words.names.label_names[condition.label])
    said = "not set by any earlier rule" if value is None else "set to present" if value else "set to absent"
    return Check(text, f"{name} is {said}", value == condition.value, said)


def _check_feature(condition: FeatureCondition, words: Formatter, row: Floats) -> Check:
    text = words.condition(condition)
    feature, actual = words.names.features[condition.feature], float(row[condition.feature])
    against = [shown_threshold(condition, words.digits)] if isinstance(condition, NumericCondition) else []
    shown = format_value(feature, actual, words.digits, against)
    verb = "is" if shown in ("missing", "an unknown category") else "="
    fact = f"{format_feature(feature.name)} {verb} {shown}"
    return Check(text, fact, met(condition, row), shown)


def _check_group(group: GroupCondition, words: Formatter, row: Floats) -> Check:
    members = tuple(_check_feature(member, words, row) for member in group.members)
    flags = format_flags(group, words.names.features)
    names = flags or [str(member) for member in members]
    held = [name for name, member in zip(names, members, strict=True) if member.holds]
    others = [name for name, member in zip(names, members, strict=True) if not member.holds]
    said = f"{len(held)} of {len(names)} {'holds' if len(held) == 1 else 'hold'}"
    said += f": {', '.join(held)}" if held else ""
    lacking = group.least - len(held)
    if flags and group.least == 1 and not held:
        said = f"none of {len(names)} holds"  # any would make it, and all stand before this
    elif lacking == 1:
        said += f"; {' or '.join(others)} would make it"
    elif lacking > 1:
        said += f"; {lacking} of {', '.join(others)} would make it"
    text = words.condition(group)
    return Check(text, said, lacking <= 0, said, members)
