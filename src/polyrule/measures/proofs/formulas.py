"""Measures as expressions that order counts alike: what the lemmas are about is order alone."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from polyrule.measures.base import Measure
from polyrule.measures.expression import VARIABLES, ExpressionMeasure, Node, tree
from polyrule.measures.matthews import Matthews
from polyrule.measures.ratio import RatioMeasure, Row
from polyrule.measures.rational import (
    RationalMeasure,
    m_estimate_from_counts,
    true_minus_false_positive_rate,
    weighted_relative_accuracy,
)

FORMULAS = {
    weighted_relative_accuracy: "(tp*tn - fp*fn) / (tp+fp+tn+fn)**2",
    true_minus_false_positive_rate: "tp/(tp+fn) - fp/(fp+tn)",
    m_estimate_from_counts: "(tp + {m}*(tp+fn)/(tp+fp+tn+fn)) / (tp+fp+{m})",
}
MATTHEWS = "(tp*tn - fp*fn) / sqrt((tp+fp)*(tp+fn)*(tn+fp)*(tn+fn))"


def order_of(measure: Measure) -> Node | None:
    """Return an expression that orders counts as the measure does, without roots where possible; None if none is known.

    >>> from polyrule import measures
    >>> order_of(measures.get("sqrt(tp / (tp + fp))")) == order_of(measures.get("tp / (tp + fp)"))
    False
    """
    if isinstance(measure, ExpressionMeasure):
        return without_root(measure.root)
    if isinstance(measure, RatioMeasure):
        return Node("/", (_sum(measure.numerator), _sum(measure.denominator)))
    if isinstance(measure, Matthews):
        return tree(MATTHEWS)
    if isinstance(measure, RationalMeasure) and measure.function in FORMULAS:
        m = f"({measure.parameters[0]})" if measure.parameters else ""
        return tree(FORMULAS[measure.function].format(m=m))
    return None


def without_root(node: Node) -> Node:
    """Square a value that is a product of roots and of numbers that are not negative: that keeps the order."""
    square = _square(node) if _has_root(node) else None
    return node if square is None else square


def _has_root(node: Node) -> bool:
    return node.kind == "sqrt" or any(map(_has_root, node.operands))


def _square(node: Node) -> Node | None:
    """Return the square of a value that cannot be negative, or None where that is not plain to see."""
    if node.kind == "sqrt":
        return None if _has_root(node.operands[0]) else node.operands[0]
    if node.kind in ("*", "/"):
        left, right = (_square(operand) for operand in node.operands)
        return None if left is None or right is None else Node(node.kind, (left, right))
    if not _has_root(node) and _never_negative(node):
        return Node("**", (node, Node("number", number=Fraction(2))))
    return None


def _never_negative(node: Node) -> bool:
    if node.kind == "number":
        return node.number >= 0
    if node.kind in VARIABLES:
        return True
    if node.kind == "**":
        exponent = node.operands[1].number
        return (exponent.denominator == 1 and exponent % 2 == 0) or _never_negative(node.operands[0])
    return node.kind in ("+", "*", "/", "max", "min", "abs") and all(map(_never_negative, node.operands))


def _sum(row: Row) -> Node:
    one = Node("number", number=Fraction(1))
    symbols = (one, *map(Node, VARIABLES))
    terms = [Node("*", (Node("number", number=Fraction(c)), s)) for c, s in zip(row, symbols, strict=True) if c]
    return reduce(lambda a, b: Node("+", (a, b)), terms) if terms else Node("number")
