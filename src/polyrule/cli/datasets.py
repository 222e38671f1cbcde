"""``polyrule datasets``: the benchmark data sets, and where they come from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from polyrule.cli.command import command, json_option
from polyrule.cli.output import fit, print_json


@command("datasets")
@click.argument("name", required=False)
@json_option
def datasets(name: str | None, as_json: bool) -> None:
    r"""List the benchmark data sets, or tell what is known about one.

    Wherever a command takes DATA, it also takes such a name, or name:train and name:test for the parts.

    \b
    Examples:
      polyrule datasets
      polyrule datasets yeast
      polyrule train yeast:train --test yeast:test
    """
    from polyrule.data.results import text_table
    from polyrule.datasets.registry import ENTRIES, entry

    chosen = list(ENTRIES.values()) if name is None else [entry(name)]
    if as_json:
        records = [_record(known) for known in chosen]
        print_json(records if name is None else records[0])
    elif name is None:
        header = ["name", "domain", "here", "examples", "features", "labels", "cardinality"]
        click.echo(text_table(header, [_row(known) for known in chosen], left=3))
    else:
        for key, value in _record(chosen[0]).items():
            if value not in ("", None):
                click.echo(fit(f"{key + ':':<13} {value}", indent=14))


def _here(known: Any) -> bool:
    """Whether the data can be loaded without the network."""
    from polyrule.datasets.loading import find_folder

    return known.name == "emotions" or find_folder(known) is not None


def _record(known: Any) -> dict[str, Any]:
    return {**asdict(known), "features": known.features, "density": round(known.density, 4), "here": _here(known)}


def _row(known: Any) -> list[str]:
    here = "yes" if _here(known) else "no"
    numbers = [str(known.examples), str(known.features), str(known.labels), f"{known.cardinality:.2f}"]
    return [known.name, known.domain, here, *numbers]
