"""A model as plain values: its rules with what they do on every part, what decides besides them, its label graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyrule.conditions.page import write_condition
from polyrule.decisions.costs import CostScores, costs_of
from polyrule.errors import OptionError
from polyrule.export.language import relation_constants
from polyrule.model.cost_note import cost_lines
from polyrule.model.predict import margin_table
from polyrule.model.printing import format_doubt, rule_text
from polyrule.model.rule import EitherRule, Literal, Rule, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList
from polyrule.relations.relation import quoted
from polyrule.report import label_graph
from polyrule.report.counts import PredictionCounts
from polyrule.report.curves import curve
from polyrule.report.examples import plain
from polyrule.report.inputs import DataPart

#: significant digits of thresholds in a page, more where so few would not be true
DIGITS = 5


def signed_rule(rule: EitherRule) -> Rule:
    """Return a rule with signs instead of weights: a positive weight means present, any other absent."""
    if isinstance(rule, Rule):
        return rule
    head = tuple(Literal(entry.label, int(entry.weight > 0)) for entry in rule.head)
    return Rule(head, rule.body, coverage=rule.coverage)


def signed_rules(model: Any) -> list[Rule]:
    """Return a model's rules as heads of present and absent labels with their bodies."""
    return [signed_rule(rule) for rule in model.rules]


def summarise(
    model: RuleList | RuleEnsemble, runs: Sequence[PredictionCounts], slots: Mapping[int, int], graph: bool = True
) -> dict[str, Any]:
    """Everything the page needs to show and to run the model; `slots` numbers the features the page carries.

    The label graph takes longer than all the rest where labels are many, so it can be left out.
    """
    if isinstance(model, RuleList):
        entry = _list(model)
    elif isinstance(model, RuleEnsemble):
        entry = _ensemble(model)
    else:
        raise OptionError(f"cannot report on {type(model).__name__}: only rule lists and rule ensembles have a report")
    return entry | {
        "rules": [_rule(model, number, runs, slots) for number in range(len(model))],
        "graph": label_graph.summarise(signed_rules(model), len(model.label_names)) if graph else None,
        "text": model.format(),
        **_relations(model),
        **_costs(model, runs),
    }


def _costs(model: RuleList | RuleEnsemble, runs: Sequence[PredictionCounts]) -> dict[str, Any]:
    """Costs of false alarms and misses, and what they add up to on each part."""
    costs = costs_of(model)
    if not costs:
        return {}
    texts = []
    for run in runs:
        counts, labels = run.per_label, {}
        for name, (false_alarm, miss) in costs.items():
            label = model.label_names.index(name)
            alarms, misses = int(counts["fp"][label]), int(counts["fn"][label])
            labels[name] = alarms, misses, alarms * false_alarm + misses * miss
        texts.append(CostScores(run.covers_of.rows, labels).text())
    return {"costs": [line.strip("()") for line in cost_lines(model)] + texts}


def _relations(model: RuleList | RuleEnsemble) -> dict[str, Any]:
    """Relations between labels as texts, and how the page decides related labels."""
    if model.plan is None:
        return {}
    texts = {"stated": [relation.text(model.label_names) for relation in model.relations]}
    steps = relation_constants(model)
    if not steps:
        return texts
    names = {"names": [quoted(name) for name in model.label_names]}
    margins = {"margins": margin_table(model).tolist()} if isinstance(model, RuleList) else {}
    return texts | {"relations": {name.lower(): value for name, value in steps.items()} | names | margins}


def _list(model: RuleList) -> dict[str, Any]:
    return {
        "kind": "rule-list",
        "full": bool(model.full),
        "defaults": [int(value) for value in model.defaults],
        "default_counts": [[plain(present), plain(absent)] for present, absent in model.default_counts],
        "statistics": {name: plain(value) for name, value in model.statistics().items()},
        "always": list(model.constants()),
    }


def _ensemble(model: RuleEnsemble) -> dict[str, Any]:
    statistics = model.statistics()
    return {
        "kind": "ensemble",
        "intercepts": [float(value) for value in model.intercepts],
        "units": model.worth.tolist(),
        "scorecard": model.is_scorecard,
        "decision": {
            "kind": model.decision.kind,
            "cuts": [float(cut) for cut in model.decision.cuts],
            "label_sets": [list(labels) for labels in model.decision.label_sets],
            "bonuses": list(model.decision.every_bonus),
        },
        "statistics": {name: plain(value) for name, value in statistics.items()}
        | {"negative_literals": statistics["negative_entries"]},
    }


def curve_entry(model: RuleList | RuleEnsemble, result: PredictionCounts) -> dict[str, Any]:
    """Scores of every prefix of a list on one part; nothing for an ensemble, which has no order."""
    if not isinstance(model, RuleList):
        return {}
    names = {"set_share": "set", "open_examples": "open"}
    points = vars(curve(model, result)).items()
    return {"curve": {names.get(name, name): np.round(values, 5).tolist() for name, values in points}}


def warnings(model: RuleList | RuleEnsemble, runs: Sequence[PredictionCounts], parts: Sequence[DataPart]) -> list[str]:
    """Return warnings that a reader of the model should see first."""
    is_list = isinstance(model, RuleList)
    messages = [f"The list is {text}." for text in [model.shortfall()] if text]
    if not model.rules:
        otherwise = "every label gets its default" if is_list else "every example gets the same labels"
        messages.append(f"The {'list' if is_list else 'ensemble'} has no rules: {otherwise}.")
    for result, part in zip(runs, parts, strict=True):
        idle = [number + 1 for number in np.flatnonzero(result.sets == 0)]
        if idle and not part.unseen:  # on a few new examples some rules have nothing to do; their cards say so
            where = f"of the {part.title.lower()} (rule {few(idle)})"
            does = (
                f"set no label {where}: nothing is known about them there" if is_list else f"cover no example {where}"
            )
            messages.append(f"{len(idle)} of {len(model)} rules {does}.")
        if not is_list:
            messages += _silent(model, result.predicted.any(axis=1), "there")
    if isinstance(model, RuleList):
        predicted_labels = {
            label for rule in model.rules for label, value in ((one.label, one.value) for one in rule.head) if value
        }
        messages += _silent(
            model, [value or label in predicted_labels for label, value in enumerate(model.defaults)], "present"
        )
    return messages


def _silent(model: RuleList | RuleEnsemble, predicted: Any, where: str) -> list[str]:
    """Return a message that names the labels never predicted, if any."""
    silent = [name for name, is_predicted in zip(model.label_names, predicted, strict=True) if not is_predicted]
    verb = "is" if len(silent) == 1 else "are"
    message = f"{len(silent)} of {len(model.label_names)} labels {verb} never predicted {where}: {few(silent)}."
    return [message] if silent else []


def few(names: Sequence[object]) -> str:
    """The first of some names or numbers."""
    return ", ".join(map(str, names[:8])) + ("…" if len(names) > 8 else "")


def _rule(model: Any, number: int, runs: Sequence[PredictionCounts], slots: Mapping[int, int]) -> dict[str, Any]:
    rule = model.rules[number]
    return {
        **(_weighted(rule) if isinstance(rule, WeightedRule) else _set(rule)),
        "body": [write_condition(condition, slots, DIGITS) for condition in rule.body],
        "coverage": None if rule.coverage is None else plain(rule.coverage),
        "parts": [on_part(rule, number, result) for result in runs],
        **note_entry(model, rule),
    }


def _set(rule: Rule) -> dict[str, Any]:
    return {
        "head": [[literal.label, literal.value, plain(literal.tp), plain(literal.fp)] for literal in rule.head],
        "stop": bool(rule.stop),
        "value": None if rule.value is None else round(float(rule.value), 6),
        "exact": None if rule.value is None else str(rule.value),
        "origin": rule.origin,
        "expected": rule.expected,
        "alone": None if rule.alone is None else [plain(count) for count in rule.alone],
        "stale": rule.stale,
        "chances": [literal.chance for literal in rule.head],
        "doubt": format_doubt(rule).removeprefix(", "),
    }


def _weighted(rule: WeightedRule) -> dict[str, Any]:
    head = [[entry.label, int(entry.weight > 0), 0, 0, float(entry.weight)] for entry in rule.head]
    return {"head": head, "stop": False, "value": None, "exact": None, "origin": "learned"}


def note_entry(model: Any, rule: EitherRule) -> dict[str, Any]:
    """Return the note on a rule; `info["notes"]` of a model has a name and a comment by the rule's text."""
    notes = model.info.get("notes")
    note = notes.get(rule_text(rule, model)) if isinstance(notes, dict) else None
    if not isinstance(note, dict):
        return {}
    texts = {key: note[key] for key in ("name", "comment") if isinstance(note.get(key), str)}
    return {"note": texts} if texts else {}


def on_part(rule: EitherRule, number: int, result: PredictionCounts) -> dict[str, Any]:
    """Return the counts of one rule on one part."""
    right, wrong = result.right[number], result.wrong[number]
    return {
        "covers": int(result.covers[number]),
        "sets": int(result.sets[number]),
        "right": int(right.sum()),
        "wrong": int(wrong.sum()),
        **_alone_on_part(rule, number, result),
        "head": [[int(right[literal.label]), int(wrong[literal.label])] for literal in rule.head],
    }


def _alone_on_part(rule: EitherRule, number: int, result: PredictionCounts) -> dict[str, Any]:
    """Return the counts of the labels of a head for all examples that the rule covers, if other rules come first."""
    if result.alone is None:
        return {}
    labels = [literal.label for literal in rule.head]
    return {"alone": [int(counts[number, labels].sum()) for counts in result.alone]}
