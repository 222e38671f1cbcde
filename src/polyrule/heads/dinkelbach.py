"""Dinkelbach's iteration: the best head of a linear-fractional objective in a handful of rounds (fact B)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from polyrule.heads.linear_form import LinearForm
from polyrule.heads.result import Rank, rank
from polyrule.heads.sizewise import SizeForm
from polyrule.heads.space import HeadSpace
from polyrule.heads.valuation import Valuation
from polyrule.measures.definition import Head, LabelValue

Gain = Callable[[LabelValue], Fraction]


@dataclass(frozen=True)
class Optimum:
    """The best head, its rank, the heads tried on the way, and how many rounds that took."""

    head: Head
    rank: Rank
    tried: tuple[Head, ...]
    evaluated: int


def search_ratio(space: HeadSpace, valuation: Valuation, form: LinearForm | SizeForm) -> Optimum:
    """Return the best head.

    Without lift one iteration over heads of any size is enough. With lift the sizes compete: the best is the best
    over k of (best head of size k) × ρ(k). A `SizeForm` is additive per size, so it always goes size by size.
    """
    if isinstance(form, LinearForm) and valuation.objective.lift.is_none:
        head, rounds = dinkelbach(space, valuation, form, 1, space.max_size)
        return Optimum(head, _rank(valuation, head), (head,), rounds)
    best: tuple[Rank, Head] | None = None
    tried: list[Head] = []
    evaluated = 0
    for size in range(1, space.max_size + 1):
        if isinstance(form, LinearForm):
            head, rounds = dinkelbach(space, valuation, form, size, size)
        else:
            head, rounds = choose(space, valuation, form.gains[size - 1].__getitem__, size, size), 1
        evaluated += rounds
        tried.append(head)
        ranked = _rank(valuation, head), head
        best = ranked if best is None else max(best, ranked)
    assert best is not None
    return Optimum(best[1], best[0], tuple(tried), evaluated)


def dinkelbach(space: HeadSpace, valuation: Valuation, form: LinearForm, least: int, most: int) -> tuple[Head, int]:
    """Return the best head of `least` to `most` labels and how many heads were evaluated to find it.

    At λ = the best value, no head has a positive sum of gains a_i - λ·b_i (constants included), and the best ones
    have 0. Starting below, each round takes the head with the largest sum at the current λ and its value as the next
    λ, which can only grow; when it stays, it is the best.
    """
    level = form.value(choose(space, valuation, lambda literal: Fraction(valuation.tp((literal,))), least, least))
    rounds = 1
    while True:
        here = level

        def gain(literal: LabelValue, at: Fraction = here) -> Fraction:
            a, b = form.terms[literal]
            return a - at * b

        head = choose(space, valuation, gain, least, most)
        level = form.value(head)
        rounds += 1
        if level == here:
            return head, rounds


def choose(space: HeadSpace, valuation: Valuation, gain: Gain, least: int, most: int) -> Head:
    """Return the head with the largest sum of gains; on ties more labels, more TP, first labels, ``= 1`` first.

    Of a label's literals only the better one can be in it. Beyond the `least` labels it must hold, it takes those whose
    gain is not negative.
    """
    leaders = []
    for label, literals in space.choices.items():
        gained, tp, value = max((gain(literal), valuation.tp((literal,)), literal[1]) for literal in literals)
        leaders.append((-gained, -tp, label, value))
    leaders.sort()
    taken = [entry for index, entry in enumerate(leaders[:most]) if index < least or entry[0] <= 0]
    return tuple(sorted((label, value) for _, _, label, value in taken))


def _rank(valuation: Valuation, head: Head) -> Rank:
    return rank(valuation.value(head), head, valuation.tp(head))
