"""The forms in which predictions are written, one block of rows after the other."""

from __future__ import annotations

import contextlib
import csv
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from polyrule.cli.output import cannot_write
from polyrule.errors import OptionError
from polyrule.names import safe_cell

FORMATS = ("csv", "tsv", "jsonl", "labels", "parquet")
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".txt": "labels",
    ".parquet": "parquet",
}


class Writer(Protocol):
    """Takes blocks of predictions."""

    def write(self, values: Any, beside: Sequence[Sequence[str]]) -> None:
        """Write one row per row of `values`, after the cells of the columns that stand beside them."""


def format_of(output: Path | None, asked: str | None) -> str:
    """Return the format that was asked for, or that the ending of the file says."""
    chosen = asked or _ENDINGS.get(output.suffix.lower() if output else "", "csv")
    if chosen == "parquet" and output is None:
        raise OptionError("parquet cannot be written to standard output; give a file with -o")
    return chosen


@contextlib.contextmanager
def open_writer(
    chosen: str,
    output: Path | None,
    names: Sequence[str],
    scores: bool,
    beside: Sequence[str],
    safe: bool = False,
) -> Iterator[Writer]:
    """Open a writer; a file appears when everything is written, standard output receives every block at once."""
    if safe and chosen not in ("csv", "tsv"):
        raise OptionError(f"--safe-csv is for csv and tsv, which spreadsheets open, not for {chosen}")
    if chosen == "labels" and scores:
        raise OptionError("--to labels writes names, so it cannot be combined with --scores")
    if output is None or str(output) == "-":
        yield _text_writer(chosen, sys.stdout, names, beside, safe)
        return
    from polyrule.model.atomic import atomic_write

    try:
        if chosen == "parquet":
            with atomic_write(output, "wb") as binary, _ParquetWriter(binary, names, scores, beside) as parquet:
                yield parquet
        else:
            with atomic_write(output) as stream:
                yield _text_writer(chosen, stream, names, beside, safe)
    except OSError as error:
        raise cannot_write(output, error) from error


def _text_writer(chosen: str, stream: Any, names: Sequence[str], beside: Sequence[str], safe: bool) -> Writer:
    if chosen == "jsonl":
        return _JsonWriter(stream, names, beside)
    if chosen == "labels":
        return _LabelWriter(stream, names)
    return _TableWriter(stream, names, beside, "," if chosen == "csv" else "\t", safe)


class _TableWriter:
    """CSV or TSV with a header."""

    def __init__(
        self, stream: Any, names: Sequence[str], beside: Sequence[str], separator: str, safe: bool = False
    ) -> None:
        self._csv = csv.writer(stream, delimiter=separator, lineterminator="\n")
        self._cell = safe_cell if safe else str
        self._csv.writerow([self._cell(name) for name in (*beside, *names)])

    def write(self, values: Any, beside: Sequence[Sequence[str]]) -> None:
        kept = [[self._cell(cell) for cell in column] for column in beside]
        self._csv.writerows([*cells, *row] for *cells, row in zip(*kept, values.tolist(), strict=True))


class _JsonWriter:
    """One JSON object per line: the columns beside the labels, and the labels."""

    def __init__(self, stream: Any, names: Sequence[str], beside: Sequence[str]) -> None:
        self._stream, self._names, self._beside = stream, names, beside

    def write(self, values: Any, beside: Sequence[Sequence[str]]) -> None:
        for *cells, row in zip(*beside, values.tolist(), strict=True):
            record: dict[str, Any] = dict(zip(self._beside, cells, strict=True))
            record["labels"] = dict(zip(self._names, row, strict=True))
            self._stream.write(json.dumps(record, ensure_ascii=False) + "\n")


class _LabelWriter:
    """The names of the present labels, separated by commas, quoted as rules quote them."""

    def __init__(self, stream: Any, names: Sequence[str]) -> None:
        from polyrule.model.printing import format_name

        self._stream = stream
        self._names = [format_name(name) for name in names]

    def write(self, values: Any, beside: Sequence[Sequence[str]]) -> None:
        for *cells, row in zip(*beside, values.tolist(), strict=True):
            present = ", ".join(self._names[k] for k, there in enumerate(row) if there)
            self._stream.write("\t".join([*cells, present]) + "\n")


class _ParquetWriter:
    """Parquet, one row group per block."""

    def __init__(self, stream: Any, names: Sequence[str], scores: bool, beside: Sequence[str]) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise OptionError("Parquet needs pyarrow, which is not installed: pip install 'polyrule[files]'") from error
        self._arrow = pyarrow
        kind = pyarrow.float64() if scores else pyarrow.uint8()
        fields = [(name, pyarrow.string()) for name in beside]
        self._schema = pyarrow.schema([*fields, *((name, kind) for name in names)])
        self._writer = pyarrow.parquet.ParquetWriter(stream, self._schema)

    def __enter__(self) -> _ParquetWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def write(self, values: Any, beside: Sequence[Sequence[str]]) -> None:
        columns = [self._arrow.array(column) for column in [*beside, *values.T.copy()]]
        table = self._arrow.Table.from_arrays(columns, schema=self._schema)
        self._writer.write_table(table)
