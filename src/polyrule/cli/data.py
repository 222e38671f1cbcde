"""``polyrule data``: contents of a file and oddities in it, and the benchmark data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyrule.cli.arguments import benchmark_name, complete_data, data_options, load_data
from polyrule.cli.command import command, json_option
from polyrule.cli.output import fit, note, print_json, warn
from polyrule.errors import OptionError

if TYPE_CHECKING:
    from polyrule.data import Dataset


@command("data")
@click.argument("data", metavar="DATA", required=False, shell_complete=complete_data)
@click.option("--list", "as_list", is_flag=True, help="List the benchmark data sets.")
@click.option("--test", "test_data", metavar="DATA", help="Also look for test examples that are in DATA.")
@click.option("--columns", is_flag=True, help="List every column and label, and every feature that rules can test.")
@click.option("--save", is_flag=True, help="Keep the options beside DATA, in NAME.polyrule.toml, for every command.")
@click.option("--keep-columns", multiple=True, metavar="NAMES", help="Columns to keep although they identify rows.")
@data_options
@json_option
def data(
    data: str | None,
    as_list: bool,
    test_data: str | None,
    columns: bool,
    save: bool,
    keep_columns: tuple[str, ...],
    as_json: bool,
    **reading: Any,
) -> None:
    r"""Describe DATA: what each column is read as and how to change it, its labels, and what would mislead a learner.

    DATA is a file or the name of a benchmark data set, such as yeast or yeast:train; a file of that name comes first.
    A name alone also shows where the data set is from.

    \b
    Examples:
      polyrule data songs.csv
      polyrule data songs.csv --tags mood --nominal length --save
      polyrule data songs.csv --labels calm,sad,happy
      polyrule data genbase:train --test genbase:test
      polyrule data --list
      polyrule data yeast
    """
    if as_list == (data is not None):
        raise click.UsageError("pass DATA, or --list for the benchmark data sets")
    if data is None:
        _list_sets(as_json)
        return
    card = _card(data)
    if card is None or card["here"]:
        keep = [name for names in keep_columns for name in names.split(",")]
        record = _describe(data, test_data, reading, keep, columns, as_json, card)
    else:
        record = {}
        if not as_json:
            _show_card(card)
    if save:
        _save(data, reading, [name for names in keep_columns for name in names.split(",")])
    if as_json:
        print_json(record | ({} if card is None else {"benchmark": card}))


def _describe(
    data: str,
    test_data: str | None,
    reading: dict[str, Any],
    keep: Sequence[str],
    columns: bool,
    as_json: bool,
    card: dict[str, Any] | None,
) -> dict[str, Any]:
    """Describe data that can be read; return the record for JSON."""
    from polyrule.data.describe import describe
    from polyrule.data.first_look import column_readings, folded
    from polyrule.data.results import text_table
    from polyrule.relations import find as find_relations

    dataset = load_data(data, reading, unlabelled=True)
    test = None if test_data is None else load_data(test_data, reading, dataset.features)
    description = describe(dataset, test)
    related = find_relations(dataset) if dataset.label_names else ()
    if as_json:
        return {**_record(dataset, description), "relations": list(related)}
    if card is not None:
        _show_card(card)
        click.echo()
    click.echo(fit(str(description).split("\n! ")[0]))
    readings = column_readings(dataset, keep)
    if readings:
        shown = list(readings if columns or len(readings) <= _MAX_COLUMNS else folded(readings))
        click.echo()
        click.echo(_reading_table(shown if columns else shown[:_MAX_COLUMNS]))
        if len(shown) > _MAX_COLUMNS and not columns:
            click.echo(f"and {len(shown) - _MAX_COLUMNS} more; --columns lists all")
    if columns:
        click.echo()
        click.echo(text_table(["feature", "kind", "missing", "values"], _feature_rows(dataset), left=2))
    if dataset.label_names:
        click.echo()
        click.echo(_label_table(description, None if columns else _MAX_LABELS))
    if related:
        click.echo()
        click.echo("relations between labels that hold in all examples, to learn with as --relation:")
        for text in related:
            click.echo(fit(f"  {text}"))
    for finding in description.findings:
        if not finding.names or not set(finding.names) <= set(keep):
            warn(str(finding))
    return {}


def _list_sets(as_json: bool) -> None:
    """Print the benchmark data sets."""
    from polyrule.data.results import text_table
    from polyrule.datasets.registry import ENTRIES

    cards = [_card_of(entry) for entry in ENTRIES.values()]
    if as_json:
        print_json(cards)
        return
    header = ["name", "domain", "here", "examples", "features", "labels", "cardinality"]
    rows = [
        [card["name"], card["domain"], "yes" if card["here"] else "no"]
        + [str(card[name]) for name in ("examples", "features", "labels")]
        + [f"{card['cardinality']:.2f}"]
        for card in cards
    ]
    click.echo(text_table(header, rows, left=3))


def _card(data: str) -> dict[str, Any] | None:
    """Return the entry of a benchmark data set if `data` is the name of a whole one and no file."""
    from polyrule.datasets.registry import ENTRIES

    name = benchmark_name(data)
    return None if name is None or name[1] is not None or name[0] not in ENTRIES else _card_of(ENTRIES[name[0]])


def _card_of(entry: Any) -> dict[str, Any]:
    """Return the entry of a data set, with `here`: True if it can be loaded without the network."""
    from polyrule.datasets.loading import find_folder

    is_here = entry.name == "emotions" or find_folder(entry) is not None
    return {**asdict(entry), "features": entry.features, "density": round(entry.density, 4), "here": is_here}


def _show_card(card: dict[str, Any]) -> None:
    for key, value in card.items():
        if value not in ("", None) and key != "checksums":
            click.echo(fit(f"{key + ':':<13} {value}", indent=14))


def _reading_table(readings: Sequence[Any]) -> str:
    """Return a table of what columns are read as, one line each."""
    from polyrule.conditions.text import format_name
    from polyrule.data.results import text_table

    rows = [
        [_cut(format_name(one.name), 30), one.role, _cut(one.detail, 50), one.option, str(one.missing or "")]
        for one in readings
    ]
    return text_table(["column", "read as", "values", "change with", "missing"], rows, left=4)


def _cut(text: str, width: int) -> str:
    """Return text without line breaks, cut to a width."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _label_table(found: Any, most: int | None) -> str:
    """Return a table of labels; of more than `most`, the most frequent ones."""
    from polyrule.data.results import text_table

    counts = sorted(zip(found.label_names, found.label_counts, strict=True), key=lambda one: -one[1])
    if most is None or len(counts) <= most:
        counts = list(zip(found.label_names, found.label_counts, strict=True))
    rows = [[name, str(count), f"{count / max(1, found.examples):.1%}"] for name, count in counts[:most]]
    table = text_table(["label", "present", "share"], rows)
    rest = counts[len(rows) :]
    return f"{table}\nand {len(rest)} rarer labels; --columns lists all" if rest else table


def _save(data: str, options: dict[str, Any], keep: Sequence[str]) -> None:
    """Write the options into the file of decisions, with what columns are read as."""
    from polyrule.cli.arguments import decided_options
    from polyrule.data.decisions_file import write_decisions
    from polyrule.data.first_look import column_readings

    if not Path(data).is_file():
        raise OptionError(f"--save writes a file beside a table, and {data} is none")
    readings = column_readings(load_data(data, options, unlabelled=True), keep)
    remarks = [f"{one.name}: {one.role}, {one.detail}" for one in readings]
    note(f"written to {write_decisions(data, decided_options({**options, 'keep_columns': list(keep)}), remarks)}")


_MAX_COLUMNS = 30
_MAX_LABELS = 12


def _features(dataset: Dataset) -> list[dict[str, Any]]:
    import numpy as np

    records = []
    for j, feature in enumerate(dataset.features):
        column = dataset.X.column(j)
        values = column[~np.isnan(column)]
        record: dict[str, Any] = {"name": feature.name, "kind": feature.kind, "missing": len(column) - len(values)}
        if feature.has_categories:
            record["categories"] = list(feature.categories)
        else:
            record |= {"least": float(values.min()), "greatest": float(values.max())} if len(values) else {}
        records.append(record)
    return records


def _feature_rows(dataset: Dataset) -> list[list[str]]:
    from polyrule.conditions.text import format_category, format_name, format_number

    rows = []
    for record in _features(dataset):
        if "categories" in record:
            first = ", ".join(map(format_category, record["categories"][:4]))
            values = first + (f", … ({len(record['categories'])} in all)" if len(record["categories"]) > 4 else "")
        elif "least" in record:
            values = f"{format_number(record['least'])} to {format_number(record['greatest'])}"
        else:
            values = "none"
        rows.append([format_name(record["name"]), record["kind"], str(record["missing"]), values])
    return rows


def _record(dataset: Dataset, description: Any) -> dict[str, Any]:
    from polyrule.data.first_look import column_readings

    labels = [
        {"name": name, "present": count}
        for name, count in zip(description.label_names, description.label_counts, strict=True)
    ]
    findings = [{"kind": f.kind, "message": f.message, "names": list(f.names)} for f in description.findings]
    summary = {name.replace(" ", "_"): value for name, value in description.summary().items() if name != "labels"}
    columns = [
        {"name": one.name, "read_as": one.role, "values": one.detail, "missing": one.missing, "change": one.option}
        for one in column_readings(dataset)
    ]
    return {**summary, "labels": labels, "columns": columns, "features": _features(dataset), "findings": findings}
