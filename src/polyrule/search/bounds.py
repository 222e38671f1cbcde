"""How good the best head of each candidate can be: a vectorised bound in doubles, used only to order and skip."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from polyrule.heads import LabelCounts
from polyrule.measures import FastForm, Lift, Measure, Objective, RatioMeasure
from polyrule.measures.objective import HAMMING
from polyrule.utils.arrays import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Bounds:
    """Upper bounds on the value of any head, per candidate; -inf where no literal is usable.

    Where `top` is given, ``top / bottom`` is the same exactly, and a head that reaches it has at most `right` true
    positives.
    """

    values: Floats
    top: Ints | None = None
    bottom: int = 1
    right: Ints | None = None

    def rules_out(self, index: int, value: Fraction, tp: int) -> bool:
        """Return True if no head of a candidate has this value with `tp` true positives, or a larger value."""
        if self.top is None or self.right is None:
            return False
        reach = int(self.top[index]) * value.denominator - value.numerator * self.bottom
        return reach < 0 or (reach == 0 and int(self.right[index]) < tp)


ROUNDS = 40  # Dinkelbach's iteration converges superlinearly; a handful is usual


def ratio_bounds(counts: LabelCounts, weight: int, form: FastForm, allowed: Bools) -> Floats:
    """Upper bound on the value of any head, per candidate; -inf where no literal has a true positive.

    Up to rounding it is the value of the best head of any size, times the largest lift.
    """
    usable = allowed[None] & (counts.tp > 0)
    if form.kind == "subset":
        right = counts.tp + counts.tn[..., None]
        best = np.where(usable, right / weight, -np.inf).max(axis=(1, 2))
    else:
        best = _dinkelbach(counts, form, usable)
    if form.rho is None:
        return np.asarray(best)
    lifts = np.array(form.rho[1:], dtype=np.float64) / Lift.SCALE
    return np.asarray(np.maximum(best * lifts.max(), best * lifts.min()))


def monotone_bounds(counts: LabelCounts, measure: Measure, allowed: Bools, max_size: int) -> Bounds:
    """Bound a monotone measure of the counts summed over a head of up to `max_size` labels, per candidate.

    A head of j labels has no more TP and TN than the j largest and no fewer FP and FN than the j smallest of any label.
    """
    usable = allowed[None] & (counts.tp > 0)
    possible = usable.any(axis=2)
    far = np.iinfo(np.int64).max // 4

    def sums(cells: Ints, largest: bool) -> Ints:
        sign = -1 if largest else 1
        ordered = np.sort(np.where(possible, sign * cells, far), axis=1)[:, :max_size]
        return np.asarray(sign * np.cumsum(np.minimum(ordered, far), axis=1))

    tp = np.where(usable, counts.tp, -1).max(axis=2)
    fp = np.where(usable, counts.fp, far).min(axis=2)
    exists = np.arange(1, min(max_size, possible.shape[1]) + 1) <= possible.sum(axis=1)[:, None]
    columns = [sums(tp, True), sums(fp, False), sums(counts.tn, True)]
    columns.append(sums(counts.fn, False))
    best = np.full(len(tp), -np.inf)
    if exists.any():
        values = np.full(exists.shape, -np.inf)
        values[exists] = measure.values(*(column[exists] for column in columns))
        best = values.max(axis=1)
    return Bounds(best)


def is_example_hamming(objective: Objective) -> bool:
    """Return True if the value of an example is its share of right labels, so that `hamming_bounds` applies.

    >>> is_example_hamming(Objective("hamming", averaging="example")), is_example_hamming(Objective("hamming"))
    (True, False)
    >>> is_example_hamming(Objective("(tp+tn) / (tp+fp+tn+fn)", averaging="example"))
    True
    """
    plain = objective.averaging == "example" and objective.scope == "head" and objective.lift.is_none
    return plain and isinstance(objective.measure, RatioMeasure) and objective.measure.rows == HAMMING


def hamming_bounds(counts: LabelCounts, open_weight: Ints, total: int, allowed: Bools) -> Bounds:
    """Bound the example-wise Hamming accuracy of any head, per candidate.

    `open_weight` is the weight of covered examples on which some allowed label is unset. Such an example has at most
    the value 1 less its share of wrong labels, which is not smaller than their number divided by the size of the
    head; an uncovered one has its share of absent labels. So no head exceeds (open_weight + the mean of its literals'
    TN - FP) / total, and just that only if all of its literals have the largest TN - FP.
    """
    usable = allowed[None] & (counts.tp > 0)
    gain = np.where(usable, counts.tn[..., None] - counts.fp, np.iinfo(np.int64).min)
    best = gain.max(axis=(1, 2))
    possible = usable.any(axis=(1, 2))
    top = np.where(possible, open_weight + np.where(possible, best, 0), 0)
    leading = usable & (gain == best[:, None, None])
    right = np.where(leading, counts.tp, 0).max(axis=2).sum(axis=1)
    return Bounds(np.where(possible, top / max(total, 1), -np.inf), top, max(total, 1), right)


def _gains(counts: LabelCounts, row: tuple[int, ...], scope: str) -> tuple[Floats, Floats]:
    """Return the part of each literal in a row of coefficients times counts, and that of the empty head."""
    constant, tp, fp, tn, fn = map(float, row)
    uncovered = tn * counts.tn + fn * counts.fn
    literal_sums = tp * counts.tp + fp * counts.fp + uncovered[..., None]
    if scope == "head":
        return literal_sums, np.full(len(literal_sums), constant)
    unset_sums = literal_sums[..., 0]
    if scope == "all":
        unset_sums = uncovered + tn * counts.covered_absent + fn * counts.covered_present
    return literal_sums - unset_sums[..., None], constant + unset_sums.sum(axis=1)


def _dinkelbach(counts: LabelCounts, form: FastForm, usable: Bools) -> Floats:
    (gain_num, base_num), (gain_den, base_den) = (_gains(counts, row, form.scope) for row in (form.num, form.den))
    possible = usable.any(axis=(1, 2))
    value = np.full(len(base_num), -np.inf)
    for _ in range(ROUNDS):
        level = np.where(np.isfinite(value), value, 0.0)
        gain = np.where(usable, gain_num - level[:, None, None] * gain_den, -np.inf)
        sign = gain.argmax(axis=2)
        best_gain = gain.max(axis=2)
        is_best = best_gain > 0
        is_best[np.arange(len(is_best)), best_gain.argmax(axis=1)] = True
        pick = is_best & np.isfinite(best_gain)
        num = base_num + np.where(pick, np.take_along_axis(gain_num, sign[:, :, None], 2)[:, :, 0], 0.0).sum(axis=1)
        den = base_den + np.where(pick, np.take_along_axis(gain_den, sign[:, :, None], 2)[:, :, 0], 0.0).sum(axis=1)
        improved = np.where(possible & (den != 0), num / np.where(den == 0, 1.0, den), np.where(possible, 0.0, -np.inf))
        if (improved <= value).all():
            break
        value = np.maximum(value, improved)
    return value
