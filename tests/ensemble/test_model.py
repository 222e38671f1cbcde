"""The stored ensemble: prediction, printing, explanation, files, exports."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from tests.ensemble.worlds import hostile_table, random_ensemble

from polyrule.data import Feature, Table
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.errors import DataError, ModelError
from polyrule.export import export
from polyrule.model import GroupCondition, NominalCondition, NumericCondition
from polyrule.model.decisions import KINDS
from polyrule.model.files import dumps, loads


def ensembles(kinds=KINDS, count: int = 4):
    for kind in kinds:
        for seed in range(count):
            rng = np.random.default_rng(seed)
            model = random_ensemble(rng, kind)
            yield model, hostile_table(rng, 250)


def records(table: Table) -> list[dict[str, object]]:
    made = []
    for row in np.asarray(table):
        record: dict[str, object] = {}
        for feature, value in zip(table.features, row, strict=True):
            shown = feature.categories[int(value)] if feature.is_nominal and not np.isnan(value) else float(value)
            record[feature.name] = None if np.isnan(value) else shown
        made.append(record)
    return made


def holds(condition, row) -> bool:
    match condition:
        case NumericCondition(feature, op, threshold):
            return row[feature] <= threshold if op == "<=" else row[feature] > threshold
        case NominalCondition(feature, value):
            return row[feature] == value
        case GroupCondition(members, least):
            return sum(holds(member, row) for member in members) >= least
    raise AssertionError(condition)


def test_scores_are_intercepts_plus_the_weights_of_rules_that_fire() -> None:
    for model, table in ensembles(("threshold",)):
        values = np.asarray(table)
        for row, scores in zip(values[:40], model.scores(table[:40]), strict=True):
            expected = list(model.intercepts)
            for rule in model:
                for entry in rule.head if all(holds(condition, row) for condition in rule.body) else ():
                    expected[entry.label] += entry.weight
            assert scores.tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_files_give_back_the_same_model(kind: str, tmp_path) -> None:
    for model, table in ensembles((kind,)):
        again = loads(dumps(model))
        assert again.rules == model.rules
        assert (again.intercepts, again.decision, again.unit, again.info) == (
            model.intercepts,
            model.decision,
            model.unit,
            model.info,
        )
        assert np.array_equal(again.scores(table), model.scores(table))
        assert np.array_equal(again.predict(table), model.predict(table))
    model.save(tmp_path / "model.json")
    assert RuleEnsemble.load(tmp_path / "model.json").rules == model.rules
    assert RuleEnsemble.from_dict(model.to_dict()).rules == model.rules


def test_broken_files_are_refused_with_the_place() -> None:
    model = random_ensemble(np.random.default_rng(0), "threshold")
    for change, where in (
        (lambda d: d["rules"][0]["head"][0].update(weight="much"), r"rules\[0\]\.head\[0\]\.weight"),
        (lambda d: d["rules"][0]["head"].append(d["rules"][0]["head"][0]), r"rules\[0\]\.head"),
        (lambda d: d["decision"].update(kind="dice"), r"decision\.kind"),
        (lambda d: d["decision"]["cuts"].pop(), "cuts"),
        (lambda d: d.update(unit=0), "unit"),
        (lambda d: d["intercepts"].pop(), "intercepts"),
    ):
        document = json.loads(dumps(model))
        change(document)
        with pytest.raises(ModelError, match=where):
            loads(json.dumps(document), check=False)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (WeightedRule((Entry(5, 1.0),)), "no label"),
        (WeightedRule((Entry(0, float("nan")),)), "finite"),
        (WeightedRule((Entry(0, 1.0),), (NumericCondition(3, "<=", 1.0),)), "no column"),
        (WeightedRule((Entry(0, 1.0),), (NominalCondition(0, 0),)), "no column"),
    ],
)
def test_rules_that_do_not_fit_are_refused(rule: WeightedRule, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        RuleEnsemble((rule,), (Feature("x"),), ("a",), (0.0,), Decision("threshold", (0.0,)))


@pytest.mark.parametrize(
    ("intercept", "decision", "message"),
    [
        (float("nan"), Decision("threshold", (0.0,)), "finite numbers"),
        (0.0, Decision("threshold", (float("inf"),)), "finite numbers"),
        (0.0, Decision("subset", (0.0,), ((0,),), (float("nan"),)), "finite numbers"),
        (0.0, Decision("best", (0.0,)), "no kind 'best'; known: threshold, subset, per-label, expected-f1"),  # type: ignore[arg-type]
    ],
)
def test_numbers_that_decide_nothing_are_refused(intercept: float, decision: Decision, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        RuleEnsemble((), (Feature("x"),), ("a",), (intercept,), decision)


def test_heads_need_distinct_labels() -> None:
    with pytest.raises(ModelError, match="distinct"):
        WeightedRule((Entry(1, 1.0), Entry(1, 2.0)))


def test_other_columns_are_refused() -> None:
    model = random_ensemble(np.random.default_rng(0), "threshold")
    other = Table.from_array(np.zeros((2, 4)))
    with pytest.raises(DataError, match="the model needs column"):
        model.predict(other)
    with pytest.raises(ModelError, match="column 0 is named"):
        model.scores(other)


def test_conditions_read_as_in_lists() -> None:
    body = (
        NumericCondition(0, "<=", 120.0),
        NumericCondition(1, ">", 1.5),
        NumericCondition(0, ">", 96.0),
        NumericCondition(0, "<=", 140.0),
    )
    features = (Feature("tempo"), Feature("plan", "ordinal", ("basic", "plus", "pro")))
    model = RuleEnsemble(
        (WeightedRule((Entry(0, 1.0),), body, 0.1 + 0.2),), features, ("calm",), (0.0,), Decision("threshold", (0.0,))
    )
    assert str(model).splitlines()[0] == "1. calm +1 <- 96 < tempo <= 120, plan = pro   (covers weight 0.3)"


def test_text_names_the_strongest_label_first() -> None:
    rule = WeightedRule((Entry(0, -0.5), Entry(1, 2.0)), (NumericCondition(0, "<=", 96.0),), 120)
    model = RuleEnsemble(
        (rule,), (Feature("tempo"),), ("happy", "calm"), (0.1, -1.0), Decision("threshold", (0.0, 0.0))
    )
    assert str(model).splitlines() == [
        "1. calm +2, happy −0.50 <- tempo <= 96   (covers 120)",
        "(start: happy +0.10, calm −1)",
        "(a label is present if its sum is at least 0, a probability of 50 %)",
    ]
    below = replace(model, decision=Decision("threshold", (-1.0, -1.0)), unit=(0.25, 0.5))
    assert "at least −1, a probability of 38 to 44 %" in str(below)
    stats = model.statistics()
    assert (stats["rules"], stats["labels_per_head"], stats["negative_entries"]) == (1, 2.0, 1)
    assert model.to_frame()["weight calm"].tolist() == [2.0]


@pytest.mark.parametrize("kind", ["threshold", "per-label"])
def test_text_says_which_labels_do_not_depend_on_the_example(kind) -> None:
    rule = WeightedRule((Entry(1, 2.0),), (NumericCondition(0, "<=", 96.0),), 120)
    names = ("loud", "calm", "rare", *(f"r{k}" for k in range(12)))
    model = RuleEnsemble(
        (rule,), (Feature("tempo"),), names, (0.1, -1.0, *[-3.0] * 13), Decision(kind, (0.0,) * len(names))
    )
    lines = str(model).splitlines()
    assert lines[1] == "(start: calm −1)"
    assert lines[3:] == [
        "(in no rule, always predicted: loud)",
        "(in no rule, never predicted: rare, r0, r1, r2, r3, r4, r5, r6, r7, r8 and 3 more)",
    ]
    table = Table.from_array([[1.0], [200.0]], [Feature("tempo")])
    assert model.predict(table)[:, [0, 2]].tolist() == [[1, 0], [1, 0]]


def test_markup_in_names_stays_text() -> None:
    model = RuleEnsemble(
        (WeightedRule((Entry(0, 1.0),)),), (), ("<script>alert(1)</script>",), (0.0,), Decision("threshold", (0.0,))
    )
    assert "<script>" not in model._repr_html_()


@pytest.mark.parametrize("kind", KINDS)
def test_explanations_add_up(kind: str) -> None:
    for model, table in ensembles((kind,), 2):
        for row in range(10):
            found = model.explain(table[[row]])
            assert [item.value for item in found.labels] == model.predict(table)[row].tolist()
            for item, score in zip(found.labels, model.scores(table)[row], strict=True):
                total = item.start
                for part in item.contributions:
                    total += part.weight
                assert total == score == item.score
        assert len(found.to_frame()) == sum(1 + len(item.contributions) for item in found.labels)
        json.dumps(found.to_dict())


def test_python_export_gives_the_same_scores_and_labels() -> None:
    for model, table in ensembles():
        namespace: dict[str, object] = {}
        exec(compile(export(model, "python"), "model.py", "exec"), namespace)
        rows = records(table)
        labels = [[namespace["predict"](row)[name] for name in model.label_names] for row in rows]  # type: ignore[operator]
        scores = [[namespace["scores"](row)[name] for name in model.label_names] for row in rows]  # type: ignore[operator]
        assert np.array_equal(labels, model.predict(table))
        assert np.array_equal(scores, model.scores(table))


def duckdb_in_memory():
    return pytest.importorskip("duckdb", reason="duckdb is not installed").connect(":memory:")


@pytest.mark.parametrize("engine", [lambda: sqlite3.connect(":memory:"), duckdb_in_memory], ids=["sqlite", "duckdb"])
def test_sql_export_gives_the_same_labels(engine) -> None:
    for model, table in ensembles():
        with closing(engine()) as base:
            names = ", ".join('"' + f.name.replace('"', '""') + '"' for f in model.features)
            kinds = ["DOUBLE", "DOUBLE", "TEXT", "TEXT"]
            typed = ", ".join(f"{name} {kind}" for name, kind in zip(names.split(", "), kinds, strict=True))
            base.execute(f"CREATE TABLE data (id INTEGER, {typed})")
            rows = [(number, *record.values()) for number, record in enumerate(records(table))]
            cells = [cell for row in rows for cell in row]  # one statement: duckdb takes its time for each
            base.execute("INSERT INTO data VALUES " + ", ".join(["(?, ?, ?, ?, ?)"] * len(rows)), cells)
            found = base.execute(export(model, "sql", keys=["id"]).rstrip().rstrip(";") + " ORDER BY 1").fetchall()
        assert np.array_equal([row[1:] for row in found], model.predict(table))


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_export_gives_the_same_labels(tmp_path) -> None:
    for model, table in ensembles(KINDS, 2):
        (tmp_path / "model.js").write_text(export(model, "javascript"), encoding="ascii")
        job = {"rows": records(table), "labels": model.label_names}
        (tmp_path / "job.json").write_text(json.dumps(job))
        script = (
            'const job = require("./job.json"), m = require("./model.js");'
            "const rows = job.rows.map((r) => { const y = m.predict(r); return job.labels.map((l) => y[l]); });"
            "console.log(JSON.stringify(rows));"
        )
        done = subprocess.run(["node", "-e", script], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert np.array_equal(json.loads(done.stdout), model.predict(table))


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_c_export_gives_the_same_labels(tmp_path) -> None:
    for kind in KINDS:
        model, table = next(ensembles((kind,)))
        main = """
            #include <stdio.h>
            int main(void) {
              double x[polyrule_FEATURE_COUNT]; unsigned char y[polyrule_LABEL_COUNT];
              while (1) {
                for (int j = 0; j < polyrule_FEATURE_COUNT; ++j) if (scanf("%lf", &x[j]) != 1) return 0;
                polyrule_predict(x, y);
                for (int k = 0; k < polyrule_LABEL_COUNT; ++k) printf("%d ", y[k]);
              }
            }"""
        (tmp_path / "model.c").write_text(export(model, "c") + main)
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
        subprocess.run(["cc", *flags, "model.c", "-o", "model", "-lm"], cwd=tmp_path, check=True)
        lines = "\n".join(" ".join(repr(float(v)) for v in row) for row in np.asarray(table))
        done = subprocess.run([tmp_path / "model"], input=lines, capture_output=True, text=True, check=True)
        assert np.array_equal(np.array(done.stdout.split(), dtype=int).reshape(len(table), -1), model.predict(table))


def test_exports_break_ties_of_expected_f1_in_the_same_way() -> None:
    """Sets that are alike but for the names of their labels have the same expected F1: the first one wins."""
    sets = ((1, 3), (0, 2), (0, 1), (2, 3))  # every label is in two of them
    rule = WeightedRule((Entry(0, 0.1), Entry(1, 0.1)), (NumericCondition(0, ">", 0.5),))
    model = RuleEnsemble((rule,), (Feature("x"),), tuple("abcd"), (0.3,) * 4, Decision("expected-f1", (), sets))
    expected = [[0, 1, 0, 1], [1, 1, 0, 0]]
    assert model.predict(np.array([[0.0], [1.0]])).tolist() == expected
    namespace: dict[str, object] = {}
    exec(export(model, "python"), namespace)
    assert [list(namespace["predict"]({"x": x}).values()) for x in (0.0, 1.0)] == expected  # type: ignore[operator]
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE data (x DOUBLE)")
        base.executemany("INSERT INTO data VALUES (?)", [(0.0,), (1.0,)])
        assert sorted(map(list, base.execute(export(model, "sql")).fetchall())) == expected


def test_a_label_set_is_chosen_for_every_row_alike_whatever_stands_beside_it() -> None:
    for model, table in ensembles(("expected-f1",)):
        together = model.predict(table)
        assert np.array_equal(together, np.vstack([model.predict(table[row]) for row in range(len(table))]))


def test_points_may_be_worth_different_amounts_by_label() -> None:
    for plain, table in ensembles(("per-label",), 2):
        model = replace(plain, unit=(0.5, 1.0, 2.0, 0.25))
        again = loads(dumps(model))
        assert again.unit == model.unit
        assert np.array_equal(again.predict(table), plain.predict(table))
        chances = 1 / (1 + np.exp(-np.array(model.unit) * plain.scores(table)))
        assert np.allclose(model.predict_proba(table), chances, rtol=1e-12)
        assert model.explain(table[0]).labels[2].probability == pytest.approx(chances[0, 2])
        assert "log-odds that one point is worth" in str(model)
    with pytest.raises(ModelError, match="3 entries for 4 labels"):
        replace(plain, unit=(1.0, 1.0, 1.0))
    with pytest.raises(ModelError, match="learn the scorecard with decision='subset'"):
        replace(random_ensemble(np.random.default_rng(0), "subset"), unit=(1.0, 2.0, 1.0, 1.0))
