"""Try every head."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

from polyrule.errors import OptionError
from polyrule.heads.result import Rank, rank
from polyrule.heads.space import HeadSpace
from polyrule.heads.valuation import Valuation
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
