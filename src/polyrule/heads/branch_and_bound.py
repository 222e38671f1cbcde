"""Branch and bound: exact for every objective, and fast where a bound on everything below a head is tight.

Labels are decided one after the other: left out, or in the head with one of their literals. `Bounds` limits what the
best head below such a decision could reach; where that is worse than the best head found so far, the branch is cut
off. A bound is about heads that add j >= 1 of the labels still open to the literals already chosen. It is taken for
every j, because a head of known size is bounded much better, and because a lift depends on the size.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from polyrule.errors import OptionError
from polyrule.heads.correlations import Branches, Literals, formula_of_sums
from polyrule.heads.example_bounds import ExampleBounds
from polyrule.heads.problem import HeadSpace, Rank, SearchRecord, rank
from polyrule.heads.single_literals import label_sets
from polyrule.heads.valuation import (
    ExampleValuation,
    LabelValuation,
    MicroValuation,
    SubsetValuation,
    Valuation,
)
from polyrule.measures.base import Counts
from polyrule.measures.definition import Head

LARGEST_UNBOUNDED = 2_000_000


class BranchAndBound:
    """One run of the search."""

    def __init__(self, space: HeadSpace, valuation: Valuation) -> None:
        self.space = space
        self.valuation = valuation
        self.record = SearchRecord()
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

    def run(self) -> SearchRecord:
        """Search the whole space."""
        self._branch((), 0, 0)
        return self.record

    def _try(self, head: Head) -> Rank:
        """Evaluate a head unless it has been."""
        value, _ = self.record.seen.get(head, (None, ""))
        if value is None:
            return self.record.note(head, self.valuation.rank(head))
        return rank(value, head, self.valuation.tp(head))

    def _branch(self, head: Head, depth: int, tp: int) -> None:
        if depth == len(self.labels) or len(head) == self.space.max_size:
            return
        if self._hopeless(head, depth, tp):
            if head:
                self.record.seen[head] = self.record.seen[head][0], "pruned"
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
        """Return True if no head with at least one more of the labels from `depth` on beats the best."""
        best = self.record.rank
        assert best is not None
        if self.bounds is None:
            return False
        max_size = min(self.space.max_size, len(head) + len(self.labels) - depth)
        limit = self.bounds.limit(head, depth, max_size, best[0])
        return (limit, max_size, tp + self.tp_left[depth]) < best[:3]


def search_bound(space: HeadSpace, valuation: Valuation) -> SearchRecord:
    """Search the whole space but what cannot hold the best head."""
    return BranchAndBound(space, valuation).run()


class Bounds(Protocol):
    """Bounds for one problem, objective and order of labels."""

    def limit(self, head: Head, depth: int, max_size: int, target: Fraction | float) -> Fraction | float:
        """Bound every head that adds at least one label from ``labels[depth:]`` and has at most `max_size` labels.

        A float is a bound, too, rounding included. Once the bound is known not to be below `target` it may be loose.
        """


def bounds_for(valuation: Valuation, space: HeadSpace, labels: list[int]) -> Bounds | None:
    """Return the bounds that fit the objective, or None if nothing is known."""
    if isinstance(valuation, SubsetValuation):
        return SubsetBounds(valuation, space, labels) if valuation.has_sets else None
    if isinstance(valuation, LabelValuation):
        return LabelBounds(valuation, space, labels)
    if isinstance(valuation, MicroValuation):
        if not valuation.objective.measure.has_bound:
            return None
        plain = MicroBounds(valuation, space, labels)
        formula = formula_of_sums(valuation)
        return plain if formula in (None, "m_estimate") else CorrelationBounds(plain, str(formula), space)
    assert isinstance(valuation, ExampleValuation)
    if valuation.problem.has_unknown:
        return None  # an added label moves every count of an example that knows it, and none of one that does not
    return ExampleBounds(valuation, space, labels)


class MicroBounds:
    """Each of the four counts lies between its smallest and its largest sum over j of the open labels."""

    def __init__(self, valuation: MicroValuation, space: HeadSpace, labels: list[int]) -> None:
        self.valuation = valuation
        self.labels = labels
        options = [[valuation.delta[literal] for literal in space.choices[label]] for label in labels]
        self.low = [_prefix_sums(options[depth:], minimum=True) for depth in range(len(labels))]
        self.high = [_prefix_sums(options[depth:], minimum=False) for depth in range(len(labels))]

    def limit(self, head: Head, depth: int, max_size: int, target: Fraction | float) -> Fraction:
        """Take the largest bound over j."""
        counts = self.valuation.counts(head)
        measure = self.valuation.objective.measure
        best: Fraction | None = None
        for j in range(1, max_size - len(head) + 1):
            low, high = _plus(counts, self.low[depth][j]), _plus(counts, self.high[depth][j])
            bound = measure.upper_bound(low, high)
            assert bound is not None
            bound *= self.valuation.rho(len(head) + j)
            best = bound if best is None else max(best, bound)
            if best > target:
                return best
        assert best is not None
        return best


class CorrelationBounds:
    """Rules out branches by gains that are convex in what is covered, then by the counts as for any measure."""

    def __init__(self, plain: MicroBounds, formula: str, space: HeadSpace) -> None:
        self.plain = plain
        self.branches = Branches(formula, Literals(plain.valuation, space))

    def limit(self, head: Head, depth: int, max_size: int, target: Fraction | float) -> Fraction | float:
        """Answer with something below the target where the branch cannot reach it."""
        if target >= 0 and not self.branches.may_reach(float(target), list(head), self.plain.labels[depth:]):
            return float(target) - 1.0
        return self.plain.limit(head, depth, max_size, target)


class LabelBounds:
    """Label values are independent, so the j largest gains are a bound that is reached."""

    def __init__(self, valuation: LabelValuation, space: HeadSpace, labels: list[int]) -> None:
        self.valuation = valuation
        outside = valuation.outside
        best = [
            max(valuation.single[s] - (outside[label] if outside else 0) for s in space.choices[label])
            for label in labels
        ]
        self.sums: list[list[Fraction]] = []
        for depth in range(len(labels)):
            sums = [Fraction(0)]
            for gain in sorted(best[depth:], reverse=True):
                sums.append(sums[-1] + gain)
            self.sums.append(sums)

    def limit(self, head: Head, depth: int, max_size: int, target: Fraction | float) -> Fraction:
        """Take the largest over j of the mean with the j largest gains."""
        v = self.valuation
        if v.outside is None:
            total = sum((v.single[s] for s in head), Fraction(0))
        else:
            total = sum((v.single[s] - v.outside[s[0]] for s in head), v.total_outside)
        limits = []
        for j in range(1, max_size - len(head) + 1):
            size = len(head) + j
            mean = (total + self.sums[depth][j]) / (size if v.outside is None else v.problem.n_labels)
            limits.append(mean * v.rho(size))
        # Averages of roots are rounded to 128 places; one step covers that.
        return max(limits) + (Fraction(1, 1 << 100) if v.objective.measure.rounded else 0)


class SubsetBounds:
    """Examples already wrong stay wrong; with scope ``all`` or ``full`` the right ones share one label set."""

    def __init__(self, valuation: SubsetValuation, space: HeadSpace, labels: list[int]) -> None:
        self.valuation = valuation
        self.space = space
        self.labels = labels
        self.total = valuation.problem.total_weight
        self.open_scope = valuation.objective.scope == "head"
        usable = set(space.choices)
        self.hopeless = valuation.everyone  # examples not ruled out by labels that can never be in a head
        if not self.open_scope:
            for label, absent in enumerate(valuation.absent):
                if label not in usable:
                    self.hopeless &= absent
        # With scope all or full, a head gets covered examples of one label set right, next to uncovered ones.
        outside = valuation.everyone & ~sum(label_sets(valuation).values())
        self.groups = [group | outside for group in label_sets(valuation).values()] or [outside]

    def _alive(self, head: Head, depth: int) -> int:
        v = self.valuation
        alive = self.hopeless
        for literal in head:
            alive &= v.right[literal]
        if not self.open_scope:
            predicted = {label for label, _ in head}
            for label in self.labels[:depth]:
                if label not in predicted:
                    alive &= v.absent[label]
        return alive

    def limit(self, head: Head, depth: int, max_size: int, target: Fraction | float) -> Fraction:
        """Bound the weight of the examples that can still be right, per number of labels added."""
        v = self.valuation
        alive = self._alive(head, depth)
        sizes = range(len(head) + 1, max_size + 1)
        if not self.open_scope:
            weight = max((v.weight(alive & group) for group in self.groups), default=0)
            return Fraction(weight, self.total) * max(v.rho(size) for size in sizes)
        # A head with j more labels is right on no more examples than its j-th best label alone.
        left = sorted(
            (max(v.weight(alive & v.right[s]) for s in self.space.choices[x]) for x in self.labels[depth:]),
            reverse=True,
        )
        return max(Fraction(left[j], self.total) * v.rho(size) for j, size in enumerate(sizes))


def _prefix_sums(options: list[list[Counts]], minimum: bool) -> list[Counts]:
    """Return, for j = 0, 1, …, the smallest or largest sum of each count over j of the labels."""
    pick = min if minimum else max
    columns = [sorted((pick(d[c] for d in option) for option in options), reverse=not minimum) for c in range(4)]
    sums: list[Counts] = [(0, 0, 0, 0)]
    for row in zip(*columns, strict=True):
        sums.append(_plus(sums[-1], row))
    return sums


def _plus(left: Counts, right: Counts) -> Counts:
    return left[0] + right[0], left[1] + right[1], left[2] + right[2], left[3] + right[3]
