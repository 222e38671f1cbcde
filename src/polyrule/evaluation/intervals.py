"""Means with the uncertainty that belongs beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from polyrule.errors import OptionError


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the confidence interval around it; the bounds are NaN where there is only one value.

    Examples
    --------
    >>> str(Interval(0.5, 0.4, 0.6, 10))
    '0.500 [0.400, 0.600]'
    """

    mean: float
    low: float
    high: float
    n: int
    level: float = 0.95

    def __str__(self) -> str:
        if np.isnan(self.low):
            return f"{self.mean:.3f}"
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def mean_interval(
    values: Sequence[float],
    level: float = 0.95,
    test_share: float | None = None,
    within: tuple[float, float] | None = None,
) -> Interval:
    """Return the mean of `values` with Student's t interval.

    Parameters
    ----------
    values : sequence of float
        One value per data set, or per fold of one data set.
    level : float
        Confidence level.
    test_share : float, optional
        For folds of one data set: test examples per training example (1/9 for ten folds). The folds' training parts
        overlap, so their scores are not independent and the plain interval is too narrow; the variance is then
        enlarged as Nadeau and Bengio (2003) propose.
    within : (least, greatest), optional
        The values that can occur at all, such as (0, 1) for a score; the interval is cut off there.

    Examples
    --------
    >>> print(mean_interval([0.1, 0.2, 0.3]))
    0.200 [-0.048, 0.448]
    >>> print(mean_interval([0.1, 0.2, 0.3], test_share=1 / 2))
    0.200 [-0.193, 0.593]
    >>> print(mean_interval([0.1, 0.2, 0.3], within=(0, 1)))
    0.200 [0.000, 0.448]
    """
    if not 0 < level < 1:
        raise OptionError(f"level must lie between 0 and 1, got {level}")
    if len(values) == 0:
        raise OptionError("the mean of no values is undefined")
    sample = np.asarray(values, dtype=np.float64)
    mean, n = float(sample.mean()), len(sample)
    if n == 1:
        return Interval(mean, float("nan"), float("nan"), 1, level)
    inflation = 1 / n + (test_share or 0.0)
    half = float(stats.t.ppf((1 + level) / 2, n - 1) * np.sqrt(sample.var(ddof=1) * inflation))
    least, greatest = within or (-np.inf, np.inf)
    return Interval(mean, max(mean - half, least), min(mean + half, greatest), n, level)
