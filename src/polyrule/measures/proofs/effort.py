"""How much a search for a proof may cost: so much work, counted in products of terms, and time until a deadline.

Without a deadline the work alone decides, so that the same proofs are found on every machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

#: Products of terms in the search for one certificate, a fraction of a second; those that were ever found took 3,000.
MOST_WORK = 20_000


class OutOfReach(Exception):
    """There is no answer of this kind, or none at the price that may be paid."""


@dataclass
class _Effort:
    left: int
    deadline: float | None


_EFFORT: ContextVar[_Effort | None] = ContextVar("effort", default=None)


@contextmanager
def effort(most: int, deadline: float | None = None) -> Iterator[None]:
    """Allow so much work inside the block, until `deadline` in CPU seconds of the process.

    >>> with effort(10):
    ...     spend(11)
    Traceback (most recent call last):
        ...
    polyrule.measures.proofs.effort.OutOfReach: this takes too long
    """
    token = _EFFORT.set(_Effort(most, deadline))
    try:
        yield
    finally:
        _EFFORT.reset(token)


def spend(work: int) -> None:
    """Say that so much work is about to be done; `OutOfReach` if it may not be."""
    allowed = _EFFORT.get()
    if allowed is None:
        return
    allowed.left -= work
    if allowed.left < 0 or (allowed.deadline is not None and time.process_time() > allowed.deadline):
        raise OutOfReach("this takes too long")
