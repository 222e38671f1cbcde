"""``polyrule evaluate``: the measures of the field, per label, beside simple models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from polyrule.cli.arguments import (
    data_argument,
    data_options,
    load_all_columns,
    load_labelled,
    load_model,
)
from polyrule.cli.command import command, json_option
from polyrule.cli.output import fit, print_json, warn
from polyrule.errors import ModelError


@command("evaluate")
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=click.Path(path_type=Path))
@data_argument
@click.option("--train", "train_data", metavar="DATA", help="Fit the simple models on this training data.")
@click.option("--per-label/--no-per-label", default=True, show_default=True, help="Also print scores of each label.")
@click.option("--zero-division", type=click.FloatRange(0, 1), default=0, show_default=True, help="Value of 0/0.")
@click.option("--probabilities", is_flag=True, help="Also score probabilities: AUC, LRAP, nDCG, log loss, Brier, ...")
@click.option("--by-group", metavar="COLUMN", help="Also count coverage, precision, recall and false alarms in groups.")
@click.option("--rows", type=click.IntRange(0), default=10, show_default=True, help="Most rows shown that differ.")
@data_options
@json_option
def evaluate(
    models: tuple[Path, ...],
    data: str,
    train_data: str | None,
    per_label: bool,
    zero_division: float,
    probabilities: bool,
    by_group: str | None,
    rows: int,
    as_json: bool,
    **reading: Any,
) -> None:
    r"""Score each MODEL on DATA, whose labels must be known, beside models that anyone would try first.

    These are each label's majority, the most frequent label set, and one rule per label on the features that MODEL
    tests. They are fitted on the --train data; without --train on DATA itself, which makes them harder to beat. The
    gain is that over the best of them. Several models are compared with the first: differences with 95 % intervals
    from 1,000 resamples of the rows, and the rows that they decide otherwise.

    \b
    Examples:
      polyrule evaluate model.json test.csv
      polyrule evaluate model.json emotions:test --train emotions:train --json
      polyrule evaluate old.json new.json test.csv --by-group sex
    """
    from polyrule.evaluation import compare_with_baseline
    from polyrule.model.columns import drop_unused_features

    loaded = [load_model(path) for path in models]
    whole = loaded[0]
    _check_labels(models, loaded)
    stored = drop_unused_features(whole)
    dataset = load_labelled(data, reading, _reader(loaded), *loaded)
    train = dataset if train_data is None else load_labelled(train_data, reading, _reader(loaded))
    predicted = stored.predict(dataset.X)
    comparison = compare_with_baseline(
        train.Y, dataset.Y, predicted, stored.label_names, zero_division, _tested(stored, train, dataset)
    )
    more = {
        **({"probabilities": _probabilities(stored, dataset)} if probabilities else {}),
        **({"models": _compared(models, loaded, dataset)} if len(models) > 1 else {}),
        **({"hierarchical": _hierarchical(stored, dataset, predicted, zero_division)} if _implies(stored) else {}),
        **({"costs": _costs(stored, dataset, predicted)} if stored.info.get("costs") else {}),
        **({"groups": _groups(stored, data, reading, by_group)} if by_group else {}),
    }
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
                **{name: found.as_dict() for name, found in more.items()},
            }
        )
        return
    click.echo(f"{len(dataset)} examples, {len(stored.label_names)} labels; 0/0 counts as {zero_division:g}")
    learned = train_data or f"{'standard input' if data == '-' else data} itself"
    click.echo(fit(f"simple models are fitted on {learned}; gain: over the best of them"))
    click.echo()
    click.echo(comparison.text(warning=False))
    if "hierarchical" in more:
        click.echo(fit(more["hierarchical"].text()))
    if "costs" in more:
        click.echo(fit(more["costs"].text()))
    if per_label:
        click.echo()
        click.echo(_label_table(comparison.model))
    if "probabilities" in more:
        click.echo(f"\n{more['probabilities'].text()}")
    if "models" in more:
        click.echo(f"\n{more['models'].text(rows, dataset.row_ids)}")
    if "groups" in more:
        click.echo(f"\n{more['groups'].text(per_label)}")
    if comparison.warning:
        warn(comparison.warning)


def _check_labels(paths: tuple[Path, ...], models: list[Any]) -> None:
    """Refuse models about other labels than the first."""
    for path, model in zip(paths, models, strict=True):
        if tuple(model.label_names) != tuple(models[0].label_names):
            raise ModelError(f"{path}: has other labels than {paths[0]}, or in another order; evaluate it separately")


def _reader(models: list[Any]) -> Any:
    """Return the first model with all features that any of the models tests."""
    from polyrule.model.columns import drop_unused_features

    narrowed = [drop_unused_features(model) for model in models]
    if len(models) == 1:
        return narrowed[0]
    features: dict[str, Any] = {}
    for feature in (feature for model in narrowed for feature in model.features):
        known = features.setdefault(feature.name, feature)
        if known.is_nominal and feature.is_nominal:  # learned from other data, where other categories occur
            both = dict.fromkeys((*known.categories, *feature.categories))
            features[feature.name] = replace(known, categories=tuple(both))
    return replace(replace(narrowed[0], rules=()), features=tuple(features.values()))


def _tested(model: Any, *data: Any) -> Any:
    """The columns that a model tests, in each data set."""
    from polyrule.data import to_table

    return tuple(to_table(one.X, model.features, others="skip") for one in data)


def _implies(model: Any) -> bool:
    return any(one.kind == "implies" for one in model.relations)


def _hierarchical(model: Any, data: Any, predicted: Any, zero_division: float) -> Any:
    from polyrule.evaluation import score_hierarchical

    return score_hierarchical(data.Y, predicted, model.relations, model.label_names, zero_division)


def _probabilities(model: Any, data: Any) -> Any:
    from polyrule.evaluation import score_probabilities

    return score_probabilities(data.Y, model.predict_proba(data.X), model.label_names)


def _compared(paths: tuple[Path, ...], models: list[Any], data: Any) -> Any:
    from polyrule.evaluation import compare_models

    names = [path.stem for path in paths]
    distinct = names if len(set(names)) == len(names) else [f"{at + 1}. {name}" for at, name in enumerate(names)]
    return compare_models(dict(zip(distinct, models, strict=True)), data)


def _groups(model: Any, data: str, reading: dict[str, Any], column: str) -> Any:
    """Read the data once more with all columns: the groups need not be values of one that the model tests."""
    from polyrule.evaluation import by_group

    return by_group(model, load_all_columns(data, reading, model, "--by-group"), column)


def _costs(model: Any, data: Any, predicted: Any) -> Any:
    from polyrule.decisions import costs_of, score_costs

    return score_costs(data.Y, predicted, costs_of(model), model.label_names)


def _label_table(scores: Any) -> str:
    """Lay out the scores of each label; narrower than the library's own table, so that it fits 80 columns."""
    from polyrule.conditions.text import format_name
    from polyrule.data.results import text_table
    from polyrule.evaluation.scores import measure_words

    columns = scores.per_label()
    chosen = ("present", "predicted", "precision", "recall", "f1", "jaccard")
    rows = [
        [format_name(name), *(f"{v:.4f}" if isinstance(v, float) else str(v) for v in values)]
        for name, *values in zip(columns["label"], *(columns[key] for key in chosen), strict=True)
    ]
    return text_table(["label", *map(measure_words, chosen)], rows)
