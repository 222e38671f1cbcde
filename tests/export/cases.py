"""Random models with names chosen to break quoting, and rows with values chosen to sit on thresholds."""

from __future__ import annotations

from functools import cache

import numpy as np

from polyrule.conditions import FeatureCondition, flatten
from polyrule.data import Feature, Table
from polyrule.data.dates import day_of, format_date
from polyrule.data.derive.dates import date_features
from polyrule.data.derive.registry import derivation_of
from polyrule.model import (
    Condition,
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
from polyrule.model.predict import predict

# Each tries to leave its string, comment, line or identifier in at least one of the languages.
HOSTILE = (
    "plain", "two words", "a-b", "0", "x'; DROP TABLE data; --", '"); system("echo pwned', "*/ int main(){} /*", "*/",
    "\\", "\\'", '\\"', "'''", '"""', "`${process.exit(1)}`", "</script><script>alert(1)</script>", "line\nbreak",
    "tab\there", "carriage\rreturn", "\u2028paragraph\u2029", "??/", "??)", "%s%n", "#{}", "__proto__", "constructor",
    "hasOwnProperty", "toString", "Ünïcödé 名前 😀", "\u202ereversed", "-- comment", "/* comment", "# comment",
    "// comment\\", "\x1b[31m", "\x07", "__import__('os').system('x')", "{0}", "$(touch x)", "rowid", "t", "k0", "r1",
    "x0", "input", "stopped", "select", "CASE", "x" * 300, " lead", "trail ", "é", "e\u0301",
)  # fmt: skip

GROUP_NAMES = ("", *(name for name in HOSTILE if name.isprintable() and len(name) <= 100))

THRESHOLDS = (0.0, 0.5, 0.1 + 0.2, 1 / 3, 2.5, -7.25, 1e-7, 123456.789012345, 1e17, 5e-324, -1e300, 2**53 + 2.0)

DATES = ("1969-12-31", "2000-02-29", "2021-03-05", "2021-03-06", "1900-03-01", "2024-12-31")
DAYS = np.array([*(day_of(date) for date in DATES), np.nan], dtype=np.float64)


def random_model(seed: int) -> RuleList:
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.permutation(HOSTILE)]
    features = []
    for _ in range(int(rng.integers(2, 7))):
        categories = tuple(str(name) for name in rng.choice(HOSTILE, 3, replace=False))
        kind = str(rng.choice(["nominal", "ordinal", "numeric"], p=[0.3, 0.2, 0.5]))
        features.append(Feature(names.pop(), kind, () if kind == "numeric" else categories))  # type: ignore[arg-type]
    if rng.random() < 0.4:
        features += date_features(names.pop())
    width = int(rng.integers(1, 7))
    labels = tuple(names.pop() for _ in range(width))
    thresholds = rng.choice(THRESHOLDS, 4)
    rules = tuple(_random_rule(rng, features, width, thresholds) for _ in range(int(rng.integers(0, 20))))
    defaults = tuple(int(v) for v in rng.integers(0, 2, width))
    return RuleList(rules, tuple(features), labels, defaults, full=bool(rng.random() < 0.2))


def _random_rule(rng: np.random.Generator, features: list[Feature], width: int, thresholds: np.ndarray) -> Rule:
    chosen = sorted(int(k) for k in rng.choice(width, int(rng.integers(1, width // 2 + 2)), replace=False))
    body: list[Condition] = []
    for _ in range(int(rng.choice([0, 1, 2, 3], p=[0.02, 0.4, 0.4, 0.18]))):
        if rng.random() < 0.3:
            body.append(LabelCondition(int(rng.integers(width)), int(rng.integers(2))))
        else:
            body.append(_random_test(rng, features, thresholds))
    if rng.random() < 0.3:
        drawn = dict.fromkeys(_random_test(rng, features, thresholds) for _ in range(int(rng.integers(2, 6))))
        if len(drawn) > 1:
            name = str(rng.choice(GROUP_NAMES))
            body.insert(
                int(rng.integers(len(body) + 1)), GroupCondition((*drawn,), int(rng.integers(1, len(drawn))), name)
            )
    head = tuple(Literal(k, int(rng.integers(2))) for k in chosen)
    return Rule(head, tuple(body), stop=bool(rng.random() < 0.2))


def _random_test(rng: np.random.Generator, features: list[Feature], thresholds: np.ndarray) -> FeatureCondition:
    j = int(rng.integers(len(features)))
    if rng.random() < 0.2:
        return MissingCondition(j, bool(rng.integers(2)))
    if features[j].is_nominal:
        values = sorted(rng.choice(len(features[j].categories), int(rng.integers(1, 3)), replace=False).tolist())
        return SetCondition(j, tuple(values)) if len(values) > 1 else NominalCondition(j, values[0])
    threshold = {"ordinal": rng.integers(2) + 0.5, "date": rng.choice(DAYS[:-1]) + 0.5}.get(features[j].kind)
    chosen_threshold = float(rng.choice(thresholds) if threshold is None else threshold)
    return NumericCondition(j, "<=" if rng.random() < 0.5 else ">", chosen_threshold)


def random_rows(model: RuleList, count: int, seed: int) -> Table:
    """Values on the thresholds, one bit beside them, far away, and missing."""
    rng = np.random.default_rng(seed)
    tested = {c.threshold for rule in model for c in flatten(rule.body) if isinstance(c, NumericCondition)}
    points = np.array(sorted(tested) or [0.0])
    pool = np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf), [1e6, -1e6, np.nan]])
    days = rng.choice(DAYS, count)
    columns = [
        derivation.values(days)
        if (derivation := derivation_of(feature)) is not None
        else rng.choice([0.0, 1.0, 2.0, np.nan], count)
        if feature.has_categories
        else rng.choice(pool, count)
        for feature in model.features
    ]
    return Table.from_array(np.column_stack(columns), model.features)


def as_records(table: Table) -> list[dict[str, object]]:
    """Rows as people hand them over: numbers, category texts, None."""
    records = []
    for row in np.asarray(table):
        record: dict[str, object] = {}
        for feature, value in zip(table.features, row, strict=True):
            if feature.derived is not None:
                continue
            if np.isnan(value):
                record[feature.name] = None
            elif feature.kind == "date":
                record[feature.name] = format_date(value)
            else:
                record[feature.name] = feature.categories[int(value)] if feature.has_categories else float(value)
        records.append(record)
    return records


@cache
def cases(models: int = 40, rows: int = 120) -> tuple[tuple[RuleList, Table, np.ndarray], ...]:
    """Models, rows and the labels that prediction gives them; thousands of rows in all."""
    made = []
    for seed in range(models):
        model = random_model(seed)
        table = random_rows(model, rows, seed)
        made.append((model, table, predict(model, table).labels))
    return tuple(made)
