"""Changes of the group of alternatives in a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

from polyrule.conditions.base import Condition, FeatureCondition
from polyrule.conditions.body import Body, group_of
from polyrule.conditions.simplify import simplify_body, simplify_group
from polyrule.conditions.types import GroupCondition, LabelCondition
from polyrule.errors import ModelError

#: rules that the group of one may be split into
MAX_PARTS = 100


def joined_bodies(bodies: Sequence[Body]) -> Body:
    """Return the body that holds if any of some bodies does, which differ in one condition.

    Examples
    --------
    >>> from polyrule.model import NominalCondition
    >>> old, tired, young = (NominalCondition(feature, value) for feature, value in ((0, 1), (1, 1), (2, 0)))
    >>> joined_bodies([(old, tired), (young, old)]) == (old, GroupCondition((tired, young)))
    True
    """
    shared = [condition for condition in bodies[0] if all(condition in body for body in bodies)]
    members: dict[FeatureCondition, None] = {}
    names = {group.name for body in bodies if (group := group_of(body)) and group.name}
    for body in bodies:
        other = [condition for condition in body if condition not in shared]
        if len(other) != 1:
            what = f"one has {len(other)} that another lacks" if other else "one is contained in another"
            raise ModelError(f"only rules that are equal but for one condition each can be joined; {what}")
        members |= dict.fromkeys(_alternatives(other[0]))
    if group_of(shared):
        raise ModelError("rules that share a group of alternatives cannot be joined: a rule has at most one")
    name = names.pop() if len(names) == 1 else ""
    place = next(place for place, condition in enumerate(bodies[0]) if condition not in shared)
    union = simplify_group(GroupCondition(tuple(members), name=name)) if len(members) > 1 else next(iter(members))
    return simplify_body((*shared[:place], union, *shared[place:]))


def _alternatives(condition: Condition) -> tuple[FeatureCondition, ...]:
    if isinstance(condition, LabelCondition):
        raise ModelError("rules that differ in a condition on a label cannot be joined: groups hold features only")
    if isinstance(condition, GroupCondition) and condition.least > 1:
        raise ModelError(f"a group of which at least {condition.least} must hold cannot be joined to other rules")
    return condition.alternatives


def with_name(body: Body, name: str) -> Body:
    """Return the body with its group called `name`; an empty name takes it away."""
    group = required_group(body)
    return _put(body, group, replace(group, name=name))


def with_member(body: Body, member: FeatureCondition, beside: FeatureCondition | None = None) -> Body:
    """Return the body with one more alternative.

    In a body without a group, `beside` is the condition that becomes one of two alternatives; None if there is one.
    """
    group = group_of(body)
    if group is not None:
        return _put(body, group, replace(group, members=(*group.members, member)))
    plain = [c for c in body if isinstance(c, FeatureCondition) and beside in (None, c)]
    if len(plain) != 1:
        raise ModelError("the rule has no group: say which of its conditions the new one stands beside")
    return _put(body, plain[0], GroupCondition((plain[0], member)))


def without_member(body: Body, member: FeatureCondition) -> Body:
    """Return the body without one alternative; members that must all hold then are plain conditions."""
    group = required_group(body)
    members = tuple(other for other in group.members if other.as_printed() != member.as_printed())
    if len(members) == len(group.members):
        raise ModelError("the group has no such member")
    return _put(body, group, *([replace(group, members=members)] if len(members) > group.least else members))


def split_bodies(body: Body) -> list[Body]:
    """Return bodies without a group, of which one holds if the body does.

    >>> from polyrule.model import NominalCondition
    >>> jam, queue, night = (NominalCondition(feature, 1) for feature in range(3))
    >>> split_bodies((GroupCondition((jam, queue)), night)) == [(jam, night), (queue, night)]
    True
    """
    group = required_group(body)
    count = comb(len(group.members), group.least)
    if count > MAX_PARTS:
        raise ModelError(f"the group would make {count:,} rules; groups are split into at most {MAX_PARTS}")
    return [simplify_body(_put(body, group, *part)) for part in combinations(group.members, group.least)]


def required_group(body: Body) -> GroupCondition:
    """Return the group of a body that must have one."""
    group = group_of(body)
    if group is None:
        raise ModelError("the rule has no group of alternatives")
    return group


def _put(body: Body, old: Condition, *new: Condition) -> Body:
    place = body.index(old)
    return (*body[:place], *new, *body[place + 1 :])
