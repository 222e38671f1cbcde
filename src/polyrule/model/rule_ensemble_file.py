"""What a model file of kind "rule-ensemble" holds: rules in terms of names, weights, and how sums become labels."""

from __future__ import annotations

from typing import Any

from polyrule.data.table import Feature
from polyrule.model.decisions import KINDS, Decision
from polyrule.model.files import Codec, Node
from polyrule.model.rule import Entry, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list_file import Vocabulary, decode_body, decode_head, encode_condition, plain_number


def encode(model: RuleEnsemble) -> dict[str, Any]:
    """Members that belong to an ensemble."""
    names = Vocabulary(model.features, model.label_names)
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
        "rules": [_encode_rule(rule, names) for rule in model.rules],
    }


def decode(
    members: dict[str, Node], features: tuple[Feature, ...], label_names: tuple[str, ...], info: dict[str, Any]
) -> RuleEnsemble:
    """Return the ensemble that the members describe."""
    names = Vocabulary(features, label_names)
    return RuleEnsemble(
        rules=tuple(_decode_rule(node, names) for node in members["rules"]),
        features=features,
        label_names=label_names,
        intercepts=tuple(float(node.number()) for node in members["intercepts"]),
        decision=_decode_decision(members["decision"], names),
        unit=_decode_unit(members["unit"]),
        info=info,
    )


def _decode_unit(node: Node) -> float | tuple[float, ...]:
    """One number, or one per label."""
    return tuple(float(one.number(0)) for one in node) if isinstance(node.value, list) else float(node.number(0))


CODEC = Codec(encode, decode, ("unit", "intercepts", "decision", "rules"))


def _encode_rule(rule: WeightedRule, names: Vocabulary) -> dict[str, Any]:
    return {
        "head": [{"label": names.labels.write(entry.label), "weight": float(entry.weight)} for entry in rule.head],
        "body": [encode_condition(condition, names) for condition in rule.body],
        "coverage": None if rule.coverage is None else plain_number(rule.coverage),
    }


def _decode_rule(node: Node, names: Vocabulary) -> WeightedRule:
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
