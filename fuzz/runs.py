"""How inputs are run: bytes in, the shape of what came of them out; whatever else is raised is a finding."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import polyrule
from fuzz import seeds
from polyrule.data import Feature, Table, read, read_chunks, to_labels, to_table
from polyrule.data.derive.dates import date_features
from polyrule.data.labelspec import read_label_list
from polyrule.data.sources import Source
from polyrule.errors import PolyruleError

#: what a message quotes of its input: the rest is its shape
_INPUT = re.compile(r"'[^']*'|\"[^\"]*\"|[^A-Za-z ]+")


class Broken(AssertionError):
    """Something that must hold for every input does not."""


def attempt(work: Callable[[], object]) -> str:
    """Run; return the shape of what came of it. An error must be typed, and one line that says something."""
    try:
        return type(work()).__name__
    except PolyruleError as problem:
        text = str(problem)
        if not text or len(text) > 3000 or "Traceback" in text:
            raise Broken(f"no good message: {text[:200]!r}") from problem
        return f"{type(problem).__name__}: {_INPUT.sub('', text)[:80]}"


_OPTIONS: tuple[dict[str, Any], ...] = (
    {"labels": None},
    {"labels": "auto"},
    {"labels": "last:1"},
    {"labels": ["L"]},
    {"labels": None, "nominal": [0]},
    {"labels": None, "numeric": [0]},
    {"labels": None, "identifier": 0},
    {"labels": None, "weights": 0},
    {"tags": 0},
    {"labels": None, "decimal": ",", "delimiter": ";"},
    {"labels": None, "thousands": ",", "delimiter": ";"},
    {"labels": None, "header": False},
    {"labels": "first:1", "drop": [1]},
)


def reader(format: str | None) -> Callable[[bytes], str]:
    def run(raw: bytes) -> str:
        mark = zlib.crc32(raw)
        options = {**_OPTIONS[mark % len(_OPTIONS)], "format": format, "name": "fuzz", "max_bytes": 8_000_000}
        found = attempt(lambda: read(io.BytesIO(raw), **options))
        if mark % 7 == 0:
            attempt(lambda: sum(len(part) for part in read_chunks(io.BytesIO(raw), rows=2, **options)))
        return found

    return run


def run_sheet(raw: bytes) -> str:
    return reader("xlsx")(seeds.workbook(raw, zipfile.ZIP_STORED))


def run_labels(raw: bytes) -> str:
    return attempt(lambda: read_label_list(Source(io.BytesIO(raw))))


def sealed(raw: bytes) -> str:
    """The text with a checksum that fits, unless it is no document: most tampering must get past the checksum."""
    from polyrule.data.documents import checksum

    text = raw.decode("utf-8", "replace")
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or zlib.crc32(raw) % 9 == 0:
            return text
        document.pop("checksum", None)
        return json.dumps(document | {"checksum": checksum(document)})
    except (ValueError, RecursionError):
        return text


def run_model(raw: bytes) -> str:
    from polyrule.model.files import loads

    loaded: list[Any] = []
    found = attempt(lambda: loaded.append(loads(sealed(raw))))
    if loaded:
        use_model(loaded[0], zlib.crc32(raw))
    return found


def use_model(model: Any, mark: int) -> None:
    """Do with a loaded model what a program would; every step may refuse it, none may break."""
    from polyrule.model.files import dumps, loads
    from polyrule.verification import verify

    attempt(lambda: str(model))
    attempt(lambda: model.statistics())
    again: list[Any] = []
    attempt(lambda: again.append(loads(dumps(model))))
    if not again or dumps(again[0]) != dumps(model):
        raise Broken("a model that was loaded cannot be stored and loaded again")
    if len(model.features) > 100 or len(model.label_names) > 100:
        return
    table = Table(np.zeros((2, len(model.features)), order="F"), model.features)
    attempt(lambda: model.predict(table))
    attempt(lambda: model.predict_proba(table))
    match mark % 5:
        case 0:
            from polyrule.export import export

            for language in ("python", "sql", "c", "javascript"):
                attempt(lambda language=language: export(model, language))
        case 1:
            attempt(lambda: str(model.explain(table, 0)))
        case 2 if isinstance(model, polyrule.RuleList):
            attempt(lambda: verify(model, seeds.small_data()))
        case 3 if isinstance(model, polyrule.RuleList):
            attempt(lambda: model._repr_html_())
        case 4:
            from polyrule.report import build

            if mark % 35 == 4:
                attempt(lambda: build(model).html())


def run_expression(raw: bytes) -> str:
    from polyrule.measures.expression import parse

    text = raw.decode("utf-8", "surrogateescape")
    parsed: list[Any] = []
    found = attempt(lambda: parsed.append(parse(text)))
    for measure in parsed:
        attempt(partial(measure.value, 3, 1, 4, 2))
        attempt(partial(measure.value, 0, 0, 0, 0))
    return found


_FEATURES = (
    Feature("size"),
    Feature("hue", "nominal", ("red", "dark, blue", "true")),
    Feature('x "y" <= 3'),
    *date_features("day"),
    Feature("plan", "ordinal", ("basic", "plus", "pro")),
    Feature("depth [m]"),
    Feature("n (TP 3, FP 1)"),
    Feature("x is missing"),
)
_LABELS = ("red", "green", "¬odd", "not really", "\u202eb")


def run_rule(raw: bytes) -> str:
    from polyrule.conditions.text import Names
    from polyrule.model.parsing import parse_rule
    from polyrule.model.printing import Formatter

    text = raw.decode("utf-8", "surrogateescape")
    parsed: list[Any] = []
    found = attempt(lambda: parsed.append(parse_rule(text, _FEATURES, _LABELS)))
    for rule in parsed:
        again = parse_rule(Formatter(Names(_FEATURES, _LABELS)).rule(rule), _FEATURES, _LABELS)
        if (again.head, again.body, again.stop) != (rule.head, rule.body, rule.stop):
            raise Broken(f"a rule reads back as another one: {text!r}")
    return found


_MAKE: dict[str, Callable[[Any], Any]] = {
    "date": datetime.date.fromisoformat,
    "time": datetime.datetime.fromisoformat,
    "decimal": Decimal,
    "as is": lambda value: value,
}


def run_frame(raw: bytes) -> str:
    """Make a frame of each library from a description of its columns; reading it twice gives the same."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    try:
        columns, new = json.loads(raw)["columns"], pd.DataFrame(json.loads(raw)["new"])
        values = [[None if v is None else _MAKE[c["make"]](v) for v in c["values"]] for c in columns]
        names = [column["name"] for column in columns]
        library = columns[0]["library"]
        if library == "pandas":
            frame: Any = pd.DataFrame(dict(enumerate(values)))
            frame.columns = names
            for j, column in enumerate(columns):
                if column["type"]:
                    frame.isetitem(j, frame.iloc[:, j].astype(column["type"]))
        elif library == "polars":
            frame = pl.DataFrame([pl.Series(name, cells) for name, cells in zip(names, values, strict=True)])
        else:
            units = [pa.timestamp(c["unit"], tz=c["zone"]) if c["unit"] else None for c in columns]
            frame = pa.table([pa.array(cells, kind) for cells, kind in zip(values, units, strict=True)], names=names)
    except Exception as problem:  # no frame: what the libraries refuse never reaches us
        return f"no frame: {type(problem).__name__}"
    tables: list[Any] = []
    found = attempt(lambda: tables.append(to_table(frame)))
    for table in tables:
        with contextlib.suppress(PolyruleError):
            again = to_table(frame, table.features)
            if not np.array_equal(np.asarray(again), np.asarray(table), equal_nan=True):
                raise Broken("a frame reads as another table against its own features")
        attempt(lambda table=table: to_table(new, table.features, others="skip"))
        attempt(lambda: to_labels(frame, unknown=True))
    return found


@cache
def _store() -> tuple[Any, Any, Path]:
    from polyrule.evaluation.experiment.one_run import plan_runs
    from polyrule.evaluation.experiment.spec import load_spec

    folder = Path(tempfile.mkdtemp(prefix="polyrule-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    (folder / "spec.toml").write_text(seeds.SPEC)
    spec = load_spec(folder / "spec.toml")
    (run,) = plan_runs(spec)
    (folder / "rows").mkdir()
    return spec, folder, folder / "rows" / f"{run.key}.json"


def run_row(raw: bytes) -> str:
    from polyrule.evaluation.experiment.results import Results
    from polyrule.evaluation.experiment.writer import make_tables

    spec, folder, path = _store()
    path.write_bytes(raw)

    def work() -> object:
        results = Results.load(spec, folder)
        results.tidy_rows()
        return [table.markdown() for table in make_tables(results)] if zlib.crc32(raw) % 10 == 0 else results

    return attempt(work)


def run_spec(raw: bytes) -> str:
    from polyrule.evaluation.experiment.one_run import plan_runs
    from polyrule.evaluation.experiment.spec import load_spec

    path = _store()[1] / "other.toml"
    path.write_bytes(raw)
    return attempt(lambda: plan_runs(load_spec(path))[:10])


@cache
def _shell() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="polyrule-fuzz-"))
    (folder / "songs.csv").write_bytes(b"size,hue,a,b,c\n" + b"1.5,red,1,0,0\n-1,blue,0,1,1\n0.2,red,1,0,1\n" * 4)
    (folder / "songs.arff").write_bytes(seeds.ARFF)
    (folder / "model.json").write_bytes(seeds.models()[0])
    (folder / "broken.json").write_bytes(seeds.models()[0][:200])
    return folder


def run_command(raw: bytes) -> str:
    from click.testing import CliRunner

    from polyrule.cli import app

    words = [word.decode("utf-8", "replace") for word in raw.split(b"\n") if word]
    first = next((word for word in words if not word.startswith("-")), "")
    if first in ("experiment", "datasets") or any(
        mark in word for word in words for mark in ("/", "~", "..", "\x00", ":")
    ):
        return "skipped"  # processes, the network, and files that are not ours
    before = os.getcwd()
    os.chdir(_shell())
    try:
        result = CliRunner().invoke(app, words, input=b"", env={"POLYRULE_OFFLINE": "1"})
    finally:
        os.chdir(before)
    text = result.output
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    asked = "--debug" in words  # which is what shows tracebacks
    if result.exit_code not in (0, 1, 2) or "internal error" in text or ("Traceback" in text and not asked):
        raise Broken(f"{words}: exit code {result.exit_code}: {text[-300:]}")
    return f"{first[:12]} {result.exit_code}"
