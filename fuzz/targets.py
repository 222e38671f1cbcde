"""What is attacked: each target takes bytes and may answer with a result or one typed error, nothing else."""

from __future__ import annotations

import contextlib
import json
import urllib.request
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz import runs, seeds, stores
from fuzz.mutate import mutate_bytes, mutate_json, mutate_words

CORPUS = Path(__file__).parent / "corpus"


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


def _encoded(*texts: str) -> list[bytes]:
    return [text.encode() for text in texts]


def _commands() -> list[bytes]:
    return [command.replace(" ", "\n").encode() for command in seeds.COMMANDS]


_TEXTS = (seeds.ARFF, seeds.CSV, seeds.JSONL, seeds.LIBSVM, seeds.XC)

TARGETS = (
    Target("arff", runs.reader("arff"), lambda: [seeds.ARFF], seeds.ARFF_WORDS),
    Target("csv", runs.reader("csv"), lambda: [seeds.CSV], (b'"', b'""', b",", b"\n", b"\xe9", b"\xff\xfe", b"NA")),
    Target("tsv", runs.reader("tsv"), lambda: [seeds.CSV.replace(b",", b"\t")], (b"\t", b'"\t"'), share=0.3),
    Target("jsonl", runs.reader("jsonl"), lambda: [seeds.JSONL], (b'{"k": 1}\n', b"null", b"[1]", b"1e999", b"NaN")),
    Target(
        "libsvm",
        runs.reader("libsvm"),
        lambda: [seeds.LIBSVM, seeds.XC],
        (b"1:1 ", b"4999999:1", b"2 5 3\n", b"-1:1", b"1:nan"),
    ),
    Target("any", runs.reader(None), lambda: list(_TEXTS), (b"PK\x03\x04", b"PAR1", b"BZh"), share=0.5),
    Target("parquet", runs.reader("parquet"), lambda: list(seeds.parquet_seeds()), (b"PAR1",), share=0.5),
    Target("xlsx", runs.reader("xlsx"), lambda: [seeds.workbook()], (b"PK\x03\x04", b"PK\x01\x02"), share=0.3),
    Target(
        "sheet", runs.run_sheet, lambda: [seeds.SHEET], (b"<row>", b'<c t="s">', b"<!DOCTYPE a>", b"&a;"), share=0.5
    ),
    Target("packed", runs.reader(None), seeds.packed, (), share=0.3),
    Target(
        "labels",
        runs.run_labels,
        lambda: [seeds.XML],
        (b"<label", b"<!ENTITY a 'b'>", b"&a;", b"</labels>", b"<![CDATA["),
    ),
    Target(
        "model", runs.run_model, lambda: list(seeds.models()), _encoded('"kind"', "1e999", "null"), mutate_json, share=2
    ),
    Target("header", stores.run_header, stores.headers, _encoded('"lows"', "1e999", "null"), mutate_json),
    Target("blocks", stores.run_blocks, stores.blocks, (b"\xff", b"\x00" * 8, b"\xff" * 8), share=0.5),
    Target(
        "expression",
        runs.run_expression,
        lambda: _encoded(*seeds.EXPRESSIONS),
        _encoded("tp", "**", "sqrt("),
        share=4,
    ),
    Target(
        "rule",
        runs.run_rule,
        lambda: _encoded(*seeds.RULES),
        _encoded(*seeds.RULE_WORDS),
        share=4,
    ),
    Target("frame", runs.run_frame, lambda: list(seeds.FRAMES), (b"2021-03-05", b"0001-01-01", b"null"), mutate_json),
    Target(
        "row",
        runs.run_row,
        lambda: [json.dumps(seeds.ROW).encode(), b'{"status": "failed", "error": "x"}'],
        (),
        mutate_json,
    ),
    Target(
        "spec",
        runs.run_spec,
        lambda: [seeds.SPEC.encode()],
        _encoded("[[data]]\n", "[split]\n", "folds = 3\n", "[limits]\n"),
    ),
    Target("command", runs.run_command, _commands, seeds.COMMAND_WORDS, mutate_words, share=0.5),
)


@contextlib.contextmanager
def quiet() -> Any:
    """No network and no warnings while inputs are run."""

    def refuse(*_: object, **__: object) -> Any:
        raise OSError("the fuzzer uses no network")

    before, urllib.request.urlopen = urllib.request.urlopen, refuse
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        urllib.request.urlopen = before
