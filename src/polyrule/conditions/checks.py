"""Conditions of a rule beside the values of one example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polyrule.conditions.base import Condition, FeatureCondition
from polyrule.conditions.body import thresholds
from polyrule.conditions.evaluate import evaluate_row
from polyrule.conditions.text import Words, format_feature, format_name, format_value
from polyrule.conditions.types import GroupCondition, LabelCondition
from polyrule.utils.arrays import Floats


@dataclass(frozen=True)
class Check:
    """One condition and the example's value: ``colours > 5.5``, in words ``colours = 7``, the value ``7``.

    The value of a group of alternatives states which of its members hold, and which would make it hold; each member has
    a check of its own.
    """

    condition: str
    actual: str
    holds: bool
    value: str
    members: tuple[Check, ...] = ()

    def __str__(self) -> str:
        """Return the condition, and the example's value if it adds something: ``¬laptop`` needs no 0 behind it."""
        bare = self.condition.removeprefix("¬")
        complete = self.actual in (self.condition, f"{bare} = 0", f"{bare} = 1")
        return self.condition if complete else f"{self.condition} ({self.value})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; only a group has members."""
        entry = {"condition": self.condition, "actual": self.actual, "holds": self.holds, "value": self.value}
        return entry | ({"members": [member.to_dict() for member in self.members]} if self.members else {})


def checks(words: Words, body: Sequence[Condition], row: Floats, state: Mapping[int, int]) -> tuple[Check, ...]:
    """Check all conditions of a body; `state` contains the labels that are set so far.

    Examples
    --------
    >>> from polyrule.conditions.text import ConditionFormatter, Names
    >>> from polyrule.data import Feature
    >>> from polyrule.model import NumericCondition
    >>> words = ConditionFormatter(Names(tuple(map(Feature, ("age", "pulse", "sodium")))))
    >>> group = GroupCondition(tuple(NumericCondition(j, ">", 65) for j in range(3)), 2)
    >>> checks(words, [group], [70, 60, 50], {})[0].value
    '1 of 3 holds: age > 65 (70); pulse > 65 (60) or sodium > 65 (50) would make it'
    """
    return tuple(_check(condition, words, row, state) for condition in body)


def _check(condition: Condition, words: Words, row: Floats, state: Mapping[int, int]) -> Check:
    if isinstance(condition, GroupCondition):
        return _check_group(condition, words, row)
    if isinstance(condition, LabelCondition):
        return _check_label(condition, words, state)
    assert isinstance(condition, FeatureCondition)
    return _check_feature(condition, condition.phrase(words), words, row)


def _check_label(condition: LabelCondition, words: Words, state: Mapping[int, int]) -> Check:
    value = state.get(condition.label)
    name = format_name(words.names.label_names[condition.label])
    status = "not set by any earlier rule" if value is None else "set to present" if value else "set to absent"
    return Check(condition.phrase(words), f"{name} is {status}", value == condition.value, status)


def _check_feature(condition: FeatureCondition, text: str, words: Words, row: Floats) -> Check:
    feature, actual = words.names.features[condition.feature], float(row[condition.feature])
    limits = [limit.rounded(words.digits) for limit in thresholds((condition,))]
    value = format_value(feature, actual, words.digits, limits)
    verb = "is" if value in ("missing", "an unknown category") else "="
    return Check(text, f"{format_feature(feature.name)} {verb} {value}", evaluate_row(condition, row), value)


def _check_group(group: GroupCondition, words: Words, row: Floats) -> Check:
    members = tuple(_check_feature(member, member.phrase(words), words, row) for member in group.members)
    flags = group.flags(words.names.features)
    names = flags or [str(member) for member in members]
    holding = [name for name, member in zip(names, members, strict=True) if member.holds]
    others = [name for name, member in zip(names, members, strict=True) if not member.holds]
    value = f"{len(holding)} of {len(names)} {'holds' if len(holding) == 1 else 'hold'}"
    value += f": {', '.join(holding)}" if holding else ""
    lacking = group.least - len(holding)
    if flags and group.least == 1 and not holding:
        value = f"none of {len(names)} holds"  # any would make it, and all are listed before this
    elif lacking == 1:
        value += f"; {' or '.join(others)} would make it"
    elif lacking > 1:
        value += f"; {lacking} of {', '.join(others)} would make it"
    return Check(group.phrase(words), value, lacking <= 0, value, members)
