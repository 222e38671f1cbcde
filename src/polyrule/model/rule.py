"""Stored rules, of lists and of ensembles: frozen, made of indices and numbers, never of strings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from operator import mul
from typing import Any
from typing import Literal as Choice

from polyrule.conditions import Body, group_of
from polyrule.conditions.text import format_number
from polyrule.data.results import html_table
from polyrule.errors import ModelError


@dataclass(frozen=True, slots=True)
class Literal:
    """One prediction of a head: ``label = value``, with what it did on the training examples it could still set.

    Parameters
    ----------
    label : int
        Number of the label.
    value : {0, 1}
        Predicted absent or present.
    tp, fp : float
        Weight of the covered examples whose label was not yet set and is truly `value`, or is not; numbers of examples
        when there are no weights.
    chance : float or None
        Probability of being right on new examples, where the learner has an estimate that is fairer than these counts.
    alone : (float, float) or None
        Weight of all training examples that the body covers whose label is truly `value`, and of those whose label is
        not, whatever earlier rules have set. None if not counted.

    Examples
    --------
    >>> Literal(label=2, value=0, tp=60, fp=5)
    Literal(label=2, value=0, tp=60, fp=5)
    """

    label: int
    value: int
    tp: float = 0
    fp: float = 0
    chance: float | None = field(default=None, repr=False)
    alone: tuple[float, float] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class Rule:
    """``head <- body``, optionally followed by a stop.

    Parameters
    ----------
    head : tuple of Literal
        At least one, in label order, at most one per label.
    body : tuple of conditions
        All must hold; empty means always.
    stop : bool
        If the rule fired and newly set a label, later rules are not tried for that example.
    value : Fraction or None
        The measure's value when the rule was learned; None for a rule made by hand.
    origin : str
        "learned", "edited" or "hand".
    coverage : float or None
        Weight of the working-set examples the rule covered when it was learned.
    bound : Fraction or None
        Upper bound of the value of any head of this body, if the search for the best one was limited (`effort`) and
        `value` may not be it; None where no head is better.
    unfinished : bool
        Whether a time limit ended the search while the rule was growing, so that a longer body may be better.
    stale : bool
        True if an earlier rule was edited afterwards, so that the rule may set its labels for other examples now than
        its counts state.
    certificate : dict or None
        The proof that no other head is better for this body, if it was requested. Plain JSON values only; not part
        of what makes two rules equal.

    Examples
    --------
    A rule knows no names; printed alone, it calls labels y0, y1, … and features x0, x1, …

    >>> from polyrule.model import NumericCondition
    >>> Rule((Literal(0, 1, 65, 0), Literal(2, 0, 60, 5)), (NumericCondition(3, ">", 5.5),), stop=True)
    <Rule y0, ¬y2 <- x3 > 5.5   (TP 125, FP 5) [stop]>
    """

    head: tuple[Literal, ...]
    body: Body = ()
    stop: bool = False
    value: Fraction | None = None
    origin: Choice["learned", "edited", "hand"] = "learned"
    coverage: float | None = None
    bound: Fraction | None = None
    unfinished: bool = False
    stale: bool = False
    certificate: dict[str, Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        labels = [literal.label for literal in self.head]
        if not labels:
            raise ModelError("a rule needs at least one label in its head")
        if labels != sorted(set(labels)):
            raise ModelError("the labels of a head must be distinct and in label order")
        group_of(self.body)

    def __str__(self) -> str:
        head = ", ".join(f"{'' if literal.value else '¬'}y{literal.label}" for literal in self.head)
        body = ", ".join(condition.sketch() for condition in self.body) or "true"
        marks = f" [{self.marks}]" if self.marks else ""
        return f"{head} <- {body}   (TP {self.tp:.9g}, FP {self.fp:.9g}){marks}"

    def __repr__(self) -> str:
        return f"<Rule {self}>"

    def _repr_html_(self) -> str:
        from polyrule.model.printing import format_share  # printing is about rules

        # positions of labels and features: their names are kept by the list the rule stands in
        head, _, rest = str(self).partition(" <- ")
        expected = "" if self.expected is None else format_share(self.expected)
        row = [head, rest.partition("   (")[0], format_number(self.tp), format_number(self.fp), expected, self.marks]
        return html_table(["head", "body", "TP", "FP", "expect", ""], [row])

    @property
    def marks(self) -> str:
        """Stop, and origin if the rule was not learned, as printed in brackets behind it."""
        return ", ".join(["stop"] * self.stop + [self.origin] * (self.origin != "learned"))

    @property
    def tp(self) -> float:
        """Correct predictions among the training examples, summed over the head."""
        return sum(literal.tp for literal in self.head)

    @property
    def fp(self) -> float:
        """Wrong predictions among the training examples, summed over the head."""
        return sum(literal.fp for literal in self.head)

    @property
    def alone(self) -> tuple[float, float] | None:
        """Correct and wrong predictions among all training examples it covers, summed over the head; None if unknown.

        >>> Rule((Literal(0, 1, 3, 1, alone=(8, 2)), Literal(1, 1, 5, 5, alone=(5, 5)))).alone
        (13, 7)
        """
        pairs = [literal.alone for literal in self.head if literal.alone is not None]
        if len(pairs) < len(self.head):
            return None
        return sum(right for right, _ in pairs), sum(wrong for _, wrong in pairs)

    @property
    def expected(self) -> float | None:
        """Share of correct predictions to expect on new examples; None where the learner has no estimate.

        >>> Rule((Literal(0, 1, 8, 2, 0.7), Literal(1, 1, 5, 5, 0.4))).expected
        0.55
        """
        weights = [literal.tp + literal.fp for literal in self.head]
        probabilities = [literal.chance for literal in self.head if literal.chance is not None]
        if len(probabilities) < len(weights) or not sum(weights):
            return None
        return float(round(sum(map(mul, weights, probabilities)) / sum(weights), 4))

    @property
    def is_multi_label(self) -> bool:
        """True if the head predicts more than one label."""
        return len(self.head) > 1


@dataclass(frozen=True, slots=True)
class Entry:
    """One label of a head and what the rule adds to its score.

    Parameters
    ----------
    label : int
        Number of the label.
    weight : float
        In log-odds, or for a scorecard in points.

    Examples
    --------
    >>> Entry(label=0, weight=1.5)
    Entry(label=0, weight=1.5)
    """

    label: int
    weight: float


@dataclass(frozen=True, slots=True)
class WeightedRule:
    """``calm +1.2, happy −0.8 <- body``: if the body holds, the weights are added to the labels' scores.

    Parameters
    ----------
    head : tuple of Entry
        At least one, in label order.
    body : tuple of conditions
        All must hold; empty means always.
    coverage : float or None
        Weight of the training examples that the body covers.

    Examples
    --------
    >>> from polyrule.conditions import NumericCondition
    >>> slow = WeightedRule((Entry(0, 1.5), Entry(1, -0.5)), (NumericCondition(0, "<=", 90),), coverage=42)
    >>> slow.is_multi_label
    True
    """

    head: tuple[Entry, ...]
    body: Body = ()
    coverage: float | None = None

    def __post_init__(self) -> None:
        labels = [entry.label for entry in self.head]
        if not labels or labels != sorted(set(labels)):
            raise ModelError("the head of a weighted rule needs distinct labels in label order")
        group_of(self.body)

    @property
    def is_multi_label(self) -> bool:
        """True if the rule weighs more than one label."""
        return len(self.head) > 1


EitherRule = Rule | WeightedRule


def changed_rule(rule: Rule, body: Body) -> Rule:
    """Return a rule with another body, without the counts of the old one."""
    head = tuple(Literal(literal.label, literal.value) for literal in rule.head)
    return Rule(head, body, stop=rule.stop, origin="edited")


def check_rules(model: Any, is_known: Callable[[Any], bool], names: str, labels: int = 0) -> None:
    """Refuse rules that test or predict what a model does not have; of a list, `labels` may be tested.

    `is_known` returns True for an entry of a head whose label the model has; `names` describes other entries.
    """
    for number, rule in enumerate(model.rules, start=1):
        for entry in rule.head:
            if not is_known(entry):
                raise ModelError(f"rule {number}: head entry {entry} names {names}")
        for condition in rule.body:
            if not condition.is_valid(model.features, labels):
                raise ModelError(f"rule {number}: condition {condition} names no column or value of this model")
