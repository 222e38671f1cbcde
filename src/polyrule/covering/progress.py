"""Progress of a learner: reports to a callback, and lines on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polyrule.model.rule import Rule


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of learning after one more rule, or while a rule is searched.

    Attributes
    ----------
    rules : int
        Rules learned so far.
    remaining : float
        Share of the training weight still in the working set.
    done : float
        Share of all label decisions on the training data that rules have made; for one list per label, the share of
        the labels that are dealt with.
    elapsed : float
        Seconds since learning began.
    rule : Rule or None
        The rule just learned; None in a report from within a rule, which a callback gets only if it asks for it by
        an attribute ``within_rules = True``.
    bodies : int
        Within a rule: bodies judged for it so far, at least; in the fastest searches columns are counted instead.
    best : float or None
        Within a rule: value of the best body so far.
    """

    rules: int
    remaining: float
    done: float
    elapsed: float
    rule: Rule | None
    bodies: int = 0
    best: float | None = None


Callback = Callable[[Progress], object]
"""Called after every rule; returning ``True`` ends learning with the list so far.

A callback with an attribute ``within_rules`` that is true is also called about twice a second while a rule is searched.
"""

#: seconds between two lines
PACE = 1.0


def telling(callback: Callable[[Any], object] | None, verbose: bool | int) -> Callable[[Any], object] | None:
    """Return a callback that also writes a line to standard error, at most one a second, if `verbose` asks for it."""
    if not verbose:
        return callback
    started = last = time.monotonic()

    def tell(progress: Any) -> object:
        nonlocal last
        now = time.monotonic()
        if now - last >= PACE or progress.rules == 1:
            last = now
            sys.stderr.write(f"[polyrule] {describe(progress)}, {now - started:.1f} s\n")
        wanted = callback is not None and (getattr(progress, "rule", True) is not None or wants_within(callback))
        return callback(progress) if callback is not None and wanted else None

    return within_rules(tell)


def within_rules(callback: Callable[[Any], object]) -> Callable[[Any], object]:
    """Mark a function as a callback that also wants reports from within rules.

    Examples
    --------
    >>> @within_rules
    ... def show(progress):
    ...     print(describe(progress))
    >>> show(Progress(3, 1.0, 0.4, 9.0, None, 120_000, 0.75))
    3 rules, 40 % of the label decisions made; next: 120,000 bodies judged, best value 0.75
    """
    callback.within_rules = True  # type: ignore[attr-defined]
    return callback


def wants_within(callback: Callable[[Any], object] | None) -> bool:
    """Whether a callback asks for reports from within rules."""
    return bool(getattr(callback, "within_rules", False))


def describe(progress: Any) -> str:
    """Say in words how far learning is; `progress` is what any of the learners reports.

    Examples
    --------
    >>> describe(Progress(12, 1.0, 0.62, 3.0, None))
    '12 rules, 62 % of the label decisions made'
    """
    words = f"{progress.rules} rule{'' if progress.rules == 1 else 's'}"
    if hasattr(progress, "phase"):
        return f"{words}, {progress.phase}, {progress.done:.0%} done"
    words = f"{words}, {progress.done:.0%}".replace("%", " % of the label decisions made")
    if progress.rule is not None or not progress.bodies:
        return words
    best = "" if progress.best is None else f", best value {progress.best:.4g}"
    return f"{words}; next: {progress.bodies:,} bodies judged{best}"
