"""Polynomials with rational coefficients: as much arithmetic as the proofs need, exact and plain.

`effort` limits the cost of a search for a proof: work, counted in products of terms, and time until a
deadline. Without a deadline the work alone decides, so that the same proofs are found on every machine.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction

Monomial = tuple[int, ...]  # the exponent of every variable
Number = int | Fraction
_FRACTION = re.compile(r"-?\d{1,60}(/\d{1,60})?")


class Polynomial:
    """A polynomial in a fixed number of variables, which are known by position.

    Examples
    --------
    >>> x, y = Polynomial.variable(0, 2), Polynomial.variable(1, 2)
    >>> ((x + y) * (x - y)).text(("x", "y"))
    {'x*x': '1', 'y*y': '-1'}
    """

    __slots__ = ("terms", "width")

    def __init__(self, terms: Mapping[Monomial, Number], width: int) -> None:
        # what is a fraction stays the object it is: making it anew would be most of the work of adding two polynomials
        self.terms = {m: c if type(c) is Fraction else Fraction(c) for m, c in terms.items() if c}
        self.width = width

    @classmethod
    def constant(cls, number: Number, width: int) -> Polynomial:
        """Return a number as a polynomial."""
        return cls({(0,) * width: number}, width)

    @classmethod
    def variable(cls, position: int, width: int) -> Polynomial:
        """Return a variable as a polynomial."""
        return cls({tuple(int(i == position) for i in range(width)): 1}, width)

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms[monomial] + coefficient if monomial in terms else coefficient
        return Polynomial(terms, self.width)

    def __neg__(self) -> Polynomial:
        return Polynomial({m: -c for m, c in self.terms.items()}, self.width)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: dict[Monomial, Fraction] = {}
        spend(len(self.terms) * len(other.terms))
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                monomial, product = times(left, right), a * b
                terms[monomial] = terms[monomial] + product if monomial in terms else product
        return Polynomial(terms, self.width)

    def __pow__(self, exponent: int) -> Polynomial:
        result = Polynomial.constant(1, self.width)
        for _ in range(exponent):
            result = result * self
        return result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def degree(self) -> int:
        """Largest total degree; 0 for a constant and for 0."""
        return max((sum(m) for m in self.terms), default=0)

    @property
    def is_homogeneous(self) -> bool:
        """True if all terms have the same degree."""
        return len({sum(m) for m in self.terms}) <= 1

    @property
    def is_constant(self) -> bool:
        """True if no variable occurs."""
        return self.degree == 0

    @property
    def never_negative(self) -> bool:
        """True if no coefficient is negative, so that no value is while the variables are not."""
        return all(c > 0 for c in self.terms.values())

    def is_positive(self, positive: frozenset[int]) -> bool:
        """Return True if it is positive for certain: no negative coefficient, and a term of positive variables only."""
        return self.never_negative and any(only(m, positive) for m in self.terms)

    def variables(self) -> set[int]:
        """Return the positions of the variables that occur."""
        return {i for m in self.terms for i, exponent in enumerate(m) if exponent}

    def divided_by(self, other: Polynomial) -> Polynomial | None:
        """Return the quotient where the division leaves nothing over, else None.

        >>> x, y = Polynomial.variable(0, 2), Polynomial.variable(1, 2)
        >>> (x * x - y * y).divided_by(x - y) == x + y, (x * x + y).divided_by(x)
        (True, None)
        """
        if not other:
            return None
        lead = max(other.terms)
        rest, quotient = self, Polynomial({}, self.width)
        while rest:
            spend(len(rest.terms))
            top = max(rest.terms)
            if any(a < b for a, b in zip(top, lead, strict=True)):
                return None
            step = Polynomial(
                {tuple(a - b for a, b in zip(top, lead, strict=True)): rest.terms[top] / other.terms[lead]}, self.width
            )
            quotient, rest = quotient + step, rest - step * other
        return quotient

    def text(self, names: tuple[str, ...]) -> dict[str, str]:
        """Return plain values to store: a product of names, repeated for powers, to a fraction as text."""
        written = {}
        for monomial, coefficient in sorted(self.terms.items(), reverse=True):
            factors = [name for name, exponent in zip(names, monomial, strict=True) for _ in range(exponent)]
            written["*".join(factors) or "1"] = str(coefficient)
        return written

    @classmethod
    def read(cls, written: Mapping[str, str], names: tuple[str, ...]) -> Polynomial:
        """Read what `text` wrote; KeyError for a name that does not occur, ValueError for what is no short fraction."""
        position = {name: i for i, name in enumerate(names)}
        terms: dict[Monomial, Fraction] = {}
        for product, coefficient in written.items():
            exponents = [0] * len(names)
            for factor in product.split("*") if product != "1" else ():
                exponents[position[factor]] += 1
            if not _FRACTION.fullmatch(coefficient):
                raise ValueError(f"not a fraction: {coefficient[:40]!r}")
            terms[tuple(exponents)] = Fraction(coefficient)
        return cls(terms, len(names))


def times(left: Monomial, right: Monomial) -> Monomial:
    """Multiply two monomials."""
    return tuple(a + b for a, b in zip(left, right, strict=True))


def only(monomial: Monomial, allowed: Iterable[int]) -> bool:
    """Return True if no variable occurs but the allowed ones."""
    return all(not exponent or i in allowed for i, exponent in enumerate(monomial))


#: Products of terms in the search for one certificate, a fraction of a second; those that were ever found took 3,000.
MOST_WORK = 20_000


class OutOfReach(Exception):
    """There is no answer of this kind, or none at the price that may be paid."""


@dataclass
class _Effort:
    left: int
    deadline: float | None


_EFFORT: ContextVar[_Effort | None] = ContextVar("effort", default=None)


@contextmanager
def effort(max_work: int, deadline: float | None = None) -> Iterator[None]:
    """Allow `max_work` units of work inside the block, until `deadline` in CPU seconds of the process.

    >>> with effort(10):
    ...     spend(11)
    Traceback (most recent call last):
        ...
    polyrule.measures.proofs.polynomial.OutOfReach: this takes too long
    """
    token = _EFFORT.set(_Effort(max_work, deadline))
    try:
        yield
    finally:
        _EFFORT.reset(token)


def spend(work: int) -> None:
    """Record work before it is done; raise `OutOfReach` if it exceeds the limit."""
    allowed = _EFFORT.get()
    if allowed is None:
        return
    allowed.left -= work
    if allowed.left < 0 or (allowed.deadline is not None and time.process_time() > allowed.deadline):
        raise OutOfReach("this takes too long")
