"""Rule lists, data and names to make reports of."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.data import Dataset, Feature, Table
from polyrule.data.derive.dates import date_features
from polyrule.data.derive.registry import derivation_of
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
from polyrule.model.decisions import Decision
from polyrule.model.rule import Entry, WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "javascript:alert(1)",
    "\u2028line\u2029",
    "-->]]><!--",
    "{{constructor.constructor('alert(1)')()}}",
    "@@script@@",
    "'; alert(1); '",
    "&lt;b&gt;",
    "a\x00b\ud800",
    "\u202eright to left",
)


# Days of four years.
FIRST, LAST = 14_610, 16_071


def random_features(rng: np.random.Generator, count: int, names: tuple[str, ...] = ()) -> tuple[Feature, ...]:
    """Features of all kinds; a date comes with its parts, of which the date itself may be left out."""
    features: list[Feature] = []
    for j in range(count):
        name = names[j % len(names)] + str(j) if names else f"feature_{j}"
        if j % 3 == 2:
            values = tuple(f"{names[(j + k) % len(names)]}{k}" if names else f"value {k}" for k in range(4))
            features.append(Feature(name, "nominal" if j % 2 == 0 else "ordinal", values))
        elif j % 5 == 4:
            features.extend(date_features(name)[int(rng.integers(0, 3)) // 2 :])
        else:
            features.append(Feature(name))
    return tuple(features)


def random_rules(
    rng: np.random.Generator,
    features: tuple[Feature, ...],
    width: int,
    count: int,
    stop: float = 0.2,
    largest: int = 4,
    least: int = 0,
) -> tuple[Rule, ...]:
    rules = []
    for _ in range(count):
        labels = sorted(rng.choice(width, size=int(rng.integers(1, min(largest, width) + 1)), replace=False).tolist())
        head = tuple(
            Literal(label, int(rng.integers(0, 2)), int(rng.integers(1, 40)), int(rng.integers(0, 9)))
            for label in labels
        )
        body: list[Any] = []
        for _ in range(int(rng.integers(least, 4))):
            if rng.random() < 0.25:
                body.append(LabelCondition(int(rng.integers(0, width)), int(rng.integers(0, 2))))
            else:
                body.append(random_test(rng, features))
        if rng.random() < 0.3:
            members = tuple(dict.fromkeys(random_test(rng, features) for _ in range(int(rng.integers(2, 6)))))
            if len(members) > 1:
                group = GroupCondition(
                    members, int(rng.integers(1, len(members))), str(rng.choice(["", "signs & <b>"]))
                )
                body.insert(int(rng.integers(len(body) + 1)), group)
        value = Fraction(int(rng.integers(1, 50)), 50)
        rules.append(Rule(head, tuple(body), bool(rng.random() < stop), value, coverage=int(rng.integers(1, 60))))
    return tuple(rules)


def random_test(rng: np.random.Generator, features: tuple[Feature, ...]) -> Any:
    j = int(rng.integers(0, len(features)))
    if rng.random() < 0.15:
        return MissingCondition(j, bool(rng.integers(0, 2)))
    if features[j].is_nominal and rng.random() < 0.5:
        return SetCondition(j, tuple(sorted(rng.choice(4, 2, replace=False).tolist())))
    if features[j].is_nominal:
        return NominalCondition(j, int(rng.integers(0, len(features[j].categories))))
    op = "<=" if rng.random() < 0.5 else ">"
    return NumericCondition(j, op, random_threshold(rng, features[j]))  # type: ignore[arg-type]


def random_threshold(rng: np.random.Generator, feature: Feature) -> float:
    if feature.kind == "date":
        return float(rng.integers(FIRST, LAST)) + 0.5
    if feature.derived is not None:
        return float(rng.integers(0, 11)) + 0.5 if feature.kind == "ordinal" else float(rng.integers(2010, 2013)) + 0.5
    return float(rng.integers(0, 3)) + 0.5 if feature.is_stepped else round(float(rng.normal()), 2)


def random_model(
    seed: int,
    rules: int = 25,
    features: int = 7,
    labels: int = 5,
    full: bool = False,
    names: tuple[str, ...] = (),
    **extra: Any,
) -> RuleList:
    rng = np.random.default_rng(seed)
    columns = random_features(rng, features, names)
    label_names = tuple(names[k % len(names)] + f"#{k}" if names else f"label {k}" for k in range(labels))
    return RuleList(
        random_rules(rng, columns, labels, rules, **extra),
        columns,
        label_names,
        defaults=tuple(int(rng.integers(0, 2)) for _ in range(labels)),
        full=full,
        info={"learner": "RuleListClassifier", "options": {"measure": "f0.5", "heads": "multi"}, "stopped": "complete"},
    )


def random_ensemble(seed: int, kind: str = "threshold", rules: int = 15, labels: int = 5) -> RuleEnsemble:
    base = random_model(seed, rules=rules, labels=labels, least=1)
    rng = np.random.default_rng(seed)
    weighted = tuple(
        WeightedRule(
            tuple(Entry(literal.label, round(float(rng.normal()), 4)) for literal in rule.head),
            tuple(condition for condition in rule.body if not isinstance(condition, LabelCondition)),
            coverage=rule.coverage,
        )
        for rule in base.rules
    )
    cuts = tuple(float(rng.normal()) for _ in range(labels)) if kind != "expected-f1" else ()
    every = [tuple(k for k in range(labels) if number >> k & 1) for number in rng.permutation(2**labels)[:20]]
    sets = tuple(every) if kind in ("subset", "expected-f1") else ()
    starts = tuple(float(rng.normal()) for _ in range(labels))
    bonuses = tuple(float(rng.normal()) for _ in sets) if seed % 2 else ()
    decision = Decision(kind, cuts, sets, bonuses)  # type: ignore[arg-type]
    return RuleEnsemble(weighted, base.features, base.label_names, starts, decision, 0.7)


def random_data(model: Any, rows: int, seed: int, sparse: bool = False, name: str = "made up") -> Dataset:
    rng = np.random.default_rng(seed)
    columns = []
    dates: dict[str, Any] = {}
    for feature in model.features:
        if (derivation := derivation_of(feature)) is not None:
            if feature.column not in dates:
                days = rng.integers(FIRST, LAST, rows).astype(float)
                days[rng.random(rows) < 0.08] = np.nan
                dates[feature.column] = days
            columns.append(derivation.values(dates[feature.column]))
            continue
        if feature.kind != "numeric":
            column = rng.integers(0, 4, rows).astype(float)
        else:
            column = rng.normal(size=rows).round(3)
            column[rng.random(rows) < 0.3] = 0.0
        column[rng.random(rows) < 0.08] = np.nan
        columns.append(column)
    values: Any = np.column_stack(columns)
    if sparse:
        values = sp.csc_array(values)
    truth = (rng.random((rows, len(model.label_names))) < 0.35).astype(np.uint8)
    return Dataset(Table.from_array(values, model.features), truth, model.label_names, name=name)
