"""What a head search sees (the working set, what the body covers, what earlier rules have set), and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from polyrule.errors import DataError
from polyrule.measures.definition import (
    Head,
    LabelCounts,
    LabelValue,
    head_value,
    weights_by_outcome,
    weights_by_truth,
)
from polyrule.measures.objective import Objective
from polyrule.utils.arrays import Bools, Bytes, Ints, Ints8


@dataclass(frozen=True, eq=False)
class HeadProblem:
    """The examples of the working set as one candidate body splits them.

    Parameters
    ----------
    truth : uint8 array (examples, labels)
        The true labels: 0 is absent, 1 is present, 2 is unknown.
    covered : bool array (examples,)
        Whether the body holds.
    assigned : int8 array (examples, labels)
        What earlier rules have set; -1 is unset.
    weights : int64 array (examples,)
        How often each example counts.
    allowed : bool array (labels, 2)
        ``allowed[label, value]``: whether the literal ``label = value`` may be in the head. It says that negative
        literals are off, that a label is tested in the body, or that only one literal is wanted.

    Examples
    --------
    >>> problem = HeadProblem.from_text(covered="0110 1100 1000", uncovered="0001")
    >>> problem.counts.tp[:, 1]
    array([2, 2, 1, 0])
    """

    truth: Bytes
    covered: Bools
    assigned: Ints8
    weights: Ints
    allowed: Bools

    @classmethod
    def make(
        cls,
        truth: Any,
        covered: Any = None,
        assigned: Any = None,
        weights: Any = None,
        allowed: Any = None,
        negative: bool = True,
    ) -> HeadProblem:
        """Build a problem from anything array-like; by default all is covered, unset, of weight 1 and allowed."""
        matrix = np.asarray(truth)
        if matrix.ndim != 2 or not np.isin(matrix, (0, 1, 2)).all():
            raise DataError("a world needs a table of 0/1 labels, one row per example")
        rows, width = matrix.shape
        may = np.ones((width, 2), bool) if allowed is None else np.array(allowed, bool)
        if not negative:
            may = may.copy()
            may[:, 0] = False
        problem = cls(
            matrix.astype(np.uint8),
            np.ones(rows, bool) if covered is None else np.asarray(covered, bool),
            np.full((rows, width), -1, np.int8) if assigned is None else np.asarray(assigned, np.int8),
            np.ones(rows, np.int64) if weights is None else np.asarray(weights, np.int64),
            may,
        )
        shapes = {"covered": (rows,), "assigned": (rows, width), "weights": (rows,), "allowed": (width, 2)}
        for name, shape in shapes.items():
            if getattr(problem, name).shape != shape:
                raise DataError(f"{name} has shape {getattr(problem, name).shape}, expected {shape}")
        return problem

    @classmethod
    def from_text(cls, covered: str, uncovered: str = "", negative: bool = False) -> HeadProblem:
        """Build a problem from label vectors such as ``"0110 1100"``; commas separate as well as blanks."""
        inside, outside = covered.replace(",", " ").split(), uncovered.replace(",", " ").split()
        rows = [[int(c) for c in vector] for vector in inside + outside]
        return cls.make(rows, [True] * len(inside) + [False] * len(outside), negative=negative)

    @classmethod
    def from_counts(cls, counts: LabelCounts, weight: int, allowed: Bools) -> HeadProblem:
        """Build a problem that only knows its counts, which is all that micro-averages and averages over labels need.

        `weight` is that of the working set.
        """
        nothing = np.zeros((0, len(allowed)), dtype=np.uint8)
        problem = cls(nothing, np.zeros(0, bool), nothing.astype(np.int8), np.zeros(0, np.int64), allowed)
        problem.__dict__.update(counts=counts, total_weight=weight, nothing_set=False)
        return problem

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.truth.shape[1])

    @cached_property
    def total_weight(self) -> int:
        """Weight of all examples."""
        return int(self.weights.sum())

    @cached_property
    def counts(self) -> LabelCounts:
        """Counts per label and literal."""
        outcomes = weights_by_outcome(self.truth, self.assigned, self.weights)
        return LabelCounts.of(outcomes[self.covered].sum(axis=0), weights_by_truth(outcomes.sum(axis=0)))

    @cached_property
    def has_unknown(self) -> bool:
        """True if some label is neither present nor absent."""
        return bool((self.truth > 1).any())

    @cached_property
    def nothing_set(self) -> bool:
        """True if no label of a covered example has been set yet, and none is unknown: all examples count alike."""
        return not self.has_unknown and bool((self.assigned[self.covered & (self.weights > 0)] == -1).all())

    def tp(self, head: Head) -> int:
        """Return the true positives summed over a head."""
        return sum(int(self.counts.tp[label, value]) for label, value in head)

    def literals(self, min_tp: int = 1) -> list[tuple[int, int]]:
        """Return the literals a head may hold, in label order, ``label = 1`` before ``label = 0``."""
        usable = self.allowed & (self.counts.tp >= min_tp)
        return [(label, value) for label in range(self.n_labels) for value in (1, 0) if usable[label, value]]


def evaluate(problem: HeadProblem, objective: Objective, head: Sequence[tuple[int, int]]) -> Fraction:
    """Return the value that `objective` gives a `head` of (label, value) in a `problem`, by the definition, with lift.

    Examples
    --------
    >>> problem = HeadProblem.from_text(covered="01 11 10")
    >>> evaluate(problem, Objective("subset"), [(0, 1), (1, 1)])
    Fraction(1, 3)
    >>> evaluate(problem, Objective("precision"), [(0, 1), (1, 1)])
    Fraction(2, 3)
    """
    literals_of_head: Head = tuple(sorted((int(label), int(value)) for label, value in head))
    if not literals_of_head or len({label for label, _ in literals_of_head}) < len(literals_of_head):
        raise DataError(f"a head needs at least one literal and at most one per label, got {list(head)}")
    value = head_value(
        objective.measure,
        objective.averaging,
        objective.scope,
        problem.truth,
        problem.covered.tolist(),
        problem.assigned,
        problem.weights.tolist(),
        literals_of_head,
    )
    return value if objective.lift.is_none else value * objective.lift.rho(len(literals_of_head), problem.n_labels)


@dataclass(frozen=True, eq=False)
class HeadSpace:
    """All non-empty sets of usable literals with at most one per label and at most `max_size` labels.

    Examples
    --------
    >>> HeadSpace({0: [(0, 1)], 1: [(1, 1), (1, 0)]}, 2).size
    5
    """

    choices: dict[int, list[LabelValue]]  # usable literals of each label that has any, ``label = 1`` first
    max_size: int

    @classmethod
    def of(cls, problem: HeadProblem, objective: Objective, min_tp: int = 1) -> HeadSpace:
        """Collect the usable literals of a problem."""
        choices: dict[int, list[LabelValue]] = {}
        for literal in problem.literals(min_tp):
            if objective.negative or literal[1] == 1:
                choices.setdefault(literal[0], []).append(literal)
        limit = len(choices) if objective.max_head_size is None else min(objective.max_head_size, len(choices))
        return cls(choices, limit)

    @property
    def labels(self) -> list[int]:
        """Labels that have a usable literal, in order."""
        return list(self.choices)

    @property
    def literals(self) -> list[LabelValue]:
        """All usable literals, in label order."""
        return [literal for literals in self.choices.values() for literal in literals]

    @cached_property
    def size(self) -> int:
        """Number of heads."""
        by_size = [1] + [0] * self.max_size
        for literals in self.choices.values():
            for k in range(self.max_size, 0, -1):
                by_size[k] += by_size[k - 1] * len(literals)
        return sum(by_size[1:])


Rank = tuple[Fraction, int, int, tuple[int, ...], tuple[int, ...]]
Seen = dict[Head, tuple[Fraction | None, str]]
"""Values of heads, None where a head was not evaluated, and their `TreeNode.status`."""


@dataclass(eq=False)
class SearchRecord:
    """Best head of a search, number of evaluated heads, and the fate of each head it tried."""

    head: Head = ()
    rank: Rank | None = None
    evaluated: int = 0
    seen: Seen = field(default_factory=dict)

    def note(self, head: Head, ranked: Rank) -> Rank:
        """Take note of a head that has been evaluated."""
        self.evaluated += 1
        self.seen[head] = ranked[0], "evaluated"
        if self.rank is None or ranked > self.rank:
            self.head, self.rank = head, ranked
        return ranked


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One head the search looked at or cut off.

    `head` and `value` are its literals and their value, `children` the heads that add one literal to it. `status`
    is ``evaluated``, ``pruned`` (cut off here: everything below is skipped) or ``best``. A pruned head that
    was never evaluated has no value.

    Examples
    --------
    >>> from polyrule.heads import HeadProblem, search
    >>> from polyrule.measures import Objective
    >>> problem = HeadProblem.from_text(covered="0110 1100 1000")
    >>> found = search(problem, Objective("precision"), "antimonotone-tree", trace=True, min_tp=0)
    >>> [child.head for child in found.trace.children][:2]
    [((0, 1),), ((1, 1),)]
    """

    head: Head
    value: Fraction | None
    status: str
    children: tuple[TreeNode, ...] = ()


@dataclass(frozen=True, slots=True)
class HeadResult:
    """The best head and how it was found.

    Parameters
    ----------
    head : tuple of (label, value)
        In label order.
    value : Fraction
        Its exact value, lift included.
    counts : tuple of (tp, fp)
        Per literal.
    evaluated : int
        Heads whose value was computed.
    pruned : int
        Heads of the search space that were never looked at.
    strategy : str
        The search that found it.
    trace : TreeNode or None
        The search tree, with the empty head as root.

    Examples
    --------
    >>> from polyrule.heads import HeadProblem, search
    >>> from polyrule.measures import Objective
    >>> found = search(HeadProblem.from_text(covered="110 100"), Objective("precision", negative=False))
    >>> found.head, found.value, found.tp
    (((0, 1),), Fraction(1, 1), 2)
    """

    head: Head
    value: Fraction
    counts: tuple[tuple[int, int], ...]
    evaluated: int
    pruned: int
    strategy: str
    trace: TreeNode | None = field(default=None, compare=False)

    @property
    def tp(self) -> int:
        """True positives summed over the head."""
        return sum(tp for tp, _ in self.counts)


def rank(value: Fraction, head: Head, tp: int) -> Rank:
    """Return the key by which heads compare; larger is better.

    Value, then more labels, then more true positives, then the label numbers that come first lexicographically, then
    ``label = 1`` before ``label = 0`` at the first label where two heads differ.
    """
    return value, len(head), tp, tuple(-label for label, _ in head), tuple(value_ for _, value_ in head)
