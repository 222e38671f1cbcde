"""An expression at a point as one polynomial over another that is positive there.

A point is a sum of count vectors; which of their entries are 0, positive or merely not negative is decided case by
case, as far as it matters for a division by 0, which gives 0.

Whether its value only rises, or only falls, as counts change in one direction is read off the signs of coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeVar

from polyrule.measures.grammar import FUNCTIONS, VARIABLES, Node, evaluate, node_types
from polyrule.measures.proofs.polynomial import MOST_WORK, OutOfReach, Polynomial, effort

MOST_TERMS = 3000


class NoNormalForm(OutOfReach):
    """The expression is no quotient of polynomials with a positive denominator."""


class Undecided(Exception):
    """Whether a denominator is 0 depends on a variable about which nothing is assumed yet."""

    def __init__(self, variable: int) -> None:
        self.variable = variable


@dataclass(frozen=True)
class Quotient:
    """`top` / `bottom`, and `bottom` is positive."""

    top: Polynomial
    bottom: Polynomial


def quotient(node: Node, point: Mapping[str, Polynomial], positive: frozenset[int]) -> Quotient:
    """Return the expression at a point; variables in `positive` are positive, the others not negative."""
    if node_types(node) & {*FUNCTIONS, "root"}:
        raise NoNormalForm("a function or a broken power is no polynomial")
    width = next(iter(point.values())).width
    one = Polynomial.constant(1, width)

    def power(base: Quotient, exponent: Fraction) -> Quotient:
        base, whole = base if exponent >= 0 else _inverse(base, positive), abs(int(exponent))
        return Quotient(_small(base.top**whole), _small(base.bottom**whole))

    apply = {
        "+": _sum,
        "-": lambda left, right: _sum(left, Quotient(-right.top, right.bottom)),
        "*": _product,
        "/": lambda left, right: _product(left, _inverse(right, positive)),
        "**": power,
    }
    counts = {name: Quotient(count, one) for name, count in point.items()}
    result: Quotient = evaluate(node, counts, lambda number: Quotient(Polynomial.constant(number, width), one), apply)
    return result


def _inverse(quotient_in: Quotient, positive: frozenset[int]) -> Quotient:
    """Return 1 / given, or 0 where given is 0."""
    top, bottom = quotient_in.top, quotient_in.bottom
    if not top:
        return Quotient(top, Polynomial.constant(1, top.width))
    if top.is_positive(positive):
        return Quotient(bottom, top)
    if (-top).is_positive(positive):
        return Quotient(-bottom, -top)
    if not top.never_negative and not (-top).never_negative:
        raise NoNormalForm("a denominator may be positive or negative")
    raise Undecided(min(i for i in top.variables() if i not in positive))


def _product(left: Quotient, right: Quotient) -> Quotient:
    """Multiply, leaving out a factor that the one has on top and the other below."""
    a, b = _cancelled(left.top, right.bottom)
    c, d = _cancelled(right.top, left.bottom)
    return Quotient(_small(a * c), _small(b * d))


def _cancelled(top: Polynomial, bottom: Polynomial) -> tuple[Polynomial, Polynomial]:
    one = Polynomial.constant(1, top.width)
    if bottom.is_constant or top.is_constant:
        return top, bottom
    divided = top.divided_by(bottom)
    if divided is not None:
        return divided, one
    divided = bottom.divided_by(top) if top.never_negative else None
    return (one, divided) if divided is not None and divided.never_negative else (top, bottom)


def _sum(left: Quotient, right: Quotient) -> Quotient:
    if left.bottom == right.bottom:
        return Quotient(left.top + right.top, left.bottom)
    more = left.bottom.divided_by(right.bottom)
    if more is not None:
        return Quotient(left.top + _small(right.top * more), left.bottom)
    more = right.bottom.divided_by(left.bottom)
    if more is not None:
        return Quotient(_small(left.top * more) + right.top, right.bottom)
    top = _small(left.top * right.bottom) + _small(right.top * left.bottom)
    return Quotient(top, _small(left.bottom * right.bottom))


def _small(polynomial: Polynomial) -> Polynomial:
    if len(polynomial.terms) > MOST_TERMS:
        raise NoNormalForm("the polynomials grow too large")
    return polynomial


Found = TypeVar("Found")
Known = frozenset[int]


def by_cases(find: Callable[[Known, Known], Found], zero: Known, positive: Known) -> Iterator[Found]:
    """Yield what is found where some variables are 0 and some positive; where that decides too little, case by case."""
    try:
        result = find(zero, positive)
    except Undecided as open_:
        yield from by_cases(find, zero | {open_.variable}, positive)
        yield from by_cases(find, zero, positive | {open_.variable})
        return
    yield result


STEP = 4  # the position of the variable of the distance that counts move
MOST_CASES = 64


def one_way(root: Node, move: dict[str, int], strictly: bool = False, least_tp: bool = True) -> int | None:
    """Return the direction of an expression as counts move: 1 never falls, -1 never rises, 0 stays.

    None: neither can be read off the coefficients. `move` is the change of each count per step, by 1, 0 or -1; counts
    are not negative before and after. With `strictly`, 1 and -1 mean that it always rises or always falls; with
    `least_tp`, TP is positive throughout.

    Examples
    --------
    >>> from polyrule.measures.grammar import tree
    >>> one_way(tree("tp / (tp + fp)"), {"tp": 1}), one_way(tree("tp / (tp + fp)"), {"fp": 1})
    (1, -1)
    >>> one_way(tree("tp * tn"), {"fp": 1}), one_way(tree("tp - fp**2 + fp"), {"fp": 1})
    (0, None)
    """
    ways = set()
    start = frozenset({0, STEP} if least_tp else {STEP})
    try:
        with effort(MOST_WORK):
            differences = by_cases(partial(_difference, root, move), frozenset(), start)
            for number, (difference, positive) in enumerate(differences):
                if number > MOST_CASES:
                    return None
                way = _sign(difference, positive, strictly)
                if way is None:
                    return None
                ways.add(way)
    except OutOfReach:
        return None
    if strictly:
        return ways.pop() if len(ways) == 1 else None
    return None if {1, -1} <= ways else max(ways, key=abs)


def is_monotone(root: Node) -> bool:
    """Return True if the value never falls as TP or TN grows and never rises as FP or FN grows, for all counts.

    >>> from polyrule.measures.grammar import tree
    >>> is_monotone(tree("tp * tn / (1 + fp)")), is_monotone(tree("tp**2 / (tp + fp)")), is_monotone(tree("tp * fp"))
    (True, True, False)
    """
    directions = {"tp": 1, "fp": -1, "tn": 1, "fn": -1}
    return all(one_way(root, {name: 1}, least_tp=False) in (0, way) for name, way in directions.items())


def _difference(root: Node, move: dict[str, int], zero: Known, positive: Known) -> tuple[Polynomial, Known]:
    """Return a polynomial with the sign of the value after the move minus the value before, and what is positive."""
    none, step = Polynomial.constant(0, 5), Polynomial.variable(STEP, 5)
    before, after = {}, {}
    for i, name in enumerate(VARIABLES):
        count = none if i in zero else Polynomial.variable(i, 5)
        before[name] = count + step if move.get(name, 0) < 0 else count
        after[name] = count + step if move.get(name, 0) > 0 else count
    low, high = quotient(root, before, positive), quotient(root, after, positive)
    return high.top * low.bottom - low.top * high.bottom, positive


def _sign(difference: Polynomial, positive: frozenset[int], strictly: bool) -> int | None:
    if not difference:
        return 0
    for way, polynomial in ((1, difference), (-1, -difference)):
        if polynomial.is_positive(positive) or (polynomial.never_negative and not strictly):
            return way
    return None
