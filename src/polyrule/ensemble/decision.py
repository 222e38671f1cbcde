"""Decisions: cutoffs and label sets tuned on out-of-fold scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logit

from polyrule.data.labels import UNKNOWN
from polyrule.errors import OptionError
from polyrule.model.decisions import (
    KINDS,
    SET_KINDS,
    Decision,
    DecisionKind,
    dependence,
    membership,
    seen_label_sets,
)
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints, Matrix
from polyrule.utils.messages import argument, parameter_name

_GRID = np.round(logit(np.arange(5, 81) / 100), 9)  # rounded: last digits differ between versions of SciPy
_MAX_TUNED = 2_000_000  # examples times label sets; of more examples only some are used
# The decision that suits a measure: comparing all kinds by cross-validation took a tenth of the time and was no better.
_SUITED: dict[str, DecisionKind] = {
    "micro-f1": "threshold",
    "macro-f1": "per-label",
    "example-f1": "threshold",
    "subset": "subset",
    "hamming": "threshold",
}
# Macro-F1 rewards predicting rare labels at random. It may cost at most this much micro-F1 on the training data.
_MAX_MICRO_LOSS = 0.015
# Share of the dependence among labels, from the counts of label sets, that is added to the sums of the sets.
_STRENGTHS = (0.0, 0.5, 1.0)
_COARSE = 5
_MIN_STRENGTH_GAIN = 0.004
_SHRINKAGE = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1, 0.0)


@dataclass(frozen=True, eq=False)
class OutOfFoldScores:
    """Scores of training examples by models that did not learn from them.

    Parameters
    ----------
    scores : ndarray, shape (examples, labels)
    truth : ndarray of uint8, same shape
        0, 1, or `UNKNOWN`, which counts nowhere.
    weights : ndarray, shape (examples,)
    fold : ndarray of int
        Fold that each example was held out in.
    """

    scores: Matrix
    truth: Bytes
    weights: Floats
    fold: Ints

    def of(self, rows: Bools | Ints) -> OutOfFoldScores:
        """Return the scores of some examples."""
        return OutOfFoldScores(self.scores[rows], self.truth[rows], self.weights[rows], self.fold[rows])

    def above(self, cutoffs: Matrix | float) -> Bytes:
        """Return 1 if a score reaches the cutoff of all labels, or that of its label."""
        return (self.scores >= cutoffs).view(np.uint8)

    def value(self, predicted: Bytes, measure: str) -> float:
        """Return the value of a measure for predictions."""
        return MEASURES[measure](self.truth, predicted, self.weights)

    @property
    def complete(self) -> OutOfFoldScores:
        """The examples of which all labels are known."""
        is_known = (self.truth != UNKNOWN).all(axis=1)
        return self if is_known.all() else self.of(is_known)


def choose(
    out_of_fold: OutOfFoldScores, kind: str, optimize: str, *, by_label: bool = False
) -> tuple[Decision, dict[str, float]]:
    """Tune a decision; if `kind` is "auto", one of the kind that suits the measure.

    Parameters
    ----------
    out_of_fold : OutOfFoldScores
    kind, optimize : str
        See `check_decision`.
    by_label : bool
        True if "auto" excludes decisions among label sets: they are neither made with pencil and paper, nor monotone in
        the scores.

    Returns
    -------
    decision : Decision
        Tuned on all scores.
    cv_scores : dict
        Per kind the value of `optimize` in cross-validation: tuned on all folds but one and evaluated on that one.
    """
    selected = next((k for k in KINDS if k == kind), _SUITED[optimize])
    if selected in SET_KINDS and ((kind == "auto" and by_label) or not len(out_of_fold.complete.truth)):
        selected = "threshold"
    predicted = np.zeros_like(out_of_fold.truth)
    for fold in np.unique(out_of_fold.fold):
        is_held_out = out_of_fold.fold == fold
        rest = out_of_fold if is_held_out.all() else out_of_fold.of(~is_held_out)
        if selected in SET_KINDS and not len(rest.complete.truth):
            rest = out_of_fold
        predicted[is_held_out] = tune(rest, selected, optimize).labels(out_of_fold.scores[is_held_out])
    return tune(out_of_fold, selected, optimize), {selected: out_of_fold.value(predicted, optimize)}


def check_decision(decision: str, optimize: str, monotone: Any) -> None:
    """Refuse unknown decisions and measures, and decisions that are not monotone in the scores with `monotone`."""
    if decision != "auto" and decision not in KINDS:
        raise OptionError(parameter="decision", value=decision, allowed=f"'auto' or one of {', '.join(KINDS)}")
    if monotone and decision in SET_KINDS:
        raise OptionError(
            f"{argument('decision', decision)} chooses whole label sets, so that a label may go as the sum of another "
            f"rises; with {parameter_name('monotone')}, take 'auto', 'threshold' or 'per-label'"
        )
    if optimize not in list(MEASURES):
        raise OptionError(parameter="optimize", value=optimize, allowed=f"one of {', '.join(MEASURES)}")


def tune(out_of_fold: OutOfFoldScores, kind: DecisionKind, optimize: str) -> Decision:
    """Tune the cutoffs, or collect the label sets, of one kind of decision."""
    labels = out_of_fold.truth.shape[1]
    if kind in SET_KINDS:
        out_of_fold = out_of_fold.complete
        sets = seen_label_sets(out_of_fold.truth)
        if kind == "expected-f1":
            return Decision(kind, (), sets)
        cutoff, bonuses = _set_cutoff(out_of_fold, sets, optimize)
        return Decision(kind, (cutoff,) * labels, sets, bonuses)
    if kind == "threshold":
        return Decision(kind, (_shared_cutoff(out_of_fold, optimize),) * labels)
    tuned = rare_label_cutoffs if optimize == "macro-f1" else partial(_label_cutoffs, optimize=optimize)
    cutoffs = tuned(out_of_fold)
    absent = ~(out_of_fold.truth == 1).any(axis=0)
    if absent.any():
        cutoffs[absent] = _shared_cutoff(out_of_fold, optimize)
    return Decision(kind, tuple((_guarded(cutoffs, out_of_fold) if optimize == "macro-f1" else cutoffs).tolist()))


def _guarded(cutoffs: Matrix, out_of_fold: OutOfFoldScores) -> Matrix:
    """Return cutoffs moved towards that of micro-F1, as little as possible, so that they lose little of it."""
    plain = _shared_cutoff(out_of_fold, "micro-f1")
    min_micro = out_of_fold.value(out_of_fold.above(plain), "micro-f1") - _MAX_MICRO_LOSS
    for share in _SHRINKAGE:
        near = np.asarray(plain + share * (cutoffs - plain))
        if out_of_fold.value(out_of_fold.above(near), "micro-f1") >= min_micro:
            break
    return near


def _shared_cutoff(out_of_fold: OutOfFoldScores, optimize: str) -> float:
    return _best_cutoff(out_of_fold, map(out_of_fold.above, _GRID), optimize)


def _set_cutoff(
    out_of_fold: OutOfFoldScores, label_sets: tuple[tuple[int, ...], ...], optimize: str
) -> tuple[float, tuple[float, ...]]:
    """Return the best shared cutoff of label sets, and their bonuses; a lower cutoff favors larger sets."""
    members = membership(label_sets, out_of_fold.truth.shape[1])
    sample = out_of_fold.of(
        np.arange(0, len(out_of_fold.truth), max(1, len(out_of_fold.truth) * len(members) // _MAX_TUNED))
    )
    totals = sample.scores @ members.T.astype(np.float64)
    sizes = members.sum(axis=1, dtype=np.float64)
    bonuses = dependence(out_of_fold.truth, label_sets, out_of_fold.weights)

    def labels(strength: float, cutoffs: Matrix) -> Iterable[Bytes]:
        return (members[places] for places in best_sets(totals + strength * bonuses, sizes, cutoffs))

    best, best_value = 0.0, -np.inf
    for strength in _STRENGTHS if optimize == "subset" else ():
        value = max(sample.value(predicted, optimize) for predicted in labels(strength, _GRID[::_COARSE]))
        if value > best_value + _MIN_STRENGTH_GAIN:
            best, best_value = strength, value
    cutoff = _best_cutoff(sample, labels(best, _GRID), optimize)
    return cutoff, tuple((best * bonuses).tolist()) if best else ()


def best_sets(totals: Matrix, sizes: Matrix, cutoffs: Matrix) -> Iterator[Ints]:
    """Yield per cutoff the set with the largest total less the cutoff for each of its labels, the first of equals.

    A cutoff shifts all sets of one size alike, so only the best of each size is compared.
    """
    distinct = np.unique(sizes)
    places = [np.flatnonzero(sizes == size) for size in distinct]
    which = np.stack([columns[np.argmax(totals[:, columns], axis=1)] for columns in places], axis=1)
    best = np.take_along_axis(totals, which, axis=1)
    for cutoff in cutoffs:
        net = best - cutoff * distinct
        yield np.where(net == net.max(axis=1, keepdims=True), which, len(sizes)).min(axis=1)


def _label_cutoffs(out_of_fold: OutOfFoldScores, optimize: str) -> Matrix:
    """Return the best cutoff of each label."""
    curves = accuracy_curves if optimize in ("hamming", "subset") else f1_curves
    # The grid in order of distance from 0, of which the first of equals is taken.
    order = np.argsort(np.abs(_GRID), kind="stable")
    values = smoothed(curves(out_of_fold, out_of_fold.scores, _GRID))[order]
    return np.asarray(_GRID[order][np.argmax(values >= values.max(axis=0) - 1e-12, axis=0)])


def _best_cutoff(out_of_fold: OutOfFoldScores, predicted: Iterable[Bytes], optimize: str) -> float:
    """Return the cutoff with the largest smoothed value; of equals the one nearest 0, a probability of 50 %."""
    measures = (optimize, "micro-f1") if optimize == "macro-f1" else (optimize,)
    values = np.array([[out_of_fold.value(labels, measure) for measure in measures] for labels in predicted])
    value, *guards = (smoothed(column) for column in values.T)
    for micro in guards:
        value = np.where(micro >= micro.max() - _MAX_MICRO_LOSS, value, -1.0)
    best = np.flatnonzero(value >= value.max() - 1e-12)
    return float(_GRID[best[np.argmin(np.abs(_GRID[best]))]])


_HEIGHTS = np.linspace(-3.5, 2.0, 56)
_TILTS = (0.0, 0.25, 0.5, 0.75, 1.0)
_MOVES = np.linspace(-2.0, 2.0, 41)
_PRIOR_EXAMPLES = 30.0


def rare_label_cutoffs(out_of_fold: OutOfFoldScores) -> Matrix:
    """Return a cutoff for every label, for macro-F1, in which five examples count as much as five hundred.

    A cutoff tuned on five examples is mostly luck. All cutoffs first are on one line over the log-odds of the labels'
    prevalence; then each label moves away from the line as far as its examples support: its F1 is averaged with that of
    all labels, which weighs as much as a few examples.
    """
    scores, present = out_of_fold.scores, out_of_fold.weights @ (out_of_fold.truth == 1)
    total = out_of_fold.weights @ (out_of_fold.truth != UNKNOWN)
    prevalence = np.round(logit((present + 0.5) / (total + 1)), 9)
    best, line = -1.0, np.zeros(len(present))
    for tilt in _TILTS:
        heights = smoothed(f1_curves(out_of_fold, scores - tilt * prevalence, _HEIGHTS).mean(axis=1))
        if heights.max() > best + 1e-12:
            best = float(heights.max())
            line = _HEIGHTS[int(np.argmax(heights))] + tilt * prevalence
    curves = f1_curves(out_of_fold, scores - line, _MOVES)
    shrunk = (present * curves + _PRIOR_EXAMPLES * curves.mean(axis=1, keepdims=True)) / (present + _PRIOR_EXAMPLES)
    return np.asarray(line + _MOVES[np.argmax(smoothed(shrunk), axis=0)])


def micro_f1(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """Return the F1 of all decisions about all labels together."""
    right, claimed, present = _sums(truth, predicted, weights)
    return float(_f1(right.sum(), claimed.sum() + present.sum()))


def macro_f1(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """Return the mean F1 of the labels; 0 for a label that is neither present nor predicted."""
    right, claimed, present = _sums(truth, predicted, weights)
    return float(_f1(right, claimed + present).mean())


def example_f1(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """Return the mean F1 of the examples' label sets; 1 for two empty sets."""
    present, is_known = truth == 1, truth != UNKNOWN
    right = (present & (predicted == 1)).sum(axis=1, dtype=np.float64)
    total = present.sum(axis=1, dtype=np.float64) + (predicted * is_known).sum(axis=1, dtype=np.float64)
    return _mean(_f1(right, total, empty=1.0), weights * is_known.any(axis=1))


def subset_accuracy(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """Return the share of examples with all labels right."""
    unknown = truth == UNKNOWN
    return _mean(((truth == predicted) | unknown).all(axis=1), weights * ~unknown.all(axis=1))


def hamming_accuracy(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """Return the share of right decisions, 1 minus the Hamming loss."""
    is_known = truth != UNKNOWN
    return _mean((truth == predicted)[is_known], np.broadcast_to(weights[:, None], truth.shape)[is_known])


#: Values of the parameter `optimize`. A label that is unknown counts nowhere.
MEASURES: dict[str, Callable[[Bytes, Bytes, Floats], float]] = {
    "micro-f1": micro_f1,
    "macro-f1": macro_f1,
    "example-f1": example_f1,
    "subset": subset_accuracy,
    "hamming": hamming_accuracy,
}


def _sums(truth: Bytes, predicted: Bytes, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the weight of examples by label: label present and predicted, predicted, present."""
    present = truth == 1
    return weights @ (present & (predicted == 1)), weights @ (predicted * (truth != UNKNOWN)), weights @ present


def _mean(values: Floats | Bools, weights: Floats) -> float:
    total = float(weights.sum())
    return float(weights @ values / total) if total else 1.0


def _f1(right: Any, total: Any, empty: float = 0.0) -> Floats:
    """Return F1; `total` is the weight present plus the weight predicted, and `empty` the value if both are 0."""
    return np.asarray(np.divide(2 * right, total, out=np.full_like(total, empty), where=total > 0))


_REACH = 2


def smoothed(values: Matrix) -> Matrix:
    """Return the mean of each value and its two neighbors on either side, along the first axis.

    Examples
    --------
    >>> smoothed(np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0]))
    array([1., 1., 1., 1., 1., 0.])
    """
    edges = [(_REACH, _REACH)] + [(0, 0)] * (values.ndim - 1)
    padded = np.pad(values, edges, mode="edge")
    windows = [padded[shift : shift + len(values)] for shift in range(2 * _REACH + 1)]
    return np.asarray(np.mean(windows, axis=0))


def f1_curves(out_of_fold: OutOfFoldScores, scores: Matrix, cutoffs: Matrix) -> Matrix:
    """Return F1 by cutoff and label; 0 if a label is neither present nor predicted."""
    right, claimed, present = _counts(out_of_fold, scores, cutoffs)
    return _f1(right, claimed + present)


def accuracy_curves(out_of_fold: OutOfFoldScores, scores: Matrix, cutoffs: Matrix) -> Matrix:
    """Return the share of right decisions by cutoff and label."""
    right, claimed, present = _counts(out_of_fold, scores, cutoffs)
    total = out_of_fold.weights @ (out_of_fold.truth != UNKNOWN)
    return np.asarray(1 - np.divide(claimed + present - 2 * right, total, out=np.zeros_like(right), where=total > 0))


def _counts(out_of_fold: OutOfFoldScores, scores: Matrix, cutoffs: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return the weight of the examples with the label and predicted, predicted, and with the label."""
    right, claimed = np.empty((2, len(cutoffs), scores.shape[1]))
    counted = out_of_fold.weights[:, None] * (out_of_fold.truth != UNKNOWN)
    weighted = out_of_fold.weights[:, None] * (out_of_fold.truth == 1)
    for place, cutoff in enumerate(cutoffs):
        above = scores >= cutoff
        right[place] = (weighted * above).sum(axis=0)
        claimed[place] = (counted * above).sum(axis=0)
    return right, claimed, weighted.sum(axis=0)
