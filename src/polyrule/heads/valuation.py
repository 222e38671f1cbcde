"""The exact value of many heads of one problem: counts are taken once, a head then costs little.

Four forms, one per way a value comes about; `valuation` chooses. Each must agree with `polyrule.heads.evaluate`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from polyrule.heads.problem import HeadProblem, Rank, rank
from polyrule.measures.association import round_average
from polyrule.measures.base import Counts, SubsetAccuracy
from polyrule.measures.definition import FN, FP, NOTHING, TN, TP, Head, LabelValue, cells
from polyrule.measures.objective import Objective
from polyrule.utils.arrays import Bools, Bytes, Ints


class Valuation(ABC):
    """Gives the exact value of any head of one problem."""

    def __init__(self, problem: HeadProblem, objective: Objective) -> None:
        self.problem = problem
        self.objective = objective
        lift = objective.lift
        #: called before every head; ends a search that takes too long by raising
        self.watch: Callable[[], None] | None = None
        self._rho = None if lift.is_none else [lift.rho(k, problem.n_labels) for k in range(1, problem.n_labels + 1)]

    @abstractmethod
    def plain(self, head: Head) -> Fraction:
        """Return the value without lift."""

    def value(self, head: Head) -> Fraction:
        """Return the value with lift."""
        if self.watch is not None:
            self.watch()
        plain = self.plain(head)
        return plain if self._rho is None else plain * self._rho[len(head) - 1]

    def rho(self, size: int) -> Fraction:
        """Return the head-size factor."""
        return Fraction(1) if self._rho is None else self._rho[size - 1]

    def rank(self, head: Head) -> Rank:
        """Return the key by which a head compares with others."""
        return rank(self.value(head), head, self.tp(head))

    def tp(self, head: Head) -> int:
        """Return the true positives summed over the head."""
        return self.problem.tp(head)


class MicroValuation(Valuation):
    """Counts are summed over labels and examples, then measured."""

    def __init__(self, problem: HeadProblem, objective: Objective) -> None:
        super().__init__(problem, objective)
        counts = problem.counts.by_prediction(objective.scope)
        self.base: Counts = tuple(counts[:, 0].sum(axis=0).tolist())
        self.delta: dict[LabelValue, Counts] = {
            (label, value): tuple(change)
            for label, changes in enumerate((counts[:, 1:] - counts[:, :1]).tolist())
            for value, change in enumerate(changes)
        }

    def counts(self, head: Head) -> Counts:
        """Return the summed counts of a head."""
        tp, fp, tn, fn = map(sum, zip(self.base, *(self.delta[literal] for literal in head), strict=True))
        return tp, fp, tn, fn

    def equal_margins(self, literals: list[LabelValue]) -> bool:
        """Return True if all literals predict on the same weight and leave out the same weight."""
        deltas = [self.delta[literal] for literal in literals]
        return len({(d[0] + d[1], d[2] + d[3]) for d in deltas}) == 1

    def plain(self, head: Head) -> Fraction:
        """Return the measure of the summed counts."""
        return self.objective.measure.value(*self.counts(head))


class LabelValuation(Valuation):
    """Each label has one value; the head's value is their mean (averagings ``label`` and ``macro``)."""

    def __init__(self, problem: HeadProblem, objective: Objective) -> None:
        super().__init__(problem, objective)
        counts = problem.counts.by_prediction(objective.scope).tolist()
        self.single: dict[LabelValue, Fraction] = {
            (label, value): self._measured(counts[label][1 + value])
            for label in range(problem.n_labels)
            for value in (0, 1)
        }
        self.outside: list[Fraction] | None = None
        self.total_outside = Fraction(0)
        if objective.scope != "head":
            self.outside = [self._measured(silent) for silent, *_ in counts]
            self.total_outside = sum(self.outside, Fraction(0))

    def _measured(self, counts: list[int]) -> Fraction:
        measure = self.objective.measure
        if self.objective.averaging == "label":
            return measure.value(*counts)
        total = self.problem.total_weight
        if total == 0:
            return Fraction(0)
        cells = zip(counts, (TP, FP, TN, FN), strict=True)
        parts = [weight * measure.value(*cell) for weight, cell in cells if weight]
        return (sum(parts, Fraction(0)) + (total - sum(counts)) * measure.value(*NOTHING)) / total

    def plain(self, head: Head) -> Fraction:
        """Return the mean over the labels of the scope."""
        if self.outside is None:
            mean = sum((self.single[literal] for literal in head), Fraction(0)) / len(head)
        else:
            gained = sum((self.single[literal] - self.outside[literal[0]] for literal in head), self.total_outside)
            mean = gained / self.problem.n_labels
        return round_average(mean) if self.objective.measure.rounded else mean


class ExampleValuation(Valuation):
    """Each example has one value; the head's value is their weighted mean."""

    def __init__(self, problem: HeadProblem, objective: Objective) -> None:
        super().__init__(problem, objective)
        self.weights, self.truth, self.covered, self.is_set = distinct_examples(problem)
        outside, *inside = np.moveaxis(cells(self.truth, self.covered, self.is_set, objective.scope), 2, 0)
        self.base: Ints = outside.sum(axis=1)  # counts of every example under the empty head
        self.change: list[Ints] = [changed - outside for changed in inside]  # by what a literal changes them
        self._values: dict[Counts, Fraction] = {}

    def plain(self, head: Head) -> Fraction:
        """Return the weighted mean over the examples."""
        return self.mean(sum((self.change[value][:, label] for label, value in head), self.base))

    def mean(self, counts: Ints) -> Fraction:
        """Return the weighted mean of the measure over examples with such counts."""
        weight_of: dict[Counts, int] = {}
        for row, weight in zip(map(tuple, counts.tolist()), self.weights, strict=True):
            weight_of[row] = weight_of.get(row, 0) + weight
        for row in weight_of.keys() - self._values.keys():
            self._values[row] = self.objective.measure.value(*row)
        total = sum((self._values[row] * weight for row, weight in weight_of.items()), Fraction(0))
        mean = total / max(self.problem.total_weight, 1)
        return round_average(mean) if self.objective.measure.rounded else mean


class SubsetValuation(Valuation):
    """An example is right or wrong as a whole; sets of examples are bits of an integer."""

    def __init__(self, problem: HeadProblem, objective: Objective) -> None:
        super().__init__(problem, objective)
        self.weights, truth, covered, is_set = distinct_examples(problem)
        self.truth, self.covered = truth, covered
        absent = truth != 1  # an unknown label is never wrong
        unknown = truth > 1
        open_cells = covered[:, None] & ~is_set
        free = ~covered[:, None] & absent
        self.absent = [_bits(absent[:, label]) for label in range(problem.n_labels)]
        self.right: dict[LabelValue, int] = {
            (label, value): _bits(
                (open_cells[:, label] & (truth[:, label] == value)) | free[:, label] | unknown[:, label]
            )
            for label in range(problem.n_labels)
            for value in (0, 1)
        }
        self.everyone = (1 << len(self.weights)) - 1
        #: whether the examples that a head treats rightly are known by their sets: of literals, or of labels that all
        #: of them have, which says nothing of a label that is unknown
        self.has_sets = objective.scope == "head" or not unknown.any()
        self._planes = [
            (weight, _bits(np.array([w == weight for w in self.weights], bool))) for weight in sorted(set(self.weights))
        ]

    def weight(self, examples: int) -> int:
        """Return the weight of a set of examples."""
        return sum(weight * (examples & plane).bit_count() for weight, plane in self._planes)

    def right_examples(self, head: Head) -> int:
        """Return the set of examples that the head treats rightly."""
        examples = self.everyone
        for literal in head:
            examples &= self.right[literal]
        if self.objective.scope != "head":
            predicted = {label for label, _ in head}
            for label, absent in enumerate(self.absent):
                if label not in predicted:
                    examples &= absent
        return examples

    def plain(self, head: Head) -> Fraction:
        """Return the share of right examples."""
        total = self.problem.total_weight
        return Fraction(self.weight(self.right_examples(head)), total) if total else Fraction(0)


def valuation(problem: HeadProblem, objective: Objective) -> Valuation:
    """Return the form that fits the measure and the averaging.

    >>> from polyrule.measures import Objective
    >>> problem = HeadProblem.from_text(covered="0110 1100 1000")
    >>> valuation(problem, Objective("precision")).value(((0, 1), (1, 1)))
    Fraction(2, 3)
    """
    if isinstance(objective.measure, SubsetAccuracy):
        return SubsetValuation(problem, objective)
    if objective.averaging == "micro":
        return MicroValuation(problem, objective)
    return (
        ExampleValuation(problem, objective) if objective.averaging == "example" else LabelValuation(problem, objective)
    )


def distinct_examples(problem: HeadProblem) -> tuple[list[int], Bytes, Bools, Bools]:
    """Merge examples that no head can tell apart; return their weights, truth, coverage and which labels are set."""
    keep = problem.weights > 0
    covered = problem.covered[keep, None]
    # What a label was set to makes no difference, nor whether it is set where the rule does not apply.
    is_set = covered & (problem.assigned[keep] != -1)
    key = np.concatenate([covered, problem.truth[keep], is_set], axis=1).astype(np.int8)
    unique, inverse = np.unique(key, axis=0, return_inverse=True)
    weights = np.zeros(len(unique), np.int64)
    np.add.at(weights, inverse.ravel(), problem.weights[keep])
    n = problem.n_labels
    return weights.tolist(), unique[:, 1 : n + 1].astype(np.uint8), unique[:, 0] == 1, unique[:, n + 1 :] == 1


def _bits(mask: Bools) -> int:
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")
