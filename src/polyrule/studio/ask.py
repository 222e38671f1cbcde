"""Questions to the engine about the model at hand: rules for these examples, conditions for this rule, text begun.

Candidates are looked for on a bounded number of examples, so that an answer comes at once; what each would do is then
counted on all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyrule.arrays import Floats, Ints
from polyrule.data.table import Table
from polyrule.errors import OptionError
from polyrule.kernels.dispatch import make_engine
from polyrule.kernels.engine import GrowOptions
from polyrule.learning.thresholds import short_between, shorten
from polyrule.measures import Objective, get
from polyrule.model.conditions import tidy
from polyrule.model.printing import format_category, format_condition, format_name, rule_text
from polyrule.model.rule import Condition, Literal, NominalCondition, NumericCondition, Rule
from polyrule.model.rule_list import RuleList
from polyrule.studio.bits import Words, count, unpack
from polyrule.studio.steps import apply
from polyrule.studio.workbench import Workbench

#: examples on which candidates are looked for
MOST_SEARCHED = 4000
#: suggestions that a person gets
MOST_SUGGESTED = 8
#: labels for which rules are suggested at once
MOST_LABELS = 4
#: conditions tried in earnest
MOST_TRIED = 24
_MEASURES = ("f1", "precision")


@dataclass(frozen=True, slots=True)
class Target:
    """A label that should have another value on some training examples."""

    label: int
    value: int
    rows: Words


def suggest(
    bench: Workbench, model: RuleList, rows: Words, label: int | None = None, value: int | None = None
) -> list[dict[str, Any]]:
    """Return rules that would set right what is wrong on these training examples, best first.

    With `label` and `value`, only rules for that label, or that make labels present (1) or absent (0).
    Each entry is a step ("insert" with place and text), the rule's text, and its effect on both parts.
    """
    if not isinstance(model, RuleList):
        raise OptionError("rules are suggested for rule lists; a scorecard weighs all its rules together")
    found: dict[str, dict[str, Any]] = {}
    for target in _targets(bench, model, rows, label, value):
        for body in _bodies(bench, target):
            rule = Rule((Literal(target.label, target.value),), body, origin="hand")
            text = _said(rule, model)
            step = {"do": "insert", "at": _place(bench, model, target, body), "text": text}
            if text not in found:
                effect = bench.effect(model, apply(model, step))
                found[text] = {"step": step, "text": text, "label": target.label, "effect": effect}
    return sorted(filter(_helps, found.values()), key=_merit)[:MOST_SUGGESTED]


def _said(rule: Rule, model: RuleList) -> str:
    return rule_text(rule, model.features, model.label_names)


def _merit(one: dict[str, Any]) -> tuple[float, int, int, str]:
    """Order of answers by what they do on the training examples: micro F1, labels set right, then the shortest."""
    train = one["effect"][0]
    gain = train["scores"]["micro_f1"] - train["before"]["micro_f1"]
    return -gain, train["broken"] - train["fixed"], len(one["text"]), one["text"]


def _helps(one: dict[str, Any]) -> bool:
    train = one["effect"][0]
    return bool(train["scores"]["micro_f1"] > train["before"]["micro_f1"])


def _targets(bench: Workbench, model: RuleList, rows: Words, label: int | None, value: int | None) -> list[Target]:
    """What is wrong on the chosen examples, label by label, the most frequent first."""
    run, part = bench.tallies(model)[0], bench.covers[0]
    found = []
    for number in range(part.labels) if label is None else [label]:
        for wanted, wrong in ((1, part.present & ~run.predicted), (0, part.absent & run.predicted)):
            mine = np.asarray(wrong[number] & rows)
            if value in (None, wanted) and count(mine):
                found.append(Target(number, wanted, mine))
    return sorted(found, key=lambda target: (-count(target.rows), target.label))[:MOST_LABELS]


def _bodies(bench: Workbench, target: Target) -> Iterator[tuple[Condition, ...]]:
    """Bodies that hold on the rows of a target and not where the label has the other value."""
    part = bench.covers[0]
    wanted = unpack(target.rows, part.rows)
    against = unpack((part.absent if target.value else part.present)[target.label], part.rows)
    chosen = np.concatenate([_thinned(np.flatnonzero(wanted)), _thinned(np.flatnonzero(against))])
    if not len(chosen):
        return
    table, truth = bench.parts[0].table[chosen], wanted[chosen].astype(np.uint8)[:, None]
    # Where thinning left out more of one side than of the other, weights put that right.
    sides = [max(1, int(mask.sum())) for mask in (wanted, against)]
    kept = [max(1, int(truth.sum())), max(1, int((1 - truth).sum()))]
    weights = np.where(truth[:, 0] == 1, -(-sides[0] // kept[0]), -(-sides[1] // kept[1])).astype(np.int64)
    for measure in _MEASURES:
        engine = make_engine(table, truth, weights, Objective(get(measure)), GrowOptions(2, False, 0, 3))
        for _ in range(3):
            candidate = engine.grow(label=0, value=1)
            if candidate is None:
                break
            yield _short(tidy(candidate.body), table)
            engine.commit(candidate, None, False)


def _thinned(rows: Ints) -> Ints:
    """At most half of the examples that are searched, evenly spread."""
    most = MOST_SEARCHED // 2
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def _short(body: tuple[Condition, ...], table: Table) -> tuple[Condition, ...]:
    """Thresholds in as few digits as tell the searched examples apart."""
    rule = Rule((Literal(0, 1),), body)
    return shorten(RuleList((rule,), table.features, ("y",)), table).rules[0].body


def _place(bench: Workbench, model: RuleList, target: Target, body: Sequence[Condition]) -> int:
    """Before the first rule that sets the label on an example to be mended; at the end if none does."""
    mine = bench.covers[0].body(body) & target.rows
    run = bench.tallies(model)[0]
    for number, rule in enumerate(model.rules):
        decides = rule.stop or model.full or any(literal.label == target.label for literal in rule.head)
        if decides and count(run.fired[number] & mine):
            return number
    return len(model.rules)


def conditions(bench: Workbench, model: RuleList, index: int) -> dict[str, list[dict[str, Any]]]:
    """Return for a rule which conditions could be dropped and which added, ranked by what that would do."""
    if not 0 <= index < len(model.rules):
        raise OptionError(f"there is no rule {index + 1} in a model of {len(model.rules)} rules")
    rule = model.rules[index]

    def tried(body: tuple[Condition, ...], text: str) -> dict[str, Any]:
        step = {"do": "replace", "rule": index, "text": _said(replace(rule, body=body), model)}
        return {"step": step, "text": text, "effect": bench.effect(model, apply(model, step))}

    def named(condition: Condition) -> str:
        return format_condition(condition, model.features, model.label_names)

    drop = [tried((*rule.body[:n], *rule.body[n + 1 :]), named(c)) for n, c in enumerate(rule.body)]
    add = [tried(tidy((*rule.body, c)), named(c)) for c in _sharper(bench, model, index)]
    return {"drop": sorted(drop, key=_merit), "add": sorted(filter(_helps, add), key=_merit)[:MOST_SUGGESTED]}


def _sharper(bench: Workbench, model: RuleList, index: int) -> list[Condition]:
    """Conditions that keep what a rule does right and lose what it does wrong, judged on its own examples."""
    part, run, rule = bench.covers[0], bench.tallies(model)[0], model.rules[index]
    good, bad = np.zeros(part.rows), np.zeros(part.rows)
    fired = unpack(run.fired[index], part.rows)
    for literal in rule.head:
        agree, differ = part.present[literal.label], part.absent[literal.label]
        good += fired & unpack(agree if literal.value else differ, part.rows)
        bad += fired & unpack(differ if literal.value else agree, part.rows)
    rows = _thinned(np.flatnonzero(fired))
    table, gain = bench.parts[0].table[rows], (good - bad)[rows]
    found: list[tuple[float, int, Condition]] = []
    for column, feature in enumerate(table.features):
        values = table.column(column)
        if feature.is_nominal:
            found += _categories(column, values, gain, len(feature.categories))
        else:
            found += _thresholds(column, values, gain, feature.is_stepped)
    found = [one for one in found if one[0] > 0 and one[2] not in rule.body]
    found.sort(key=lambda one: (-one[0], one[1]))
    return [condition for _, _, condition in found[:MOST_TRIED]]


def _categories(column: int, values: Floats, gain: Floats, size: int) -> list[tuple[float, int, Condition]]:
    known = ~np.isnan(values)
    sums = np.bincount(values[known].astype(np.int64), weights=gain[known], minlength=size)
    best = int(np.argmax(sums))
    return [(float(sums[best] - gain.sum()), column, NominalCondition(column, best))]


def _thresholds(column: int, values: Floats, gain: Floats, stepped: bool) -> list[tuple[float, int, Condition]]:
    """The best lower and the best upper limit of one feature."""
    known = ~np.isnan(values)
    order = np.argsort(values[known], kind="stable")
    ordered, sums = values[known][order], np.cumsum(gain[known][order])
    ends = np.flatnonzero(ordered[1:] > ordered[:-1])
    if not len(ends):
        return []
    below, above = sums[ends], sums[-1] - sums[ends]
    found: list[tuple[float, int, Condition]] = []
    for kept, op in ((below, "<="), (above, ">")):
        at = ends[int(np.argmax(kept))]
        low, high = float(ordered[at]), float(ordered[at + 1])
        threshold = np.floor(low) + 0.5 if stepped else short_between(low, high)
        found.append((float(kept.max() - gain.sum()), column, NumericCondition(column, op, threshold)))  # type: ignore[arg-type]
    return found


_NAME = re.compile(r'(?:^|<-|,|\{|=|¬|!|~)\s*("?[^,<>={}¬"]*)$')


def complete(model: Any, text: str, most: int = 12) -> list[dict[str, str]]:
    """Return how the text of a rule could go on: names of labels before the arrow, of features and values behind it.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> hue = Feature("hue", "nominal", ("red", "blue"))
    >>> model = RuleList((), (hue, Feature("height")), ("sad", "happy"))
    >>> [one["insert"] for one in complete(model, "sad <- h")]
    ['hue', 'height']
    >>> [one["insert"] for one in complete(model, "sad <- hue = b")]
    ['blue']
    """
    match = _NAME.search(text)
    if match is None:
        return []
    begun, before = match[1].lstrip('"').lower(), text[: match.start(1)].rstrip()
    if "<-" not in before:
        names = [(name, format_name(name), "label") for name in model.label_names]
    elif before.endswith(("=", "{")) or (re.search(r"\{[^}]*$", before) and before.endswith(",")):
        names = _category_names(model, before)
    else:
        names = [(feature.name, format_name(feature.name), feature.kind) for feature in model.features]
    fitting = [one for one in names if begun in one[0].lower()]
    fitting.sort(key=lambda one: not one[0].lower().startswith(begun))
    start = str(match.start(1))
    return [{"insert": shown, "kind": kind, "from": start} for _, shown, kind in fitting[:most]]


def _category_names(model: Any, before: str) -> list[tuple[str, str, str]]:
    """Categories of the feature whose comparison or set is being typed."""
    asked = re.split(r"<-|,(?![^{]*$)|,(?=[^{}]*(?:=|in\s*\{))", before.split("<-", 1)[1])[-1]
    name = re.sub(r"\s*(=|in\s*\{.*)$", "", asked.strip(), flags=re.DOTALL).strip().strip('"')
    for feature in model.features:
        if feature.name == name:
            return [(category, format_category(category), "category") for category in feature.categories]
    return []
