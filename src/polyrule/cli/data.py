"""``polyrule data``: contents of a file and oddities in it, and the benchmark data sets."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from polyrule.cli.arguments import benchmark_name, complete_data, data_options, load_data
from polyrule.cli.command import command, json_option
from polyrule.cli.output import fit, print_json, warn

if TYPE_CHECKING:
    from polyrule.data import Dataset


@command("data")
@click.argument("data", metavar="DATA", required=False, shell_complete=complete_data)
@click.option("--list", "as_list", is_flag=True, help="List the benchmark data sets.")
@click.option("--test", "test_data", metavar="DATA", help="Also look for test examples that are in DATA.")
@click.option("--columns", is_flag=True, help="Also list every feature.")
@data_options
@json_option
def data(data: str | None, as_list: bool, test_data: str | None, columns: bool, as_json: bool, **reading: Any) -> None:
    r"""Describe DATA: its features and labels, and what in it would mislead a learner.

    DATA is a file or the name of a benchmark data set, such as yeast or yeast:train; a file of that name comes first.
    A name alone also shows where the data set is from.

    \b
    Examples:
      polyrule data songs.csv --columns
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
        record = _describe(data, test_data, reading, columns, as_json, card)
    else:
        record = {}
        if not as_json:
            _show_card(card)
    if as_json:
        print_json(record | ({} if card is None else {"benchmark": card}))


def _describe(
    data: str, test_data: str | None, reading: dict[str, Any], columns: bool, as_json: bool, card: dict[str, Any] | None
) -> dict[str, Any]:
    """Describe data that can be read; return the record for JSON."""
    from polyrule.data.describe import describe
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
    if columns:
        click.echo()
        click.echo(text_table(["feature", "kind", "missing", "values"], _feature_rows(dataset), left=2))
    if dataset.label_names:
        rows = [
            [name, str(count), f"{count / max(1, description.examples):.1%}"]
            for name, count in zip(description.label_names, description.label_counts, strict=True)
        ]
        click.echo()
        click.echo(text_table(["label", "present", "share"], rows))
    if related:
        click.echo()
        click.echo("relations between labels that hold in all examples, to learn with as --relation:")
        for text in related:
            click.echo(fit(f"  {text}"))
    for finding in description.findings:
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

    here = entry.name == "emotions" or find_folder(entry) is not None
    return {**asdict(entry), "features": entry.features, "density": round(entry.density, 4), "here": here}


def _show_card(card: dict[str, Any]) -> None:
    for key, value in card.items():
        if value not in ("", None) and key != "checksums":
            click.echo(fit(f"{key + ':':<13} {value}", indent=14))


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
    labels = [
        {"name": name, "present": count}
        for name, count in zip(description.label_names, description.label_counts, strict=True)
    ]
    findings = [{"kind": f.kind, "message": f.message, "names": list(f.names)} for f in description.findings]
    summary = {name.replace(" ", "_"): value for name, value in description.summary().items() if name != "labels"}
    return {**summary, "labels": labels, "features": _features(dataset), "findings": findings}
