"""What a measure is: a function of the four counts, with exact values; or, alone of its kind, subset accuracy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.errors import OptionError
from polyrule.utils.arrays import Floats

if TYPE_CHECKING:
    from polyrule.measures.properties import Properties


Counts = tuple[int, int, int, int]
AVERAGINGS = ("micro", "label", "example", "macro")
SCOPES = ("head", "all", "full")


class Measure(ABC):
    """Rates a head by its counts (TP, FP, TN, FN); larger is better.

    Values are exact rational numbers, because a head with several labels often wins by an exact tie. A denominator
    of 0 gives the value 0. Averaging, scope and the search for the best head are not a measure's business.

    Attributes
    ----------
    name : str
        What the measure is called in messages and model files.
    monotone : bool
        Whether the value never falls when TP or TN grows and never rises when FP or FN grows. Branch and bound prunes
        by it, so it must not be claimed wrongly.
    rounded : bool
        Whether values are roots rounded to a fixed number of bits (Matthews) rather than the number itself.

    Examples
    --------
    >>> from polyrule.measures import get
    >>> measure = get("f1")
    >>> measure.value(tp=3, fp=1, tn=5, fn=2), measure.monotone
    (Fraction(2, 3), True)
    """

    name: str
    monotone: bool = False
    rounded: bool = False

    def in_units(self, unit: Fraction) -> Measure:
        """Return the measure for counts in units of `unit` examples, with exactly equal values.

        >>> from polyrule.measures import get
        >>> get("laplace").in_units(Fraction(1, 10)).value(5, 0, 0, 0) == Fraction(3, 2) / Fraction(5, 2)
        True
        """
        return ScaledMeasure(self, unit)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @abstractmethod
    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the exact value for integer counts."""

    def values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Return the values for arrays of counts, rounded to doubles; for plots, bounds and quick checks."""
        counts = np.broadcast_arrays(*(np.asarray(x, dtype=np.int64) for x in (tp, fp, tn, fn)))
        table = np.stack([x.ravel() for x in counts], axis=1)
        distinct, inverse = np.unique(table, axis=0, return_inverse=True)
        single = np.array([float(self.value(*map(int, row))) for row in distinct], dtype=np.float64)
        return np.asarray(single[inverse.ravel()].reshape(counts[0].shape))

    def quick_values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Return values for arrays of counts that may be off by more than rounding; for trials confirmed exactly."""
        return self.values(tp, fp, tn, fn)

    def upper_bound(self, low: Counts, high: Counts) -> Fraction | None:
        """Return a number no value exceeds while every count stays between `low` and `high`; None if none is known."""
        if not self.monotone:
            return None
        return self.value(high[0], low[1], high[2], low[3])

    @property
    def has_bound(self) -> bool:
        """True if `upper_bound` returns a bound."""
        return self.upper_bound((0, 0, 0, 0), (1, 1, 1, 1)) is not None

    def properties(
        self, averaging: str = "micro", scope: str = "head", negative: bool = True, nothing_set: bool = True
    ) -> Properties:
        """Return the kind of the measure, the fact that proves it, and the exact searches.

        Parameters
        ----------
        averaging : {"micro", "label", "example", "macro"}
        scope : {"head", "all", "full"}
        negative : bool
            Whether heads may hold literals ``label = 0``.
        nothing_set : bool
            Whether no label has been set yet by an earlier rule. Some facts only hold then.
        """
        # Proofs import measures, so a measure imports them late.
        from polyrule.measures.properties import properties_of

        return properties_of(Case(self, averaging, scope, negative, nothing_set))


def divided(top: Any, bottom: Any) -> Floats:
    """Divide arrays; what is divided by 0 is 0, as everywhere.

    >>> divided(np.array([1.0, 2.0]), np.array([4.0, 0.0]))
    array([0.25, 0.  ])
    """
    return np.asarray(np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom != 0))


class ScaledMeasure(Measure):
    """Any measure, for counts in units of `unit` examples.

    Its `value` gets fractions if a count is no whole number of examples.
    """

    def __init__(self, measure: Measure, unit: Fraction) -> None:
        self.name = measure.name
        self.monotone = measure.monotone
        self.rounded = measure.rounded
        self.measure = measure
        self.unit = unit

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the value of that many examples."""
        return self.measure.value(*self._examples((tp, fp, tn, fn)))

    def upper_bound(self, low: Counts, high: Counts) -> Fraction | None:
        """Ask the measure for its own bound."""
        return self.measure.upper_bound(self._examples(low), self._examples(high))

    def properties(
        self, averaging: str = "micro", scope: str = "head", negative: bool = True, nothing_set: bool = True
    ) -> Properties:
        """Return the properties of the measure, which hold for counts of any size."""
        return self.measure.properties(averaging, scope, negative, nothing_set)

    def _examples(self, counts: Counts) -> Counts:
        exact = [count * self.unit for count in counts]
        tp, fp, tn, fn = (int(x) if x.denominator == 1 else x for x in exact)
        return tp, fp, tn, fn  # type: ignore[return-value]


class SubsetAccuracy(Measure):
    """The share of examples that are right for every label of the head; example-wise by definition.

    A covered example is right for a label if the label was not set before and the truth equals the literal; an
    uncovered one if the label is absent. With scope ``all`` or ``full`` every label outside the head must be absent
    too. The averaging makes no difference.

    Examples
    --------
    Two of three examples are right for both labels when the body covers the first two and the head has both labels:

    >>> from polyrule.heads import HeadProblem, evaluate
    >>> from polyrule.measures import Objective
    >>> problem = HeadProblem.from_text(covered="11 10", uncovered="00")
    >>> evaluate(problem, Objective(SubsetAccuracy()), ((0, 1), (1, 1)))
    Fraction(2, 3)
    """

    name = "subset"
    monotone = True

    def in_units(self, unit: Fraction) -> SubsetAccuracy:
        """A share of examples is the same in every unit."""
        return self

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the value for one label, where right means TP or TN."""
        total = tp + fp + tn + fn
        return Fraction(tp + tn, total) if total else Fraction(0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SubsetAccuracy)

    def __hash__(self) -> int:
        return hash(SubsetAccuracy)

    def __repr__(self) -> str:
        return "SubsetAccuracy()"


@dataclass(frozen=True)
class Case:
    """Subject of a claim: a measure, its averaging and scope, the allowed literals, and the state of labels.

    `lopsided` says whether of some label only one of the two literals is allowed.
    """

    measure: Measure
    averaging: str = "micro"
    scope: str = "head"
    negative: bool = True
    nothing_set: bool = True
    lopsided: bool = False

    def __post_init__(self) -> None:
        for name, value, options in (("averaging", self.averaging, AVERAGINGS), ("scope", self.scope, SCOPES)):
            if value not in options:
                raise OptionError(parameter=name, value=value, allowed=f"one of {', '.join(options)}")

    @property
    def by_profiles(self) -> bool:
        """True if a problem matters only through the counts of its labels."""
        return self.averaging == "micro" and not isinstance(self.measure, SubsetAccuracy)
