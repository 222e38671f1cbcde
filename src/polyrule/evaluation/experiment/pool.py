"""Runs in processes of their own, several at a time, each within its limits."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from polyrule.evaluation.experiment.child import child_main
from polyrule.evaluation.experiment.memory import cpu_seconds, resident_mb
from polyrule.evaluation.experiment.plan import Run
from polyrule.evaluation.experiment.spec import Limits

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

    Parameters
    ----------
    workers : int
        Processes at a time.
    limits : Limits
        A run that exceeds them is ended; its outcome says so.
    score_options : mapping
        Arguments for `score`.
    python_path : sequence of str
        Folders in which named classes are looked for as well.
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
        """What is being worked on now."""
        return [f"{active.run.data.name} {active.run.learner.name}" for active in self._active]

    def _start(self, run: Run) -> _Active:
        ours, theirs = self._context.Pipe(duplex=False)
        arguments = (theirs, run, self._score_options, self._python_path, self._limits.threads)
        process = self._context.Process(target=child_main, args=arguments, daemon=True)
        process.start()
        theirs.close()  # so that a child's death shows as the end of the pipe
        return _Active(run, process, ours, time.monotonic())

    def _outcome(self, active: _Active) -> dict[str, Any] | None:
        """Return what became of a run, or None while it works."""
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
