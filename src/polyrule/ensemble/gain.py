"""Second-order gain of conditions: the decrease of the loss by a rule with optimal weights.

A rule that covers the rows R and adds a weight w_l to label l changes the logistic loss, to second order, by
G_l w_l + (H_l + ridge) w_l² / 2 with the sums G_l, H_l of gradients and hessians over R. The best weight gains
G_l² / (2 (H_l + ridge)). The intercept would adapt to a part of it without the rule, so H_l counts without that share,
H_l² / (sum of all hessians). A label joins the head if its gain exceeds the cost of a head entry.

Gradients are rounded to integers first: their sums are then exact in any order. A label that is unknown for an example
has gradient and hessian zero. The first column of both arrays counts rows: 1 for each row as its gradient, 1 for each
row that is an example of the user, not a synthetic one, as its hessian. So every sum also states the rows it covers.

A search looks at the rows that a condition decides about, its *border*. Rows that are covered in any case count with
their sums, the *offset*: for one more condition that must hold there are none, for one more alternative they are the
rows covered so far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.code_tests import ABOVE, AT_MOST, CATEGORY
from polyrule.utils.arrays import Bools, Floats, Ints, Ints32, Matrix
from polyrule.utils.compute import ONE_THREAD, Compute


@dataclass(frozen=True, eq=False)
class Gradients:
    """Gradients and hessians of the loss in fixed point, and the parameters of the gain.

    Parameters
    ----------
    gradient, hessian : ndarray of int32, shape (rows, 1 + labels)
        The first column counts rows.
    root : ndarray of int64, shape (1 + labels,)
        Hessian summed over the rows that are searched.
    scale : float
        Integer units per unit of loss.
    ridge, cost : float
        In units of loss: penalty on squared weights, and cost of one head entry.
    min_rows : int
        Minimum number of examples that a body covers; synthetic ones do not count.
    compute : Compute
        Location of the gradients, and backend of their sums.
    """

    gradient: npt.NDArray[np.int32]
    hessian: npt.NDArray[np.int32]
    root: Ints
    scale: float
    ridge: float
    cost: float
    min_rows: int = 1
    compute: Compute = ONE_THREAD

    @classmethod
    def of(
        cls,
        gradient: Ints32,
        hessian: Ints32,
        scale: float,
        ridge: float,
        cost: float,
        min_rows: int = 1,
        compute: Compute = ONE_THREAD,
    ) -> Gradients:
        """Return the gradients of all rows."""
        root = compute.to_host(hessian.sum(axis=0, dtype=np.int64))
        return cls(gradient, hessian, root, scale, ridge, cost, min_rows, compute)

    @property
    def labels(self) -> int:
        """Number of labels."""
        return len(self.root) - 1

    def of_labels(self, labels: Ints) -> Gradients:
        """Return the gradients of some labels only."""
        xp, places = self.compute.xp, np.append(0, labels + 1)
        columns = xp.asarray(places)
        gradient, hessian = (xp.ascontiguousarray(array[:, columns]) for array in (self.gradient, self.hessian))
        return replace(self, gradient=gradient, hessian=hessian, root=self.root[places])

    def sums(self, rows: Ints32) -> Ints:
        """Return gradient and hessian of every column over `rows`, shape (2, 1 + labels)."""
        if self.compute.device is not None:
            flat = self.compute.device.gradient_sums(self.gradient, self.hessian, np.ascontiguousarray(rows))
            return np.asarray(flat).reshape(2, -1)
        both = (np.take(array, rows, axis=0) for array in (self.gradient, self.hessian))
        return np.stack([array.sum(axis=0, dtype=np.int64) for array in both])

    def label_gains(self, sums: Ints, sign: int = 0) -> Floats:
        """Return the gain of every label for a rule whose rows have these `sums`, before the cost of the head entry.

        With a `sign`, labels whose weight would have the other one gain nothing.
        """
        gradient, hessian = sums[:, 1:].astype(np.float64)
        free = hessian - hessian * hessian * inverse(self.root[1:])
        gains = gradient * gradient / (free + self.ridge * self.scale) * 0.5 / self.scale
        return np.asarray(np.where(gradient * sign < 0, gains, 0.0) if sign else gains)

    def gain(self, sums: Ints, sign: int = 0) -> float:
        """Return the gain of the best head for a rule with these `sums`, with weights of one `sign` unless it is 0."""
        return math.fsum(np.maximum(self.label_gains(sums, sign) - self.cost, 0))


def inverse(root: Ints) -> Floats:
    """Return 1 / `root`, and 0 for a label that no row tells anything about."""
    return np.divide(1.0, root.astype(np.float64), out=np.zeros(len(root)), where=root > 0)


@dataclass(frozen=True, eq=False)
class BestConditions:
    """Per feature the best condition: its gain (negative: there is none), bin and kind of test."""

    gain: Floats
    bin: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]


def best_conditions(
    table: BinnedTable,
    rows: Ints32,
    gradients: Gradients,
    features: Ints | None = None,
    sign: int = 0,
    offset: Ints | None = None,
    judges: Ints | None = None,
) -> BestConditions:
    """Return for each feature the condition with the largest gain if it decides about `rows`.

    A condition must hold for some but not all of `rows`, and the body must cover enough examples. Among equals the
    first in canonical order wins: thresholds ascending, ``<=`` before ``>``; categories in declared order.

    Parameters
    ----------
    table : BinnedTable
    rows : ndarray of int32
    gradients : Gradients
    features : ndarray of int, optional
        Features to search, by default all.
    sign : int
        Required sign of the weights of the body, 0 for any; see `BinnedTable.sign`.
    offset : ndarray of int64, shape (2, 1 + labels), optional
        Sums of other rows, which are covered in any case.
    judges : ndarray of int64, optional
        Labels whose gains count, ascending; by default all.
    """
    compute = gradients.compute
    if compute.backend is None:
        searched = table if features is None else table.only(features.tolist())
        return reference_best_conditions(searched, rows, gradients, sign, offset, judges)
    offset = np.zeros((2, len(gradients.root)), dtype=np.int64) if offset is None else offset
    columns = np.arange(len(gradients.root)) if judges is None else np.append(0, judges + 1)
    features = np.arange(len(table.slot)) if features is None else features
    ridge, cost = gradients.ridge * gradients.scale, gradients.cost * gradients.scale
    query = (columns, features, gradients.root, offset, ridge, cost, sign, gradients.min_rows)
    if compute.device is not None:
        best = compute.device.best_conditions(table, rows, gradients.gradient, gradients.hessian, *query)
    else:
        best = compute.backend.best_conditions(
            table.dense, table.slot, table.count, table.nominal, table.common, table.starts, table.listed_rows,
            table.listed_codes, table.direction, table.forbidden, np.ascontiguousarray(rows), gradients.gradient,
            gradients.hessian, *query, compute.threads,
        )  # fmt: skip
    return BestConditions(np.asarray(best[0]) / gradients.scale, np.asarray(best[1]), np.asarray(best[2]))


def reference_best_conditions(
    table: BinnedTable,
    rows: Ints32,
    gradients: Gradients,
    sign: int = 0,
    offset: Ints | None = None,
    judges: Ints | None = None,
) -> BestConditions:
    """Return the same by plain NumPy; every number is equal to that of the native kernel."""
    offset = np.zeros((2, len(gradients.root)), dtype=np.int64) if offset is None else offset
    if judges is not None:
        gradients, offset = gradients.of_labels(judges), offset[:, np.append(0, judges + 1)]
    sums = np.stack([gradients.gradient[rows], gradients.hessian[rows]], axis=1).astype(np.int64)
    features = len(table.slot)
    gain, bins = np.full(features, -1.0), np.full(features, -1, dtype=np.int32)
    best = BestConditions(gain, bins, np.zeros(features, dtype=np.uint8))
    for feature in range(features):
        count = int(table.count[feature])
        histogram = np.zeros((count + 1, *sums.shape[1:]), dtype=np.int64)
        np.add.at(histogram, table.column(feature)[rows], sums)
        forbidden = int(table.forbidden[feature])
        if table.nominal[feature]:
            if forbidden >= 0:
                histogram[forbidden] = 0  # a condition without rows is none
            candidates = [(CATEGORY, histogram[:count], sign)]
        else:
            below = np.cumsum(histogram[: count - 1], axis=0) if count > 1 else histogram[:0]
            above = sums.sum(axis=0) - histogram[count] - below
            again = np.flatnonzero(histogram[1 : len(below), 0, 0] == 0) + 1  # the same rows as the threshold before
            below[again] = above[again] = 0
            if forbidden >= 0:
                below[forbidden:] = above[:forbidden] = 0
            direction = int(table.direction[feature])
            low, high = (sign if not wanted or wanted == sign else wanted for wanted in (-direction, direction))
            candidates = [(AT_MOST, below, low), (ABOVE, above, high)]
            if sign:  # only the direction that requires the same sign
                candidates = [offer for offer in candidates if offer[2] == sign]
        gains = [_gains(sums_of_bins, len(rows), gradients, side, offset) for _, sums_of_bins, side in candidates]
        _record_best(best, feature, [kind for kind, _, _ in candidates], np.stack(gains, axis=1))
    return BestConditions(best.gain / gradients.scale, best.bin, best.kind)


def _record_best(best: BestConditions, feature: int, kinds: list[int], gains: Matrix) -> None:
    """Record the first candidate with the largest gain; all kinds of test of one bin come before the next bin."""
    place = int(np.argmax(gains)) if gains.size else -1
    if place < 0 or gains.flat[place] < 0:
        return
    best.gain[feature] = gains.flat[place]
    best.bin[feature] = place // len(kinds)
    best.kind[feature] = kinds[place % len(kinds)]


def _gains(sums: Ints, rows: int, gradients: Gradients, sign: int, offset: Ints) -> Floats:
    """Return the gain of every condition from its sums, shape (conditions, 2, 1 + labels); -1 if it is none."""
    ridge, cost = gradients.ridge * gradients.scale, gradients.cost * gradients.scale
    inverses = inverse(gradients.root)
    gains = np.zeros((len(inverses) + (-len(inverses)) % 8, len(sums)))  # that of the first column stays 0
    for column in range(1, len(inverses)):
        gradient, hessian = (sums[:, :, column] + offset[:, column]).astype(np.float64).T
        free = hessian - hessian * hessian * inverses[column]
        gain = np.maximum(gradient * gradient / (free + ridge) * 0.5 - cost, 0)
        gains[column] = np.where(gradient * sign < 0, gain, 0) if sign else gain
    total = np.zeros(len(sums))
    for a, b, c, d, e, f, g, h in gains.reshape(len(gains) // 8, 8, len(sums)):  # in the order of the native kernel
        total += ((a + b) + (c + d)) + ((e + f) + (g + h))
    proper: Bools = (sums[:, 0, 0] > 0) & (sums[:, 0, 0] < rows)
    return np.where(proper & (sums[:, 1, 0] + offset[1, 0] >= gradients.min_rows), total, -1.0)
