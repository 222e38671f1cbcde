"""``polyrule predict``: labels or probabilities of new examples, read and written piece by piece."""

from __future__ import annotations

import contextlib
import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click

from polyrule.cli.arguments import (
    data_argument,
    data_options,
    load_chunks,
    load_column,
    load_model,
    model_argument,
    open_once,
    with_known,
)
from polyrule.cli.command import command, output_option
from polyrule.cli.output import check_place, counting_progress, note
from polyrule.errors import OptionError
from polyrule.utils.atomic import atomic_write
from polyrule.utils.names import safe_cell

FORMATS = ("csv", "tsv", "jsonl", "labels", "parquet", "xlsx")
_ROWS_OF_A_SHEET = 1 << 20


#: Writes a row per row of values, after the cells of the columns that stand beside them.
Write = Callable[[Any, Sequence[Sequence[str]]], None]


def format_of(output: Path | None, name: str | None) -> str:
    """Return the requested format, or that of the ending of the file."""
    from polyrule.data.sniff import ENDINGS, PACKED

    ending = output.suffix.lower() if output else ""
    if ending in PACKED:
        raise OptionError(f"{output}: is not compressed while it is written; leave {ending} out of its name")
    form = name or {**ENDINGS, ".txt": "labels"}.get(ending, "csv")
    if form not in FORMATS:
        raise OptionError(f"{output}: predictions are not written as {form}, but as {', '.join(FORMATS)}; say --to")
    if form in ("parquet", "xlsx") and output is None:
        raise OptionError(f"{form} cannot be written to standard output; give a file with -o")
    return form


@contextlib.contextmanager
def open_writer(
    form: str,
    output: Path | None,
    names: Sequence[str],
    scores: bool,
    beside: Sequence[str],
    safe: bool = False,
) -> Iterator[Write]:
    """Open a writer; a file appears when everything is written, standard output receives every block at once."""
    if safe and form not in ("csv", "tsv"):
        raise OptionError(f"--safe-csv is for csv and tsv, which spreadsheets open, not for {form}")
    if form == "labels" and scores:
        raise OptionError("--to labels writes names, so it cannot be combined with --scores")
    if output is None:
        yield _text_writer(form, sys.stdout, names, beside, safe)
        return
    if form in ("parquet", "xlsx"):
        with atomic_write(output, "wb") as binary:
            opened = _parquet(binary, names, scores, beside) if form == "parquet" else _workbook(binary, names, beside)
            with opened as write:
                yield write
    else:
        with atomic_write(output) as stream:
            yield _text_writer(form, stream, names, beside, safe)


def _text_writer(form: str, stream: Any, names: Sequence[str], beside: Sequence[str], safe: bool) -> Write:
    if form == "jsonl":
        return _objects(stream, names, beside)
    if form == "labels":
        return _present(stream, names)
    return _table(stream, names, beside, "," if form == "csv" else "\t", safe)


def _table(stream: Any, names: Sequence[str], beside: Sequence[str], separator: str, safe: bool) -> Write:
    """CSV or TSV with a header."""
    table = csv.writer(stream, delimiter=separator, lineterminator="\n")
    as_cell = safe_cell if safe else str
    table.writerow([as_cell(name) for name in (*beside, *names)])

    def write(values: Any, columns: Sequence[Sequence[str]]) -> None:
        cells_of = [[as_cell(cell) for cell in column] for column in columns]
        table.writerows([*cells, *row] for *cells, row in zip(*cells_of, values.tolist(), strict=True))

    return write


def _objects(stream: Any, names: Sequence[str], beside: Sequence[str]) -> Write:
    """One JSON object per line: the columns beside the labels, and the labels."""

    def write(values: Any, columns: Sequence[Sequence[str]]) -> None:
        for *cells, row in zip(*columns, values.tolist(), strict=True):
            record: dict[str, Any] = dict(zip(beside, cells, strict=True))
            record["labels"] = dict(zip(names, row, strict=True))
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")

    return write


def _present(stream: Any, names: Sequence[str]) -> Write:
    """The names of the present labels, separated by commas, quoted as rules quote them."""
    from polyrule.conditions.text import format_name

    label_texts = [format_name(name) for name in names]

    def write(values: Any, columns: Sequence[Sequence[str]]) -> None:
        for *cells, row in zip(*columns, values.tolist(), strict=True):
            present = ", ".join(label_texts[k] for k, there in enumerate(row) if there)
            stream.write("\t".join([*cells, present]) + "\n")

    return write


@contextlib.contextmanager
def _parquet(stream: Any, names: Sequence[str], scores: bool, beside: Sequence[str]) -> Iterator[Write]:
    """Parquet, one row group per block."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise OptionError("Parquet needs pyarrow, which is not installed: pip install 'polyrule[files]'") from error
    kind = pyarrow.float64() if scores else pyarrow.uint8()
    schema = pyarrow.schema([*((name, pyarrow.string()) for name in beside), *((name, kind) for name in names)])
    with pyarrow.parquet.ParquetWriter(stream, schema) as writer:

        def write(values: Any, columns: Sequence[Sequence[str]]) -> None:
            arrays = [pyarrow.array(column) for column in [*columns, *values.T.copy()]]
            writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

        yield write


@contextlib.contextmanager
def _workbook(stream: Any, names: Sequence[str], beside: Sequence[str]) -> Iterator[Write]:
    """One sheet with a header; names and ids are texts, never formulas."""
    try:
        import xlsxwriter
    except ImportError as error:
        missing = "writing xlsx needs xlsxwriter, which is not installed: pip install 'polyrule[excel]'"
        raise OptionError(missing) from error
    book = xlsxwriter.Workbook(stream, {"constant_memory": True, "strings_to_urls": False})
    sheet = book.add_worksheet("predictions")

    def write_text(row: int, column: int, text: str) -> None:
        if sheet.write_string(row, column, text):
            raise OptionError(
                "a sheet holds 16,384 columns and 32,767 characters in a cell, and there are more; write csv or parquet"
            )

    for column, name in enumerate((*beside, *names)):
        write_text(0, column, name)
    sheet.freeze_panes(1, len(beside))
    done = 1

    def write(values: Any, columns: Sequence[Sequence[str]]) -> None:
        nonlocal done
        if done + len(values) > _ROWS_OF_A_SHEET:
            raise OptionError(f"a sheet holds {_ROWS_OF_A_SHEET - 1} rows and there are more; write csv or parquet")
        for *cells, row in zip(*columns, values.tolist(), strict=True):
            for column, cell in enumerate(cells):
                write_text(done, column, cell)
            for column, value in enumerate(row, len(cells)):
                sheet.write_number(done, column, value)
            done += 1

    try:
        yield write
    finally:
        book.close()  # which removes its temporary files


@command("predict")
@model_argument
@data_argument
@output_option("Where to write [standard output].")
@click.option("--to", "to", type=click.Choice(FORMATS), help="Format of the output [by its ending, else csv].")
@click.option(
    "--probabilities", "--scores", "scores", is_flag=True, help="Write probabilities instead of 0 and 1; both names do."
)
@click.option("--digits", type=click.IntRange(1, 17), default=4, show_default=True, help="Digits of these in text.")
@click.option(
    "--keep", multiple=True, metavar="A,B,..", help="Columns of DATA to write beside the labels; may be repeated."
)
@click.option("--rows", type=click.IntRange(min=1), default=10_000, show_default=True, help="Rows held at a time.")
@click.option("--safe-csv", is_flag=True, help="Keep spreadsheets from running names and ids as formulas.")
@click.option("--json", "as_json", is_flag=True, help="The same as --to jsonl.")
@data_options
def predict(
    model: Path,
    data: str,
    output: Path | None,
    to: str | None,
    scores: bool,
    digits: int,
    keep: tuple[str, ...],
    rows: int,
    safe_csv: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    r"""Predict the labels of every example of DATA, which need not have labels.

    csv and tsv have a column per label, jsonl an object per line, labels a line per example with the names of the
    labels that are present; parquet needs pyarrow, xlsx needs xlsxwriter. The --id column, which the model
    remembers, and those of --keep come first. Memory does not grow with DATA.

    Names and ids from strangers may start with =, +, - or @, which a spreadsheet runs as a formula: --safe-csv puts an
    apostrophe before them.

    \b
    Examples:
      polyrule predict model.json new.csv -o predicted.csv
      polyrule predict model.json new.csv --keep id,name --probabilities
      polyrule predict model.json new.arff.gz --probabilities --to jsonl | head
      cat new.csv | polyrule predict model.json - --to labels
    """
    from polyrule.model.columns import drop_unused_features

    output = None if str(output) == "-" else output  # standard output, too
    check_place(output, model, data)
    form = format_of(output, "jsonl" if as_json else to)
    stored = drop_unused_features(load_model(model))
    exact = form in ("parquet", "xlsx") or digits > 15  # numbers, which a reader rounds as it likes
    done = 0
    columns_kept = list(dict.fromkeys(name.strip() for names in keep for name in names.split(",")))
    source = open_once(data, reading, stored)
    options_read = with_known(data, reading, stored, source)
    if reading.get("identifier") is None and options_read.get("identifier") in columns_kept:
        options_read["identifier"] = None  # it stands where --keep puts it
    identifier = options_read.get("identifier")
    parts = load_chunks(data, options_read, stored, rows, source)
    columns = [_begun(load_column(data, reading, stored, name, rows)) for name in columns_kept]
    beside = [*([identifier if form != "jsonl" else "id"] if identifier else []), *columns_kept]
    # Nothing is written, not even a header, before the columns and the first rows have been read.
    first = list(islice(parts, 1))
    with (
        counting_progress("predicting", None, quiet=output is None) as show,
        open_writer(form, output, stored.label_names, scores, beside, safe_csv) as write,
    ):
        for part in chain(first, parts):
            values = stored.predict_proba(part.X) if scores else stored.predict(part.X)
            values = values.round(digits) if scores and not exact else values
            ids = [] if part.row_ids is None else [part.row_ids]
            write(values, [*ids, *(list(islice(column, len(part))) for column in columns)])
            done += len(part)
            show(done)
    if output is not None:
        note(f"{done} rows written to {output}")


def _begun(cells: Iterator[str]) -> Iterator[str]:
    """Read the first cell, so that what is wrong with a column is found before anything is written."""
    first = list(islice(cells, 1))
    return chain(first, cells)
