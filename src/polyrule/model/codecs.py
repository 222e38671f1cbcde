"""What a model file holds of each kind of model: rules in terms of names, counts or weights, and what decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, TypeVar

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

Said = TypeVar("Said", Literal, Entry)


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


def _encode_list(model: RuleList, names: Vocabulary) -> dict[str, Any]:
    chances = {"default_chances": [float(chance) for chance in model.default_chances]} if model.default_chances else {}
    return {
        "full": bool(model.full),
        "defaults": [int(value) for value in model.defaults],
        "default_counts": [[plain_number(a), plain_number(b)] for a, b in model.default_counts],
        **chances,
        "rules": [_encode_rule(rule, names) for rule in model.rules],
    }


def _decode_list(members: dict[str, Node], names: Vocabulary) -> dict[str, Any]:
    labels = len(names.labels.names)
    for name in ("defaults", "default_counts", "default_chances"):
        given = members[name].maybe(Node.items)
        if given is not None and len(given) != labels:
            members[name].fail(f"has {len(given)} entries for {labels} labels")
    return {
        "rules": tuple(_decode_rule(node, names) for node in members["rules"]),
        "defaults": tuple(node.whole(0, 1) for node in members["defaults"]),
        "default_counts": tuple(_pair(node) for node in members["default_counts"]),
        "full": members["full"].flag(),
        "default_chances": tuple(map(_chance, members["default_chances"].maybe(list) or ())),
    }


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


def decode_body(node: Node, names: Vocabulary) -> tuple[Condition, ...]:
    """All conditions of a body, of which one may be a group."""
    body = tuple(decode_condition(item, names) for item in node)
    if sum(isinstance(condition, GroupCondition) for condition in body) > 1:
        node.fail("must hold at most one group of alternatives")
    return body


def decode_head(node: Node, names: Vocabulary, read: Callable[[Node, Vocabulary], Said]) -> tuple[Said, ...]:
    """All that a head says, each read by `read`, in the order of the labels."""
    head = sorted((read(item, names) for item in node), key=lambda said: said.label)
    if len({said.label for said in head}) != len(head) or not head:
        node.fail("must name at least one label and none twice")
    return tuple(head)


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


def _encode_rule(rule: Rule, names: Vocabulary) -> dict[str, Any]:
    encoded: dict[str, Any] = {
        "head": [
            {
                "label": names.labels.write(literal.label),
                "value": int(literal.value),
                "tp": plain_number(literal.tp),
                "fp": plain_number(literal.fp),
                **({} if literal.chance is None else {"chance": float(literal.chance)}),
            }
            for literal in rule.head
        ],
        "body": [encode_condition(condition, names) for condition in rule.body],
        "stop": bool(rule.stop),
        "value": None if rule.value is None else f"{rule.value.numerator}/{rule.value.denominator}",
        "coverage": None if rule.coverage is None else plain_number(rule.coverage),
        "origin": rule.origin,
    }
    if rule.bound is not None:
        encoded["bound"] = f"{rule.bound.numerator}/{rule.bound.denominator}"
    if rule.unfinished:
        encoded["unfinished"] = True
    if rule.certificate is not None:
        encoded["certificate"] = plain_json(rule.certificate, "certificate")
    return encoded


def _decode_rule(node: Node, names: Vocabulary) -> Rule:
    members = node.fields(
        ("head", "body"), ("stop", "value", "coverage", "origin", "bound", "unfinished", "certificate")
    )
    # A rule written into the file by hand need not spell out what a learned one has.
    origin = members["origin"].maybe(lambda n: n.choice("learned", "edited", "hand")) or "hand"
    certificate = members["certificate"]
    if certificate.value is not None and not isinstance(certificate.value, dict):
        certificate.fail("must be an object")
    return Rule(
        head=decode_head(members["head"], names, _decode_literal),
        body=decode_body(members["body"], names),
        stop=members["stop"].maybe(Node.flag) or False,
        value=members["value"].maybe(Node.fraction),
        origin=origin,  # type: ignore[arg-type]
        coverage=members["coverage"].maybe(lambda n: n.number(0)),
        bound=members["bound"].maybe(Node.fraction),
        unfinished=members["unfinished"].maybe(Node.flag) or False,
        certificate=certificate.value,
    )


def _decode_literal(node: Node, names: Vocabulary) -> Literal:
    members = node.fields(("label", "value"), ("tp", "fp", "chance"))
    counts = [members[name].maybe(lambda n: n.number(0)) or 0 for name in ("tp", "fp")]
    chance = members["chance"].maybe(_chance)
    return Literal(names.labels.read(members["label"]), members["value"].whole(0, 1), counts[0], counts[1], chance)


def _chance(node: Node) -> float:
    chance = float(node.number(0))
    if chance > 1:
        node.fail("must be a probability, between 0 and 1")
    return chance


def _pair(node: Node) -> tuple[float, float]:
    items = node.items()
    if len(items) != 2:
        node.fail("must hold two counts: present, absent")
    return items[0].number(0), items[1].number(0)


def _encode_ensemble(model: RuleEnsemble, names: Vocabulary) -> dict[str, Any]:
    decision = model.decision
    return {
        "unit": list(model.unit) if isinstance(model.unit, tuple) else float(model.unit),
        "intercepts": [float(number) for number in model.intercepts],
        "decision": {
            "kind": decision.kind,
            "cuts": [float(cut) for cut in decision.cuts],
            "label_sets": [[names.labels.write(label) for label in labels] for labels in decision.label_sets],
            **({"bonuses": [float(bonus) for bonus in decision.bonuses]} if decision.bonuses else {}),
        },
        "rules": [_encode_weighted(rule, names) for rule in model.rules],
    }


def _decode_ensemble(members: dict[str, Node], names: Vocabulary) -> dict[str, Any]:
    return {
        "rules": tuple(_decode_weighted(node, names) for node in members["rules"]),
        "intercepts": tuple(float(node.number()) for node in members["intercepts"]),
        "decision": _decode_decision(members["decision"], names),
        "unit": _decode_unit(members["unit"]),
    }


def _decode_unit(node: Node) -> float | tuple[float, ...]:
    """One number, or one per label."""
    return tuple(float(one.number(0)) for one in node) if isinstance(node.value, list) else float(node.number(0))


def _encode_weighted(rule: WeightedRule, names: Vocabulary) -> dict[str, Any]:
    return {
        "head": [{"label": names.labels.write(entry.label), "weight": float(entry.weight)} for entry in rule.head],
        "body": [encode_condition(condition, names) for condition in rule.body],
        "coverage": None if rule.coverage is None else plain_number(rule.coverage),
    }


def _decode_weighted(node: Node, names: Vocabulary) -> WeightedRule:
    members = node.fields(("head", "body"), ("coverage",))
    return WeightedRule(
        head=decode_head(members["head"], names, _decode_entry),
        body=decode_body(members["body"], names),
        coverage=members["coverage"].maybe(lambda n: n.number(0)),
    )


def _decode_entry(node: Node, names: Vocabulary) -> Entry:
    members = node.fields(("label", "weight"))
    return Entry(names.labels.read(members["label"]), float(members["weight"].number()))


def _decode_decision(node: Node, names: Vocabulary) -> Decision:
    members = node.fields(("kind", "cuts", "label_sets"), ("bonuses",))
    kind = members["kind"].choice(*KINDS)
    return Decision(
        kind,  # type: ignore[arg-type]
        tuple(float(cut.number()) for cut in members["cuts"]),
        tuple(tuple(names.labels.read(label) for label in labels) for labels in members["label_sets"]),
        tuple(float(bonus.number()) for bonus in members["bonuses"].maybe(list) or ()),
    )


@dataclass(frozen=True)
class Codec:
    """How the members of a file that belong to one kind of model are written and read."""

    model: Any
    encode_own: Callable[[Any, Vocabulary], dict[str, Any]]
    decode_own: Callable[[dict[str, Node], Vocabulary], dict[str, Any]]
    members: tuple[str, ...]
    optional: tuple[str, ...] = ()  # those that may be absent

    def encode(self, model: Any) -> dict[str, Any]:
        """Return these members as plain JSON values."""
        return self.encode_own(model, Vocabulary(model.features, model.label_names))

    def decode(self, members: dict[str, Node], shared: dict[str, Any]) -> Any:
        """Return the model, of which `shared` has features, label names and information."""
        names = Vocabulary(shared["features"], shared["label_names"])
        return self.model(**self.decode_own(members, names), **shared)


CODECS = {
    "rule-list": Codec(
        RuleList, _encode_list, _decode_list, ("full", "defaults", "default_counts", "rules"), ("default_chances",)
    ),
    "rule-ensemble": Codec(
        RuleEnsemble, _encode_ensemble, _decode_ensemble, ("unit", "intercepts", "decision", "rules")
    ),
}
