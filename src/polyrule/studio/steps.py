"""Steps that change a model: the change, its description, and Python code that repeats it.

A step is plain JSON with a member "do". Steps come from the page and from project files, so every member is checked
here, once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from polyrule.conditions import group_of
from polyrule.data.documents import JsonNode
from polyrule.errors import OptionError
from polyrule.model.printing import rule_text
from polyrule.model.rule import Rule, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.studio.sentences import sentence

Step = dict[str, Any]
#: characters of a rule, a name or a comment that a person may type
LONGEST_TEXT = 20_000

_MOST = 1_000_000
_MEMBERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "remove": (("rule",), ()),
    "move": (("rule", "to"), ()),
    "insert": (("at", "text"), ()),
    "replace": (("rule", "text"), ()),
    "split": (("rule", "label"), ()),
    "join": (("rules",), ("name",)),
    "reweigh": (("rule", "label", "weight"), ()),
    "note": (("rule",), ("name", "comment", "pinned")),
}


def read_step(value: Any) -> Step:
    """Return a step that changes a model after checking it, or raise; learning and opening are not asked for here."""
    node = JsonNode(value, "step")
    do = node.mapping().get("do")
    if do not in _MEMBERS:
        node.fail(f"does not say what to do: one of {', '.join(_MEMBERS)}")
    required, optional = _MEMBERS[str(do)]
    members = node.fields(("do", *required), optional)
    present = [*required, *(name for name in optional if members[name].value is not None)]
    return {"do": do} | {name: _READ[name](members[name]) for name in present}


def _text(node: JsonNode) -> str:
    text = node.text()
    if len(text) > LONGEST_TEXT:
        node.fail(f"has {len(text)} characters, more than the {LONGEST_TEXT} that are allowed")
    return text


def _whole(node: JsonNode) -> int:
    return node.whole(0, _MOST)


#: how each member of a step is read
_READ: dict[str, Callable[[JsonNode], Any]] = {
    **dict.fromkeys(("rule", "to", "at", "label"), _whole),
    **dict.fromkeys(("text", "name", "comment"), _text),
    "rules": lambda node: sorted(set(map(_whole, node))),
    "weight": lambda node: float(node.number()),
    "pinned": JsonNode.flag,
}


def _calls(model: Any, step: Step) -> list[tuple[str, tuple[Any, ...]]]:
    """The methods of a model that a step calls, one after the other, with what they are given."""
    do = step["do"]
    if do == "note":
        rule_at(model, step["rule"])
        return []
    if do == "split":
        at, (shorter, alone) = step["rule"], split_texts(model, step["rule"], step["label"])
        return [("replace", (at, shorter)), ("insert", (at + 1, alone))]
    if do == "join":
        if len(step["rules"]) < 2:
            raise OptionError("choose at least two rules to join")
        name = _group_name(model, step)
        return [("join", tuple(step["rules"])), *([("name_group", (step["rules"][0], name))] if name else [])]
    if do == "reweigh":
        if not isinstance(model, RuleEnsemble):
            raise OptionError("the labels of a rule list have no points; change the rule instead")
        return [(do, (step["rule"], _label(model, step["label"]), step["weight"]))]
    return [(do, tuple(step[name] for name in _MEMBERS[do][0]))]  # remove, move, insert, replace


def apply(model: Any, step: Step) -> Any:
    """Return the model as it is after a step; names and comments do not change it."""
    for method, arguments in _calls(model, step):
        model = getattr(model, method)(*arguments)
    return model


def code(model: Any, step: Step) -> list[str]:
    """Return the lines of Python that do to `model` what the step does."""
    return [f"model = model.{method}({', '.join(map(repr, arguments))})" for method, arguments in _calls(model, step)]


def words(model: Any, step: Step) -> str:
    """Return a description of a step for the history."""
    do = step["do"]
    if do == "remove":
        return f"removed rule {step['rule'] + 1}: {sentence(model, rule_at(model, step['rule']))}"
    if do == "move":
        return f"moved rule {step['rule'] + 1} to {step['to'] + 1}"
    if do == "insert":
        return f"added as rule {step['at'] + 1}: {_after(model, step, step['at'])}"
    if do == "replace":
        old = sentence(model, rule_at(model, step["rule"]))
        return f"changed rule {step['rule'] + 1} from “{old}” to “{_after(model, step, step['rule'])}”"
    if do == "split":
        return f"split {_label(model, step['label'])} off rule {step['rule'] + 1}"
    if do == "join":
        numbers = ", ".join(str(index + 1) for index in step["rules"])
        return f"joined rules {numbers}: {_after(model, step, step['rules'][0])}"
    if do == "reweigh":
        return f"gave {_label(model, step['label'])} {step['weight']:+g} in rule {step['rule'] + 1}"
    said_of = [word for word, key in (("named", "name"), ("commented", "comment")) if step.get(key)]
    if "pinned" in step:
        said_of.append("pinned" if step["pinned"] else "unpinned")
    return f"{' and '.join(said_of) or 'cleared the notes of'} rule {step['rule'] + 1}"


def _after(model: Any, step: Step, index: int) -> str:
    """Return a rule as a sentence, as it is after a step."""
    after = apply(model, step)
    return sentence(after, after.rules[index])


def rule_text_at(model: Any, index: int) -> str:
    """Return the text of a rule without counts, which is the key of its name and comment."""
    return text_of(rule_at(model, index), model)


def text_of(rule: Rule | WeightedRule, model: Any) -> str:
    """Return a rule in the names of a model; the text reads back as the same rule."""
    return rule_text(rule, model)


def split_texts(model: Any, index: int, label: int) -> tuple[str, str]:
    """Return a rule without one of its labels, and the rule for that label alone."""
    rule = rule_at(model, index)
    others = tuple(literal for literal in rule.head if literal.label != label)
    alone = tuple(literal for literal in rule.head if literal.label == label)
    if not alone or not others:
        raise OptionError(f"rule {index + 1} has no such label beside others, so there is nothing to split off")
    return text_of(replace(rule, head=others), model), text_of(replace(rule, head=alone), model)


def _group_name(model: Any, step: Step) -> str:
    """Return the name of the group of joined rules; values of one feature make a set, which has none."""
    name: str = step.get("name", "").strip()
    return name if name and group_of(model.join(*step["rules"]).rules[step["rules"][0]].body) else ""


def rule_at(model: Any, index: int) -> Any:
    """Return a rule, or say that there is none with this number."""
    if not 0 <= index < len(model.rules):
        raise OptionError(f"there is no rule {index + 1} in a model of {len(model.rules)} rules")
    return model.rules[index]


def _label(model: Any, label: int) -> str:
    if not 0 <= label < len(model.label_names):
        raise OptionError(f"there is no label {label} in a model of {len(model.label_names)} labels")
    return str(model.label_names[label])
