"""Measures as expressions that order counts alike: what the lemmas are about is order alone."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from polyrule.measures.association import SPECS, Association
from polyrule.measures.base import Measure
from polyrule.measures.expression import ExpressionMeasure
from polyrule.measures.grammar import VARIABLES, Node, tree
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
    >>> order_of(measures.get("sqrt(tp * tn)")) == order_of(measures.get("tp * tn"))
    True
    """
    if isinstance(measure, ExpressionMeasure):
        return measure.root if measure.square is None else measure.square
    if isinstance(measure, RatioMeasure):
        return Node("/", (_sum(measure.numerator), _sum(measure.denominator)))
    if isinstance(measure, Matthews):
        return tree(MATTHEWS)
    if isinstance(measure, Association):
        return tree(SPECS[measure.name].written)
    if isinstance(measure, RationalMeasure) and measure.function in FORMULAS:
        m = f"({measure.parameters[0]})" if measure.parameters else ""
        return tree(FORMULAS[measure.function].format(m=m))
    return None


def _sum(row: Row) -> Node:
    one = Node("number", number=Fraction(1))
    symbols = (one, *map(Node, VARIABLES))
    terms = [Node("*", (Node("number", number=Fraction(c)), s)) for c, s in zip(row, symbols, strict=True) if c]
    return reduce(lambda a, b: Node("+", (a, b)), terms) if terms else Node("number")
