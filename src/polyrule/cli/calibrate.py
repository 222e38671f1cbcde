"""`polyrule calibrate`: cutoffs with a guarantee for new examples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyrule.cli.arguments import data_argument, data_options, load_labelled, load_model, model_argument
from polyrule.cli.command import command, json_option, model_output_option
from polyrule.cli.output import check_place, fit, note, print_json

if TYPE_CHECKING:
    from polyrule.model.guarantee import Level, Risk

# Those of `polyrule.model.guarantee`, which imports NumPy.
RISKS = ("recall", "false_alarms", "precision", "f1")
LEVELS = ("label", "micro", "set")


@command("calibrate")
@model_argument
@data_argument
@click.option("--risk", type=click.Choice(RISKS), default="recall", show_default=True, help="What is guaranteed.")
@click.option(
    "--target-level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    help="At least this recall, precision or F1; at most this share of false alarms.",
)
@click.option(
    "--confidence-level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Probability of the guarantee over the draw of DATA [on average; precision and F1: 0.9].",
)
@click.option("--per", type=click.Choice(LEVELS), default="label", show_default=True, help="What it is stated for.")
@click.option("--for-labels", "labels", metavar="A,B,...", help="Labels to calibrate [all].")
@model_output_option("Where to write the model with its cutoffs and guarantees.")
@data_options
@json_option
def calibrate(
    model: Path,
    data: str,
    risk: Risk,
    target_level: float,
    confidence_level: float | None,
    per: Level,
    labels: str | None,
    output: Path | None,
    as_json: bool,
    **reading: Any,
) -> None:
    r"""Choose the cutoffs of MODEL so that a level is guaranteed on new examples.

    DATA must be examples that neither learning nor any choice has used; the guarantee is for new examples of the same
    kind (exchangeable ones). Too few examples are refused, with the number that is needed.

    \b
    Examples:
      polyrule calibrate model.json held_out.csv --risk recall --target-level 0.95 -o careful.json
      polyrule calibrate model.json held_out.csv --risk precision --target-level 0.8 --for-labels sepsis -o m.json
    """
    from polyrule.decisions import calibrate as with_guarantee
    from polyrule.decisions import guarantees

    check_place(output, model, data, reading.get("label_file"))
    stored = load_model(model)
    decided = with_guarantee(
        stored,
        load_labelled(data, reading, stored),
        risk=risk,
        target_level=target_level,
        confidence_level=confidence_level,
        per=per,
        labels=None if labels is None else [name.strip() for name in labels.split(",")],
    )
    promises = guarantees(decided)
    if as_json:
        print_json([vars(one) for one in promises])
    else:
        for one in promises:
            click.echo(fit(f"{one}: cutoff {one.cutoff:.4g}, observed {one.observed:.3f}"))
    if output is not None:
        decided.save(output)
        note(f"model written to {output}")
