"""Every export gives the labels that prediction gives, on thousands of rows, whatever the names are."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest
from tests.export.cases import HOSTILE, THRESHOLDS, as_records, cases

from polyrule.data import Feature, Table
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.errors import ModelError, OptionError
from polyrule.export import LANGUAGES, export
from polyrule.export.quoting import comment, sql_number
from polyrule.model import LabelCondition, Literal, NominalCondition, NumericCondition, Rule, RuleList


def test_the_cases_are_worth_testing():
    tested = [(model, labels) for model, _, labels in cases()]
    assert sum(len(labels) for _, labels in tested) >= 4000
    assert any(rule.stop for model, _ in tested for rule in model)
    assert any(model.full for model, _ in tested)
    assert any(len(np.unique(labels, axis=0)) > 5 for _, labels in tested)


def test_python():
    for model, table, expected in cases():
        namespace: dict[str, object] = {}
        exec(compile(export(model, "python"), "model.py", "exec"), namespace)
        predict = namespace["predict"]
        found = [[predict(row)[name] for name in model.label_names] for row in as_records(table)]  # type: ignore[operator]
        assert np.array_equal(found, expected)


def test_python_reads_other_ways_to_say_missing_and_other_types():
    features = (
        Feature("size"),
        Feature("flag", "nominal", ("False", "True")),
        Feature("code", "nominal", ("1", "2.5")),
    )
    rules = (
        Rule((Literal(0, 1),), (NumericCondition(0, "<=", 1.5),)),
        Rule((Literal(1, 1),), (NominalCondition(1, 1),)),
        Rule((Literal(2, 1),), (NominalCondition(2, 0),)),
    )
    namespace: dict[str, object] = {}
    exec(export(RuleList(rules, features, ("a", "b", "c")), "python"), namespace)
    predict = namespace["predict"]
    assert predict({"size": 1, "flag": True, "code": 1.0, "more": "?"}) == {"a": 1, "b": 1, "c": 1}  # type: ignore[operator]
    nan = float("nan")
    assert predict({"size": nan, "flag": None, "code": nan}) == {"a": 0, "b": 0, "c": 0}  # type: ignore[operator]
    with pytest.raises(KeyError, match="flag"):
        predict({"size": 1, "code": 1})  # type: ignore[operator]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript(tmp_path):
    jobs = []
    for number, (model, table, expected) in enumerate(cases()):
        (tmp_path / f"model{number}.js").write_text(export(model, "javascript"), encoding="ascii")
        jobs.append({"labels": model.label_names, "rows": as_records(table), "expected": expected.tolist()})
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    (tmp_path / "check.js").write_text(
        """
        const jobs = JSON.parse(require("fs").readFileSync(__dirname + "/jobs.json"));
        let checked = 0;
        jobs.forEach((job, n) => {
          const { predict } = require("./model" + n + ".js");
          job.rows.forEach((row, i) => {
            const found = predict(row);
            if (JSON.stringify(job.labels.map((name) => found[name])) !== JSON.stringify(job.expected[i]))
              throw new Error("model " + n + " row " + i);
            checked += 1;
          });
        });
        console.log(checked);
        """
    )
    done = subprocess.run(["node", "check.js"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == sum(len(table) for _, table, _ in cases())


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_javascript_refuses_a_row_without_the_features(tmp_path):
    model = RuleList((Rule((Literal(0, 1),), (NumericCondition(0, ">", 1.0),)),), (Feature("__proto__"),), ("y",))
    script = export(model, "javascript") + "\npolyrule.predict({});\n"
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=False)
    assert "the row lacks the feature __proto__" in done.stderr


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_c(tmp_path):
    """All models are compiled into one program, each under its own prefix, with every warning an error."""
    program = ["#include <stdio.h>", "#include <stdlib.h>"]
    calls = []
    for number, (model, table, _expected) in enumerate(cases()):
        (tmp_path / f"model{number}.c").write_text(export(model, "c", prefix=f"m{number}"), encoding="ascii")
        values = np.ascontiguousarray(np.asarray(table))
        (tmp_path / f"rows{number}.bin").write_bytes(values.tobytes())
        program.append(f"void m{number}_predict(const double *x, unsigned char *y);")
        calls.append(f'  check("rows{number}.bin", {values.shape[1]}, {len(model.label_names)}, m{number}_predict);')
    program.append(
        """
        static void check(const char *path, int width, int labels, void (*predict)(const double *, unsigned char *)) {
          FILE *file = fopen(path, "rb");
          double *x = malloc(sizeof(double) * (size_t)width);
          unsigned char *y = malloc((size_t)labels);
          while (fread(x, sizeof(double), (size_t)width, file) == (size_t)width) {
            predict(x, y);
            for (int k = 0; k < labels; ++k) putchar('0' + y[k]);
            putchar('\\n');
          }
          fclose(file);
          free(x);
          free(y);
        }
        int main(void) {
        """
    )
    (tmp_path / "main.c").write_text("\n".join([*program, *calls, "  return 0;", "}"]))
    sources = ["main.c", *(f"model{number}.c" for number in range(len(cases())))]
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsanitize=undefined"]
    done = subprocess.run(
        ["gcc", *flags, *sources, "-o", "run", "-lm"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([tmp_path / "run"], cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = ["".join(map(str, row)) for _, _, labels in cases() for row in labels.tolist()]
    assert done.stdout.split() == expected


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_c_finds_categories_by_their_text(tmp_path):
    names = tuple(name for name in HOSTILE if "\x00" not in name)
    model = RuleList((), (Feature("f", "nominal", names), Feature("g")), ("y",))
    main = "\n".join(
        [
            "#include <stdio.h>",
            export(model, "c"),
            "int main(void) {",
            f"  for (int k = 0; k < {len(names)}; ++k)",
            "    if (polyrule_category(0, polyrule_categories[0][k]) != k) return 1;",
            '  if (polyrule_category(1, "x") == polyrule_category(1, "x")) return 2;',
            "  for (int k = 0; k < polyrule_category_counts[0]; ++k)",
            "    fwrite(polyrule_categories[0][k], 1, strlen(polyrule_categories[0][k]) + 1, stdout);",
            "  return 0;",
            "}",
        ]
    )
    (tmp_path / "main.c").write_text(main)
    subprocess.run(["gcc", "-std=c99", "-Werror", "-Wall", "main.c", "-o", "run"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "run"], capture_output=True, check=True)
    assert done.stdout.decode().split("\x00")[:-1] == list(names)


def sql_table(model, table):
    """Column definitions and rows for a table, with a key in front."""
    records = as_records(table)
    kinds = {"numeric": "DOUBLE", "date": "DATE"}
    columns = [(feature.name, kinds.get(feature.kind, "TEXT")) for feature in model.features if feature.derived is None]
    columns = [(name.replace('"', '""'), kind) for name, kind in columns]
    defined = ", ".join(f'"{name}" {kind}' for name, kind in columns)
    return f'CREATE TABLE data ("row key" INTEGER, {defined})', [(i, *r.values()) for i, r in enumerate(records)]


def run_sql(connection, model, table):
    create, rows = sql_table(model, table)
    connection.execute(create)
    connection.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(rows[0]))})", rows)
    found = connection.execute(export(model, "sql", keys=["row key"])).fetchall()
    connection.execute("DROP TABLE data")
    return np.array([row[1:] for row in sorted(found)])


def test_sqlite():
    for model, table, expected in cases():
        connection = sqlite3.connect(":memory:")
        assert np.array_equal(run_sql(connection, model, table), expected)
        connection.close()


def test_duckdb():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    for model, table, expected in cases():
        connection = duckdb.connect(":memory:")
        assert np.array_equal(run_sql(connection, model, table), expected)
        connection.close()


def test_duckdb_treats_nan_and_null_alike():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    model = RuleList((Rule((Literal(0, 1),), (NumericCondition(0, ">", 1.0),)),), (Feature("x"),), ("y",))
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE TABLE data AS SELECT * FROM (VALUES (1, 'nan'::DOUBLE), (2, NULL), (3, 2.0)) AS v(k, x)")
    assert sorted(connection.execute(export(model, "sql", keys=["k"])).fetchall()) == [(1, 0), (2, 0), (3, 1)]
    connection.close()


@pytest.mark.parametrize("engine", ["sqlite3", "duckdb"])
def test_models_whose_rules_test_no_feature(engine):
    connect = pytest.importorskip(engine).connect
    always, then = Rule((Literal(0, 1),)), Rule((Literal(1, 1),), (LabelCondition(0, 1),))
    sums = WeightedRule((Entry(0, -2.0),))
    decisions = Decision("threshold", (0.0, 0.0)), Decision("subset", (0.0, 0.0), ((0,), (1,), ()), (0.0, 0.5, 1.0))
    features = (Feature("x0"),)
    models = [RuleList(rules, features, ("y", "z")) for rules in ((), (always,), (always, then))]
    models += [RuleEnsemble((sums,), features, ("y", "z"), (1.0, 1.0), decision) for decision in decisions]
    for model in models:
        expected = model.predict(Table.from_array([[1.0], [2.0]]))
        connection = connect(":memory:")
        connection.execute("CREATE TABLE data (x0 DOUBLE)")
        connection.execute("INSERT INTO data VALUES (1), (2)")
        assert np.array_equal(connection.execute(export(model, "sql")).fetchall(), expected)
        connection.close()
        namespace: dict[str, object] = {}
        exec(export(model, "python"), namespace)
        assert list(namespace["predict"]({}).values()) == expected[0].tolist()  # type: ignore[operator]


def test_booleans_in_sql():
    features = (Feature("flag", "nominal", ("False", "True")),)
    model = RuleList((Rule((Literal(0, 1),), (NominalCondition(0, 1),)),), features, ("y",))
    query = export(model, "sql", table="my table", keys=["flag"])
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE "my table" (flag)')
    connection.executemany('INSERT INTO "my table" VALUES (?)', [(True,), (False,), (None,), ("True",), ("false",)])
    assert [row[1] for row in connection.execute(query)] == [1, 0, 0, 1, 0]
    connection.close()


def test_a_missing_column_is_an_error_in_sqlite_too():
    """SQLite reads an unknown name in double quotes as a string; that would be silently wrong."""
    model = RuleList((Rule((Literal(0, 1),), (NumericCondition(0, ">", 1.0),)),), (Feature("x"),), ("y",))
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE data (other)")
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        connection.execute(export(model, "sql"))
    connection.close()


def test_long_lists_stay_within_the_limits_of_sqlite():
    """400 rules that all stop and write the same labels; deeply nested expressions would be refused."""
    rules = tuple(
        Rule((Literal(0, i % 2), Literal(1, 1)), (NumericCondition(0, ">", float(i)),), stop=True)
        for i in reversed(range(400))
    )
    model = RuleList(rules, (Feature("x"),), ("a", "b"))
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE data (x)")
    connection.executemany("INSERT INTO data VALUES (?)", [(i + 0.5,) for i in range(-1, 400)])
    found = connection.execute(export(model, "sql")).fetchall()
    assert found == [(0, 0)] + [(i % 2, 1) for i in range(400)]
    connection.close()


@pytest.mark.parametrize("threshold", [*THRESHOLDS, -0.0, 2.5e-10, 1.7976931348623157e308, 4503599627370497.5])
def test_numbers_are_read_exactly_by_both_engines(threshold):
    engines = [sqlite3.connect(":memory:")]
    try:
        import duckdb
    except ImportError:
        pass
    else:
        engines.append(duckdb.connect(":memory:"))
    extreme = abs(threshold) > 1e200 or 0 < abs(threshold) < 1e-200
    for engine in engines:
        read = engine.execute(f"SELECT {sql_number(threshold)}").fetchone()[0]
        assert read == threshold or (extreme and read == pytest.approx(threshold, rel=1e-15))
        engine.close()


def test_comments_hold_nothing_that_could_end_them():
    for name in [*HOSTILE, *(a + b for a in HOSTILE for b in "*/<!?\\\n"), "/".join("*?<\\*?")]:
        for told in (comment(name), comment(name, unicode=True)):
            assert told.isprintable()
            assert not told.endswith("\\")
            assert not [pair for pair in ("*/", "/*", "??", "</", "<!") if pair in told]
        assert comment(name).isascii()
        assert "\\" not in comment(name, unicode=True)
    assert len(comment("x" * 1000)) == len(comment("ü" * 1000)) == 160


def test_comments_keep_names_as_they_are():
    assert comment("¬größe, km/h <- 名前 = 'a'", unicode=True) == "¬größe, km/h <- 名前 = 'a'"
    assert comment("¬red <- km/h > 5") == "not red <- km/h > 5"
    model = RuleList((Rule((Literal(0, 0),), (NumericCondition(0, ">", 5.0),)),), (Feature("größe"),), ("été",))
    decision = Decision("threshold", (0.0,))
    sums = RuleEnsemble(
        (WeightedRule((Entry(0, -1.0),), model.rules[0].body),), model.features, ("été",), (0.0,), decision
    )
    for language in ("python", "sql"):
        assert "1: ¬été <- größe > 5\n" in export(model, language)
        assert "1: été -1 <- größe > 5\n" in export(sums, language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_numbers_of_numpy_are_written_as_plain_numbers(language):
    decision = Decision("subset", tuple(np.array([0.5])), ((0,), ()), tuple(np.array([0.25, 0.5])))
    rule = WeightedRule((Entry(0, np.float64(1.5)),))
    code = export(RuleEnsemble((rule,), (), ("a",), tuple(np.array([-1.0])), decision, np.float64(2.0)), language)
    assert "np." not in code


@pytest.mark.parametrize("language", LANGUAGES)
def test_code_is_the_same_every_time_and_hostile_names_stay_inside_quotes(language):
    model = RuleList(
        (Rule((Literal(0, 1),), (NumericCondition(0, ">", 1.0), NominalCondition(1, 0))),),
        (Feature("MARK1'\"\n"), Feature("MARK2*/", "nominal", ("MARK3`",))),
        ("MARK4\\",),
    )
    code = export(model, language)
    assert code == export(model, language)
    for line in code.splitlines():
        if "MARK" in line and not line.strip().startswith(("#", "//", "/*", "--")):
            before = line.split("MARK")[0]
            assert before.count('"') + before.count("'") >= 1


def test_what_cannot_be_exported_is_refused():
    model = RuleList((), (), ("y",))
    with pytest.raises(OptionError, match="no export to 'cobol'; there is python, sql, javascript, c"):
        export(model, "cobol")
    with pytest.raises(OptionError, match="prefix must be letters"):
        export(model, "c", prefix="a b")
    with pytest.raises(OptionError, match="prefix is no option of the export to python"):
        export(model, "python", prefix="a")
    with pytest.raises(OptionError, match="opset is no option of the export to onnx"):
        model.export("onnx", opset=9)
    with pytest.raises(OptionError, match="must be a list"):
        export(model, "sql", keys="id")
    with pytest.raises(ModelError, match="SQL cannot express"):
        export(RuleList((), (), ("nul\x00",)), "sql")
    with pytest.raises(ModelError, match="empty name"):
        export(RuleList((), (), ("",)), "sql")
