"""Small random tables and ensembles for the tests of this folder."""

from __future__ import annotations

import numpy as np

from polyrule.conditions import FeatureCondition
from polyrule.data import Feature, Table
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.model import GroupCondition, NominalCondition, NumericCondition

HOSTILE = ('"; DROP TABLE data; --', "*/ }", "${x}", "line\nbreak", "ünï, <- x")
THRESHOLDS = (-1.5, 0.1 + 0.2, 2.0, 1e-7)


def random_table(rng: np.random.Generator, rows: int, *, missing: float = 0.1) -> Table:
    """Two numeric columns (one of them mostly 0), a nominal one with three and one with two categories."""
    values = np.column_stack(
        [
            rng.integers(-3, 4, rows) / 2,
            np.where(rng.random(rows) < 0.8, 0.0, rng.integers(0, 5, rows)),
            rng.integers(0, 3, rows),
            rng.random(rows) < 0.1,
        ]
    ).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    features = (
        Feature("size"),
        Feature("words"),
        Feature("hue", "nominal", ("red", "green", "blue")),
        Feature("flag", "nominal", ("no", "yes")),
    )
    return Table.from_array(values, features)


def hostile_features() -> tuple[Feature, ...]:
    return (
        Feature(HOSTILE[0]),
        Feature(HOSTILE[1]),
        Feature(HOSTILE[2], "nominal", ("a'b", 'c"d', "e\\f")),
        Feature("flag", "nominal", ("no", "yes")),
    )


def random_ensemble(rng: np.random.Generator, kind: str, labels: int = 4, rules: int = 8) -> RuleEnsemble:
    """An ensemble over `hostile_features` with weights that do not add up exactly in binary."""
    features = hostile_features()
    made = []
    for _ in range(rules):
        head = np.sort(rng.choice(labels, size=rng.integers(1, labels + 1), replace=False))
        body = []
        for feature in np.sort(rng.choice(4, size=rng.integers(0, 4), replace=False)).tolist():
            body.append(_random_test(rng, features, feature))
        if rng.random() < 0.4:
            places = rng.integers(4, size=rng.integers(2, 6)).tolist()
            members = tuple(dict.fromkeys(_random_test(rng, features, feature) for feature in places))
            if len(members) > 1:
                body.insert(
                    int(rng.integers(len(body) + 1)), GroupCondition(members, int(rng.integers(1, len(members))))
                )
        entries = tuple(Entry(int(label), round(float(rng.normal()), 2) / 3) for label in head)
        made.append(WeightedRule(entries, tuple(body), float(rng.integers(100))))
    sets: tuple[tuple[int, ...], ...] = ()
    if kind in ("subset", "expected-f1"):
        sets = tuple(dict.fromkeys(tuple(np.flatnonzero(rng.random(labels) < 0.5).tolist()) for _ in range(6)))
    cuts = () if kind == "expected-f1" else tuple(rng.normal(size=labels).tolist())
    intercepts = tuple(rng.normal(size=labels).tolist())
    names = HOSTILE[:labels]
    bonuses = tuple(rng.normal(size=len(sets)).tolist()) if kind == "subset" and rng.random() < 0.7 else ()
    decision = Decision(kind, cuts, sets, bonuses)
    return RuleEnsemble(tuple(made), features, names, intercepts, decision, 1.0, {"made": "by hand"})


def _random_test(rng: np.random.Generator, features: tuple[Feature, ...], feature: int) -> FeatureCondition:
    if features[feature].is_nominal:
        return NominalCondition(feature, int(rng.integers(len(features[feature].categories))))
    return NumericCondition(feature, rng.choice(["<=", ">"]), float(rng.choice(THRESHOLDS)))


def hostile_table(rng: np.random.Generator, rows: int) -> Table:
    values = np.column_stack(
        [
            rng.choice([-2.0, -1.5, 0.3, 0.1 + 0.2, 2.5, np.nan], rows),
            rng.choice([0.0, 1e-7, 2e-7, 2.0, np.nan], rows),
            rng.choice([0.0, 1.0, 2.0, np.nan], rows),
            rng.choice([0.0, 1.0, np.nan], rows),
        ]
    )
    return Table.from_array(values, hostile_features())
