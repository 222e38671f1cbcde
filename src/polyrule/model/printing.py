"""Conditions and rules as people read them: ``red, ¬orange <- colours > 5.5, stripes <= 4   (TP 65, FP 0)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from polyrule.conditions.simplify import drop_implied_limits, simplify_body
from polyrule.conditions.text import ConditionFormatter, Named, format_name, format_number
from polyrule.model.rule import EitherRule, Literal, Rule, WeightedRule


def format_count(count: float) -> str:
    """Return a number of examples, or their weight to three digits.

    >>> format_count(12), format_count(7.0), format_count(0.1 + 0.2), format_count(1234.56789), format_count(1.23456e-4)
    ('12', '7', '0.3', '1234.568', '0.000123')
    """
    if float(count).is_integer():
        return format_number(count)
    return format_number(round(count, 3) if abs(count) >= 1 else float(f"{count:.3g}"))


def format_coverage(coverage: float) -> str:
    """Format the coverage of a rule: a number of examples, or their weight if that is no whole number.

    >>> format_coverage(118), format_coverage(118.7)
    ('118', 'weight 118.7')
    """
    return f"{'' if float(coverage).is_integer() else 'weight '}{format_count(coverage)}"


def format_counts(rule: Rule) -> str:
    """Return the counts of a rule on the training examples and its expected precision, in parentheses.

    "Right" counts all examples that the body covers; "adds" counts those whose label no earlier rule has set.

    >>> format_counts(Rule((Literal(0, 1, 7, 2, chance=0.62, alone=(28, 2)),), coverage=30))
    '(right 28 of 30; adds 7 of 9; expect 62 %)'
    >>> format_counts(Rule((Literal(0, 1, 28, 2, alone=(28, 2)),), coverage=30))
    '(right 28 of 30)'
    """
    if not is_counted(rule):
        return "(not counted)"
    if rule.alone is None:
        expected = "" if rule.expected is None else f", expect {format_share(rule.expected)} right"
        note = ", before the edit" * rule.stale
        return f"(TP {format_count(rule.tp)}, FP {format_count(rule.fp)}{expected}{note}{format_doubt(rule)})"
    return f"({'; '.join(count_phrases(rule))}{format_doubt(rule).replace(', ', '; ')})"


def is_counted(rule: Rule) -> bool:
    """Return False for a rule that was made by hand and has no counts yet."""
    return bool(rule.coverage is not None or rule.origin == "learned" or rule.tp or rule.fp)


def count_phrases(rule: Rule) -> list[str]:
    """Return the counts of a rule that was also counted alone, and its expected precision, as phrases."""
    assert rule.alone is not None
    adds = [] if (rule.tp, rule.fp) == rule.alone and not rule.stale else [f"adds {format_right(rule.tp, rule.fp)}"]
    adds += [] if rule.expected is None else [f"expect {format_share(rule.expected)}"]
    if rule.stale:
        adds[0] = f"before the edit: {adds[0]}"
    return [f"right {format_right(*rule.alone)}", *adds]


def format_right(right: float, wrong: float) -> str:
    """Return counts as a share.

    >>> format_right(28, 2)
    '28 of 30'
    """
    return f"{format_count(right)} of {format_count(right + wrong)}"


def format_doubt(rule: Rule) -> str:
    """Format the gap that a limited search left to the best head.

    >>> from fractions import Fraction
    >>> format_doubt(Rule((Literal(0, 1),), value=Fraction(97, 100), bound=Fraction(1)))
    ', at most 3 % from the best head'
    """
    if rule.bound is None or rule.value is None:
        return ", unfinished" if rule.unfinished else ""
    below = rule.bound - rule.value
    share = f"{ceil(1000 * below / rule.bound) / 10:g} %" if rule.value > 0 else f"{ceil(1000 * below) / 1000:g}"
    return f", at most {share} from the best head{', unfinished' if rule.unfinished else ''}"


def format_share(share: float) -> str:
    """Return a share as a percentage, which is 0 or 100 only where it is exact.

    >>> format_share(0.333), format_share(0.9999), format_share(1.0)
    ('33 %', '99 %', '100 %')
    """
    return f"{round(100 * share) if share in (0, 1) else min(max(round(100 * share), 1), 99)} %"


def format_literal(literal: Literal, label_names: Sequence[str]) -> str:
    """Return one label of a head, with ``¬`` for absent."""
    return ("" if literal.value else "¬") + format_name(label_names[literal.label])


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


@dataclass(frozen=True)
class Formatter(ConditionFormatter):
    """Conditions and rules as text; see `ConditionFormatter` for `digits`."""

    def head(self, rule: EitherRule) -> str:
        """The labels of a head: in label order, or with weights, the largest first, as the point is seen at once."""
        labels = self.names.label_names
        if isinstance(rule, Rule):
            return ", ".join(format_literal(literal, labels) for literal in rule.head)
        entries = sorted(rule.head, key=lambda entry: (-abs(entry.weight), entry.label))
        return ", ".join(
            f"{format_name(labels[entry.label])} {format_weight(entry.weight, self.digits)}" for entry in entries
        )

    def conditions(self, rule: EitherRule) -> str:
        """The body of a rule; where weights add up, without conditions that follow from the others."""
        if isinstance(rule, Rule):
            return self.body(rule.body)
        return self.body(drop_implied_limits(simplify_body(rule.body), self.names.features))

    def rule(self, rule: EitherRule, *, counts: bool = True) -> str:
        """One line that `parse_rule` reads back; of an ensemble, with rounded weights.

        With `counts` it ends with what the rule did on the training examples, and in brackets whether it stops and who
        made it.

        >>> from polyrule.conditions import NumericCondition
        >>> from polyrule.conditions.text import Names
        >>> from polyrule.data import Feature
        >>> rule = Rule((Literal(0, 1, 65, 0), Literal(1, 0, 60, 5)), (NumericCondition(0, ">", 5.5),), stop=True)
        >>> Formatter(Names([Feature("colours")], ["red", "orange"])).rule(rule)
        'red, ¬orange <- colours > 5.5   (TP 125, FP 5) [stop]'
        """
        text = f"{self.head(rule)} <- {self.conditions(rule)}"
        if not counts:
            return text
        if isinstance(rule, WeightedRule):
            return text + ("" if rule.coverage is None else f"   (covers {format_coverage(rule.coverage)})")
        return f"{text}   {format_counts(rule)}" + (f" [{rule.marks}]" if rule.marks else "")


def rule_text(rule: EitherRule, names: Named) -> str:
    """Return a rule without counts: text that reads back as the same rule, weights in full, or its stop.

    >>> from polyrule.conditions import NumericCondition
    >>> from polyrule.conditions.text import Names
    >>> from polyrule.data import Feature
    >>> rule = Rule((Literal(0, 1, 65, 0),), (NumericCondition(0, ">", 5.5),), stop=True)
    >>> rule_text(rule, Names([Feature("size")], ["red"]))
    'red <- size > 5.5 [stop]'
    """
    text = f"{Formatter(names, 17).head(rule)} <- {Formatter(names).conditions(rule)}"
    return text + (" [stop]" if isinstance(rule, Rule) and rule.stop else "")
