"""Searches that list heads: all of them, none below a head whose value fell, as in the paper, or a counted number."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

from polyrule.errors import OptionError
from polyrule.heads.problem import HeadSpace, SearchRecord
from polyrule.heads.valuation import Valuation
from polyrule.measures.definition import Head

LARGEST = 1_100_000  # a little over 20 labels with positive literals, or 12 with both


def search_exhaustive(space: HeadSpace, valuation: Valuation) -> SearchRecord:
    """Evaluate every head."""
    if space.size > LARGEST:
        raise OptionError(
            f"search='exhaustive' would evaluate {space.size:.3g} heads over {len(space.labels)} labels; "
            "use search='auto', or a smaller max_head_size"
        )
    record = SearchRecord()
    for head in all_heads(space):
        record.note(head, valuation.rank(head))
    return record


def all_heads(space: HeadSpace) -> Iterator[Head]:
    """Yield every head of the space, small ones first."""
    for size in range(1, space.max_size + 1):
        for labels in combinations(space.labels, size):
            yield from product(*(space.choices[label] for label in labels))


def search_antimonotone(space: HeadSpace, valuation: Valuation, supersets: bool = True) -> SearchRecord:
    """Grow heads by labels that come later, so that every head has one parent and is met once.

    If its value is below its parent's, nothing is grown from it. With `supersets` (the default, as the paper's text has
    it) a head is also skipped if *any* head it contains was cut off, and is cut off if its value is below that of any
    head with one label less; without, only the own branch of the tree counts, as in the paper's Fig. 1.
    """
    record = SearchRecord()
    alive: dict[Head, Fraction] = {}
    level: list[Head] = [(literal,) for literal in space.literals]
    for size in range(1, space.max_size + 1):
        survivors: dict[Head, Fraction] = {}
        for head in level:
            parts = [head[:i] + head[i + 1 :] for i in range(size)] if supersets else [head[:-1]]
            if size > 1 and any(part not in alive for part in parts):
                record.seen[head] = None, "pruned"
                continue
            value = record.note(head, valuation.rank(head))[0]
            if size > 1 and any(value < alive[part] for part in parts):
                record.seen[head] = value, "pruned"
            else:
                survivors[head] = value
        alive = survivors
        level = [(*head, literal) for head in alive for literal in space.literals if literal[0] > head[-1][0]]
    return record


def search_climb(space: HeadSpace, valuation: Valuation) -> SearchRecord:
    """Return the best of as many heads as the `effort` of the objective allows; single literals are always tried.

    The heads are tried in an order that the counts alone decide, so that the same limit gives the same head on every
    machine, with every number of threads, in every engine (`native/scoring/micro.hpp` has the same order): every
    literal separately; the best literals of the labels taken together, the best two, three, …; then all heads that
    differ in one label from the best so far, again and again until none of them is better.

    >>> from polyrule.heads import HeadProblem, search
    >>> from polyrule.measures import Objective
    >>> problem = HeadProblem.from_text(covered="110 111 100", uncovered="001 000 010")
    >>> record = search(problem, Objective("m2", effort=10))
    >>> record.strategy, record.head, str(record.value), record.evaluated
    ('climb', ((0, 1),), '4/5', 7)
    """
    record, effort = SearchRecord(), valuation.objective.effort or 1
    ranks = {literal: record.note((literal,), valuation.rank((literal,))) for literal in space.literals}
    leaders = [max(choices, key=ranks.__getitem__) for choices in space.choices.values()]
    leaders.sort(key=ranks.__getitem__, reverse=True)
    for size in range(2, space.max_size + 1):
        if record.evaluated >= effort:
            break
        head = tuple(sorted(leaders[:size]))
        record.note(head, valuation.rank(head))
    climbed: Head = ()
    while climbed != record.head:
        climbed = record.head
        for head in _neighbours(climbed, space):
            if record.evaluated >= effort:
                return record
            record.note(head, valuation.rank(head))
    return record


def _neighbours(head: Head, space: HeadSpace) -> Iterator[Head]:
    """Yield the heads that differ from a head in one label, in label order."""
    for literal in space.literals:
        rest = tuple(other for other in head if other[0] != literal[0])
        if literal in head:
            if rest:
                yield rest
        elif len(rest) < space.max_size:
            yield tuple(sorted((*rest, literal)))
