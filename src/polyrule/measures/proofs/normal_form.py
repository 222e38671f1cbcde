"""An expression at a point as one polynomial over another that is positive there.

A point is a sum of count vectors; which of their entries are 0, positive or merely not negative is decided case by
case, as far as it matters for a division by 0, which gives 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polyrule.measures.grammar import Node
from polyrule.measures.proofs.effort import OutOfReach
from polyrule.measures.proofs.polynomial import Polynomial

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
    width = next(iter(point.values())).width
    one = Polynomial.constant(1, width)
    if node.kind == "number":
        return Quotient(Polynomial.constant(node.number, width), one)
    if node.kind in point:
        return Quotient(point[node.kind], one)
    if node.kind not in ("+", "-", "*", "/", "**"):
        raise NoNormalForm(f"{node.kind} is no polynomial")
    left = quotient(node.operands[0], point, positive)
    if node.kind == "**":
        return _power(left, node, positive)
    right = quotient(node.operands[1], point, positive)
    if node.kind == "*":
        return _product(left, right)
    if node.kind == "/":
        return _product(left, _inverse(right, positive))
    return _sum(left, right, 1 if node.kind == "+" else -1)


def _power(base: Quotient, node: Node, positive: frozenset[int]) -> Quotient:
    exponent = node.operands[1].number
    if exponent.denominator != 1:
        raise NoNormalForm("a broken power is no polynomial")
    whole = int(exponent)
    if whole < 0:
        base = _inverse(base, positive)
    return Quotient(_small(base.top ** abs(whole)), _small(base.bottom ** abs(whole)))


def _inverse(given: Quotient, positive: frozenset[int]) -> Quotient:
    """Return 1 / given, or 0 where given is 0."""
    top, bottom = given.top, given.bottom
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


def _sum(left: Quotient, right: Quotient, sign: int) -> Quotient:
    signed = right.top if sign == 1 else -right.top
    if left.bottom == right.bottom:
        return Quotient(left.top + signed, left.bottom)
    more = left.bottom.divided_by(right.bottom)
    if more is not None:
        return Quotient(left.top + _small(signed * more), left.bottom)
    more = right.bottom.divided_by(left.bottom)
    if more is not None:
        return Quotient(_small(left.top * more) + signed, right.bottom)
    top = _small(left.top * right.bottom) + _small(signed * left.bottom)
    return Quotient(top, _small(left.bottom * right.bottom))


def _small(polynomial: Polynomial) -> Polynomial:
    if len(polynomial.terms) > MOST_TERMS:
        raise NoNormalForm("the polynomials grow too large")
    return polynomial
