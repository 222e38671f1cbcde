"""Runs of an experiment: missing ones are run in separate processes within limits; others are kept."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from polyrule.errors import OptionError
from polyrule.evaluation.experiment.one_run import Run, cpu_seconds, describe_run, execute, plan_runs, resident_mb
from polyrule.evaluation.experiment.spec import ExperimentSpec, Limits
from polyrule.evaluation.experiment.store import RowStore


def child_main(
    answer: Connection, run: Run, score_options: Mapping[str, float], python_path: tuple[str, ...], threads: int
) -> None:
    """Execute a run and send back what it measured, or in what way it failed."""
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; what becomes of runs is the parent's
    sys.path[:0] = python_path
    # MLRL's threads spin while they wait, which starves every other process of the machine
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    warnings.simplefilter("ignore")  # a foreign learner's advice has no place between an experiment's lines
    answer.send(_outcome(run, score_options, threads))
    answer.close()


def _outcome(run: Run, score_options: Mapping[str, float], threads: int) -> dict[str, Any]:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    try:
        with threadpool_limits(threads):
            return execute(run, score_options)
    except MemoryError:
        return {"status": "memory", "error": "out of memory"}
    except ImportError as error:
        return {"status": "missing", "error": f"{type(error).__name__}: {error}"}
    except BaseException as error:
        # everything: a learner that calls sys.exit is a learner that failed
        return {
            "status": "failed",
            "error": f"{type(error).__name__}: {error}".splitlines()[0][:500],
            "traceback": traceback.format_exc()[-4000:],
        }


def _end_with_parent() -> None:
    """End this process when the process of the experiment has ended: its answer would not be received."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    _ask_for_signal(int(parent.sentinel))

    def wait_for_end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_for_end, daemon=True).start()


def _ask_for_signal(pipe: int) -> None:
    """Have Linux end this process when the pipe from the parent closes: a learner may never let our thread run."""
    if sys.platform != "linux":
        return
    import fcntl

    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    # the signal is SIGIO, which ends a process that has made no other arrangement
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)


_POLL_SECONDS = 0.05
_PRELOAD = [
    "polyrule",
    "polyrule.datasets",
    "polyrule.evaluation.experiment.one_run",
    "sklearn.datasets",
    "sklearn.ensemble",
    "sklearn.multioutput",
]


@dataclass
class _Active:
    run: Run
    process: BaseProcess
    answer: Connection
    started: float
    peak_mb: float = 0.0


class ProcessPool:
    """Execute runs in child processes and yield what became of each, in the order they end.

    A run that exceeds the limits is ended; its outcome says so. Named classes are looked for in `python_path` as well.
    """

    def __init__(
        self,
        workers: int,
        limits: Limits,
        score_options: Mapping[str, float] | None = None,
        python_path: Sequence[str] = (),
    ) -> None:
        self._workers = workers
        self._limits = limits
        self._score_options = dict(score_options or {})
        self._python_path = tuple(python_path)
        self._context = _context()
        self._active: list[_Active] = []

    def execute(self, runs: Sequence[Run]) -> Iterator[tuple[Run, dict[str, Any]]]:
        """Yield each run with its outcome; however the loop is left, no child process stays behind."""
        waiting = list(reversed(runs))
        try:
            while waiting or self._active:
                while waiting and len(self._active) < self._workers:
                    self._active.append(self._start(waiting.pop()))
                wait([active.answer for active in self._active], timeout=_POLL_SECONDS)
                for active in list(self._active):
                    outcome = self._outcome(active)
                    if outcome is not None:
                        self._active.remove(active)
                        _end(active.process)
                        active.answer.close()
                        yield active.run, outcome
        finally:
            for active in self._active:
                _end(active.process)
                active.answer.close()
            self._active.clear()

    @property
    def running(self) -> list[str]:
        """Runs in progress."""
        return [f"{active.run.data.name} {active.run.learner.name}" for active in self._active]

    def _start(self, run: Run) -> _Active:
        ours, theirs = self._context.Pipe(duplex=False)
        arguments = (theirs, run, self._score_options, self._python_path, self._limits.threads)
        process = self._context.Process(target=child_main, args=arguments, daemon=True)
        process.start()
        theirs.close()  # so that a child's death shows as the end of the pipe
        return _Active(run, process, ours, time.monotonic())

    def _outcome(self, active: _Active) -> dict[str, Any] | None:
        """Return the result of a run, or None while it works."""
        if active.answer.poll():
            try:
                outcome: dict[str, Any] = active.answer.recv()
                return outcome
            except EOFError:
                active.process.join()
                return {"status": "crashed", "error": _how_it_ended(active.process.exitcode)}
        limits, elapsed = self._limits, time.monotonic() - active.started
        if elapsed > limits.seconds:
            return {"status": "timeout", "error": f"more than {limits.seconds:g} s"}
        used = cpu_seconds(active.process.pid or 0) if limits.cpu_seconds is not None else None
        if used is not None and limits.cpu_seconds is not None and used > limits.cpu_seconds:
            return {"status": "timeout", "error": f"more than {limits.cpu_seconds:g} CPU s"}
        active.peak_mb = max(active.peak_mb, resident_mb(active.process.pid or 0) or 0.0)
        if active.peak_mb > limits.memory_mb:
            return {
                "status": "memory",
                "error": f"more than {limits.memory_mb:g} MB",
                "peak_memory_mb": active.peak_mb,
            }
        return None


def _context() -> Any:
    """Choose how processes start: from a small server that has the libraries loaded, where the system allows it."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOAD)
    return context


def _end(process: BaseProcess) -> None:
    if process.is_alive():
        process.kill()
    process.join()


def _how_it_ended(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        try:
            return f"the process was ended by {signal.Signals(-exit_code).name}"
        except ValueError:
            return f"the process was ended by signal {-exit_code}"
    return f"the process ended with exit code {exit_code}"


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Progress:
    """Progress of an experiment.

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

    Scripts that call this must do so under ``if __name__ == "__main__":``, because runs are separate processes.

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
    if workers is not None and workers < 1:
        raise OptionError(f"workers must be at least 1, got {workers}")
    runs = [run for run in plan_runs(spec) if only is None or only(run)]
    store = RowStore(directory)
    with store.locked():
        missing = _missing(runs, store, retry)
        done = len(runs) - len(missing)
        _log.info("%s: %d of %d runs are stored", spec.name, done, len(runs))
        if progress is not None:
            progress(Progress(done, len(runs)))
        pool = ProcessPool(spec.workers if workers is None else workers, spec.limits, spec.scores, spec.python_path)
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
