"""The neutral form of conditions: four kinds of nodes, which every target of evaluation or export understands.

A condition states what a reader sees, with names and rounded thresholds; its predicate states which values satisfy it.
A target is a visitor with one method per node. Adding a node means a method in `Visitor`, which the type checker then
demands of each target, and a row in ``tests/conditions/test_targets.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor
from typing import Literal, Protocol, TypeVar

from polyrule.data.table import Feature

R = TypeVar("R", covariant=True)


@dataclass(frozen=True, slots=True)
class Column:
    """What a test reads: a feature's value, a label that earlier rules have set, or the code of a feature's bin."""

    index: int
    source: Literal["feature", "label", "code"] = "feature"


@dataclass(frozen=True, slots=True)
class Compare:
    """``column <= value`` or ``column > value``; false for a missing value."""

    column: Column
    op: Literal["<=", ">"]
    value: float

    def accept(self, visitor: Visitor[R]) -> R:
        """Return `visitor.compare` of this node."""
        return visitor.compare(self)


@dataclass(frozen=True, slots=True)
class OneOf:
    """The value is one of some codes, ascending; false for a missing value and for a label that is not set."""

    column: Column
    codes: tuple[int, ...]

    def accept(self, visitor: Visitor[R]) -> R:
        """Return `visitor.one_of` of this node."""
        return visitor.one_of(self)


@dataclass(frozen=True, slots=True)
class Missing:
    """The value is missing, or with ``missing=False`` known. A category that the model does not have is missing."""

    column: Column
    missing: bool

    def accept(self, visitor: Visitor[R]) -> R:
        """Return `visitor.missing` of this node."""
        return visitor.missing(self)


@dataclass(frozen=True, slots=True)
class AtLeast:
    """At least `count` of the parts hold: any of them if it is 1, all if it is their number. Parts are not nested."""

    count: int
    parts: tuple[Leaf, ...]

    def __post_init__(self) -> None:
        assert not any(isinstance(part, AtLeast) for part in self.parts), "a body has one level of groups"

    def accept(self, visitor: Visitor[R]) -> R:
        """Return `visitor.at_least` of this node."""
        return visitor.at_least(self)


Leaf = Compare | OneOf | Missing
Predicate = Leaf | AtLeast


class Visitor(Protocol[R]):
    """A target: what becomes of each node."""

    def compare(self, node: Compare) -> R:
        """Return the result for a comparison."""

    def one_of(self, node: OneOf) -> R:
        """Return the result for a test of codes."""

    def missing(self, node: Missing) -> R:
        """Return the result for a test of a missing value."""

    def at_least(self, node: AtLeast) -> R:
        """Return the result for a count of parts."""


class _Lower:
    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = features

    def _n_categories(self, column: Column) -> int | None:
        feature = self.features[column.index] if column.source == "feature" else None
        return len(feature.categories) if feature is not None and feature.has_categories else None

    def compare(self, node: Compare) -> Predicate:
        count = self._n_categories(node.column)
        if count is None:
            return node
        first = min(max(floor(node.value) + 1, 0), count)
        return OneOf(node.column, tuple(range(first) if node.op == "<=" else range(first, count)))

    def one_of(self, node: OneOf) -> Predicate:
        return node

    def missing(self, node: Missing) -> Predicate:
        count = self._n_categories(node.column)
        return node if node.missing or count is None else OneOf(node.column, tuple(range(count)))

    def at_least(self, node: AtLeast) -> Predicate:
        return AtLeast(node.count, tuple(part.accept(self) for part in node.parts))  # type: ignore[misc]


def lower(predicate: Predicate, features: Sequence[Feature]) -> Predicate:
    """Return an equal predicate for targets in which categories are texts: thresholds of categories become sets.

    ``Missing`` of a feature with categories remains, and means that the text is none of them.

    Examples
    --------
    >>> lower(Compare(Column(0), ">", 0.5), [Feature("plan", "ordinal", ("basic", "plus", "pro"))]).codes
    (1, 2)
    """
    return predicate.accept(_Lower(features))
