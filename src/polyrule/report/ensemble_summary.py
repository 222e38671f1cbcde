"""A rule ensemble as plain values: weighted rules, how often their signs agree with the truth, and the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyrule.model.printing import rule_text
from polyrule.model.rule import Literal, Rule, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.report import label_graph
from polyrule.report.inputs import Part
from polyrule.report.list_summary import condition_entry, few, note_entry, on_part
from polyrule.report.tally import Tally


def signed_rule(rule: WeightedRule) -> Rule:
    """Return the rule with signs instead of weights: a positive weight speaks for present, any other for absent."""
    head = tuple(Literal(entry.label, int(entry.weight > 0)) for entry in rule.head)
    return Rule(head, rule.body, coverage=rule.coverage)


def summarise(
    model: RuleEnsemble, runs: Sequence[Tally], slots: Mapping[int, int], graph: bool = True
) -> dict[str, Any]:
    """Everything the page needs to show and to run the ensemble; `slots` numbers the features the page carries."""
    statistics = dict(model.statistics())
    statistics["negative_literals"] = statistics.get("negative_entries", 0)
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
        "statistics": {name: float(value) for name, value in statistics.items()},
        "rules": [
            _rule(rule, number, runs, slots) | note_entry(model, rule, rule_text)
            for number, rule in enumerate(model.rules)
        ],
        "graph": label_graph.summarise(map(signed_rule, model.rules), len(model.label_names)) if graph else None,
        "text": model.format(),
    }


def summarise_part(model: RuleEnsemble, result: Tally, part: Part) -> dict[str, Any]:
    """Nothing more: an ensemble has no order that could be followed."""
    return {}


def warnings(model: RuleEnsemble, runs: Sequence[Tally], parts: Sequence[Part]) -> list[str]:
    """Say what a reader of the ensemble should know before trusting it."""
    found = []
    if not model.rules:
        found.append("The ensemble has no rules: every example gets the same labels.")
    for result, part in zip(runs, parts, strict=True):
        idle = [number + 1 for number in np.flatnonzero(result.covers == 0)]
        if idle and not part.unseen:  # on a few new examples some rules have nothing to do; their cards say so
            where = part.title.lower()
            found.append(f"{len(idle)} of {len(model)} rules cover no example of the {where} (rule {few(idle)}).")
        silent = [name for name, said in zip(model.label_names, result.predicted, strict=True) if not said.any()]
        if silent:
            verb = "is" if len(silent) == 1 else "are"
            count = f"{len(silent)} of {len(model.label_names)} labels"
            found.append(f"{count} {verb} never predicted there: {few(silent)}.")
    return found


def _rule(rule: WeightedRule, number: int, runs: Sequence[Tally], slots: Mapping[int, int]) -> dict[str, Any]:
    return {
        "head": [[entry.label, int(entry.weight > 0), 0, 0, float(entry.weight)] for entry in rule.head],
        "body": [condition_entry(condition, slots) for condition in rule.body],
        "stop": False,
        "value": None,
        "exact": None,
        "origin": "learned",
        "coverage": None if rule.coverage is None else float(rule.coverage),
        "parts": [on_part(rule, number, result) for result in runs],
    }
