"""The one entrance to the head searches, and the choice among them."""

from __future__ import annotations

from polyrule.heads.exhaustive import search_exhaustive
from polyrule.heads.result import HeadResult
from polyrule.heads.space import HeadSpace
from polyrule.heads.valuation import valuation
from polyrule.heads.world import World
from polyrule.measures.objective import Objective


def best_head(world: World, objective: Objective) -> HeadResult | None:
    """Return the best head by the objective's own search; None if no usable literal has a true positive."""
    return search(world, objective, objective.search)


def search(world: World, objective: Objective, strategy: str = "auto", trace: bool = False) -> HeadResult | None:
    """Return the best head by a given search."""
    space = HeadSpace.of(world, objective)
    if not space.choices:
        return None
    values = valuation(world, objective)
    head, rank, evaluated = search_exhaustive(space, values)
    c = world.counts
    counts = tuple((int(c.tp[label, value]), int(c.fp[label, value])) for label, value in head)
    return HeadResult(head, rank[0], counts, evaluated, space.size - evaluated, "exhaustive")
