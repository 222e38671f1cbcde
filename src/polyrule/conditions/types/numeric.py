"""A number, a date or a position among ordered categories, compared with a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, inf, isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from polyrule.conditions.base import Condition, FeatureCondition
from polyrule.conditions.predicate import Column, Compare
from polyrule.conditions.rounding import round_between
from polyrule.conditions.text import Words, format_category, format_feature, format_name, format_on_scale
from polyrule.data.table import Feature

if TYPE_CHECKING:
    from polyrule.conditions.vocabulary import Vocabulary
    from polyrule.data.documents import JsonNode


@dataclass(frozen=True, slots=True)
class NumericCondition(FeatureCondition):
    """``feature <= threshold`` or ``feature > threshold``; a missing value satisfies neither.

    Parameters
    ----------
    feature : int
        Column of the feature.
    op : {"<=", ">"}
        Side of the threshold.
    threshold : float
        Halfway between two values of the training data; for an ordinal feature, between positions of categories.
    between : (float, float) or None
        The largest training value up to the threshold and the smallest above it, infinite if there is none: any
        other threshold from the first up to, not including, the second covers the same training examples. None if
        they are unknown. Not part of what makes two conditions equal.

    Examples
    --------
    >>> from polyrule.model import Literal, Rule
    >>> Rule((Literal(0, 1),), (NumericCondition(3, ">", 5.5),))
    <Rule y0 <- x3 > 5.5   (TP 0, FP 0)>
    """

    feature: int
    op: Literal["<=", ">"]
    threshold: float
    between: tuple[float, float] | None = field(default=None, compare=False, repr=False)

    OPS: ClassVar[tuple[str, ...]] = ("<=", ">")

    def predicate(self) -> Compare:
        """Return a comparison."""
        return Compare(Column(self.feature), self.op, self.threshold)

    def is_valid(self, features: Sequence[Feature], n_labels: int = 0) -> bool:
        """Return True for a feature with an order and a finite threshold, of categories between two of them."""
        if not 0 <= self.feature < len(features) or self.op not in self.OPS or not isfinite(self.threshold):
            return False
        feature = features[self.feature]
        if feature.is_nominal:
            return False
        return feature.kind != "ordinal" or 0 <= self.threshold < len(feature.categories) - 1

    @property
    def divides_0_from_1(self) -> bool:
        """True for a threshold with no training value between 0 and 1."""
        return self.between == (0.0, 1.0)

    def rounded(self, digits: int | None) -> float:
        """Return the threshold as it is printed, with `digits` significant digits if the training data allows it.

        It is between the same two training values, with more digits if necessary; if they are unknown, it is exact.

        Examples
        --------
        >>> NumericCondition(0, "<=", 44.5, between=(44.2, 44.9)).rounded(2)
        44.5
        >>> NumericCondition(0, "<=", 44.5, between=(43.0, 46.0)).rounded(1)
        44.0
        """
        return round_between(self.threshold, self.between, digits)

    def flag(self, feature: Feature) -> str | None:
        """Return the bare name if the training data has no value between 0 and 1, of a word ``plot has zombie``."""
        if feature.kind != "numeric" or not self.divides_0_from_1:
            return None
        if feature.derived is not None and feature.derived.item:
            verb = "has" if self.op == ">" else "lacks"
            return f"{format_feature(feature.column)} {verb} {format_name(feature.derived.item)}"
        return ("" if self.op == ">" else "¬") + format_feature(feature.name)

    def as_printed(self) -> Self:
        """Return the condition as its text is read again; a bare name has no threshold.

        >>> NumericCondition(0, ">", 0.0, between=(0.0, 1.0)).as_printed()
        NumericCondition(feature=0, op='>', threshold=0.5)
        """
        return replace(self, threshold=0.5) if self.divides_0_from_1 else self

    def as_read(self, features: Sequence[Feature]) -> Any:
        """Return the condition as its text is read again."""
        return self.as_printed() if features[self.feature].flag else self

    def sketch(self) -> str:
        """Return text without names."""
        return f"x{self.feature} {self.op} {self.threshold!r}".removesuffix(".0")

    def phrase_of(self, feature: Feature, words: Words) -> str:
        """Return ``age > 3`` or, of ordered categories, ``plan >= plus``."""
        name = format_feature(feature.name)
        if feature.kind != "ordinal":
            return f"{name} {self.op} {self._limit(feature, words)}"
        place, last = floor(self.threshold), len(feature.categories) - 1
        if self.op == ">":
            place, sign = place + 1, "=" if place + 1 == last else ">="
        else:
            sign = "=" if place == 0 else "<="
        return f"{name} {sign} {format_category(feature.categories[place])}"

    def phrase_after(self, previous: Condition, words: Words) -> str | None:
        """Return an interval if the previous condition is the lower limit of the same feature."""
        if not isinstance(previous, NumericCondition):
            return None
        if previous.feature != self.feature or (previous.op, self.op) != (">", "<="):
            return None
        feature = words.names.features[self.feature]
        name = format_feature(feature.name)
        if feature.is_stepped and floor(previous.threshold) + 1 == floor(self.threshold):
            return f"{name} = {format_on_scale(feature, self.threshold)}"
        return f"{previous._limit(feature, words)} < {name} <= {self._limit(feature, words)}"

    def _limit(self, feature: Feature, words: Words) -> str:
        return format_on_scale(feature, self.threshold if feature.is_stepped else self.rounded(words.digits))

    def to_json(self, names: Vocabulary) -> dict[str, Any]:
        """Return the record; infinite ends of `between` are null."""
        between = [end if isfinite(end) else None for end in self.between or ()]
        return self.record(names, self.op, float(self.threshold)) | ({"between": between} if between else {})

    @classmethod
    def from_json(cls, feature: int, op: str, members: Mapping[str, JsonNode], names: Vocabulary) -> NumericCondition:
        """Return the condition of the record with these members."""
        threshold = float(members["value"].number())
        between = _read_between(members["between"], threshold) if "between" in members else None
        return cls(feature, "<=" if op == "<=" else ">", threshold, between)


def _read_between(node: JsonNode, threshold: float) -> tuple[float, float] | None:
    if node.value is None:
        return None
    ends = node.items()
    if len(ends) != 2:
        node.fail("must hold two numbers: the training values on either side of the threshold")
    low, high = (end.maybe(lambda n: float(n.number())) for end in ends)
    low, high = -inf if low is None else low, inf if high is None else high
    if not low <= threshold < high:
        node.fail("does not hold the threshold")
    return low, high
