"""Stored rules, of lists and of ensembles: frozen, made of indices and numbers, never of strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import mul
from typing import Any
from typing import Literal as Choice

from polyrule.data.results import html_table
from polyrule.errors import ModelError


@dataclass(frozen=True, slots=True)
class NumericCondition:
    """``feature <= threshold`` or ``feature > threshold``; a missing value satisfies neither.

    Parameters
    ----------
    feature : int
        Column of the feature.
    op : {"<=", ">"}
        On which side of the threshold.
    threshold : float
        Halfway between two values of the training data; for an ordinal feature, between positions of categories.
    between : (float, float) or None
        The largest training value up to the threshold and the smallest above it, infinite where there is none: any
        other threshold from the first up to, not including, the second covers the same training examples. None where
        that is not known. Not part of what makes two conditions equal.

    Examples
    --------
    >>> Rule((Literal(0, 1),), (NumericCondition(3, ">", 5.5),))
    <Rule y0 <- x3 > 5.5   (TP 0, FP 0)>
    """

    feature: int
    op: Choice["<=", ">"]
    threshold: float
    between: tuple[float, float] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NominalCondition:
    """``feature = value``, for a nominal feature; a missing value never satisfies it.

    Parameters
    ----------
    feature : int
        Column of the feature.
    value : int
        Index among the feature's categories.

    Examples
    --------
    >>> Rule((Literal(0, 1),), (NominalCondition(3, 2),))
    <Rule y0 <- x3 = category 2   (TP 0, FP 0)>
    """

    feature: int
    value: int


@dataclass(frozen=True, slots=True)
class SetCondition:
    """``feature in {value, …}``, for a nominal feature; a missing value never satisfies it.

    Parameters
    ----------
    feature : int
        Column of the feature.
    values : tuple of int
        Indices among the feature's categories, ascending.

    Examples
    --------
    >>> Rule((Literal(0, 1),), (SetCondition(3, (0, 2)),))
    <Rule y0 <- x3 in categories {0, 2}   (TP 0, FP 0)>
    """

    feature: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MissingCondition:
    """``feature is missing`` or ``feature is known``, for a feature of any kind.

    A category that the model never saw counts as missing.

    Parameters
    ----------
    feature : int
        Column of the feature.
    missing : bool
        Which of the two.

    Examples
    --------
    >>> Rule((Literal(0, 1),), (MissingCondition(3, True),))
    <Rule y0 <- x3 is missing   (TP 0, FP 0)>
    """

    feature: int
    missing: bool


@dataclass(frozen=True, slots=True)
class LabelCondition:
    """``label = value``, read from what earlier rules of the list have set for this example, never from the truth.

    Parameters
    ----------
    label : int
        Number of the label.
    value : {0, 1}
        Absent or present.

    Examples
    --------
    >>> Rule((Literal(0, 1),), (LabelCondition(2, 0),))
    <Rule y0 <- ¬y2   (TP 0, FP 0)>
    """

    label: int
    value: int


#: characters of a group's name, which is printed beside its members
LONGEST_NAME = 100

FeatureCondition = NumericCondition | NominalCondition | SetCondition | MissingCondition


@dataclass(frozen=True, slots=True)
class GroupCondition:
    """At least `least` of some conditions hold: "any of" them where it is 1. A body has at most one group.

    Parameters
    ----------
    members : tuple of conditions on features
        At least two, all different, in the order they were found.
    least : int
        Less than there are members: all of them would be a body without a group.
    name : str
        What a reader calls the group; not part of what makes two conditions equal.

    Examples
    --------
    >>> members = NumericCondition(3, ">", 65), NominalCondition(4, 1), NumericCondition(5, ">", 150)
    >>> Rule((Literal(0, 1),), (GroupCondition(members, 2),))
    <Rule y0 <- at least 2 of (x3 > 65, x4 = category 1, x5 > 150)   (TP 0, FP 0)>
    """

    members: tuple[FeatureCondition, ...]
    least: int = 1
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if any(isinstance(member, (GroupCondition, LabelCondition)) for member in self.members):
            raise ModelError("the members of a group must be plain conditions on features")
        if len(set(self.members)) < len(self.members):
            raise ModelError("the members of a group must be distinct")
        if not 1 <= self.least < len(self.members):
            raise ModelError(f"at least {self.least} of {len(self.members)} conditions is no group of alternatives")
        if len(self.name) > LONGEST_NAME or not self.name.isprintable():
            raise ModelError(f"the name of a group must be a line of at most {LONGEST_NAME} visible characters")


InputCondition = FeatureCondition | GroupCondition
"""What an example's own values decide, whatever labels are set."""
Condition = InputCondition | LabelCondition


def plain_conditions(body: Iterable[Condition]) -> Iterator[FeatureCondition | LabelCondition]:
    """Yield the conditions of a body, the members of a group instead of the group.

    >>> x0, x1, x2 = (MissingCondition(feature, True) for feature in range(3))
    >>> [condition.feature for condition in plain_conditions((x0, GroupCondition((x1, x2))))]
    [0, 1, 2]
    """
    for condition in body:
        if isinstance(condition, GroupCondition):
            yield from condition.members
        else:
            yield condition


def group_of(body: Iterable[Condition]) -> GroupCondition | None:
    """Return the group of a body, the only one it can have.

    >>> print(group_of([MissingCondition(0, True)]))
    None
    """
    groups = [condition for condition in body if isinstance(condition, GroupCondition)]
    if len(groups) > 1:
        raise ModelError("a rule has at most one group of alternatives")
    return groups[0] if groups else None


def changed_tests(
    body: Iterable[Condition], change: Callable[[FeatureCondition], FeatureCondition]
) -> tuple[Condition, ...]:
    """Return a body with what `change` makes of every condition on a feature, the members of a group among them.

    >>> group = GroupCondition((MissingCondition(0, True), MissingCondition(1, True)))
    >>> [size_of(changed_tests(body, lambda test: test)) for body in ((group,), (LabelCondition(0, 1), group))]
    [2, 3]
    """

    def changed(condition: Condition) -> Condition:
        if isinstance(condition, GroupCondition):
            return replace(condition, members=tuple(map(change, condition.members)))
        return condition if isinstance(condition, LabelCondition) else change(condition)

    return tuple(map(changed, body))


def in_any_order(body: Iterable[Condition]) -> frozenset[Any]:
    """Return what bodies have in common that only differ in the order of conditions, or of members."""
    return frozenset(
        (frozenset(condition.members), condition.least) if isinstance(condition, GroupCondition) else condition
        for condition in body
    )


def size_of(body: Iterable[Condition]) -> int:
    """Return how many conditions a reader has to read, each member of a group among them."""
    return sum(1 for _ in plain_conditions(body))


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
        What no head of this body is worth more than, where the search for the best one was limited (`effort`) and
        `value` may not be it; None where no head is better.
    unfinished : bool
        Whether a time limit ended the search while the rule was growing, so that a longer body may be better.
    certificate : dict or None
        The proof that no other head is better for this body, where one was asked for. Plain JSON values only; not part
        of what makes two rules equal.

    Examples
    --------
    A rule knows no names; printed alone, it calls labels y0, y1, … and features x0, x1, …

    >>> Rule((Literal(0, 1, 65, 0), Literal(2, 0, 60, 5)), (NumericCondition(3, ">", 5.5),), stop=True)
    <Rule y0, ¬y2 <- x3 > 5.5   (TP 125, FP 5) [stop]>
    """

    head: tuple[Literal, ...]
    body: tuple[Condition, ...] = ()
    stop: bool = False
    value: Fraction | None = None
    origin: Choice["learned", "edited", "hand"] = "learned"
    coverage: float | None = None
    bound: Fraction | None = None
    unfinished: bool = False
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
        body = ", ".join(map(_sketch, self.body)) or "true"
        marks = f" [{self.marks}]" if self.marks else ""
        return f"{head} <- {body}   (TP {self.tp:.9g}, FP {self.fp:.9g}){marks}"

    def __repr__(self) -> str:
        return f"<Rule {self}>"

    def _repr_html_(self) -> str:
        from polyrule.model.printing import format_number, format_share  # printing is about rules

        # positions of labels and features: their names are kept by the list the rule stands in
        head, _, rest = str(self).partition(" <- ")
        expected = "" if self.expected is None else format_share(self.expected)
        row = [head, rest.partition("   (")[0], format_number(self.tp), format_number(self.fp), expected, self.marks]
        return html_table(["head", "body", "TP", "FP", "expect", ""], [row])

    @property
    def marks(self) -> str:
        """Whether the rule stops, and who made it where that was not the learner: what stands in brackets behind it."""
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
    def expected(self) -> float | None:
        """Share of correct predictions to expect on new examples; None where the learner has no estimate.

        >>> Rule((Literal(0, 1, 8, 2, 0.7), Literal(1, 1, 5, 5, 0.4))).expected
        0.55
        """
        weights = [literal.tp + literal.fp for literal in self.head]
        chances = [literal.chance for literal in self.head if literal.chance is not None]
        if len(chances) < len(weights) or not sum(weights):
            return None
        return float(round(sum(map(mul, weights, chances)) / sum(weights), 4))

    @property
    def is_multi_label(self) -> bool:
        """Whether the head predicts more than one label."""
        return len(self.head) > 1


def at_least(least: int) -> str:
    """Return how many members of a group must hold, in words."""
    return "any" if least == 1 else f"at least {least}"


def _sketch(condition: Condition) -> str:
    match condition:
        case NumericCondition(feature, op, threshold):
            return f"x{feature} {op} {threshold!r}".removesuffix(".0")
        case NominalCondition(feature, value):
            return f"x{feature} = category {value}"
        case SetCondition(feature, values):
            return f"x{feature} in categories {{{', '.join(map(str, values))}}}"
        case MissingCondition(feature, missing):
            return f"x{feature} is {'missing' if missing else 'known'}"
        case LabelCondition(label, value):
            return f"{'' if value else '¬'}y{label}"
        case GroupCondition(members, least):
            return f"{at_least(least)} of ({', '.join(map(_sketch, members))})"


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
    >>> from polyrule.model import NumericCondition
    >>> slow = WeightedRule((Entry(0, 1.5), Entry(1, -0.5)), (NumericCondition(0, "<=", 90),), coverage=42)
    >>> slow.is_multi_label
    True
    """

    head: tuple[Entry, ...]
    body: tuple[Condition, ...] = ()
    coverage: float | None = None

    def __post_init__(self) -> None:
        labels = [entry.label for entry in self.head]
        if not labels or labels != sorted(set(labels)):
            raise ModelError("the head of a weighted rule needs distinct labels in label order")
        group_of(self.body)

    @property
    def is_multi_label(self) -> bool:
        """Whether the rule weighs more than one label."""
        return len(self.head) > 1


EitherRule = Rule | WeightedRule
