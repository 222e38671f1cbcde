"""Heads found by a counted number of trials, for measures whose exact search may take too long.

The heads are tried in an order that the counts alone decide, so that the same limit gives the same head on every
machine, with every number of threads, in every engine (`native/judge/micro.hpp` has the same order): every literal by
itself; the best literals of the labels taken together, the best two, three, …; then all heads that differ in one label
from the best so far, again and again until none of them is better.
"""

from __future__ import annotations

from collections.abc import Iterator

from polyrule.heads.result import Rank, rank
from polyrule.heads.valuation import Valuation
from polyrule.heads.world import HeadSpace
from polyrule.measures.definition import Head


def search_climb(space: HeadSpace, valuation: Valuation, effort: int) -> tuple[Head, Rank, int]:
    """Return the best of at most `effort` heads, its rank and how many were tried; single literals always are.

    >>> from polyrule.heads import World, search
    >>> from polyrule.measures import Objective
    >>> world = World.from_text(covered="110 111 100", uncovered="001 000 010")
    >>> found = search(world, Objective("m2", effort=10))
    >>> found.strategy, found.head, str(found.value), found.evaluated
    ('climb', ((0, 1),), '4/5', 7)
    """
    best: tuple[Rank, Head] | None = None
    ranks: dict[Head, Rank] = {}
    tried = 0

    def look(head: Head) -> None:
        nonlocal best, tried
        tried += 1
        ranks[head] = rank(valuation.value(head), head, valuation.tp(head))
        if best is None or ranks[head] > best[0]:
            best = ranks[head], head

    for literal in space.literals:
        look((literal,))
    leaders = [max(choices, key=lambda literal: ranks[literal,]) for choices in space.choices.values()]
    leaders.sort(key=lambda literal: ranks[literal,], reverse=True)
    for size in range(2, space.max_size + 1):
        if tried >= effort:
            break
        look(tuple(sorted(leaders[:size])))
    assert best is not None
    climbed: Head | None = None
    while climbed != best[1]:
        climbed = best[1]
        for head in _neighbours(climbed, space):
            if tried >= effort:
                return best[1], best[0], tried
            look(head)
    return best[1], best[0], tried


def _neighbours(head: Head, space: HeadSpace) -> Iterator[Head]:
    """Yield the heads that differ from a head in one label, in label order."""
    for literal in space.literals:
        others = tuple(taken for taken in head if taken[0] != literal[0])
        if literal in head:
            if others:
                yield others
        elif len(others) < space.max_size:
            yield tuple(sorted((*others, literal)))
