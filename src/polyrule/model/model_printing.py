"""Whole models as people read them: their rules, a line each, and what decides besides the rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from polyrule.conditions import thresholds
from polyrule.conditions.rounding import is_short
from polyrule.conditions.text import format_name
from polyrule.data.results import html_table
from polyrule.model.cost_note import cost_lines
from polyrule.model.decisions import probability_at
from polyrule.model.guarantee import guarantee_lines
from polyrule.model.printing import Formatter, format_literal, format_share, format_weight

if TYPE_CHECKING:
    from polyrule.model.rule_ensemble import RuleEnsemble
    from polyrule.model.rule_list import RuleList

_MOST_NAMED = 10


def format_model(model: Any, *, numbers: bool = True, counts: bool = True, digits: int | None = None) -> str:
    """All rules, one line each as `Formatter.rule` writes them, numbered from 1, and what decides besides them.

    With `digits`, thresholds are rounded as far as they still cover the same training examples; model files have all
    numbers in full.
    """
    width = len(str(len(model)))
    lines, always, words = [], model.constants(), Formatter(model, digits)
    for number, rule in enumerate(model):
        if number in always and number - 1 in always:
            continue  # stands in the line of the one before it
        last = next(n for n in range(number, len(model) + 1) if n not in always or n + 1 not in always)
        start = f"{number + 1:>{width}}{f'-{last + 1}' if last > number else ''}. " if numbers else ""
        if number in always:
            text = format_constants(model, range(number, last + 1), counts=counts)
        else:
            text = words.rule(rule, counts=counts)
        lines.append(start + text)
    first = [f"({text})" for text in [model.shortfall()] if text]
    weighted = weight_lines(model) if counts else []
    notes = [
        *model._notes(digits),
        *relation_lines(model),
        *cost_lines(model),
        *guarantee_lines(model),
        *weighted,
        *rounding_lines(model, digits),
    ]
    return "\n".join([*first, *lines, *notes])


def relation_lines(model: Any) -> list[str]:
    """Return a printed line about the relations between labels; none without relations."""
    relations = model.stated_relations
    return [f"(always: {'; '.join(one.text(model.label_names) for one in relations)})"] if relations else []


def html_model(model: Any, limit: int = 100) -> str:
    """Return a small table for notebooks; names are escaped text, never markup."""
    rows, always, words = [], model.constants(), Formatter(model)
    for number, rule in enumerate(model.rules[:limit]):
        if number not in always:
            rows.append((number + 1, words.head(rule), words.conditions(rule), *model._facts(rule)))
    left = len(model) - limit
    more = [f"… and {left} more rules"] if left > 0 else []
    above = [text for text in (model.shortfall(), format_constants(model, always) if always else "") if text]
    below = [
        *more,
        *model._notes(),
        *relation_lines(model),
        *cost_lines(model),
        *guarantee_lines(model),
        *weight_lines(model),
    ]
    return html_table(("", "head", "body", *model._fact_names), rows, above, below)


def weight_lines(model: Any) -> list[str]:
    """Return a line that says that counts are sums of weights, if they are."""
    counts = "what rules cover is" if model.KIND == "rule-ensemble" else "counts are"
    return [f"({counts} in sample weights, not in numbers of examples)"] if model.info.get("weighted") else []


def format_constants(rule_list: RuleList, rules: Iterable[int], *, counts: bool = True) -> str:
    """Return the constant predictions in one line: ``always: red (right for 77 %), white (78 %)``."""
    parts: list[str] = []
    for number in rules:
        for literal in rule_list[number].head:
            weight_set = literal.tp + literal.fp
            share = literal.tp / weight_set if weight_set and literal.chance is None else literal.chance
            unit = " of the weight" if rule_list.info.get("weighted") and not parts else ""
            count_text = (
                "" if not counts or share is None else f" ({'' if parts else 'right for '}{format_share(share)}{unit})"
            )
            parts.append(format_literal(literal, rule_list.label_names) + count_text)
    return f"always: {', '.join(parts)}"


def rounding_lines(model: Any, digits: int | None) -> list[str]:
    """Name the rules whose thresholds have more digits than were asked for; nothing where there are none."""
    if digits is None:
        return []
    numbers = [
        str(number)
        for number, rule in enumerate(model.rules, start=1)
        if any(
            not model.features[condition.feature].is_stepped and not is_short(condition.rounded(digits), digits)
            for condition in thresholds(rule.body)
        )
    ]
    if not numbers:
        return []
    which = f"rule{'s' * (len(numbers) > 1)} {_few(numbers)}"
    return [f"(more than {digits} digit{'s' * (digits > 1)} where fewer could cover other examples: {which})"]


def list_lines(rule_list: RuleList) -> list[str]:
    """Return a printed line about labels that no rule sets."""
    names = [format_name(name) for name in rule_list.label_names]
    present = [name for name, value in zip(names, rule_list.defaults, strict=True) if value]
    if len(present) in (0, len(names)):
        notes = [f"labels that no rule sets are {'present' if present else 'absent'}"]
    else:
        notes = [f"labels that no rule sets: {', '.join(present)} present, all others absent"]
    if rule_list.full:
        notes.insert(0, "a rule that fires sets all labels outside its head to absent")
    return [f"({'; '.join(notes)})"]


def ensemble_lines(ensemble: RuleEnsemble, digits: int | None = None) -> list[str]:
    """Return printed lines about intercepts, the decision, labels without rules and the unit."""
    names = [format_name(name) for name in ensemble.label_names]
    weighed = {entry.label for rule in ensemble for entry in rule.head}
    fixed = [] if ensemble.decision.uses_sets else [label for label in range(len(names)) if label not in weighed]
    starts = ", ".join(
        f"{names[label]} {format_weight(intercept, digits)}"
        for label, intercept in enumerate(ensemble.intercepts)
        if label not in fixed
    )
    lines = [f"(start: {starts})"] if starts else []
    lines.append(f"({_decision_words(ensemble, [label for label in range(len(names)) if label not in fixed])})")
    present = [label for label in fixed if ensemble.intercepts[label] >= ensemble.decision.cuts[label]]
    for always, labels in (("always", present), ("never", [label for label in fixed if label not in present])):
        if labels:
            lines.append(f"(in no rule, {always} predicted: {_few([names[label] for label in labels])})")
    if isinstance(ensemble.unit, tuple):
        units = ", ".join(f"{names[label]} {ensemble.unit[label]:.3g}" for label in sorted(weighed))
        lines.append(f"(log-odds that one point is worth: {units})")
    elif ensemble.unit != 1:
        lines.append(f"(one point is worth {ensemble.unit:.3g} of log-odds)")
    return lines


def _decision_words(ensemble: RuleEnsemble, open_labels: list[int]) -> str:
    decision = ensemble.decision
    cuts = [format_weight(cut).removeprefix("+") for cut in decision.cuts]
    first = cuts[0] if cuts else "0"  # without labels there is no cut to show
    if decision.kind == "threshold" and len(set(decision.cuts)) < 2:
        probabilities = sorted(
            probability_at(cut, unit) for cut, unit in zip(decision.cuts, ensemble.worth, strict=True)
        ) or [0.5]
        share = " to ".join(dict.fromkeys(f"{100 * value:.0f}" for value in (probabilities[0], probabilities[-1])))
        return f"a label is present if its sum is at least {first}, a probability of {share} %"
    if not decision.uses_sets:
        needs = (f"{format_name(ensemble.label_names[label])} {cuts[label]}" for label in open_labels)
        return f"a label is present if its sum is at least: {', '.join(needs)}"
    sets = f"of {len(decision.label_sets)} label sets seen in training, the one"
    if decision.kind == "expected-f1":
        return f"{sets} with the largest expected F1 is predicted"
    extra = ", a bonus for sets whose labels like to come together added" if decision.bonuses else ""
    return f"{sets} whose sums exceed {first} by most{extra}"


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
