"""Growing a list behind kept rules, with limits on what bodies may test.

Features that are forbidden are emptied. A feature that counts in one direction becomes columns with a single category
each, "above this threshold" or "at most", which no engine can turn round. Labels with features of their own are grown
one group after the other; their rules cannot end the list for other labels, so such lists have no stops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from polyrule.arrays import Bytes, Floats, Ints
from polyrule.data.table import Feature, Table
from polyrule.errors import OptionError
from polyrule.heads.soundness import check_search
from polyrule.kernels.engine import Candidate, Engine
from polyrule.learning.constraints import Constraints
from polyrule.learning.learners import Learner
from polyrule.learning.progress import Callback
from polyrule.learning.separate import Learning, Reason, unscaled
from polyrule.model.predict import predict
from polyrule.model.rule import Condition, LabelCondition, NominalCondition, NumericCondition, Rule
from polyrule.model.rule_list import RuleList

MOST_STEPS = 1000  # thresholds of a feature that counts in one direction


def grow_restricted(
    learner: Learner,
    table: Table,
    truth: Bytes,
    weights: Ints,
    names: tuple[str, ...],
    heads: str,
    limits: Constraints,
    start: RuleList | None = None,
    scale: Fraction = Fraction(1),
    callback: Callback | None = None,
) -> tuple[RuleList, Reason]:
    """Learn one list as `Learner.rule_list` does, within limits and behind the rules of `start`."""
    groups = limits.groups()
    full = learner.objective.scope == "full"
    if len(groups) > 1:
        if full:
            raise OptionError("features of single labels cannot be kept apart where a rule sets all labels (scope)")
        learner = replace(learner, separating=replace(learner.separating, stop_threshold=None))
    if start is not None and start.full != full:
        raise OptionError("start: its rules set all labels and the new ones would not, or the other way round (scope)")
    learning = Learning(learner.separating, scale, callback, len(names))
    left: dict[int, Any] = {}
    for features, labels in groups:
        if len(labels) > 1:
            check_search(learner.objective)
        steps = Steps(table.emptied(features), limits)
        engine = learner.engine(steps.table, np.ascontiguousarray(truth[:, labels]), weights, scale)
        if start is not None:
            _commit(engine, start, table, labels)
        before = len(learning.rules)
        if learning.reason == "complete":
            learning.run(engine, engine.grow if heads == "multi" else engine.grow_single, int(weights.sum()))
        learning.rules[before:] = [_moved(rule, labels, steps.body) for rule in learning.rules[before:]]
        left |= dict(zip(labels, engine.leftover(), strict=True))
    counts = tuple((unscaled(int(left[k][0]), scale), unscaled(int(left[k][1]), scale)) for k in range(len(names)))
    kept = () if start is None else start.rules
    model = RuleList((*kept, *learning.rules), table.features, names, default_counts=counts, full=full)
    if kept or len(groups) > 1:
        model.info["grown"] = {"kept": len(kept), "groups": len(groups)}
    return model, learning.reason


class Steps:
    """A table whose features that count in one direction are columns of single categories.

    Examples
    --------
    >>> table = Table.from_array([[1.0], [2.0], [4.0]])
    >>> steps = Steps(table, Constraints.read(table, ["y"], None, None, {"x0": "up"}))
    >>> steps.table.values[:, 1:].T
    array([[nan,  0.,  0.],
           [nan, nan,  0.]])
    >>> steps.body((NominalCondition(2, 0),))
    (NumericCondition(feature=0, op='>', threshold=3.0),)
    """

    def __init__(self, table: Table, limits: Constraints) -> None:
        self._own = len(table.features)
        self._made: list[NumericCondition] = []
        columns: list[Floats] = []
        for feature, op in sorted(limits.directions.items()):
            column = table.column(feature)
            for threshold in _thresholds(column):
                inside = column > threshold if op == ">" else column <= threshold
                columns.append(np.where(inside, 0.0, np.nan))
                self._made.append(NumericCondition(feature, ">" if op == ">" else "<=", threshold))
        kept = np.ones(self._own, dtype=bool)
        kept[list(limits.directions)] = False
        self.table = table.emptied(kept) if self._made else table
        if not self._made:
            return
        extra = tuple(Feature(f"step {number}", "nominal", ("yes",)) for number in range(len(columns)))
        self.table = self.table.with_columns(columns, extra)

    def body(self, body: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Return a body over the features themselves."""
        return tuple(
            self._made[condition.feature - self._own]
            if isinstance(condition, NominalCondition) and condition.feature >= self._own
            else condition
            for condition in body
        )


def _thresholds(column: Floats) -> list[float]:
    """Midpoints between neighbouring values; evenly chosen ones where there are too many."""
    values = np.unique(column[~np.isnan(column)])
    middles = values[:-1] / 2 + values[1:] / 2
    if len(middles) > MOST_STEPS:
        middles = middles[np.linspace(0, len(middles) - 1, MOST_STEPS).astype(np.int64)]
    return [float(middle) for middle in middles]


def _commit(engine: Engine, start: RuleList, table: Table, labels: list[int]) -> None:
    """Bring an engine into the state in which kept rules leave the examples."""
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
    conditions = tuple(
        replace(c, label=labels[c.label]) if isinstance(c, LabelCondition) else c for c in body(rule.body)
    )
    return replace(rule, head=head, body=conditions)
