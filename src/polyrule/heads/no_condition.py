"""Objectives for which a longer body is never better, so that a rule without conditions is best (fact I).

An example-wise average over the labels of the head gives an example that the rule does not cover a value of its own. If
that value is 0 and no value is negative, each example that a condition excludes can only take something away.
"""

from __future__ import annotations

from collections.abc import Callable

from polyrule.heads.branch_and_bound import BranchAndBound
from polyrule.heads.problem import HeadProblem, HeadResult, HeadSpace, Rank, rank
from polyrule.heads.valuation import Valuation, valuation
from polyrule.measures.definition import Head
from polyrule.measures.objective import Objective
from polyrule.measures.ratio import RatioMeasure


def excluding_never_helps(objective: Objective) -> bool:
    """Return True if no head is worth more, or right more often, after a condition has been added to its body.

    Examples
    --------
    >>> [excluding_never_helps(Objective(name, averaging="example")) for name in ("f1", "jaccard", "hamming")]
    [True, True, False]
    >>> excluding_never_helps(Objective("f1"))
    False
    """
    measure = objective.measure
    by_example = objective.averaging == "example" and objective.scope == "head"
    return by_example and isinstance(measure, RatioMeasure) and measure.rewards_tp_only


def no_condition_wins(
    problem: HeadProblem, objective: Objective, best: HeadResult, watch: Callable[[], None] | None = None
) -> bool:
    """Return True if no longer body can beat the best head `best` of a body in a `problem`.

    Its value cannot be beaten. A tie is decided by true positives, and among the best heads of one body the largest is
    taken; so another one that is right more often must be ruled out.

    >>> from polyrule.heads import search
    >>> problem, objective = HeadProblem.from_text(covered="110 110 011"), Objective("f1", averaging="example")
    >>> no_condition_wins(problem, objective, search(problem, objective))
    True
    """
    if not excluding_never_helps(objective):
        return False
    if best.strategy == "decomposable":
        return True  # best heads are made of the best literals, which are right equally often; the largest has them all
    values = valuation(problem, objective)
    values.watch = watch
    return not _MoreRight(HeadSpace.of(problem, objective), values, rank(best.value, best.head, best.tp)).exists()


class _MoreRight(BranchAndBound):
    """Looks for a head as good as the best that has more true positives."""

    def __init__(self, space: HeadSpace, values: Valuation, best: Rank) -> None:
        self.rank_to_beat = best
        self.more_right = False
        super().__init__(space, values)

    def exists(self) -> bool:
        """Search until one is found."""
        self._branch((), 0, 0)
        return self.more_right

    def _try(self, head: Head) -> Rank:
        ranked = super()._try(head)
        self.more_right = self.more_right or (ranked[0] >= self.rank_to_beat[0] and ranked[2] > self.rank_to_beat[2])
        return ranked

    def _hopeless(self, head: Head, depth: int, tp: int) -> bool:
        if self.more_right or tp + self.tp_left[depth] <= self.rank_to_beat[2]:
            return True
        if self.bounds is None:
            return False
        max_size = min(self.space.max_size, len(head) + len(self.labels) - depth)
        return self.bounds.limit(head, depth, max_size, self.rank_to_beat[0]) < self.rank_to_beat[0]
