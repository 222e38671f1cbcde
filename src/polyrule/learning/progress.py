"""What a callback is told after every learned rule, and what a user who asked for words reads."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from polyrule.model.rule import Rule


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of learning after one more rule.

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
    rule : Rule
        The rule just learned.
    """

    rules: int
    remaining: float
    done: float
    elapsed: float
    rule: Rule


Callback = Callable[[Progress], object]
"""Called after every rule; returning ``True`` ends learning with the list so far."""

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
        return None if callback is None else callback(progress)

    return tell


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
    return f"{words}, {progress.done:.0%}".replace("%", " % of the label decisions made")
