"""What a model file holds of each kind of model: rules in terms of names, counts or weights, and what decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from polyrule.conditions.records import read_body
from polyrule.conditions.vocabulary import Vocabulary
from polyrule.model.decisions import KINDS, Decision
from polyrule.model.files import ModelNode, plain_json
from polyrule.model.rule import Entry, Literal, Rule, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList
from polyrule.relations.relation import Relation, RelationKind


def plain_number(number: float) -> float:
    """A Python int or float of the same value, whatever number type the learner used."""
    return int(number) if isinstance(number, int) or hasattr(number, "__index__") else float(number)


class ModelForm(NamedTuple):
    """Pair of functions that write a value as plain JSON and read it."""

    write: Callable[[Any, Vocabulary], Any]
    read: Callable[[ModelNode, Vocabulary], Any]


def each(form: ModelForm | Record) -> ModelForm:
    """Return the form of any number of values."""
    return ModelForm(
        lambda values, names: [form.write(value, names) for value in values],
        lambda node, names: tuple(form.read(item, names) for item in node),
    )


def per_label(form: ModelForm) -> ModelForm:
    """Return the form of one value for each label."""

    def read(node: ModelNode, names: Vocabulary) -> Any:
        length, labels = len(node.items()), len(names.labels.names)
        if length != labels:
            node.fail(f"has {length} entries for {labels} labels")
        return each(form).read(node, names)

    return ModelForm(each(form).write, read)


def head_of(entry_form: Record) -> ModelForm:
    """Return the form of a head, in the order of the labels."""

    def read(node: ModelNode, names: Vocabulary) -> Any:
        head = sorted(each(entry_form).read(node, names), key=lambda one: one.label)
        if len({one.label for one in head}) != len(head) or not head:
            node.fail("must name at least one label and none twice")
        return tuple(head)

    return ModelForm(each(entry_form).write, read)


def _read_probability(node: ModelNode, names: Vocabulary) -> float:
    probability = float(node.number(0))
    if probability > 1:
        node.fail("must be a probability, between 0 and 1")
    return probability


def _read_pair(node: ModelNode, names: Vocabulary) -> tuple[float, float]:
    items = node.items()
    if len(items) != 2:
        node.fail("must hold two counts: present, absent")
    return items[0].number(0), items[1].number(0)


def _read_unit(node: ModelNode, names: Vocabulary) -> float | tuple[float, ...]:
    return tuple(float(one.number(0)) for one in node) if isinstance(node.value, list) else float(node.number(0))


def _write_relation(relation: Relation, names: Vocabulary) -> dict[str, Any]:
    labels = [LABEL.write(label, names) for label in relation.labels]
    return {"if": labels[0], "then": labels[1]} if relation.kind == "implies" else {_GROUPS[relation.kind]: labels}


def _read_relation(node: ModelNode, names: Vocabulary) -> Relation:
    mapping = node.mapping()
    if "if" in mapping or "then" in mapping:
        members = node.fields(("if", "then"), ())
        return Relation("implies", (LABEL.read(members["if"], names), LABEL.read(members["then"], names)))
    members = node.fields((), tuple(_GROUPS.values()))
    if len(members := {key: one for key, one in members.items() if key in mapping}) != 1:
        node.fail("must have 'if' and 'then', or 'at_most_one', or 'exactly_one'")
    kind = next(kind for kind, key in _GROUPS.items() if key in members)
    labels = tuple(LABEL.read(item, names) for item in members[_GROUPS[kind]])
    if len(set(labels)) != len(labels) or len(labels) < 2:
        node.fail("must name at least two labels and none twice")
    return Relation(kind, labels)


_GROUPS: dict[RelationKind, str] = {"at-most-one": "at_most_one", "exactly-one": "exactly_one"}
FLAG = ModelForm(lambda value, _: bool(value), lambda node, _: node.flag())
BIT = ModelForm(lambda value, _: int(value), lambda node, _: node.whole(0, 1))
NUMBER = ModelForm(lambda value, _: float(value), lambda node, _: float(node.number()))
COUNT = ModelForm(lambda value, _: plain_number(value), lambda node, _: node.number(0))
COUNTS = ModelForm(lambda pair, _: [plain_number(count) for count in pair], _read_pair)
PROBABILITY = ModelForm(lambda value, _: float(value), _read_probability)
FRACTION = ModelForm(lambda value, _: f"{value.numerator}/{value.denominator}", lambda node, _: node.fraction())
LABEL = ModelForm(lambda label, names: names.labels.write(label), lambda node, names: names.labels.read(node))
ORIGIN = ModelForm(lambda value, _: value, lambda node, _: node.choice("learned", "edited", "hand"))
PROOF = ModelForm(lambda value, _: plain_json(value, "certificate"), lambda node, _: node.mapping())
KIND = ModelForm(lambda value, _: value, lambda node, _: node.choice(*KINDS))
# one unit, or one per label
UNIT = ModelForm(lambda unit, _: list(unit) if isinstance(unit, tuple) else float(unit), _read_unit)
RELATION = ModelForm(
    lambda value, names: _write_relation(value, names), lambda node, names: _read_relation(node, names)
)
BODY = ModelForm(lambda body, names: [condition.to_json(names) for condition in body], read_body)

_REQUIRED: Any = object()


class GroupMember(NamedTuple):
    """One member of an object in a file, named as the attribute is."""

    name: str
    form: ModelForm | Record
    absent: Any = _REQUIRED  # what it is where a file lacks it or has null
    always: bool = True  # whether it is written even where it is no more than that


class Record:
    """Form of objects of one type, written and read member by member."""

    def __init__(self, make: Callable[..., Any], *members: GroupMember) -> None:
        self.make, self.members = make, members
        self.required = tuple(one.name for one in members if one.absent is _REQUIRED)
        self.optional = tuple(one.name for one in members if one.absent is not _REQUIRED)

    def write(self, thing: Any, names: Vocabulary) -> dict[str, Any]:
        """Return a thing as plain JSON values."""
        written = {}
        for name, form, absent, always in self.members:
            value = getattr(thing, name)
            if always or value != absent:
                written[name] = None if value is None else form.write(value, names)
        return written

    def read(self, node: ModelNode, names: Vocabulary) -> Any:
        """Return the thing that `write` described."""
        return self.make(**self.values(node.fields(self.required, self.optional), names))

    def values(self, nodes: dict[str, ModelNode], names: Vocabulary) -> dict[str, Any]:
        """Return the values of the members of an object."""
        return {
            name: absent if nodes[name].value is None and absent is not _REQUIRED else form.read(nodes[name], names)
            for name, form, absent, _ in self.members
        }


LITERAL = Record(
    Literal,
    GroupMember("label", LABEL),
    GroupMember("value", BIT),
    GroupMember("tp", COUNT, 0),
    GroupMember("fp", COUNT, 0),
    GroupMember("chance", PROBABILITY, None, always=False),
    GroupMember("alone", COUNTS, None, always=False),
)
RULE = Record(
    Rule,
    GroupMember("head", head_of(LITERAL)),
    GroupMember("body", BODY),
    GroupMember("stop", FLAG, False),
    GroupMember("value", FRACTION, None),
    GroupMember("coverage", COUNT, None),
    GroupMember("origin", ORIGIN, "hand"),  # a rule written into the file need not spell out what a learned one has
    GroupMember("bound", FRACTION, None, always=False),
    GroupMember("unfinished", FLAG, False, always=False),
    GroupMember("stale", FLAG, False, always=False),
    GroupMember("certificate", PROOF, None, always=False),
)
WEIGHTED_RULE = Record(
    WeightedRule,
    GroupMember("head", head_of(Record(Entry, GroupMember("label", LABEL), GroupMember("weight", NUMBER)))),
    GroupMember("body", BODY),
    GroupMember("coverage", COUNT, None),
)
DECISION = Record(
    Decision,
    GroupMember("kind", KIND),
    GroupMember("cuts", each(NUMBER)),
    GroupMember("label_sets", each(each(LABEL))),
    GroupMember("bonuses", each(NUMBER), (), always=False),
)
MODELS = {
    "rule-list": Record(
        RuleList,
        GroupMember("full", FLAG),
        GroupMember("defaults", per_label(BIT)),
        GroupMember("default_counts", per_label(COUNTS)),
        GroupMember("default_chances", per_label(PROBABILITY), (), always=False),
        GroupMember("relations", each(RELATION), (), always=False),
        GroupMember("rules", each(RULE)),
    ),
    "rule-ensemble": Record(
        RuleEnsemble,
        GroupMember("unit", UNIT),
        GroupMember("intercepts", each(NUMBER)),
        GroupMember("decision", DECISION),
        GroupMember("relations", each(RELATION), (), always=False),
        GroupMember("rules", each(WEIGHTED_RULE)),
    ),
}
"""What a file holds of each kind of model, besides what all kinds share."""
