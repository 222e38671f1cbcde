"""Comparing learners over data sets: average ranks, Friedman's test, Nemenyi's critical difference.

The procedure is the one of Demšar (2006). Distributions and Friedman's statistic are SciPy's; what stands here is the
arithmetic of ranks and the refusal to test what cannot be tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from polyrule.data.results import make_frame, text_table
from polyrule.errors import OptionError, PolyruleError
from polyrule.utils.arrays import Floats


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

    @property
    def half(self) -> float:
        """Half of its width, also where one end of it is cut off at what the score can be."""
        return max(self.high - self.mean, self.mean - self.low)

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
    """Return the mean of `values`, one per data set or fold, with Student's t interval, cut off at what is `within`.

    For folds of one data set, `test_share` is test examples per training example (1/9 for ten folds). The folds'
    training parts overlap, so their scores are not independent and the plain interval is too narrow; the variance is
    then enlarged as Nadeau and Bengio (2003) propose.

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
    smallest, greatest = within or (-np.inf, np.inf)
    return Interval(mean, max(mean - half, smallest), min(mean + half, greatest), n, level)


FEWEST_DATA_SETS = 5
COMFORTABLE_DATA_SETS = 10


class TooFewDataSetsError(PolyruleError, ValueError):
    """Too few data sets for a test."""


@dataclass(frozen=True, eq=False)
class LearnerComparison:
    """Learners compared on the same data sets by one score.

    Parameters
    ----------
    learners, data_sets : tuple of str
        Their names.
    scores : ndarray, shape (data sets, learners)
        Complete: a comparison has no holes.
    higher_is_better : bool
        Whether a large score is a good one.
    alpha : float
        Level of the tests.
    measure : str
        What the scores are, for display.

    Examples
    --------
    >>> tree, rules, none = [0.5, 0.6, 0.7, 0.4, 0.9], [0.6, 0.7, 0.7, 0.5, 0.95], [0.1, 0.2, 0.3, 0.1, 0.2]
    >>> comparison = compare_learners({"tree": tree, "rules": rules, "none": none}, data_sets="abcde")
    >>> comparison.average_ranks
    array([1.9, 1.1, 3. ])
    >>> round(comparison.friedman().p_value, 4)
    0.0083
    >>> comparison.groups()
    [('rules', 'tree'), ('tree', 'none')]
    """

    learners: tuple[str, ...]
    data_sets: tuple[str, ...]
    scores: Floats
    higher_is_better: bool = True
    alpha: float = 0.05
    measure: str = "score"

    @property
    def ranks(self) -> Floats:
        """Ranks per data set, 1 the best; equal scores share the average of their ranks."""
        signed = -self.scores if self.higher_is_better else self.scores
        return np.asarray(stats.rankdata(signed, axis=1, method="average"))

    @property
    def average_ranks(self) -> Floats:
        """Mean rank of every learner."""
        return np.asarray(self.ranks.mean(axis=0))

    @property
    def order(self) -> list[int]:
        """Positions of the learners, best first by average rank."""
        return [int(place) for place in np.argsort(self.average_ranks, kind="stable")]

    def means(self, level: float = 0.95, within: tuple[float, float] | None = None) -> list[Interval]:
        """Mean score of every learner over the data sets, with its interval, cut to what the score can be."""
        return [mean_interval(column, level, within=within) for column in self.scores.T]

    def friedman(self) -> FriedmanResult:
        """Test whether all learners could be equally good; refused with fewer than five data sets or three learners."""
        n, k = self.scores.shape
        self._require_enough()
        if k < 3:
            raise OptionError(f"Friedman's test needs at least 3 learners, got {k}: use a signed-rank test for two")
        if (self.scores == self.scores[:, :1]).all():
            return FriedmanResult(0.0, 1.0, 0.0, 1.0, n, k)  # SciPy's formula is 0/0 if all are equal
        statistic, p_value = stats.friedmanchisquare(*self.scores.T)
        rest = n * (k - 1) - statistic
        f_value = np.inf if rest <= 0 else (n - 1) * statistic / rest
        f_p = float(stats.f.sf(f_value, k - 1, (k - 1) * (n - 1)))
        return FriedmanResult(float(statistic), float(p_value), float(f_value), f_p, n, k)

    @property
    def critical_difference(self) -> float:
        """Nemenyi: average ranks closer than this are not told apart at level `alpha`."""
        self._require_enough()
        n, k = self.scores.shape
        quantile = stats.studentized_range.ppf(1 - self.alpha, k, np.inf) / np.sqrt(2)
        return float(quantile * np.sqrt(k * (k + 1) / (6 * n)))

    def nemenyi(self) -> Floats:
        """P-values of Nemenyi's test for every pair of learners."""
        self._require_enough()
        n, k = self.scores.shape
        ranks = self.average_ranks
        differences = np.abs(ranks[:, None] - ranks[None, :]) / np.sqrt(k * (k + 1) / (6 * n))
        values = np.asarray(stats.studentized_range.sf(differences * np.sqrt(2), k, np.inf))
        np.fill_diagonal(values, 1.0)
        return np.asarray(np.minimum(values, 1.0))

    def groups(self) -> list[tuple[str, ...]]:
        """Largest sets of learners whose average ranks lie within the critical difference, best first."""
        order = self.order
        ranks = self.average_ranks[order]
        reach = self.critical_difference
        runs: list[tuple[int, int]] = []
        for start in range(len(order)):
            end = int(np.searchsorted(ranks, ranks[start] + reach, side="right")) - 1
            if end > start and (not runs or end > runs[-1][1]):
                runs.append((start, end))
        return [tuple(self.learners[index] for index in order[start : end + 1]) for start, end in runs]

    @property
    def caveat(self) -> str | None:
        """Return a remark on the power of the tests, or None."""
        n = len(self.data_sets)
        if FEWEST_DATA_SETS <= n < COMFORTABLE_DATA_SETS:
            return f"only {n} data sets: the tests' approximations are rough and a real difference is easily missed"
        return None

    def frame(self) -> Any:
        """Return a row per learner, best first: mean score with its interval and average rank."""
        order, means = self.order, self.means()
        return make_frame(
            {
                "learner": [self.learners[index] for index in order],
                "mean": [means[index].mean for index in order],
                "low": [means[index].low for index in order],
                "high": [means[index].high for index in order],
                "average_rank": [float(self.average_ranks[index]) for index in order],
            }
        )

    def pairs_frame(self) -> Any:
        """Return a row per pair of learners with Nemenyi's p-value."""
        p_values, ranks = self.nemenyi(), self.average_ranks
        pairs = list(combinations(range(len(self.learners)), 2))
        return make_frame(
            {
                "first": [self.learners[a] for a, _ in pairs],
                "second": [self.learners[b] for _, b in pairs],
                "rank_difference": [float(abs(ranks[a] - ranks[b])) for a, b in pairs],
                "p_value": [float(p_values[a, b]) for a, b in pairs],
                "different": [bool(p_values[a, b] < self.alpha) for a, b in pairs],
            }
        )

    def text(self) -> str:
        """Return ranks, means and the tests' verdicts as a table."""
        order, means = self.order, self.means()
        rows = [[self.learners[i], f"{self.average_ranks[i]:.2f}", str(means[i])] for i in order]
        lines = [text_table([self.measure, "average rank", "mean [95% interval]"], rows)]
        try:
            lines.append(self.friedman().text(self.alpha))
            lines.append(f"critical difference (Nemenyi): {self.critical_difference:.2f}")
        except PolyruleError as reason:
            lines.append(f"no test: {reason}")
        if self.caveat:
            lines.append(f"({self.caveat})")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def _require_enough(self) -> None:
        if len(self.data_sets) < FEWEST_DATA_SETS:
            raise TooFewDataSetsError(
                f"{len(self.data_sets)} data set(s) are too few to test a difference between learners: "
                f"at least {FEWEST_DATA_SETS} are needed"
            )


@dataclass(frozen=True, slots=True)
class FriedmanResult:
    """Friedman's statistic, and Iman and Davenport's less conservative version of it."""

    statistic: float
    p_value: float
    iman_davenport: float
    iman_davenport_p: float
    n: int
    k: int

    def text(self, alpha: float) -> str:
        """Return the result of the test in words."""
        verdict = "the learners differ" if self.p_value < alpha else "no difference can be shown"
        return (
            f"Friedman (N = {self.n}, k = {self.k}): chi² = {self.statistic:.2f}, {_p(self.p_value)}; "
            f"Iman-Davenport F = {self.iman_davenport:.2f}, {_p(self.iman_davenport_p)}: "
            f"{verdict} at α = {alpha:g}"
        )


def _p(value: float) -> str:
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.4f}"


def compare_learners(
    scores: Mapping[str, Sequence[float]],
    data_sets: Sequence[str],
    higher_is_better: bool = True,
    alpha: float = 0.05,
    measure: str = "score",
) -> LearnerComparison:
    """Set up a comparison from one list of scores per learner, in the order of `data_sets`.

    A missing score (NaN) is refused: drop the data set or the learner, and say so.

    Parameters
    ----------
    scores : mapping from learner to scores
        One score per data set.
    data_sets : sequence of str
        Their names.
    higher_is_better : bool
        False for a loss.
    alpha : float
        Level of the tests.
    measure : str
        What the scores are, for display.

    Examples
    --------
    The same learner is ahead on all of five data sets:

    >>> scores = {"lists": [0.5, 0.6, 0.7, 0.4, 0.8], "trees": [0.4, 0.5, 0.6, 0.3, 0.7]}
    >>> found = compare_learners(scores, ["a", "b", "c", "d", "e"], measure="micro F1")
    >>> found.average_ranks.tolist()
    [1.0, 2.0]
    """
    if not 0 < alpha < 1:
        raise OptionError(f"alpha must lie between 0 and 1, got {alpha}")
    if not scores or not data_sets:
        raise OptionError("a comparison needs at least one learner and one data set")
    if len(set(data_sets)) != len(data_sets):
        raise OptionError("a data set is listed twice: its scores would count double")
    for learner, values in scores.items():
        if len(values) != len(data_sets):
            raise OptionError(f"learner {learner!r} has {len(values)} scores for {len(data_sets)} data sets")
    table = np.column_stack([np.asarray(values, dtype=np.float64) for values in scores.values()])
    holes = np.argwhere(np.isnan(table))
    if len(holes):
        row, column = holes[0]
        raise OptionError(
            f"learner {list(scores)[column]!r} has no score on data set {data_sets[row]!r}: drop one of the two"
        )
    return LearnerComparison(tuple(scores), tuple(data_sets), table, higher_is_better, alpha, measure)
