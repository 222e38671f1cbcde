"""What to expect of a chosen rule on new examples.

The counts of a rule flatter it: its conditions were searched on these very examples, and it was chosen among many. A
teacher's answers do not know the labels the choice saw, but know the body only roughly. So the counts speak with the
weight they have, and the teacher with that of `PER_CONDITION` examples for each condition that was searched. A rule
without conditions was not searched, and its counts are as good as any.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np

from polyrule.arrays import Floats

PER_CONDITION = 200  # examples that a teacher's answer counts for
# Squared standard errors per condition by which counts are doubted: where nobody else is asked, and where a teacher
# says less than even so much doubt explains, as of a label that one clear sign tells.
_DOUBT, _LARGEST_DOUBT = 2, 4


def expected(right: float, wrong: float, conditions: int, told: float | None) -> float:
    """Return how likely a literal is right on a new example.

    Parameters
    ----------
    right, wrong : float
        Weight of the training examples on which it was.
    conditions : int
        How many were searched for it.
    told : float or None
        What a teacher who did not see their labels expects of `right`; None if nobody was asked.

    Examples
    --------
    >>> round(expected(30, 10, 0, None), 4), round(expected(30, 10, 2, 24.0), 4), round(expected(30, 10, 2, None), 4)
    (0.7381, 0.6131, 0.5948)
    """
    every = right + wrong
    if not every or not conditions:
        return (right + 1) / (every + 2)
    if told is None:
        return _at_least(right, every, _DOUBT * conditions)
    asked = PER_CONDITION * conditions
    mixed = (right + asked * told / every + 1) / (every + asked + 2)
    return max(mixed, _at_least(right, every, _LARGEST_DOUBT * conditions))


def _at_least(right: float, every: float, doubt: float) -> float:
    """Return the lower end of Wilson's interval: the least share from which this one is not too far away."""
    share, doubt = right / every, doubt / every
    return (share + doubt / 2 - sqrt(doubt * (share * (1 - share) + doubt / 4))) / (1 + doubt)


def value_of(right: float, said: float, present: float, every: float, squared: Fraction | None) -> float:
    """Return the F-measure, or Hamming accuracy where `squared` is None, of saying that labels are present.

    Parameters
    ----------
    right, said : float
        Examples, summed over labels, of which it is said, and of which it is right.
    present, every : float
        Examples that have a label, and all of them, summed over labels.
    squared : Fraction or None
        Square of beta.

    Examples
    --------
    >>> value_of(30, 40, 60, 200, Fraction(1)), value_of(30, 40, 60, 200, None)
    (0.6, 0.8)
    """
    if squared is None:
        return 1 - (said + present - 2 * right) / every if every else 1.0
    bottom = said + float(squared) * present
    return float(1 + squared) * right / bottom if bottom else 0.0


def best_constants(present: Floats, every: Floats, squared: Fraction | None, least: float = 0.0) -> float:
    """Return the best value of saying the same labels of every example, from how often each is present.

    Labels that less than the share `least` of the examples have are not said.

    Examples
    --------
    >>> best_constants(np.array([30.0, 5.0]), np.array([40.0, 40.0]), Fraction(1))
    0.8
    """
    share = np.divide(present, every, out=np.zeros(len(present)), where=every > 0)
    order = np.argsort(-share, kind="stable")[: np.count_nonzero(share >= least)]
    right, said = np.append(0, np.cumsum(present[order])), np.append(0, np.cumsum(every[order]))
    total = float(present.sum()), float(every.sum())
    return max(value_of(float(r), float(s), *total, squared) for r, s in zip(right, said, strict=True))
