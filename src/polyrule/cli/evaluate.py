"""``polyrule evaluate``: the measures of the field, per label, beside simple models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polyrule.cli.arguments import data_argument, data_options, load_labelled, load_model, model_argument
from polyrule.cli.command import command, json_option
from polyrule.cli.output import fit, print_json, warn


@command("evaluate")
@model_argument
@data_argument
@click.option("--train", "train_data", metavar="DATA", help="Fit the simple models on this training data.")
@click.option("--per-label/--no-per-label", default=True, show_default=True, help="Also print scores of each label.")
@click.option("--zero-division", type=click.FloatRange(0, 1), default=0, show_default=True, help="Value of 0/0.")
@data_options
@json_option
def evaluate(
    model: Path,
    data: str,
    train_data: str | None,
    per_label: bool,
    zero_division: float,
    as_json: bool,
    **reading: Any,
) -> None:
    r"""Score MODEL on DATA, whose labels must be known, beside models that anyone would try first.

    These are each label's majority, the most frequent label set, and one rule per label on the features that MODEL
    tests. They are fitted on the --train data; without --train on DATA itself, which makes them harder to beat. The
    gain is that over the best of them.

    \b
    Examples:
      polyrule evaluate model.json test.csv
      polyrule evaluate model.json emotions:test --train emotions:train --json
    """
    from polyrule.evaluation import compare_with_baseline
    from polyrule.model.narrowing import narrow

    stored = narrow(load_model(model))
    dataset = load_labelled(data, reading, stored)
    train = dataset if train_data is None else load_labelled(train_data, reading, stored)
    predicted = stored.predict(dataset.X)
    comparison = compare_with_baseline(
        train.Y, dataset.Y, predicted, stored.label_names, zero_division, (train.X, dataset.X)
    )
    if as_json:
        print_json(
            {
                "examples": len(dataset),
                "zero_division": zero_division,
                "baseline_from": train_data or data,
                "model": comparison.model.as_dict(),
                "baseline": comparison.baseline.as_dict(),
                "simple": {name: scores.as_dict() for name, scores in comparison.simple.items()},
                "per_label": comparison.model.per_label(),
                "warning": comparison.warning,
            }
        )
        return
    click.echo(f"{len(dataset)} examples, {len(stored.label_names)} labels; 0/0 counts as {zero_division:g}")
    learned = train_data or f"{'standard input' if data == '-' else data} itself"
    click.echo(fit(f"simple models are fitted on {learned}; gain: over the best of them"))
    click.echo()
    click.echo(comparison.text(warning=False))
    if per_label:
        click.echo()
        click.echo(_label_table(comparison.model))
    if comparison.warning:
        warn(comparison.warning)


def _label_table(scores: Any) -> str:
    """Lay out the scores of each label; narrower than the library's own table, so that it fits 80 columns."""
    from polyrule.data.results import text_table
    from polyrule.evaluation.scores import measure_words
    from polyrule.model.printing import format_name

    columns = scores.per_label()
    chosen = ("present", "predicted", "precision", "recall", "f1", "jaccard")
    rows = [
        [format_name(name), *(f"{v:.4f}" if isinstance(v, float) else str(v) for v in values)]
        for name, *values in zip(columns["label"], *(columns[key] for key in chosen), strict=True)
    ]
    return text_table(["label", *map(measure_words, chosen)], rows)
