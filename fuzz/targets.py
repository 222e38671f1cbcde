"""What is attacked: each target takes bytes and may answer with a result or one typed error, nothing else."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import polyrule
from fuzz.mutate import mutate_bytes, mutate_json, mutate_words
from polyrule.data import Dataset, Feature, Table, read, read_chunks
from polyrule.data.mulan import read_label_list
from polyrule.data.sources import Source
from polyrule.errors import PolyruleError

CORPUS = Path(__file__).parent / "corpus"


#: what a message quotes of its input: the rest is its shape
_INPUT = re.compile(r"'[^']*'|\"[^\"]*\"|[^A-Za-z ]+")


class Broken(AssertionError):
    """Something that must hold for every input does not."""


@dataclass(frozen=True)
class Target:
    """One thing to attack: how it is run, what its inputs start from, and how they are changed."""

    name: str
    run: Callable[[bytes], str]
    seeds: Callable[[], list[bytes]]
    words: Sequence[bytes] = ()
    mutate: Callable[..., bytes] = mutate_bytes
    share: float = 1.0

    def inputs(self) -> list[bytes]:
        """Seeds and the cases kept from earlier runs."""
        folder = CORPUS / self.name
        kept = [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []
        return [*self.seeds(), *kept]


def attempt(work: Callable[[], object]) -> str:
    """Run; return the shape of what came of it. An error must be typed, and one line that says something."""
    try:
        return type(work()).__name__
    except PolyruleError as problem:
        text = str(problem)
        if not text or len(text) > 3000 or "Traceback" in text:
            raise Broken(f"no good message: {text[:200]!r}") from problem
        return f"{type(problem).__name__}: {_INPUT.sub('', text)[:80]}"


# ---------------------------------------------------------------------------------------------------------------- data

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
    {"labels": None, "header": False},
    {"labels": "first:1", "drop": [1]},
)


def _reader(format: str | None) -> Callable[[bytes], str]:
    def run(raw: bytes) -> str:
        mark = zlib.crc32(raw)
        options = {**_OPTIONS[mark % len(_OPTIONS)], "format": format, "name": "fuzz", "max_bytes": 8_000_000}
        found = attempt(lambda: read(io.BytesIO(raw), **options))
        if mark % 7 == 0:
            attempt(lambda: sum(len(part) for part in read_chunks(io.BytesIO(raw), rows=2, **options)))
        return found

    return run


_ARFF = rb"""@relation 'songs: -C 2'
% a comment
@attribute calm {0,1}
@attribute 'don\'t' {1,0}
@attribute size numeric
@attribute hue {'dark red',"a,b",c}
@data
0,1,2.5,'dark red'
1,0,?,c % half
{0 1, 2 3e2, 3 "a,b"}, {0.5}
{}
"""
_CSV = b'id,size,hue,L\n1,2.5,"a ""b"", c",1\n2,?,"two\nlines",0\n3,-1e3,x,1\n'
_JSONL = b'{"a": 1, "b": "x", "t": ["u", "v"], "L": 1}\n{"a": null, "b": true, "L": 0}\n'
_LIBSVM = b"1,3 1:0.5 4:2 # note\n3 2:1\n 1:7e-3\n2\n"
_XC = b"2 5 3\n0,2 0:0.5 4:2\n1 2:1\n"
_XML = b'<?xml version="1.0"?><labels><label name="a"><label name="b &amp; c"/></label></labels>'


@cache
def _parquet_seeds() -> tuple[bytes, ...]:
    import pyarrow as pa
    from pyarrow import parquet

    made = []
    columns = {"a": [1.5, None, 2.0], "b": ["x", "y", None], "t": [["u"], [], None], "d": [True, False, None]}
    for options in ({}, {"compression": "zstd"}, {"use_dictionary": False, "compression": "none"}):
        stream = io.BytesIO()
        parquet.write_table(pa.table({**columns, "L": [1, 0, 1]}), stream, **options)
        made.append(stream.getvalue())
    return tuple(made)


def _labels(raw: bytes) -> str:
    return attempt(lambda: read_label_list(Source(io.BytesIO(raw))))


# -------------------------------------------------------------------------------------------------------------- models


@cache
def _models() -> tuple[bytes, ...]:
    from polyrule.kinds import load  # noqa: F401 (registers every kind of model)
    from polyrule.model.files import dumps

    data = _small_data()
    rules = polyrule.RuleListClassifier(max_rules=4).fit(data).model_
    relevance = polyrule.BinaryRelevanceRuleClassifier().fit(data).model_
    return dumps(rules).encode(), dumps(relevance).encode(), _ENSEMBLE


def _small_data() -> Dataset:
    rng = np.random.default_rng(0)
    hue = Feature("hue", "nominal", ("red", "blue"))
    values = np.column_stack([rng.normal(size=30), rng.integers(0, 2, 30)])
    truth = np.column_stack([values[:, 0] > 0, values[:, 1] > 0, rng.random(30) < 0.3]).astype(np.uint8)
    return Dataset(Table.from_array(values, [Feature("size"), hue]), truth, ("a", "b", "c"), "small")


_ENSEMBLE = json.dumps(
    {
        "format": "polyrule-model",
        "version": 1,
        "kind": "rule-ensemble",
        "info": {"learner": "RuleEnsembleClassifier"},
        "labels": ["a", "b"],
        "features": [{"name": "size", "kind": "numeric"}],
        "unit": 1.0,
        "intercepts": [0.5, -1.0],
        "decision": {"kind": "threshold", "cuts": [0.0, 0.0], "label_sets": []},
        "rules": [
            {
                "head": [{"label": "a", "weight": 2.0}],
                "body": [{"feature": "size", "op": ">", "value": 0.5}],
                "coverage": 3,
            }
        ],
    }
).encode()


def _sealed(raw: bytes) -> str:
    """The text with a checksum that fits, unless it is no document: most tampering must get past the checksum."""
    from polyrule.model.files import _checksum

    text = raw.decode("utf-8", "replace")
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or zlib.crc32(raw) % 9 == 0:
            return text
        document.pop("checksum", None)
        return json.dumps(document | {"checksum": _checksum(document)})
    except (ValueError, RecursionError):
        return text


def _model(raw: bytes) -> str:
    from polyrule.model.files import loads

    loaded: list[Any] = []
    found = attempt(lambda: loaded.append(loads(_sealed(raw))))
    if loaded:
        use_model(loaded[0], zlib.crc32(raw))
    return found


def use_model(model: Any, mark: int) -> None:
    """Do with a loaded model what a program would; every step may refuse it, none may break."""
    from polyrule.learning.verify import verify
    from polyrule.model.files import dumps, loads

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
            from polyrule.kinds import export

            for language in ("python", "sql", "c", "javascript"):
                attempt(lambda language=language: export(model, language))
        case 1:
            attempt(lambda: str(model.explain(table, 0)))
        case 2 if isinstance(model, polyrule.RuleList):
            attempt(lambda: verify(model, _small_data()))
        case 3 if isinstance(model, polyrule.RuleList):
            attempt(lambda: model._repr_html_())
        case 4:
            from polyrule.report import build

            if mark % 35 == 4:
                attempt(lambda: build(model).html())


# --------------------------------------------------------------------------------------------------------- expressions


def _expression(raw: bytes) -> str:
    from polyrule.measures.expression import parse

    text = raw.decode("utf-8", "surrogateescape")
    parsed: list[Any] = []
    found = attempt(lambda: parsed.append(parse(text)))
    for measure in parsed:
        attempt(partial(measure.value, 3, 1, 4, 2))
        attempt(partial(measure.value, 0, 0, 0, 0))
    return found


_FEATURES = (Feature("size"), Feature("hue", "nominal", ("red", "dark, blue", "true")), Feature('x "y" <= 3'))
_LABELS = ("red", "green", "¬odd", "not really", "\u202eb")


def _rule(raw: bytes) -> str:
    from polyrule.model.parsing import parse_rule
    from polyrule.model.printing import format_rule

    text = raw.decode("utf-8", "surrogateescape")
    parsed: list[Any] = []
    found = attempt(lambda: parsed.append(parse_rule(text, _FEATURES, _LABELS)))
    for rule in parsed:
        again = parse_rule(format_rule(rule, _FEATURES, _LABELS), _FEATURES, _LABELS)
        if (again.head, again.body, again.stop) != (rule.head, rule.body, rule.stop):
            raise Broken(f"a rule reads back as another one: {text!r}")
    return found


# --------------------------------------------------------------------------------------------------------- experiments

_SPEC = """
name = "tiny"
[[data]]
name = "made"
make = "sklearn.datasets.make_multilabel_classification"
[[learner]]
name = "majority"
class = "polyrule.evaluation.MajorityClassifier"
"""
_ROW = {
    "status": "ok",
    "fit_seconds": 0.5,
    "rules": 3,
    "micro_f1": 0.5,
    "counts": {"examples": 2, "tp": [1, 0], "fp": [0, 1], "fn": [1, 0], "example_groups": [[1, 1, 1, 1], [0, 1, 0, 1]]},
    "versions": {"python": "3.11"},
}


@cache
def _store() -> tuple[Any, Any, Path]:
    from polyrule.evaluation.experiment.plan import plan_runs
    from polyrule.evaluation.experiment.spec import load_spec

    folder = Path(tempfile.mkdtemp(prefix="polyrule-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    (folder / "spec.toml").write_text(_SPEC)
    spec = load_spec(folder / "spec.toml")
    (run,) = plan_runs(spec)
    (folder / "rows").mkdir()
    return spec, folder, folder / "rows" / f"{run.key}.json"


def _row(raw: bytes) -> str:
    from polyrule.evaluation.experiment.results import Results
    from polyrule.evaluation.experiment.writer import make_tables

    spec, folder, path = _store()
    path.write_bytes(raw)

    def work() -> object:
        results = Results.load(spec, folder)
        results.tidy_rows()
        return [table.markdown() for table in make_tables(results)] if zlib.crc32(raw) % 10 == 0 else results

    return attempt(work)


def _spec(raw: bytes) -> str:
    from polyrule.evaluation.experiment.plan import plan_runs
    from polyrule.evaluation.experiment.spec import load_spec

    path = _store()[1] / "other.toml"
    path.write_bytes(raw)
    return attempt(lambda: plan_runs(load_spec(path))[:10])


# -------------------------------------------------------------------------------------------------------- command line


@cache
def _shell() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="polyrule-fuzz-"))
    (folder / "songs.csv").write_bytes(b"size,hue,a,b,c\n" + b"1.5,red,1,0,0\n-1,blue,0,1,1\n0.2,red,1,0,1\n" * 4)
    (folder / "songs.arff").write_bytes(_ARFF)
    (folder / "model.json").write_bytes(_models()[0])
    (folder / "broken.json").write_bytes(_models()[0][:200])
    return folder


def _command(raw: bytes) -> str:
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


def _lines(*commands: str) -> Callable[[], list[bytes]]:
    return lambda: [command.replace(" ", "\n").encode() for command in commands]


def _packed() -> list[bytes]:
    import bz2
    import lzma

    return [pack(raw) for pack in (gzip.compress, bz2.compress, lzma.compress) for raw in (_CSV, _ARFF)]


_ARFF_WORDS = (
    b"@attribute x numeric\n",
    b"@data\n",
    b"{0 1}",
    b"'a\\'b'",
    b"?",
    b", {0.5}",
    b"date",
    b"string",
    b"% c",
)
_EXPRESSIONS = (
    "tp/(tp+fp+0.5*fn)",
    "sqrt(tp*tn)-log(1+fp)",
    "max(tp,fn)^2/(1+abs(fp-tn))",
    "-tp**-2+.5e3*min(1,fp,tn)",
)
_RULES = (
    "red, ¬green <- size > 5.5, hue = red   (TP 65, FP 0) [stop]",
    '1. not red <- hue = "dark, blue", green',
    'green <- "x \\"y\\" <= 3" <= -1e-3',
    '"¬odd", ¬"not really" <- true',
)
_COMMANDS = (
    "show model.json --format csv --safe-csv",
    "predict model.json songs.csv --to jsonl",
    "train songs.csv --labels a,b,c --max-rules 2 --measure f1",
    "explain model.json songs.csv --row 2 --flip a",
    "evaluate model.json songs.csv --labels a,b,c",
    "verify model.json songs.csv --labels a,b,c",
    "export model.json --to sql",
    "data songs.arff --labels last:1",
    "measure check tp/(tp+fp)",
    "edit remove model.json 1 -o out.json",
)
_WORDS = tuple(
    word.encode()
    for word in (
        *(
            "show",
            "predict",
            "train",
            "explain",
            "evaluate",
            "verify",
            "export",
            "data",
            "measure",
            "check",
            "edit",
            "head",
        ),
        *("--json", "--labels", "--format", "--to", "--digits", "--row", "--max-rules", "--measure", "--id", "--tags"),
        *(
            "--weights",
            "--drop",
            "--nominal",
            "--encoding",
            "--delimiter",
            "--decimal",
            "--missing",
            "--header",
            "-o",
            "--",
        ),
        *(
            "model.json",
            "broken.json",
            "songs.csv",
            "songs.arff",
            "none.csv",
            "csv",
            "sql",
            "python",
            "last:1",
            "a",
            "hex",
        ),
        *(
            "--help",
            "--debug",
            "--config",
            "--dump-config",
            "--scores",
            "--rows",
            "--lift",
            "--scope",
            "all",
            "kln:0.1",
        ),
    )
)


def _json_words(*words: str) -> tuple[bytes, ...]:
    return tuple(word.encode() for word in words)


TARGETS = (
    Target("arff", _reader("arff"), lambda: [_ARFF], _ARFF_WORDS),
    Target("csv", _reader("csv"), lambda: [_CSV], (b'"', b'""', b",", b"\n", b"\xe9", b"\xff\xfe", b"NA")),
    Target("tsv", _reader("tsv"), lambda: [_CSV.replace(b",", b"\t")], (b"\t", b'"\t"'), share=0.3),
    Target("jsonl", _reader("jsonl"), lambda: [_JSONL], (b'{"k": 1}\n', b"null", b"[1]", b"1e999", b"NaN")),
    Target("libsvm", _reader("libsvm"), lambda: [_LIBSVM, _XC], (b"1:1 ", b"4999999:1", b"2 5 3\n", b"-1:1", b"1:nan")),
    Target(
        "any", _reader(None), lambda: [_ARFF, _CSV, _JSONL, _LIBSVM, _XC], (b"PK\x03\x04", b"PAR1", b"BZh"), share=0.5
    ),
    Target("parquet", _reader("parquet"), lambda: list(_parquet_seeds()), (b"PAR1",), share=0.5),
    Target("packed", _reader(None), _packed, (), share=0.3),
    Target("labels", _labels, lambda: [_XML], (b"<label", b"<!ENTITY a 'b'>", b"&a;", b"</labels>", b"<![CDATA[")),
    Target("model", _model, lambda: list(_models()), _json_words('"kind"', "1e999", "null"), mutate_json, share=2),
    Target(
        "expression",
        _expression,
        lambda: [text.encode() for text in _EXPRESSIONS],
        _json_words("tp", "**", "sqrt("),
        share=4,
    ),
    Target(
        "rule", _rule, lambda: [text.encode() for text in _RULES], _json_words("<-", "¬", '"', ", ", "[stop]"), share=4
    ),
    Target("row", _row, lambda: [json.dumps(_ROW).encode(), b'{"status": "failed", "error": "x"}'], (), mutate_json),
    Target(
        "spec", _spec, lambda: [_SPEC.encode()], _json_words("[[data]]\n", "[split]\n", "folds = 3\n", "[limits]\n")
    ),
    Target("command", _command, _lines(*_COMMANDS), _WORDS, mutate_words, share=0.5),
)


@contextlib.contextmanager
def quiet() -> Any:
    """No network and no warnings while inputs are run."""
    import urllib.request
    import warnings

    def refuse(*_: object, **__: object) -> Any:
        raise OSError("the fuzzer uses no network")

    before, urllib.request.urlopen = urllib.request.urlopen, refuse
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        urllib.request.urlopen = before
