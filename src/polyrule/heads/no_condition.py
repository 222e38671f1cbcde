"""Objectives for which a longer body is never better, so that a rule without conditions is best (fact I).

An example-wise average over the labels of the head gives an example that the rule does not cover a value of its own. If
that value is 0 and no value is negative, each example that a condition excludes can only take something away.
"""

from __future__ import annotations

from collections.abc import Callable

from polyrule.heads.branch_and_bound import BranchAndBound
from polyrule.heads.valuation import Valuation, valuation
from polyrule.heads.world import HeadResult, HeadSpace, Rank, World, rank
from polyrule.measures.definition import Head
from polyrule.measures.objective import Objective
from polyrule.measures.ratio import RatioMeasure


def excluding_never_helps(objective: Objective) -> bool:
    """Whether no head is worth more, or right more often, after a condition has been added to its body.

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
    world: World, objective: Objective, found: HeadResult, watch: Callable[[], None] | None = None
) -> bool:
    """Whether no longer body can beat the best head `found` of a body in a `world`.

    Its value cannot be beaten. A tie is decided by true positives, and among the best heads of one body the largest is
    taken; so another one that is right more often must be ruled out.

    >>> from polyrule.heads import search
    >>> world, objective = World.from_text(covered="110 110 011"), Objective("f1", averaging="example")
    >>> no_condition_wins(world, objective, search(world, objective))
    True
    """
    if not excluding_never_helps(objective):
        return False
    if found.strategy == "decomposable":
        return True  # best heads are made of the best literals, which are right equally often; the largest has them all
    values = valuation(world, objective)
    values.watch = watch
    return not _MoreRight(HeadSpace.of(world, objective), values, rank(found.value, found.head, found.tp)).exists()


class _MoreRight(BranchAndBound):
    """Looks for a head as good as the best that has more true positives."""

    def __init__(self, space: HeadSpace, values: Valuation, best: Rank) -> None:
        self.known = best
        self.more_right = False
        super().__init__(space, values)

    def exists(self) -> bool:
        """Search until one is found."""
        self._branch((), 0, 0)
        return self.more_right

    def _try(self, head: Head) -> Rank:
        ranked = super()._try(head)
        self.more_right = self.more_right or (ranked[0] >= self.known[0] and ranked[2] > self.known[2])
        return ranked

    def _hopeless(self, head: Head, depth: int, tp: int) -> bool:
        if self.more_right or tp + self.tp_left[depth] <= self.known[2]:
            return True
        if self.bounds is None:
            return False
        most = min(self.space.max_size, len(head) + len(self.labels) - depth)
        return self.bounds.limit(head, depth, most, self.known[0]) < self.known[0]
