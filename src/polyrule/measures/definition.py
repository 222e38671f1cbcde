"""The definition of a head's value, cell by cell: slow, obvious, and what everything else is tested against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from polyrule.measures.association import round_average
from polyrule.measures.base import Counts, Measure, SubsetAccuracy
from polyrule.utils.arrays import Ints

LabelValue = tuple[int, int]
"""What a head says about one label: its index, and 0 or 1."""

Head = tuple[LabelValue, ...]
UNSET = -1
NOTHING: Counts = (0, 0, 0, 0)
TP, FP, TN, FN = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
#: Number of outcomes of cells: truth absent or present, label unset or set by an earlier rule (0 to 3: present + 2 ·
#: set). A cell whose truth is unknown would be a fifth kind that is counted nowhere.
N_OUTCOMES = 4


def cell(truth: int, covered: bool, assigned: int, literal: int | None, scope: str) -> Counts:
    """Return the count of one label of one example as (TP, FP, TN, FN).

    `truth` is 2 where it is unknown, `assigned` what an earlier rule set the label to (-1 is unset), and `literal`
    the value in the head (None: not in it).

    Examples
    --------
    >>> cell(truth=0, covered=True, assigned=-1, literal=0, scope="head")  # right, also for ``label = 0``
    (1, 0, 0, 0)
    >>> cell(truth=1, covered=True, assigned=0, literal=1, scope="head")  # set before: counts nowhere
    (0, 0, 0, 0)
    >>> cell(truth=1, covered=True, assigned=-1, literal=None, scope="all")  # not predicted
    (0, 0, 0, 1)
    >>> cell(truth=1, covered=True, assigned=-1, literal=None, scope="full")  # predicted absent
    (0, 1, 0, 0)
    """
    if truth not in (0, 1):  # unknown: neither right nor wrong
        return NOTHING
    if literal is None:
        if scope == "head":
            return NOTHING
        if scope == "all":
            return FN if truth else TN
        literal = 0
    if not covered:
        return FN if truth else TN
    if assigned != UNSET:
        return NOTHING
    return TP if truth == literal else FP


def cells(truth: Any, covered: Any, is_set: Any, scope: str) -> Ints:
    """Return the counts of cells of tables (…, examples, labels) by prediction: (…, examples, labels, 3, 4).

    It may say nothing, that the label is absent, or that it is present, in this order.
    """
    predictions = (None, 0, 1)
    table = np.array(
        [
            [[[cell(t, bool(c), a, s, scope) for s in predictions] for a in (UNSET, 0)] for c in (0, 1)]
            for t in (0, 1, 2)
        ]
    )
    return np.asarray(table[truth, covered[..., None].astype(np.int8), is_set.astype(np.int8)])


def weights_by_outcome(truth: Any, assigned: Any, weights: Any) -> Ints:
    """Return the weight of cells (examples, labels) in the place of their outcome: (examples, labels, N_OUTCOMES).

    >>> weights_by_outcome(np.array([[1, 0, 2]]), np.array([[-1, 1, -1]]), np.array([5])).tolist()
    [[[0, 5, 0, 0], [0, 0, 5, 0], [0, 0, 0, 0]]]
    """
    is_set = assigned != UNSET
    outcomes = [(truth == value) & (is_set == state) for state in (False, True) for value in (0, 1)]
    return np.asarray(np.stack(outcomes, axis=-1) * weights[:, None, None])


def weights_by_truth(outcomes: Ints) -> Ints:
    """Sum weights by outcome over whether the label is set: (…, N_OUTCOMES) becomes (…, absent or present)."""
    return np.asarray(outcomes[..., :2] + outcomes[..., 2:])


@dataclass(frozen=True, slots=True, eq=False)
class LabelCounts:
    """Integer counts per label; `tp` and `fp` have a column per literal (``label = 0``, ``label = 1``).

    `fn` and `tn` are over uncovered examples. `covered_present` and `covered_absent` are over all covered examples,
    set or not: what a label outside the head contributes with scope ``all``. Counts of many bodies have more axes
    before that of the labels.

    Examples
    --------
    >>> from polyrule.heads import HeadProblem
    >>> counts = HeadProblem.from_text(covered="110 100", uncovered="010").counts
    >>> counts.tp[:, 1].tolist(), counts.fn.tolist()
    ([2, 1, 0], [0, 1, 0])
    """

    tp: Ints
    fp: Ints
    fn: Ints
    tn: Ints
    covered_present: Ints
    covered_absent: Ints

    @classmethod
    def of(cls, outcomes: Ints, total: Ints) -> LabelCounts:
        """Return the counts from the weight of what is covered, by outcome, and of all examples, by truth.

        Shapes are (…, labels, N_OUTCOMES) and (…, labels, absent or present).
        """
        unset, covered = outcomes[..., :2], weights_by_truth(outcomes)
        uncovered = total - covered
        covers = covered[..., 1], covered[..., 0]
        return cls(unset, unset[..., ::-1], uncovered[..., 1], uncovered[..., 0], *covers)

    def literals(self) -> Ints:
        """Return (TP, FP, TN, FN) of all literals: (4, …, labels, 2)."""
        tn, fn = (np.broadcast_to(count[..., None], self.tp.shape) for count in (self.tn, self.fn))
        return np.stack([self.tp, self.fp, tn, fn])

    def by_prediction(self, scope: str) -> Ints:
        """Return `cells` summed over the examples: (…, labels, 3, 4)."""
        says = self.literals()
        silent = says[..., :1] if scope == "full" else np.zeros_like(says[..., :1])
        if scope == "all":
            silent[2:, ..., 0] = self.tn + self.covered_absent, self.fn + self.covered_present
        return np.moveaxis(np.concatenate([silent, says], axis=-1), 0, -1)


def head_value(
    measure: Measure,
    averaging: str,
    scope: str,
    truth: Any,
    covered: Sequence[bool],
    assigned: Any,
    weights: Sequence[int],
    head: Head,
) -> Fraction:
    """Return the value of a head by the definition.

    `truth` and `assigned` are tables indexed [example][label]; only examples of the working set are in them.
    """
    predicted = dict(head)
    width = len(truth[0]) if len(truth) else 0
    labels = sorted(predicted) if scope == "head" else range(width)
    rows = range(len(truth))

    def count(example: int, label: int, scope: str = scope) -> Counts:
        true_value, is_set = int(truth[example][label]), int(assigned[example][label])
        return cell(true_value, bool(covered[example]), is_set, predicted.get(label), scope)

    if isinstance(measure, SubsetAccuracy):  # labels outside the head must be absent, whatever the scope calls that
        right = ([truth[e][k] not in (0, 1) or count(e, k, "all") in (TP, TN) for k in labels] for e in rows)
        return _mean((int(all(cells)), int(weights[e])) for e, cells in zip(rows, right, strict=True))
    if averaging == "micro":
        return measure.value(*_total((count(e, k), int(weights[e])) for e in rows for k in labels))
    if averaging == "label":
        average = _mean((measure.value(*_total((count(e, k), int(weights[e])) for e in rows)), 1) for k in labels)
    elif averaging == "example":
        average = _mean((measure.value(*_total((count(e, k), 1) for k in labels)), int(weights[e])) for e in rows)
    else:
        average = _mean((measure.value(*count(e, k)), int(weights[e])) for e in rows for k in labels)
    return round_average(average) if measure.rounded else average


def _total(weighted: Iterable[tuple[Counts, int]]) -> Counts:
    tp = fp = tn = fn = 0
    for counts, weight in weighted:
        tp += counts[0] * weight
        fp += counts[1] * weight
        tn += counts[2] * weight
        fn += counts[3] * weight
    return tp, fp, tn, fn


def _mean(weighted: Iterable[tuple[Fraction | int, int]]) -> Fraction:
    top, bottom = Fraction(0), 0
    for value, weight in weighted:
        top += value * weight
        bottom += weight
    return top / bottom if bottom else Fraction(0)
