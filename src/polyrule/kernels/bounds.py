"""How good the best head of each candidate can be: a vectorised bound in doubles, used only to order and skip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Floats
from polyrule.measures import FastForm

if TYPE_CHECKING:
    from polyrule.kernels.judge import LabelCounts

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
