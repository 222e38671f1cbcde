"""Questions to the engine about the current model: which rules would set these examples right?

Candidates are looked for on a bounded number of examples, so that an answer comes at once; what each would do is then
counted on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.conditions import Condition
from polyrule.conditions.simplify import simplify_body
from polyrule.data.table import Table, unpacked_bits
from polyrule.measures import Objective, get
from polyrule.model.rule import Entry, Literal, Rule, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList
from polyrule.report.counts import count
from polyrule.search.native import make_engine
from polyrule.search.protocol import GrowOptions
from polyrule.selection.model import shorten
from polyrule.studio.hints import hints
from polyrule.studio.sentences import sentence
from polyrule.studio.setup import thinned
from polyrule.studio.steps import apply, text_of
from polyrule.studio.workbench import Workbench
from polyrule.utils.arrays import Words

#: examples on which candidates are looked for
MOST_SEARCHED = 4000
#: suggestions that a person gets
MOST_SUGGESTED = 8
#: labels for which rules are suggested at once
MOST_LABELS = 4
#: points that are tried for a suggested rule of a scorecard; half as much log-odds for other ensembles
MOST_POINTS = 10
_MEASURES = ("f1", "precision")


@dataclass(frozen=True, slots=True)
class Target:
    """A label that should have another value on some training examples."""

    label: int
    value: int
    rows: Words


def suggest(
    bench: Workbench,
    model: Any,
    rows: Words,
    label: int | None = None,
    value: int | None = None,
    directions: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Return rules that would set right what is wrong on these training examples, best first.

    With `label` and `value`, only rules for that label, or that make labels present (1) or absent (0).
    Each entry is a step ("insert" with place and text), the rule's text, its effect on both parts, and hints (see
    `hints`); `directions` maps names of features to "up" or "down".
    """
    suggestions: dict[str, dict[str, Any]] = {}
    for target in _targets(bench, model, rows, label, value):
        for body in _bodies(bench, target):
            rule = _rule(bench, model, target, body)
            if rule is None:
                continue
            text = text_of(rule, model)
            step = {"do": "insert", "at": _place(bench, model, target, body), "text": text}
            if text not in suggestions:
                effect = bench.effect(model, apply(model, step))
                words = sentence(model, rule)
                suggestions[text] = {
                    "step": step,
                    "text": text,
                    "words": words,
                    "label": target.label,
                    "effect": effect,
                }
                suggestions[text]["hints"] = hints(bench, rule, directions)
    return sorted(filter(helps, suggestions.values()), key=merit)[:MOST_SUGGESTED]


def merit(one: dict[str, Any]) -> tuple[float, int, int, str]:
    """Return the place of an answer by what it does on the training examples: micro F1, labels set right, length."""
    train = one["effect"][0]
    gain = train["scores"]["micro_f1"] - train["before"]["micro_f1"]
    return -gain, train["broken"] - train["fixed"], len(one["text"]), one["text"]


def helps(one: dict[str, Any]) -> bool:
    """Return True if an answer raises micro F1 on the training examples."""
    train = one["effect"][0]
    return bool(train["scores"]["micro_f1"] > train["before"]["micro_f1"])


def _targets(bench: Workbench, model: Any, rows: Words, label: int | None, value: int | None) -> list[Target]:
    """Return wrong labels of the selected examples, the most frequent first."""
    run, part = bench.tallies(model)[0], bench.parts[0].covers
    targets = []
    for number in range(part.labels) if label is None else [label]:
        for target_value, wrong in ((1, part.present & ~run.predicted), (0, part.absent & run.predicted)):
            wrong_rows = np.asarray(wrong[number] & rows)
            if value in (None, target_value) and count(wrong_rows):
                targets.append(Target(number, target_value, wrong_rows))
    return sorted(targets, key=lambda target: (-count(target.rows), target.label))[:MOST_LABELS]


def _bodies(bench: Workbench, target: Target) -> Iterator[tuple[Condition, ...]]:
    """Bodies that hold on the rows of a target and not where the label has the other value."""
    part = bench.parts[0].covers
    on_target = unpacked_bits(target.rows, part.rows)
    against = unpacked_bits((part.absent if target.value else part.present)[target.label], part.rows)
    sampled = np.concatenate([thinned(np.flatnonzero(side), MOST_SEARCHED // 2) for side in (on_target, against)])
    if not len(sampled):
        return
    table, truth = part.table[sampled], on_target[sampled].astype(np.uint8)[:, None]
    # Where thinning left out more of one side than of the other, weights put that right.
    sides = [max(1, int(mask.sum())) for mask in (on_target, against)]
    n_sampled = [max(1, int(truth.sum())), max(1, int((1 - truth).sum()))]
    weights = np.where(truth[:, 0] == 1, -(-sides[0] // n_sampled[0]), -(-sides[1] // n_sampled[1])).astype(np.int64)
    for measure in _MEASURES:
        engine = make_engine(table, truth, weights, Objective(get(measure)), GrowOptions(2, False, 0, 3))
        for _ in range(3):
            candidate = engine.grow(label=0, value=1)
            if candidate is None:
                break
            yield _short(simplify_body(candidate.body), table)
            engine.commit(candidate, None, False)


def _short(body: tuple[Condition, ...], table: Table) -> tuple[Condition, ...]:
    """Thresholds in as few digits as tell the searched examples apart."""
    rule = Rule((Literal(0, 1),), body)
    return shorten(RuleList((rule,), table.features, ("y",)), table).rules[0].body


def _rule(bench: Workbench, model: Any, target: Target, body: tuple[Condition, ...]) -> Rule | WeightedRule | None:
    """The rule that gives a label its value where a body holds; in an ensemble with the weight that mends most."""
    if isinstance(model, RuleList):
        return Rule((Literal(target.label, target.value),), body, origin="hand")
    part, run = bench.parts[0].covers, bench.tallies(model)[0]
    rows = np.flatnonzero(unpacked_bits(part.body(body), part.rows))
    truth, absent = (unpacked_bits(side[target.label], part.rows)[rows] for side in (part.present, part.absent))
    is_known, cut = truth | absent, _cut(model, target.label)
    sums = np.full(len(rows), model.intercepts[target.label], dtype=np.float64)
    for rule, fired in zip(model.rules, run.fired, strict=True):
        weight = sum(entry.weight for entry in rule.head if entry.label == target.label)
        sums += weight * unpacked_bits(fired, part.rows)[rows] if weight else 0.0
    steps = (1 if target.value else -1) * np.arange(1, MOST_POINTS + 1) * (1.0 if model.is_scorecard else 0.5)
    right = [int((((sums + weight >= cut) == truth) & is_known).sum()) for weight in steps]
    best = int(np.argmax(right))
    if right[best] <= int((((sums >= cut) == truth) & is_known).sum()):
        return None
    return WeightedRule((Entry(target.label, float(steps[best])),), body)


def _cut(model: RuleEnsemble, label: int) -> float:
    """The sum from which a label is present, or where sets are compared, from which it is more likely than not."""
    return 0.0 if model.decision.uses_sets else float(model.decision.cuts[label])


def _place(bench: Workbench, model: Any, target: Target, body: Sequence[Condition]) -> int:
    """Before the first rule that sets the label on an example to be mended; at the end if none does."""
    if not isinstance(model, RuleList):
        return len(model.rules)
    rows = bench.parts[0].covers.body(body) & target.rows
    run = bench.tallies(model)[0]
    for number, rule in enumerate(model.rules):
        decides = rule.stop or model.full or any(literal.label == target.label for literal in rule.head)
        if decides and count(run.fired[number] & rows):
            return number
    return len(model.rules)
