"""``polyrule data``: what is in a file, and what is odd about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from polyrule.cli.arguments import data_argument, data_options, load_data
from polyrule.cli.command import command, json_option
from polyrule.cli.output import fit, print_json, warn

if TYPE_CHECKING:
    from polyrule.data import Dataset


@command("data")
@data_argument
@click.option("--test", "test_data", metavar="DATA", help="Also look for test examples that are in DATA.")
@click.option("--columns", is_flag=True, help="Also list every feature.")
@data_options
@json_option
def data(data: str, test_data: str | None, columns: bool, as_json: bool, **reading: Any) -> None:
    r"""Describe DATA: its features and labels, and what in it would mislead a learner.

    \b
    Examples:
      polyrule data songs.csv --columns
      polyrule data songs.csv --labels calm,sad,happy
      polyrule data genbase:train --test genbase:test
    """
    from polyrule.data.describe import describe
    from polyrule.data.results import text_table

    dataset = load_data(data, reading, unlabelled=True)
    test = None if test_data is None else load_data(test_data, reading, dataset.features)
    found = describe(dataset, test)
    if as_json:
        print_json(_record(dataset, found))
        return
    click.echo(fit(str(found).split("\n! ")[0]))
    if columns:
        click.echo()
        click.echo(text_table(["feature", "kind", "missing", "values"], _feature_rows(dataset), left=2))
    if dataset.label_names:
        rows = [
            [name, str(count), f"{count / max(1, found.examples):.1%}"]
            for name, count in zip(found.label_names, found.label_counts, strict=True)
        ]
        click.echo()
        click.echo(text_table(["label", "present", "share"], rows))
    for finding in found.findings:
        warn(str(finding))


def _features(dataset: Dataset) -> list[dict[str, Any]]:
    import numpy as np

    told = []
    for j, feature in enumerate(dataset.features):
        column = dataset.X.column(j)
        known = column[~np.isnan(column)]
        record: dict[str, Any] = {"name": feature.name, "kind": feature.kind, "missing": len(column) - len(known)}
        if feature.has_categories:
            record["categories"] = list(feature.categories)
        else:
            record |= {"least": float(known.min()), "greatest": float(known.max())} if len(known) else {}
        told.append(record)
    return told


def _feature_rows(dataset: Dataset) -> list[list[str]]:
    from polyrule.conditions.text import format_category, format_name, format_number

    rows = []
    for record in _features(dataset):
        if "categories" in record:
            shown = ", ".join(map(format_category, record["categories"][:4]))
            values = shown + (f", … ({len(record['categories'])} in all)" if len(record["categories"]) > 4 else "")
        elif "least" in record:
            values = f"{format_number(record['least'])} to {format_number(record['greatest'])}"
        else:
            values = "none"
        rows.append([format_name(record["name"]), record["kind"], str(record["missing"]), values])
    return rows


def _record(dataset: Dataset, found: Any) -> dict[str, Any]:
    labels = [
        {"name": name, "present": count} for name, count in zip(found.label_names, found.label_counts, strict=True)
    ]
    findings = [{"kind": f.kind, "message": f.message, "names": list(f.names)} for f in found.findings]
    summary = {name.replace(" ", "_"): value for name, value in found.summary().items() if name != "labels"}
    return {**summary, "labels": labels, "features": _features(dataset), "findings": findings}
