"""``polyrule verify``: replay a model on its training data, learn it anew, and check every number and proof in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyrule.cli.arguments import data_argument, data_options, load_labelled, load_model, model_argument
from polyrule.cli.command import command, json_option
from polyrule.cli.output import fit, note, print_json

#: True as far as it was checked, but not all of it was.
NOT_ALL = 3


@command("verify")
@model_argument
@data_argument
@data_options
@click.option("--replay-only", is_flag=True, help="Leave out learning the model anew, which takes as long as training.")
@json_option
@click.pass_context
def verify(ctx: click.Context, /, model: Path, data: str, replay_only: bool, as_json: bool, **reading: Any) -> None:
    r"""Check that MODEL says the truth about DATA, the data it was learned from.

    A list is replayed rule by rule: counts, exact values, coverage, stops and defaults are compared, and the proof
    stored with each rule (train --certify) is checked; where there is none, the best head is searched anew. Of an
    ensemble the coverage of its rules is checked, and where its weights were fitted to the labels themselves, that
    they are the optimum of the loss they state. Then the model is learned anew with the options it states and must come
    out the same: bodies, order, weights, cuts and all.

    Exit code 1 if anything is not as the model says, 3 if all that was checked is, but something could not be checked:
    the first line names it.

    \b
    Examples:
      polyrule train songs.csv --labels last:3 --certify -o model.json
      polyrule verify model.json songs.csv
    """
    stored = load_model(model)
    result = stored.verify(load_labelled(data, reading, stored), learn=not replay_only)
    if as_json:
        print_json(result.to_dict())
    else:
        click.echo(fit(f"{data}: {result}" if result.other_data else str(result)))
    if result.other_data:
        note("to score a model on other data: polyrule evaluate MODEL DATA")
    ctx.exit(1 if not result.ok else NOT_ALL if result.unchecked else 0)
