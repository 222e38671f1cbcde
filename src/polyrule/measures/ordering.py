"""Doubles that are ordered as the exact values of an expression are, for kernels that only compare.

Top and bottom of the quotient that an expression stands for are whole numbers. Two different quotients a/b > c/d differ
by at least 1/(bd), a share of at least 1/(ad) of the larger one. As long as all tops times all bottoms stay below 2**51
the rounded quotients differ, too, and in the same direction; equal quotients round to the same double.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyrule.arrays import Floats
from polyrule.measures.grammar import VARIABLES, Node

_EXACT = 2**53
_IN_ORDER = 2**51


def keeps_order(root: Node, most: int) -> bool:
    """Whether `ordered_values` are in the order of the exact values while no count exceeds `most`.

    >>> from polyrule.measures.grammar import tree
    >>> keeps_order(tree("tp**2 / (tp + fp)"), 10_000), keeps_order(tree("tp**2 / (tp + fp)"), 10**6)
    (True, False)
    >>> keeps_order(tree("sqrt(tp)"), 10)
    False
    """
    parts = _largest(root, most)
    return parts is not None and parts[0] * parts[1] < _IN_ORDER


def ordered_values(root: Node, counts: tuple[Any, Any, Any, Any]) -> Floats:
    """Return the quotients of arrays of counts, each rounded once.

    >>> from polyrule.measures.grammar import tree
    >>> ordered_values(tree("tp**2 / (tp + fp)"), ([3, 0], [1, 0], [0, 0], [0, 0]))
    array([2.25, 0.  ])
    """
    arrays = {name: np.asarray(x, dtype=np.float64) for name, x in zip(VARIABLES, counts, strict=True)}
    top, bottom = _quotient(root, arrays)
    return np.array(np.broadcast_to(top / bottom, arrays["tp"].shape))


Parts = tuple[Any, Any]


def _largest(node: Node, most: int) -> tuple[int, int] | None:
    """Return what top and bottom of a part are at most; None where they are no whole numbers, or too large ones."""
    if node.kind == "number":
        return abs(node.number.numerator), node.number.denominator
    if node.kind in VARIABLES:
        return most, 1
    if node.kind == "**":
        base, power = _largest(node.operands[0], most), node.operands[1].number
        if base is None or node.operands[1].kind != "number" or power.denominator != 1:
            return None
        top, bottom = base if power >= 0 else (base[1], max(base[0], 1))
        found = top ** abs(int(power)), bottom ** abs(int(power))
    else:
        if node.kind not in ("+", "-", "*", "/"):
            return None
        left, right = (_largest(operand, most) for operand in node.operands)
        if left is None or right is None:
            return None
        (a, b), (c, d) = left, right
        found = {"*": (a * c, b * d), "/": (a * d, b * max(c, 1))}.get(node.kind, (a * d + c * b, b * d))
    return found if max(found) < _EXACT else None


def _quotient(node: Node, counts: dict[str, Floats]) -> Parts:
    """Return top and bottom; the bottom is positive, and what is divided by 0 is 0."""
    if node.kind == "number":
        return float(node.number.numerator), float(node.number.denominator)
    if node.kind in counts:
        return counts[node.kind], 1.0
    if node.kind == "**":
        power = int(node.operands[1].number)
        top, bottom = _quotient(node.operands[0], counts)
        return (top**power, bottom**power) if power >= 0 else _divide(bottom**-power, top**-power)
    (a, b), (c, d) = (_quotient(operand, counts) for operand in node.operands)
    if node.kind == "*":
        return a * c, b * d
    if node.kind == "/":
        return _divide(a * d, b * c)
    return (a * d + c * b if node.kind == "+" else a * d - c * b), b * d


def _divide(top: Any, bottom: Any) -> Parts:
    return np.where(bottom == 0, 0.0, top * np.sign(bottom)), np.where(bottom == 0, 1.0, np.abs(bottom))
