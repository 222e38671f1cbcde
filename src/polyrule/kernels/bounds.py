"""How good the best head of each candidate can be: a vectorised bound in doubles, used only to order and skip."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Floats
from polyrule.measures import FastForm, Measure, Objective, get

if TYPE_CHECKING:
    from polyrule.kernels.judge import LabelCounts


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upper bounds on the value of any head, per candidate; -inf where no literal is usable.

    Where `top` is given, ``top / bottom`` is the same exactly, and a head that reaches it has at most `right` true
    positives.
    """

    values: Floats
    top: npt.NDArray[np.int64] | None = None
    bottom: int = 1
    right: npt.NDArray[np.int64] | None = None

    def rules_out(self, index: int, value: Fraction, tp: int) -> bool:
        """Whether no head of a candidate has at least this value and, at just this value, so many true positives."""
        if self.top is None or self.right is None:
            return False
        reach = int(self.top[index]) * value.denominator - value.numerator * self.bottom
        return reach < 0 or (reach == 0 and int(self.right[index]) < tp)


ROUNDS = 40  # Dinkelbach's iteration converges superlinearly; a handful is usual


def _row(coefficients: tuple[int, ...], counts: tuple[npt.NDArray[np.int64], ...]) -> Floats:
    total = np.zeros(counts[0].shape)
    for coefficient, count in zip(coefficients[1:], counts, strict=True):
        total += float(coefficient) * count
    return total


def ratio_bounds(
    counts: LabelCounts, total: npt.NDArray[np.int64], form: FastForm, allowed: npt.NDArray[np.bool_]
) -> Floats:
    """Upper bound on the value of any head, per candidate; -inf where no literal has a true positive.

    Up to rounding it is the value of the best head of any size, times the largest lift.
    """
    usable = allowed[None] & (counts.unset > 0)
    if form.kind == "subset":
        weight = float(total[0].sum())
        right = counts.unset + counts.uncovered[..., :1]
        best = np.where(usable, right / weight, -np.inf).max(axis=(1, 2))
    else:
        best = _dinkelbach(counts, total, form, usable)
    if form.rho is None:
        return np.asarray(best)
    lifts = np.array(form.rho[1:], dtype=np.float64) / 2**30
    return np.asarray(np.maximum(best * lifts.max(), best * lifts.min()))


def monotone_bounds(counts: LabelCounts, measure: Measure, allowed: npt.NDArray[np.bool_], most: int) -> Bounds:
    """Bound a monotone measure of the counts summed over a head of up to `most` labels, per candidate.

    A head of j labels has no more TP and TN than the j largest and no fewer FP and FN than the j smallest of any label.
    """
    usable = allowed[None] & (counts.unset > 0)
    possible = usable.any(axis=2)
    far = np.iinfo(np.int64).max // 4

    def sums(cells: npt.NDArray[np.int64], largest: bool) -> npt.NDArray[np.int64]:
        sign = -1 if largest else 1
        ordered = np.sort(np.where(possible, sign * cells, far), axis=1)[:, :most]
        return np.asarray(sign * np.cumsum(np.minimum(ordered, far), axis=1))

    tp = np.where(usable, counts.unset, -1).max(axis=2)
    fp = np.where(usable, counts.unset[..., ::-1], far).min(axis=2)
    exists = np.arange(1, min(most, possible.shape[1]) + 1) <= possible.sum(axis=1)[:, None]
    columns = [sums(tp, True), sums(fp, False), sums(counts.uncovered[..., 0], True)]
    columns.append(sums(counts.uncovered[..., 1], False))
    best = np.full(len(tp), -np.inf)
    if exists.any():
        found = np.full(exists.shape, -np.inf)
        found[exists] = measure.values(*(column[exists] for column in columns))
        best = found.max(axis=1)
    return Bounds(best)


def is_example_hamming(objective: Objective) -> bool:
    """Whether examples are measured by their share of right labels, and `hamming_bounds` applies.

    >>> is_example_hamming(Objective("hamming", averaging="example")), is_example_hamming(Objective("hamming"))
    (True, False)
    """
    plain = objective.averaging == "example" and objective.scope == "head" and objective.lift.is_none
    return plain and objective.measure == get("hamming")


def hamming_bounds(
    counts: LabelCounts, open_weight: npt.NDArray[np.int64], total: int, allowed: npt.NDArray[np.bool_]
) -> Bounds:
    """Bound the example-wise Hamming accuracy of any head, per candidate.

    `open_weight` is the weight of covered examples on which some allowed label is unset. Such an example is worth 1
    less its share of wrong labels, which is not smaller than their number divided by the size of the head; an uncovered
    one is worth its share of absent labels. So a head is worth no more than (open_weight + the mean of its literals'
    TN - FP) / total, and just that only if all of its literals have the largest TN - FP.
    """
    usable = allowed[None] & (counts.unset > 0)
    gain = np.where(usable, counts.uncovered[..., :1] - counts.unset[..., ::-1], np.iinfo(np.int64).min)
    best = gain.max(axis=(1, 2))
    possible = usable.any(axis=(1, 2))
    top = np.where(possible, open_weight + np.where(possible, best, 0), 0)
    leading = usable & (gain == best[:, None, None])
    right = np.where(leading, counts.unset, 0).max(axis=2).sum(axis=1)
    return Bounds(np.where(possible, top / max(total, 1), -np.inf), top, max(total, 1), right)


def _dinkelbach(
    counts: LabelCounts, total: npt.NDArray[np.int64], form: FastForm, usable: npt.NDArray[np.bool_]
) -> Floats:
    inside_num = np.stack([_row(form.num, counts.literal(value)) for value in (0, 1)], axis=2)
    inside_den = np.stack([_row(form.den, counts.literal(value)) for value in (0, 1)], axis=2)
    outside_num = np.zeros(inside_num.shape[:2])
    outside_den = np.zeros(inside_num.shape[:2])
    if form.scope != "head":
        outside = counts.literal(0)
        if form.scope == "all":
            nothing = np.zeros_like(outside[0])
            outside = (nothing, nothing, nothing + total[:, 0], nothing + total[:, 1])
        outside_num, outside_den = _row(form.num, outside), _row(form.den, outside)
    gain_num = inside_num - outside_num[:, :, None]
    gain_den = inside_den - outside_den[:, :, None]
    base_num = form.num[0] + outside_num.sum(axis=1)
    base_den = form.den[0] + outside_den.sum(axis=1)

    possible = usable.any(axis=(1, 2))
    value = np.full(len(base_num), -np.inf)
    for _ in range(ROUNDS):
        level = np.where(np.isfinite(value), value, 0.0)
        gain = np.where(usable, gain_num - level[:, None, None] * gain_den, -np.inf)
        sign = gain.argmax(axis=2)
        best_gain = gain.max(axis=2)
        chosen = best_gain > 0
        chosen[np.arange(len(chosen)), best_gain.argmax(axis=1)] = True
        pick = chosen & np.isfinite(best_gain)
        num = base_num + np.where(pick, np.take_along_axis(gain_num, sign[:, :, None], 2)[:, :, 0], 0.0).sum(axis=1)
        den = base_den + np.where(pick, np.take_along_axis(gain_den, sign[:, :, None], 2)[:, :, 0], 0.0).sum(axis=1)
        improved = np.where(possible & (den != 0), num / np.where(den == 0, 1.0, den), np.where(possible, 0.0, -np.inf))
        if (improved <= value).all():
            break
        value = np.maximum(value, improved)
    return value
