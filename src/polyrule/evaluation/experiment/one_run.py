"""The runs of an experiment, and one of them from data to row: load, split, fit, predict, score, measure."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from polyrule.data.dataset import Dataset
from polyrule.data.reading import read
from polyrule.data.splits import make_folds
from polyrule.data.table import Table
from polyrule.datasets import load
from polyrule.errors import DataError, OptionError
from polyrule.evaluation.experiment.recipe import Recipe, import_name, make_estimator
from polyrule.evaluation.experiment.spec import DataSpec, ExperimentSpec, LearnerSpec, SplitSpec
from polyrule.evaluation.model_size import model_size
from polyrule.evaluation.scores import score


@dataclass(frozen=True)
class Run:
    """One fit: a learner on the training part of one split of one data set."""

    data: DataSpec
    learner: LearnerSpec
    split: SplitSpec
    fold: int | None = None  # which fold is the test part; None for the data set's own test part
    seed: int | None = None  # seed of the folds

    @property
    def split_name(self) -> str:
        """Name of the split in rows."""
        return "test" if self.fold is None else f"seed {self.seed} fold {self.fold + 1}"

    @property
    def key(self) -> str:
        """A file name that no other run has: readable words and a digest of everything that decides the result.

        A changed parameter gives another key, so a stored row is never taken for the result of something else.
        """
        digest = hashlib.sha256(json.dumps(self._definition(), sort_keys=True, default=str).encode()).hexdigest()[:12]
        words = f"{self.data.name} {self.learner.name} {self.split_name}"
        return f"{re.sub(r'[^A-Za-z0-9.]+', '-', words)[:100].strip('-')}-{digest}"

    def _definition(self) -> dict[str, Any]:
        learner = asdict(self.learner)
        for word in ("family", "measure"):  # how a row is shown does not change what it says
            del learner[word]
        if not self.learner.tune:
            del learner["tune_measure"], learner["tune_folds"]
        split = None if self.fold is None else [self.split.folds, self.split.stratified, self.seed, self.fold]
        return {"data": self.data.definition(), "learner": learner, "split": split}


def plan_runs(spec: ExperimentSpec) -> list[Run]:
    """List all runs in the order of the file: data set by data set, then split, then learner."""
    return [
        Run(data, learner, spec.split, fold, seed)
        for data in spec.data
        for seed, fold in _splits(spec.split)
        for learner in spec.learners
    ]


def _splits(split: SplitSpec) -> list[tuple[int | None, int | None]]:
    if split.kind == "parts":
        return [(None, None)]
    return [(seed, fold) for seed in split.seeds for fold in range(split.folds)]


def shown_names(run: Run) -> dict[str, Any]:
    """Columns of a row that state how a run is shown; they do not change its results."""
    return {
        "data": run.data.name,
        "learner": run.learner.name,
        "split": run.split_name,
        "family": run.learner.family,
        "measure": run.learner.measure,
    }


def describe_run(run: Run) -> dict[str, Any]:
    """Columns that state which run a row belongs to; every row has them, however the run ended."""
    return shown_names(run) | {
        "key": run.key,
        "discretised": run.data.discretise is not None,
        "seed": run.seed,
        "fold": run.fold,
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
        "tuned": fitted.parameters,
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
        "counts": scores.counts.as_dict(),
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
        return data[range(cut)], data[range(cut, len(data))]
    folds = make_folds(data.Y, run.split.folds, run.seed or 0, run.split.stratified)
    train_rows, test_rows = folds[run.fold]
    return data[train_rows], data[test_rows]


def load_data(spec: DataSpec) -> Dataset:
    """Load a benchmark by name, read a file, or call the function that makes the data."""
    if spec.file:
        return _read(spec.source, **spec.parameters)
    if not spec.make:
        return load(spec.source)
    data: Any = import_name(spec.source)(**spec.parameters)
    if isinstance(data, Dataset):
        return data
    features, labels = data
    return Dataset(
        Table.from_array(features), labels, tuple(f"label {i}" for i in range(1, labels.shape[1] + 1)), spec.name
    )


def _load_files(spec: DataSpec) -> tuple[Dataset, Dataset]:
    """Read the two parts of a data set; the second has the features of the first, and its labels."""
    train = _read(spec.source, **spec.parameters)
    labels_of_train = {"labels": list(train.label_names)} if "tags" in spec.parameters else {}
    test = _read(spec.test, **{**spec.parameters, **labels_of_train}, features=train.features)
    if test.label_names != train.label_names:
        raise DataError(f"{spec.test}: its labels are not those of {spec.source}, in the same order")
    return train, test


def _read(path: str, **options: Any) -> Dataset:
    try:
        return read(path, **options)
    except TypeError as error:  # a parameter that `read` does not have
        raise OptionError(f"{path}: parameters of a file are those of polyrule.data.read ({error})") from None


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


def resident_mb(pid: int | str = "self") -> float | None:
    """Return the memory a process holds, in MB; None where the system does not tell or the process is gone."""
    return _status_mb(pid, "VmRSS")


def cpu_seconds(pid: int) -> float | None:
    """Return the processor time a process has used; None where the system does not tell or the process is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold spaces
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class PeakMemory:
    """Measure the highest memory of this process while the block runs.

    `used_mb` is how far the peak lies above the level at the start: what the work itself needed.

    Examples
    --------
    >>> with PeakMemory() as memory:
    ...     block = bytearray(50_000_000)
    >>> memory.used_mb is None or memory.used_mb > 40
    True
    """

    def __init__(self) -> None:
        self.peak_mb: float | None = None
        self.used_mb: float | None = None

    def __enter__(self) -> Self:
        # Linux starts its record of the peak afresh; elsewhere the peak is that of the whole process
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        self._start = resident_mb()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.peak_mb = _status_mb("self", "VmHWM")
        if self.peak_mb is None:
            self.peak_mb = _peak_of_whole_process()
        if self.peak_mb is not None and self._start is not None:
            self.used_mb = max(0.0, self.peak_mb - self._start)


def _status_mb(pid: int | str, field: str) -> float | None:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return None


def _peak_of_whole_process() -> float | None:
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
