"""Simplification of bodies: no condition, and no member of a group, remains that the loss does not miss.

The growth of a body only adds. What it added first is often implied by what came later, or no longer gains anything
beside the rules that other builds found. So after the heads are pruned, each condition and each member is left out on
trial: the body covers other rows, all weights of the labels in the head are refitted, and the shorter body stays if the
penalized loss has not risen. A refit is only needed if a quadratic estimate does not already show that the loss rises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from polyrule.binning.code_tests import AnyTest, BinGroup, BinTest, satisfied, sign_of, simplify
from polyrule.ensemble.boosting import PooledRule, TrainingExamples
from polyrule.ensemble.cover_trial import CoverTrial
from polyrule.ensemble.pruning import RulePruner
from polyrule.utils.arrays import Codes
from polyrule.utils.compute import ONE_THREAD, Compute

# A rise of the loss that is smaller, as a share of the total weight, is not distinguished from none.
_TOLERANCE = 1e-9


class BodySimplifier:
    """Trials of shorter bodies.

    Parameters
    ----------
    pruner : RulePruner
    examples : TrainingExamples
    count : callable
        Returns the number of bins of a feature.
    max_conditions : int
    min_rows : int
        Minimum number of examples that a rule covers; synthetic ones do not count.
    direction : ndarray of int8, or None
        See `BinnedTable`.
    compute : Compute
    """

    def __init__(
        self,
        pruner: RulePruner,
        examples: TrainingExamples,
        count: Callable[[int], int],
        max_conditions: int,
        min_rows: int,
        direction: npt.NDArray[np.int8] | None = None,
        compute: Compute = ONE_THREAD,
    ) -> None:
        self._pruner, self._examples, self._count = pruner, examples, count
        self._max_conditions, self._min_rows, self._direction = max_conditions, min_rows, direction
        self._compute = compute
        self._max_rise = _TOLERANCE * float(examples.weights.sum())

    def simplify(self) -> bool:
        """Shorten all bodies as far as the loss does not rise; return True if one was shortened or merged."""
        pruner, is_changed = self._pruner, False
        for place in range(pruner.n_start, len(pruner.rules)):
            if pruner.solver.support[place + 1].any():
                while self._shorten(place):
                    is_changed = True
        return pruner.merge_equal() or is_changed

    def _shorten(self, place: int) -> bool:
        """Replace a body by a shorter one without which the loss does not rise; False if there is none."""
        pruner, codes = self._pruner, dict[int, Codes]()
        rule, trial = pruner.rules[place], CoverTrial(pruner.solver, place, self._max_rise, self._compute)

        def column(feature: int) -> tuple[Codes, int]:
            if feature not in codes:
                codes[feature] = self._examples.column(feature)
            return codes[feature], self._count(feature)

        for tests in dict.fromkeys(shorter_bodies(rule.tests)):
            if len(tests) > self._max_conditions:
                continue
            rows = np.logical_and.reduce([satisfied(test, column) for test in tests])
            if np.count_nonzero(rows[: self._examples.examples]) < self._min_rows:
                continue
            if trial.accept(rows):
                pruner.rules[place] = PooledRule(tests, rule.head, sign_of(tests, self._direction))
                pruner.solver.signs[place + 1] = pruner.rules[place].sign
                return True
        return False


def shorter_bodies(tests: tuple[AnyTest, ...]) -> Iterator[tuple[AnyTest, ...]]:
    """Yield the bodies with one condition or one member of a group less, but for the empty one.

    Without a member, as many of the others must hold as before, or one less.

    Examples
    --------
    >>> a, b, c = (BinTest(feature, 1, 0) for feature in range(3))
    >>> shorter = list(shorter_bodies((a, BinGroup((a, b, c), 2))))
    >>> len(shorter), shorter[0] == (BinGroup((a, b, c), 2),), shorter[2] == (a, b, c)
    (8, True, True)
    """
    for place, test in enumerate(tests):
        before, after = tests[:place], tests[place + 1 :]
        if before or after:
            yield (*before, *after)
        if isinstance(test, BinGroup):
            for member in test.members:
                members = tuple(other for other in test.members if other != member)
                for least in (test.least, test.least - 1):
                    if 1 <= least <= len(members):
                        yield simplify((*before, *_at_least(members, least), *after))


def _at_least(members: tuple[BinTest, ...], least: int) -> tuple[AnyTest, ...]:
    return members if least == len(members) else (BinGroup(members, least),)
