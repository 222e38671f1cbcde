"""From scores to labels: one threshold, a threshold per label, or the best of the label sets seen in training.

Scores are log-odds, so for independent labels the probability of a label set S is proportional to the exponential of
its labels' scores added up. Restricting S to sets seen in training, and a bonus for those that are commoner than their
labels one by one would make them, is what brings label dependencies in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal, get_args

import numpy as np
from scipy.special import expit

from polyrule.errors import ModelError
from polyrule.relations import Plan
from polyrule.utils.arrays import Bytes, Floats, Ints, Matrix

DecisionKind = Literal["threshold", "subset", "per-label", "expected-f1"]
KINDS: tuple[DecisionKind, ...] = get_args(DecisionKind)
SET_KINDS = ("subset", "expected-f1")
"""Those that choose whole label sets."""

_MOST_SETS = 1000
_DOUBTS = 3.0  # examples
AS_GOOD = 1 - 1e-9
"""Share of the largest expected F1 that counts as equal to it, here and in exported code."""


@dataclass(frozen=True)
class Decision:
    """Decision that turns scores into labels.

    Parameters
    ----------
    kind : {"threshold", "per-label", "subset", "expected-f1"}
        `threshold` and `per-label`: a label is present if its score is at least its cut. `subset`: the label set whose
        labels exceed their cuts by most, all differences and the set's bonus added up; with cuts of 0 and no bonuses it
        is the most probable set, were labels independent.
        `expected-f1`: the label set with the largest expected F1 (per example).
    cuts : tuple of float
        Per label; unused and empty for `expected-f1`.
    label_sets : tuple of tuples of int
        The sets to choose from, for the two set decisions; the commonest first, and the first of equals wins.
    bonuses : tuple of float
        Per label set, what its sum starts with: more for sets that are commoner than their labels one by one would
        make them. Empty for none.

    Examples
    --------
    A label is present from a score of 0.5 upwards:

    >>> Decision("threshold", cuts=(0.5, 0.5)).labels(np.array([[0.2, 1.0]]), 1.0).tolist()
    [[0, 1]]
    """

    kind: DecisionKind
    cuts: tuple[float, ...] = ()
    label_sets: tuple[tuple[int, ...], ...] = ()
    bonuses: tuple[float, ...] = ()

    @property
    def uses_sets(self) -> bool:
        """True if whole label sets are chosen."""
        return self.kind in SET_KINDS

    def every_cut(self, labels: int) -> tuple[float, ...]:
        """The cut of each label; zeros where there are none."""
        return self.cuts or (0.0,) * labels

    @property
    def every_bonus(self) -> tuple[float, ...]:
        """Start of the sum of each label set; zeros if there are no bonuses."""
        return self.bonuses or (0.0,) * len(self.label_sets)

    def labels(self, scores: Matrix, unit: float | tuple[float, ...] = 1.0) -> Bytes:
        """Decide for every row of `scores`; `unit` turns them into log-odds, one for all labels if it chooses sets."""
        if not self.uses_sets:
            return (scores >= np.array(self.cuts)).astype(np.uint8)
        sets = LabelSets.of(self.label_sets, scores.shape[1])
        best_sets = np.empty(len(scores), dtype=np.int64)
        # Blocks bound the memory that examples times label sets would take.
        step = max(1, 1_000_000 // max(1, len(sets.members)))
        for start in range(0, len(scores), step):
            block = slice(start, start + step)
            beyond = scores[block] - np.array(self.cuts) if self.cuts else scores[block]
            totals = sets.totals(beyond, np.array(self.every_bonus))
            best_sets[block] = (
                np.argmax(totals, axis=1) if self.kind == "subset" else sets.best_f1(totals, float(np.asarray(unit)))
            )
        return np.asarray(sets.members[best_sets])

    def only_allowed(self, plan: Plan) -> Decision:
        """Return the decision among label sets that break no relation; the same if it does not choose label sets."""
        if not self.uses_sets:
            return self
        width = len(plan.above)
        members = membership(self.label_sets, width)
        allowed = np.flatnonzero((plan.decide(np.where(members == 1, 1.0, -1.0)) == members).all(axis=1)).tolist()
        if not allowed:
            raise ModelError("the model chooses among label sets, and each of them breaks a relation")
        if len(allowed) == len(members):
            return self
        sets = tuple(self.label_sets[k] for k in allowed)
        return replace(self, label_sets=sets, bonuses=tuple(self.bonuses[k] for k in allowed) if self.bonuses else ())

    def check_unit(self, unit: float | Sequence[float]) -> None:
        """Refuse label sets if the log-odds of a point differ by label."""
        if self.uses_sets and np.ndim(unit):
            raise ModelError(
                f"decision {self.kind!r} compares labels, but their points are worth different amounts; learn"
                f" the scorecard with decision={self.kind!r}"
            )

    def in_points(self, unit: float | Sequence[float]) -> Decision:
        """Return the decision for sums of whole points of `unit` log-odds each, one value or one per label."""
        self.check_unit(unit)
        if self.uses_sets:
            log_odds = float(np.asarray(unit))
            cuts, bonuses = (tuple(number / log_odds for number in numbers) for numbers in (self.cuts, self.bonuses))
            return Decision(self.kind, cuts, self.label_sets, bonuses)
        # a sum of points is a whole number, so its cut may be one too
        whole = tuple(np.ceil(np.array(self.cuts) / np.asarray(unit) - 1e-9).tolist())
        return Decision(self.kind if len(set(whole)) <= 1 else "per-label", whole)


def membership(label_sets: Sequence[Iterable[int]], labels: int) -> Bytes:
    """Label sets as rows of 0 and 1."""
    members = np.zeros((len(label_sets), labels), dtype=np.uint8)
    for row, labels_of in enumerate(label_sets):
        members[row, list(labels_of)] = 1
    return members


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Label sets as arrays."""

    members: Bytes  # shape (sets, labels)
    sizes: Ints  # labels per set

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, label_sets: tuple[tuple[int, ...], ...], labels: int) -> LabelSets:
        """Return the sets as arrays; those last asked for are kept, for a model asks for its own again and again."""
        members = membership(label_sets, labels)
        return cls(members, members.sum(axis=1, dtype=np.int64))

    @cached_property
    def _columns(self) -> list[tuple[Ints, Ints]]:
        """Per place, the sets that have a label there, and that label; labels ascend within a set."""
        sets, labels = np.nonzero(self.members)
        place = np.arange(len(sets)) - np.repeat(np.cumsum(self.sizes) - self.sizes, self.sizes)
        return [(sets[place == k], labels[place == k]) for k in range(self.sizes.max(initial=0))]

    def totals(self, beyond: Matrix, bonuses: Floats) -> Matrix:
        """Per row and set, its bonus and what its labels have, added one after the other as exported code adds."""
        columns = np.ascontiguousarray(beyond.T)  # whole columns are copied far quicker than places of rows
        totals = np.repeat(bonuses[:, None], len(beyond), axis=1)
        for sets, labels in self._columns:
            totals[sets] += columns[labels]
        return np.ascontiguousarray(totals.T)

    def best_f1(self, totals: Matrix, unit: float) -> Ints:
        """Per row, the first set whose expected F1 is as large as any, where sets are as likely as their totals say.

        The expected F1 of a set S is the sum over its labels k and all sizes n of 2/(|S| + n) times the probability of
        a set of n labels with k among them. Exponentials and long sums are rounded differently from one language and
        processor to the next, so a difference of less than a billionth is none.
        """
        likelihoods = np.exp(unit * (totals - totals.max(axis=1, keepdims=True)))
        with_label = [(size, likelihoods[:, sets] @ members) for size, sets, members in self._by_size]
        expected_f1 = np.empty_like(totals)
        for size, sets, members in self._by_size:
            expected_f1[:, sets] = sum(2 / (size + other) * part for other, part in with_label) @ members.T
        none = self.sizes == 0
        if none.any():  # no label where there is none is right
            expected_f1[:, none] = likelihoods[:, none].sum(axis=1, keepdims=True)
        return np.asarray(np.argmax(expected_f1 >= expected_f1.max(axis=1, keepdims=True) * AS_GOOD, axis=1))

    @cached_property
    def _by_size(self) -> list[tuple[int, Ints, Matrix]]:
        """Per size but 0, which sets have it, and their members."""
        places = [(int(size), np.flatnonzero(self.sizes == size)) for size in np.unique(self.sizes) if size]
        return [(size, sets, self.members[sets].astype(np.float64)) for size, sets in places]


def pairwise_f1(members: Bytes) -> Matrix:
    """F1 of each set where another one is right; that of no label where there is none is 1."""
    wide = members.astype(np.float64)
    size = wide.sum(axis=1)
    total = size[:, None] + size[None, :]
    return np.asarray(np.divide(2 * wide @ wide.T, total, out=np.ones_like(total), where=total > 0))


def seen_label_sets(truth: Bytes) -> tuple[tuple[int, ...], ...]:
    """Label sets of the training examples, the commonest first, then in label order; at most the 1,000 commonest.

    Examples
    --------
    >>> seen_label_sets(np.array([[1, 0], [0, 1], [0, 1], [0, 0]], dtype=np.uint8))
    ((1,), (0,), ())
    """
    sets, counts = np.unique(truth, axis=0, return_counts=True)
    order = sorted(range(len(sets)), key=lambda k: (-counts[k], tuple(1 - sets[k])))[:_MOST_SETS]
    return tuple(tuple(int(label) for label in np.flatnonzero(sets[k])) for k in order)


def dependence(truth: Bytes, label_sets: Sequence[Sequence[int]], weights: Floats) -> Floats:
    """Log-ratio of the count of each set to its count if labels were independent.

    A few examples that support independence are added to both counts, for a set seen once proves little.

    Examples
    --------
    >>> truth = np.array([[1, 1], [1, 1], [0, 0], [0, 0]] * 5, dtype=np.uint8)
    >>> dependence(truth, [(0, 1), (0,)], np.ones(20)).round(2)  # the two labels like to come together
    array([ 0.49, -0.98])
    """
    members = membership(label_sets, truth.shape[1])
    places = {row.tobytes(): place for place, row in enumerate(members)}
    set_places = np.array([places.get(row.tobytes(), -1) for row in truth.astype(np.uint8, copy=False)], dtype=np.int64)
    common = np.bincount(set_places[set_places >= 0], weights=weights[set_places >= 0], minlength=len(members))
    share = (weights @ truth + 0.5) / (weights.sum() + 1)
    inside = members.astype(np.float64)
    expected = weights.sum() * np.exp(inside @ np.log(share) + (1 - inside) @ np.log(1 - share))
    return np.asarray(np.round(np.log((common + _DOUBTS) / (expected + _DOUBTS)), 9))


def probability_at(cut: float, unit: float = 1.0) -> float:
    """Probability that a cut stands for."""
    return float(expit(unit * cut))
