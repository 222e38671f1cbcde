"""What a callback is told after every learned rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
    elapsed : float
        Seconds since learning began.
    rule : Rule
        The rule just learned.
    """

    rules: int
    remaining: float
    elapsed: float
    rule: Rule


Callback = Callable[[Progress], object]
"""Called after every rule; returning ``True`` ends learning with the list so far."""
