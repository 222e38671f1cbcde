"""Measures written as expressions, such as ``tp / (tp + fp + 0.5*fn)``: parsed by a small grammar, never run as Python.

::

    sum     = product { ("+" | "-") product }
    product = power { ("*" | "/") power }
    power   = ["-"] atom [ ("**" | "^") ["-"] power ]
    atom    = number | "tp" | "fp" | "tn" | "fn" | function "(" sum { "," sum } ")" | "(" sum ")"

The functions are sqrt, log (natural), abs, min and max. Expressions that are a linear function of the counts over
another one become a `RatioMeasure`, with all that is proved about those. Others made of + - * / and whole powers are
evaluated exactly; only with a root, a logarithm or a broken power are the values doubles. Any division by 0 gives 0,
as everywhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from polyrule.budget import current_limits
from polyrule.errors import MeasureError
from polyrule.measures.base import Measure
from polyrule.measures.ratio import RatioMeasure

LONGEST = 500
DEEPEST = 50
LARGEST_POWER = 8
VARIABLES = ("tp", "fp", "tn", "fn")
FUNCTIONS = {"sqrt": 1, "log": 1, "abs": 1, "min": None, "max": None}
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?"
_TOKEN = re.compile(rf"\s*(?:({_NUMBER})|([A-Za-z_]\w*)|(\*\*|[-+*/^(),]))")


@dataclass(frozen=True)
class Node:
    """A part of an expression: an operator, function, variable or number with its operands."""

    kind: str
    operands: tuple[Node, ...] = ()
    number: Fraction = Fraction(0)


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
        self.exact = not _has_roots(root)
        self.value(2, 1, 3, 1)

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Evaluate the expression; doubles become exact fractions."""
        try:
            result = _evaluate(self.root, {"tp": tp, "fp": fp, "tn": tn, "fn": fn})
            number = Fraction(result)
        except (OverflowError, ValueError):
            number = None
        if number is None:
            raise MeasureError(
                f"measure {self.name!r} has no finite value for tp={tp}, fp={fp}, tn={tn}, fn={fn}; guard it, for "
                "example with max(…, 0)"
            )
        return number

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
    root = _Parser(text).run()
    rows = _as_ratio(root)
    if rows is not None and any(rows[1]):
        return RatioMeasure(name, *rows)
    return ExpressionMeasure(name, root)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        shown = text if len(text) <= 60 else text[:57] + "..."
        self.where = f"measure {shown!r}"
        if len(text) > LONGEST:
            raise MeasureError(f"{self.where}: the expression is longer than {LONGEST} characters")
        self.tokens = self._split()
        self.at = 0
        self.depth = 0

    def _split(self) -> list[tuple[str, int]]:
        tokens, position, text = [], 0, self.text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                start = position + len(text[position:]) - len(text[position:].lstrip())
                raise MeasureError(f"{self.where}: unexpected {text[start]!r} at position {start + 1}")
            tokens.append((match.group(match.lastindex or 0), match.start(match.lastindex or 0) + 1))
            position = match.end()
        return [*tokens, ("", len(text) + 1)]

    def run(self) -> Node:
        root = self._sum()
        if self._peek():
            raise self._unexpected("an operator")
        return root

    def _peek(self) -> str:
        return self.tokens[self.at][0]

    def _take(self, *wanted: str) -> str | None:
        if self._peek() in wanted and self._peek():
            self.at += 1
            return self.tokens[self.at - 1][0]
        return None

    def _need(self, wanted: str) -> None:
        if self._take(wanted) is None:
            raise self._unexpected(repr(wanted))

    def _unexpected(self, wanted: str) -> MeasureError:
        token, position = self.tokens[self.at]
        found = repr(token) if token else "the end"
        return MeasureError(f"{self.where}: expected {wanted} at position {position}, found {found}")

    def _sum(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise MeasureError(f"{self.where}: more than {DEEPEST} nested brackets")
        node = self._product()
        while operator := self._take("+", "-"):
            node = Node(operator, (node, self._product()))
        self.depth -= 1
        return node

    def _product(self) -> Node:
        node = self._power()
        while operator := self._take("*", "/"):
            node = Node(operator, (node, self._power()))
        return node

    def _power(self) -> Node:
        if self._take("-"):
            self.depth += 1
            if self.depth > DEEPEST:
                raise MeasureError(f"{self.where}: more than {DEEPEST} nested signs or brackets")
            inner = self._power()
            self.depth -= 1
            return Node("-", (Node("number"), inner))
        node = self._atom()
        if self._take("**", "^"):
            negative = self._take("-") is not None
            position = self.tokens[self.at][1]
            exponent = self._atom()
            if exponent.kind != "number" or exponent.number > LARGEST_POWER:
                raise MeasureError(
                    f"{self.where}: the exponent at position {position} must be a number up to {LARGEST_POWER}"
                )
            node = Node("**", (node, Node("number", number=-exponent.number if negative else exponent.number)))
        return node

    def _atom(self) -> Node:
        token = self._peek()
        if token and (token[0].isdigit() or token[0] == "."):
            self.at += 1
            return Node("number", number=Fraction(token))
        name = token.lower()
        if name in VARIABLES:
            self.at += 1
            return Node(name)
        if name in FUNCTIONS:
            self.at += 1
            return self._call(name)
        if self._take("("):
            node = self._sum()
            self._need(")")
            return node
        raise self._unexpected("a number, tp, fp, tn, fn, a function (sqrt, log, abs, min, max) or '('")

    def _call(self, name: str) -> Node:
        self._need("(")
        operands = [self._sum()]
        while self._take(","):
            operands.append(self._sum())
        self._need(")")
        wanted = FUNCTIONS[name]
        if (wanted is not None and len(operands) != wanted) or (wanted is None and len(operands) < 2):
            raise MeasureError(f"{self.where}: {name} takes {wanted or 'two or more'} operand(s), got {len(operands)}")
        return Node(name, tuple(operands))


Number = Fraction | float


def _evaluate(node: Node, counts: dict[str, int]) -> Number:
    if node.kind == "number":
        return node.number
    if node.kind in counts:
        return Fraction(counts[node.kind])
    return _APPLY[node.kind](*(_evaluate(operand, counts) for operand in node.operands))


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


_APPLY: dict[str, Callable[..., Number]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": _divide,
    "**": _raise,
    "sqrt": lambda x: math.sqrt(x),
    "log": lambda x: math.log(x),
    "abs": abs,
    "min": min,
    "max": max,
}


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
