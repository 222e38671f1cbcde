"""Why one example gets the labels it gets: who set what, on which grounds, and who nearly did."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.conditions.checks import Check, checks
from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.conditions.text import format_name
from polyrule.data.results import frame_of_rows, html_table
from polyrule.data.table import Table
from polyrule.model import printing
from polyrule.model.columns import one_example
from polyrule.model.predict import Trace, final_labels, follow, trace_margins
from polyrule.model.printing import format_right
from polyrule.model.rule import Literal
from polyrule.model.staleness import OUTDATED_DEFAULTS
from polyrule.relations.plan import Because
from polyrule.utils.arrays import Floats

if TYPE_CHECKING:
    from polyrule.model.rule_list import RuleList

MOST_NEAR = 6  # rules that nearly fired, in print


@dataclass(frozen=True)
class LabelReason:
    """One label of the example: its value, and the rule that set it or None if no rule did.

    `rule` counts from 0. `tp` and `fp` are the training counts behind the decision: those of the literal, or for a
    label that no rule set, the training weight with which it was unset and equal to the default or not. `alone` are the
    counts of the literal for all examples that the rule covers, if they are known. `outdated` counts are those before
    an edit. `because` is the cause of a value that relations between labels changed; the other entries are then about
    the label without relations.
    """

    label: str
    value: int
    rule: int | None
    probability: float
    tp: float
    fp: float
    checks: tuple[Check, ...]
    alone: tuple[float, float] | None = None
    outdated: bool = False
    because: Because | None = None

    @property
    def words(self) -> tuple[str, str, str, str]:
        """The label, its value, who set it, and how often that was right in training."""
        right = ("before the edit " if self.outdated else "") + format_right(self.tp, self.fp)
        setter = "no rule" if self.rule is None else f"rule {self.rule + 1}"
        return format_name(self.label), "present" if self.value else "absent", setter, right

    @property
    def evidence(self) -> str:
        """Share of right predictions in training; before it, the cause if relations changed the value."""
        right = f"{self.words[3]} right in training{self.alone_words}"
        return f"({right})" if self.because is None else f"{self.because}, otherwise {self._alone_value} ({right})"

    @property
    def _alone_value(self) -> str:
        return "absent" if self.value else "present"

    @property
    def alone_words(self) -> str:
        """The counts of the rule alone, if others than those of what it set."""
        if self.alone is None or self.alone == (self.tp, self.fp):
            return ""
        return f", the rule alone {format_right(*self.alone)}"


@dataclass(frozen=True)
class NearMiss:
    """A rule that was tried and did not fire, how the prediction would change if it had, and what failed."""

    rule: int
    text: str
    would_set: tuple[str, ...]
    missing: tuple[Check, ...]


@dataclass(frozen=True, repr=False)
class Explanation:
    """Everything a rule list did to one example.

    Parameters
    ----------
    labels : tuple of LabelReason
        In label order.
    fired : tuple of int
        Rules that fired, in order, counted from 0.
    stopped_at : int or None
        The rule whose stop ended the list; rules after it were not tried.
    near : tuple of NearMiss
        Rules that failed by few conditions and would change the prediction if they fired, fewest first.
    rule_list : RuleList
        The list, which writes its rules on request: few rules of a long list are shown.
    digits : int or None
        Significant digits of numbers.
    """

    labels: tuple[LabelReason, ...]
    fired: tuple[int, ...]
    stopped_at: int | None
    near: tuple[NearMiss, ...]
    rule_list: RuleList = field(compare=False)
    digits: int | None = None

    @property
    def rules(self) -> tuple[str, ...]:
        """Text of every rule of the list."""
        return tuple(map(self._text, range(len(self.rule_list))))

    @property
    def heads(self) -> tuple[str, ...]:
        """Text of the head of every rule."""
        return tuple(printing.Formatter(self.rule_list).head(rule) for rule in self.rule_list)

    def _text(self, rule: int) -> str:
        return self.rule_list.format_rule(rule, counts=False, digits=self.digits)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; rules are counted from 1, as they are printed."""
        return {
            "labels": [
                {
                    "label": reason.label,
                    "value": reason.value,
                    "rule": None if reason.rule is None else reason.rule + 1,
                    "text": None if reason.rule is None else self._text(reason.rule),
                    "probability": reason.probability,
                    "tp": reason.tp,
                    "fp": reason.fp,
                    "alone": None if reason.alone is None else list(reason.alone),
                    **({"stale": True} if reason.outdated else {}),
                    "conditions": [check.to_dict() for check in reason.checks],
                    **({} if reason.because is None else {"because": str(reason.because)}),
                }
                for reason in self.labels
            ],
            "fired": [rule + 1 for rule in self.fired],
            "stopped_at": None if self.stopped_at is None else self.stopped_at + 1,
            "nearly_fired": [
                {
                    "rule": miss.rule + 1,
                    "text": miss.text,
                    "would_set": list(miss.would_set),
                    "missing": [check.to_dict() for check in miss.missing],
                }
                for miss in self.near
            ],
        }

    def to_frame(self) -> Any:
        """Return a data frame with one row per label."""
        columns = ["label", "value", "rule", "text", "probability", "tp", "fp", "conditions"]
        rows = [row | {"conditions": _because(row["conditions"])} for row in self.to_dict()["labels"]]
        return frame_of_rows(rows, columns)

    def __repr__(self) -> str:
        return str(self)  # what a console shows

    def _repr_html_(self) -> str:
        rows = []
        for reason in self.labels:
            why = ", ".join(map(str, reason.checks)) or ("always" if reason.rule is not None else "the default")
            why = why if reason.because is None else f"{reason.because}; otherwise {reason._alone_value}: {why}"
            rows.append([*reason.words[:3], why, reason.words[3] + reason.alone_words])
        columns = ["label", "predicted", "set by", "because", "right in training"]
        return html_table(columns, rows, below=self._near_lines())

    def __str__(self) -> str:
        texts = [reason.words for reason in self.labels]
        width = min(30, max((len(name) for name, *_ in texts), default=0))
        column = max((len(setter) for _, _, setter, _ in texts), default=0)
        lines = [
            f"{name:<{width}}  {value:<7}  {setter:<{column}}  {reason.evidence}"
            for reason in self.labels
            for name, value, setter, _ in [reason.words]
        ]
        return "\n".join([*lines, *self._deciding_lines(), *self._other_lines(), *self._near_lines()])

    def _near_lines(self) -> list[str]:
        """Rules that nearly fired, the nearest of them in words: in a list about text most rules lack but one word."""
        lines = [
            f"rule {miss.rule + 1} would lead to {', '.join(miss.would_set)} if {' and '.join(map(str, miss.missing))}"
            for miss in self.near[:MOST_NEAR]
        ]
        rest = len(self.near) - MOST_NEAR
        return [*lines, f"{rest} more rule{'s' if rest > 1 else ''} nearly fired"] if rest > 0 else lines

    def _deciding_lines(self) -> list[str]:
        """Every rule that set a label, once, each condition with the example's value."""
        deciding = {reason.rule: reason.checks for reason in self.labels if reason.rule is not None}
        lines = []
        for rule in sorted(deciding):
            head = printing.Formatter(self.rule_list).head(self.rule_list[rule])
            lines.append(f"rule {rule + 1}: {head} <- {', '.join(map(str, deciding[rule])) or 'true'}")
        return lines

    def _other_lines(self) -> list[str]:
        if not self.fired:
            return ["no rule fired"]
        late = len(set(self.fired) - {reason.rule for reason in self.labels})
        parts = [f"{late} more rule{'s' if late > 1 else ''} fired with nothing left to set"] if late else []
        parts += [f"rule {self.stopped_at + 1} stopped the list"] if self.stopped_at is not None else []
        return ["; ".join(parts)] if parts else []


def _because(conditions: list[dict[str, Any]]) -> str:
    return "; ".join(str(check["actual"]) for check in conditions)


def explain(
    rule_list: RuleList, example: Any, row: int | None = None, *, near: int = 1, digits: int | None = None
) -> Explanation:
    """Explain the labels of one example.

    Parameters
    ----------
    rule_list : RuleList
    example : one example, or with `row` a table, frame, array or data set that holds it
    row : int, optional
        Counted from 0.
    near : int
        Report rules that failed by at most this many conditions.
    digits : int or None
        Significant digits of numbers, more where so few would be wrong for the training examples or for this one; None
        writes them exactly.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1, tp=8, fp=1),), (NumericCondition(0, ">", 5.5),))
    >>> model = RuleList((rule,), (Feature("colours"),), ("red",), default_counts=((1, 9),))
    >>> print(explain(model, [7]))
    red  present  rule 1  (8 of 9 right in training)
    rule 1: red <- colours > 5.5 (7)
    >>> print(explain(model, [3]))
    red  absent   no rule  (9 of 10 right in training)
    no rule fired
    rule 1 would lead to red if colours > 5.5 (3)
    """
    rule_list, values = one_example(rule_list, example, row)
    if digits is not None:
        rule_list = with_threshold_intervals(rule_list, Table(values[None, :], rule_list.features), also=True)
    tests, words = _Tests(rule_list, values), printing.Formatter(rule_list, digits)
    trace = follow(rule_list, tests.hold, range(len(rule_list)))
    grounds = {
        rule: checks(words, rule_list[rule].body, values, trace.before(rule)) for rule in set(trace.setter.values())
    }
    causes = {} if rule_list.plan is None else _causes(rule_list, trace)
    reasons = tuple(
        _reason(rule_list, label, trace, grounds, causes.get(label)) for label in range(len(rule_list.label_names))
    )
    misses = []
    for index, values_before in tests.nearly(trace, near):
        would = _would_set(rule_list, tests.end_labels(index, trace), reasons)
        if would:  # a rule that changes nothing is no news
            tried = checks(words, rule_list[index].body, values, values_before)
            missing = tuple(check for check in tried if not check.holds)
            text = words.rule(rule_list[index], counts=False)
            misses.append(NearMiss(index, text, would, missing))
    misses.sort(key=lambda miss: len(miss.missing))
    return Explanation(reasons, tuple(trace.fired), trace.stopped, tuple(misses), rule_list, digits)


class _Tests:
    """Conditions of a list that hold for one example; those on features are evaluated once, for all rules."""

    def __init__(self, rule_list: RuleList, row: Floats) -> None:
        bodies = rule_list.flat.bodies
        failed = np.concatenate([[0], np.cumsum(~bodies.passed(row))])
        self._rules, self._label_tests = rule_list, rule_list.label_tests
        self._failing: list[int] = np.diff(failed[bodies.start]).tolist()
        # A rule whose tests of features fail never fires, whatever labels are set.
        self._possible = [number for number, failing in enumerate(self._failing) if not failing]

    def failing(self, number: int, state: dict[int, int]) -> int:
        """Number of conditions of a rule that do not hold, given the labels set so far."""
        failing, label_tests = self._failing[number], self._label_tests[number]
        return failing + sum(state.get(test.label) != test.value for test in label_tests) if label_tests else failing

    def hold(self, number: int, state: dict[int, int]) -> bool:
        """True if all conditions of a rule hold."""
        return not self.failing(number, state)

    def nearly(self, trace: Trace, near: int) -> Iterator[tuple[int, dict[int, int]]]:
        """Yield rules that were tried, failed by few conditions and had something to set, and what was set before."""
        for number in range(len(self._rules) if trace.stopped is None else trace.stopped):
            idle = all(trace.setter.get(label, number) < number for label in self._rules.heads[number])
            if self._failing[number] <= near and not idle:
                values_before = trace.before(number)
                if 0 < self.failing(number, values_before) <= near:
                    yield number, values_before

    def end_labels(self, forced: int, trace: Trace) -> dict[int, int]:
        """Value of each label if the rule `forced` fired, given those set before it."""
        rules = [forced, *self._possible[bisect_right(self._possible, forced) :]]
        values_before = trace.before(forced)
        after = follow(self._rules, lambda rule, state: rule == forced or self.hold(rule, state), rules, values_before)
        after.setter.update((label, trace.setter[label]) for label in values_before)
        return final_labels(self._rules, after)


def _causes(rule_list: RuleList, trace: Trace) -> dict[int, Because]:
    """Return the cause of each label that relations changed."""
    assert rule_list.plan is not None
    return rule_list.plan.reasons(trace_margins(rule_list, trace), rule_list.label_names)


def _would_set(rule_list: RuleList, after: dict[int, int], reasons: Sequence[LabelReason]) -> tuple[str, ...]:
    """Labels that would have another value in the end."""
    changed = [label for label, reason in enumerate(reasons) if after[label] != reason.value]
    return tuple(printing.format_literal(Literal(label, after[label]), rule_list.label_names) for label in changed)


def _reason(
    rule_list: RuleList,
    label: int,
    trace: Trace,
    grounds: Mapping[int, tuple[Check, ...]],
    because: Because | None,
) -> LabelReason:
    name = rule_list.label_names[label]
    alone_value = trace.state.get(label, rule_list.defaults[label])
    value = alone_value if because is None else 1 - alone_value
    if label not in trace.setter:
        present, absent = rule_list.default_counts[label]
        default = rule_list.defaults[label]
        right, wrong = (present, absent) if default else (absent, present)
        outdated, probability = rule_list.info.get(OUTDATED_DEFAULTS) is True, float(rule_list.chances[-1, label])
        return LabelReason(name, value, None, probability, right, wrong, (), None, outdated, because)
    setter = trace.setter[label]
    rule = rule_list.rules[setter]
    literal = next((literal for literal in rule.head if literal.label == label), None)
    # A label outside the head of a full prediction has no counts; those of the whole head replace them.
    tp, fp = (literal.tp, literal.fp) if literal else (rule.tp, rule.fp)
    probability = float(rule_list.chances[setter, label])
    alone = literal.alone if literal else rule.alone
    return LabelReason(name, value, setter, probability, tp, fp, grounds[setter], alone, rule.stale, because)
