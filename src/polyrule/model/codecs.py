"""What a model file holds of each kind of model: rules in terms of names, counts or weights, and what decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

from polyrule.data.columns import shorten
from polyrule.data.table import Feature
from polyrule.model.conditions import chosen
from polyrule.model.decisions import KINDS, Decision
from polyrule.model.files import Node, plain_json
from polyrule.model.rule import (
    LONGEST_NAME,
    Condition,
    Entry,
    FeatureCondition,
    GroupCondition,
    LabelCondition,
    Literal,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    Rule,
    SetCondition,
    WeightedRule,
)
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList


class References:
    """Names as a file refers to them: by name, or by position where a name occurs twice."""

    def __init__(self, names: Sequence[str], what: str) -> None:
        self.names = names
        self.what = what
        self.position = {name: number for number, name in enumerate(names)}
        self.unique = len(self.position) == len(names)
        counts = Counter(names) if not self.unique else Counter[str]()
        self._twice = {name for name, count in counts.items() if count > 1}

    def write(self, index: int) -> str | int:
        """Name of the thing at `index`, or the index itself where the name would be ambiguous."""
        return self.names[index] if self.unique else int(index)

    def read(self, node: Node) -> int:
        """Position of the thing that `node` refers to."""
        if isinstance(node.value, int):
            return node.whole(0, len(self.names) - 1)
        name = node.text()
        if name not in self.position:
            node.fail(f"names no {self.what} of this model: {shorten(name)}")
        if name in self._twice:
            node.fail(f"is ambiguous, {self.what} {shorten(name)} occurs twice; give its position")
        return self.position[name]


def plain_number(number: float) -> float:
    """A Python int or float of the same value, whatever number type the learner used."""
    return int(number) if isinstance(number, int) or hasattr(number, "__index__") else float(number)


class Vocabulary:
    """Names of features, labels and the categories of each feature."""

    def __init__(self, features: tuple[Feature, ...], label_names: tuple[str, ...]) -> None:
        self.kinds = features
        self.features = References([feature.name for feature in features], "feature")
        self.labels = References(label_names, "label")
        self._categories: dict[int, References] = {}

    def categories(self, feature: int) -> References:
        """Return the names of a nominal feature's values."""
        if feature not in self._categories:
            owner = self.kinds[feature]
            self._categories[feature] = References(owner.categories, f"category of {owner.name!r}")
        return self._categories[feature]

    def test(self, feature: int, op: str, value: Any) -> dict[str, Any]:
        """Return a condition on a feature as a file has it."""
        return {"feature": self.features.write(feature), "op": op, "value": value}


def encode_condition(condition: Condition, names: Vocabulary) -> dict[str, Any]:
    """One condition by names."""
    match condition:
        case NumericCondition(feature, op, threshold):
            gap = [x if isfinite(x) else None for x in condition.between or ()]
            return names.test(feature, op, float(threshold)) | ({"between": gap} if gap else {})
        case NominalCondition(feature, value):
            return names.test(feature, "=", names.categories(feature).write(value))
        case SetCondition(feature, values):
            return names.test(feature, "in", [names.categories(feature).write(value) for value in values])
        case MissingCondition(feature, missing):
            return names.test(feature, "is", "missing" if missing else "known")
        case LabelCondition(label, value):
            return {"label": names.labels.write(label), "op": "=", "value": int(value)}
        case GroupCondition(members, least):
            named = {"name": condition.name} if condition.name else {}
            return {"least": least, "members": [encode_condition(member, names) for member in members]} | named


def decode_condition(node: Node, names: Vocabulary) -> Condition:
    """One condition from names."""
    if isinstance(node.value, dict) and "members" in node.value:
        return _decode_group(node, names)
    return _decode_plain(node, names)


def _decode_group(node: Node, names: Vocabulary) -> GroupCondition:
    given = node.fields(("least", "members"), ("name",))
    members = []
    for item in given["members"].items():
        member = _decode_plain(item, names)
        if isinstance(member, LabelCondition):
            item.fail("must be a condition on a feature, as every member of a group is")
        members.append(member)
    if len(set(members)) < len(members) or len(members) < 2:
        given["members"].fail("must hold at least two conditions, all different")
    name = given["name"].maybe(Node.text) or ""
    if len(name) > LONGEST_NAME or not name.isprintable():
        given["name"].fail(f"must be a line of at most {LONGEST_NAME} visible characters")
    return GroupCondition(tuple(members), given["least"].whole(1, len(members) - 1), name)


def _decode_plain(node: Node, names: Vocabulary) -> FeatureCondition | LabelCondition:
    if isinstance(node.value, dict) and "label" in node.value:
        members = node.fields(("label", "op", "value"))
        members["op"].choice("=")
        return LabelCondition(names.labels.read(members["label"]), members["value"].whole(0, 1))
    compared = isinstance(node.value, dict) and node.value.get("op") in ("<=", ">")
    members = node.fields(("feature", "op", "value"), ("between",) if compared else ())
    feature = names.features.read(members["feature"])
    if members["op"].value == "is":
        return MissingCondition(feature, members["value"].choice("missing", "known") == "missing")
    if names.kinds[feature].is_nominal:
        if members["op"].choice("=", "in") == "in":
            values = {names.categories(feature).read(item) for item in members["value"]}
            if not values:
                members["value"].fail("must name at least one category")
            return chosen(feature, sorted(values))
        return NominalCondition(feature, names.categories(feature).read(members["value"]))
    op = members["op"].choice("<=", ">")
    threshold = float(members["value"].number())
    return NumericCondition(feature, "<=" if op == "<=" else ">", threshold, _gap(members["between"], threshold))


def _gap(node: Node, threshold: float) -> tuple[float, float] | None:
    """Values on either side of a threshold, where a file has them."""
    if node.value is None:
        return None
    ends = node.items()
    if len(ends) != 2:
        node.fail("must hold two numbers: the training values on either side of the threshold")
    low, high = (end.maybe(lambda n: float(n.number())) for end in ends)
    low, high = -inf if low is None else low, inf if high is None else high
    if not low <= threshold < high:
        node.fail("does not hold the threshold")
    return low, high


class Form(NamedTuple):
    """How a value is written as plain JSON, and read."""

    write: Callable[[Any, Vocabulary], Any]
    read: Callable[[Node, Vocabulary], Any]


def each(form: Form | Record) -> Form:
    """Return the form of any number of values."""
    return Form(
        lambda values, names: [form.write(value, names) for value in values],
        lambda node, names: tuple(form.read(item, names) for item in node),
    )


def per_label(form: Form) -> Form:
    """Return the form of one value for each label."""

    def read(node: Node, names: Vocabulary) -> Any:
        given, labels = len(node.items()), len(names.labels.names)
        if given != labels:
            node.fail(f"has {given} entries for {labels} labels")
        return each(form).read(node, names)

    return Form(each(form).write, read)


def head_of(said: Record) -> Form:
    """Return the form of a head, in the order of the labels."""

    def read(node: Node, names: Vocabulary) -> Any:
        head = sorted(each(said).read(node, names), key=lambda one: one.label)
        if len({one.label for one in head}) != len(head) or not head:
            node.fail("must name at least one label and none twice")
        return tuple(head)

    return Form(each(said).write, read)


def _read_body(node: Node, names: Vocabulary) -> tuple[Condition, ...]:
    body = tuple(decode_condition(item, names) for item in node)
    if sum(isinstance(condition, GroupCondition) for condition in body) > 1:
        node.fail("must hold at most one group of alternatives")
    return body


def _read_chance(node: Node, names: Vocabulary) -> float:
    chance = float(node.number(0))
    if chance > 1:
        node.fail("must be a probability, between 0 and 1")
    return chance


def _read_pair(node: Node, names: Vocabulary) -> tuple[float, float]:
    items = node.items()
    if len(items) != 2:
        node.fail("must hold two counts: present, absent")
    return items[0].number(0), items[1].number(0)


def _read_unit(node: Node, names: Vocabulary) -> float | tuple[float, ...]:
    return tuple(float(one.number(0)) for one in node) if isinstance(node.value, list) else float(node.number(0))


FLAG = Form(lambda value, _: bool(value), lambda node, _: node.flag())
BIT = Form(lambda value, _: int(value), lambda node, _: node.whole(0, 1))
NUMBER = Form(lambda value, _: float(value), lambda node, _: float(node.number()))
COUNT = Form(lambda value, _: plain_number(value), lambda node, _: node.number(0))
COUNTS = Form(lambda pair, _: [plain_number(count) for count in pair], _read_pair)
CHANCE = Form(lambda value, _: float(value), _read_chance)
FRACTION = Form(lambda value, _: f"{value.numerator}/{value.denominator}", lambda node, _: node.fraction())
LABEL = Form(lambda label, names: names.labels.write(label), lambda node, names: names.labels.read(node))
ORIGIN = Form(lambda value, _: value, lambda node, _: node.choice("learned", "edited", "hand"))
PROOF = Form(lambda value, _: plain_json(value, "certificate"), lambda node, _: node.mapping())
KIND = Form(lambda value, _: value, lambda node, _: node.choice(*KINDS))
UNIT = Form(lambda unit, _: list(unit) if isinstance(unit, tuple) else float(unit), _read_unit)  # or one per label
BODY = Form(lambda body, names: [encode_condition(condition, names) for condition in body], _read_body)

_REQUIRED: Any = object()


class Member(NamedTuple):
    """One member of an object in a file, named as the attribute is."""

    name: str
    form: Form | Record
    absent: Any = _REQUIRED  # what it is where a file lacks it or has null
    always: bool = True  # whether it is written even where it is no more than that


class Record:
    """How objects of one type are written and read, member by member."""

    def __init__(self, make: Callable[..., Any], *members: Member) -> None:
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

    def read(self, node: Node, names: Vocabulary) -> Any:
        """Return the thing that `write` described."""
        return self.make(**self.values(node.fields(self.required, self.optional), names))

    def values(self, given: dict[str, Node], names: Vocabulary) -> dict[str, Any]:
        """Return what the members of an object say."""
        return {
            name: absent if given[name].value is None and absent is not _REQUIRED else form.read(given[name], names)
            for name, form, absent, _ in self.members
        }


LITERAL = Record(
    Literal,
    Member("label", LABEL),
    Member("value", BIT),
    Member("tp", COUNT, 0),
    Member("fp", COUNT, 0),
    Member("chance", CHANCE, None, always=False),
)
RULE = Record(
    Rule,
    Member("head", head_of(LITERAL)),
    Member("body", BODY),
    Member("stop", FLAG, False),
    Member("value", FRACTION, None),
    Member("coverage", COUNT, None),
    Member("origin", ORIGIN, "hand"),  # a rule written into the file need not spell out what a learned one has
    Member("bound", FRACTION, None, always=False),
    Member("unfinished", FLAG, False, always=False),
    Member("certificate", PROOF, None, always=False),
)
WEIGHTED_RULE = Record(
    WeightedRule,
    Member("head", head_of(Record(Entry, Member("label", LABEL), Member("weight", NUMBER)))),
    Member("body", BODY),
    Member("coverage", COUNT, None),
)
DECISION = Record(
    Decision,
    Member("kind", KIND),
    Member("cuts", each(NUMBER)),
    Member("label_sets", each(each(LABEL))),
    Member("bonuses", each(NUMBER), (), always=False),
)
MODELS = {
    "rule-list": Record(
        RuleList,
        Member("full", FLAG),
        Member("defaults", per_label(BIT)),
        Member("default_counts", per_label(COUNTS)),
        Member("default_chances", per_label(CHANCE), (), always=False),
        Member("rules", each(RULE)),
    ),
    "rule-ensemble": Record(
        RuleEnsemble,
        Member("unit", UNIT),
        Member("intercepts", each(NUMBER)),
        Member("decision", DECISION),
        Member("rules", each(WEIGHTED_RULE)),
    ),
}
"""What a file holds of each kind of model, besides what all kinds share."""
