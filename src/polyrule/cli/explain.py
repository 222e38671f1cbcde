"""``polyrule explain``: rules behind the labels of one example, and the smallest change of one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import islice
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyrule.cli.arguments import (
    benchmark_name,
    check_known,
    data_argument,
    data_options,
    load_column,
    load_data,
    load_model,
    model_argument,
    open_once,
    with_known,
)
from polyrule.cli.command import command, json_option
from polyrule.cli.output import fit, print_json, warn
from polyrule.errors import DataError, OptionError, UnseenCategoryWarning
from polyrule.utils.messages import did_you_mean
from polyrule.utils.names import visible

if TYPE_CHECKING:
    from polyrule.data import Dataset, Feature


@command("explain")
@model_argument
@data_argument
@click.option("--row", type=click.IntRange(min=1), metavar="N", help="The example, counted from 1.")
@click.option("--row-id", metavar="TEXT", help="The example by the value of its --id column.")
@click.option("--near", type=click.IntRange(min=0), default=1, show_default=True, help="Also rules that failed by N.")
@click.option(
    "--counterfactual",
    "--flip",
    "changed",
    multiple=True,
    metavar="LABEL",
    help="Find the smallest change of the example that changes this label.",
)
@click.option("--fixed", multiple=True, metavar="FEATURE", help="A feature that --counterfactual must not change.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20_000, show_default=True, help="Tries of --counterfactual."
)
@click.option(
    "--digits", type=click.IntRange(min=1), metavar="N", help="Round numbers to N digits where this stays true [exact]."
)
@data_options
@json_option
def explain(
    model: Path,
    data: str,
    row: int | None,
    row_id: str | None,
    near: int,
    changed: tuple[str, ...],
    fixed: tuple[str, ...],
    limit: int,
    digits: int | None,
    as_json: bool,
    **reading: Any,
) -> None:
    r"""Show which rule of MODEL sets which label of one example of DATA, and why.

    Rules that nearly fired are listed with what was missing. --counterfactual finds the smallest change of the features
    that changes a label: as few features as possible, then as few thresholds crossed as possible. It is exact.

    \b
    Examples:
      polyrule explain model.json new.csv --row 17
      polyrule explain model.json new.csv --row 17 --counterfactual happy --fixed tempo
    """
    from polyrule.model import RuleList
    from polyrule.model.columns import narrow_with_dates

    stored = load_model(model)
    check_known("--counterfactual", changed, stored.label_names, "label")
    names = dict.fromkeys(name for feature in stored.features for name in (feature.name, *feature.sources))
    check_known("--fixed", fixed, list(names), "feature")
    opened = open_once(data, reading, stored)
    reading, needed = with_known(data, reading, stored, opened), narrow_with_dates(stored).features
    with warnings.catch_warnings(record=True) as told_of_all:
        dataset = load_data(data, reading, needed, opened=opened)
    number = _find(data, dataset, row, row_id)
    for warning in told_of_all:
        if issubclass(warning.category, UnseenCategoryWarning) and data != "-":
            _warn_of(data, reading, stored, needed, number)
        else:
            warnings.warn(warning.message, stacklevel=1)
    example = dataset.X[number]
    explanation = stored.explain(example, digits=digits, **({"near": near} if isinstance(stored, RuleList) else {}))
    changes = [stored.counterfactual(example, name, fixed=fixed, limit=limit, digits=digits) for name in changed]
    if as_json:
        print_json({"row": number + 1, **explanation.to_dict(), "flips": [change.to_dict() for change in changes]})
        return
    name = "" if dataset.row_ids is None else f": {visible(dataset.row_ids[number])}"
    click.echo(f"row {number + 1} of {len(dataset)} (counted from 1){name}")
    click.echo(fit(str(explanation)))
    for change in changes:
        click.echo(fit(str(change)))


def _warn_of(text: str, reading: dict[str, Any], model: Any, features: Sequence[Feature], number: int) -> None:
    """Warn of values of the example that are unknown to the model."""
    for feature in features:
        if feature.has_categories and feature.derived is None:
            cell = _cell(text, reading, model, feature.name, number)
            if cell and cell not in feature.categories:
                warn(f"{feature.name} = {cell!r} is a category that the model does not know, and counts as missing")


def _cell(text: str, reading: dict[str, Any], model: Any, name: str, number: int) -> str:
    """Return one cell as it is written."""
    if benchmark_name(text) is None:
        return next(islice(load_column(text, reading, model, name, 1000), number, None), "")
    table = load_data(text, reading).X
    place = table.feature_names.index(name)
    feature, value = table.features[place], float(table.column(place)[number])
    if isnan(value):
        return ""
    return feature.categories[int(value)] if feature.has_categories else f"{value:g}"


def _find(name: str, data: Dataset, row: int | None, row_id: str | None) -> int:
    if (row is None) == (row_id is None):
        raise click.UsageError("say which example with --row N or --row-id TEXT")
    if row is not None:
        if row > len(data):
            raise DataError(f"{name}: there is no row {row}, only {len(data)}")
        return row - 1
    if data.row_ids is None:
        raise OptionError("--row-id needs the column that names the rows; give --id COLUMN here, or when you train")
    rows = [number for number, name_of_row in enumerate(data.row_ids) if name_of_row == row_id]
    if not rows:
        raise DataError(f"{name}: no row is named {row_id!r}{did_you_mean(str(row_id), data.row_ids)}")
    if len(rows) > 1:
        raise DataError(f"{name}: {len(rows)} rows are named {row_id!r}; choose one with --row")
    return rows[0]
