"""What decides what an ensemble becomes: its options, when to stop, and what to tell whoever waits."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.binning.text import looks_like_text
from polyrule.conditions import Condition, thresholds
from polyrule.data.table import Table
from polyrule.ensemble.building import BuildOptions
from polyrule.model.rule import WeightedRule
from polyrule.utils.arrays import Bools
from polyrule.utils.compute import ONE_THREAD, Compute

_monotonic = time.monotonic
_DECISION_SHARE = 0.08  # of the time limit, kept back for the decision
_FINAL_SHARE = 0.45  # of the time limit, at least, for the final model: its rules are what counts
_FINAL_WORK = 2.0  # the final model takes about as long as so many of the cross-validation
_WORTH_BEGINNING = 0.2  # of the time that the final model took: with less left, a fold is left out
_RULES_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class EnsembleProgress:
    """What a callback is told: when a phase begins, after every rule, and when the decision is due.

    Attributes
    ----------
    phase : str
        "teacher", "rules" or "decision"; for a model of the cross-validation "fold 2 of 3: rules" and so on.
    done : float
        Share of the whole work that is done, an estimate.
    rules : int
        Rules of the model at hand so far; of the final one half as many again as asked for are learned, and the weakest
        then taken out.
    loss : float or None
        Its penalised training loss.
    part : int
        0 for the final model, 1, 2, … for the models of the cross-validation.
    attempt : int
        Which of several sets of rules for the same model, from 0.
    elapsed : float
        Seconds since learning began.
    """

    phase: str
    done: float
    rules: int = 0
    loss: float | None = None
    part: int = 0
    attempt: int = 0
    elapsed: float = 0.0


Callback = Callable[[EnsembleProgress], object]


class Control:
    """Shared by everything that works on one fit, in whichever thread.

    Parameters
    ----------
    time_limit : float or None
        Seconds.
    callback : callable or None
        Its answer True ends the search for rules of the part at hand.
    parts : int
        How many models are learned: the final one and those of the cross-validation.
    attempts : int
        Sets of rules for the final model.
    threads : int
    clock : callable
        Seconds since whenever.
    """

    def __init__(
        self,
        time_limit: float | None = None,
        callback: Callback | None = None,
        parts: int = 1,
        attempts: int = 1,
        threads: int = 1,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._clock = _monotonic if clock is None else clock
        self._start = self._clock()
        self._callback = callback
        self._threads = max(1, min(threads, parts))
        self._work = {part: _FINAL_WORK * (1.0 + 0.7 * attempts) / 1.7 if part == 0 else 1.0 for part in range(parts)}
        self._done = dict.fromkeys(self._work, 0.0)
        self._limit = time_limit
        self._end = None if time_limit is None else self._start + (1 - _DECISION_SHARE) * time_limit
        self._final_took: float | None = None
        self._ends: dict[int, tuple[float, float]] = {}
        self.interrupted = False
        self.late = False
        self.stopped = False

    @contextlib.contextmanager
    def heeding_interrupts(self) -> Iterator[None]:
        """Note the first Ctrl-C instead of falling over it; a second one is as usual."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def note(*_: Any) -> None:
            self.interrupted = True
            signal.signal(signal.SIGINT, before)

        before = signal.getsignal(signal.SIGINT)
        # set by somebody who is not Python, so it could not be put back; or ignored, which is for the caller to change
        if before in (None, signal.SIG_IGN):
            yield
            return
        signal.signal(signal.SIGINT, note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def begin(self, part: int) -> None:
        """Give a part its share of the time that is left."""
        if self._end is None:
            return
        now = self._clock()
        waiting = sum(work for other, work in self._work.items() if other not in self._ends)
        share = self._work[part] * self._threads / max(waiting, 1e-9)
        share = min(1.0, max(share, _FINAL_SHARE) if part == 0 else share)
        self._ends[part] = (now, now + share * max(0.0, self._end - now))

    def finish(self, part: int) -> None:
        """Note that a part is there."""
        if part == 0:
            self._final_took = self._clock() - self._start

    def leaves_out(self, part: int) -> bool:
        """Whether a model of the cross-validation is not even begun: interrupted, or hardly any time is left."""
        if part == 0 or self._end is None:
            return part != 0 and self.interrupted
        least = _WORTH_BEGINNING * (self._final_took or 0.0)
        short = self._clock() + least >= self._end
        self.late = self.late or short
        return self.interrupted or short

    def hurried(self) -> bool:
        """Whether even the time for the decision is half over, so that kinds of it are left out."""
        if self._end is None or self._limit is None:
            return False
        over = self._clock() >= self._end + _DECISION_SHARE / 2 * self._limit
        self.late = self.late or over
        return over

    def out_of_time(self, part: int, share: float = _RULES_SHARE) -> bool:
        """Whether the part must come to an end: interrupted, or so much of its time is over."""
        if self.interrupted:
            return True
        if part not in self._ends:
            return False
        start, end = self._ends[part]
        over = self._clock() >= start + share * (end - start)
        self.late = self.late or over
        return over

    def tell(
        self,
        part: int,
        what: str,
        share: float,
        rules: int = 0,
        loss: Callable[[], float | None] = lambda: None,
        attempt: int = 0,
    ) -> bool:
        """Report progress; True if the callback wants the search for rules to end."""
        self._done[part] = max(self._done[part], share)
        if self._callback is None:
            return False
        folds = len(self._work) - 1
        phase = what if part == 0 else f"fold {part} of {folds}: {what}"
        total = sum(self._work[p] * self._done[p] for p in self._work) / sum(self._work.values())
        elapsed = self._clock() - self._start
        try:
            wish = self._callback(EnsembleProgress(phase, 0.97 * total, rules, loss(), part, attempt, elapsed)) is True
        except KeyboardInterrupt:
            self.interrupted, wish = True, False
        self.stopped = self.stopped or wish
        return wish or self.interrupted

    @property
    def reason(self) -> str:
        """Why learning ended."""
        if self.stopped:
            return "callback"
        return "interrupted" if self.interrupted else "time_limit" if self.late else "complete"

    def tell_decision(self) -> None:
        """Report that only the decision is left."""
        if self._callback is not None:
            self._callback(EnsembleProgress("decision", 0.97, elapsed=self._clock() - self._start))


def signs_of(body: Sequence[Condition], direction: Sequence[int]) -> list[int]:
    """Which sign each condition on a feature with a direction wants the weights of its rule to have.

    A body that is left or entered as a feature rises may only lower or raise scores that rise with this feature.

    Examples
    --------
    >>> signs_of((NumericCondition(0, ">", 1.0), NumericCondition(1, ">", 1.0), NumericCondition(0, "<=", 2.0)), [1, 0])
    [1, -1]
    """
    limits = (limit for limit in thresholds(body) if direction[limit.feature])
    return [int(direction[limit.feature]) * (1 if limit.op == ">" else -1) for limit in limits]


_RIDGES = (0.3, 1.0, 3.0, 10.0)
# A word is a strong sign: weights shrink less, while rules are chosen and afterwards.
_RIDGE_FOR_TEXT = 0.1
_GAIN_RIDGE_FOR_TEXT = 0.5
_RIDGES_FOR_TEXT = (0.05, 0.15, 0.5, 1.5)
# Many words stand for each other, each of them rare: a member need not gain much beside the first word of a rule. The
# label that a rule tells most about judges it, so that words for different labels are not joined.
_GROWTH_FOR_TEXT: dict[str, Any] = {"min_improvement": 0.0, "chance": 0.15, "judging": 1}


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """Everything that decides what is learned.

    Parameters
    ----------
    build : BuildOptions
    taught : bool
        Whether a teacher has a say; otherwise the bare labels are fitted.
    prices : tuple of float
        Ascending; what a head entry must lower the loss by to stay, to choose from by cross-validation.
    labels_per_head : float or None
        Most labels in a head on average; prices rise until that holds.
    ridges : tuple of float
        Penalties on squared weights to choose from by cross-validation; empty for those that suit the table.
    restarts : int
        How many sets of rules are learned, each from other mixed examples, for the final model to be the best of.
    folds : int
    max_bins : int
    points : int
        Most points of a scorecard; 0 keeps real weights.
    decision, optimize : str
        See `polyrule.ensemble.tuning.choose`.
    start : tuple of WeightedRule
        Rules that are there from the start; their bodies and heads stay, their weights are fitted with the others.
    allowed : ndarray of bool, shape (features, labels), or None
        Which features rules for a label may test.
    direction : ndarray of int8, shape (features,), or None
        1 or -1 for features that all scores may only rise or only fall with, 0 for the others.
    text : bool
        Whether the table looks like text; see `for_table`.
    time_limit : float or None
        Seconds.
    seed : int
    compute : Compute
    """

    build: BuildOptions = field(default_factory=BuildOptions)
    taught: bool = True
    prices: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    labels_per_head: float | None = None
    ridges: tuple[float, ...] = ()
    restarts: int = 1
    folds: int = 3
    max_bins: int = 64
    points: int = 0
    decision: str = "auto"
    optimize: str = "micro-f1"
    start: tuple[WeightedRule, ...] = ()
    allowed: Bools | None = None
    direction: npt.NDArray[np.int8] | None = None
    text: bool = False
    time_limit: float | None = None
    seed: int = 0
    compute: Compute = ONE_THREAD

    def for_table(self, table: Table) -> LearnOptions:
        """Return the options with what depends on the kind of table filled in."""
        text = looks_like_text(table)
        build = self.build
        if text:
            growth = replace(build.growth, **_GROWTH_FOR_TEXT)
            build = replace(build, ridge=_RIDGE_FOR_TEXT, gain_ridge=_GAIN_RIDGE_FOR_TEXT, presence=True, growth=growth)
        ridges = self.ridges or (_RIDGES_FOR_TEXT if text else _RIDGES)
        return replace(self, build=build, text=text, ridges=ridges)
