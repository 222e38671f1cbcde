"""Try every head."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from polyrule.errors import OptionError
from polyrule.heads.result import Rank, rank
from polyrule.heads.space import HeadSpace
from polyrule.heads.valuation import Valuation
from polyrule.measures.counting import Head

LARGEST = 2_000_000


def search_exhaustive(space: HeadSpace, valuation: Valuation) -> tuple[Head, Rank, int]:
    """Return the best head, its rank and the number of heads evaluated."""
    if space.size > LARGEST:
        raise OptionError(
            f"search='exhaustive' would evaluate {space.size:.3g} heads over {len(space.labels)} labels; "
            "use search='auto', or a smaller max_head_size"
        )
    best: tuple[Rank, Head] | None = None
    for head in all_heads(space):
        ranked = rank(valuation.value(head), head, valuation.tp(head)), head
        if best is None or ranked > best:
            best = ranked
    assert best is not None
    return best[1], best[0], space.size


def all_heads(space: HeadSpace) -> Iterator[Head]:
    """Yield every head of the space, small ones first."""
    for size in range(1, space.max_size + 1):
        for labels in combinations(space.labels, size):
            yield from product(*(space.choices[label] for label in labels))
