"""``polyrule predict``: labels or probabilities of new examples, read and written piece by piece."""

from __future__ import annotations

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
from polyrule.cli.command import command
from polyrule.cli.output import check_place, note
from polyrule.cli.prediction_files import FORMATS, format_of, open_writer
from polyrule.cli.progress import counting_progress


@command("predict")
@model_argument
@data_argument()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Where to write [standard output]."
)
@click.option("--to", "to", type=click.Choice(FORMATS), help="Format of the output [by its ending, else csv].")
@click.option(
    "--probabilities", "--scores", "scores", is_flag=True, help="Write probabilities instead of 0 and 1; both names do."
)
@click.option("--digits", type=click.IntRange(1, 17), default=4, show_default=True, help="Digits of these in text.")
@click.option("--keep", metavar="A,B,..", help="Columns of DATA to write beside the labels.")
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
    keep: str | None,
    rows: int,
    safe_csv: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    r"""Predict the labels of every example of DATA, which need not have labels.

    csv and tsv have a column per label, jsonl an object per line, labels a line per example with the names of the
    labels that are present; parquet needs pyarrow. The --id column, which the model
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
    from polyrule.model.narrowing import narrow

    if output is not None:
        check_place(output, model, data)
    chosen = format_of(output, "jsonl" if as_json else to)
    stored = narrow(load_model(model))
    exact = chosen == "parquet" or digits > 15  # numbers, which a reader rounds as it likes
    done = 0
    kept = [name.strip() for name in keep.split(",")] if keep else []
    source = open_once(data, reading, stored)
    known = with_known(data, reading, stored, source)
    if reading.get("identifier") is None and known.get("identifier") in kept:
        known["identifier"] = None  # it stands where --keep puts it
    identifier = known.get("identifier")
    parts = load_chunks(data, known, stored, rows, source)
    columns = [load_column(data, reading, stored, name, rows) for name in kept]
    beside = [*([identifier if chosen != "jsonl" else "id"] if identifier else []), *kept]
    # Nothing is written, not even a header, before the columns and the first rows have been read.
    first = list(islice(parts, 1))
    with (
        counting_progress("predicting", None, quiet=output is None) as show,
        open_writer(chosen, output, stored.label_names, scores, beside, safe_csv) as writer,
    ):
        for part in chain(first, parts):
            values = stored.predict_proba(part.X) if scores else stored.predict(part.X)
            values = values.round(digits) if scores and not exact else values
            ids = [] if part.row_ids is None else [part.row_ids]
            writer.write(values, [*ids, *(list(islice(column, len(part))) for column in columns)])
            done += len(part)
            show(done)
    if output is not None:
        note(f"{done} rows written to {output}")
