"""The searches that look at single literals only: `decomposable` (facts A, C, E) and `subset` (fact D)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from polyrule.heads.result import Rank, rank
from polyrule.heads.space import HeadSpace, Literal
from polyrule.heads.valuation import SubsetValuation, Valuation
from polyrule.measures.counting import Head


def search_decomposable(space: HeadSpace, valuation: Valuation) -> tuple[Head, Rank, dict[Literal, Fraction]]:
    """Evaluate the single literals and merge those that reach the best value; the merged head has that value too."""
    singles = {literal: valuation.plain((literal,)) for literal in space.literals}
    top = max(singles.values())
    head = merge((literal for literal, value in singles.items() if value == top), space, valuation)
    return head, rank(top, head, valuation.tp(head)), singles


def search_subset(space: HeadSpace, valuation: SubsetValuation) -> tuple[Head, Rank, dict[Literal, int]]:
    """Group the literals by the set of examples they treat rightly; the best head is a group of the largest set.

    Adding a label can only take examples away, so no head is better than a single literal, and a head is as good as
    the best one only if all its literals have the same, largest set.
    """
    groups: dict[int, list[Literal]] = {}
    for literal in space.literals:
        groups.setdefault(valuation.right[literal], []).append(literal)
    weights = {examples: valuation.weight(examples) for examples in groups}
    top = max(weights.values())
    value = Fraction(top, valuation.world.total_weight)
    heads = [merge(group, space, valuation) for examples, group in groups.items() if weights[examples] == top]
    best = max((rank(value, head, valuation.tp(head)), head) for head in heads)
    return best[1], best[0], {literal: weights[valuation.right[literal]] for literal in space.literals}


def merge(literals: Iterable[Literal], space: HeadSpace, valuation: Valuation) -> Head:
    """Join literals that are equally good: per label the one with more TP, ``= 1`` on a tie; most TP first."""
    by_label: dict[int, tuple[int, int]] = {}
    for literal in literals:
        label, value = literal
        offer = valuation.tp((literal,)), value
        by_label[label] = max(by_label.get(label, offer), offer)
    order = sorted((-tp, label, value) for label, (tp, value) in by_label.items())
    return tuple(sorted((label, value) for _, label, value in order[: space.max_size]))
