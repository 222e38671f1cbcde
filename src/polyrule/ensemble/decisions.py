"""From scores to labels: one threshold, a threshold per label, or the best of the label sets seen in training.

Scores are log-odds, so for independent labels the probability of a label set S is proportional to the exponential of
its labels' scores added up. Restricting S to sets seen in training is what brings label dependencies in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from polyrule.ensemble.measures import MEASURES, Labels
from polyrule.errors import OptionError

Matrix = npt.NDArray[np.float64]
DecisionKind = Literal["threshold", "subset", "per-label", "expected-f1"]
KINDS: tuple[DecisionKind, ...] = get_args(DecisionKind)

_GRID = np.asarray(logit(np.arange(5, 81) / 100))
_MOST_SETS = 1000
_LARGEST_TUNED = 4_000_000  # examples times label sets; of more examples only some are used
_SMOOTHING = 2  # neighbouring thresholds on either side that a threshold is averaged with


@dataclass(frozen=True)
class Decision:
    """How scores become labels.

    Parameters
    ----------
    kind : {"threshold", "per-label", "subset", "expected-f1"}
        `threshold` and `per-label`: a label is present if its score is at least its cut. `subset`: the label set whose
        labels exceed their cuts by most, all differences added up; with cuts of 0 it is the most probable set.
        `expected-f1`: the label set with the largest expected F1 (per example).
    cuts : tuple of float
        Per label; unused and empty for `expected-f1`.
    label_sets : tuple of tuples of int
        The sets to choose from, for the two set decisions; the commonest first, and the first of equals wins.
    """

    kind: DecisionKind
    cuts: tuple[float, ...] = ()
    label_sets: tuple[tuple[int, ...], ...] = ()

    @property
    def uses_sets(self) -> bool:
        """Whether whole label sets are chosen."""
        return self.kind in ("subset", "expected-f1")

    def labels(self, scores: Matrix, unit: float = 1.0) -> Labels:
        """Decide for every row of `scores`; `unit` turns scores into log-odds."""
        if not self.uses_sets:
            return (scores >= np.array(self.cuts)).astype(np.uint8)
        members = membership(self.label_sets, scores.shape[1])
        chosen = np.empty(len(scores), dtype=np.int64)
        # Blocks bound the memory that examples times label sets would take.
        step = max(1, 4_000_000 // max(1, len(members)))
        for start in range(0, len(scores), step):
            block = slice(start, start + step)
            chosen[block] = np.argmax(self._merits(scores[block], members, unit), axis=1)
        return np.asarray(members[chosen])

    def _merits(self, scores: Matrix, members: Labels, unit: float) -> Matrix:
        beyond = scores - np.array(self.cuts) if self.cuts else scores
        totals = np.zeros((len(scores), len(members)))
        for label in range(scores.shape[1]):  # one after the other, as exported code adds
            totals[:, members[:, label] == 1] += beyond[:, [label]]
        if self.kind == "subset":
            return np.asarray(totals)
        chances = np.exp(unit * (totals - totals.max(axis=1, keepdims=True)))
        return np.asarray(chances @ _pairwise_f1(members))

    def in_points(self, unit: float) -> Decision:
        """Return the same decision for sums of whole points worth `unit` each."""
        cuts = [cut / unit for cut in self.cuts]
        if not self.uses_sets:  # a sum of points is a whole number, so its cut may be one too
            cuts = [float(ceil(cut - 1e-9)) for cut in cuts]
        return Decision(self.kind, tuple(cuts), self.label_sets)


def membership(label_sets: Sequence[Iterable[int]], labels: int) -> Labels:
    """Label sets as rows of 0 and 1."""
    members = np.zeros((len(label_sets), labels), dtype=np.uint8)
    for row, labels_of in enumerate(label_sets):
        members[row, list(labels_of)] = 1
    return members


def _pairwise_f1(members: Labels) -> Matrix:
    wide = members.astype(np.float64)
    size = wide.sum(axis=1)
    total = size[:, None] + size[None, :]
    return np.asarray(np.divide(2 * wide @ wide.T, total, out=np.ones_like(total), where=total > 0))


def seen_label_sets(truth: Labels) -> tuple[tuple[int, ...], ...]:
    """Label sets of the training examples, the commonest first, then in label order; at most the 1,000 commonest.

    Examples
    --------
    >>> seen_label_sets(np.array([[1, 0], [0, 1], [0, 1], [0, 0]], dtype=np.uint8))
    ((1,), (0,), ())
    """
    sets, counts = np.unique(truth, axis=0, return_counts=True)
    order = sorted(range(len(sets)), key=lambda k: (-counts[k], tuple(1 - sets[k])))[:_MOST_SETS]
    return tuple(tuple(int(label) for label in np.flatnonzero(sets[k])) for k in order)


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
    truth: Labels
    weights: Matrix
    fold: npt.NDArray[np.int64]

    def of(self, rows: npt.NDArray[np.bool_]) -> Evidence:
        """Return the evidence of some examples."""
        return Evidence(self.scores[rows], self.truth[rows], self.weights[rows], self.fold[rows])


def choose(evidence: Evidence, kind: str, optimize: str, *, by_hand: bool = False) -> tuple[Decision, dict[str, float]]:
    """Tune a decision, or the best of all kinds where `kind` is "auto".

    A kind later in the list "threshold", "subset", "per-label", "expected-f1" is harder to follow, so it must be
    clearly better than those before it. Kinds are compared fairly: each is tuned on all folds but one and judged on
    that one, in turn, because a threshold per label always looks better than one for all on the examples it was tuned
    on.

    Parameters
    ----------
    evidence : Evidence
    kind, optimize : str
    by_hand : bool
        Whether "auto" leaves out the decisions that nobody makes with pencil and paper: those among label sets.

    Returns
    -------
    decision : Decision
        Tuned on all the evidence.
    merits : dict
        What each kind that was tried reached for the measure `optimize`.
    """
    if optimize not in MEASURES:
        raise OptionError(f"optimize must be one of {', '.join(MEASURES)}, not {optimize!r}")
    if kind != "auto" and kind not in KINDS:
        raise OptionError(f"decision must be 'auto' or one of {', '.join(KINDS)}, not {kind!r}")
    tried = [k for k in KINDS if kind == k or (kind == "auto" and not (by_hand and k in ("subset", "expected-f1")))]
    merits: dict[str, float] = {}
    for candidate in tried:
        predicted = np.zeros_like(evidence.truth)
        for fold in np.unique(evidence.fold):
            held = evidence.fold == fold
            others = evidence.of(~held) if not held.all() else evidence
            predicted[held] = tune(others, candidate, optimize).labels(evidence.scores[held])
        merits[candidate] = MEASURES[optimize](evidence.truth, predicted, evidence.weights)
    # A difference of about half its standard error is taken for luck.
    clearly = 0.1 / np.sqrt(max(1.0, evidence.weights.sum()))
    best = tried[0]
    for candidate in tried[1:]:
        if merits[candidate] > merits[best] + clearly:
            best = candidate
    return tune(evidence, best, optimize), merits


def tune(evidence: Evidence, kind: DecisionKind, optimize: str) -> Decision:
    """Find the thresholds, or collect the label sets, of one kind of decision."""
    labels = evidence.truth.shape[1]
    if kind == "expected-f1":
        return Decision(kind, (), seen_label_sets(evidence.truth))
    if kind == "subset":
        sets = seen_label_sets(evidence.truth)
        return Decision(kind, (_set_cut(evidence, sets, optimize),) * labels, sets)
    shared = _shared_cut(evidence, optimize)
    if kind == "threshold":
        return Decision(kind, (shared,) * labels)
    return Decision(kind, tuple(_label_cut(evidence, label, shared, optimize) for label in range(labels)))


def _shared_cut(evidence: Evidence, optimize: str) -> float:
    measure = MEASURES[optimize]
    reached = [measure(evidence.truth, (evidence.scores >= cut).view(np.uint8), evidence.weights) for cut in _GRID]
    return float(_GRID[_best(np.array(reached))])


def _set_cut(evidence: Evidence, label_sets: tuple[tuple[int, ...], ...], optimize: str) -> float:
    """Best shared cut where whole label sets are chosen; a lower one favours larger sets."""
    members = membership(label_sets, evidence.truth.shape[1])
    every = max(1, len(evidence.truth) * len(members) // _LARGEST_TUNED)
    rows = np.arange(0, len(evidence.truth), every)
    totals = evidence.scores[rows] @ members.T.astype(np.float64)
    sizes = members.sum(axis=1, dtype=np.float64)
    measure, truth, weights = MEASURES[optimize], evidence.truth[rows], evidence.weights[rows]
    reached = [measure(truth, members[np.argmax(totals - cut * sizes, axis=1)], weights) for cut in _GRID]
    return float(_GRID[_best(np.array(reached))])


def _label_cut(evidence: Evidence, label: int, shared: float, optimize: str) -> float:
    """Best threshold of one label by itself; the shared one where the label never occurs."""
    one = Evidence(evidence.scores[:, [label]], evidence.truth[:, [label]], evidence.weights, evidence.fold)
    if not one.truth.any():
        return shared
    return _shared_cut(one, "hamming" if optimize in ("hamming", "subset") else "micro-f1")


def _best(reached: npt.NDArray[np.float64]) -> int:
    """Place of the largest value after smoothing, since a lone peak is luck; of equals the one nearest 0.5."""
    width = 2 * _SMOOTHING + 1
    padded = np.pad(reached, _SMOOTHING, mode="edge")
    smooth = np.convolve(padded, np.full(width, 1 / width), mode="valid")
    best = np.flatnonzero(smooth >= smooth.max() - 1e-12)
    return int(best[np.argmin(np.abs(_GRID[best]))])


def chance(cut: float, unit: float = 1.0) -> float:
    """Probability that a cut stands for."""
    return float(expit(unit * cut))
