"""By how much a head can be beaten: a bound on the value of all heads of a body, proved and quickly made.

For measures of the summed counts whose level sets are known (`polyrule.heads.correlations`): a head reaches λ only if
t >= h(x, s), where t, x and s are the shares of TP, TP + FP and TP + FN in its counts, means over its literals. So the
sum over its literals of w·(t - h(x, s)) + μ·w·(x_i - x) is not negative, for any number μ, w being a literal's counts
and x the head's own share; the last part is 0 for the head as a whole. The sum is convex in x. Where the head's x lies
between two numbers, it is therefore not negative at one of them, and at a given number the largest sum over all heads
is that of the labels that gain. A level that fails in every interval of x is reached by no head. The m-estimate is such
a sum in s instead of x. All other measures have the bounds of branch and bound, taken once.

Sums are made in doubles, with slack; the bound is rounded up to six digits.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf

import numpy as np

from polyrule.errors import OptionError
from polyrule.heads.branch_and_bound import bounds_for
from polyrule.heads.correlations import SLACK, Literals, formula_of_sums
from polyrule.heads.problem import HeadProblem, HeadSpace
from polyrule.heads.search import chosen_search
from polyrule.heads.valuation import MicroValuation, Valuation, valuation
from polyrule.measures.association import MEstimate
from polyrule.measures.objective import Objective
from polyrule.utils.arrays import Floats, Ints

#: intervals of x, halvings of the range of levels, and of the range of μ
_INTERVALS, _LEVELS, _TILTS = 64, 14, 12


def bound_heads(problem: HeadProblem, objective: Objective, value: Fraction) -> Fraction | None:
    """Return a bound of all heads of a body for an objective with an `effort`; None if `value` is best.

    Examples
    --------
    >>> problem = HeadProblem.from_text(covered="110 111 100", uncovered="001 000 010")
    >>> bound_heads(problem, Objective("m2", effort=3), Fraction(4, 5))
    Fraction(160001, 200000)
    """
    bound = climbed_bound(problem, objective, value)
    return None if bound == value else bound


def climbed_bound(problem: HeadProblem, objective: Objective, value: Fraction) -> Fraction | None:
    """Return a bound of all heads of a body, `value` if that is best; None if the search is exact."""
    if objective.effort is None:
        return None
    space, values = HeadSpace.of(problem, objective), valuation(problem, objective)
    if chosen_search(values, space) != "climb":
        return None
    bound = _bound(values, space, value)
    return value if bound <= value else Fraction(ceil(bound * 10**6), 10**6)


def _bound(values: Valuation, space: HeadSpace, value: Fraction) -> Fraction:
    if space.max_size == 1:
        return value  # every literal has been tried
    bounds = bounds_for(values, space, space.labels)
    if bounds is None:
        raise OptionError(
            f"effort needs a bound on the distance from the best head, and there is none for {values.objective}; "
            "declare the measure monotone if it is, or choose another averaging or scope"
        )
    plain = getattr(bounds, "plain", bounds)  # without what only compares with a target
    ceiling = plain.limit((), 0, space.max_size, inf)
    low, high = max(value, Fraction(0)), max(Fraction(ceiling), value)
    formula = formula_of_sums(values)
    if formula is None:
        return high
    assert isinstance(values, MicroValuation)
    sums = _GainSums(values, space, formula)
    for _ in range(_LEVELS):
        middle = (low + high) / 2
        if sums.may_reach(float(middle)):
            low = middle
        else:
            high = middle
    return high


class _GainSums:
    """The largest sums of gains over all heads, at the ends of intervals of x (of s, for the m-estimate)."""

    def __init__(self, values: MicroValuation, space: HeadSpace, formula: str) -> None:
        measure = values.objective.measure
        self.formula, self.max_size = formula, space.max_size
        self.m = float(measure.m) if isinstance(measure, MEstimate) else 0.0
        self.literals = Literals(values, space)
        self.share = self.literals.s if formula == "m_estimate" else self.literals.x
        ends = self.share[self.literals.usable]
        self.edges = np.linspace(ends.min(), ends.max(), _INTERVALS + 1)

    def may_reach(self, level: float) -> bool:
        """Return False only if no head reaches a level that is not negative."""
        slack = SLACK * (float(self.literals.weight.sum()) + self.m)
        reach = 2.0 * (1.0 + level)
        low = np.full(_INTERVALS, -reach)
        high = np.full(_INTERVALS, reach)
        left = np.arange(_INTERVALS)
        plain = [self._plain(level, edge) for edge in self.edges]
        for _ in range(_TILTS):
            third = (high - low) / 3
            first = self._largest(plain, level, left, low + third)
            second = self._largest(plain, level, left, high - third)
            keep = np.minimum(first, second) >= -slack
            falls = first > second
            low, high = np.where(falls, low + third, low)[keep], np.where(falls, high, high - third)[keep]
            left = left[keep]
            if not left.size:
                return False
        return True

    def _plain(self, level: float, edge: float) -> Floats:
        """Return the gain of every literal at an end, before the slope."""
        if self.formula == "m_estimate":
            return np.asarray(self.literals.tp - level * self.literals.covered)
        return self.literals.gains(self.formula, level, edge)

    def _largest(self, plain: list[Floats], level: float, left: Ints, slope: Floats) -> Floats:
        """Return the larger of the two largest sums at the ends of some intervals, with a slope for each."""
        sums = []
        for ends in (left, left + 1):
            edge = self.edges[ends][:, None, None]
            sloped = slope[:, None, None] * self.literals.weight * (self.share - edge)
            gains = np.stack([plain[end] for end in ends]) + sloped
            best = np.where(self.literals.usable, gains, -np.inf).max(axis=2)
            if self.max_size < best.shape[1]:
                best = np.partition(best, -self.max_size, axis=1)[:, -self.max_size :]
            largest = best.max(axis=1)
            gains = np.where(largest > 0, np.clip(best, 0, None).sum(axis=1), largest)  # no head is empty
            sums.append(gains + self.m * (self.edges[ends] - level))
        return np.asarray(np.maximum(*sums))
