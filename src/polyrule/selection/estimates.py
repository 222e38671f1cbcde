"""Estimates for new examples: precision of a literal, and value of a list.

Training counts of a rule are optimistic, because its conditions were searched on these examples. The teacher's
estimates did not see the labels, but know the rule only roughly. So counts have the weight of their examples, and
estimates that of `_PER_CONDITION` examples for each condition. A rule without conditions was not searched: its counts
are unbiased.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np

from polyrule.utils.arrays import Floats

_PER_CONDITION = 200  # examples, as the weight of the teacher's estimates
# Squared standard errors per condition that are subtracted from counts: without a teacher, and where a teacher
# estimates even less than that, as for a label that one clear sign tells.
_SQUARED_ERRORS, _MAX_SQUARED_ERRORS = 2, 4
_TOLERANCE = 0.1  # by which the value is underestimated without a teacher, at most


def expected_precision(right: float, wrong: float, conditions: int, estimated: float | None) -> float:
    """Return the precision to expect of a literal on new examples.

    Parameters
    ----------
    right, wrong : float
        Weight of the training examples for which it is right, and wrong.
    conditions : int
        Number of conditions that were searched for it.
    estimated : float or None
        Weight for which the teacher expects it to be right; None without a teacher.

    Examples
    --------
    >>> literals = (30, 10, 0, None), (30, 10, 2, 24.0), (30, 10, 2, None)
    >>> [round(expected_precision(*literal), 4) for literal in literals]
    [0.7381, 0.6131, 0.5948]
    """
    total = right + wrong
    if not total or not conditions:
        return (right + 1) / (total + 2)
    if estimated is None:
        return _lower_bound(right, total, _SQUARED_ERRORS * conditions)
    weight = _PER_CONDITION * conditions
    mean = (right + weight * estimated / total + 1) / (total + weight + 2)
    return max(mean, _lower_bound(right, total, _MAX_SQUARED_ERRORS * conditions))


def _lower_bound(right: float, total: float, squared_errors: float) -> float:
    """Return the lower end of Wilson's interval of `squared_errors` squared standard errors."""
    share, ratio = right / total, squared_errors / total
    return (share + ratio / 2 - sqrt(ratio * (share * (1 - share) + ratio / 4))) / (1 + ratio)


def list_value(right: float, predicted: float, present: float, total: float, beta_squared: Fraction | None) -> float:
    """Return the F-measure, or Hamming accuracy if `beta_squared` is None, of predicting labels as present.

    Parameters
    ----------
    right, predicted : float
        Cells that are predicted correctly as present, and cells that are predicted as present.
    present, total : float
        Cells that are present, and all cells.
    beta_squared : Fraction or None

    Examples
    --------
    >>> list_value(30, 40, 60, 200, Fraction(1)), list_value(30, 40, 60, 200, None)
    (0.6, 0.8)
    """
    if beta_squared is None:
        return 1 - (predicted + present - 2 * right) / total if total else 1.0
    bottom = predicted + float(beta_squared) * present
    return float(1 + beta_squared) * right / bottom if bottom else 0.0


def best_constant_value(
    present: Floats, total: Floats, beta_squared: Fraction | None, min_precision: float = 0.0
) -> float:
    """Return the best value of predicting the same labels for all examples, from how often each is present.

    Labels that less than the share `min_precision` of the examples have are not predicted.

    Examples
    --------
    >>> best_constant_value(np.array([30.0, 5.0]), np.array([40.0, 40.0]), Fraction(1))
    0.8
    """
    share = np.divide(present, total, out=np.zeros(len(present)), where=total > 0)
    order = np.argsort(-share, kind="stable")[: np.count_nonzero(share >= min_precision)]
    right, predicted = np.append(0, np.cumsum(present[order])), np.append(0, np.cumsum(total[order]))
    sums = float(present.sum()), float(total.sum())
    return max(list_value(float(r), float(p), *sums, beta_squared) for r, p in zip(right, predicted, strict=True))


def margin_over_constants(n_decisions: float, *, teacher: bool) -> float:
    """Return the least difference of a list from constants: half a standard error of `n_decisions` decisions.

    Without a teacher the expected value is only a lower bound.
    """
    return 0.5 / sqrt(max(1.0, n_decisions)) if teacher else -_TOLERANCE
