"""Measures written as expressions, such as ``tp / (tp + fp + 0.5*fn)``; see `grammar` for what may be written.

Expressions that are a linear function of the counts over another one become a `RatioMeasure`, with all that is proved
about those. Others made of + - * / and whole powers are evaluated exactly, and so are products of square roots, up to
256 binary places, which orders them correctly; with other roots, a logarithm or a broken power the values are doubles.
Any division by 0 gives 0, as everywhere.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np

from polyrule.errors import MeasureError
from polyrule.measures.association import root_of
from polyrule.measures.base import Measure, divided
from polyrule.measures.grammar import LONGEST, VARIABLES, Node, evaluate, node_types, tree
from polyrule.measures.ratio import RatioMeasure
from polyrule.utils.arrays import Floats
from polyrule.utils.budget import current_limits

ROOTS = {"sqrt", "log", "root"}
MOST_DIGITS = 150  # doubles hold about 300, and counts need some


class ExpressionMeasure(Measure):
    """A measure given by an expression that is no ratio of linear functions.

    Examples
    --------
    >>> parse("tp * tn / (tp + fn)").value(3, 1, 4, 3)
    Fraction(2, 1)
    """

    def __init__(self, name: str, root: Node) -> None:
        self.name = name
        self.root = root
        self.square = square_of(root)
        self.exact = self.square is not None or not ROOTS & node_types(root)
        self.value(2, 1, 3, 1)

    @cached_property
    def monotone(self) -> bool:  # type: ignore[override]
        """True if the value never falls as TP or TN grows and never rises as FP or FN grows, where that is proved."""
        # Proofs import expressions, so an expression imports them late.
        from polyrule.measures.proofs.normal_form import is_monotone

        return self.exact and is_monotone(self.square or self.root)

    @cached_property
    def variables(self) -> set[str]:
        """The counts that occur."""
        return node_types(self.root) & {*VARIABLES}

    def in_units(self, unit: Fraction) -> ExpressionMeasure:
        """Write the unit before every count, unless the expression is the same in every unit."""
        same = self.exact and degree(self.root) == 0
        return self if same else ExpressionMeasure(self.name, _times(self.root, unit))

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Evaluate the expression; doubles become exact fractions."""
        counts = {name: Fraction(count) for name, count in zip(VARIABLES, (tp, fp, tn, fn), strict=True)}
        try:
            if self.square is not None:
                return root_of(Fraction(evaluate(self.square, counts, Fraction, _EXACTLY)))
            number = Fraction(evaluate(self.root, counts, Fraction, _EXACTLY))
        except (OverflowError, ValueError):
            number = None
        if number is None:
            raise MeasureError(
                f"measure {self.name!r} has no finite value for tp={tp}, fp={fp}, tn={tn}, fn={fn}; guard it, for "
                "example with max(…, 0)"
            )
        return number

    def keeps_order(self, max_count: int) -> bool:
        """Return True if `ordered_values` compare like the exact values while no count exceeds `max_count`.

        >>> parse("tp**2 / (tp + fp)").keeps_order(10_000), parse("tp**2 / (tp + fp)").keeps_order(10**6)
        (True, False)
        >>> parse("sqrt(tp) - 1").keeps_order(10)
        False
        """
        root = self.square or self.root
        if not self.exact or not node_types(root) <= {*VARIABLES, *_LARGEST}:
            return False
        try:
            top, bottom = evaluate(
                root, dict.fromkeys(VARIABLES, (max_count, 1)), lambda n: abs(n).as_integer_ratio(), _LARGEST
            )
        except OverflowError:
            return False
        return bool(top * bottom < _IN_ORDER)

    def ordered_values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Return doubles in the order of the values: the values, each rounded once, or their squares.

        >>> parse("tp**2 / (tp + fp)").ordered_values([3, 0], [1, 0], [0, 0], [0, 0])
        array([2.25, 0.  ])
        """
        counts = {name: np.asarray(x, dtype=np.float64) for name, x in zip(VARIABLES, (tp, fp, tn, fn), strict=True)}
        pairs = {name: (count, 1.0) for name, count in counts.items()}
        top, bottom = evaluate(self.square or self.root, pairs, Fraction.as_integer_ratio, _IN_PARTS)
        return np.array(np.broadcast_to(top / bottom, counts["tp"].shape))

    def quick_values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Evaluate in doubles, whole arrays at once; exactly where that runs into infinity or has no value."""
        counts = {name: np.asarray(x, dtype=np.float64) for name, x in zip(VARIABLES, (tp, fp, tn, fn), strict=True)}
        with np.errstate(all="ignore"):
            values = np.broadcast_to(evaluate(self.root, counts, np.float64, _ON_ARRAYS), counts["tp"].shape)
        return np.array(values) if np.isfinite(values).all() else self.values(tp, fp, tn, fn)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExpressionMeasure) and (self.name, self.root) == (other.name, other.root)

    def __hash__(self) -> int:
        return hash((self.name, self.root))


def parse(text: str) -> Measure:
    """Turn an expression into a measure.

    Examples
    --------
    >>> parse("tp/(tp+fp+0.5*fn)")
    RatioMeasure('tp/(tp+fp+0.5*fn)', 2·TP / (2·TP + 2·FP + FN))
    >>> parse("tp/(tp+fp+0.5*fn")
    Traceback (most recent call last):
        ...
    polyrule.errors.MeasureError: measure 'tp/(tp+fp+0.5*fn': expected ')' at position 17, found the end
    """
    allowed = current_limits()
    allowed.check_bytes("measure", len(text))
    allowed.check_time("measure")
    name = " ".join(text[: LONGEST + 1].split())
    root = tree(text)
    if _digits(root) > MOST_DIGITS:
        raise MeasureError(f"measure {name!r}: its numbers grow beyond {MOST_DIGITS} digits; use smaller ones")
    rows = _as_ratio(root)
    if rows is not None and any(rows[1]):
        return RatioMeasure(name, *rows)
    return ExpressionMeasure(name, root)


def _digits(node: Node) -> float:
    """Return the largest number of digits, before or after the point, while counts are 1.

    >>> _digits(tree("1e99**8 * tp")), _digits(tree("sqrt(tp / 1e-20)"))
    (792.0, 20.0)
    """
    if node.kind == "number":
        return abs(math.log10(abs(node.number.numerator) or 1) - math.log10(node.number.denominator))
    parts = [_digits(operand) for operand in node.operands]
    if node.kind == "**":
        return parts[0] * abs(float(node.operands[1].number))
    if node.kind in "*/":
        return sum(parts)
    return max(parts, default=0.0) + (math.log10(2) if node.kind in "+-" else 0.0)


Number = Fraction | float


def _divide(x: Number, y: Number) -> Number:
    return x / y if y else Fraction(0)


def _raise(x: Number, power: Fraction) -> Number:
    if not x and power < 0:
        return Fraction(0)
    if power.denominator == 1:
        return x ** int(power)
    if x < 0:
        raise ValueError
    return math.pow(x, power)


def _raise_arrays(x: Floats, power: Fraction) -> Floats:
    return np.where((x == 0) & (power < 0), 0.0, x ** float(power))


_PLAIN: dict[str, Callable[..., Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul, "abs": abs}
_EXACTLY = _PLAIN | {"/": _divide, "**": _raise, "sqrt": math.sqrt, "log": math.log, "min": min, "max": max}
_ON_ARRAYS = _PLAIN | {
    "/": divided,
    "**": _raise_arrays,
    "sqrt": np.sqrt,
    "log": np.log,
    "min": lambda *parts: reduce(np.minimum, parts),
    "max": lambda *parts: reduce(np.maximum, parts),
}


def square_of(node: Node) -> Node | None:
    """Return the square of a product of square roots and of numbers that are never negative; None for anything else.

    The square orders counts as the value does, and it can be computed exactly.

    >>> square_of(tree("sqrt(tp * tn)")) == tree("tp * tn"), square_of(tree("sqrt(tp) - fp"))
    (True, None)
    """
    return _square(node) if "sqrt" in node_types(node) else None


def degree(node: Node) -> Fraction | None:
    """Return d where k times the counts give k**d times the value; None where there is no such d.

    >>> degree(tree("tp*tn / (tp+fn)")), degree(tree("sqrt(tp/(tp+fp))")), degree(tree("log(1 + tp)"))
    (Fraction(1, 1), Fraction(0, 1), None)
    """
    if node.kind == "number" or node.kind in VARIABLES:
        return Fraction(node.kind in VARIABLES)
    degrees = [degree(part) for part in node.operands if part != Node("number") or node.kind in "*/**"]
    if not degrees or None in degrees:
        return None if degrees else Fraction(0)
    first, *rest = degrees
    assert first is not None
    if node.kind in ("*", "/", "**"):
        power = {"*": first + (rest[0] or 0), "/": first - (rest[0] or 0)}
        return power.get(node.kind, first * node.operands[1].number)
    if node.kind == "sqrt":
        return first / 2
    same = all(other == first for other in rest) and (node.kind != "log" or first == 0)
    return first if same else None


def _times(node: Node, unit: Fraction) -> Node:
    if node.kind in VARIABLES:
        return Node("*", (Node("number", number=unit), node))
    return Node(node.kind, tuple(_times(operand, unit) for operand in node.operands), node.number)


def _square(node: Node) -> Node | None:
    if node.kind == "sqrt":
        inner = node.operands[0]
        return inner if not ROOTS & node_types(inner) and _never_negative(inner) else None
    if node.kind in ("*", "/"):
        left, right = (_square(operand) for operand in node.operands)
        return None if left is None or right is None else Node(node.kind, (left, right))
    if not ROOTS & node_types(node) and _never_negative(node):
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
    return node.kind == "abs" or (
        node.kind in ("+", "*", "/", "max", "min") and all(map(_never_negative, node.operands))
    )


Linear = list[Fraction]
ONE: Linear = [Fraction(1), *[Fraction(0)] * 4]


def _as_ratio(node: Node) -> tuple[Linear, Linear] | None:
    """Return the two coefficient rows if the expression is linear over linear, also where something is divided by 0.

    Only one division by counts may take place, at the top or times a number: in ``1 + tp/(fp)`` a zero denominator
    leaves 1, which a ratio measure would call 0.
    """
    linear = _as_linear(node)
    if linear is not None:
        return linear, ONE
    if node.kind == "/":
        top, bottom = _as_linear(node.operands[0]), _as_linear(node.operands[1])
        if top is not None and bottom is not None:
            return top, bottom
        inner = _as_ratio(node.operands[0])
        if inner is not None and bottom is not None and not any(bottom[1:]) and bottom[0]:
            return inner[0], [bottom[0] * x for x in inner[1]]
    if node.kind == "*":
        for factor, other in (node.operands, node.operands[::-1]):
            scale, inner = _as_linear(factor), _as_ratio(other)
            if scale is not None and inner is not None and not any(scale[1:]):
                return [scale[0] * x for x in inner[0]], inner[1]
            if scale is not None and inner is not None and not any(inner[0][1:]):
                return [inner[0][0] * x for x in scale], inner[1]
    if node.kind == "-" and node.operands[0] == Node("number"):
        inner = _as_ratio(node.operands[1])
        return None if inner is None else ([-x for x in inner[0]], inner[1])
    return None


def _as_linear(node: Node) -> Linear | None:
    """Return the coefficients of (constant, TP, FP, TN, FN) if the expression is linear."""
    if node.kind == "number":
        return [node.number, *[Fraction(0)] * 4]
    if node.kind in VARIABLES:
        return [Fraction(0), *(Fraction(int(node.kind == name)) for name in VARIABLES)]
    if len(node.operands) != 2:
        return None
    x, y = _as_linear(node.operands[0]), _as_linear(node.operands[1])
    if x is None or y is None:
        return None
    if node.kind in "+-":
        sign = 1 if node.kind == "+" else -1
        return [a + sign * b for a, b in zip(x, y, strict=True)]
    if node.kind == "*" and not (any(x[1:]) and any(y[1:])):
        scale, other = (y[0], x) if any(x[1:]) else (x[0], y)
        return [scale * a for a in other]
    if node.kind == "/" and not any(y[1:]) and y[0]:
        return [a / y[0] for a in x]
    if node.kind == "**" and not any(x[1:]) and y[0].denominator == 1 and (x[0] or y[0] >= 0):
        return [x[0] ** int(y[0]), *[Fraction(0)] * 4]
    return x if node.kind == "**" and y[0] == 1 else None


# Doubles that are ordered as the exact values are, for kernels that only compare. Top and bottom of the quotient that
# an expression stands for are whole numbers. Two different quotients a/b > c/d differ by at least 1/(bd), a share of at
# least 1/(ad) of the larger one. As long as all tops times all bottoms stay below 2**51 the rounded quotients differ,
# too, and in the same direction; equal quotients round to the same double.
_EXACT = 2**53
_IN_ORDER = 2**51

Parts = tuple[Any, Any]
"""Top and bottom of a quotient; the bottom is positive."""


def _arithmetic(difference: Callable[[Parts, Parts], Parts], inverse: Callable[[Parts], Parts]) -> dict[str, Any]:
    """Return the operations on quotients, from the difference and the inverse."""

    def power(base: Parts, exponent: Fraction) -> Parts:
        top, bottom = base if exponent >= 0 else inverse(base)
        return top ** abs(int(exponent)), bottom ** abs(int(exponent))

    return {
        "+": _sum,
        "-": difference,
        "*": _product,
        "/": lambda x, y: _product(x, inverse(y)),
        "**": power,
    }


def _sum(x: Parts, y: Parts) -> Parts:
    return x[0] * y[1] + y[0] * x[1], x[1] * y[1]


def _product(x: Parts, y: Parts) -> Parts:
    return x[0] * y[0], x[1] * y[1]


def _inverse(x: Parts) -> Parts:
    top, bottom = x
    return np.where(top == 0, 0.0, bottom * np.sign(top)), np.where(top == 0, 1.0, np.abs(top))


def _limited(operation: Callable[..., Parts]) -> Callable[..., Parts]:
    """Return an operation that raises OverflowError for what doubles do not hold exactly."""

    def apply(*operands: Any) -> Parts:
        parts = operation(*operands)
        if max(parts) >= _EXACT:
            raise OverflowError
        return parts

    return apply


_IN_PARTS = _arithmetic(lambda x, y: _sum(x, (-y[0], y[1])), _inverse)
#: The same for what tops and bottoms are at most.
_LARGEST = {kind: _limited(apply) for kind, apply in _arithmetic(_sum, lambda x: (x[1], max(x[0], 1))).items()}
