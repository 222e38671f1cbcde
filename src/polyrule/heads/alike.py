"""Correlations with a positive best value: the best head consists of literals with equal counts (fact H)."""

from __future__ import annotations

from fractions import Fraction

from polyrule.heads.result import Rank, rank
from polyrule.heads.space import HeadSpace
from polyrule.heads.valuation import MicroValuation, Valuation
from polyrule.measures.base import Counts
from polyrule.measures.definition import Head, LabelValue
from polyrule.measures.matthews import Matthews
from polyrule.measures.rational import RationalMeasure, true_minus_false_positive_rate


def alike_values(valuation: Valuation, space: HeadSpace) -> dict[LabelValue, Fraction] | None:
    """Return the single values where fact H applies: equal margins, and one of the values positive; else None.

    Where labels are unknown on some rows, literals may cover as many and count over fewer.
    """
    objective = valuation.objective
    if not isinstance(valuation, MicroValuation) or objective.scope != "head" or not objective.lift.is_none:
        return None
    if not is_correlation(objective.measure):
        return None
    margins = {(sum(counts[:2]), sum(counts)) for counts in map(valuation.delta.__getitem__, space.literals)}
    if len(margins) > 1:
        return None
    singles = {literal: valuation.value((literal,)) for literal in space.literals}
    return singles if max(singles.values()) > 0 else None


def is_correlation(measure: object) -> bool:
    """Whether the measure is (t - x·s) / f(s) with a strictly concave f; see docs/theory.md."""
    return isinstance(measure, Matthews) or (
        isinstance(measure, RationalMeasure) and measure.function is true_minus_false_positive_rate
    )


def search_alike(space: HeadSpace, valuation: Valuation, singles: dict[LabelValue, Fraction]) -> tuple[Head, Rank]:
    """Return the best head: the most labels among the best literals that have the same counts.

    >>> from polyrule.heads import World, search
    >>> from polyrule.measures import Objective
    >>> world = World.from_text(covered="110 110", uncovered="001 000 101")
    >>> result = search(world, Objective("matthews"))
    >>> result.strategy, result.head, str(result.value)
    ('alike', ((1, 1),), '1')
    """
    assert isinstance(valuation, MicroValuation)
    level = max(singles.values())
    groups: dict[Counts, dict[int, LabelValue]] = {}
    for literal in space.literals:  # of a label's two literals, ``label = 1`` comes first and stays
        if singles[literal] == level:
            groups.setdefault(valuation.delta[literal], {}).setdefault(literal[0], literal)
    heads = [tuple(sorted(group.values())[: space.max_size]) for group in groups.values()]
    return max(((head, rank(level, head, valuation.tp(head))) for head in heads), key=lambda found: found[1])
