"""Every condition type on every target: random rows, missing values and unseen categories, against one definition."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from math import isnan
from pathlib import Path
from typing import Any, assert_never

import numpy as np
import pytest

import polyrule
from polyrule.conditions import (
    CONDITION_TYPES,
    Condition,
    FeatureCondition,
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
)
from polyrule.conditions.evaluate import Evaluator, evaluate, evaluate_column, evaluate_row
from polyrule.conditions.packed import PackedBodies, covers, covers_numpy
from polyrule.conditions.page import read_condition, write_condition
from polyrule.conditions.predicate import AtLeast, Column, Compare, Missing, OneOf, lower
from polyrule.conditions.records import read_condition as read_record
from polyrule.conditions.text import ConditionFormatter
from polyrule.conditions.vocabulary import Vocabulary
from polyrule.data import Feature, Table
from polyrule.data.dates import day_of, format_date
from polyrule.data.derive.dates import date_features
from polyrule.data.derive.registry import derivation_of
from polyrule.export import export, export_onnx, onnx_inputs
from polyrule.model import Literal, Rule, RuleList, parse_rule
from polyrule.model.files import ModelNode
from polyrule.model.predict import predict_flat
from polyrule.model.region_grid import RegionGrid

FEATURES = (
    Feature("size"),
    Feature("hue", "nominal", ("red", 'it\'s "green"', "<blue>")),
    Feature("plan", "ordinal", ("basic", "plus", "pro", "max")),
    Feature("jam", "nominal", ("0", "1")),
    *date_features("on"),
)
THRESHOLDS = (-1.5, 0.0, 0.1 + 0.2, 2.5, 1e17)
DAYS = [day_of(text) or 0.0 for text in ("1999-12-31", "2000-02-29", "2021-03-05", "2021-03-06")]
N_PER_TYPE = 12


def feature_condition(rng: np.random.Generator, kind: type[Condition]) -> FeatureCondition:
    """Return a random condition of a type that tests one feature."""
    compared = [j for j, feature in enumerate(FEATURES) if not feature.is_nominal]
    nominal = [j for j, feature in enumerate(FEATURES) if feature.is_nominal]
    if kind is NumericCondition:
        j = int(rng.choice(compared))
        last = len(FEATURES[j].categories) - 1
        threshold = rng.choice(DAYS) + 0.5 if FEATURES[j].kind == "date" else rng.choice([*THRESHOLDS, 2000.0])
        if FEATURES[j].kind == "ordinal":
            threshold = rng.integers(last) + 0.5
        return NumericCondition(j, "<=" if rng.random() < 0.5 else ">", float(threshold))
    if kind is MissingCondition:
        return MissingCondition(int(rng.integers(len(FEATURES))), bool(rng.integers(2)))
    j = int(rng.choice(nominal))
    count = len(FEATURES[j].categories)
    if kind is NominalCondition:
        return NominalCondition(j, int(rng.integers(count)))
    size = int(rng.integers(1, count + 1))
    return SetCondition(j, tuple(sorted(rng.choice(count, size, replace=False).tolist())))


def some_conditions(kind: type[Condition], seed: int = 0) -> list[Condition]:
    """Return random conditions of a type."""
    rng = np.random.default_rng(seed)
    if kind is LabelCondition:
        return [LabelCondition(label, value) for label in (0, 1, 2) for value in (0, 1)]
    plain = [one for one in CONDITION_TYPES if one not in (LabelCondition, GroupCondition)]
    made: list[Condition] = []
    while len(made) < N_PER_TYPE:
        if kind is not GroupCondition:
            made.append(feature_condition(rng, kind))
            continue
        members = tuple(dict.fromkeys(feature_condition(rng, plain[int(rng.integers(4))]) for _ in range(5)))
        if len(members) > 1:
            made.append(GroupCondition(members, int(rng.integers(1, len(members))), 'a "name"'))
    return made


def some_rows(seed: int = 1, rows: int = 160) -> Table:
    """Return values on thresholds, beside them, and missing."""
    rng = np.random.default_rng(seed)
    pool = np.array([*THRESHOLDS, *np.nextafter(THRESHOLDS, np.inf), 1e6, -1e6, np.nan])
    days = rng.choice([*DAYS, np.nan], rows)
    columns = []
    for feature in FEATURES:
        if (derivation := derivation_of(feature)) is not None:
            columns.append(derivation.values(days))
        elif feature.has_categories:
            columns.append(rng.choice([*range(len(feature.categories)), np.nan], rows))
        else:
            columns.append(rng.choice(pool, rows))
    return Table.from_array(np.column_stack(columns), FEATURES)


def meaning(condition: Condition, row: list[float], labels: dict[int, int]) -> bool:
    """The meaning of a condition for one example, written anew: what its docstring states."""
    match condition:
        case NumericCondition(feature, op, threshold):
            return row[feature] <= threshold if op == "<=" else row[feature] > threshold
        case NominalCondition(feature, value):
            return row[feature] == value
        case SetCondition(feature, values):
            return any(row[feature] == value for value in values)
        case MissingCondition(feature, missing):
            return isnan(row[feature]) if missing else not isnan(row[feature])
        case LabelCondition(label, value):
            return labels.get(label) == value
        case GroupCondition(members, least):
            return sum(meaning(member, row, labels) for member in members) >= least
    raise AssertionError("a condition type without a meaning here")


class Names:
    """Visitor that is complete for the type checker: a new node is an error here."""

    def of(self, node: Compare | OneOf | Missing | AtLeast) -> str:
        match node:
            case Compare():
                return "compare"
            case OneOf():
                return "one of"
            case Missing():
                return "missing"
            case AtLeast():
                return "at least"
            case _:
                assert_never(node)


# The first three rules set label 0 to 1, label 1 to 0, and leave label 2 unset; each further one tests a condition.
def list_of(conditions: list[Condition]) -> RuleList:
    first = Rule((Literal(0, 1), Literal(1, 0)), (NumericCondition(0, "<=", 0.5),))
    rules = [Rule((Literal(3 + k, 1),), (condition,)) for k, condition in enumerate(conditions)]
    labels = ("a", "b", "c", *(f"l{k}" for k in range(len(conditions))))
    return RuleList((first, *rules), FEATURES, labels)


def states(table: Table) -> np.ndarray:
    labels = np.full((len(table), 3), -1, dtype=np.int8)
    labels[table.column(0) <= 0.5, :2] = 1, 0
    return labels


def expected_by(conditions: list[Condition], table: Table) -> np.ndarray:
    labels = states(table)
    return np.column_stack([evaluate(condition, table, labels) for condition in conditions])


def records(table: Table) -> list[dict[str, Any]]:
    """Rows as people pass them; each second missing category is a text that the model does not have."""
    made = []
    for number, row in enumerate(np.asarray(table).tolist()):
        record: dict[str, Any] = {}
        for feature, value in zip(FEATURES, row, strict=True):
            if feature.derived is not None:
                continue
            if isnan(value):
                record[feature.name] = "unseen" if feature.has_categories and number % 2 else None
            elif feature.kind == "date":
                record[feature.name] = format_date(value)
            else:
                record[feature.name] = feature.categories[int(value)] if feature.has_categories else value
        made.append(record)
    return made


EACH_TYPE = pytest.mark.parametrize("kind", CONDITION_TYPES, ids=lambda kind: kind.__name__)


@EACH_TYPE
def test_the_definition_is_the_meaning(kind):
    conditions, table = some_conditions(kind), some_rows()
    labels = [{k: v for k, v in enumerate(row) if v >= 0} for row in states(table).tolist()]
    rows = np.asarray(table).tolist()
    expected = [[meaning(one, *pair) for one in conditions] for pair in zip(rows, labels, strict=True)]
    assert np.array_equal(expected_by(conditions, table), expected)
    assert any(0 < column.sum() < len(table) for column in expected_by(conditions, table).T)


@EACH_TYPE
def test_lowered_predicates_and_single_values(kind):
    table, labels = some_rows(), states(some_rows())
    for condition in some_conditions(kind):
        expected = evaluate(condition, table, labels)

        def apply(column: Column, function: Any) -> Any:
            return function(table.column(column.index) if column.source == "feature" else labels[:, column.index])

        lowered = lower(condition.predicate(), FEATURES)
        assert Names().of(lowered) in ("compare", "one of", "missing", "at least")
        assert np.array_equal(lowered.accept(Evaluator(apply)), expected)
        if isinstance(condition, FeatureCondition):
            assert np.array_equal(evaluate_column(condition, table.column(condition.feature)), expected)
        if not isinstance(condition, LabelCondition):
            assert [evaluate_row(condition, row) for row in np.asarray(table)] == expected.tolist()


@EACH_TYPE
def test_packed_bodies(kind):
    conditions, table = some_conditions(kind), some_rows()
    model, expected = list_of(conditions), expected_by(conditions, table)
    assert np.array_equal(model.predict(table)[:, 3:], expected)
    assert np.array_equal(predict_flat(model.flat, table.values).labels[:, 3:], expected)
    if kind is LabelCondition:
        return
    bodies = PackedBodies.of([(condition,) for condition in conditions], FEATURES)
    for each in (covers, covers_numpy):
        assert np.array_equal(each(bodies, table.values), expected)
    for row, holds in zip(np.asarray(table), expected, strict=True):
        passed = bodies.passed(row)
        assert [passed[start:end].all() for start, end in zip(bodies.start, bodies.start[1:], strict=False)] == [*holds]


@EACH_TYPE
def test_python(kind):
    conditions, table = some_conditions(kind), some_rows()
    model, namespace = list_of(conditions), dict[str, Any]()
    exec(export(model, "python"), namespace)
    found = [list(namespace["predict"](row).values())[3:] for row in records(table)]
    assert np.array_equal(found, expected_by(conditions, table))


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@EACH_TYPE
def test_javascript(kind, tmp_path):
    conditions, table = some_conditions(kind), some_rows()
    (tmp_path / "model.js").write_text(export(list_of(conditions), "javascript"), encoding="ascii")
    (tmp_path / "rows.json").write_text(json.dumps(records(table)))
    script = (
        'const { predict, LABELS } = require("./model.js"); const rows = require("./rows.json");'
        "console.log(JSON.stringify(rows.map((row) => LABELS.map((name) => predict(row)[name]).slice(3))));"
    )
    done = subprocess.run(["node", "-e", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert np.array_equal(json.loads(done.stdout), expected_by(conditions, table))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_c(tmp_path):
    conditions = [one for kind in CONDITION_TYPES for one in some_conditions(kind)]
    table, model = some_rows(), list_of(conditions)
    values = np.ascontiguousarray(np.asarray(table))
    (tmp_path / "rows.bin").write_bytes(values.tobytes())
    width, labels = len(FEATURES), len(model.label_names)
    main = f"""
    #include <stdio.h>
    int main(void) {{
      double x[{width}]; unsigned char y[{labels}];
      FILE *file = fopen("rows.bin", "rb");
      while (fread(x, sizeof(double), {width}, file) == {width}) {{
        polyrule_predict(x, y);
        for (int k = 3; k < {labels}; ++k) putchar('0' + y[k]);
        putchar('\\n');
      }}
      return 0;
    }}"""
    (tmp_path / "model.c").write_text(export(model, "c") + main, encoding="ascii")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "model.c", "-o", "run", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "run"], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = [list(map(int, line)) for line in done.stdout.split()]
    assert np.array_equal(found, expected_by(conditions, table))


@pytest.mark.parametrize("engine", ["sqlite3", "duckdb"])
@EACH_TYPE
def test_sql(kind, engine):
    conditions, table = some_conditions(kind), some_rows()
    connection = pytest.importorskip(engine).connect(":memory:")
    rows = [(number, *record.values()) for number, record in enumerate(records(table))]
    connection.execute('CREATE TABLE data (n INTEGER, size DOUBLE, hue TEXT, plan TEXT, jam TEXT, "on" DATE)')
    connection.executemany("INSERT INTO data VALUES (?, ?, ?, ?, ?, ?)", rows)
    found = sorted(connection.execute(export(list_of(conditions), "sql", keys=["n"])).fetchall())
    assert np.array_equal([row[4:] for row in found], expected_by(conditions, table))
    connection.close()


@EACH_TYPE
def test_onnx(kind):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    conditions, table = some_conditions(kind), some_rows()
    model = list_of(conditions)
    session = runtime.InferenceSession(export_onnx(model), providers=["CPUExecutionProvider"])
    inputs = onnx_inputs(model, table)
    unseen = np.arange(len(table)) % 2 == 1
    for feature in FEATURES:
        if feature.name in inputs and feature.has_categories:
            outside = ~np.isin(inputs[feature.name][:, 0], feature.categories) & unseen
            inputs[feature.name][outside, 0] = "unseen"
    (found,) = session.run(["labels"], inputs)
    assert np.array_equal(found[:, 3:], expected_by(conditions, table))


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_report_and_studio():
    """The page's rules.js evaluates the JSON of conditions; what the page sends back is the same condition."""
    conditions = [one for kind in CONDITION_TYPES for one in some_conditions(kind)]
    table, slots = some_rows(), {j: j for j in range(len(FEATURES))}
    entries = [write_condition(condition, slots, 17) for condition in conditions]
    for condition, entry in zip(conditions, entries, strict=True):
        sent = [entry[0], *entry[1:4]] if isinstance(condition, GroupCondition) else entry[:3]
        back = read_condition(ModelNode(json.loads(json.dumps(sent)), "page"))
        assert np.array_equal(*(evaluate(one, table, states(table)) for one in (condition, back)))
    assets = Path(polyrule.__file__).parent / "report" / "assets"
    scripts = "".join((assets / name).read_text(encoding="utf-8") for name in ("format.js", "rules.js"))
    rows = [[None if isnan(value) else value for value in row] for row in np.asarray(table).tolist()]
    script = f"""{scripts}
    const rows = {json.dumps(rows)}.map((row) => row.map((value) => (value === null ? NaN : value)));
    const states = {json.dumps(states(table).tolist())}, conditions = {json.dumps(entries)};
    console.log(JSON.stringify(rows.map((row, i) => conditions.map((one) => Number(satisfies(one, row, states[i]))))));
    """
    done = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True)
    assert np.array_equal(json.loads(done.stdout), expected_by(conditions, table))


@EACH_TYPE
def test_regions_of_counterfactuals(kind):
    """The region in which an example's value is satisfies a condition exactly if the example does."""
    if kind is LabelCondition:
        return
    table = some_rows(rows=40)
    for condition in some_conditions(kind)[:4]:
        model = list_of([condition])
        for row, expected in zip(np.asarray(table), evaluate(condition, table), strict=True):
            grid = RegionGrid(model, row)
            assert grid.of_body((condition,)).holds(grid.present) == expected


@EACH_TYPE
def test_text_and_records_read_back(kind):
    names = Vocabulary(FEATURES, ("a", "b", "c"))
    model = RuleList((), FEATURES, ("a", "b", "c"))
    table, labels = some_rows(), states(some_rows())
    for condition in some_conditions(kind):
        assert condition.is_valid(FEATURES, 3)
        record = json.loads(json.dumps(condition.to_json(names)))
        read = read_record(ModelNode(record, "model.json"), names)
        text = ConditionFormatter(model).body((condition,))
        typed = parse_rule(f"a <- {text}", FEATURES, model.label_names).body
        expected = evaluate(condition, table, labels)
        assert np.array_equal(evaluate(read, table, labels), expected)
        assert np.array_equal(np.all([evaluate(one, table, labels) for one in typed], axis=0), expected)
        assert type(condition).__name__ in repr(condition)
        assert str(Rule((Literal(0, 1),), (condition,))).startswith("y0 <- ")


def test_what_no_model_has_is_invalid():
    invalid = [
        NumericCondition(9, ">", 1.0),
        NumericCondition(0, ">", float("nan")),
        NumericCondition(1, ">", 0.5),
        NumericCondition(2, ">", 3.0),
        NominalCondition(0, 0),
        NominalCondition(1, 3),
        SetCondition(1, ()),
        SetCondition(1, (1, 0)),
        SetCondition(1, (0, 3)),
        MissingCondition(-1, True),
        LabelCondition(3, 1),
        LabelCondition(0, 2),
        GroupCondition((NumericCondition(0, ">", 1.0), NominalCondition(1, 9))),
    ]
    assert not any(condition.is_valid(FEATURES, 3) for condition in invalid)


# Dispatch on condition types outside conditions/: each place that remains, and no other means.
MAX_DISPATCH = 15
TYPE_NAMES = "|".join(kind.__name__ for kind in CONDITION_TYPES) + "|FeatureCondition"
DISPATCH = re.compile(
    rf"isinstance\([^)]*\b(?:{TYPE_NAMES})\b|case (?:{TYPE_NAMES})\(|\btype\(\w+\) (?:is|==) (?:{TYPE_NAMES})\b"
    rf"|\{{[^}}]*\b(?:{TYPE_NAMES}): "
)


def test_few_places_outside_the_room_distinguish_types():
    source = Path(polyrule.__file__).parent
    places = [
        f"{path.relative_to(source).as_posix()}: {match[0]}"
        for path in sorted(source.rglob("*.py"))
        if path.relative_to(source).parts[0] != "conditions"
        for match in DISPATCH.finditer(path.read_text(encoding="utf-8"))
    ]
    assert len(places) <= MAX_DISPATCH, "\n".join(places)
