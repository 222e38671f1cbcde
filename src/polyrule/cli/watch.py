"""`polyrule watch`: new rows against reference data, rule by rule, for people and schedulers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyrule.cli.arguments import (
    data_argument,
    data_options,
    load_data,
    load_labelled,
    load_model,
    model_argument,
    with_known,
)
from polyrule.cli.command import command, json_option
from polyrule.cli.output import check_place, fit, note, print_json, write_text
from polyrule.errors import DataError, OptionError

#: Exit code if something has changed, for schedulers.
CHANGED = 3


@command("watch")
@model_argument
@data_argument
@click.option("--reference", metavar="DATA", help="Rows as the model should meet them; needed for a new state.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with all counts so far; made if it does not exist, and brought up to date.",
)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write an HTML page with charts.")
@click.option("--name", metavar="TEXT", default="", help="Name of this batch in messages and charts, such as a date.")
@click.option(
    "--false-alarm-rate",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Probability that anything is ever reported although nothing changes.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.02,
    show_default=True,
    help="Changes of a share by less than this are not reported.",
)
@data_options
@json_option
@click.pass_context
def watch(
    ctx: click.Context,
    /,
    model: Path,
    data: str,
    reference: str | None,
    state: Path | None,
    page: Path | None,
    name: str,
    false_alarm_rate: float,
    tolerance: float,
    as_json: bool,
    **reading: Any,
) -> None:
    r"""Compare the new rows in DATA with reference data: rule coverage, precision, features and labels.

    Labels are used if DATA has the columns of all labels of MODEL; empty cells are unknown. With --state all batches
    so far are judged together, and the number of looks does not matter. The exit code is 0 if nothing has changed and
    3 if something has.

    \b
    Examples:
      polyrule watch model.json monday.csv --reference test.csv --state watch.json
      polyrule watch model.json tuesday.csv --state watch.json --page watch.html
    """
    from polyrule.watch.monitor import Monitor
    from polyrule.watch.monitor import watch as start

    stored = load_model(model)
    for output in (state, page):
        check_place(output, model, data, reference)
    if state is not None and state.exists():
        if reference is not None:
            raise OptionError(f"--reference: {state} has its reference data; leave it out, or name a new --state")
        monitor = Monitor.load(state, stored)
    elif reference is None:
        raise OptionError("--reference is needed to begin: rows as the model should meet them, such as its test data")
    else:
        known = load_labelled(reference, reading, stored)
        monitor = start(stored, known, false_alarm_rate=false_alarm_rate, tolerance=tolerance)
    monitor.update(_new_rows(data, reading, stored), name=name)
    if state is not None:
        monitor.save(state)
    if page is not None:
        write_text(monitor.page(), page)
        note(f"wrote {page}; open it in any browser")
    summary = monitor.summary()
    if as_json:
        print_json(summary.to_dict())
    else:
        click.echo(fit(str(summary)))
    ctx.exit(0 if summary.ok else CHANGED)


def _new_rows(data: str, reading: dict[str, Any], model: Any) -> Any:
    """Read new rows, with their labels if the columns of all of them are there."""
    from polyrule.data.labelspec import NoColumnError

    try:
        return load_labelled(data, reading, model)
    except DataError as error:
        if not isinstance(error.__cause__, NoColumnError):
            raise
    note(f"{data} has no columns for all labels, so precision is not watched in it")
    known = {**with_known(data, reading, model), "labels": None, "label_file": None, "tags": None}
    return load_data(data, known, model.features, unlabelled=True).X
