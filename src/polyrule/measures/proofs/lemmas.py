"""The two lemmas that make a measure decomposable or anti-monotone, as inequalities between polynomials.

Let f be the measure and x, y, z the summed counts of disjoint parts of a head (scope head, micro averages).

*Between*: where f(x) < f(y), f(x + y) lies strictly between them; where f(x) = f(y), it is the same. Then a head is
worth no more than its best literal, and as much only if all its literals are: decomposable.

*Fall*: where f(x + y) < f(x), f(x + y + z) is less than f of one of its parts. Then no best head holds a part whose
value fell: anti-monotone.

*Fall, both signs*: the same for a single literal y, where heads with the opposite literal count among those that
x + y + z may be worse than. That is enough where literals of both signs may be used, because the first literal that
makes a value fall can be taken as y.

All are stated for real counts, all not negative and TP positive, which says more than is needed: whatever labels have
been set, counts are such numbers. While nothing is set, all literals cover the same weight and leave out the same
weight, so that (TP + FP) : (TN + FN) is the same for x, y and z; these equations may then be used, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from polyrule.measures.grammar import VARIABLES, Node
from polyrule.measures.proofs.normal_form import NoNormalForm, Quotient, Undecided, quotient
from polyrule.measures.proofs.polynomial import Polynomial

PARTS = {"between": ("x", "y"), "fall": ("x", "y", "z"), "fall, both signs": ("x", "y", "z")}
KINDS = {"between": "decomposable", "fall": "anti-monotone", "fall, both signs": "anti-monotone"}
OPPOSITE = "¬"  # stands for y with the opposite sign: its true and false positives change places
FP_OF_Y = 5  # its position among the counts of x, y and z
MOST_CASES = 128


@dataclass(frozen=True)
class Product:
    """A known polynomial and what its multiplier must be: ``positive``, ``not negative`` or ``any``."""

    name: str
    factor: Polynomial
    multiplier: str


@dataclass(frozen=True)
class Case:
    """One case of a lemma: which counts are 0, which are positive, and what is to be shown.

    The lemma holds in this case if there are multipliers m_i of the kinds asked for with Σ m_i · product_i = 0, or for
    `fall` with no positive coefficient: the terms would all be positive if the lemma failed.
    """

    lemma: str
    zero: frozenset[int]
    positive: frozenset[int]
    products: tuple[Product, ...]

    @property
    def exact(self) -> bool:
        """Whether the sum must be 0 rather than have no positive coefficient."""
        return self.lemma == "between"


def variable_names(lemma: str) -> tuple[str, ...]:
    """Return the names of the counts of all parts.

    >>> variable_names("between")
    ('x.tp', 'x.fp', 'x.tn', 'x.fn', 'y.tp', 'y.fp', 'y.tn', 'y.fn')
    """
    return tuple(f"{part}.{name}" for part in PARTS[lemma] for name in VARIABLES)


def cases(lemma: str, root: Node, nothing_set: bool) -> list[Case]:
    """Return the cases that together make up the lemma for an expression; `NoNormalForm` if there are too many."""
    true_positives = frozenset(range(0, 4 * len(PARTS[lemma]), 4))
    found: list[Case] = []
    for case in _split(lemma, root, nothing_set, frozenset(), true_positives):
        found.append(case)
        if len(found) > MOST_CASES:
            raise NoNormalForm("too many cases")
    return found


def _split(lemma: str, root: Node, nothing_set: bool, zero: frozenset[int], positive: frozenset[int]) -> Iterator[Case]:
    try:
        goals = _goals(_Points(lemma, root, zero, positive), nothing_set)
    except Undecided as open_:
        yield from _split(lemma, root, nothing_set, zero | {open_.variable}, positive)
        yield from _split(lemma, root, nothing_set, zero, positive | {open_.variable})
        return
    for products in goals:
        yield Case(lemma, zero, positive, products)


class _Points:
    """The expression at sums of the parts of a head, in one case."""

    def __init__(self, lemma: str, root: Node, zero: frozenset[int], positive: frozenset[int]) -> None:
        self.lemma, self.root, self.positive = lemma, root, positive
        width = 4 * len(PARTS[lemma])
        self.none = Polynomial.constant(0, width)
        counts = [self.none if i in zero else Polynomial.variable(i, width) for i in range(width)]
        self.vectors = {part: counts[4 * i : 4 * i + 4] for i, part in enumerate(PARTS[lemma])}
        self.known: dict[str, Quotient] = {}

    def at(self, parts: str) -> Quotient:
        """Return f of the sum of some parts, each named by a letter."""
        if parts not in self.known:
            summed = [sum((self._vector(part)[i] for part in parts), self.none) for i in range(4)]
            self.known[parts] = quotient(self.root, dict(zip(VARIABLES, summed, strict=True)), self.positive)
        return self.known[parts]

    def _vector(self, part: str) -> list[Polynomial]:
        if part != OPPOSITE:
            return self.vectors[part]
        tp, fp, tn, fn = self.vectors["y"]
        return [fp, tp, tn, fn]

    def above(self, high: str, low: str) -> Polynomial:
        """Return a polynomial with the sign of f(high) - f(low)."""
        upper, lower = self.at(high), self.at(low)
        return upper.top * lower.bottom - lower.top * upper.bottom

    def product(self, high: str, low: str, multiplier: str) -> Product:
        """Return that difference with the kind of multiplier it takes."""
        named = ("+".join("¬y" if part == OPPOSITE else part for part in parts) for parts in (high, low))
        return Product(" - ".join(f"f({parts})" for parts in named), self.above(high, low), multiplier)

    def margins(self) -> Iterator[Product]:
        """Return what is 0 while nothing is set."""
        for first, second in combinations(self.vectors, 2):
            (a, b), (c, d) = ((v[0] + v[1], v[2] + v[3]) for v in (self.vectors[first], self.vectors[second]))
            yield Product(f"margins of {first} and {second}", a * d - c * b, "any")


def _goals(points: _Points, nothing_set: bool) -> tuple[tuple[Product, ...], ...]:
    margins = tuple(points.margins()) if nothing_set else ()
    if points.lemma == "between":
        return tuple(
            (points.product("xy", one, "positive"), points.product(one, other, "positive"), *margins)
            for one, other in ("xy", "yx")
        )
    rivals = ["x", "y", "z", "xy", "xz", "yz"]
    if points.lemma == "fall, both signs":
        if not points.vectors["y"][1]:
            pass  # the opposite of y is never right, so no head may hold it
        elif FP_OF_Y not in points.positive:
            raise Undecided(FP_OF_Y)
        else:
            rivals += [OPPOSITE, "x" + OPPOSITE, OPPOSITE + "z", "x" + OPPOSITE + "z"]
    best = (points.product("xyz", rival, "not negative") for rival in rivals)
    return ((points.product("x", "xy", "positive"), *best, *margins),)
