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

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, islice
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse

from polyrule.measures.grammar import VARIABLES, Node
from polyrule.measures.proofs.normal_form import Known, NoNormalForm, Quotient, Undecided, by_cases, quotient
from polyrule.measures.proofs.polynomial import Monomial, Polynomial, only
from polyrule.utils.arrays import Floats

PARTS = {"between": ("x", "y"), "fall": ("x", "y", "z"), "fall, both signs": ("x", "y", "z")}
KIND_OF_LEMMA = {"between": "decomposable", "fall": "anti-monotone", "fall, both signs": "anti-monotone"}
OPPOSITE = "¬"  # stands for y with the opposite sign: its true and false positives change places
FP_OF_Y = 5  # its position among the counts of x, y and z
#: What x + y + z may be worse than, and with the opposite of y.
RIVALS: tuple[str, ...] = ("x", "y", "z", "xy", "xz", "yz")
OPPOSED = tuple(parts.replace("y", OPPOSITE) for parts in ("y", "xy", "yz", "xyz"))
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
        """True if the sum must be 0 rather than have no positive coefficient."""
        return self.lemma == "between"


def variable_names(lemma: str) -> tuple[str, ...]:
    """Return the names of the counts of all parts.

    >>> variable_names("between")
    ('x.tp', 'x.fp', 'x.tn', 'x.fn', 'y.tp', 'y.fp', 'y.tn', 'y.fn')
    """
    return tuple(f"{part}.{name}" for part in PARTS[lemma] for name in VARIABLES)


def cases(lemma: str, root: Node, nothing_set: bool) -> list[Case]:
    """Return the cases that together make up the lemma for an expression; `NoNormalForm` if there are too many."""

    def find(zero: Known, positive: Known) -> list[Case]:
        goals = _goals(_Points(lemma, root, zero, positive), nothing_set)
        return [Case(lemma, zero, positive, products) for products in goals]

    true_positives = frozenset(range(0, 4 * len(PARTS[lemma]), 4))
    cases: list[Case] = []
    for group in by_cases(find, frozenset(), true_positives):
        cases += group
        if len(cases) > MOST_CASES:
            raise NoNormalForm("too many cases")
    return cases


Vectors = Mapping[str, Sequence[Any]]


def with_opposite(vectors: Vectors) -> Vectors:
    """Return the counts of x, y, …, and of the opposite of y beside them."""
    tp, fp, tn, fn = vectors["y"]
    return {**vectors, OPPOSITE: [fp, tp, tn, fn]}


def summed(vectors: Vectors, parts: str, none: Any) -> dict[str, Any]:
    """Return the counts of some parts together, each part named by a letter."""
    return {name: sum((vectors[part][i] for part in parts), none) for i, name in enumerate(VARIABLES)}


class _Points:
    """The expression at sums of the parts of a head, in one case."""

    def __init__(self, lemma: str, root: Node, zero: frozenset[int], positive: frozenset[int]) -> None:
        self.lemma, self.root, self.positive = lemma, root, positive
        width = 4 * len(PARTS[lemma])
        self.none = Polynomial.constant(0, width)
        counts = [self.none if i in zero else Polynomial.variable(i, width) for i in range(width)]
        self.vectors = with_opposite({part: counts[4 * i : 4 * i + 4] for i, part in enumerate(PARTS[lemma])})
        self.quotients: dict[str, Quotient] = {}

    def at(self, parts: str) -> Quotient:
        """Return f of the sum of some parts, each named by a letter."""
        if parts not in self.quotients:
            self.quotients[parts] = quotient(self.root, summed(self.vectors, parts, self.none), self.positive)
        return self.quotients[parts]

    def above(self, high: str, low: str) -> Polynomial:
        """Return a polynomial with the sign of f(high) - f(low)."""
        upper, lower = self.at(high), self.at(low)
        return upper.top * lower.bottom - lower.top * upper.bottom

    def product(self, high: str, low: str, multiplier: str) -> Product:
        """Return the difference with its kind of multiplier."""
        named = ("+".join("¬y" if part == OPPOSITE else part for part in parts) for parts in (high, low))
        return Product(" - ".join(f"f({parts})" for parts in named), self.above(high, low), multiplier)

    def margins(self) -> Iterator[Product]:
        """Return the products that are 0 while nothing is set."""
        for first, second in combinations(PARTS[self.lemma], 2):
            (a, b), (c, d) = ((v[0] + v[1], v[2] + v[3]) for v in (self.vectors[first], self.vectors[second]))
            yield Product(f"margins of {first} and {second}", a * d - c * b, "any")


def _goals(points: _Points, nothing_set: bool) -> tuple[tuple[Product, ...], ...]:
    margins = tuple(points.margins()) if nothing_set else ()
    if points.lemma == "between":
        return tuple(
            (points.product("xy", one, "positive"), points.product(one, other, "positive"), *margins)
            for one, other in ("xy", "yx")
        )
    rivals = RIVALS
    if points.lemma == "fall, both signs":
        if not points.vectors["y"][1]:
            pass  # the opposite of y is never right, so no head may hold it
        elif FP_OF_Y not in points.positive:
            raise Undecided(FP_OF_Y)
        else:
            rivals = RIVALS + OPPOSED
    best = (points.product("xyz", rival, "not negative") for rival in rivals)
    return ((points.product("x", "xy", "positive"), *best, *margins),)


Multipliers = tuple[Polynomial, ...]
MOST_UNKNOWNS = 4_000
MOST_ENTRIES = 60_000
DEGREES = (0, 1, 2, 3, 4)
DENOMINATORS = (1, 12, 120, 5040, 10**6)


def find(case: Case, deadline: float | None = None) -> Multipliers | None:
    """Return multipliers of low degree that prove the case, or None; `deadline` is in CPU seconds of the process.

    Their coefficients are the unknowns, and that a sum of products has no positive coefficient is a linear condition on
    them. The program is solved in doubles; what it finds is rounded to fractions and counts only if right exactly.
    """
    if not any(product.factor for product in case.products if product.multiplier != "any"):
        one = Polynomial.constant(1, case.products[0].factor.width)
        none = Polynomial.constant(0, one.width)
        return tuple(none if product.multiplier == "any" else one for product in case.products)
    for degree in DEGREES:
        left = None if deadline is None else deadline - time.process_time()
        if left is not None and left <= 0:
            return None
        program = _Program(case, degree)
        solution = program.solve(left) if program.is_small else None
        if solution is not None:
            return solution
    return None


def holds(case: Case, multipliers: Multipliers) -> bool:
    """Return True if the multipliers prove the case; a proof depends on this alone, not on `find`."""
    if len(multipliers) != len(case.products):
        return False
    total = Polynomial({}, case.products[0].factor.width)
    for product, multiplier in zip(case.products, multipliers, strict=True):
        if product.multiplier == "positive" and not multiplier.is_positive(case.positive):
            return False
        if product.multiplier == "not negative" and not multiplier.never_negative:
            return False
        total = total + multiplier * product.factor
    return not total if case.exact else (-total).never_negative


class _Program:
    """The linear program for multipliers of one degree."""

    def __init__(self, case: Case, degree: int) -> None:
        self.case = case
        live = [i for i in range(case.products[0].factor.width) if i not in case.zero]
        self.columns: list[tuple[int, Monomial]] = []
        degrees = [product.factor.degree for product in case.products if product.factor]
        target = max(degrees) + degree
        homogeneous = all(product.factor.is_homogeneous for product in case.products)
        for number, product in enumerate(case.products):
            if not product.factor:
                if product.multiplier == "positive":  # it adds nothing, but must be there
                    self.columns.append((number, (0,) * product.factor.width))
                continue
            room = target - product.factor.degree
            monomials = _monomials(live, product.factor.width, room, homogeneous)
            self.columns += [(number, m) for m in islice(monomials, MOST_UNKNOWNS + 1 - len(self.columns))]
        entries = sum(len(case.products[number].factor.terms) for number, _ in self.columns)
        self.is_small = len(self.columns) <= MOST_UNKNOWNS and entries <= MOST_ENTRIES

    def solve(self, seconds: float | None) -> Multipliers | None:
        try:
            matrix = self._matrix()
        except OverflowError:  # the program is solved in doubles
            return None
        products = self.case.products
        bounds = [(None, None) if products[n].multiplier == "any" else (0, None) for n, _ in self.columns]
        cost = np.array([0.0 if products[n].multiplier == "any" else 1.0 for n, _ in self.columns])
        positive_rows = self._strictly_positive()
        options = {} if seconds is None else {"time_limit": max(seconds, 0.01)}
        zero = np.zeros(matrix.shape[0])
        equal = matrix if self.case.exact else None
        rows = [-positive_rows] if self.case.exact else [-positive_rows, matrix]
        limits = np.concatenate([np.full(positive_rows.shape[0], -1.0), *([] if self.case.exact else [zero])])
        result = scipy.optimize.linprog(
            cost,
            A_ub=scipy.sparse.vstack(rows).tocsc(),
            b_ub=limits,
            A_eq=equal,
            b_eq=zero if self.case.exact else None,
            bounds=bounds,
            method="highs-ds",
            options=options,
        )
        if result.x is None or result.status != 0:
            return None
        return next((m for m in self._rounded(result.x) if holds(self.case, m)), None)

    def _matrix(self) -> scipy.sparse.csc_matrix:
        """Return a row per monomial of the sum of products, a column per unknown coefficient."""
        base = 1 + max((sum(monomial) for _, monomial in self.columns), default=0)
        base += max(product.factor.degree for product in self.case.products)

        def packed(monomial: Monomial) -> int:
            """Return a distinct number for each monomial; that of a product is the sum."""
            number = 0
            for exponent in monomial:
                number = number * base + exponent
            return number

        factors = [[(packed(m), float(c)) for m, c in p.factor.terms.items()] for p in self.case.products]
        position: dict[int, int] = {}
        data, at, columns = [], [], []
        for column, (number, monomial) in enumerate(self.columns):
            first = packed(monomial)
            for term, coefficient in factors[number]:
                at.append(position.setdefault(first + term, len(position)))
                columns.append(column)
                data.append(coefficient)
        return scipy.sparse.csc_matrix((data, (at, columns)), shape=(len(position), len(self.columns)))

    def _strictly_positive(self) -> scipy.sparse.csr_matrix:
        """Return a row per multiplier that must be positive: its terms in positive variables only."""
        positive_rows = [n for n, product in enumerate(self.case.products) if product.multiplier == "positive"]
        rows = np.zeros((len(positive_rows), len(self.columns)))
        for column, (number, monomial) in enumerate(self.columns):
            if number in positive_rows and only(monomial, self.case.positive):
                rows[positive_rows.index(number), column] = 1.0
        return scipy.sparse.csr_matrix(rows)

    def _rounded(self, solution: Floats) -> Iterator[Multipliers]:
        width = self.case.products[0].factor.width
        for largest in DENOMINATORS:
            terms: list[dict[Monomial, Fraction]] = [{} for _ in self.case.products]
            for (number, monomial), x in zip(self.columns, solution.tolist(), strict=True):
                if abs(x) > 1e-9:
                    terms[number][monomial] = Fraction(x).limit_denominator(largest)
            yield tuple(Polynomial(t, width) for t in terms)


def _monomials(live: list[int], width: int, degree: int, exactly: bool) -> Iterator[Monomial]:
    for total in (degree,) if exactly else range(degree + 1):
        for factors in combinations_with_replacement(live, total):
            exponents = [0] * width
            for i in factors:
                exponents[i] += 1
            yield tuple(exponents)


def as_text(
    multipliers: Multipliers, products: tuple[Product, ...], names: tuple[str, ...]
) -> dict[str, dict[str, str]]:
    """Return multipliers as plain values to store, without those that are 0."""
    return {p.name: m.text(names) for p, m in zip(products, multipliers, strict=True) if m}


def from_text(written: dict[str, dict[str, str]], products: tuple[Product, ...], names: tuple[str, ...]) -> Multipliers:
    """Read what `as_text` wrote."""
    return tuple(Polynomial.read(written.get(product.name, {}), names) for product in products)
