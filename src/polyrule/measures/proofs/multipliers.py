"""Multipliers that prove a case of a lemma: found by linear programming, checked by multiplying out.

The coefficients of the multipliers are the unknowns, and that a sum of products has no positive coefficient is a
linear condition on them. The program is solved in doubles; what it finds is rounded to fractions and only counts if
it is right exactly.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, islice

import numpy as np
import numpy.typing as npt
import scipy.optimize
import scipy.sparse

from polyrule.measures.proofs.lemmas import Case, Product
from polyrule.measures.proofs.polynomial import Monomial, Polynomial, only, times

Multipliers = tuple[Polynomial, ...]
MOST_UNKNOWNS = 4_000
MOST_ENTRIES = 60_000
DEGREES = (0, 1, 2, 3, 4)
DENOMINATORS = (1, 12, 120, 5040, 10**6)


def find(case: Case, deadline: float | None = None) -> Multipliers | None:
    """Return multipliers of low degree that prove the case, or None; `deadline` is in CPU seconds of the process."""
    if not any(product.factor for product in case.products if product.multiplier != "any"):
        one = Polynomial.constant(1, case.products[0].factor.width)
        none = Polynomial.constant(0, one.width)
        return tuple(none if product.multiplier == "any" else one for product in case.products)
    for degree in DEGREES:
        left = None if deadline is None else deadline - time.process_time()
        if left is not None and left <= 0:
            return None
        program = _Program(case, degree)
        found = program.solve(left) if program.is_small else None
        if found is not None:
            return found
    return None


def holds(case: Case, multipliers: Multipliers) -> bool:
    """Whether the multipliers prove the case; this, and nothing in `find`, is what a proof rests on."""
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
            every = _monomials(live, product.factor.width, room, homogeneous)
            self.columns += [(number, m) for m in islice(every, MOST_UNKNOWNS + 1 - len(self.columns))]
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
        wanted = self._strictly_positive()
        options = {} if seconds is None else {"time_limit": max(seconds, 0.01)}
        zero = np.zeros(matrix.shape[0])
        equal = matrix if self.case.exact else None
        rows = [-wanted] if self.case.exact else [-wanted, matrix]
        limits = np.concatenate([np.full(wanted.shape[0], -1.0), *([] if self.case.exact else [zero])])
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
        position: dict[Monomial, int] = {}
        data, at, columns = [], [], []
        for column, (number, monomial) in enumerate(self.columns):
            for term, coefficient in self.case.products[number].factor.terms.items():
                at.append(position.setdefault(times(monomial, term), len(position)))
                columns.append(column)
                data.append(float(coefficient))
        return scipy.sparse.csc_matrix((data, (at, columns)), shape=(len(position), len(self.columns)))

    def _strictly_positive(self) -> scipy.sparse.csr_matrix:
        """Return a row per multiplier that must be positive: its terms in positive variables only."""
        wanted = [n for n, product in enumerate(self.case.products) if product.multiplier == "positive"]
        rows = np.zeros((len(wanted), len(self.columns)))
        for column, (number, monomial) in enumerate(self.columns):
            if number in wanted and only(monomial, self.case.positive):
                rows[wanted.index(number), column] = 1.0
        return scipy.sparse.csr_matrix(rows)

    def _rounded(self, solution: npt.NDArray[np.float64]) -> Iterator[Multipliers]:
        width = self.case.products[0].factor.width
        for largest in DENOMINATORS:
            terms: list[dict[Monomial, Fraction]] = [{} for _ in self.case.products]
            for (number, monomial), x in zip(self.columns, solution.tolist(), strict=True):
                if abs(x) > 1e-9:
                    terms[number][monomial] = Fraction(x).limit_denominator(largest)
            yield tuple(Polynomial(t, width) for t in terms)


def _monomials(live: list[int], width: int, degree: int, exactly: bool) -> Iterator[Monomial]:
    for total in (degree,) if exactly else range(degree + 1):
        for chosen in combinations_with_replacement(live, total):
            exponents = [0] * width
            for i in chosen:
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
