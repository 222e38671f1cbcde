"""Bodies: the conditions that must all hold, taken apart by what they test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from polyrule.conditions.base import Condition, FeatureCondition
from polyrule.conditions.types import GroupCondition, LabelCondition, NominalCondition, NumericCondition
from polyrule.data.table import Feature
from polyrule.errors import ModelError

Body = tuple[Condition, ...]


def flatten(body: Iterable[Condition]) -> Iterator[FeatureCondition | LabelCondition]:
    """Yield the conditions of `body`, the members of a group instead of the group.

    >>> from polyrule.model import MissingCondition
    >>> x0, x1, x2 = (MissingCondition(feature, True) for feature in range(3))
    >>> [condition.feature for condition in flatten((x0, GroupCondition((x1, x2))))]
    [0, 1, 2]
    """
    for condition in body:
        yield from condition.members


def n_conditions(body: Iterable[Condition]) -> int:
    """Return the number of conditions of `body` that a reader reads; each member of a group is one."""
    return sum(len(condition.members) for condition in body)


def groups_of(body: Iterable[Condition]) -> list[GroupCondition]:
    """Return all groups of `body`; a rule has at most one."""
    return [condition for condition in body if isinstance(condition, GroupCondition)]


def group_of(body: Iterable[Condition]) -> GroupCondition | None:
    """Return the group of `body`, the only one it can have.

    >>> from polyrule.model import MissingCondition
    >>> print(group_of([MissingCondition(0, True)]))
    None
    """
    groups = groups_of(body)
    if len(groups) > 1:
        raise ModelError("a rule has at most one group of alternatives")
    return groups[0] if groups else None


def feature_conditions(body: Iterable[Condition]) -> Iterator[FeatureCondition]:
    """Yield the conditions of `body` on features, the members of a group among them."""
    for condition in body:
        if isinstance(condition, FeatureCondition):
            yield condition
        elif isinstance(condition, GroupCondition):
            yield from condition.members


def ungrouped_conditions(body: Iterable[Condition]) -> Iterator[FeatureCondition]:
    """Yield the conditions of `body` on features that must all hold: not those in a group."""
    return (condition for condition in body if isinstance(condition, FeatureCondition))


def label_conditions(body: Iterable[Condition]) -> Iterator[LabelCondition]:
    """Yield the conditions of `body` on labels that earlier rules set."""
    return (condition for condition in body if isinstance(condition, LabelCondition))


def without_labels(body: Iterable[Condition]) -> Body:
    """Return the conditions of `body` that an example's values decide, whatever labels are set."""
    return tuple(condition for condition in body if not isinstance(condition, LabelCondition))


def thresholds(body: Iterable[Condition]) -> Iterator[NumericCondition]:
    """Yield the conditions of `body` with a threshold, the members of a group among them."""
    return (condition for condition in feature_conditions(body) if isinstance(condition, NumericCondition))


def fixed_features(body: Iterable[Condition]) -> set[int]:
    """Return the features whose category `body` fixes, so that no other condition on them has an effect."""
    return {condition.feature for condition in body if isinstance(condition, NominalCondition)}


def map_conditions(body: Iterable[Condition], change: Callable[[Any], Any]) -> Body:
    """Return `body` with `change` applied to each condition on a feature, the members of a group among them.

    >>> from polyrule.model import MissingCondition
    >>> group = GroupCondition((MissingCondition(0, True), MissingCondition(1, True)))
    >>> [n_conditions(map_conditions(body, lambda one: one)) for body in ((group,), (LabelCondition(0, 1), group))]
    [2, 3]
    """
    return tuple(condition.map(change) for condition in body)


def map_thresholds(body: Iterable[Condition], change: Callable[[NumericCondition], FeatureCondition]) -> Body:
    """Return `body` with `change` applied to each condition that compares a feature with a threshold."""
    return map_conditions(body, lambda one: change(one) if isinstance(one, NumericCondition) else one)


def canonical_key(body: Iterable[Condition]) -> frozenset[Any]:
    """Return a key of `body`, equal for bodies that differ in the order of conditions, or of members, only."""
    return frozenset(condition.key for condition in body)


def is_valid(body: Iterable[Condition], features: Sequence[Feature], n_labels: int = 0) -> bool:
    """Return True if a model with these `features` and `n_labels` labels can test all conditions of `body`."""
    return all(condition.is_valid(features, n_labels) for condition in body)
