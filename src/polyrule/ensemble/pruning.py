"""Pruning of a pool: only rules, and entries of heads, remain that the loss would miss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polyrule.binning.code_tests import AnyTest, single_tests
from polyrule.ensemble.boosting import PooledRule, TrainingExamples
from polyrule.ensemble.solver import Solver
from polyrule.utils.arrays import Bools, Bytes, Ints, Matrix
from polyrule.utils.compute import ONE_THREAD, Compute

_MAX_ROUNDS = 12


class RulePruner:
    """Rules with weights fitted to all examples.

    Parameters
    ----------
    rules : sequence of PooledRule
        The first `n_start` are never pruned.
    covers : ndarray of uint8, shape (rows, 1 + rules)
    examples : TrainingExamples
    ridge : float
    n_start : int
    compute : Compute
    allowed : ndarray of bool, shape (features, labels), or None
        Features that rules for a label may test.
    """

    def __init__(
        self,
        rules: Sequence[PooledRule],
        covers: Bytes,
        examples: TrainingExamples,
        ridge: float,
        n_start: int,
        compute: Compute = ONE_THREAD,
        allowed: Bools | None = None,
    ) -> None:
        self.rules, self.n_start, self._allowed = list(rules), n_start, allowed
        self.solver = Solver(examples.targets, examples.weights, ridge, len(rules), examples.examples, compute)
        for place, rule in enumerate(rules, start=1):
            self.solver.add(np.flatnonzero(covers[:, place]).astype(np.int32), rule.head, rule.sign)
        self.solver.release_gradients()
        if not self.merge_equal():
            self.solver.solve(steps=30)

    @property
    def bodies(self) -> list[tuple[AnyTest, ...]]:
        """Tests of the rules that remain."""
        return [rule.tests for rule in self.rules]

    def merge_equal(self) -> bool:
        """Merge rules that cover the same rows, or one of them just the rows that the other leaves out.

        Either way one of them, the shorter, or of equal length that of fewer rows, can have the labels of both: a
        weight for the other rows is the opposite weight and a part of the intercept. For the same reason a rule that
        covers all rows goes. Returns True if a rule went.
        """
        covers, solver = self.solver.covers[:, 1:] > 0, self.solver
        sizes = covers.sum(axis=0)
        order = sorted(range(self.n_start, len(self.rules)), key=lambda place: (self._length(place), sizes[place]))
        first: dict[bytes, list[int]] = {}
        gone = []
        for place in order:
            head = solver.support[place + 1]
            key = np.packbits(covers[:, place] ^ covers[0, place]).tobytes()
            for other in first.setdefault(key, []):
                side = 1 if covers[0, other] == covers[0, place] else -1
                if self._can_take(other, head, side * self.rules[place].sign):
                    solver.widen(other, head)
                    gone.append(place)
                    break
            else:
                first[key].append(place)
                if covers[:, place].all() or not covers[:, place].any():
                    gone.append(place)
        for place in sorted(gone, reverse=True):
            solver.remove(place)
            del self.rules[place]
        if gone:
            solver.solve(steps=30)
        return bool(gone)

    def _can_take(self, place: int, head: Bools, sign: int) -> bool:
        """Return True if a rule may weight these labels, with weights that may have this sign."""
        rule = self.rules[place]
        tested = [test.feature for test in single_tests(rule.tests)]
        allowed = True if self._allowed is None else bool(self._allowed[tested][:, head].all())
        return allowed and rule.sign in (0, sign)

    def _length(self, place: int) -> int:
        return sum(1 for _ in single_tests(self.rules[place].tests))

    def thin_out(self, max_rules: int) -> None:
        """Remove rules, the one that the loss misses least first, until at most `max_rules` remain."""
        solver = self.solver
        saliency = self._saliency()
        while len(self.rules) > max(max_rules, self.n_start):
            total = np.where(np.isinf(saliency), 0, saliency).sum(axis=1)
            total[: self.n_start] = np.inf
            weakest = int(np.argmin(total))
            labels = np.flatnonzero(solver.support[weakest + 1])
            solver.remove(weakest)
            del self.rules[weakest]
            saliency = np.delete(saliency, weakest, axis=0)
            if len(labels):
                solver.solve(labels, steps=3)
                saliency[:, labels] = solver.saliency(labels)[:, labels]

    def labels_per_head(self) -> float:
        """Return the mean number of labels of a head; rules without labels and start rules do not count."""
        sizes = self.solver.support[1 + self.n_start :].sum(axis=1)
        return float(sizes[sizes > 0].mean()) if sizes.any() else 0.0

    def prune(self, cost: float, labels_per_head: float | None) -> None:
        """Remove the entries that the loss misses by less than `cost`, then more until heads are short enough."""
        self._drop_cheap(cost)
        if labels_per_head is not None:
            self._shorten(labels_per_head)

    def _saliency(self, labels: Ints | None = None) -> Matrix:
        saliency = self.solver.saliency(labels)
        saliency[: self.n_start] = np.inf
        return saliency

    def _drop_cheap(self, cost: float) -> None:
        """Drop entries that the loss misses by less than `cost`; rules without labels keep their place."""
        solver = self.solver
        solver.solve(steps=10)
        labels: Ints | None = None
        for _ in range(_MAX_ROUNDS if cost > 0 else 0):
            saliency = self._saliency(labels)
            weak = saliency < cost
            labels = np.flatnonzero(weak.any(axis=0))
            if not len(labels):
                break
            # At most a quarter of a label's entries at once: weights that replace each other are weak together.
            for label in labels.tolist():
                order = np.argsort(saliency[:, label], kind="stable")
                count = max(1, int(solver.support[1:, label].sum()) // 4)
                for rule in [rule for rule in order.tolist() if weak[rule, label]][:count]:
                    solver.drop(rule, label)
            solver.solve(labels, steps=10)

    def _shorten(self, labels_per_head: float) -> None:
        """Drop the entries that the loss misses least until heads are short enough."""
        solver = self.solver
        while (length := self.labels_per_head()) > labels_per_head:
            saliency = self._saliency()
            count = int(solver.support[1 + self.n_start :].sum())
            n_excess = max(1, int(count * (1 - labels_per_head / length)))
            order = np.argsort(saliency, axis=None, kind="stable")[: min(n_excess, 1 + count // 6)]
            rules, labels = np.unravel_index(order, saliency.shape)
            for rule, label in zip(rules.tolist(), labels.tolist(), strict=True):
                solver.drop(rule, label)
            solver.solve(np.unique(labels), steps=5)
