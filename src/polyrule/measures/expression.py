"""Measures written as expressions, such as ``tp / (tp + fp + 0.5*fn)``; see `grammar` for what may be written.

Expressions that are a linear function of the counts over another one become a `RatioMeasure`, with all that is proved
about those. Others made of + - * / and whole powers are evaluated exactly, and so are products of square roots, up to
256 binary places, which orders them correctly; with other roots, a logarithm or a broken power the values are doubles.
Any division by 0 gives 0, as everywhere.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np

from polyrule.arrays import Floats
from polyrule.budget import current_limits
from polyrule.errors import MeasureError
from polyrule.measures.association import root_of
from polyrule.measures.base import Measure
from polyrule.measures.grammar import LONGEST, VARIABLES, Node, tree
from polyrule.measures.ratio import RatioMeasure

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
        self.exact = self.square is not None or not _has_roots(root)
        self.value(2, 1, 3, 1)

    @cached_property
    def monotone(self) -> bool:  # type: ignore[override]
        """Whether the value never falls as TP or TN grows and never rises as FP or FN grows, where that is proved."""
        # Proofs speak of expressions, and an expression is asked for one.
        from polyrule.measures.proofs.normal_form import is_monotone

        return self.exact and is_monotone(self.square or self.root)

    @cached_property
    def variables(self) -> frozenset[str]:
        """The counts that occur."""
        return frozenset(_variables(self.root))

    def in_units(self, unit: Fraction) -> ExpressionMeasure:
        """Write the unit before every count, unless the expression is the same in every unit."""
        same = self.exact and degree(self.root) == 0
        return self if same else ExpressionMeasure(self.name, _times(self.root, unit))

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Evaluate the expression; doubles become exact fractions."""
        counts = {name: Fraction(count) for name, count in zip(VARIABLES, (tp, fp, tn, fn), strict=True)}
        try:
            if self.square is not None:
                return root_of(Fraction(_evaluate(self.square, counts, Fraction, _EXACTLY)))
            number = Fraction(_evaluate(self.root, counts, Fraction, _EXACTLY))
        except (OverflowError, ValueError):
            number = None
        if number is None:
            raise MeasureError(
                f"measure {self.name!r} has no finite value for tp={tp}, fp={fp}, tn={tn}, fn={fn}; guard it, for "
                "example with max(…, 0)"
            )
        return number

    def keeps_order(self, most: int) -> bool:
        """Whether `ordered_values` compare like the exact values while no count exceeds `most`."""
        return self.exact and keeps_order(self.square or self.root, most)

    def ordered_values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Return doubles in the order of the values: the values rounded, or their squares."""
        return ordered_values(self.square or self.root, (tp, fp, tn, fn))

    def quick_values(self, tp: Any, fp: Any, tn: Any, fn: Any) -> Floats:
        """Evaluate in doubles, whole arrays at once; exactly where that runs into infinity or has no value."""
        counts = {name: np.asarray(x, dtype=np.float64) for name, x in zip(VARIABLES, (tp, fp, tn, fn), strict=True)}
        with np.errstate(all="ignore"):
            found = np.broadcast_to(_evaluate(self.root, counts, np.float64, _ON_ARRAYS), counts["tp"].shape)
        return np.array(found) if np.isfinite(found).all() else self.values(tp, fp, tn, fn)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExpressionMeasure) and (self.name, self.root) == (other.name, other.root)

    def __hash__(self) -> int:
        return hash((self.name, self.root))

    def __repr__(self) -> str:
        return f"ExpressionMeasure({self.name!r})"


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
    """Return how many digits, before or after the point, numbers reach while counts are 1, at most.

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


def _variables(node: Node) -> Iterator[str]:
    if node.kind in VARIABLES:
        yield node.kind
    for operand in node.operands:
        yield from _variables(operand)


Number = Fraction | float


def _evaluate(node: Node, counts: dict[str, Any], number: Callable[[Fraction], Any], apply: dict[str, Any]) -> Any:
    """Evaluate an expression, exactly or for whole arrays: as `number` and the operators of `apply` do it."""
    if node.kind == "number":
        return number(node.number)
    if node.kind in counts:
        return counts[node.kind]
    return apply[node.kind](*(_evaluate(operand, counts, number, apply) for operand in node.operands))


def _divide(x: Number, y: Number) -> Number:
    return x / y if y else Fraction(0)


def _raise(x: Number, y: Number) -> Number:
    if not x and y < 0:
        return Fraction(0)
    if isinstance(y, Fraction) and y.denominator == 1:
        return x ** int(y)
    if x < 0:
        raise ValueError
    return math.pow(x, y)


def _divide_arrays(x: Floats, y: Floats) -> Floats:
    top, bottom = np.broadcast_arrays(x, y)
    return np.asarray(np.divide(top, bottom, out=np.zeros(top.shape), where=bottom != 0))


def _raise_arrays(x: Floats, y: Floats) -> Floats:
    return np.where((x == 0) & (y < 0), 0.0, x**y)


_PLAIN: dict[str, Callable[..., Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul, "abs": abs}
_EXACTLY = _PLAIN | {"/": _divide, "**": _raise, "sqrt": math.sqrt, "log": math.log, "min": min, "max": max}
_ON_ARRAYS = _PLAIN | {
    "/": _divide_arrays,
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
    return _square(node) if _has_square_root(node) else None


def degree(node: Node) -> Fraction | None:
    """Return d where k times the counts give k**d times the value; None where there is no such d.

    >>> degree(tree("tp*tn / (tp+fn)")), degree(tree("sqrt(tp/(tp+fp))")), degree(tree("log(1 + tp)"))
    (Fraction(1, 1), Fraction(0, 1), None)
    """
    if node.kind == "number" or node.kind in VARIABLES:
        return Fraction(node.kind in VARIABLES)
    first, *others = [degree(part) for part in node.operands if part != Node("number") or node.kind in "*/**"]
    if first is None or None in others:
        return None
    if node.kind in ("*", "/", "**"):
        power = {"*": first + (others[0] or 0), "/": first - (others[0] or 0)}
        return power.get(node.kind, first * node.operands[1].number)
    if node.kind == "sqrt":
        return first / 2
    same = all(other == first for other in others) and (node.kind != "log" or first == 0)
    return first if same else None


def _times(node: Node, unit: Fraction) -> Node:
    if node.kind in VARIABLES:
        return Node("*", (Node("number", number=unit), node))
    return Node(node.kind, tuple(_times(operand, unit) for operand in node.operands), node.number)


def _has_square_root(node: Node) -> bool:
    return node.kind == "sqrt" or any(map(_has_square_root, node.operands))


def _square(node: Node) -> Node | None:
    if node.kind == "sqrt":
        inner = node.operands[0]
        return None if _has_roots(inner) or not _never_negative(inner) else inner
    if node.kind in ("*", "/"):
        left, right = (_square(operand) for operand in node.operands)
        return None if left is None or right is None else Node(node.kind, (left, right))
    if not _has_roots(node) and _never_negative(node):
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


def _has_roots(node: Node) -> bool:
    broken = node.kind == "**" and node.operands[1].number.denominator != 1
    return broken or node.kind in ("sqrt", "log") or any(_has_roots(operand) for operand in node.operands)


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
        return (top**power, bottom**power) if power >= 0 else _divided(bottom**-power, top**-power)
    (a, b), (c, d) = (_quotient(operand, counts) for operand in node.operands)
    if node.kind == "*":
        return a * c, b * d
    if node.kind == "/":
        return _divided(a * d, b * c)
    return (a * d + c * b if node.kind == "+" else a * d - c * b), b * d


def _divided(top: Any, bottom: Any) -> Parts:
    return np.where(bottom == 0, 0.0, top * np.sign(bottom)), np.where(bottom == 0, 1.0, np.abs(bottom))
