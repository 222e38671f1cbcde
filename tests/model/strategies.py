"""Random rule lists and tables for the property tests, and the obvious interpreter they are held against."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from polyrule.data import Feature, Table
from polyrule.model import (
    GroupCondition,
    LabelCondition,
    Literal,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    Rule,
    RuleList,
    SetCondition,
)

THRESHOLDS = (-1.5, 0.0, 0.1 + 0.2, 1.0, 2.5)
VALUES = (-2.0, -1.5, 0.0, 0.1 + 0.2, 0.3, 1.0, 2.0, 2.5, 3.0, float("nan"))


@st.composite
def rule_lists(draw: st.DrawFn, *, max_rules: int = 8, max_features: int = 4, max_labels: int = 4) -> RuleList:
    features = tuple(
        draw(st.sampled_from([Feature(f"x{j}", "nominal", ("a", "b", "c")), Feature(f"x{j}"), *_others(f"x{j}")]))
        for j in range(draw(st.integers(1, max_features)))
    )
    width = draw(st.integers(1, max_labels))
    rules = tuple(draw(one_rule(features, width)) for _ in range(draw(st.integers(0, max_rules))))
    counts = st.integers(0, 9)
    return RuleList(
        rules,
        features,
        tuple(f"label{k}" for k in range(width)),
        defaults=tuple(draw(st.integers(0, 1)) for _ in range(width)),
        default_counts=tuple((draw(counts), draw(counts)) for _ in range(width)),
        full=draw(st.booleans()),
    )


def _others(name: str) -> list[Feature]:
    return [Feature(name, "ordinal", ("low", "mid", "high")), Feature(name, "date")]


@st.composite
def one_rule(draw: st.DrawFn, features: tuple[Feature, ...], width: int) -> Rule:
    labels = sorted(draw(st.sets(st.integers(0, width - 1), min_size=1)))
    counts = st.integers(0, 9)
    head = tuple(Literal(k, draw(st.integers(0, 1)), draw(counts), draw(counts)) for k in labels)
    body: list[Any] = []
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.integers(0, 2)) == 0:
            body.append(LabelCondition(draw(st.integers(0, width - 1)), draw(st.integers(0, 1))))
        else:
            body.append(draw(feature_conditions(features)))
    if draw(st.integers(0, 2)) == 0:
        members = draw(st.lists(feature_conditions(features), max_size=5, unique=True))
        if len(members) > 1:
            group = GroupCondition(tuple(members), draw(st.integers(1, len(members) - 1)), draw(NAMES))
            body.insert(draw(st.integers(0, len(body))), group)
    return Rule(head, tuple(body), stop=draw(st.booleans()))


NAMES = st.sampled_from(["", "", "signs", 'odd "name", (x'])


@st.composite
def feature_conditions(draw: st.DrawFn, features: tuple[Feature, ...]) -> Any:
    j = draw(st.integers(0, len(features) - 1))
    if draw(st.integers(0, 4)) == 0:
        return MissingCondition(j, draw(st.booleans()))
    if features[j].is_nominal and draw(st.booleans()):
        return SetCondition(j, tuple(sorted(draw(st.sets(st.integers(0, 2), min_size=2)))))
    if features[j].is_nominal:
        return NominalCondition(j, draw(st.integers(0, 2)))
    thresholds = (0.5, 1.5) if features[j].is_stepped else THRESHOLDS
    between = draw(st.sampled_from([None, (0.0, 1.0)])) if thresholds is THRESHOLDS else None
    threshold = 0.5 if between else draw(st.sampled_from(thresholds))
    return NumericCondition(j, draw(st.sampled_from(["<=", ">"])), threshold, between)


def random_table(features: tuple[Feature, ...], rows: int, seed: int, *, sparse: bool = False) -> Table:
    rng = np.random.default_rng(seed)
    columns = [
        rng.choice(VALUES if feature.kind == "numeric" else [0.0, 1.0, 2.0, np.nan], rows) for feature in features
    ]
    values = np.column_stack(columns) if rows else np.empty((0, len(features)))
    return Table.from_array(sp.csc_array(values) if sparse else values, features)


def slow_predict(model: RuleList, row: np.ndarray) -> tuple[list[int], list[int]]:
    """One example, one rule at a time, straight from the definition."""
    state: dict[int, int] = {}
    setter: dict[int, int] = {}
    for number, rule in enumerate(model.rules):
        if not all(_holds(condition, row, state) for condition in rule.body):
            continue
        wanted = {literal.label: literal.value for literal in rule.head}
        if model.full:
            wanted = {label: wanted.get(label, 0) for label in range(len(model.label_names))}
        new = {label: value for label, value in wanted.items() if label not in state}
        state |= new
        setter |= dict.fromkeys(new, number)
        if rule.stop and new:
            break
    width = range(len(model.label_names))
    return [state.get(k, model.defaults[k]) for k in width], [setter.get(k, -1) for k in width]


def _holds(condition: Any, row: np.ndarray, state: dict[int, int]) -> bool:
    if isinstance(condition, LabelCondition):
        return condition.label in state and state[condition.label] == condition.value
    if isinstance(condition, GroupCondition):
        return sum(_holds(member, row, state) for member in condition.members) >= condition.least
    value = row[condition.feature]
    if isinstance(condition, MissingCondition):
        return bool(np.isnan(value)) == condition.missing
    if np.isnan(value):
        return False
    if isinstance(condition, SetCondition):
        return value in condition.values
    if isinstance(condition, NominalCondition):
        return bool(value == condition.value)
    return bool(value <= condition.threshold) if condition.op == "<=" else bool(value > condition.threshold)
