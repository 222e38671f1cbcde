"""Carrying out an experiment: what is missing is run, what is there is kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyrule.evaluation.experiment.one_run import describe_run
from polyrule.evaluation.experiment.plan import Run, plan_runs
from polyrule.evaluation.experiment.pool import ProcessPool
from polyrule.evaluation.experiment.spec import ExperimentSpec
from polyrule.evaluation.experiment.store import RowStore

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """How far an experiment is.

    Attributes
    ----------
    done, total : int
        Finished runs, those found in the store included, and all runs.
    row : dict or None
        The row that was just stored; None in the first report.
    """

    done: int
    total: int
    row: dict[str, Any] | None = None


def run_experiment(
    spec: ExperimentSpec,
    directory: str | Path,
    workers: int | None = None,
    retry: bool = False,
    only: Callable[[Run], bool] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> None:
    """Execute every run of `spec` that `directory` has no row for.

    Each row is stored when its run ends, whole or not at all; a run that was under way when the process was killed is
    started again by the next call. A second process on the same directory is refused.

    Scripts that call this must do so under ``if __name__ == "__main__":``, because runs are processes of their own.

    Parameters
    ----------
    spec : ExperimentSpec
    directory : path
        Where rows are stored; made if it is not there.
    workers : int, optional
        Processes at a time; the number in the file unless given.
    retry : bool
        Run again what is stored as failed, crashed, missing, or beyond a limit.
    only : callable, optional
        Which runs to execute; all unless given.
    progress : callable, optional
        Called with a `Progress` at the start and after every row.
    """
    runs = [run for run in plan_runs(spec) if only is None or only(run)]
    store = RowStore(directory)
    with store.locked():
        missing = _missing(runs, store, retry)
        done = len(runs) - len(missing)
        _log.info("%s: %d of %d runs are stored", spec.name, done, len(runs))
        if progress is not None:
            progress(Progress(done, len(runs)))
        pool = ProcessPool(workers or spec.workers, spec.limits, spec.scores, spec.python_path)
        for run, outcome in pool.execute(missing):
            row = {**describe_run(run), **outcome}
            store.add(run.key, row)
            done += 1
            if row["status"] != "ok":
                _log.info("%s on %s: %s: %s", run.learner.name, run.data.name, row["status"], row.get("error"))
            if progress is not None:
                progress(Progress(done, len(runs), row))


def _missing(runs: Sequence[Run], store: RowStore, retry: bool) -> list[Run]:
    stored = store.keys()
    if retry:
        stored = {key for key in stored if store.read(key).get("status") == "ok"}
    return [run for run in runs if run.key not in stored]
