"""Each derivation is stored, computed and exported as its `values` define it."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess

import numpy as np
import pytest

from polyrule.data import Feature, Table
from polyrule.data.columns import encode_source
from polyrule.data.dates import day_of, format_date, moment_of
from polyrule.data.derive.base import Derivation
from polyrule.data.derive.columns import add_derived, derive, source_features
from polyrule.data.derive.dates import DATE_PARTS, DatePart, date_features
from polyrule.data.derive.hours import HourOfDay
from polyrule.data.derive.members import Member
from polyrule.data.derive.quantities import Quantity
from polyrule.data.derive.registry import DERIVATIONS, derivation_of
from polyrule.data.derive.spans import DaysBetween, YearsBetween
from polyrule.data.derive.words import Cell, Word
from polyrule.data.documents import JsonNode, feature_record, read_feature
from polyrule.errors import DataError, ModelError

# One example per derivation, with cells of its source as people write them; a new class needs a row.
TEXTS = ["2021-03-05", "1900-02-28", None, "2000-12-31", "0001-01-01", "9999-12-31"]
WORDED = ["August 14, 2020", "26-Oct-12", "Sun, 1st of May 2022 10:30 pm", "2 Jan. 69", "4 March 68"]
SLASHES = ["3/4/2021", "12/31/99", "4.3.2021", "2021-03-04"]
SLASH_DAYS = [day_of(t, "month/day/year") for t in SLASHES]
TIMES = ["2021-03-05 14:30", "2021-03-05T00:05:00Z", "2021-03-05", None, "2021-03-05 23:59:59.9 +02:00"]
PLOTS = ["A ZOMBIE, undead", "zombies", None, "", "it's über-zombie\u2019s ÜBER", "re\tzombie|x", "5 % _zombie_ <b>"]
LISTS = ["b, a (x, y) ,c", "b", None, "", "a (x, y)", "ab,b c, B", "it's, a"]
SIZES = ["90 min", "2 Seasons", "1 season", " 7.5 MIN ", None, "", "-3 min", "min", "12", "1 h 30 min", "1,000 min"]
PRICES = ["$1,234.50", "$5", "-$2", "$ 3", "12 €", "7", None, "0.5", "+$1,000,000", "free"]
COMMAS = ["1.234,5", "3,25", "12", None, "x"]
JSON_CELLS = ['["a", "say \\"hi\\""]', "[]", None]
EXAMPLES = [
    *((DatePart("on day", part), TEXTS, [np.nan if t is None else day_of(t) for t in TEXTS]) for part in DATE_PARTS),
    *((DatePart("on day", part), WORDED, [day_of(t) for t in WORDED]) for part in DATE_PARTS),
    *((DatePart("on day", part, "month/day/year"), SLASHES, SLASH_DAYS) for part in DATE_PARTS),
    (HourOfDay("on day"), TIMES, [np.nan if t is None else moment_of(t) for t in TIMES]),
    (HourOfDay("on day", "month/day/year"), ["1/2/2021 12:05 am", "1/2/21 1:00 p.m."], [18629.003, 18629.542]),
    (Cell("on day"), PLOTS, PLOTS),
    *((Word("on day", word), PLOTS, PLOTS) for word in ("zombie", "s", "5", "über")),
    *((Member("on day", member), LISTS, LISTS) for member in ("b", "a (x, y)", "it's", "zzz")),
    (Member("on day", "b;c", "|"), ["a|b;c", "b;c |a", "b", None], ["a|b;c", "b;c |a", "b", None]),
    *((Quantity("on day", units, units[-1]), SIZES, SIZES) for units in (("min",), ("season", "seasons"))),
    (Quantity("on day", ("$", ""), "$", ".", ","), PRICES, PRICES),
    (Quantity("on day", ("",), "", ",", "."), COMMAS, COMMAS),
    (
        Quantity("on day", ("",), "", ",", " "),
        ["1 234,5", "1\u202f000", "3", None],
        ["1 234,5", "1\u202f000", "3", None],
    ),
    (Member("on day", 'say "hi"', "[]"), JSON_CELLS, JSON_CELLS),
]
EACH = pytest.mark.parametrize(("derivation", "cells", "source"), EXAMPLES)


def as_texts(feature: Feature, values: np.ndarray) -> list[object]:
    return [None if np.isnan(v) else feature.categories[int(v)] if feature.has_categories else v for v in values]


def expected_values(derivation: Derivation, source: list[object]) -> np.ndarray:
    return derivation.values(source if derivation.SOURCE == "text" else np.array(source))


def test_there_is_an_example_of_every_derivation():
    assert {type(derivation) for derivation, _, _ in EXAMPLES} | {DaysBetween, YearsBetween} == set(DERIVATIONS)
    assert len({kind.KEY for kind in DERIVATIONS}) == len(DERIVATIONS)


@EACH
def test_a_stored_feature_is_read_again(derivation, cells, source):
    feature = derivation.feature()
    record = json.loads(json.dumps(feature_record(feature)))
    assert read_feature(JsonNode(record, "model.json")) == feature
    assert read_feature(JsonNode(record, "model.json")).derived == derivation == derivation_of(feature)
    assert feature.column == derivation.column == derivation.sources[0]


@EACH
def test_a_table_is_completed_from_its_sources(derivation, cells, source):
    feature = derivation.feature()
    (column,) = source_features((feature,)).values()
    if derivation.SOURCE == "text":
        column, values = encode_source(source, column)
    else:
        values = np.array(source)
    table = derive(Table.from_array(values[:, None], (column,)), (feature,))
    assert np.array_equal(table.column(0), expected_values(derivation, source), equal_nan=True)
    assert (
        len(type(derivation).columns([derivation, derivation], values if derivation.SOURCE != "text" else source)) == 2
    )


@EACH
def test_python(derivation, cells, source):
    namespace: dict[str, object] = {}
    exec(derivation.HELPERS.get("python", ""), namespace)
    expected = as_texts(derivation.feature(), expected_values(derivation, source))
    results = [eval(derivation.code("python", repr(cell)), namespace) for cell in cells]
    assert [None if one != one else one for one in results] == expected


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@EACH
def test_javascript(derivation, cells, source):
    expected = as_texts(derivation.feature(), expected_values(derivation, source))
    calls = ", ".join(derivation.code("javascript", json.dumps(cell)) for cell in cells)
    script = f"{derivation.HELPERS.get('javascript', '')}\nconsole.log(JSON.stringify([{calls}]));"
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == expected


@pytest.mark.parametrize("engine", ["sqlite3", "duckdb"])
@EACH
def test_sql(derivation, cells, source, engine):
    if cells is WORDED or getattr(derivation, "form", ""):
        form = derivation.form or "month in words"
        with pytest.raises(ModelError, match=f"column 'on day' has them as {form}"):
            type(derivation)(*derivation.sources, *[p for p in [getattr(derivation, "part", "")] if p], form).code(
                "sql", "x"
            )
        return
    connection = pytest.importorskip(engine).connect(":memory:")
    connection.execute('CREATE TABLE data (n INTEGER, "on day" VARCHAR)')
    connection.executemany("INSERT INTO data VALUES (?, ?)", list(enumerate(cells)))
    value = derivation.code("sql", 'd."on day"')
    rows = connection.execute(f"SELECT {value} FROM data AS d ORDER BY n").fetchall()
    assert [value for (value,) in rows] == as_texts(derivation.feature(), expected_values(derivation, source))
    connection.close()


@EACH
def test_the_last_source_of_a_threshold(derivation, cells, source):
    if derivation.SOURCE == "text":
        assert derivation.last_source(0.5) is None
        return
    known = np.array([value for value in source if not np.isnan(value)])
    for threshold in (1899.5, 1900.0, 2000.0, 2020.5):
        last = derivation.last_source(threshold)
        if last is not None:
            assert np.array_equal(known <= last, derivation.values(known) <= threshold)
    assert (derivation.last_source(0.5) is not None) == (getattr(derivation, "part", "") == "year")


def test_other_languages_are_refused():
    with pytest.raises(ModelError, match="dates cannot be exported to cobol"):
        DatePart("on", "year").code("cobol", "x")
    with pytest.raises(ModelError, match="derived from 'plot' cannot be exported to sql"):
        Derivation("plot").code("sql", "x")


def test_parts_follow_their_date_and_names_do_not_collide():
    table = Table.from_array([[18691.0, 1.0]], (Feature("on", "date"), Feature("size")))
    assert add_derived(table).features == (*date_features("on"), Feature("size"))
    clash = Table.from_array([[18691.0, 1.0]], (Feature("on", "date"), Feature("on year")))
    with pytest.raises(DataError, match="its year is called 'on year', as another column is"):
        add_derived(clash)


def test_every_day_has_the_parts_that_python_gives_it():
    days = np.arange(-800.0, 20000.0, 37.0)
    dates = [datetime.date.fromisoformat(format_date(day)) for day in days]
    expected = [[d.year for d in dates], [d.month - 1 for d in dates], [d.weekday() for d in dates]]
    assert [DatePart("on", part).values(days).tolist() for part in DATE_PARTS] == expected


PAIRS = [
    ("2021-03-05", "2021-03-05"),
    ("1999-12-31", "2000-03-01"),
    ("2024-02-28", "2024-03-01 10:00"),
    (None, "2021-01-01"),
]
PAIRS += [
    ("2021-01-01", None),
    ("0004-02-29", "9999-12-31"),
    ("2100-02-28", "2100-03-01"),
    ("2021-05-01", "2021-04-30"),
]


@pytest.mark.parametrize("kind", [DaysBetween, YearsBetween])
@pytest.mark.parametrize("language", ["python", "javascript", "sqlite3", "duckdb"])
def test_days_between_two_dates(language, kind):
    span = kind("from", "to")
    record = json.loads(json.dumps(feature_record(span.feature())))
    assert read_feature(JsonNode(record, "model.json")) == span.feature()
    days = [[np.nan if t is None else day_of(t) for t in pair] for pair in PAIRS]
    expected = [None if np.isnan(d) else d for d in span.values(*np.array(days).T)]
    assert np.multiply(expected[:3], 365.25 if kind is YearsBetween else 1).round(9).tolist() == [0, 61, 2]
    if language == "python":
        namespace: dict[str, object] = {}
        exec(span.HELPERS["python"], namespace)
        found = [eval(span.code("python", repr(a), repr(b)), namespace) for a, b in PAIRS]
        found = [None if one != one else one for one in found]
    elif language == "javascript":
        if shutil.which("node") is None:
            pytest.skip("node is not installed")
        calls = ", ".join(span.code("javascript", json.dumps(a), json.dumps(b)) for a, b in PAIRS)
        script = f"{span.HELPERS['javascript']}\nconsole.log(JSON.stringify([{calls}]));"
        done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
    else:
        connection = pytest.importorskip(language).connect(":memory:")
        connection.execute('CREATE TABLE data (n INTEGER, "from" VARCHAR, "to" VARCHAR)')
        connection.executemany("INSERT INTO data VALUES (?, ?, ?)", [(n, *pair) for n, pair in enumerate(PAIRS)])
        value = span.code("sql", 'd."from"', 'd."to"')
        found = [one for (one,) in connection.execute(f"SELECT {value} FROM data AS d ORDER BY n").fetchall()]
        connection.close()
    assert found == (pytest.approx(expected) if language == "duckdb" else expected)
