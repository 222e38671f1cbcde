"""Searches that list heads: all of them, none below a head whose value fell, as in the paper, or a counted number."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

from polyrule.errors import OptionError
from polyrule.heads.valuation import Valuation
from polyrule.heads.world import Found, HeadSpace
from polyrule.measures.definition import Head

LARGEST = 1_100_000  # a little over 20 labels with positive literals, or 12 with both


def search_exhaustive(space: HeadSpace, valuation: Valuation) -> Found:
    """Evaluate every head."""
    if space.size > LARGEST:
        raise OptionError(
            f"search='exhaustive' would evaluate {space.size:.3g} heads over {len(space.labels)} labels; "
            "use search='auto', or a smaller max_head_size"
        )
    found = Found()
    for head in all_heads(space):
        found.note(head, valuation.rank(head))
    return found


def all_heads(space: HeadSpace) -> Iterator[Head]:
    """Yield every head of the space, small ones first."""
    for size in range(1, space.max_size + 1):
        for labels in combinations(space.labels, size):
            yield from product(*(space.choices[label] for label in labels))


def search_antimonotone(space: HeadSpace, valuation: Valuation, supersets: bool = True) -> Found:
    """Grow heads by labels that come later, so that every head has one parent and is met once.

    If its value is below its parent's, nothing is grown from it. With `supersets` (the default, as the paper's text has
    it) a head is also skipped if *any* head it contains was cut off, and is cut off if its value is below that of any
    head with one label less; without, only the own branch of the tree counts, as in the paper's Fig. 1.
    """
    found = Found()
    alive: dict[Head, Fraction] = {}
    level: list[Head] = [(literal,) for literal in space.literals]
    for size in range(1, space.max_size + 1):
        survivors: dict[Head, Fraction] = {}
        for head in level:
            parts = [head[:i] + head[i + 1 :] for i in range(size)] if supersets else [head[:-1]]
            if size > 1 and any(part not in alive for part in parts):
                found.seen[head] = None, "pruned"
                continue
            value = found.note(head, valuation.rank(head))[0]
            if size > 1 and any(value < alive[part] for part in parts):
                found.seen[head] = value, "pruned"
            else:
                survivors[head] = value
        alive = survivors
        level = [(*head, literal) for head in alive for literal in space.literals if literal[0] > head[-1][0]]
    return found


def search_climb(space: HeadSpace, valuation: Valuation) -> Found:
    """Return the best of as many heads as the `effort` of the objective allows; single literals are always tried.

    The heads are tried in an order that the counts alone decide, so that the same limit gives the same head on every
    machine, with every number of threads, in every engine (`native/judge/micro.hpp` has the same order): every literal
    by itself; the best literals of the labels taken together, the best two, three, …; then all heads that differ in one
    label from the best so far, again and again until none of them is better.

    >>> from polyrule.heads import World, search
    >>> from polyrule.measures import Objective
    >>> world = World.from_text(covered="110 111 100", uncovered="001 000 010")
    >>> found = search(world, Objective("m2", effort=10))
    >>> found.strategy, found.head, str(found.value), found.evaluated
    ('climb', ((0, 1),), '4/5', 7)
    """
    found, effort = Found(), valuation.objective.effort or 1
    ranks = {literal: found.note((literal,), valuation.rank((literal,))) for literal in space.literals}
    leaders = [max(choices, key=ranks.__getitem__) for choices in space.choices.values()]
    leaders.sort(key=ranks.__getitem__, reverse=True)
    for size in range(2, space.max_size + 1):
        if found.evaluated >= effort:
            break
        head = tuple(sorted(leaders[:size]))
        found.note(head, valuation.rank(head))
    climbed: Head = ()
    while climbed != found.head:
        climbed = found.head
        for head in _neighbours(climbed, space):
            if found.evaluated >= effort:
                return found
            found.note(head, valuation.rank(head))
    return found


def _neighbours(head: Head, space: HeadSpace) -> Iterator[Head]:
    """Yield the heads that differ from a head in one label, in label order."""
    for literal in space.literals:
        others = tuple(taken for taken in head if taken[0] != literal[0])
        if literal in head:
            if others:
                yield others
        elif len(others) < space.max_size:
            yield tuple(sorted((*others, literal)))
