"""Searches that list heads: all of them, or, as in the paper, none below a head whose value fell."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

from polyrule.errors import OptionError
from polyrule.heads.result import Rank, rank
from polyrule.heads.valuation import Valuation
from polyrule.heads.world import HeadSpace
from polyrule.measures.definition import Head

LARGEST = 1_100_000  # a little over 20 labels with positive literals, or 12 with both


def search_exhaustive(space: HeadSpace, valuation: Valuation) -> tuple[Head, Rank, dict[Head, tuple[Fraction, str]]]:
    """Return the best head, its rank and the value of every head."""
    if space.size > LARGEST:
        raise OptionError(
            f"search='exhaustive' would evaluate {space.size:.3g} heads over {len(space.labels)} labels; "
            "use search='auto', or a smaller max_head_size"
        )
    best: tuple[Rank, Head] | None = None
    seen: dict[Head, tuple[Fraction, str]] = {}
    for head in all_heads(space):
        value = valuation.value(head)
        seen[head] = value, "evaluated"
        ranked = rank(value, head, valuation.tp(head)), head
        if best is None or ranked > best:
            best = ranked
    assert best is not None
    return best[1], best[0], seen


def all_heads(space: HeadSpace) -> Iterator[Head]:
    """Yield every head of the space, small ones first."""
    for size in range(1, space.max_size + 1):
        for labels in combinations(space.labels, size):
            yield from product(*(space.choices[label] for label in labels))


Seen = dict[Head, tuple[Fraction | None, str]]


def search_antimonotone(space: HeadSpace, valuation: Valuation, supersets: bool = True) -> tuple[Head, Rank, int, Seen]:
    """Return the best head, its rank, the number of heads evaluated and what happened to each head it met.

    Heads grow by labels that come later, so every head has one parent and is met once. If its value is below its
    parent's, nothing is grown from it. With `supersets` (the default, as the paper's text has it) a head is also
    skipped if *any* head it contains was cut off, and is cut off if its value is below that of any head with one
    label less; without, only the own branch of the tree counts, as in the paper's Fig. 1.
    """
    seen: Seen = {}
    alive: dict[Head, Fraction] = {}
    best: tuple[Rank, Head] | None = None
    evaluated = 0
    level: list[Head] = [(literal,) for literal in space.literals]
    for size in range(1, space.max_size + 1):
        survivors: dict[Head, Fraction] = {}
        for head in level:
            parts = [head[:i] + head[i + 1 :] for i in range(size)] if supersets else [head[:-1]]
            if size > 1 and any(part not in alive for part in parts):
                seen[head] = None, "pruned"
                continue
            value = valuation.value(head)
            evaluated += 1
            ranked = rank(value, head, valuation.tp(head)), head
            best = ranked if best is None else max(best, ranked)
            fell = size > 1 and any(value < alive[part] for part in parts)
            seen[head] = value, "pruned" if fell else "evaluated"
            if not fell:
                survivors[head] = value
        alive = survivors
        level = [(*head, literal) for head in alive for literal in space.literals if literal[0] > head[-1][0]]
    assert best is not None
    return best[1], best[0], evaluated, seen
