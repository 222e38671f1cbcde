"""Ensembles as people read them: ``calm +1.2, happy −0.8 <- tempo <= 96   (covers 120)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polyrule.data.results import html_table
from polyrule.data.table import Feature
from polyrule.model.conditions import tidy, without_implied_dates
from polyrule.model.decisions import chance
from polyrule.model.printing import format_body, format_coverage, format_name, format_number, rounding_lines

if TYPE_CHECKING:
    from polyrule.model.rule import WeightedRule
    from polyrule.model.rule_ensemble import RuleEnsemble


_MOST_NAMED = 10


def format_weight(weight: float, digits: int | None = None) -> str:
    """Return a signed weight with two decimals, or at most `digits` significant ones, or a whole number of points.

    >>> format_weight(1.204), format_weight(-2.0), format_weight(-0.5), format_weight(0.01234, digits=1)
    ('+1.20', '−2', '−0.50', '+0.01')
    """
    size = abs(weight)
    sign = "−" if weight < 0 else "+"
    if digits is not None:
        return sign + format_number(float(f"{size:.{digits}g}"))
    return sign + (str(int(size)) if float(size).is_integer() else f"{size:.2f}")


def format_weighted_head(rule: WeightedRule, label_names: Sequence[str], digits: int | None = None) -> str:
    """Labels and weights, the largest weight first, so that the point of a rule is seen at once."""
    entries = sorted(rule.head, key=lambda entry: (-abs(entry.weight), entry.label))
    return ", ".join(
        f"{format_name(label_names[entry.label])} {format_weight(entry.weight, digits)}" for entry in entries
    )


def format_conditions(
    rule: WeightedRule, features: Sequence[Feature], label_names: Sequence[str], digits: int | None = None
) -> str:
    """The conditions of the body, none that follows from the others; ``true`` where there is none."""
    return format_body(without_implied_dates(tidy(rule.body), features), features, label_names, digits)


def format_weighted_rule(
    rule: WeightedRule,
    features: Sequence[Feature],
    label_names: Sequence[str],
    *,
    counts: bool = True,
    digits: int | None = None,
) -> str:
    """Return one rule as a line."""
    head, body = format_weighted_head(rule, label_names, digits), format_conditions(rule, features, label_names, digits)
    text = f"{head} <- {body}"
    if counts and rule.coverage is not None:
        text += f"   (covers {format_coverage(rule.coverage)})"
    return text


def weighted_text(rule: WeightedRule, features: Sequence[Feature], label_names: Sequence[str]) -> str:
    """Return what a rule says and nothing else: text that reads back as the same rule, weights in full."""
    return f"{format_weighted_head(rule, label_names, 17)} <- {format_conditions(rule, features, label_names)}"


def format_ensemble(
    ensemble: RuleEnsemble, *, numbers: bool = True, counts: bool = True, digits: int | None = None
) -> str:
    """All rules, one line each, then per label what it starts from and what it needs.

    The weights are shown rounded, with `digits` also the thresholds, as far as they still cover the same training
    examples; model files have them in full.
    """
    width = len(str(len(ensemble)))
    lines = []
    for number, rule in enumerate(ensemble, start=1):
        start = f"{number:>{width}}. " if numbers else ""
        shown = format_weighted_rule(rule, ensemble.features, ensemble.label_names, counts=counts, digits=digits)
        lines.append(start + shown)
    return "\n".join([*lines, *decision_lines(ensemble, digits), *rounding_lines(ensemble, digits)])


def decision_lines(ensemble: RuleEnsemble, digits: int | None = None) -> list[str]:
    """What a label starts from, and when it is predicted; which labels are, or are not, whatever the example."""
    names = [format_name(name) for name in ensemble.label_names]
    decision, weighed = ensemble.decision, {entry.label for rule in ensemble for entry in rule.head}
    fixed = [] if decision.uses_sets else [label for label in range(len(names)) if label not in weighed]
    starts = ", ".join(
        f"{names[label]} {format_weight(intercept, digits)}"
        for label, intercept in enumerate(ensemble.intercepts)
        if label not in fixed
    )
    lines = [f"(start: {starts})"] if starts else []
    if decision.kind == "threshold":
        cut = decision.cuts[0] if decision.cuts else 0.0
        chances = sorted(chance(cut, unit) for unit in ensemble.worth.tolist()) or [0.5]
        share = " to ".join(dict.fromkeys(f"{100 * value:.0f}" for value in (chances[0], chances[-1])))
        lines.append(f"(a label is present if its sum is at least {_shown_cut(cut)}, a probability of {share} %)")
    elif decision.kind == "per-label":
        needs = ", ".join(
            f"{names[label]} {_shown_cut(cut)}" for label, cut in enumerate(decision.cuts) if label not in fixed
        )
        lines.append(f"(a label is present if its sum is at least: {needs})")
    elif decision.kind == "subset":
        cut, count = decision.cuts[0], len(decision.label_sets)
        extra = ", a bonus for sets whose labels like to come together added" if decision.bonuses else ""
        lines.append(
            f"(of {count} label sets seen in training, the one whose sums exceed {_shown_cut(cut)} by most{extra})"
        )
    else:
        count = len(decision.label_sets)
        lines.append(f"(of {count} label sets seen in training, the one with the largest expected F1 is predicted)")
    present = [label for label in fixed if ensemble.intercepts[label] >= decision.cuts[label]]
    for always, some in (("always", present), ("never", [label for label in fixed if label not in present])):
        if some:
            more = f" and {len(some) - _MOST_NAMED} more" if len(some) > _MOST_NAMED else ""
            named = ", ".join(names[label] for label in some[:_MOST_NAMED])
            lines.append(f"(in no rule, {always} predicted: {named}{more})")
    if isinstance(ensemble.unit, tuple):
        worth = ", ".join(f"{names[label]} {ensemble.unit[label]:.3g}" for label in sorted(weighed))
        lines.append(f"(log-odds that one point is worth: {worth})")
    elif ensemble.unit != 1:
        lines.append(f"(one point is worth {ensemble.unit:.3g} of log-odds)")
    return lines


def _shown_cut(cut: float) -> str:
    return format_weight(cut).removeprefix("+")


def html_ensemble(ensemble: RuleEnsemble, limit: int = 100) -> str:
    """Return a small table for notebooks; names are escaped text, never markup."""
    rows = []
    for number, rule in enumerate(ensemble.rules[:limit], start=1):
        cells = (
            number,
            format_weighted_head(rule, ensemble.label_names),
            format_conditions(rule, ensemble.features, ensemble.label_names),
            "" if rule.coverage is None else format_coverage(rule.coverage),
        )
        rows.append(cells)
    left = len(ensemble) - limit
    more = [f"… and {left} more rules"] if left > 0 else []
    return html_table(("", "head", "body", "covers"), rows, below=[*more, *decision_lines(ensemble)])
