"""Branch and bound: exact for every objective, and fast where a bound on everything below a head is tight.

Labels are decided one after the other: left out, or in the head with one of their literals. `Bounds` says what the
best head below such a decision could reach; where that is worse than the best head found so far, the branch is cut
off.
"""

from __future__ import annotations

from fractions import Fraction

from polyrule.errors import OptionError
from polyrule.heads.bounds import Bounds, bounds_for
from polyrule.heads.result import Rank, rank
from polyrule.heads.space import HeadSpace
from polyrule.heads.valuation import SubsetValuation, Valuation
from polyrule.measures.definition import Head

Seen = dict[Head, tuple[Fraction | None, str]]
LARGEST_UNBOUNDED = 2_000_000


class BranchAndBound:
    """One run of the search; `run` returns the best head, its rank and what happened to each head it met."""

    def __init__(self, space: HeadSpace, valuation: Valuation) -> None:
        self.space = space
        self.valuation = valuation
        self.seen: Seen = {}
        self.best: tuple[Rank, Head] | None = None
        singles = {literal: self._try((literal,)) for literal in space.literals}
        # Promising labels first: good heads are found early, and bounds below the late labels are cheap and tight.
        self.labels = sorted(space.labels, key=lambda x: (max(singles[s] for s in space.choices[x]), -x), reverse=True)
        self.choices = {x: sorted(space.choices[x], key=lambda s: singles[s], reverse=True) for x in self.labels}
        self.bounds: Bounds | None = bounds_for(valuation, space, self.labels)
        if self.bounds is None and space.size > LARGEST_UNBOUNDED:
            raise OptionError(
                f"no bound is known for {valuation.objective}, and {space.size:.3g} heads are too many to try all; "
                "declare the measure monotone if it is, limit max_head_size, or choose another averaging or scope"
            )
        self.silence_is_absence = (
            valuation.objective.scope == "full"
            and not isinstance(valuation, SubsetValuation)
            and valuation.objective.lift.is_none
            and space.max_size == len(space.labels)
        )
        tps = [max(valuation.tp((s,)) for s in space.choices[x]) for x in self.labels]
        self.tp_left = [0] * (len(tps) + 1)
        for depth in range(len(tps) - 1, -1, -1):
            self.tp_left[depth] = self.tp_left[depth + 1] + tps[depth]

    def run(self) -> tuple[Head, Rank, Seen]:
        """Search the whole space."""
        self._climb()
        self._branch((), 0, 0)
        assert self.best is not None
        return self.best[1], self.best[0], self.seen

    def _try(self, head: Head) -> Rank:
        """Evaluate a head unless it has been, and keep it if it is the best so far."""
        known = self.seen.get(head)
        value = known[0] if known is not None and known[0] is not None else self.valuation.value(head)
        self.seen[head] = value, "evaluated"
        ranked = rank(value, head, self.valuation.tp(head))
        if self.best is None or (ranked, head) > self.best:
            self.best = ranked, head
        return ranked

    def _climb(self) -> None:
        """Add one literal after the other while that helps, so that the search starts with something to beat."""
        while True:
            assert self.best is not None
            _, head = self.best
            if len(head) == self.space.max_size:
                return
            used = {label for label, _ in head}
            for literal in self.space.literals:
                if literal[0] not in used:
                    self._try(tuple(sorted((*head, literal))))
            if self.best[1] == head:
                return

    def _branch(self, head: Head, depth: int, tp: int) -> None:
        if depth == len(self.labels) or len(head) == self.space.max_size:
            return
        if self._hopeless(head, depth, tp):
            if head:
                self.seen[head] = self.seen[head][0], "pruned"
            return
        choices = self.choices[self.labels[depth]]
        for literal in choices:
            grown = tuple(sorted((*head, literal)))
            self._try(grown)
            self._branch(grown, depth + 1, tp + self.valuation.tp((literal,)))
        # With scope full, saying absent changes nothing but the size of the head: leaving the label out is then worse.
        if not (self.silence_is_absence and any(value == 0 for _, value in choices)):
            self._branch(head, depth + 1, tp)

    def _hopeless(self, head: Head, depth: int, tp: int) -> bool:
        """Whether nothing that adds at least one of the labels from `depth` on to the head can beat the best so far."""
        assert self.best is not None
        if self.bounds is None:
            return False
        most = min(self.space.max_size, len(head) + len(self.labels) - depth)
        target = self.best[0]
        limit = self.bounds.limit(head, depth, most, target[0])
        if isinstance(limit, float):
            return limit + 1e-9 * (1 + abs(limit)) < float(target[0])
        return (limit, most, tp + self.tp_left[depth]) < target[:3]


def search_bound(space: HeadSpace, valuation: Valuation) -> tuple[Head, Rank, Seen]:
    """Return the best head, its rank and what happened to each head met."""
    return BranchAndBound(space, valuation).run()
