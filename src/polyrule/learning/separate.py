"""Separate-and-conquer: grow a rule, set its labels, shrink the working set, repeat."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import starmap
from math import floor
from typing import Literal as Choice

from polyrule.errors import OptionError
from polyrule.kernels.engine import Candidate, Engine, Outcome, OutOfTime
from polyrule.learning.progress import Callback, Progress, wants_within
from polyrule.measures.ratio import exact_number
from polyrule.model.rule import Literal, Rule

logger = logging.getLogger(__name__)

Reason = Choice["complete", "max_rules", "time_limit", "callback", "interrupted"]


@dataclass(frozen=True, slots=True)
class SeparateOptions:
    """When rules stop, which examples stay, and when learning ends.

    Parameters
    ----------
    remaining : float
        Learning ends when the working set holds no more than this share of the training weight.
    stop_threshold : float or None
        A rule gets a stop when at most this share of what it covers still has an unset label. None: no stops.
    keep_covered : bool
        Whether examples covered by a rule without a stop all stay, or only those with an unset label.
    max_rules : int or None
        Longest list.
    time_limit : float or None
        Seconds after which learning ends with the list so far.
    all_stay : bool
        No stops, and every example stays, so that no body depends on the rules before it.
    """

    remaining: float = 0.1
    stop_threshold: float | None = 0.01
    keep_covered: bool = True
    max_rules: int | None = None
    time_limit: float | None = None
    all_stay: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.remaining <= 1:
            raise OptionError(f"remaining must be a share between 0 and 1, got {self.remaining}")
        if self.stop_threshold is not None and not 0 <= self.stop_threshold <= 1:
            raise OptionError(f"stop_threshold must be None or a share between 0 and 1, got {self.stop_threshold}")
        if self.max_rules is not None and self.max_rules < 1:
            raise OptionError(f"max_rules must be None or at least 1, got {self.max_rules}")
        if self.time_limit is not None and self.time_limit <= 0:
            raise OptionError(f"time_limit must be None or a positive number of seconds, got {self.time_limit}")


@dataclass(slots=True)
class Clock:
    """Measures a fit and knows when its time is over."""

    limit: float | None = None
    started: float = 0.0

    def __post_init__(self) -> None:
        self.started = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def deadline(self) -> float | None:
        """When the time is over, on the monotonic clock."""
        return None if self.limit is None else self.started + self.limit


class _Ended(Exception):
    """The callback wants no more, while a rule is searched."""


class Learning:
    """A rule list in the making; `rules` and `reason` are valid at every moment."""

    def __init__(
        self,
        options: SeparateOptions,
        scale: Fraction = Fraction(1),
        callback: Callback | None = None,
        labels: int = 1,
    ) -> None:
        self.options = options
        self.scale = scale
        self.callback = callback
        self.rules: list[Rule] = []
        self.reason: Reason = "complete"
        self.clock = Clock(options.time_limit)
        self.labels = labels
        #: weight of the label decisions that the present engine's rules have made
        self.decided = 0
        #: where an engine learns one label (binary relevance): which one it is in the list, and which value its 1 means
        self.target: tuple[int, int] | None = None

    def run(self, engine: Engine, grow: Callable[[], Candidate | None], total: int) -> None:
        """Learn rules with `engine` until an end is reached; an interrupt is noted in `reason`, not raised."""
        engine.deadline = self.clock.deadline
        self.decided = 0
        if wants_within(self.callback):
            engine.report = lambda bodies, best: self._report(engine, total, bodies, best)
        try:
            for rule in self._steps(engine, grow, total):
                self.rules.append(rule)
                if self._told_to_end(engine, total):
                    break
        except OutOfTime:
            self.reason = "time_limit"
        except _Ended:
            self.reason = "callback"
        except KeyboardInterrupt:
            self.reason = "interrupted"
        logger.info("%d rules in %.3f s (%s)", len(self.rules), self.clock.elapsed, self.reason)

    def _steps(self, engine: Engine, grow: Callable[[], Candidate | None], total: int) -> Iterator[Rule]:
        enough = floor(exact_number(self.options.remaining) * total)  # what remains is a whole number, too
        # Open examples are never so few as a negative share, so none of the covered ones leaves.
        threshold, keep = (
            (-1.0, True) if self.options.all_stay else (self.options.stop_threshold, self.options.keep_covered)
        )
        while engine.remaining > enough and engine.has_unset:
            found = grow()
            if found is None:
                return
            outcome = engine.commit(found, threshold, keep)
            self.decided += outcome.newly_set
            yield self._stored(found, outcome)

    def _stored(self, found: Candidate, outcome: Outcome) -> Rule:
        """Turn a search result into a stored rule, its counts back in the units of the sample weights."""
        scale = self.scale
        counts: Iterable[tuple[int, int, float, float]] = found.head
        if scale != 1:
            counts = [(label, value, unscaled(tp, scale), unscaled(fp, scale)) for label, value, tp, fp in found.head]
        if self.target is not None:
            counts = [(*self.target, tp, fp) for _, _, tp, fp in counts]
        head = tuple(starmap(Literal, counts))
        coverage = unscaled(outcome.covered, self.scale)
        return Rule(head, found.body, outcome.stopped, found.value, "learned", coverage)

    def _done(self, total: int) -> float:
        """Share of all label decisions made; where each label has an engine of its own, those before it count whole."""
        if self.target is None:
            return self.decided / (total * self.labels)
        return (self.target[0] + self.decided / total) / self.labels

    def _report(self, engine: Engine, total: int, bodies: int, best: float | None) -> None:
        """Tell the callback about the rule that is being searched."""
        assert self.callback is not None
        remaining, done = engine.remaining / total, self._done(total)
        if self.callback(Progress(len(self.rules), remaining, done, self.clock.elapsed, None, bodies, best)) is True:
            raise _Ended

    def _told_to_end(self, engine: Engine, total: int) -> bool:
        if self.callback is not None:
            remaining, done = engine.remaining / total, self._done(total)
            progress = Progress(len(self.rules), remaining, done, self.clock.elapsed, self.rules[-1])
            if self.callback(progress) is True:
                self.reason = "callback"
                return True
        if self.options.max_rules is not None and len(self.rules) >= self.options.max_rules:
            self.reason = "max_rules"
            return True
        if self.clock.limit is not None and self.clock.elapsed > self.clock.limit:
            self.reason = "time_limit"
            return True
        return False


def unscaled(count: int, scale: Fraction) -> float:
    """Integer weight units back to the user's: an int where it is whole, else the nearest double.

    Examples
    --------
    >>> unscaled(6, Fraction(1, 2)), unscaled(3, Fraction(1, 2))
    (3, 1.5)
    """
    if scale == 1:  # no weights: by far the commonest case, and Fraction arithmetic is slow
        return count
    exact = count * scale
    return exact.numerator if exact.denominator == 1 else float(exact)
