"""Measures of how far a rule and its labels go together: a polynomial of the counts over another, or over its root.

The m-estimate, which draws precision towards the prior, is of this kind, too, but for its parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np

from polyrule.measures.base import Counts, Measure, divided
from polyrule.utils.arrays import Floats

Bound = Callable[[Counts, Counts], Fraction]
ZERO = Fraction(0)
# Two different squares of correlations over N examples differ by at least N**-8, their roots by half of that. With
# 2**256 steps to the unit the order of micro-averaged values is therefore the true one for every N below 2**31.
BITS = 256


class Association(Measure):
    """A named measure of association; 0 where its denominator is 0.

    With x = (TP + FP) / N, s = (TP + FN) / N and t = TP / N, the shares of what is covered, positive and both:
    ``wracc`` is t - x·s, weighted relative accuracy, ``matthews`` the correlation (t - x·s) / √(x·(1-x)·s·(1-s)),
    ``rate_difference`` the rate of true less that of false positives, each 0 where its denominator is 0,
    ``added_value`` t/x - s, ``klosgen`` √x·(t/x - s), ``lift`` t / (x·s), ``cosine`` t / √(x·s), ``certainty`` (t/x -
    s) / (1 - s), which is 1 - 1/conviction, ``kappa`` Cohen's, ``yule_q`` (r - 1) / (r + 1) for the odds ratio r. A
    quotient with the denominator 0 is 0, also inside a formula: where nothing is covered, t/x is 0. A root is rounded
    towards 0 to 256 binary places, and exact where it is rational. Single and micro-averaged values compare exactly
    as the true ones do. Averages of roots are rounded to 128 binary places, so that averages that are equal are also
    found equal; averages closer than 2**-128 count as equal.

    Parameters
    ----------
    name : {"wracc", "matthews", "rate_difference", "added_value", "klosgen", "lift", "cosine", "certainty", "kappa",
            "yule_q"}

    Examples
    --------
    >>> Association("lift").value(3, 1, 4, 2), Association("kappa").value(3, 1, 4, 2)
    (Fraction(3, 2), Fraction(2, 5))
    >>> Association("matthews").value(2, 1, 2, 1), round(float(Association("matthews").value(1, 1, 2, 0)), 3)
    (Fraction(1, 3), 0.577)
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.monotone = SPECS[name].monotone
        self.rounded = SPECS[name].rooted

    @property
    def description(self) -> str:
        """The formula in the four counts, with N their sum."""
        return SPECS[self.name].description

    def in_units(self, unit: Fraction) -> Association:
        """It is made of shares, which are the same in every unit."""
        return self

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the exact value, or a root to 256 binary places."""
        spec = SPECS[self.name]
        top, bottom = spec.top(tp, fp, tn, fn), spec.bottom(tp, fp, tn, fn)
        if top == 0 or bottom == 0:
            return ZERO
        if not spec.rooted:
            return Fraction(top, bottom)
        root = root_of(Fraction(top * top, bottom))
        return root if top > 0 else -root

    def values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Return the values of arrays of counts as doubles."""
        counts = [np.asarray(x, dtype=np.float64) for x in (tp, fp, tn, fn)]
        spec = SPECS[self.name]
        top, bottom = spec.top(*counts), spec.bottom(*counts)
        if spec.rooted:
            bottom = np.sqrt(bottom)
        return divided(top, bottom)

    def upper_bound(self, low: Counts, high: Counts) -> Fraction | None:
        """Bound by the ends of the counts."""
        bound = SPECS[self.name].bound
        return super().upper_bound(low, high) if bound is None else bound(low, high)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Association) and self.name == other.name

    def __hash__(self) -> int:
        return hash((Association, self.name))


class MEstimate(Measure):
    """(TP + m·P/N) / (TP + FP + m) with the prior P/N = (TP + FN) / (TP + FP + TN + FN).

    Parameters
    ----------
    name : str
        What to call it.
    m : Fraction
        How many examples the prior counts as.

    Examples
    --------
    >>> MEstimate("m2", Fraction(2)).value(3, 1, 4, 2)
    Fraction(2, 3)
    """

    def __init__(self, name: str, m: Fraction) -> None:
        self.name, self.m = name, m

    def in_units(self, unit: Fraction) -> MEstimate:
        """Divide m by the unit."""
        return MEstimate(self.name, self.m / unit)

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the exact value."""
        total, bottom = tp + fp + tn + fn, tp + fp + self.m
        return (total * tp + self.m * (tp + fn)) / (total * bottom) if total and bottom else ZERO

    def values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Return the values of arrays of counts as doubles."""
        a, b, c, d = (np.asarray(x, dtype=np.float64) for x in (tp, fp, tn, fn))
        m = float(self.m)
        return divided(a + m * (a + d) / np.maximum(a + b + c + d, 1), a + b + m)

    def upper_bound(self, low: Counts, high: Counts) -> Fraction:
        """The prior is largest with all positives and the fewest negatives; the rest grows with TP, falls with FP."""
        positives, negatives = high[0] + high[3], low[1] + low[2]
        prior = Fraction(positives, positives + negatives) if positives else ZERO
        bottom = high[0] + low[1] + self.m
        return (high[0] + self.m * prior) / bottom if bottom else ZERO

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MEstimate) and (self.name, self.m) == (other.name, other.m)

    def __hash__(self) -> int:
        return hash((MEstimate, self.name, self.m))


@dataclass(frozen=True)
class Spec:
    """Top and bottom as functions of (tp, fp, tn, fn), numbers or arrays; `rooted`: the root of the bottom is meant.

    `description`: the formula as users read it. `written`: an expression that orders counts alike if TP > 0.
    `dependence`: True if the value is 0 exactly where TP·TN = FP·FN, or the bottom is 0. `bound`: see
    `Measure.upper_bound`; not needed if the value is monotone.
    """

    top: Callable[..., Any]
    bottom: Callable[..., Any]
    written: str
    description: str
    rooted: bool = False
    monotone: bool = False
    dependence: bool = True
    bound: Bound | None = None


def _excess(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    return tp * tn - fp * fn


def _precision_gain(tp: Any, fp: Any, tn: Any, fn: Any) -> Any:
    """Return (precision - prior) · N · (TP + FP), or -(TP + FN) if nothing is covered."""
    return tp * (tp + fp + tn + fn) - (tp + fn) * _at_least_one(tp + fp)


def _at_least_one(count: Any) -> Any:
    """Return a count, or 1 where it is 0."""
    return count + (count == 0)


def _best_precision(low: Counts, high: Counts) -> Fraction:
    return Fraction(high[0], high[0] + low[1]) if high[0] else Fraction(0)


def _least_prior(low: Counts, high: Counts) -> Fraction:
    positives = low[0] + low[3]
    return Fraction(positives, positives + high[1] + high[2]) if positives else Fraction(0)


def _gain_bound(low: Counts, high: Counts) -> Fraction:
    return max(Fraction(0), _best_precision(low, high) - _least_prior(low, high))


def _klosgen_bound(low: Counts, high: Counts) -> Fraction:
    covered = high[0] + high[1]
    share = Fraction(covered, covered + low[2] + low[3]) if covered else Fraction(0)
    return (root_of(share) + Fraction(1, 1 << (BITS - 8))) * _gain_bound(low, high)


def _lift_bound(low: Counts, high: Counts) -> Fraction:
    """Precision over the prior, or recall over what is covered; a head with a true positive has x, s > 0."""
    recall = Fraction(high[0], high[0] + low[3]) if high[0] else Fraction(0)
    by_prior = _best_precision(low, high) * (1 + Fraction(high[1] + high[2], max(1, low[0] + low[3])))
    return min(by_prior, recall * (1 + Fraction(high[2] + high[3], max(1, low[0] + low[1]))))


def _wracc_bound(low: Counts, high: Counts) -> Fraction:
    """At most t·u / (t + u + c)² for t <= TP, u <= TN and c the errors there must be.

    The product over the square grows in the smaller of t and u, and in the larger one until it is the smaller plus c.
    """
    errors = low[1] + low[3]
    (t, _), (u, min_u) = sorted([(high[0], low[0]), (high[2], low[2])])
    u = max(min(u, t + errors), min_u)
    bound = Fraction(t * u, (t + u + errors) ** 2) if t and u else ZERO
    total = sum(high)
    return bound - Fraction(low[1] * low[3], total * total) if total else bound


def _where_positive(name: str) -> Bound:
    """Values that are not negative grow with TP and TN and fall with FP and FN; the others are below 0."""
    return lambda low, high: max(Fraction(0), Association(name).value(high[0], low[1], high[2], low[3]))


SPECS: dict[str, Spec] = {
    "wracc": Spec(
        _excess,
        lambda tp, fp, tn, fn: (tp + fp + tn + fn) ** 2,
        "(tp*tn - fp*fn) / (tp+fp+tn+fn)**2",
        "(TP·TN - FP·FN) / N²",
        bound=_wracc_bound,
    ),
    "matthews": Spec(
        _excess,
        lambda tp, fp, tn, fn: (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn),
        "(tp*tn - fp*fn) / sqrt((tp+fp)*(tp+fn)*(tn+fp)*(tn+fn))",
        "(TP·TN - FP·FN) / √((TP + FP)·(TP + FN)·(TN + FP)·(TN + FN))",
        rooted=True,
        monotone=True,
    ),
    "rate_difference": Spec(
        lambda tp, fp, tn, fn: tp * _at_least_one(fp + tn) - fp * _at_least_one(tp + fn),
        lambda tp, fp, tn, fn: _at_least_one(tp + fn) * _at_least_one(fp + tn),
        "tp/(tp+fn) - fp/(fp+tn)",
        "TP / (TP + FN) - FP / (FP + TN)",
        monotone=True,
        dependence=False,
    ),
    "klosgen": Spec(
        _excess,
        lambda tp, fp, tn, fn: (tp + fp) * (tp + fp + tn + fn) ** 3,
        "(tp*tn - fp*fn) / sqrt((tp+fp) * (tp+fp+tn+fn)**3)",
        "√((TP + FP) / N) · (TP / (TP + FP) - (TP + FN) / N)",
        rooted=True,
        bound=_klosgen_bound,
    ),
    "added_value": Spec(
        _precision_gain,
        lambda tp, fp, tn, fn: _at_least_one(tp + fp) * (tp + fp + tn + fn),
        "(tp*tn - fp*fn) / ((tp+fp) * (tp+fp+tn+fn))",
        "TP / (TP + FP) - (TP + FN) / N",
        dependence=False,
        bound=_gain_bound,
    ),
    "cosine": Spec(
        lambda tp, fp, tn, fn: tp,
        lambda tp, fp, tn, fn: (tp + fp) * (tp + fn),
        "tp**2 / ((tp+fp) * (tp+fn))",
        "TP / √((TP + FP)·(TP + FN))",
        rooted=True,
        monotone=True,
        dependence=False,
    ),
    "kappa": Spec(
        lambda tp, fp, tn, fn: 2 * (tp * tn - fp * fn),
        lambda tp, fp, tn, fn: (tp + fp) * (fp + tn) + (tp + fn) * (tn + fn),
        "(tp*tn - fp*fn) / ((tp+fp)*(fp+tn) + (tp+fn)*(tn+fn))",
        "2·(TP·TN - FP·FN) / ((TP + FP)·(FP + TN) + (TP + FN)·(TN + FN))",
        bound=_where_positive("kappa"),
    ),
    "yule_q": Spec(
        _excess,
        lambda tp, fp, tn, fn: tp * tn + fp * fn,
        "(tp*tn - fp*fn) / (tp*tn + fp*fn)",
        "(TP·TN - FP·FN) / (TP·TN + FP·FN)",
        monotone=True,
    ),
    "lift": Spec(
        lambda tp, fp, tn, fn: tp * (tp + fp + tn + fn),
        lambda tp, fp, tn, fn: (tp + fp) * (tp + fn),
        "tp * (tp+fp+tn+fn) / ((tp+fp) * (tp+fn))",
        "TP·N / ((TP + FP)·(TP + FN))",
        dependence=False,
        bound=_lift_bound,
    ),
    "certainty": Spec(
        _precision_gain,
        lambda tp, fp, tn, fn: _at_least_one(tp + fp) * (fp + tn),
        "(tp*tn - fp*fn) / ((tp+fp) * (fp+tn))",
        "(TP / (TP + FP) - (TP + FN) / N) / ((FP + TN) / N)",
        dependence=False,
        bound=_where_positive("certainty"),
    ),
}


def root_of(square: Fraction) -> Fraction:
    """Return a square root, exact where it is rational, else rounded down to 256 binary places.

    >>> root_of(Fraction(4, 9)), round(float(root_of(Fraction(2))), 6)
    (Fraction(2, 3), 1.414214)
    """
    p, q = isqrt(square.numerator), isqrt(square.denominator)
    if p * p == square.numerator and q * q == square.denominator:
        return Fraction(p, q)
    return Fraction(isqrt((square.numerator << 2 * BITS) // square.denominator), 1 << BITS)


def round_average(value: Fraction) -> Fraction:
    """Round an average of roots to 128 binary places.

    >>> round_average(Fraction(1, 2))
    Fraction(1, 2)
    """
    return Fraction(round(value * (1 << BITS // 2)), 1 << BITS // 2)
