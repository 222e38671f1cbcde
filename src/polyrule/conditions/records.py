"""Conditions in model files: which type a record describes."""

from __future__ import annotations

from polyrule.conditions.base import Condition
from polyrule.conditions.body import groups_of
from polyrule.conditions.types import FEATURE_TYPES, GroupCondition, LabelCondition
from polyrule.conditions.types.group import MAX_NAME
from polyrule.conditions.vocabulary import Vocabulary
from polyrule.data.documents import JsonNode
from polyrule.data.table import Feature


def read_body(node: JsonNode, names: Vocabulary) -> tuple[Condition, ...]:
    """Return the conditions that a list of records describes."""
    body = tuple(read_condition(item, names) for item in node)
    if len(groups_of(body)) > 1:
        node.fail("must hold at most one group of alternatives")
    return body


def read_condition(node: JsonNode, names: Vocabulary) -> Condition:
    """Return the condition that a record describes."""
    if isinstance(node.value, dict) and "members" in node.value:
        return _read_group(node, names)
    return _read_plain(node, names)


def _read_group(node: JsonNode, names: Vocabulary) -> GroupCondition:
    fields = node.fields(("least", "members"), ("name",))
    members = []
    for item in fields["members"].items():
        member = _read_plain(item, names)
        if isinstance(member, LabelCondition):
            item.fail("must be a condition on a feature, as every member of a group is")
        members.append(member)
    if len(set(members)) < len(members) or len(members) < 2:
        fields["members"].fail("must hold at least two conditions, all different")
    name = fields["name"].maybe(JsonNode.text) or ""
    if len(name) > MAX_NAME or not name.isprintable():
        fields["name"].fail(f"must be a line of at most {MAX_NAME} visible characters")
    return GroupCondition(tuple(members), fields["least"].whole(1, len(members) - 1), name)  # type: ignore[arg-type]


def _read_plain(node: JsonNode, names: Vocabulary) -> Condition:
    if isinstance(node.value, dict) and "label" in node.value:
        return LabelCondition.from_json(node, names)
    compared = isinstance(node.value, dict) and node.value.get("op") in ("<=", ">")
    members = node.fields(("feature", "op", "value"), ("between",) if compared else ())
    feature = names.features.read(members["feature"])
    op = members["op"].value
    if op != "is":
        op = members["op"].choice(*_ops(names.columns[feature]))
    condition_type = next(one for one in FEATURE_TYPES if op in one.OPS)
    return condition_type.from_json(feature, op, members, names)


def _ops(feature: Feature) -> tuple[str, ...]:
    return ("=", "in") if feature.is_nominal else ("<=", ">")
