"""The steps of which work on a model is made: what each does, how it is said, and the Python that repeats it.

A step is plain JSON with a member "do". Steps come from the page and from project files, so every member is checked
here, once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polyrule.ensemble.model import RuleEnsemble
from polyrule.errors import OptionError
from polyrule.model.conditions import said_shorter, tidy
from polyrule.model.printing import format_name, rule_text
from polyrule.model.reading import Node
from polyrule.model.rule import GroupCondition, LabelCondition, Rule
from polyrule.model.rule_list import RuleList

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


def read_step(value: Any, source: str = "step") -> Step:
    """Return a step that changes a model after checking it, or raise; learning and opening are not asked for here."""
    node = Node(value, source)
    do = node.mapping().get("do")
    if do not in _MEMBERS:
        node.fail(f"does not say what to do: one of {', '.join(_MEMBERS)}")
    required, optional = _MEMBERS[str(do)]
    members = node.fields(("do", *required), optional)
    step: Step = {"do": do}
    for name in (*required, *optional):
        member = members[name]
        if name in optional and member.value is None:
            continue
        if name in ("rule", "to", "at", "label"):
            step[name] = member.whole(0, _MOST)
        elif name == "rules":
            step[name] = sorted({item.whole(0, _MOST) for item in member.items()})
        elif name == "weight":
            step[name] = float(member.number())
        elif name == "pinned":
            step[name] = member.flag()
        else:
            step[name] = _text(member)
    return step


def apply(model: Any, step: Step) -> Any:
    """Return the model as it is after a step; names and comments do not change it."""
    do = step["do"]
    if do == "note":
        _rule(model, step["rule"])
        return model
    if isinstance(model, RuleEnsemble):
        if do == "remove":
            return model.remove(step["rule"])
        if do == "reweigh":
            return model.reweigh(step["rule"], _label(model, step["label"]), step["weight"])
        raise OptionError(f"the rules of a scorecard cannot be changed by {do!r}: remove them or change their points")
    if do == "remove":
        return model.remove(step["rule"])
    if do == "move":
        return model.move(step["rule"], step["to"])
    if do == "insert":
        return model.insert(step["at"], step["text"])
    if do == "replace":
        return model.replace(step["rule"], step["text"])
    if do == "split":
        kept, alone = split_texts(model, step["rule"], step["label"])
        return model.replace(step["rule"], kept).insert(step["rule"] + 1, alone)
    if do == "join":
        first, *others = step["rules"] or [0]
        joined = model.replace(first, joined_text(model, step))
        for index in reversed(others):
            joined = joined.remove(index)
        return joined
    raise OptionError("the labels of a rule list have no points; change the rule instead")


def code(model: Any, step: Step) -> list[str]:
    """Return the lines of Python that do to `model` what the step does."""
    do = step["do"]
    if do == "remove":
        return [f"model = model.remove({step['rule']})"]
    if do == "move":
        return [f"model = model.move({step['rule']}, {step['to']})"]
    if do == "insert":
        return [f"model = model.insert({step['at']}, {step['text']!r})"]
    if do == "replace":
        return [f"model = model.replace({step['rule']}, {step['text']!r})"]
    if do == "split":
        kept, alone = split_texts(model, step["rule"], step["label"])
        at = step["rule"]
        return [f"model = model.replace({at}, {kept!r})", f"model = model.insert({at + 1}, {alone!r})"]
    if do == "join":
        first, *others = step["rules"]
        lines = [f"model = model.replace({first}, {joined_text(model, step)!r})"]
        return [*lines, *(f"model = model.remove({index})" for index in reversed(others))]
    if do == "reweigh":
        return [f"model = model.reweigh({step['rule']}, {_label(model, step['label'])!r}, {step['weight']!r})"]
    return []


def words(model: Any, step: Step) -> str:
    """Say what the step does to `model`, for the history."""
    do = step["do"]
    if do == "remove":
        return f"removed rule {step['rule'] + 1}: {said(model, step['rule'])}"
    if do == "move":
        return f"moved rule {step['rule'] + 1} to {step['to'] + 1}"
    if do == "insert":
        return f"added as rule {step['at'] + 1}: {step['text'].strip()}"
    if do == "replace":
        return f"changed rule {step['rule'] + 1} from {said(model, step['rule'])} to {step['text'].strip()}"
    if do == "split":
        return f"split {format_name(_label(model, step['label']))} off rule {step['rule'] + 1}"
    if do == "join":
        numbers = ", ".join(str(index + 1) for index in step["rules"])
        return f"joined rules {numbers} into {joined_text(model, step)}"
    if do == "reweigh":
        label = format_name(_label(model, step["label"]))
        return f"gave {label} {step['weight']:+g} in rule {step['rule'] + 1}"
    said_of = [word for word, key in (("named", "name"), ("commented", "comment")) if step.get(key)]
    if "pinned" in step:
        said_of.append("pinned" if step["pinned"] else "unpinned")
    return f"{' and '.join(said_of) or 'cleared the notes of'} rule {step['rule'] + 1}"


def said(model: Any, index: int) -> str:
    """Return what a rule says, without counts: the key of its name and comment, and what a person edits."""
    rule = _rule(model, index)
    return (
        rule_text(rule, model.features, model.label_names)
        if isinstance(rule, Rule)
        else model.format_rule(index, counts=False)
    )


def split_texts(model: RuleList, index: int, label: int) -> tuple[str, str]:
    """Return a rule without one of its labels, and the rule for that label alone."""
    rule = _rule(model, index)
    kept = tuple(literal for literal in rule.head if literal.label != label)
    alone = tuple(literal for literal in rule.head if literal.label == label)
    if not alone or not kept:
        raise OptionError(f"rule {index + 1} has no such label beside others, so there is nothing to split off")
    return tuple(rule_text(replace(rule, head=head), model.features, model.label_names) for head in (kept, alone))  # type: ignore[return-value]


def joined_text(model: RuleList, step: Step) -> str:
    """Return one rule that says what several say: where their bodies differ in one condition, any of these."""
    rules = [_rule(model, index) for index in step["rules"]]
    if len(rules) < 2:
        raise OptionError("choose at least two rules to join")
    first = rules[0]
    said_of = [([(one.label, one.value) for one in rule.head], rule.stop) for rule in rules]
    if any(other != said_of[0] for other in said_of):
        raise OptionError("only rules that predict the same labels can be joined; split labels off first")
    shared = [condition for condition in first.body if all(condition in rule.body for rule in rules)]
    members: list[Any] = []
    for index, rule in zip(step["rules"], rules, strict=True):
        own = [condition for condition in rule.body if condition not in shared]
        if (
            len(own) != 1
            or isinstance(own[0], LabelCondition)
            or (isinstance(own[0], GroupCondition) and own[0].least > 1)
        ):
            raise OptionError(
                f"rule {index + 1} must differ from the others in one condition on a feature, not in {len(own)}; drop "
                "conditions first, or join other rules"
            )
        members += own[0].members if isinstance(own[0], GroupCondition) else own
    if any(isinstance(condition, GroupCondition) for condition in shared):
        raise OptionError("the rules share an “any of” already, and a rule has at most one")
    group = said_shorter(GroupCondition(tuple(dict.fromkeys(members)), name=step.get("name", "").strip()))
    at = min(first.body.index(condition) for condition in first.body if condition not in shared)
    body = [condition for condition in first.body if condition in shared]
    body.insert(at, group)
    return rule_text(replace(first, body=tidy(tuple(body))), model.features, model.label_names)


def _rule(model: Any, index: int) -> Any:
    if not 0 <= index < len(model.rules):
        raise OptionError(f"there is no rule {index + 1} in a model of {len(model.rules)} rules")
    return model.rules[index]


def _label(model: Any, label: int) -> str:
    if not 0 <= label < len(model.label_names):
        raise OptionError(f"there is no label {label} in a model of {len(model.label_names)} labels")
    return str(model.label_names[label])


def _text(node: Node) -> str:
    text = node.text()
    if len(text) > LONGEST_TEXT:
        node.fail(f"has {len(text)} characters, more than the {LONGEST_TEXT} that are allowed")
    return text
