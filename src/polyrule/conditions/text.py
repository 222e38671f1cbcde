"""Conditions and bodies as people read them, and names, categories and numbers such that they read back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isnan
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from polyrule.conditions.rounding import round_beside
from polyrule.data.dates import format_date
from polyrule.data.table import Feature
from polyrule.errors import OptionError
from polyrule.utils.names import doubtful_marks, escape, is_visible

if TYPE_CHECKING:
    from polyrule.conditions.base import Condition

_FLAGS = {("0", "1"), ("no", "yes"), ("n", "y"), ("false", "true"), ("absent", "present")}

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)

# A name needs quotes if `parse_rule` could read it as something else than one name.
_AMBIGUOUS = re.compile(
    r"""^(any|at\sleast\s\d+)\sof\b|"""
    r"""[,<>=¬"'\\{}]|^[!~]|^not\s|^true$|\s\s|^\s|\s$|^$|\(TP|\(not counted|\(right|\]$|^\d+[.:]|"""
    r"""(^|\s)is\s(missing|known)$""",
    re.IGNORECASE,
)


class Named(Protocol):
    """Features and labels with names: a model, or data."""

    @property
    def features(self) -> Sequence[Feature]:
        """Name and kind of every column."""

    @property
    def label_names(self) -> Sequence[str]:
        """One per label."""


class Names(NamedTuple):
    """Names without a model or data."""

    features: Sequence[Feature]
    label_names: Sequence[str] = ()


class Words(Protocol):
    """What the phrase of a condition depends on: names, and significant digits of thresholds (None: all)."""

    @property
    def names(self) -> Named:
        """Names of features and labels."""

    @property
    def digits(self) -> int | None:
        """Significant digits of thresholds; None for all."""


@dataclass(frozen=True)
class ConditionFormatter:
    """Text of conditions and bodies.

    Thresholds have `digits` significant digits, and more only if the rounded ones would cover other training examples
    or the values beside them are unknown; None writes them so that they read back exactly.
    """

    names: Named
    digits: int | None = None

    def __post_init__(self) -> None:
        digits: Any = self.digits
        whole = isinstance(digits, Integral) and not isinstance(digits, bool)
        if digits is not None and not (whole and int(digits) >= 1):
            raise OptionError(f"digits must be a whole number of at least 1, got {digits!r}")

    def condition(self, condition: Condition) -> str:
        """Return one condition; a label condition is the bare label name, with ``¬`` for absent.

        So is one on a feature of 0 and 1, unless a label has its name.

        >>> from polyrule.model import LabelCondition, NominalCondition
        >>> names = Names([Feature("religion", "nominal", ("none", "hindu"))], ["yellow"])
        >>> words = ConditionFormatter(names)
        >>> words.condition(NominalCondition(0, 1)), words.condition(LabelCondition(0, 0))
        ('religion = hindu', '¬yellow')
        >>> laptop = Feature("laptop", "nominal", ("0", "1"))
        >>> each = [Names([laptop], labels) for labels in ([], ["laptop"])]
        >>> [ConditionFormatter(names).condition(NominalCondition(0, 0)) for names in each]
        ['¬laptop', 'laptop = 0']
        """
        return condition.phrase(self)

    def body(self, body: Sequence[Condition]) -> str:
        """Return the conditions of a body; ``true`` if there is none.

        A lower and an upper limit of one feature that follow each other are printed as an interval.

        >>> from polyrule.model import NumericCondition
        >>> age = NumericCondition(0, ">", 3.0), NumericCondition(0, "<=", 60.0)
        >>> ConditionFormatter(Names([Feature("age")])).body(age)
        '3 < age <= 60'
        """
        parts: list[str] = []
        previous: Condition | None = None
        for condition in body:
            both = None if previous is None else condition.phrase_after(previous, self)
            if both is None:
                parts.append(self.condition(condition))
                previous = condition
            else:
                parts[-1], previous = both, None
        return ", ".join(parts) or "true"


def format_number(number: float) -> str:
    """Return the shortest text that reads back as the same number; whole numbers without a fraction.

    >>> format_number(5.5), format_number(4.0), format_number(0.1 + 0.2), format_number(1e300)
    ('5.5', '4', '0.30000000000000004', '1e+300')
    """
    if isinstance(number, int):
        return str(number)
    if number.is_integer() and abs(number) < 1e16:
        return str(int(number))
    return repr(float(number))


def format_on_scale(feature: Feature, value: float) -> str:
    """Return a value that is compared: a number, a date, or the category at a position.

    >>> format_on_scale(Feature("plan", "ordinal", ("basic", "plus")), 1.5), format_on_scale(Feature("on", "date"), 1.5)
    ('plus', '1970-01-02')
    """
    if feature.kind == "ordinal":
        return format_category(feature.categories[floor(value)])
    if feature.kind == "date":
        return format_date(value)
    return format_number(value)


def format_value(feature: Feature, value: float, digits: int | None = None, thresholds: Sequence[float] = ()) -> str:
    """Return a feature value as people write it; "missing" for NaN, and unknown categories by these words.

    A text or list has a word or member, or lacks it. A number that is rounded to `digits` remains on its side of the
    thresholds.
    """
    if isnan(value):
        return "missing"
    if feature.derived is not None and (phrase := feature.derived.phrase_value(value)) is not None:
        return phrase
    if not feature.has_categories:
        number = value if feature.is_stepped else round_beside(float(value), digits, thresholds)
        return format_on_scale(feature, number)
    known = 0 <= value < len(feature.categories) and float(value).is_integer()
    return format_category(feature.categories[int(value)]) if known else "an unknown category"


def format_name(name: str) -> str:
    r"""Return the name, or in quotes with JSON's escapes if it could be misread or garble a terminal.

    >>> print(format_name("a-b"), format_name("x y"), format_name("a <- b"), format_name("line\nbreak"))
    a-b x y "a <- b" "line\nbreak"
    """
    clear = is_visible(name) and not _AMBIGUOUS.search(name) and closes_brackets(name)
    return name if clear else quoted(name)


def format_feature(name: str) -> str:
    """Return the name of a feature as rules show it; a name that looks like a number stands in quotes.

    >>> print(format_feature("13"), format_feature("x13"))
    "13" x13
    """
    return quoted(name) if _NUMBER.fullmatch(name) else format_name(name)


def format_category(name: str) -> str:
    """Return a category as it stands behind ``=``, where ``true`` can only be a category.

    >>> print(format_category("True"), format_category("a, b"))
    True "a, b"
    """
    return name if name.lower() == "true" else format_name(name)


def closes_brackets(text: str) -> bool:
    """Return True if every parenthesis of a text has its counterpart, so that a pair around the text is clear.

    >>> closes_brackets("size (cm)"), closes_brackets("a) or (b"), closes_brackets(":(")
    (True, False, False)
    """
    depth = 0
    for mark in text:
        depth += (mark == "(") - (mark == ")")
        if depth < 0:
            return False
    return depth == 0


def quoted(name: str) -> str:
    """Return a name in quotes with JSON's escapes."""
    doubtful = doubtful_marks(name)
    return '"' + "".join(_escape(mark, position in doubtful) for position, mark in enumerate(name)) + '"'


def _escape(character: str, doubtful: bool) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() and not doubtful else escape(character)


def at_least(least: int) -> str:
    """Return "any" or "at least 2": the number of members of a group that must hold."""
    return "any" if least == 1 else f"at least {least}"


def is_0_or_1(feature: Feature) -> bool:
    """Return True if a feature has no other values than 0 and 1, so that its name alone states one of them."""
    return feature.flag or (feature.kind == "nominal" and feature.categories == ("0", "1"))


def is_flag(feature: Feature) -> bool:
    """Return True if the categories of a feature are no and yes, in this order."""
    return feature.kind == "nominal" and tuple(map(str.lower, feature.categories)) in _FLAGS
