"""``polyrule train``: from a data file to a readable model."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from polyrule.cli.arguments import (
    align_labels,
    benchmark_name,
    data_argument,
    data_options,
    load_data,
    load_model,
    load_tagged,
    reading_names,
    reading_options,
    remember_reading,
)
from polyrule.cli.command import command, json_option, model_output_option
from polyrule.cli.learner_options import (
    available,
    forbidden_names,
    learner_options,
    machine_settings,
    make_learner,
)
from polyrule.cli.output import (
    check_place,
    counting_progress,
    fit,
    learning_progress,
    note,
    plural,
    print_json,
    warn,
)
from polyrule.errors import DataError, DataWarning, MeasureWarning, ModelWarning, OptionError
from polyrule.utils.messages import parameter_name

if TYPE_CHECKING:
    from polyrule.data import Dataset


@command("train")
@data_argument
@model_output_option("Where to write the model.")
@click.option("--test", "test_data", metavar="DATA", help="Score the model on this data.")
@click.option("--cv", "folds", type=click.IntRange(min=2), metavar="K", help="Also cross-validate with K folds.")
@click.option("--seed", type=int, default=0, show_default=True, help="For the folds, and learners that draw at random.")
@click.option("--certify", is_flag=True, help="Store with each rule the proof that its head is the best one.")
@click.option("--preset", type=click.Choice(["paper"]), help="paper: the same as --learner seco.")
@click.option(
    "--start", type=click.Path(path_type=Path), metavar="MODEL", help="Keep the rules of this model in front."
)
@click.option(
    "--relation",
    "relations",
    multiple=True,
    metavar="TEXT|FILE",
    help="A relation between labels that DATA obeys and every prediction will: 'a => b', 'a, b: at most one', "
    "'a, b: exactly one', or a file of these; may be repeated.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress, and no rules on standard output.")
@data_options
@learner_options
@json_option
@click.pass_context
def train(
    ctx: click.Context,
    /,
    data: str,
    output: Path | None,
    test_data: str | None,
    folds: int | None,
    seed: int,
    certify: bool,
    preset: str | None,
    start: Path | None,
    relations: tuple[str, ...],
    quiet: bool,
    learner: str,
    as_json: bool,
    **options: Any,
) -> None:
    r"""Learn a model from DATA, print it and, with -o, store it.

    DATA is a file (ARFF, CSV, TSV, Parquet, JSON lines, LIBSVM; compressed or not), - for standard input, a
    benchmark data set such as emotions or emotions:train, or a store made by 'polyrule pack'. Ctrl-C ends
    learning and keeps the rules learned so far.

    \b
    Examples:
      polyrule train songs.csv --labels calm,sad,happy -o model.json
      polyrule train flags-train.arff --labels flags.xml --test flags-test.arff
      polyrule train emotions:train --simplicity 2 --cv 10
      polyrule train emotions:train --learner seco --measure hamming
      polyrule train a.csv --labels churn --forbid region --monotone income=up
      polyrule train p.csv --labels last:4 --relation "flu, cold: at most one"
      polyrule train songs.csv --tags mood --learner ensemble --max-rules 10
      polyrule train songs.csv --labels last:3 --dump-config > songs.toml
      polyrule train songs.csv --config songs.toml
    """
    if preset is not None and learner not in ("list", "seco"):
        raise OptionError(f"--preset {preset} is the same as --learner seco, not {learner}; leave one out")
    learner = "seco" if preset else learner
    reading = {name: options[name] for name in reading_names(ctx.command)}
    if (folds is not None or "random_state" in available()[learner]) and not 0 <= seed < 1 << 32:
        raise OptionError(f"--seed must be between 0 and {(1 << 32) - 1}, got {seed}")
    check_place(output, data, test_data, reading["label_file"])
    started = time.perf_counter()
    from polyrule.data.columns import hold_unseen
    from polyrule.model.columns import names_in_rules
    from polyrule.store import Store, is_store

    dataset: Any
    if is_store(data):
        options_set = {"--certify": certify, "--cv": folds is not None, "--test": test_data is not None}
        _need_no_examples(data, [name for name, on in options_set.items() if on])
        for name in sorted(reading_options(reading)):
            option = parameter_name(name)
            raise OptionError(
                f"{data}: {option} is for files; pack says what a store holds, and --forbid what to leave out"
            )
        dataset, test = Store(data), None
    else:
        dataset = _learnable(data, reading)
        with hold_unseen() as warn_of:
            test = None if test_data is None else _test_data(test_data, reading, dataset)
    names = {feature.name for feature in dataset.features}
    from polyrule.estimators import config_context

    with learning_progress(quiet) as callback, warnings.catch_warnings(), config_context(**machine_settings(ctx)):
        warnings.simplefilter("ignore", DataWarning)  # the findings below say it
        estimator = make_learner(ctx, learner, names)
        related = _relations(relations, dataset)
        settings = {"start": _start(start, learner), "callback": callback, **related}
        interrupted = _fit(estimator, dataset, output is not None, **settings)
    model = estimator.model_
    findings: list[str] = []
    if not isinstance(dataset, Store):
        remember_reading(model, {**reading, "dates": reading["dates"] or dataset.info.get("dates")})
        all_findings = dataset.describe(test).findings
        decided = {*forbidden_names(ctx, names), *",".join(ctx.params["keep_columns"]).split(",")}
        if not quiet and benchmark_name(data) is None:
            _tell_guesses(data, dataset)
        findings = [
            str(finding) for finding in all_findings if not finding.names or not decided.issuperset(finding.names)
        ]
    if certify:
        model = _certified(model, dataset)
    if output is not None:
        model.save(output)
    seconds = time.perf_counter() - started
    result: dict[str, Any] = {"output": str(output) if output else None, "seconds": seconds, "interrupted": interrupted}
    result |= {
        "statistics": model.statistics(),
        "rules": model.records(),
        "stopped": getattr(estimator, "stopped_reason_", None),
        "findings": findings,
    }
    comparison = None
    if test is not None:
        warn_of(names_in_rules(model))
        comparison = _test(model, dataset, test)
    validation = None
    if folds is not None and not interrupted:
        validation = _cross_validate(estimator, dataset, folds, seed, quiet, related)
    if not quiet:
        for finding in findings:
            warn(finding)
    if as_json:
        print_json(_json(result, comparison, validation))
    else:
        _print(model, result, comparison, validation, quiet)
    if result["stopped"] == "time_limit":
        warn(f"the time limit ended learning after {len(model)} rule(s); the model may be unfinished")
    if interrupted:
        where = f" in {output}" if output else ""
        note(f"interrupted: the {len(model)} rules learned so far are kept{where}")
        ctx.exit(130)


def _tell_guesses(data: str, dataset: Dataset) -> None:
    """Print in one line what columns of text were recognized as."""
    from polyrule.data.first_look import column_readings, guesses

    if message := guesses(column_readings(dataset)):
        note(f"rules test {message} ('polyrule data {data}' shows all columns and how to change it)")


def _need_no_examples(data: str, options_set: list[str]) -> None:
    """Refuse options that a store cannot follow."""
    if options_set:
        raise OptionError(
            f"{data}: {options_set[0]} needs the examples themselves, which a store does not hold; "
            "store the model with -o and use 'polyrule evaluate' or 'polyrule verify' on a file"
        )


def _learnable(data: str, reading: dict[str, Any]) -> Dataset:
    """Read data that there is something to learn from."""
    dataset = load_data(data, reading)
    if not dataset.label_names:
        raise DataError(f"{dataset.name}: there are no labels to learn; say which columns are labels with --labels")
    if not len(dataset):
        raise DataError(f"{data}: there are columns but no rows to learn from")
    if not dataset.features:
        raise DataError(f"{data}: no column is left to learn from; the others are labels, dropped, or --id")
    return dataset


def _start(path: Path | None, learner: str) -> Any:
    """Return the model whose rules stay in front."""
    from polyrule.ensemble import RuleEnsemble
    from polyrule.model import RuleList

    if path is None:
        return None
    model = load_model(path)
    kind = {"list": RuleList, "seco": RuleList, "ensemble": RuleEnsemble}.get(learner)
    if kind is None or not isinstance(model, kind):
        raise OptionError(f"--start {path}: a list starts from a rule list, an ensemble from an ensemble")
    return model


def _relations(texts: tuple[str, ...], data: Any) -> dict[str, Any]:
    """Return the argument of `fit` about relations between labels."""
    from polyrule.relations import read

    return {"relations": read(texts, data.label_names)} if texts else {}


def _fit(estimator: Any, data: Any, is_stored: bool, **arguments: Any) -> bool:
    """Fit; return True if an interrupt left rules. If the model `is_stored`, SIGINT is never ignored."""
    with _interruptible() if is_stored else contextlib.nullcontext():
        try:
            estimator.fit(data, **arguments)
        except KeyboardInterrupt:
            if not len(getattr(estimator, "model_", ())):
                raise
            return True
    return False


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Heed SIGINT also where a shell's background jobs ignore it: `kill -INT` then ends learning, not the model."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _certified(model: Any, data: Dataset) -> Any:
    from polyrule.model import RuleList
    from polyrule.verification import certify

    if not isinstance(model, RuleList):
        raise OptionError("--certify is for rule lists: the head of a weighted rule is not searched for its body")
    return certify(model, data)


def _test_data(text: str, reading: dict[str, Any], train: Dataset) -> Dataset:
    """Read test data with the features of the training data and, where rows list their labels, with its labels."""
    if reading["tags"] is None:
        return load_data(text, reading, train.features)
    return load_tagged(text, {**reading, "labels": None}, train.label_names, train.features)


def _test(model: Any, train: Dataset, test: Dataset) -> Any:
    from polyrule.evaluation import compare_with_baseline

    test = align_labels(test, model)
    return compare_with_baseline(train.Y, test.Y, model.predict(test.X), model.label_names, tables=(train.X, test.X))


def _cross_validate(
    estimator: Any, data: Dataset, folds: int, seed: int, quiet: bool, fit_params: dict[str, Any]
) -> Any:
    from sklearn.base import clone

    from polyrule.data.results import MissingExtraError
    from polyrule.evaluation.cross_validation import cross_validate

    plain = clone(estimator)
    with counting_progress("cross-validation", folds, quiet) as show, warnings.catch_warnings():
        for category in (DataWarning, MeasureWarning, ModelWarning):  # once, of the model on all examples, is enough
            warnings.simplefilter("ignore", category)
        try:
            return cross_validate(plain, data, folds, seed, progress=lambda done, _: show(done), fit_params=fit_params)
        except MissingExtraError as error:
            warn(f"the folds are not stratified: {error}")
            return cross_validate(
                plain, data, folds, seed, stratified=False, progress=lambda done, _: show(done), fit_params=fit_params
            )


def _json(result: dict[str, Any], comparison: Any, validation: Any) -> dict[str, Any]:
    if comparison is not None:
        result["test"] = comparison.model.as_dict()
        result["baseline"] = comparison.baseline.as_dict()
        result["simple"] = {name: scores.as_dict() for name, scores in comparison.simple.items()}
        result["warning"] = comparison.warning
    if validation is not None:
        result["cross_validation"] = {
            "folds": [fold.as_dict() for fold in validation.folds],
            "pooled": validation.pooled.as_dict(),
        }
    return result


def _print(model: Any, result: dict[str, Any], comparison: Any, validation: Any, quiet: bool) -> None:
    if not quiet:
        click.echo(fit(str(model)))
        click.echo()
    click.echo(summary(model.statistics(), result["seconds"]))
    if comparison is not None:
        click.echo(
            "\nscores on the test data, beside simple models of the training data (gain: over the best of them):"
        )
        click.echo(comparison.text(warning=False))
        if comparison.warning:
            warn(comparison.warning)
    if validation is not None:
        click.echo(f"\n{validation.text()}")
    if result["output"]:
        note(f"model written to {result['output']}")
    elif not quiet:
        note("the model was not saved; -o model.json keeps it")


def summary(stats: dict[str, Any], seconds: float) -> str:
    """Return the size of a list in one line."""
    parts = [plural(stats["rules"], "rule"), plural(stats["conditions"], "condition")]
    if stats.get("label_conditions"):
        parts[-1] += f" ({stats['label_conditions']} on labels)"
    if "labels_per_head" in stats:
        parts.append(f"{stats['labels_per_head']:.2f} labels per head")
    if stats.get("stops"):
        parts.append(plural(stats["stops"], "stop"))
    return ", ".join(parts) + f"; {seconds:.2f} s"
