"""Objective of a rule list: the gains of the cells it predicts as present, less the costs of its rules.

A cell is one label of one example; its target is between 0 (absent) and 1 (present). For F-beta the gain of a cell is
``(1 + beta**2) * target - F``, where F is the value of the whole list (Dinkelbach 1967): a label belongs in a head if
its share among the cells that it newly sets exceeds ``F / (1 + beta**2)``. For Hamming accuracy it is ``2 * target -
1``. All numbers are whole, so that sums do not depend on their order and ties are ties on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from math import comb
from typing import Any

import numpy as np

from polyrule.conditions import Condition, SetCondition, flatten
from polyrule.data.table import Feature
from polyrule.utils.arrays import Bools, Floats, Ints, Matrix

QUANTUM = 256  # targets are multiples of 1/256
_LABEL_SHARE = 0.25  # of a label's own value in its level

Body = tuple[Condition, ...]
HeadedBody = tuple[Body, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of a rule, of a condition and of a label in a head, in the unit of gains.

    A rule without conditions has only the cost of its labels: all constants are one line of the printed list.
    """

    rule: int
    condition: int
    literal: int

    def of_bodies(self, units: Ints) -> Floats:
        """Return the costs of rules without their labels, by the cost units of their conditions."""
        return np.where(units > 0, self.rule + self.condition * units.astype(np.float64), 0.0)


def condition_cost_units(body: Body, features: Sequence[Feature]) -> int:
    """Return the number of conditions whose cost a body has.

    Members of a group count like other conditions. A set of k out of n categories is one of "n over k" choices, and
    counts as the fewest conditions on single categories that allow as many choices: choices are what can overfit.

    Examples
    --------
    >>> hue = Feature("hue", "nominal", tuple("abcdefgh"))
    >>> [condition_cost_units((SetCondition(0, tuple(range(size))),), [hue]) for size in (1, 2, 3, 4)]
    [1, 2, 2, 3]
    """
    units = 0
    for condition in flatten(body):
        units += 1
        if isinstance(condition, SetCondition):
            n_categories = len(features[condition.feature].categories)
            choices, reached = comb(n_categories, len(condition.values)), n_categories
            while reached < choices:
                reached, units = reached * n_categories, units + 1
    return units


def gain_coefficients(beta_squared: Fraction | None, level: int | Ints) -> tuple[float, float | Ints]:
    """Return slope and offset of a cell's gain as a function of its target, times the denominator of beta**2.

    Parameters
    ----------
    beta_squared : Fraction or None
        None for Hamming accuracy.
    level : int or ndarray of int
        Value of the list, in units of 1 / QUANTUM, or one for each label.
    """
    if beta_squared is None:
        return 2.0, 2 * level
    return float((1 + beta_squared) * beta_squared.denominator), beta_squared.denominator * level


def cell_gains(targets: Matrix, beta_squared: Fraction | None, level: int | Ints) -> Matrix:
    """Return the gain of predicting each cell as present, in whole numbers.

    Examples
    --------
    >>> cell_gains(np.array([[256.0, 0.0]]), Fraction(1), 128)  # F1 of a list that reaches 1/2
    array([[ 384., -128.]])
    """
    slope, offset = gain_coefficients(beta_squared, level)
    return slope * targets - offset


def reached_levels(targets: Matrix, weights: Ints, predicted: Bools, beta_squared: Fraction | None) -> tuple[int, Ints]:
    """Return the F-measure of the predicted cells, and the level of each label; in units of 1 / QUANTUM.

    The level of a label is the F-measure of all, less a quarter of what the label's own is below it. Near the best
    cutoff, to predict a label a little more often changes the whole hardly, but is much for the label.

    Examples
    --------
    >>> targets, predicted = np.array([[256.0, 256.0], [0.0, 256.0]]), np.array([[True, False], [False, True]])
    >>> reached_levels(targets, np.ones(2), predicted, Fraction(1))  # 4/5 in all, 1 and 2/3 separately
    (205, array([205, 196]))
    """
    if beta_squared is None:
        return QUANTUM // 2, np.full(targets.shape[1], QUANTUM // 2)
    right = weights @ np.where(predicted, targets, 0.0)
    bottom = weights @ predicted.astype(np.float64) * QUANTUM + float(beta_squared) * (weights @ targets)
    slope = QUANTUM * float(1 + beta_squared)
    value = slope * float(right.sum()) / max(float(bottom.sum()), 1.0)
    below = np.maximum(value - slope * right / np.maximum(bottom, 1.0), 0.0)
    return round(value), np.rint(value - _LABEL_SHARE * below).astype(np.int64)


def targets_digest(targets: Matrix) -> str:
    """Hash the targets, so that verification knows if it made the same ones."""
    return f"blake2b:{blake2b(targets.astype('<u2').tobytes(), digest_size=16).hexdigest()}"


def order_by_gain(covers: Sequence[Any], heads: Sequence[tuple[int, ...]], gains: Matrix) -> list[int]:
    """Return the order of rules in which each adds the largest gain to those before it.

    Parameters
    ----------
    covers : sequence of ndarray of bool
        Rows that each rule covers.
    heads : sequence of tuple of int
        Labels of each rule.
    gains : ndarray, shape (rows, labels)
        0 for cells that are set already.
    """
    free, left, order = gains.copy(order="F"), list(range(len(covers))), list[int]()

    def added(rule: int) -> float:
        return float(free[np.ix_(covers[rule], np.array(heads[rule]))].sum())

    gained = [added(rule) for rule in left]
    while left:
        place = int(np.argmax(gained))
        first = left.pop(place)
        gained.pop(place)
        order.append(first)
        free[np.ix_(covers[first], np.array(heads[first]))] = 0.0
        for other, rule in enumerate(left):
            if not set(heads[rule]).isdisjoint(heads[first]):
                gained[other] = added(rule)
    return order
