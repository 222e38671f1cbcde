"""The second-order gain of conditions: how far a rule with freely chosen weights would lower the loss.

A rule that covers the rows R and adds a weight w_l to label l changes the logistic loss, to second order, by
G_l w_l + (H_l + ridge) w_l² / 2 with the sums G_l, H_l of gradients and curvatures over R. The best weight gains
G_l² / (2 (H_l + ridge)). What the intercept would take over by itself is no merit of the rule, so H_l counts without
its share H_l² / (sum of all curvatures). A label joins the head if its gain exceeds the cost of a head entry.

Gradients are rounded to integers first: their sums are then exact, whoever adds them up and in whatever order.

A search looks at the rows that a condition decides about, its *border*. Rows that are covered whether it holds or not
count with their sums, the *offset*: for one more condition that must hold there are none, for one more alternative they
are the rows covered so far. The search need not know which of the two it serves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.code_tests import ABOVE, AT_MOST, CATEGORY
from polyrule.utils.arrays import Ints, Ints32
from polyrule.utils.compute import ONE_THREAD, Compute


@dataclass(frozen=True, eq=False)
class Slopes:
    """Gradients and curvatures of the loss in fixed point, and what a gain is measured with.

    Parameters
    ----------
    gradient, curvature : ndarray of int32, shape (rows, labels)
    root : ndarray of int64
        Curvature summed over all rows, per label.
    scale : float
        Integer units per unit of loss.
    ridge, cost : float
        In units of loss: penalty on squared weights, and price of one head entry.
    compute : Compute
        Where the gradients are, and who adds them up.
    """

    gradient: npt.NDArray[np.int32]
    curvature: npt.NDArray[np.int32]
    root: npt.NDArray[np.int64]
    scale: float
    ridge: float
    cost: float
    compute: Compute = ONE_THREAD

    @classmethod
    def of(
        cls,
        gradient: Ints32,
        curvature: Ints32,
        scale: float,
        ridge: float,
        cost: float,
        compute: Compute = ONE_THREAD,
    ) -> Slopes:
        """Slopes of all rows."""
        root = compute.to_host(curvature.sum(axis=0, dtype=np.int64))
        return cls(gradient, curvature, root, scale, ridge, cost, compute)

    def some(self, labels: npt.NDArray[np.int64]) -> Slopes:
        """Return the slopes of some labels only."""
        xp = self.compute.xp
        places = xp.asarray(labels)
        return replace(
            self,
            gradient=xp.ascontiguousarray(self.gradient[:, places]),
            curvature=xp.ascontiguousarray(self.curvature[:, places]),
            root=self.root[labels],
        )

    def sums(self, rows: Ints32) -> npt.NDArray[np.int64]:
        """Gradient and curvature of every label over `rows`, shape (2, labels)."""
        if self.compute.device is not None:
            found = self.compute.device.slope_sums(self.gradient, self.curvature, np.ascontiguousarray(rows))
            return np.asarray(found).reshape(2, -1)
        both = (np.take(some, rows, axis=0) for some in (self.gradient, self.curvature))
        return np.stack([some.sum(axis=0, dtype=np.int64) for some in both])

    def label_gains(self, sums: npt.NDArray[np.int64], sign: int = 0) -> npt.NDArray[np.float64]:
        """Gain of every label for a rule whose rows have these `sums`, before the price of the head entry.

        With a `sign`, labels whose weight would have the other one gain nothing.
        """
        g, h = sums.astype(np.float64)
        free = h - h * h * (1.0 / self.root.astype(np.float64))
        gains = g * g / (free + self.ridge * self.scale) * 0.5 / self.scale
        return np.asarray(np.where(g * sign < 0, gains, 0.0) if sign else gains)

    def gain(self, sums: npt.NDArray[np.int64], sign: int = 0) -> float:
        """Gain of the best head for a rule whose rows have these `sums`, with weights of one `sign` where not 0."""
        return math.fsum(np.maximum(self.label_gains(sums, sign) - self.cost, 0))


@dataclass(frozen=True, eq=False)
class BestConditions:
    """Per feature the best condition: its gain (negative: there is none), bin and kind of test."""

    gain: npt.NDArray[np.float64]
    bin: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]


def best_conditions(
    table: BinnedTable,
    rows: Ints32,
    slopes: Slopes,
    features: Ints | None = None,
    sign: int = 0,
    offset: npt.NDArray[np.int64] | None = None,
    judges: npt.NDArray[np.int64] | None = None,
) -> BestConditions:
    """Find for each feature the condition that has the largest gain where it decides about `rows`.

    Only conditions that cover some but not all of `rows` count. Among equals the first in canonical order wins:
    thresholds ascending, ``<=`` before ``>``; categories in declared order.

    Parameters
    ----------
    table : BinnedTable
    rows : ndarray of int32
    slopes : Slopes
    features : ndarray of int, optional
        Those that are searched; all of them where None.
    sign : int
        Which sign the weights of the body must have, 0 for any; see `BinnedTable.sign`.
    offset : ndarray of int64, shape (2, labels), optional
        Gradient and curvature of other rows, which are covered whatever the condition is.
    judges : ndarray of int64, optional
        Labels whose gains count, ascending; all of them where None.
    """
    compute = slopes.compute
    if compute.backend is None:
        some = table if features is None else table.only(features.tolist())
        return reference_best_conditions(some, rows, slopes, sign, offset, judges)
    offset = np.zeros((2, len(slopes.root)), dtype=np.int64) if offset is None else offset
    judges = np.arange(len(slopes.root)) if judges is None else judges
    features = np.arange(len(table.slot)) if features is None else features
    asked = (judges, features, slopes.root, offset, slopes.ridge * slopes.scale, slopes.cost * slopes.scale, sign)
    if compute.device is not None:
        found = compute.device.best_conditions(table, rows, slopes.gradient, slopes.curvature, *asked)
    else:
        found = compute.backend.best_conditions(
            table.dense, table.slot, table.count, table.nominal, table.common, table.starts, table.listed_rows,
            table.listed_codes, table.direction, table.forbidden, np.ascontiguousarray(rows), slopes.gradient,
            slopes.curvature, *asked, compute.threads,
        )  # fmt: skip
    return BestConditions(np.asarray(found[0]) / slopes.scale, np.asarray(found[1]), np.asarray(found[2]))


def reference_best_conditions(
    table: BinnedTable,
    rows: Ints32,
    slopes: Slopes,
    sign: int = 0,
    offset: npt.NDArray[np.int64] | None = None,
    judges: npt.NDArray[np.int64] | None = None,
) -> BestConditions:
    """Plain NumPy form of the native kernel; every number comes out the same."""
    if judges is not None:
        slopes, offset = slopes.some(judges), None if offset is None else offset[:, judges]
    added = np.zeros((2, len(slopes.root)), dtype=np.int64) if offset is None else offset
    sums = np.hstack(
        [slopes.gradient[rows], slopes.curvature[rows], np.ones((len(rows), 1), dtype=np.int32)], dtype=np.int64
    )
    features = len(table.slot)
    best = BestConditions(
        np.full(features, -1.0), np.full(features, -1, dtype=np.int32), np.zeros(features, dtype=np.uint8)
    )
    for feature in range(features):
        bins = int(table.count[feature])
        histogram = np.zeros((bins + 1, sums.shape[1]), dtype=np.int64)
        np.add.at(histogram, table.column(feature)[rows], sums)
        forbidden = int(table.forbidden[feature])
        if table.nominal[feature]:
            if forbidden >= 0:
                histogram[forbidden] = 0  # a condition without rows is none
            candidates = [(CATEGORY, histogram[:bins], sign)]
        else:
            below = np.cumsum(histogram[: bins - 1], axis=0) if bins > 1 else histogram[:0]
            above = sums.sum(axis=0) - histogram[bins] - below
            again = np.flatnonzero(histogram[1 : len(below), -1] == 0) + 1  # the same rows as the threshold before
            below[again] = above[again] = 0
            if forbidden >= 0:
                below[forbidden:] = above[:forbidden] = 0
            direction = int(table.direction[feature])
            low, high = (sign if not wanted or wanted == sign else wanted for wanted in (-direction, direction))
            candidates = [(AT_MOST, below, low), (ABOVE, above, high)]
            if sign:  # only the direction that asks for the same
                candidates = [offer for offer in candidates if offer[2] == sign]
        _take_best(best, feature, candidates, len(rows), slopes, added)
    return BestConditions(best.gain / slopes.scale, best.bin, best.kind)


def _take_best(
    best: BestConditions,
    feature: int,
    candidates: list[tuple[int, npt.NDArray[np.int64], int]],
    rows: int,
    slopes: Slopes,
    offset: npt.NDArray[np.int64],
) -> None:
    """Record the first candidate with the largest gain; all kinds of test of one bin come before the next bin."""
    gains = np.stack([_gains(sums, rows, slopes, sign, offset) for _, sums, sign in candidates], axis=1)
    if not gains.size:
        return
    place = int(np.argmax(gains))
    if gains.flat[place] < 0:
        return
    best.gain[feature] = gains.flat[place]
    best.bin[feature] = place // len(candidates)
    best.kind[feature] = candidates[place % len(candidates)][0]


def _gains(
    sums: npt.NDArray[np.int64], rows: int, slopes: Slopes, sign: int, offset: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    labels = slopes.gradient.shape[1]
    ridge, cost = slopes.ridge * slopes.scale, slopes.cost * slopes.scale
    gains = np.zeros((labels + (-labels) % 8, len(sums)))
    for label in range(labels):
        g = (sums[:, label] + offset[0, label]).astype(np.float64)
        h = (sums[:, labels + label] + offset[1, label]).astype(np.float64)
        free = h - h * h * (1.0 / float(slopes.root[label]))
        gain = np.maximum(g * g / (free + ridge) * 0.5 - cost, 0)
        gains[label] = np.where(g * sign < 0, gain, 0) if sign else gain
    total = np.zeros(len(sums))
    for a, b, c, d, e, f, g, h in gains.reshape(len(gains) // 8, 8, len(sums)):  # in the order of the native kernel
        total += ((a + b) + (c + d)) + ((e + f) + (g + h))
    return np.where((sums[:, -1] > 0) & (sums[:, -1] < rows), total, -1.0)
