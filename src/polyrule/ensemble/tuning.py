"""Tuning decisions by cross-validated scores: which kind, and where to cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logit

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
_LARGEST_TUNED = 2_000_000  # examples times label sets; of more examples only some are used

# The peak of an F1 over cuts is flat. Whoever gives up this much of it may gain a lot of the other measures.
_SLACK = {"micro-f1": 0.005, "example-f1": 0.005}
# Macro-F1 rewards calling rare labels at random. So much of micro-F1 may be given up for it on the training part.
_GUARD = 0.015
# How much of the dependence among labels, as the counts of the label sets show it, is added to the sums of the sets
# where whole sets count; for the other measures it is of no use.
_STRENGTHS = (0.0, 0.5, 1.0)
_COARSE = 5
_CLEARLY = 0.004
_SHRINKAGE = (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1, 0.0)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Scores of training examples by models that did not see them, from which decisions are tuned.

    Parameters
    ----------
    scores : ndarray, shape (examples, labels)
    truth : ndarray of uint8, same shape
    weights : ndarray, shape (examples,)
    fold : ndarray of int
        Which part of the cross-validation each example was held out in.
    """

    scores: Matrix
    truth: Bytes
    weights: Matrix
    fold: npt.NDArray[np.int64]

    def of(self, rows: Bools | Ints) -> Evidence:
        """Return the evidence of some examples."""
        return Evidence(self.scores[rows], self.truth[rows], self.weights[rows], self.fold[rows])

    def above(self, cuts: Matrix | float) -> Bytes:
        """1 where a score reaches the cut for all labels, or that of its label."""
        return (self.scores >= cuts).view(np.uint8)

    def reached(self, predicted: Bytes, measure: str) -> float:
        """What predictions for the examples reach for a measure."""
        return MEASURES[measure](self.truth, predicted, self.weights)


class Merit(NamedTuple):
    """What a decision reaches: the measure asked for, and what else one would like, which settles near-ties."""

    asked: float
    rest: float


def choose(
    evidence: Evidence, kind: str, optimize: str, *, by_hand: bool = False, stop: Callable[[], bool] = lambda: False
) -> tuple[Decision, dict[str, float]]:
    """Tune a decision, or the best of all kinds where `kind` is "auto".

    A kind later in the list "threshold", "subset", "per-label", "expected-f1" is harder to follow, so it must be
    clearly better than those before it: in the measure asked for, or in the rest (Hamming loss and subset accuracy)
    where that measure is as good. Kinds are compared fairly: each is tuned on all folds but one and judged on that one,
    in turn, because a threshold per label always looks better than one for all on the examples it was tuned on.

    Parameters
    ----------
    evidence : Evidence
    kind, optimize : str
        As `check_decision` allows them.
    by_hand : bool
        Whether "auto" leaves out the decisions that nobody makes with pencil and paper: those among label sets. They
        would not be monotone in the scores either.
    stop : callable
        Asked before every kind but the first; True makes do with those tried so far.

    Returns
    -------
    decision : Decision
        Tuned on all the evidence.
    merits : dict
        What each kind that was tried reached for the measure `optimize`.
    """
    tried = [k for k in KINDS if kind == k or (kind == "auto" and not (by_hand and k in SET_KINDS))]
    merits: dict[DecisionKind, Merit] = {}
    for candidate in tried:
        if merits and stop():
            break
        predicted = np.zeros_like(evidence.truth)
        for fold in np.unique(evidence.fold):
            held = evidence.fold == fold
            others = evidence.of(~held) if not held.all() else evidence
            predicted[held] = tune(others, candidate, optimize).labels(evidence.scores[held])
        merits[candidate] = _merit(evidence, predicted, optimize)
    # A difference of about half its standard error is taken for luck.
    luck = 0.1 / np.sqrt(max(1.0, evidence.weights.sum()))
    best = simplest_good(merits, luck)
    return tune(evidence, best, optimize), {candidate: merit.asked for candidate, merit in merits.items()}


def check_decision(decision: str, optimize: str, monotone: Any) -> None:
    """Refuse what is no decision or no measure, and decisions that do not follow the sums where these are monotone."""
    if decision != "auto" and decision not in KINDS:
        raise OptionError(parameter="decision", value=decision, allowed=f"'auto' or one of {', '.join(KINDS)}")
    if monotone and decision in SET_KINDS:
        raise OptionError(
            f"{argument('decision', decision)} chooses whole label sets, so that a label may go as the sum of another "
            f"rises; with {parameter_name('monotone')}, take 'auto', 'threshold' or 'per-label'"
        )
    if optimize not in list(MEASURES):
        raise OptionError(parameter="optimize", value=optimize, allowed=f"one of {', '.join(MEASURES)}")


def simplest_good(merits: dict[DecisionKind, Merit], luck: float) -> DecisionKind:
    """Return the first kind that none is clearly better than; `luck` is the largest difference that means nothing.

    Examples
    --------
    >>> simplest_good({"threshold": Merit(0.70, 0.5), "subset": Merit(0.71, 0.5)}, 0.02)
    'threshold'
    >>> simplest_good({"threshold": Merit(0.70, 0.5), "subset": Merit(0.69, 0.6)}, 0.02)
    'subset'
    >>> simplest_good({"threshold": Merit(0.70, 0.5), "subset": Merit(0.65, 0.6)}, 0.02)
    'threshold'
    """
    most = max(merit.asked for merit in merits.values())
    good = [kind for kind, merit in merits.items() if merit.asked >= most - luck]
    best = good[0]
    for kind in good[1:]:
        if merits[kind].rest > merits[best].rest + 2 * luck:
            best = kind
    return best


def _merit(evidence: Evidence, predicted: Bytes, optimize: str) -> Merit:
    if optimize not in _SLACK:
        return Merit(evidence.reached(predicted, optimize), 0.0)
    rest = evidence.reached(predicted, "hamming") + evidence.reached(predicted, "subset")
    return Merit(evidence.reached(predicted, optimize), rest / 2)


def tune(evidence: Evidence, kind: DecisionKind, optimize: str) -> Decision:
    """Find the thresholds, or collect the label sets, of one kind of decision."""
    labels = evidence.truth.shape[1]
    if kind == "expected-f1":
        return Decision(kind, (), seen_label_sets(evidence.truth))
    if kind == "subset":
        sets = seen_label_sets(evidence.truth)
        cut, bonuses = _set_cut(evidence, sets, optimize)
        return Decision(kind, (cut,) * labels, sets, bonuses)
    if kind == "threshold":
        return Decision(kind, (_shared_cut(evidence, optimize),) * labels)
    tuned = rare_label_cuts if optimize == "macro-f1" else partial(_label_cuts, optimize=optimize)
    cuts = tuned(evidence)
    absent = ~evidence.truth.any(axis=0)
    if absent.any():
        cuts[absent] = _shared_cut(evidence, optimize)
    return Decision(kind, tuple((_guarded(cuts, evidence) if optimize == "macro-f1" else cuts).tolist()))


def _guarded(cuts: Matrix, evidence: Evidence) -> Matrix:
    """Cuts moved towards the one for micro-F1 as little as it takes to stay near what that reaches."""
    plain = _shared_cut(evidence, "micro-f1")

    least = evidence.reached(evidence.above(plain), "micro-f1") - _GUARD
    for share in _SHRINKAGE:
        near = np.asarray(plain + share * (cuts - plain))
        if evidence.reached(evidence.above(near), "micro-f1") >= least:
            break
    return near


def _shared_cut(evidence: Evidence, optimize: str) -> float:
    return _best_cut(evidence, map(evidence.above, _GRID), optimize)


def _set_cut(
    evidence: Evidence, label_sets: tuple[tuple[int, ...], ...], optimize: str
) -> tuple[float, tuple[float, ...]]:
    """Best shared cut where whole label sets are chosen, and the sets' bonuses; a lower cut favours larger sets."""
    members = membership(label_sets, evidence.truth.shape[1])
    every = max(1, len(evidence.truth) * len(members) // _LARGEST_TUNED)
    some = evidence.of(np.arange(0, len(evidence.truth), every))
    totals = some.scores @ members.T.astype(np.float64)
    sizes = members.sum(axis=1, dtype=np.float64)
    bonuses = dependence(evidence.truth, label_sets, evidence.weights)

    def labels(strength: float, cuts: Matrix) -> Iterable[Bytes]:
        return (members[places] for places in best_sets(totals + strength * bonuses, sizes, cuts))

    best, most = 0.0, -np.inf
    for strength in _STRENGTHS if optimize == "subset" else ():
        reached = max(sum(_merit(some, said, optimize)) for said in labels(strength, _GRID[::_COARSE]))
        if reached > most + _CLEARLY:
            best, most = strength, reached
    cut = _best_cut(some, labels(best, _GRID), optimize)
    return cut, tuple((best * bonuses).tolist()) if best else ()


def best_sets(totals: Matrix, sizes: Matrix, cuts: Matrix) -> Iterator[Ints]:
    """Per cut, which set has the largest total less the cut for each of its labels, the first of equals; by row.

    A cut shifts all sets of one size alike, so that only the best of each size is looked at again.
    """
    distinct = np.unique(sizes)
    places = [np.flatnonzero(sizes == size) for size in distinct]
    which = np.stack([some[np.argmax(totals[:, some], axis=1)] for some in places], axis=1)
    best = np.take_along_axis(totals, which, axis=1)
    for cut in cuts:
        reached = best - cut * distinct
        yield np.where(reached == reached.max(axis=1, keepdims=True), which, len(sizes)).min(axis=1)


def _label_cuts(evidence: Evidence, optimize: str) -> Matrix:
    """Best threshold of each label by itself."""
    curves = accuracy_curves if optimize in ("hamming", "subset") else f1_curves
    # The grid in order of distance from 0, of which the first of equals is taken.
    order = np.argsort(np.abs(_GRID), kind="stable")
    reached = smoothed(curves(evidence, evidence.scores, _GRID))[order]
    return np.asarray(_GRID[order][np.argmax(reached >= reached.max(axis=0) - 1e-12, axis=0)])


def _best_cut(evidence: Evidence, predicted: Iterable[Bytes], optimize: str) -> float:
    """Cut with the best rest among those next to the peak; of equals the one nearest 0, a probability of 50 %."""
    guarded = optimize == "macro-f1"
    merits = np.array(
        [
            (*_merit(evidence, labels, optimize), evidence.reached(labels, "micro-f1") if guarded else 0.0)
            for labels in predicted
        ]
    )
    asked, rest, micro = (smoothed(column) for column in merits.T)
    if guarded:
        asked = np.where(micro >= micro.max() - _GUARD, asked, -1.0)
    good = np.flatnonzero(asked >= asked.max() - _SLACK.get(optimize, 0.0) - 1e-12)
    best = good[rest[good] >= rest[good].max() - 1e-12]
    return float(_GRID[best[np.argmin(np.abs(_GRID[best]))]])


_HEIGHTS = np.linspace(-3.5, 2.0, 56)
_TILTS = (0.0, 0.25, 0.5, 0.75, 1.0)
_MOVES = np.linspace(-2.0, 2.0, 41)
_PRIOR_EXAMPLES = 30.0


def rare_label_cuts(evidence: Evidence) -> Matrix:
    """Return a cut for every label, for macro-F1, where five examples count as much as five hundred.

    A cut tuned on five examples is mostly luck. So all cuts first lie on one line over the labels' log-odds of being
    present at all; then each label moves away from the line as far as its own examples speak for it: its F1 is
    averaged with that of all labels, which weighs as much as a few examples.
    """
    scores, present = evidence.scores, evidence.weights @ evidence.truth
    usual = np.round(logit((present + 0.5) / (evidence.weights.sum() + 1)), 9)
    best, line = -1.0, np.zeros(len(present))
    for tilt in _TILTS:
        heights = smoothed(f1_curves(evidence, scores - tilt * usual, _HEIGHTS).mean(axis=1))
        if heights.max() > best + 1e-12:
            best = float(heights.max())
            line = _HEIGHTS[int(np.argmax(heights))] + tilt * usual
    own = f1_curves(evidence, scores - line, _MOVES)
    shrunk = (present * own + _PRIOR_EXAMPLES * own.mean(axis=1, keepdims=True)) / (present + _PRIOR_EXAMPLES)
    return np.asarray(line + _MOVES[np.argmax(smoothed(shrunk), axis=0)])


def micro_f1(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """F1 of all decisions about all labels together."""
    right, claimed, present = _sums(truth, predicted, weights)
    return float(_f1(right.sum(), claimed.sum() + present.sum()))


def macro_f1(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """F1 of each label, averaged; a label that is neither present nor predicted counts 0."""
    right, claimed, present = _sums(truth, predicted, weights)
    return float(_f1(right, claimed + present).mean())


def example_f1(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """F1 of each example's label set, averaged; two empty sets agree fully."""
    right = (truth & predicted).sum(axis=1, dtype=np.float64)
    total = truth.sum(axis=1, dtype=np.float64) + predicted.sum(axis=1, dtype=np.float64)
    return float(weights @ _f1(right, total, empty=1.0) / weights.sum())


def subset_accuracy(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """Share of examples with all labels right."""
    return float(weights @ (truth == predicted).all(axis=1) / weights.sum())


def hamming_accuracy(truth: Bytes, predicted: Bytes, weights: Floats) -> float:
    """Share of right decisions; 1 minus the Hamming loss."""
    return float(weights @ (truth == predicted).mean(axis=1) / weights.sum())


#: What `optimize` may name.
MEASURES: dict[str, Callable[[Bytes, Bytes, Floats], float]] = {
    "micro-f1": micro_f1,
    "macro-f1": macro_f1,
    "example-f1": example_f1,
    "subset": subset_accuracy,
    "hamming": hamming_accuracy,
}


def _sums(truth: Bytes, predicted: Bytes, weights: Floats) -> tuple[Floats, Floats, Floats]:
    return weights @ (truth & predicted), weights @ predicted, weights @ truth


def _f1(right: Any, total: Any, empty: float = 0.0) -> Floats:
    """F1 where so much is right; `total` adds up what is present and what is predicted, and `empty` is for neither."""
    return np.asarray(np.divide(2 * right, total, out=np.full_like(total, empty), where=total > 0))


_REACH = 2


def smoothed(values: Matrix) -> Matrix:
    """Mean of each value and its two neighbours on either side, along the first axis, since a lone peak is luck.

    Examples
    --------
    >>> smoothed(np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0]))
    array([1., 1., 1., 1., 1., 0.])
    """
    edges = [(_REACH, _REACH)] + [(0, 0)] * (values.ndim - 1)
    padded = np.pad(values, edges, mode="edge")
    windows = [padded[shift : shift + len(values)] for shift in range(2 * _REACH + 1)]
    return np.asarray(np.mean(windows, axis=0))


def f1_curves(evidence: Evidence, scores: Matrix, cuts: Matrix) -> Matrix:
    """F1 of every label at every cut, shape (cuts, labels); 0 where a label is neither present nor predicted."""
    right, claimed, present = _counts(evidence, scores, cuts)
    return _f1(right, claimed + present)


def accuracy_curves(evidence: Evidence, scores: Matrix, cuts: Matrix) -> Matrix:
    """Share of right decisions about every label at every cut, shape (cuts, labels)."""
    right, claimed, present = _counts(evidence, scores, cuts)
    return np.asarray(1 - (claimed + present - 2 * right) / evidence.weights.sum())


def _counts(evidence: Evidence, scores: Matrix, cuts: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Weight of the examples that have a label and are given it, that are given it, that have it."""
    right, claimed = np.empty((2, len(cuts), scores.shape[1]))
    weighted = evidence.weights[:, None] * evidence.truth
    for place, cut in enumerate(cuts):
        above = scores >= cut
        right[place] = (weighted * above).sum(axis=0)
        claimed[place] = evidence.weights @ above
    return right, claimed, weighted.sum(axis=0)
