"""Conditions while they are searched for: tests of bins, and groups of them of which some must hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from polyrule.utils.arrays import Codes

#: What a condition tests; the native kernel uses the same numbers.
AT_MOST, ABOVE, CATEGORY = 0, 1, 2


@dataclass(frozen=True, slots=True)
class BinTest:
    """A condition while it is searched for: the feature, what is tested, and the bin it is tested against."""

    feature: int
    kind: int
    bin: int


@dataclass(frozen=True, slots=True)
class BinGroup:
    """Tests of which at least `least` must hold: "any of" where it is 1."""

    members: tuple[BinTest, ...]
    least: int = 1


#: What a body is made of while it is searched for; all of it must hold.
AnyTest = BinTest | BinGroup

#: The codes of a feature, and its number of bins.
Column = Callable[[int], tuple[Codes, int]]


def members_of(test: AnyTest) -> tuple[BinTest, ...]:
    """Return the single tests of a test."""
    return test.members if isinstance(test, BinGroup) else (test,)


def single_tests(tests: Iterable[AnyTest]) -> Iterator[BinTest]:
    """Yield single tests, those of groups among them."""
    for test in tests:
        yield from members_of(test)


def renumbered(test: AnyTest, features: npt.NDArray[np.int64]) -> AnyTest:
    """Return a test on features that were counted anew, with their old numbers."""
    if isinstance(test, BinGroup):
        return replace(test, members=tuple(replace(m, feature=int(features[m.feature])) for m in test.members))
    return replace(test, feature=int(features[test.feature]))


def direction_key(test: BinTest) -> tuple[int, ...]:
    """Return a key: equal for tests of which one implies the other, on one feature and direction, or one category."""
    return (test.feature, test.kind, test.bin) if test.kind == CATEGORY else (test.feature, test.kind)


def canonical_key(tests: Iterable[AnyTest]) -> frozenset[object]:
    """Return a key of a body: equal for equal tests in any order.

    Examples
    --------
    >>> a, b = BinTest(0, ABOVE, 1), BinTest(1, ABOVE, 1)
    >>> canonical_key((BinGroup((a, b)),)) == canonical_key((BinGroup((b, a)),)) != canonical_key((a, b))
    True
    """
    return frozenset(
        (frozenset(members_of(test)), test.least) if isinstance(test, BinGroup) else test for test in tests
    )


def holds(test: BinTest, codes: Codes, count: int) -> npt.NDArray[np.bool_]:
    """Mark the codes that satisfy a test; `count` is the code of a missing value, which satisfies none."""
    if test.kind == AT_MOST:
        return np.asarray(codes <= test.bin)
    if test.kind == ABOVE:
        return np.asarray((codes > test.bin) & (codes < count))
    return np.asarray(codes == test.bin)


def satisfied(test: AnyTest, column: Column) -> npt.NDArray[np.bool_]:
    """Mark the rows that satisfy a test, or enough members of a group."""
    if isinstance(test, BinTest):
        return holds(test, *column(test.feature))
    n_held = np.sum([holds(member, *column(member.feature)) for member in test.members], axis=0, dtype=np.int64)
    return np.asarray(n_held >= test.least)


def sign_of(tests: Iterable[AnyTest], direction: npt.NDArray[np.int8] | None) -> int:
    """Return the sign that the weights of a body must have, 0 for any.

    A body on monotone features may only lower or only raise scores. The search never combines tests that require
    different signs.
    """
    if direction is None:
        return 0
    signs = (int(direction[test.feature]) * (1 if test.kind == ABOVE else -1) for test in single_tests(tests))
    return next((sign for sign in signs if sign), 0)


def simplify(tests: Iterable[AnyTest]) -> tuple[AnyTest, ...]:
    """Drop tests that a later one on the same feature implies; the order of the rest stays.

    In a group of which any must hold, members go that imply another one; a group of one is its only member.

    Examples
    --------
    >>> [test.bin for test in simplify((BinTest(0, AT_MOST, 9), BinTest(1, ABOVE, 2), BinTest(0, AT_MOST, 4)))]
    [2, 4]
    >>> simplify((BinGroup((BinTest(0, ABOVE, 9), BinTest(0, ABOVE, 4))),))
    (BinTest(feature=0, kind=1, bin=4),)
    """
    shorter: list[AnyTest] = []
    for test in dict.fromkeys(tests):
        if isinstance(test, BinGroup) and test.least == 1:
            loosest = _extreme(test.members, AT_MOST)
            shorter.append(replace(test, members=loosest) if len(loosest) > 1 else loosest[0])
        else:
            shorter.append(test)
    tightest = set(_extreme([test for test in shorter if isinstance(test, BinTest)], ABOVE))
    return tuple(test for test in shorter if isinstance(test, BinGroup) or test in tightest)


def _extreme(tests: Sequence[BinTest], rising: int) -> tuple[BinTest, ...]:
    """Keep, for each feature and kind, the test with the largest bin if the kind is `rising`, else with the smallest.

    The largest bin of ``>`` and the smallest of ``<=`` are the tightest tests; the smallest of ``>`` and the largest of
    ``<=`` are the loosest.
    """
    extremes: dict[tuple[int, ...], BinTest] = {}
    for test in tests:
        best = extremes.get(direction_key(test))
        if best is None or (test.bin >= best.bin if test.kind == rising else test.bin <= best.bin):
            extremes[direction_key(test)] = test
    return tuple(test for test in dict.fromkeys(tests) if test in set(extremes.values()))
