"""Conditions of a rule that could be dropped, added or given an alternative, ranked by the effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from polyrule.binning.thresholds import short_between
from polyrule.conditions import (
    Condition,
    FeatureCondition,
    GroupCondition,
    NominalCondition,
    NumericCondition,
    group_of,
    groups_of,
)
from polyrule.conditions.simplify import simplify_body, simplify_group
from polyrule.data.table import unpacked_bits
from polyrule.report.counts import PartCovers
from polyrule.report.model_summary import signed_rule
from polyrule.studio.ask import MOST_SEARCHED, MOST_SUGGESTED, helps, merit
from polyrule.studio.sentences import condition_words
from polyrule.studio.setup import thinned
from polyrule.studio.steps import apply, rule_at, text_of
from polyrule.studio.workbench import Workbench
from polyrule.utils.arrays import Floats, Words

#: conditions tried in earnest
MOST_TRIED = 24

Body = tuple[Condition, ...]
Found = tuple[float, int, FeatureCondition]
"""Gain of a condition on the searched examples, its column, and the condition."""


def conditions(bench: Workbench, model: Any, index: int) -> dict[str, list[dict[str, Any]]]:
    """Return for a rule what could be dropped, added and given an alternative, each ranked by what that would do.

    Each entry is a step, the condition in words, and the effect on both parts.
    """
    rule = rule_at(model, index)

    def tried(body: Body, text: str) -> dict[str, Any]:
        step = {"do": "replace", "rule": index, "text": text_of(replace(rule, body=body), model)}
        return {"step": step, "text": text, "effect": bench.effect(model, apply(model, step))}

    def named(condition: Condition) -> str:
        return condition_words(model, condition)

    drop = [tried(body, named(condition)) for body, condition in _shorter(rule.body)]
    add = [
        tried(simplify_body((*rule.body, condition)), named(condition)) for condition in _sharper(bench, model, index)
    ]
    widen = [tried(body, f"{named(old)} or {named(new)}") for body, old, new in _wider(bench, model, index)]
    best = (sorted(filter(helps, offers), key=merit)[:MOST_SUGGESTED] for offers in (add, widen))
    return {"drop": sorted(drop, key=merit), **dict(zip(("add", "widen"), best, strict=True))}


def _shorter(body: Body) -> Iterator[tuple[Body, Condition]]:
    """The body without each condition, and without each member of its group."""
    for at, condition in enumerate(body):
        yield (*body[:at], *body[at + 1 :]), condition
        for group in groups_of((condition,)):
            for member in group.members:
                yield _with(body, at, tuple(one for one in group.members if one != member), group), member


def _with(body: Body, at: int, members: tuple[FeatureCondition, ...], old: GroupCondition) -> Body:
    """The body with other members in its group; of one that is left, that one."""
    if len(members) == 1:
        return simplify_body((*body[:at], members[0], *body[at + 1 :]))
    return (*body[:at], replace(old, members=members, least=min(old.least, len(members) - 1)), *body[at + 1 :])


def _sharper(bench: Workbench, model: Any, index: int) -> list[FeatureCondition]:
    """Conditions that keep what a rule does right and lose what it does wrong, judged on its own examples."""
    part, run, rule = bench.parts[0].covers, bench.tallies(model)[0], model.rules[index]
    gain = np.zeros(part.rows)
    fired = run.fired[index]
    for _, agree, differ in _sides(part, rule):
        gain += unpacked_bits(fired & agree, part.rows).astype(float) - unpacked_bits(fired & differ, part.rows)
    conditions_by_gain = _best(bench, gain, fired, beats_all=True)
    return [condition for condition in conditions_by_gain if condition not in rule.body]


def _wider(bench: Workbench, model: Any, index: int) -> list[tuple[Body, Condition, FeatureCondition]]:
    """Alternatives to a condition: bodies with "any of", the condition, and what would stand beside it.

    They are looked for where everything but that condition holds, and are to hold where that sets labels right.
    """
    part, run, rule = bench.parts[0].covers, bench.tallies(model)[0], model.rules[index]
    grouped = group_of(rule.body) is not None
    offers: list[tuple[Body, Condition, FeatureCondition]] = []
    for at, condition in enumerate(rule.body):
        members = condition.alternatives
        if not members or (grouped and len(members) == 1):
            continue
        beside = part.body((*rule.body[:at], *rule.body[at + 1 :])) & ~part.condition(condition)
        gain = np.zeros(part.rows)
        for label, agree, differ in _sides(part, rule):
            wrong = run.wrong_cells[label]
            gain += unpacked_bits(beside & wrong & agree, part.rows).astype(float)
            gain -= unpacked_bits(beside & ~wrong & differ, part.rows)
        for other in _best(bench, gain, beside, beats_all=False)[: MOST_TRIED // len(rule.body)]:
            if other not in members:
                group = simplify_group(GroupCondition((*members, other), name=condition.name))
                offers.append((simplify_body((*rule.body[:at], group, *rule.body[at + 1 :])), condition, other))
    return offers


def _sides(part: PartCovers, rule: Any) -> Iterator[tuple[int, Words, Words]]:
    """Each label of a head, the examples on which it is as the rule says, and those on which it is not."""
    for literal in signed_rule(rule).head:
        agree, differ = part.present[literal.label], part.absent[literal.label]
        yield literal.label, *((agree, differ) if literal.value else (differ, agree))


def _best(bench: Workbench, gain: Floats, on: Words, beats_all: bool) -> list[FeatureCondition]:
    """The conditions that gain most on some examples: anything, or more than all of them do together."""
    part = bench.parts[0]
    rows = thinned(np.flatnonzero(unpacked_bits(on, len(part))), MOST_SEARCHED // 2)
    table = part.table[rows]
    gain = gain[rows]
    candidates: list[Found] = []
    for column, feature in enumerate(table.features):
        values = table.column(column)
        if feature.is_nominal:
            candidates += _categories(column, values, gain, len(feature.categories))
        else:
            candidates += _thresholds(column, values, gain, feature.is_stepped)
    bar = float(gain.sum()) if beats_all else 0.0
    candidates = sorted((one for one in candidates if one[0] > bar), key=lambda one: (-one[0], one[1]))
    return [condition for _, _, condition in candidates[:MOST_TRIED]]


def _categories(column: int, values: Floats, gain: Floats, size: int) -> list[Found]:
    if not size:  # a column without a value
        return []
    known = ~np.isnan(values)
    sums = np.bincount(values[known].astype(np.int64), weights=gain[known], minlength=size)
    best = int(np.argmax(sums))
    return [(float(sums[best]), column, NominalCondition(column, best))]


def _thresholds(column: int, values: Floats, gain: Floats, stepped: bool) -> list[Found]:
    """The best lower and the best upper limit of one feature."""
    known = ~np.isnan(values)
    order = np.argsort(values[known], kind="stable")
    ordered, sums = values[known][order], np.cumsum(gain[known][order])
    ends = np.flatnonzero(ordered[1:] > ordered[:-1])
    if not len(ends):
        return []
    below, above = sums[ends], sums[-1] - sums[ends]
    found: list[Found] = []
    for kept, op in ((below, "<="), (above, ">")):
        at = ends[int(np.argmax(kept))]
        low, high = float(ordered[at]), float(ordered[at + 1])
        threshold = np.floor(low) + 0.5 if stepped else short_between(low, high)
        found.append((float(kept.max()), column, NumericCondition(column, op, threshold)))  # type: ignore[arg-type]
    return found
