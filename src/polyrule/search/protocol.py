"""What an engine is: the part of the learner that holds the training state and grows one rule at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from polyrule.conditions import Condition
from polyrule.errors import OptionError
from polyrule.measures.ratio import exact_number
from polyrule.utils.arrays import Ints


@dataclass(frozen=True, slots=True)
class GrowOptions:
    """Options of growing one rule.

    Parameters
    ----------
    beam_width : int
        Bodies kept after each step; 1 is greedy search.
    label_conditions : bool
        Whether bodies may test labels that an earlier head has set.
    min_coverage : float
        Least weight of working-set examples a body must cover; 0 is off. A float is the decimal it is written as.
    max_conditions : int or None
        Longest body allowed; None is no limit.
    """

    beam_width: int = 1
    label_conditions: bool = True
    min_coverage: float | Fraction = 0
    max_conditions: int | None = None

    def __post_init__(self) -> None:
        try:
            fine = exact_number(self.min_coverage) >= 0
        except ValueError:
            fine = False
        if not fine:
            allowed = "a finite number of at least 0"
            raise OptionError(parameter="min_coverage", value=self.min_coverage, allowed=allowed)

    @property
    def min_weight(self) -> int:
        """The least whole weight that a body must cover; no data weighs more than 2**62."""
        return min(ceil(exact_number(self.min_coverage)), 2**62)

    def in_units(self, unit: Fraction) -> GrowOptions:
        """Return the options for weights in units of `unit` examples.

        >>> GrowOptions(min_coverage=2.1).in_units(Fraction(3, 10)).min_weight
        7
        """
        return replace(self, min_coverage=exact_number(self.min_coverage) / unit)


class Cover(Protocol):
    """Rows as an engine keeps them."""

    def rows(self) -> Ints:
        """Row numbers in ascending order."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A rule as the search found it: integer counts, exact value, and the rows it covers.

    `head` holds (label, value, tp, fp) in label order, counts in integer weight units. `cover` are the rows of the
    working set it covers, as row numbers or as the engine that grew it keeps them. `bound` limits the value
    of any head of the body if not all of them could be excluded; None if the head is the best.
    """

    body: tuple[Condition, ...]
    head: tuple[tuple[int, int, int, int], ...]
    value: Fraction
    cover: Ints | Cover
    bound: Fraction | None = field(default=None, kw_only=True)

    @property
    def covered(self) -> Ints:
        """Row numbers in ascending order."""
        return self.cover if isinstance(self.cover, np.ndarray) else self.cover.rows()

    @property
    def tp(self) -> int:
        """True positives summed over the head."""
        return sum(literal[2] for literal in self.head)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Effect of committing a rule, in integer weight units."""

    covered: int
    open: int
    newly_set: int
    stopped: bool


def rows_to_keep(
    covered: int, still_open: int, stop_threshold: float | None, keep_covered: bool
) -> Literal["all", "open", "none"]:
    """Return which covered examples stay in the working set: those with an unset label, all, or none."""
    if stop_threshold is not None and still_open <= exact_number(stop_threshold) * covered:
        return "none"
    return "all" if stop_threshold is not None and keep_covered else "open"


Report = Callable[[int, float | None], None]
"""Told, while a rule is grown, how many bodies have been judged, at least, and the best value; ends it by raising."""

PACE = 0.5
"""Seconds between two reports."""


class OutOfTime(Exception):
    """Raised by `Engine.grow` when its deadline has passed; the training state is as it was before the call.

    `best` is the rule that had been reached, if any: its body might have been grown further.
    """

    def __init__(self, best: Candidate | None = None) -> None:
        super().__init__("the deadline has passed")
        self.best = best


class Engine(Protocol):
    """Holds the training state and grows rules for it.

    `deadline` is a value of ``time.monotonic()`` or None. A `grow` that runs past it raises `OutOfTime`; one that is
    interrupted raises KeyboardInterrupt. Both leave the state as it was. `report` is called about twice a second while
    a rule is grown; what it raises ends `grow` likewise.
    """

    name: str
    deadline: float | None
    report: Report | None

    @property
    def remaining(self) -> int:
        """Weight of the examples in the working set."""

    @property
    def has_unset(self) -> bool:
        """True if an example of the working set has an unset label that may still be set."""

    def grow(self, label: int | None = None, value: int | None = None) -> Candidate | None:
        """Return the best rule for the current state, or None if no literal has a true positive.

        With `label` and `value` (1 if left out), the rule for that literal alone; None where absence is not predicted.
        """

    def grow_single(self) -> Candidate | None:
        """Grow one rule per label and sign and return the best of them.

        Better means: value, then TP, then shorter body, then the first label, then present before absent.
        """

    def commit(self, candidate: Candidate, stop_threshold: float | None, keep_covered: bool) -> Outcome:
        """Set the head's unset labels on the covered examples and update the working set."""

    def leftover(self) -> npt.NDArray[np.int64]:
        """Per label, the weight of (present, absent) among all training examples where no rule has set the label."""
