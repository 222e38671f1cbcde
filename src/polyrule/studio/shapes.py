"""Rules as the page puts them together: points by label, and conditions as [kind, column, value]."""

from __future__ import annotations

from typing import Any

from polyrule.ensemble.weighted_rule import Entry
from polyrule.errors import OptionError
from polyrule.model.bodies import ABOVE, AT_MOST, CATEGORY, GROUP, IN, LABEL, MISSING
from polyrule.model.conditions import chosen, said_shorter, tidy
from polyrule.model.info import Node
from polyrule.model.rule import (
    Condition,
    FeatureCondition,
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
)

_MOST = 10**9


def read_body(node: Node) -> tuple[Condition, ...]:
    """Return the conditions that the page describes; names are checked by the model that they are put into."""
    return tidy(tuple(_condition(one) for one in node))


def read_weights(node: Node) -> tuple[Entry, ...]:
    """Return the labels of a weighted rule with the points that the page gives them; those with 0 are left out."""
    pairs = [_items(one, 2) for one in node]
    entries = (Entry(label.whole(0, _MOST), float(weight.number())) for label, weight in pairs)
    kept = tuple(sorted((entry for entry in entries if entry.weight), key=lambda entry: entry.label))
    if not kept:
        raise OptionError("at least one label needs points other than 0; or remove the rule")
    return kept


def _condition(node: Node) -> Condition:
    items = node.items()
    if items and items[0].value == GROUP:
        return _group(node)
    kind, where, value = _items(node, 3)
    if kind.whole(AT_MOST, MISSING) == LABEL:
        return LabelCondition(where.whole(0, _MOST), value.whole(0, 1))
    return _on_feature(node)


def _group(node: Node) -> Condition:
    """At least so many of some conditions; of one that is left, that one."""
    _, least, members, name = _items(node, 4)
    found = tuple(dict.fromkeys(_on_feature(member) for member in members))
    if not found:
        raise OptionError("a group needs at least one member; or leave it out")
    if len(found) == 1:
        return found[0]
    return said_shorter(GroupCondition(found, min(least.whole(1, _MOST), len(found) - 1), name.text().strip()[:200]))


def _on_feature(node: Node) -> FeatureCondition:
    kind, where, value = _items(node, 3)
    column, code = where.whole(0, _MOST), kind.whole(AT_MOST, MISSING)
    if code in (AT_MOST, ABOVE):
        return NumericCondition(column, "<=" if code == AT_MOST else ">", float(value.number()))
    if code == CATEGORY:
        return NominalCondition(column, value.whole(0, _MOST))
    if code == IN:
        values = sorted({item.whole(0, _MOST) for item in value})
        if not values:
            raise OptionError("choose at least one value, or leave the condition out")
        return chosen(column, values)
    if code == LABEL:
        raise OptionError("a group has conditions on features only")
    return MissingCondition(column, bool(value.whole(0, 1)))


def _items(node: Node, size: int) -> list[Node]:
    found: list[Any] = node.items()
    if len(found) != size:
        node.fail(f"must hold {size} values")
    return found
