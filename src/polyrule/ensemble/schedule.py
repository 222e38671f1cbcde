"""Schedule of a fit: time limit, interrupts, and progress reports."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_monotonic = time.monotonic
_DECISION_SHARE = 0.08  # of the time limit, reserved for the decision
_FINAL_SHARE = 0.45  # of the time limit, at least, for the final model, whose rules the user gets
_FINAL_WORK = 2.0  # time of the final model, in times of one of the cross-validation
_MIN_FOLD_SHARE = 0.2  # of the time of the final model; with less time left, a fold is skipped
_RULES_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class EnsembleProgress:
    """Progress of a fit: reported at the beginning of a phase, after every rule, and before the decision.

    Attributes
    ----------
    phase : str
        "teacher", "rules" or "decision"; for a model of the cross-validation "fold 2 of 3: rules" and so on.
    done : float
        Estimated share of the work that is done.
    rules : int
        Number of rules so far; more are built than the model has at the end.
    loss : float or None
        Penalized training loss.
    part : int
        0 for the final model, 1, 2, … for the models of the cross-validation.
    elapsed : float
        Seconds since the beginning of the fit.
    """

    phase: str
    done: float
    rules: int = 0
    loss: float | None = None
    part: int = 0
    elapsed: float = 0.0


Callback = Callable[[EnsembleProgress], object]


class FitSchedule:
    """Time budget and progress of one fit, shared by its threads.

    Parameters
    ----------
    time_limit : float or None
        Seconds.
    callback : callable or None
        A result of True ends the search for rules of the current model.
    models : int
        Number of models: the final one and those of the cross-validation.
    threads : int
    clock : callable
        Returns seconds.
    """

    def __init__(
        self,
        time_limit: float | None = None,
        callback: Callback | None = None,
        models: int = 1,
        threads: int = 1,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._clock = _monotonic if clock is None else clock
        self._start = self._clock()
        self._callback = callback
        self._threads = max(1, min(threads, models))
        self._work = {model: 1.0 if model else _FINAL_WORK for model in range(models)}
        self._done = dict.fromkeys(self._work, 0.0)
        self._limit = time_limit
        self._end = None if time_limit is None else self._start + (1 - _DECISION_SHARE) * time_limit
        self._final_seconds: float | None = None
        self._ends: dict[int, tuple[float, float]] = {}
        self.interrupted = False
        self.late = False
        self.stopped = False

    @contextlib.contextmanager
    def defer_interrupt(self) -> Iterator[None]:
        """Record the first Ctrl-C instead of raising KeyboardInterrupt; a second one raises it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def record(*_: Any) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, before)

        before = signal.getsignal(signal.SIGINT)
        # set by code that is not Python, so it could not be restored; or ignored, which the caller decides
        if before in (None, signal.SIG_IGN):
            yield
            return
        signal.signal(signal.SIGINT, record)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def begin(self, model: int) -> None:
        """Assign a model its share of the time that is left."""
        if self._end is None:
            return
        now = self._clock()
        waiting = sum(work for other, work in self._work.items() if other not in self._ends)
        share = self._work[model] * self._threads / max(waiting, 1e-9)
        share = min(1.0, share if model else max(share, _FINAL_SHARE))
        self._ends[model] = (now, now + share * max(0.0, self._end - now))

    def finish(self, model: int) -> None:
        """Record that a model is finished."""
        if model == 0:
            self._final_seconds = self._clock() - self._start

    def skips_fold(self, model: int) -> bool:
        """Return True if a model of the cross-validation is not begun: after an interrupt, or for lack of time."""
        if model == 0 or self._end is None:
            return model != 0 and self.interrupted
        short = self._clock() + _MIN_FOLD_SHARE * (self._final_seconds or 0.0) >= self._end
        self.late = self.late or short
        return self.interrupted or short

    def out_of_time(self, model: int, share: float = _RULES_SHARE) -> bool:
        """Return True if a model must end: after an interrupt, or after `share` of its time."""
        if self.interrupted:
            return True
        if model not in self._ends:
            return False
        start, end = self._ends[model]
        over = self._clock() >= start + share * (end - start)
        self.late = self.late or over
        return over

    def report(
        self,
        model: int,
        what: str,
        share: float,
        rules: int = 0,
        loss: Callable[[], float | None] = lambda: None,
    ) -> bool:
        """Report progress; return True if the callback ends the search for rules."""
        self._done[model] = max(self._done[model], share)
        if self._callback is None:
            return False
        phase = what if model == 0 else f"fold {model} of {len(self._work) - 1}: {what}"
        done = 0.97 * sum(self._work[m] * self._done[m] for m in self._work) / sum(self._work.values())
        progress = EnsembleProgress(phase, done, rules, loss(), model, self._clock() - self._start)
        try:
            stop = self._callback(progress) is True
        except KeyboardInterrupt:
            self.interrupted, stop = True, False
        self.stopped = self.stopped or stop
        return stop or self.interrupted

    def report_decision(self) -> None:
        """Report that only the decision is left."""
        if self._callback is not None:
            self._callback(EnsembleProgress("decision", 0.97, elapsed=self._clock() - self._start))

    @property
    def reason(self) -> str:
        """Reason for the end of the fit."""
        if self.stopped:
            return "callback"
        return "interrupted" if self.interrupted else "time_limit" if self.late else "complete"
