"""Conditions as JSON for the pages of report and studio, whose `rules.js` evaluates them.

A condition is [kind, column or label, value], the kinds numbered as in `packed`; a threshold that may be shown with
fewer digits is followed by that number. A group is [GROUP, least, members, name, 1 for each member that divides 0
from 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polyrule.conditions.base import Condition, FeatureCondition
from polyrule.conditions.packed import ABOVE, AT_MOST, CATEGORY, GROUP, IN, LABEL, MISSING
from polyrule.conditions.predicate import AtLeast, Compare, Missing, OneOf
from polyrule.conditions.simplify import simplify_group
from polyrule.conditions.types import (
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
)
from polyrule.conditions.types.sets import one_of
from polyrule.data.documents import JsonNode
from polyrule.errors import OptionError

_MAX_INDEX = 10**9


class _Writer:
    """Visitor that returns the JSON of a predicate; `slots` maps features to columns of the page."""

    def __init__(self, slots: Mapping[int, int]) -> None:
        self.slots = slots

    def compare(self, node: Compare) -> list[Any]:
        return [AT_MOST if node.op == "<=" else ABOVE, self.slots[node.column.index], float(node.value)]

    def one_of(self, node: OneOf) -> list[Any]:
        if node.column.source == "label":
            return [LABEL, node.column.index, int(node.codes[0])]
        column = self.slots[node.column.index]
        return [CATEGORY, column, int(node.codes[0])] if len(node.codes) == 1 else [IN, column, list(node.codes)]

    def missing(self, node: Missing) -> list[Any]:
        return [MISSING, self.slots[node.column.index], int(node.missing)]

    def at_least(self, node: AtLeast) -> list[Any]:
        return [GROUP, node.count, [part.accept(self) for part in node.parts]]


def write_condition(condition: Condition, slots: Mapping[int, int], digits: int) -> list[Any]:
    """Return a condition as the page reads it, thresholds shown with `digits` digits.

    >>> write_condition(NumericCondition(3, ">", 44.5, (44.0, 45.0)), {3: 0}, 2)
    [1, 0, 44.5, 44.0]
    """
    entry = condition.predicate().accept(_Writer(slots))
    if isinstance(condition, GroupCondition):
        members = [write_condition(member, slots, digits) for member in condition.members]
        divides = [int(member.divides_0_from_1) for member in condition.members]
        return [*entry[:2], members, condition.name, divides]
    if isinstance(condition, NumericCondition) and (shown := condition.rounded(digits)) != condition.threshold:
        return [*entry, shown]
    return entry


def read_condition(node: JsonNode) -> Condition:
    """Return the condition that a page describes; the model that gets it checks columns and categories."""
    items = node.items()
    if items and items[0].value == GROUP:
        return _read_group(node)
    kind, place, value = _items(node, 3)
    if kind.whole(AT_MOST, MISSING) == LABEL:
        return LabelCondition(place.whole(0, _MAX_INDEX), value.whole(0, 1))
    return _read_on_feature(node)


def _read_group(node: JsonNode) -> Condition:
    """Return a group, or its only member."""
    _, least, items, name = _items(node, 4)
    members = tuple(dict.fromkeys(_read_on_feature(member) for member in items))
    if not members:
        raise OptionError("a group needs at least one member; or leave it out")
    if len(members) == 1:
        return members[0]
    count = min(least.whole(1, _MAX_INDEX), len(members) - 1)
    return simplify_group(GroupCondition(members, count, name.text().strip()[:200]))


def _read_on_feature(node: JsonNode) -> FeatureCondition:
    kind, place, value = _items(node, 3)
    column, code = place.whole(0, _MAX_INDEX), kind.whole(AT_MOST, MISSING)
    if code in (AT_MOST, ABOVE):
        return NumericCondition(column, "<=" if code == AT_MOST else ">", float(value.number()))
    if code == CATEGORY:
        return NominalCondition(column, value.whole(0, _MAX_INDEX))
    if code == IN:
        values = {item.whole(0, _MAX_INDEX) for item in value}
        if not values:
            raise OptionError("choose at least one value, or leave the condition out")
        return one_of(column, values)
    if code == LABEL:
        raise OptionError("a group has conditions on features only")
    return MissingCondition(column, bool(value.whole(0, 1)))


def _items(node: JsonNode, size: int) -> list[JsonNode]:
    items: list[Any] = node.items()
    if len(items) != size:
        node.fail(f"must hold {size} values")
    return items
