"""Thresholds with the training values on either side of them, between which they may be rounded."""

from __future__ import annotations

import math
from dataclasses import replace
from operator import is_
from typing import Protocol, TypeVar

import numpy as np

from polyrule.conditions.body import map_thresholds, thresholds
from polyrule.conditions.types import NumericCondition
from polyrule.data.table import Feature
from polyrule.utils.arrays import Floats

Model = TypeVar("Model")


class Data(Protocol):
    """Data that finds the values beside a threshold: a table, or packed data."""

    @property
    def features(self) -> tuple[Feature, ...]:
        """Name and kind of every column."""

    def neighbours(self, index: int, thresholds: Floats) -> list[tuple[float, float] | None]:
        """Return the values on either side of ascending thresholds; see `Table.neighbours`."""


def with_threshold_intervals(model: Model, data: Data, *, also: bool = False) -> Model:
    """Return a model of any type whose thresholds store the training values beside them.

    A feature that is tested and has no other values than 0 and 1 there is marked as a flag.

    With `also`, these are further examples: however a threshold is rounded, it divides them, too, as before.

    Examples
    --------
    >>> from polyrule.data import Table
    >>> from polyrule.model import Literal, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", 2.51234),))
    >>> table = Table.from_array([[1.0], [2.6]])
    >>> model = with_threshold_intervals(RuleList((rule,), (Feature("x0"),), ("large",)), table)
    >>> print(model.format(digits=2, counts=False).splitlines()[0])
    1. large <- x0 > 2.5
    >>> more = with_threshold_intervals(model, Table.from_array([[2.505]]), also=True)
    >>> print(more.format(digits=2, counts=False).splitlines()[0])
    1. large <- x0 > 2.51
    """
    features, rules = model.features, model.rules  # type: ignore[attr-defined]
    places = {} if data.features == features else {f.name: j for j, f in enumerate(data.features)}
    by_feature: dict[int, set[float]] = {}
    for condition in (c for rule in rules for c in thresholds(rule.body)):
        by_feature.setdefault(condition.feature, {-math.ulp(0.0), 1.0}).add(condition.threshold)
    beside: dict[int, dict[float, tuple[float, float] | None]] = {}
    for index, values in by_feature.items():
        place, ascending = places[features[index].name] if places else index, np.array(sorted(values))
        beside[index] = dict(zip(ascending.tolist(), data.neighbours(place, ascending), strict=True))

    def interval(condition: NumericCondition) -> tuple[float, float] | None:
        in_data, before = beside[condition.feature][condition.threshold], condition.between
        if not also or in_data is None:
            return in_data
        return None if before is None else (max(before[0], in_data[0]), min(before[1], in_data[1]))

    def changed(condition: NumericCondition) -> NumericCondition:
        if features[condition.feature].is_stepped:
            return condition
        return NumericCondition(condition.feature, condition.op, condition.threshold, interval(condition))

    def is_flag(index: int) -> bool:
        low, high = beside[index][-math.ulp(0.0)], beside[index][1.0]
        return low is not None and high is not None and (low[0], high[1]) == (-math.inf, math.inf)

    bodies = [map_thresholds(rule.body, changed) for rule in rules]
    tested = {condition.feature for body in bodies for condition in thresholds(body) if condition.divides_0_from_1}
    flags = {index for index in tested if (features[index].flag or not also) and is_flag(index)}
    marked = tuple(replace(f, flag=j in flags) if f.flag or j in flags else f for j, f in enumerate(features))
    same = (all(map(is_, body, rule.body)) for rule, body in zip(rules, bodies, strict=True))
    changed_rules = (r if equal else replace(r, body=body) for r, body, equal in zip(rules, bodies, same, strict=True))
    return replace(model, features=marked, rules=tuple(changed_rules))  # type: ignore[type-var]
