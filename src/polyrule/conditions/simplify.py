"""Shorter bodies and groups that hold for the same examples: intervals and sets per column."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from polyrule.conditions.base import Condition, FeatureCondition
from polyrule.conditions.types import (
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
)
from polyrule.conditions.types.sets import one_of
from polyrule.data.derive.registry import derivation_of
from polyrule.data.table import Feature

_threshold = attrgetter("threshold")


def simplify_body(body: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return a body that covers the same, without conditions that others imply or contain.

    The sharpest of several thresholds on one side remains, sets become their intersection, and "is known" is left out
    beside a comparison. Conditions on one feature follow each other, the lower limit first.

    Examples
    --------
    >>> simplify_body((NumericCondition(0, "<=", 6), NumericCondition(0, ">", 1), NumericCondition(0, "<=", 3)))
    (NumericCondition(feature=0, op='>', threshold=1), NumericCondition(feature=0, op='<=', threshold=3))
    >>> simplify_body((SetCondition(1, (0, 2)), MissingCondition(1, False), SetCondition(1, (0, 1))))
    (NominalCondition(feature=1, value=0),)
    """
    groups: dict[Hashable, list[Any]] = {}
    for condition in body:
        groups.setdefault(_tested(condition), []).append(condition)
    return tuple(condition for group in groups.values() for condition in _intersect(group))


def _tested(condition: Condition) -> Hashable:
    """Return a value that is equal for conditions that test the same feature or label."""
    if isinstance(condition, LabelCondition):
        return "label", condition.label
    return condition.feature if isinstance(condition, FeatureCondition) else condition


def _intersect(group: list[Any]) -> list[Condition]:
    """Return conditions that hold if all conditions on one feature do."""
    if len(group) == 1 or not isinstance(group[0], FeatureCondition):
        return list(dict.fromkeys(group))
    limits = [c for c in group if isinstance(c, NumericCondition)]
    above = max((c for c in limits if c.op == ">"), key=_threshold, default=None)
    below = min((c for c in limits if c.op == "<="), key=_threshold, default=None)
    shorter: list[Condition] = [c for c in (above, below) if c is not None]
    choices = [c for c in group if isinstance(c, (NominalCondition, SetCondition))]
    if choices and (common := set.intersection(*(set(c.categories) for c in choices))):
        shorter.append(one_of(group[0].feature, common))
    else:
        shorter += choices  # no value satisfies all of them
    states = {c.missing: c for c in group if isinstance(c, MissingCondition)}
    return [*shorter, *(c for missing, c in states.items() if missing or not shorter)]


def simplify_group(group: GroupCondition) -> GroupCondition | FeatureCondition:
    """Return a condition that holds if "any of" does, without members that imply another.

    The widest of several thresholds on one side remains, and categories of one feature become one set. If one member
    remains, it is returned. A group with a larger count is not changed.

    Examples
    --------
    >>> members = NominalCondition(1, 2), MissingCondition(0, True), NominalCondition(1, 0)
    >>> simplify_group(GroupCondition(members)).members
    (SetCondition(feature=1, values=(0, 2)), MissingCondition(feature=0, missing=True))
    >>> simplify_group(GroupCondition((NumericCondition(0, ">", 6), NumericCondition(0, ">", 3))))
    NumericCondition(feature=0, op='>', threshold=3)
    """
    if group.least > 1:
        return group
    alike: dict[Hashable, list[Any]] = {}
    for member in group.members:
        alike.setdefault(_direction(member), []).append(member)
    members = tuple(map(_union, alike.values()))
    return members[0] if len(members) == 1 else replace(group, members=members)


def _direction(member: FeatureCondition) -> Hashable:
    """Return a value that is equal for members whose union is one condition."""
    if isinstance(member, NumericCondition):
        return member.feature, member.op
    return (member.feature, "in") if isinstance(member, (NominalCondition, SetCondition)) else member


def _union(alike: list[Any]) -> FeatureCondition:
    first: FeatureCondition = alike[0]
    if isinstance(first, NumericCondition):
        widest: FeatureCondition = (min if first.op == ">" else max)(alike, key=_threshold)
        return widest
    if len(alike) > 1:
        return one_of(first.feature, {category for c in alike for category in c.categories})
    return first


def drop_implied_limits(body: tuple[Condition, ...], features: Sequence[Feature]) -> tuple[Condition, ...]:
    """Return a body without limits that a limit on another feature of the same source implies; it covers the same.

    Examples
    --------
    >>> from polyrule.data.derive.dates import date_features
    >>> body = (NumericCondition(0, "<=", 14900.0), NumericCondition(1, "<=", 2010.0), NumericCondition(1, ">", 2008.0))
    >>> drop_implied_limits(body, date_features("on")) == (body[0], body[2])  # until 2010-10-18, not in 2008
    True
    """
    limits = [c for c in body if isinstance(c, NumericCondition)]
    if all(features[c.feature].derived is None for c in limits):
        return body
    last = {c: source for c in limits if (source := _last_source(c, features[c.feature])) is not None}
    implied = {one for one in last if any(_implies(other, one, last, features) for other in last)}
    return tuple(condition for condition in body if condition not in implied)


def _implies(
    one: NumericCondition, other: NumericCondition, last: dict[NumericCondition, float], features: Sequence[Feature]
) -> bool:
    """Return True if every source value that satisfies one limit satisfies the other, which is less readable."""
    if one.feature == other.feature or one.op != other.op:
        return False
    if features[one.feature].column != features[other.feature].column:
        return False
    if last[one] == last[other]:
        return features[other.feature].derived is None  # a year is read more easily than a day
    return last[one] < last[other] if one.op == "<=" else last[one] > last[other]


def _last_source(condition: NumericCondition, feature: Feature) -> float | None:
    derivation = derivation_of(feature)
    return None if derivation is None else derivation.last_source(condition.threshold)
