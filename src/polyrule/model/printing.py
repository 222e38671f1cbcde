"""Conditions and rules as people read them: ``red, ¬orange <- colours > 5.5, stripes <= 4   (TP 65, FP 0)``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, isnan
from numbers import Integral
from typing import Any, NamedTuple, Protocol

from polyrule.data.dates import format_date
from polyrule.data.table import Feature
from polyrule.errors import OptionError
from polyrule.model.conditions import shown_threshold, shown_value, tidy, without_implied_dates
from polyrule.model.rule import (
    Condition,
    EitherRule,
    FeatureCondition,
    GroupCondition,
    LabelCondition,
    Literal,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    Rule,
    SetCondition,
    WeightedRule,
    at_least,
)
from polyrule.utils.names import doubtful_marks, escape, is_visible

_FLAGS = {("0", "1"), ("no", "yes"), ("n", "y"), ("false", "true"), ("absent", "present")}

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)

# A name needs quotes where `parse_rule` could read it as something else than one name.
_AMBIGUOUS = re.compile(
    r"""^(any|at\sleast\s\d+)\sof\b|"""
    r"""[,<>=¬"'\\{}]|^[!~]|^not\s|^true$|\s\s|^\s|\s$|^$|\(TP|\(not counted|\]$|^\d+[.:]|"""
    r"""(^|\s)is\s(missing|known)$""",
    re.IGNORECASE,
)


class Named(Protocol):
    """Whoever says what features and labels are called: a model, or data."""

    @property
    def features(self) -> Sequence[Feature]:
        """Name and kind of every column."""

    @property
    def label_names(self) -> Sequence[str]:
        """One per label."""


class Names(NamedTuple):
    """Named that stand on their own."""

    features: Sequence[Feature]
    label_names: Sequence[str] = ()


def format_number(number: float) -> str:
    """Shortest text that reads back as the same number; whole numbers without a fraction.

    >>> format_number(5.5), format_number(4.0), format_number(0.1 + 0.2), format_number(1e300)
    ('5.5', '4', '0.30000000000000004', '1e+300')
    """
    if isinstance(number, int):
        return str(number)
    if number.is_integer() and abs(number) < 1e16:
        return str(int(number))
    return repr(float(number))


def format_on_scale(feature: Feature, value: float) -> str:
    """Return a value of a feature that is compared: a number, a date, or the category that a position stands for.

    >>> format_on_scale(Feature("plan", "ordinal", ("basic", "plus")), 1.5), format_on_scale(Feature("on", "date"), 1.5)
    ('plus', '1970-01-02')
    """
    if feature.kind == "ordinal":
        return format_category(feature.categories[floor(value)])
    if feature.kind == "date":
        return format_date(value)
    return format_number(value)


def format_value(feature: Feature, value: float, digits: int | None = None, thresholds: Sequence[float] = ()) -> str:
    """Return a feature value as people write it; "missing" for NaN, "unknown category" for one the model never saw.

    A number that is rounded to `digits` stays on its side of the thresholds.
    """
    if isnan(value):
        return "missing"
    if not feature.has_categories:
        number = value if feature.is_stepped else shown_value(float(value), digits, thresholds)
        return format_on_scale(feature, number)
    known = 0 <= value < len(feature.categories) and float(value).is_integer()
    return format_category(feature.categories[int(value)]) if known else "an unknown category"


def format_count(count: float) -> str:
    """Return a number of examples, or their weight to three digits.

    >>> format_count(12), format_count(7.0), format_count(0.1 + 0.2), format_count(1234.56789), format_count(1.23456e-4)
    ('12', '7', '0.3', '1234.568', '0.000123')
    """
    if float(count).is_integer():
        return format_number(count)
    return format_number(round(count, 3) if abs(count) >= 1 else float(f"{count:.3g}"))


def format_coverage(coverage: float) -> str:
    """Return what a rule covers: a number of examples, or their weight where that is no whole number.

    >>> format_coverage(118), format_coverage(118.7)
    ('118', 'weight 118.7')
    """
    return f"{'' if float(coverage).is_integer() else 'weight '}{format_count(coverage)}"


def format_counts(rule: Rule) -> str:
    """What a rule did on the training examples, and what to expect on others; one made by hand did nothing yet."""
    if rule.coverage is None and rule.origin != "learned" and not rule.tp and not rule.fp:
        return "(not counted)"
    expected = "" if rule.expected is None else f", expect {format_share(rule.expected)} right"
    return f"(TP {format_count(rule.tp)}, FP {format_count(rule.fp)}{expected}{format_doubt(rule)})"


def format_doubt(rule: Rule) -> str:
    """What was not proved about a rule whose search was limited.

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


def format_name(name: str) -> str:
    r"""Return the name itself, or in quotes with JSON's escapes where it could be misread or garble a terminal.

    >>> print(format_name("a-b"), format_name("x y"), format_name("a <- b"), format_name("line\nbreak"))
    a-b x y "a <- b" "line\nbreak"
    """
    clear = is_visible(name) and not _AMBIGUOUS.search(name) and closes_brackets(name)
    return name if clear else _quoted(name)


def format_feature(name: str) -> str:
    """Return the name of a feature as rules show it; a name that looks like a number stands in quotes.

    >>> print(format_feature("13"), format_feature("x13"))
    "13" x13
    """
    return _quoted(name) if _NUMBER.fullmatch(name) else format_name(name)


def closes_brackets(text: str) -> bool:
    """Whether every parenthesis of a text has its counterpart, so that those around the text can be told from them.

    >>> closes_brackets("size (cm)"), closes_brackets("a) or (b"), closes_brackets(":(")
    (True, False, False)
    """
    depth = 0
    for mark in text:
        depth += (mark == "(") - (mark == ")")
        if depth < 0:
            return False
    return depth == 0


def _quoted(name: str) -> str:
    doubtful = doubtful_marks(name)
    return '"' + "".join(_escape(mark, position in doubtful) for position, mark in enumerate(name)) + '"'


def format_category(name: str) -> str:
    """Return a category as it stands behind ``=``, where ``true`` can only be a category.

    >>> print(format_category("True"), format_category("a, b"))
    True "a, b"
    """
    return name if name.lower() == "true" else format_name(name)


def _escape(character: str, doubtful: bool) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() and not doubtful else escape(character)


def format_flags(group: GroupCondition, features: Sequence[Feature]) -> list[str]:
    """Return the bare names of the members where all of them say that something is there or not, else nothing."""
    flags = [format_flag(member, features[member.feature]) for member in group.members]
    return [] if None in flags else list(map(str, flags))


def format_flag(condition: FeatureCondition, feature: Feature) -> str | None:
    """Return a condition that says that something is there as its bare name; None where it says something else.

    A column of 0 and 1, or of whole numbers from 0, is known by the training values on either side of the threshold.
    """
    match condition:
        case NominalCondition(_, value) if is_flag(feature):
            there = value == 1
        case NumericCondition(_, op) if feature.kind == "numeric" and parts_0_from_1(condition):
            there = op == ">"
        case _:
            return None
    return ("" if there else "¬") + format_feature(feature.name)


def parts_0_from_1(condition: NumericCondition) -> bool:
    """Whether a condition on a number parts 0 from 1, and no training value lay between them."""
    return condition.between == (0.0, 1.0)


def as_printed(member: FeatureCondition) -> FeatureCondition:
    """Return a member of a group as its text is read again: one that its name alone tells has no threshold to tell.

    >>> as_printed(NumericCondition(0, ">", 0.0, between=(0.0, 1.0)))
    NumericCondition(feature=0, op='>', threshold=0.5)
    """
    if isinstance(member, NumericCondition) and parts_0_from_1(member):
        return replace(member, threshold=0.5)
    return member


def is_0_or_1(feature: Feature) -> bool:
    """Whether a feature has no other values than 0 and 1, so that its name alone says which."""
    return feature.flag or (feature.kind == "nominal" and feature.categories == ("0", "1"))


def is_flag(feature: Feature) -> bool:
    """Whether the categories of a feature say no and yes, in this order."""
    return feature.kind == "nominal" and tuple(map(str.lower, feature.categories)) in _FLAGS


def _format_ordinal(feature: Feature, op: str, place: int) -> str:
    """Say which categories lie up to a place, or above it; one at an end is named itself."""
    last = len(feature.categories) - 1
    if op == ">":
        place, sign = place + 1, "=" if place + 1 == last else ">="
    else:
        sign = "=" if place == 0 else "<="
    return f"{sign} {format_category(feature.categories[place])}"


def format_literal(literal: Literal | LabelCondition, label_names: Sequence[str]) -> str:
    """One label of a head, or a condition on one; ``¬`` for absent."""
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
class Formatter:
    """Conditions and rules as text.

    Thresholds have so many significant `digits`, more only where so few would cover other training examples, or where
    it is not known what would; None writes them so that they read back exactly.
    """

    names: Named
    digits: int | None = None

    def __post_init__(self) -> None:
        given: Any = self.digits
        whole = isinstance(given, Integral) and not isinstance(given, bool)
        if given is not None and not (whole and int(given) >= 1):
            raise OptionError(f"digits must be a whole number of at least 1, got {given!r}")

    def condition(self, condition: Condition) -> str:
        """One condition; a label condition is the bare label name, with ``¬`` for absent.

        So is one on a feature of 0 and 1, unless a label has its name.

        >>> names = Names([Feature("religion", "nominal", ("none", "hindu"))], ["yellow"])
        >>> Formatter(names).condition(NominalCondition(0, 1)), Formatter(names).condition(LabelCondition(0, 0))
        ('religion = hindu', '¬yellow')
        >>> laptop = Feature("laptop", "nominal", ("0", "1"))
        >>> [Formatter(Names([laptop], labels)).condition(NominalCondition(0, 0)) for labels in ([], ["laptop"])]
        ['¬laptop', 'laptop = 0']
        """
        match condition:
            case LabelCondition():
                return format_literal(condition, self.names.label_names)
            case GroupCondition():
                return self._group(condition)
        return self._test(condition, self.names.label_names)

    def _test(self, condition: FeatureCondition, label_names: Sequence[str] = ()) -> str:
        """One condition on a feature; one that its name alone tells is that name, unless it is a label's, too."""
        feature = self.names.features[condition.feature]
        if is_0_or_1(feature) and feature.name not in label_names and (bare := format_flag(condition, feature)):
            return bare
        name = format_feature(feature.name)
        match condition:
            case NumericCondition(_, op, threshold) if feature.kind == "ordinal":
                return f"{name} {_format_ordinal(feature, op, floor(threshold))}"
            case NumericCondition(_, op):
                return f"{name} {op} {self._threshold(condition)}"
            case NominalCondition(_, value):
                return f"{name} = {format_category(feature.categories[value])}"
            case SetCondition(_, values):
                return f"{name} in {{{', '.join(format_category(feature.categories[value]) for value in values)}}}"
            case MissingCondition(_, missing):
                return f"{name} is {'missing' if missing else 'known'}"

    def _threshold(self, condition: NumericCondition) -> str:
        feature = self.names.features[condition.feature]
        number = condition.threshold if feature.is_stepped else shown_threshold(condition, self.digits)
        return format_on_scale(feature, number)

    def _group(self, group: GroupCondition) -> str:
        """A group: columns that only say yes or no by their names in braces, other members in parentheses.

        >>> flags = Feature("jam", "nominal", ("0", "1")), Feature("queue", "nominal", ("no", "yes"))
        >>> words = Formatter(Names([*flags, Feature("age")]))
        >>> jam, queue, old = NominalCondition(0, 1), NominalCondition(1, 1), NumericCondition(2, ">", 65)
        >>> words.condition(GroupCondition((jam, queue), name="road words"))
        'any of "road words" {jam, queue}'
        >>> words.condition(GroupCondition((jam, queue, old), 2))
        'at least 2 of (jam, queue = yes, age > 65)'
        """
        start = f"{at_least(group.least)} of " + (f"{_quoted(group.name)} " if group.name else "")
        if flags := format_flags(group, self.names.features):
            return f"{start}{{{', '.join(flags)}}}"
        return f"{start}({', '.join(map(self._test, group.members))})"

    def body(self, body: Sequence[Condition]) -> str:
        """The conditions of a body; ``true`` where there is none.

        A lower and an upper limit of one feature that follow each other are printed as an interval.

        >>> Formatter(Names([Feature("age")])).body((NumericCondition(0, ">", 3.0), NumericCondition(0, "<=", 60.0)))
        '3 < age <= 60'
        """
        parts: list[str] = []
        previous: Condition | None = None
        for condition in body:
            interval = self._interval(previous, condition)
            if interval is None:
                parts.append(self.condition(condition))
            else:
                parts[-1] = interval
            previous = condition if interval is None else None
        return ", ".join(parts) or "true"

    def _interval(self, low: Condition | None, high: Condition) -> str | None:
        """Two limits of one feature as an interval; None for other conditions."""
        if not isinstance(low, NumericCondition) or not isinstance(high, NumericCondition):
            return None
        if low.feature != high.feature or (low.op, high.op) != (">", "<="):
            return None
        feature = self.names.features[low.feature]
        name = format_feature(feature.name)
        if feature.is_stepped and floor(low.threshold) + 1 == floor(high.threshold):
            return f"{name} = {format_on_scale(feature, high.threshold)}"
        return f"{self._threshold(low)} < {name} <= {self._threshold(high)}"

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
        return self.body(without_implied_dates(tidy(rule.body), self.names.features))

    def rule(self, rule: EitherRule, *, counts: bool = True) -> str:
        """One line that `parse_rule` reads back; of an ensemble, with rounded weights.

        With `counts` it ends with what the rule did on the training examples, and in brackets whether it stops and who
        made it.

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
    """Return what a rule says and nothing else: text that reads back as the same rule, weights in full, or its stop.

    >>> rule = Rule((Literal(0, 1, 65, 0),), (NumericCondition(0, ">", 5.5),), stop=True)
    >>> rule_text(rule, Names([Feature("size")], ["red"]))
    'red <- size > 5.5 [stop]'
    """
    text = f"{Formatter(names, 17).head(rule)} <- {Formatter(names).conditions(rule)}"
    return text + (" [stop]" if isinstance(rule, Rule) and rule.stop else "")
