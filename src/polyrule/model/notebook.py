"""Rules, explanations and flips as notebooks show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyrule.data.notebook import html_table
from polyrule.model.printing import format_name, format_number, format_share
from polyrule.model.rule import Rule

if TYPE_CHECKING:
    from polyrule.model.explain import Explanation
    from polyrule.model.flips import Flip


def html_rule(rule: Rule) -> str:
    """Show a rule by the positions of its labels and features, for the names are kept by the list it stands in."""
    head, _, rest = str(rule).partition(" <- ")
    marks = ", ".join(["stop"] * rule.stop + [rule.origin] * (rule.origin != "learned"))
    expected = "" if rule.expected is None else format_share(rule.expected)
    row = [head, rest.partition("   (")[0], format_number(rule.tp), format_number(rule.fp), expected, marks]
    return html_table(["head", "body", "TP", "FP", "expect", ""], [row])


def html_explanation(told: Explanation) -> str:
    """Show per label its value, who set it and why, then what nearly changed that."""
    rows = []
    for reason in told.labels:
        why = ", ".join(map(str, reason.checks)) or ("always" if reason.rule is not None else "the default")
        rows.append(
            [
                format_name(reason.label),
                "present" if reason.value else "absent",
                "no rule" if reason.rule is None else f"rule {reason.rule + 1}",
                why,
                f"{format_number(reason.tp)} of {format_number(reason.tp + reason.fp)}",
            ]
        )
    near = [
        f"rule {miss.rule + 1} would lead to {', '.join(miss.would_set)} if {' and '.join(map(str, miss.missing))}"
        for miss in told.near
    ]
    return html_table(["label", "predicted", "set by", "because", "right in training"], rows, below=near)


def html_flip(flip: Flip) -> str:
    """Show what would have to change."""
    if not flip.changes:
        return html_table([], [], above=[str(flip)])
    becomes = "present" if flip.becomes else "absent"
    least = "The smallest change" if flip.exact else "A change"
    rows: list[list[Any]] = [[format_name(c.name), c.old_text, c.requirement] for c in flip.changes]
    start = f"{least} that makes {format_name(flip.label)} {becomes}:"
    return html_table(["feature", "now", "needed"], rows, above=[start])
