"""A rule list as plain values: its rules with what they do on every part, its curve, its label graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from polyrule.arrays import Floats
from polyrule.model.bodies import ABOVE, AT_MOST, CATEGORY, GROUP, IN, LABEL, MISSING
from polyrule.model.conditions import shown_threshold
from polyrule.model.printing import format_doubt, parts_0_from_1, rule_text
from polyrule.model.rule import (
    Condition,
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    Rule,
    SetCondition,
    WeightedRule,
)
from polyrule.model.rule_list import RuleList
from polyrule.report import label_graph
from polyrule.report.curves import curve
from polyrule.report.inputs import Part
from polyrule.report.tally import Tally, counts

#: significant digits of thresholds in a page, more where so few would not be true
DIGITS = 5


def summarise(model: RuleList, runs: Sequence[Tally], slots: Mapping[int, int], graph: bool = True) -> dict[str, Any]:
    """Everything the page needs to show and to run the list; `slots` numbers the features the page carries.

    The label graph takes longer than all the rest where labels are many, so it can be left out.
    """
    return {
        "kind": "rule-list",
        "full": bool(model.full),
        "defaults": [int(value) for value in model.defaults],
        "default_counts": [[_count(present), _count(absent)] for present, absent in model.default_counts],
        "statistics": {name: _count(value) for name, value in model.statistics().items()},
        "rules": [
            _rule(rule, number, runs, slots) | note_entry(model, rule, rule_text)
            for number, rule in enumerate(model.rules)
        ],
        "always": list(model.constants()),
        "graph": label_graph.summarise(model.rules, len(model.label_names)) if graph else None,
        "text": model.format(),
    }


def summarise_part(model: RuleList, result: Tally, part: Part) -> dict[str, Any]:
    """What running the list on one part showed: labels nobody set, and the curve."""
    steps = curve(model, result)
    return {
        "unset": counts(result.unset).tolist(),
        "curve": {
            "set": _shares(steps.set_share),
            "open": steps.open_examples.tolist(),
            "micro_f1": _shares(steps.micro_f1),
            "hamming_accuracy": _shares(steps.hamming_accuracy),
            "subset_accuracy": _shares(steps.subset_accuracy),
        },
    }


def warnings(model: RuleList, runs: Sequence[Tally], parts: Sequence[Part]) -> list[str]:
    """Say what a reader of the list should know before trusting it."""
    found = [f"The list is {text}." for text in [model.shortfall()] if text]
    if not model.rules:
        found.append("The list has no rules: every label gets its default.")
    for result, part in zip(runs, parts, strict=True):
        if part.unseen:
            continue  # on a few new examples some rules have nothing to do; their cards say so
        idle = [number + 1 for number in np.flatnonzero(result.sets == 0)]
        if idle and len(model.rules):
            found.append(
                f"{len(idle)} of {len(model)} rules set no label of the {part.title.lower()} (rule {few(idle)}): "
                "nothing is known about them there."
            )
    silent = [name for index, name in enumerate(model.label_names) if not _ever_present(model, index)]
    if silent:
        verb = "is" if len(silent) == 1 else "are"
        found.append(f"{len(silent)} of {len(model.label_names)} labels {verb} never predicted present: {few(silent)}.")
    return found


def few(names: Sequence[object]) -> str:
    """The first of some names or numbers."""
    return ", ".join(map(str, names[:8])) + ("…" if len(names) > 8 else "")


def _ever_present(model: RuleList, label: int) -> bool:
    if model.defaults[label]:
        return True
    return any(literal.label == label and literal.value for rule in model.rules for literal in rule.head)


def _rule(rule: Rule, number: int, runs: Sequence[Tally], slots: Mapping[int, int]) -> dict[str, Any]:
    return {
        "head": [[literal.label, literal.value, _count(literal.tp), _count(literal.fp)] for literal in rule.head],
        "body": [condition_entry(condition, slots) for condition in rule.body],
        "stop": bool(rule.stop),
        "value": None if rule.value is None else round(float(rule.value), 6),
        "exact": None if rule.value is None else str(rule.value),
        "origin": rule.origin,
        "coverage": None if rule.coverage is None else _count(rule.coverage),
        "expected": rule.expected,
        "chances": [literal.chance for literal in rule.head],
        "doubt": format_doubt(rule).removeprefix(", "),
        "parts": [on_part(rule, number, result) for result in runs],
    }


def note_entry(model: Any, rule: Any, text_of: Callable[..., str]) -> dict[str, Any]:
    """What people said about a rule: `info["notes"]` of a model holds a name and a comment by what the rule says."""
    notes = model.info.get("notes")
    found = notes.get(text_of(rule, model.features, model.label_names)) if isinstance(notes, dict) else None
    if not isinstance(found, dict):
        return {}
    said = {key: found[key] for key in ("name", "comment") if isinstance(found.get(key), str)}
    return {"note": said} if said else {}


def on_part(rule: Rule | WeightedRule, number: int, result: Tally) -> dict[str, Any]:
    """What one rule did on one part."""
    right, wrong = result.right[number], result.wrong[number]
    return {
        "covers": int(result.covers[number]),
        "sets": int(result.sets[number]),
        "right": int(right.sum()),
        "wrong": int(wrong.sum()),
        "head": [[int(right[said.label]), int(wrong[said.label])] for said in rule.head],
    }


def condition_entry(condition: Condition, slots: Mapping[int, int]) -> list[Any]:
    """A condition as [kind, feature or label, value], the kinds numbered as in `polyrule.model.bodies`.

    A threshold that may be shown with fewer digits is followed by that number. A group is
    [kind, least, members, name, which members part 0 from 1].
    """
    match condition:
        case NumericCondition(feature, op, threshold):
            entry = [AT_MOST if op == "<=" else ABOVE, slots[feature], float(threshold)]
            shown = shown_threshold(condition, DIGITS)
            return entry if shown == threshold else [*entry, shown]
        case NominalCondition(feature, value):
            return [CATEGORY, slots[feature], int(value)]
        case SetCondition(feature, values):
            return [IN, slots[feature], list(values)]
        case MissingCondition(feature, missing):
            return [MISSING, slots[feature], int(missing)]
        case LabelCondition(label, value):
            return [LABEL, int(label), int(value)]
        case GroupCondition(members, least, name):
            counted = [int(isinstance(member, NumericCondition) and parts_0_from_1(member)) for member in members]
            return [GROUP, least, [condition_entry(member, slots) for member in members], name, counted]


def _count(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def _shares(values: Floats) -> list[float]:
    return [round(float(value), 5) for value in values]
