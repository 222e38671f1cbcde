"""`polyrule report`: models and data as one HTML file to look at and to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyrule.cli.arguments import data_options, load_labelled, load_model
from polyrule.cli.command import command, output_option
from polyrule.cli.output import check_place, note, write_text
from polyrule.errors import OptionError


@command("report")
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--data", metavar="DATA", help="Data to show the models on, such as their training data.")
@click.option("--test", metavar="DATA", help="Data the models have not seen; its labels must be known.")
@output_option(
    "Where to write the page; - is standard output.", metavar="FILE", default="report.html", show_default=True
)
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@click.option("--names", metavar="A,B,...", help="What to call the models, in order [the names of their files].")
@click.option(
    "--resamples",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Learn the models again from N resamples of the training data and show which rules come back.",
)
@click.option("--by-group", metavar="COLUMN", help="Show coverage, precision, recall and false alarms in groups.")
@data_options
def report(
    models: tuple[Path, ...],
    data: str | None,
    test: str | None,
    output: Path,
    title: str | None,
    names: str | None,
    resamples: int,
    by_group: str | None,
    **reading: Any,
) -> None:
    r"""Write an HTML report about one or several models of the same data.

    The page needs no network and no other file: rules with search and filters, scores against simple models, which
    rules and features matter, how labels depend on each other, a what-if view that runs the rules, and with several
    models a comparison. DATA is a file or a benchmark such as emotions:train.

    \b
    Examples:
      polyrule report model.json --data train.csv --test test.csv -o report.html
      polyrule report multi.json single.json --data emotions:train --test emotions:test
    """
    from polyrule.report import build
    from polyrule.report.inputs import distinct

    check_place(output, data, test, reading["label_file"], *models)
    called = [path.name.removesuffix(".json") for path in models]
    if names:
        called = [name.strip() for name in names.split(",")]
    if len(called) != len(models):
        raise OptionError(f"--names lists {len(called)} name(s) for {len(models)} model(s)")
    # files of different folders may have one name
    loaded = dict(zip(distinct(called), map(load_model, models), strict=True))
    models = tuple(loaded.values())
    train = None if data is None else load_labelled(data, reading, *models)
    unseen = None if test is None else load_labelled(test, reading, *models)
    page = build(loaded, train, unseen, title, resamples=resamples, by_group=by_group)
    write_text(page.html(), output)
    if str(output) != "-":
        note(f"wrote {output} ({len(page.html().encode()) / 1e6:.1f} MB); open it in any browser")
