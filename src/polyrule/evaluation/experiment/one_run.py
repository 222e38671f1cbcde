"""One run from data to row: load, split, fit, predict, score, measure."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from polyrule.data.dataset import Dataset
from polyrule.data.reading import read
from polyrule.data.table import Table
from polyrule.datasets import load
from polyrule.errors import DataError, OptionError
from polyrule.evaluation.confusion import ConfusionCounts
from polyrule.evaluation.cross_validation import make_folds, take_rows
from polyrule.evaluation.experiment.memory import PeakMemory
from polyrule.evaluation.experiment.plan import Run
from polyrule.evaluation.experiment.recipe import Recipe, import_name, make_estimator
from polyrule.evaluation.experiment.spec import DataSpec
from polyrule.evaluation.model_size import model_size
from polyrule.evaluation.scores import score


def describe_run(run: Run) -> dict[str, Any]:
    """The columns that say which run a row belongs to; every row has them, whatever became of the run."""
    return {
        "key": run.key,
        "data": run.data.name,
        "discretised": run.data.discretise is not None,
        "split": run.split_name,
        "seed": run.seed,
        "fold": run.fold,
        "learner": run.learner.name,
        "family": run.learner.family,
        "measure": run.learner.measure,
        "class": run.learner.class_path,
        "parameters": dict(run.learner.parameters),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def execute(run: Run, score_options: Mapping[str, float]) -> dict[str, Any]:
    """Carry out a run and return what it measured."""
    train, test = load_parts(run)
    recipe = Recipe(run.learner, run.data.discretise)
    make_estimator(run.learner.class_path, run.learner.parameters)  # so that imports are not timed as learning
    with PeakMemory() as memory:
        wall, cpu = time.perf_counter(), time.process_time()
        fitted = recipe.fit(train)
        fit_seconds, fit_cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        wall = time.perf_counter()
        predicted = fitted.predict(test.X)
        predict_seconds = time.perf_counter() - wall
    scores = score(test.Y, predicted, None, **score_options)
    return {
        "status": "ok",
        "tuned": fitted.chosen,
        "fit_seconds": fit_seconds,
        "fit_cpu_seconds": fit_cpu_seconds,
        "predict_seconds": predict_seconds,
        "peak_memory_mb": memory.peak_mb,
        "used_memory_mb": memory.used_mb,
        **model_size(fitted.model).as_dict(),
        "train_examples": len(train),
        "test_examples": len(test),
        "features": train.X.shape[1],
        "labels": len(train.label_names),
        **scores.as_dict(),
        "counts": counts_to_json(scores.counts),
        "versions": _versions(run.learner.class_path),
    }


def load_parts(run: Run) -> tuple[Dataset, Dataset]:
    """Return the training and the test part of a run."""
    if run.fold is None and run.data.test:
        return _load_files(run.data)
    if run.fold is None and not run.data.make and not run.data.file:
        return load(run.data.source, part="train"), load(run.data.source, part="test")
    data = load_data(run.data)
    if run.fold is None:
        # a data set that was made, or a single file, has no published parts: the last third is the test part
        cut = len(data) - len(data) // 3
        return take_rows(data, range(cut)), take_rows(data, range(cut, len(data)))
    folds = make_folds(data.Y, run.split.folds, run.seed or 0, run.split.stratified)
    train_rows, test_rows = folds[run.fold]
    return take_rows(data, train_rows), take_rows(data, test_rows)


def load_data(spec: DataSpec) -> Dataset:
    """Load a benchmark by name, read a file, or call the function that makes the data."""
    if spec.file:
        return _read(spec.source, **spec.parameters)
    if not spec.make:
        return load(spec.source)
    made: Any = import_name(spec.source)(**spec.parameters)
    if isinstance(made, Dataset):
        return made
    features, labels = made
    return Dataset(
        Table.from_array(features), labels, tuple(f"label {i}" for i in range(1, labels.shape[1] + 1)), spec.name
    )


def _load_files(spec: DataSpec) -> tuple[Dataset, Dataset]:
    """Read the two parts of a data set; the second has the features of the first, and its labels."""
    train = _read(spec.source, **spec.parameters)
    known = {"labels": list(train.label_names)} if "tags" in spec.parameters else {}
    test = _read(spec.test, **{**spec.parameters, **known}, features=train.features)
    if test.label_names != train.label_names:
        raise DataError(f"{spec.test}: its labels are not those of {spec.source}, in the same order")
    return train, test


def _read(path: str, **options: Any) -> Dataset:
    try:
        return read(path, **options)
    except TypeError as error:  # a parameter that `read` does not have
        raise OptionError(f"{path}: parameters of a file are those of polyrule.data.read ({error})") from None


def counts_to_json(counts: ConfusionCounts) -> dict[str, Any]:
    """Keep the integers, so that every score can be computed again with another convention for 0/0."""
    return {
        "examples": counts.examples,
        "tp": counts.tp.tolist(),
        "fp": counts.fp.tolist(),
        "fn": counts.fn.tolist(),
        "example_groups": counts.example_groups.tolist(),
    }


def _versions(class_path: str) -> dict[str, str]:
    versions = {"python": platform.python_version()}
    packages = {"polyrule", "numpy", "scikit-learn"}
    names = {"sklearn": "scikit-learn", "mlrl": "mlrl-common"}
    root = class_path.split(".")[0]
    packages.add(names.get(root, root))
    for package in sorted(packages):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
