"""What bodies may test: features that are forbidden, belong to some labels only, or count in one direction only.

`grow_restricted` grows a list behind kept rules with such limits. Features that are forbidden are emptied. A feature
that counts in one direction becomes columns with a single category each, "above this threshold" or "at most", which no
engine can turn round. Labels with features of their own are grown one group after the other; their rules cannot end the
list for other labels, so such lists have no stops.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from polyrule.conditions import (
    Condition,
    NumericCondition,
    feature_conditions,
    map_conditions,
    thresholds,
    ungrouped_conditions,
)
from polyrule.covering.learner import CoveringLoop, Learner, Reason, Training
from polyrule.covering.progress import Callback
from polyrule.data.labels import dense_labels
from polyrule.data.table import Feature, Table
from polyrule.errors import OptionError
from polyrule.model.predict import predict
from polyrule.model.rule import Rule
from polyrule.model.rule_list import RuleList
from polyrule.search.candidates import midpoint
from polyrule.search.protocol import Candidate, Engine
from polyrule.utils.arrays import Bools, Floats
from polyrule.utils.messages import did_you_mean, parameter_name, shown

_DIRECTIONS = {"up": ">", 1: ">", "down": "<=", -1: "<="}


@dataclass(frozen=True, eq=False)
class Constraints:
    """Features that may be tested for each label, and their directions.

    Parameters
    ----------
    allowed : ndarray of bool, shape (features, labels)
    directions : dict
        Position of a feature -> the only comparison that bodies may use.
    """

    allowed: Bools
    directions: dict[int, str]

    @classmethod
    def read(
        cls,
        table: Any,
        labels: Sequence[str],
        features: Mapping[str, Sequence[str]] | None,
        forbid: Sequence[str] | None,
        monotone: Mapping[str, Any] | None,
    ) -> Constraints:
        """Return constraints that are stated by names."""
        for option, examples in (("features", features), ("monotone", monotone)):
            if examples and not isinstance(examples, Mapping):
                raise OptionError(parameter=option, value=examples, allowed="a dict with names as keys")
        names = table.feature_names
        allowed = np.ones((len(names), len(labels)), dtype=bool)
        for label, group_labels in (features or {}).items():
            column = _position(labels, label, "features", "label")
            allowed[:, column] = False
            usable = [_position(names, name, "features", "feature") for name in listed_names(group_labels, "features")]
            allowed[usable, column] = True
        allowed[[_position(names, name, "forbid", "feature") for name in listed_names(forbid or (), "forbid")]] = False
        directions = {}
        for name, direction in (monotone or {}).items():
            feature = _position(names, name, "monotone", "feature")
            if not isinstance(direction, Hashable) or direction not in _DIRECTIONS:
                raise OptionError(f"{name!r} must go 'up' or 'down', got {direction!r}", parameter="monotone")
            if table.features[feature].is_nominal:
                raise OptionError(f"{name!r} is nominal, so it goes neither up nor down", parameter="monotone")
            directions[feature] = _DIRECTIONS[direction]
        return cls(allowed, directions)

    @property
    def none(self) -> bool:
        """True if everything is allowed."""
        return bool(self.allowed.all()) and not self.directions

    def groups(self) -> list[tuple[Bools, list[int]]]:
        """Return labels that may use the same features, and these features."""
        groups: dict[bytes, tuple[Bools, list[int]]] = {}
        for label in range(self.allowed.shape[1]):
            column = self.allowed[:, label]
            groups.setdefault(column.tobytes(), (column, []))[1].append(label)
        return list(groups.values())

    def allowed_part(self, body: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Return a body without the conditions that point in the wrong direction."""
        wrong = [limit for limit in thresholds(ungrouped_conditions(body)) if not self._points_well(limit)]
        return tuple(condition for condition in body if condition not in wrong)

    def _points_well(self, condition: NumericCondition) -> bool:
        return self.directions.get(condition.feature, condition.op) == condition.op

    def heads(self, bodies: Sequence[tuple[Condition, ...]]) -> Bools:
        """Return the labels that may be in the head for each body, shape (bodies, labels)."""
        fits = np.ones((len(bodies), self.allowed.shape[1]), dtype=bool)
        for number, body in enumerate(bodies):
            for condition in feature_conditions(body):
                fits[number] &= self.allowed[condition.feature]
        return fits


def listed_names(names: Any, what: str) -> list[str]:
    """Return names as a list, unless they are one text."""
    if isinstance(names, str):
        raise OptionError(f"{parameter_name(what)} must hold lists of names, not one text: {names!r}")
    if not isinstance(names, Iterable):
        raise OptionError(f"{parameter_name(what)} must hold lists of names, got {shown(names)}")
    return list(names)


def _position(names: Sequence[str], name: str, option: str, what: str) -> int:
    if name not in names:
        raise OptionError(f"there is no {what} {name!r}{did_you_mean(str(name), names)}", parameter=option)
    return list(names).index(name)


MOST_STEPS = 1000  # thresholds of a feature that counts in one direction


def grow_restricted(
    learner: Learner,
    examples: Training,
    heads: str,
    limits: Constraints,
    start: RuleList | None = None,
    callback: Callback | None = None,
) -> tuple[RuleList, Reason]:
    """Learn one list as `Learner.rule_list` does, within limits and behind the rules of `start`."""
    groups = limits.groups()
    full = learner.objective.scope == "full"
    if len(groups) > 1:
        if full:
            problem = "features of single labels cannot be kept apart if a rule sets all labels"
            raise OptionError(f"{problem} ({parameter_name('scope')})")
        learner = replace(learner, separating=replace(learner.separating, stop_threshold=None))
    if start is not None and start.full != full:
        problem = f"either its rules or the new ones set all labels ({parameter_name('scope')}), but not both"
        raise OptionError(problem, parameter="start")
    assert isinstance(examples.table, Table)
    table, truth, names = examples.table, dense_labels(examples.truth), examples.label_names
    learning = CoveringLoop(learner.separating, examples.scale, callback, len(names))
    unset_weights: dict[int, tuple[float, float]] = {}
    for features, labels in groups:
        steps = Steps(table.emptied(features), limits)
        group_labels = np.ascontiguousarray(truth[:, labels])
        part = replace(
            examples, table=steps.table, truth=group_labels, label_names=tuple(names[label] for label in labels)
        )
        begin = None if start is None else partial(_commit, start=start, table=table, labels=labels)
        n_before = len(learning.rules)
        unset_of_group = learner.grow(learning, part, heads, begin)
        learning.rules[n_before:] = [_moved(rule, labels, steps.body) for rule in learning.rules[n_before:]]
        unset_weights |= dict(zip(labels, unset_of_group, strict=True))
    start_rules = () if start is None else start.rules
    model = learner.model_of(learning, examples, [unset_weights[label] for label in range(len(names))], start_rules)
    if start_rules or len(groups) > 1:
        model.info["grown"] = {"kept": len(start_rules), "groups": len(groups)}
    return model, learning.reason


class Steps:
    """A table whose features that count in one direction are columns of single categories.

    Examples
    --------
    >>> from polyrule.conditions import NominalCondition
    >>> table = Table.from_array([[1.0], [2.0], [4.0]])
    >>> steps = Steps(table, Constraints.read(table, ["y"], None, None, {"x0": "up"}))
    >>> steps.table.values[:, 1:].T
    array([[nan,  0.,  0.],
           [nan, nan,  0.]])
    >>> steps.body((NominalCondition(2, 0),))
    (NumericCondition(feature=0, op='>', threshold=3.0),)
    """

    def __init__(self, table: Table, limits: Constraints) -> None:
        self._n_features = len(table.features)
        self._conditions: list[NumericCondition] = []
        columns: list[Floats] = []
        for feature, op in sorted(limits.directions.items()):
            column = table.column(feature)
            for threshold in _thresholds(column):
                inside = column > threshold if op == ">" else column <= threshold
                columns.append(np.where(inside, 0.0, np.nan))
                self._conditions.append(NumericCondition(feature, ">" if op == ">" else "<=", threshold))
        free = np.ones(self._n_features, dtype=bool)
        free[list(limits.directions)] = False
        self.table = table.emptied(free) if self._conditions else table
        if not self._conditions:
            return
        extra = tuple(Feature(f"step {number}", "nominal", ("yes",)) for number in range(len(columns)))
        self.table = self.table.with_columns(columns, extra)

    def body(self, body: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Return a body over the features themselves."""
        return map_conditions(
            body,
            lambda one: one if one.feature < self._n_features else self._conditions[one.feature - self._n_features],
        )


def _thresholds(column: Floats) -> list[float]:
    """Midpoints between neighbouring values; evenly chosen ones where there are too many."""
    values = np.unique(column[~np.isnan(column)])
    places = np.arange(len(values) - 1)
    if len(places) > MOST_STEPS:
        places = places[np.linspace(0, len(places) - 1, MOST_STEPS).astype(np.int64)]
    return [midpoint(float(values[place]), float(values[place + 1])) for place in places]


def _commit(engine: Engine, start: RuleList, table: Table, labels: list[int]) -> None:
    """Commit the rules of `start` to an engine."""
    setter = predict(start, table).setter
    place = {label: number for number, label in enumerate(labels)}
    for number, rule in enumerate(start.rules):
        rows = np.flatnonzero((setter == number).any(axis=1))
        head = tuple((place[x.label], x.value, 0, 0) for x in rule.head if x.label in place)
        if len(rows) and (head or rule.stop):
            # A share of 1 always stops, a negative one never does; without a label of this group only the stop counts.
            engine.commit(Candidate((), head, Fraction(0), rows), 1.0 if rule.stop else -1.0, True)


def _moved(rule: Rule, labels: list[int], body: Callable[[tuple[Condition, ...]], tuple[Condition, ...]]) -> Rule:
    """Return a rule of a group with the numbers that labels and features have in the whole."""
    head = tuple(replace(literal, label=labels[literal.label]) for literal in rule.head)
    conditions = tuple(condition.with_labels(labels) for condition in body(rule.body))
    return replace(rule, head=head, body=conditions)
