"""Growing the body of one rule: add the condition with the largest gain, keeping a few bodies in play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyrule.arrays import Ints32
from polyrule.bins.binning import ABOVE, AT_MOST, BinnedTable, BinTest
from polyrule.ensemble.gain import Slopes, best_conditions


@dataclass(frozen=True, slots=True)
class Growth:
    """How bodies are searched.

    Parameters
    ----------
    max_conditions : int
    beam_width : int
        Bodies kept after each step; more than 1 looks past a condition that pays only together with the next.
    min_improvement : float
        Share by which a condition must raise the gain to be worth reading.
    threads : int
    kernels : {None, "native", "reference"}
    """

    max_conditions: int = 4
    beam_width: int = 1
    min_improvement: float = 0.03
    threads: int = 1
    kernels: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A body while it is searched for: its tests, the rows it covers, its gain."""

    tests: tuple[BinTest, ...]
    rows: Ints32
    gain: float


def grow(table: BinnedTable, slopes: Slopes, options: Growth) -> Body | None:
    """Return the body with the largest gain that the search meets; None where no condition gains anything.

    At the start a condition and its opposite gain alike, for the intercept makes up for the difference, but not what is
    added to them: the search starts from both. Ties go to the shorter body, then to the one that was met first;
    features are tried in column order.
    """
    every: Ints32 = np.arange(table.rows, dtype=np.int32)
    firsts = _extend(table, [Body((), every, 0.0)], slopes, options)
    sides = (firsts, _opposites(table, firsts, every, slopes))
    found = [_grown(table, beam, slopes, options) for beam in sides if beam]
    return max(found, key=lambda body: body.gain, default=None)


def _grown(table: BinnedTable, beam: Sequence[Body], slopes: Slopes, options: Growth) -> Body:
    """Return the best of all bodies that the search meets from `beam` on."""
    best = beam[0]
    while beam:
        for body in beam:
            if body.gain > best.gain * (1 + options.min_improvement):
                best = body
        beam = _extend(table, beam, slopes, options)
    return best


def _opposites(table: BinnedTable, firsts: Sequence[Body], every: Ints32, slopes: Slopes) -> list[Body]:
    """Bodies of one condition each, the opposites of others; those that gain nothing are left out."""
    bodies = []
    for test in (table.opposite(body.tests[0]) for body in firsts):
        if test is not None:
            rows = table.covered(test, every)
            bodies.append(Body((test,), rows, slopes.gain(rows, table.sign((test,)))))
    return [body for body in bodies if body.gain > 0]


def _extend(table: BinnedTable, beam: Sequence[Body], slopes: Slopes, options: Growth) -> list[Body]:
    """All bodies of the beam with one condition more, the best of them with different rows."""
    offers: list[tuple[float, Body, BinTest]] = []
    for body in beam:
        searched, features = table, np.arange(len(table.slot))
        if len(simplify(body.tests)) >= options.max_conditions:
            # Only a tighter test of a feature that is there already leaves the body as long as it is.
            features = np.unique([test.feature for test in body.tests])
            searched = table.only(features.tolist())
        found = best_conditions(
            searched, body.rows, slopes, options.threads, options.kernels, searched is table, table.sign(body.tests)
        )
        order = np.argsort(-found.gain, kind="stable")
        taken = 0
        for place in order.tolist():
            test = BinTest(int(features[place]), int(found.kind[place]), int(found.bin[place]))
            gain = float(found.gain[place])
            if taken == options.beam_width or gain <= body.gain * (1 + options.min_improvement):
                break
            if len(simplify((*body.tests, test))) <= options.max_conditions:
                offers.append((gain, body, test))
                taken += 1
    offers.sort(key=lambda offer: -offer[0])
    grown: list[Body] = []
    seen: set[bytes] = set()
    for gain, body, test in offers:
        rows = table.covered(test, body.rows)
        mark = rows.tobytes()
        if mark not in seen:
            seen.add(mark)
            grown.append(Body((*body.tests, test), rows, gain))
        if len(grown) == options.beam_width:
            break
    return grown


def simplify(tests: Sequence[BinTest]) -> tuple[BinTest, ...]:
    """Drop tests that a later one on the same feature implies; the order of the rest stays.

    Examples
    --------
    >>> [test.bin for test in simplify((BinTest(0, AT_MOST, 9), BinTest(1, ABOVE, 2), BinTest(0, AT_MOST, 4)))]
    [2, 4]
    """
    tightest: dict[tuple[int, int], BinTest] = {}
    for test in tests:
        key = (test.feature, test.kind)
        known = tightest.get(key)
        if (
            known is None
            or (test.kind == AT_MOST and test.bin <= known.bin)
            or (test.kind == ABOVE and test.bin >= known.bin)
        ):
            tightest[key] = test
    kept = set(tightest.values())
    return tuple(test for test in dict.fromkeys(tests) if test in kept)
