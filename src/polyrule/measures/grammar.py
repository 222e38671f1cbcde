"""The grammar of measures written as expressions; they are parsed into a tree and never run as Python.

::

    sum     = product { ("+" | "-") product }
    product = power { ("*" | "/") power }
    power   = "-" power | atom [ ("**" | "^") ["-"] exponent ]
    exponent = atom, a number of at most 8
    atom    = number | "tp" | "fp" | "tn" | "fn" | function "(" sum { "," sum } ")" | "(" sum ")"

The functions are sqrt, log (natural), abs, min and max.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from polyrule.errors import MeasureError

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


def tree(text: str) -> Node:
    """Return an expression as a tree, whatever kind of measure it is."""
    return _Parser(text).run()


def node_types(node: Node) -> set[str]:
    """Return the kinds of all parts of an expression; ``root`` stands for a broken power.

    >>> sorted(node_types(tree("tp**2 / tp**0.5")))
    ['**', '/', 'root', 'tp']
    """
    types = {node.kind} if node.kind != "number" else set()
    if node.kind == "**":
        types = {"**" if node.operands[1].number.denominator == 1 else "root"}
    return types.union(*map(node_types, node.operands))


def evaluate(
    node: Node, counts: Mapping[str, Any], number: Callable[[Fraction], Any], apply: Mapping[str, Callable[..., Any]]
) -> Any:
    """Evaluate an expression in whatever `counts` are: by what `apply` has for each operator and function.

    `number` makes a number of that type; exponents stay fractions.

    >>> evaluate(tree("2 * tp**3"), {"tp": 5}, int, {"*": lambda x, y: x * y, "**": lambda x, power: x ** int(power)})
    250
    """
    if node.kind == "number":
        return number(node.number)
    if node.kind in VARIABLES:
        return counts[node.kind]
    first, *rest = node.operands
    left = evaluate(first, counts, number, apply)
    if node.kind == "**":
        return apply["**"](left, rest[0].number)
    return apply[node.kind](left, *(evaluate(operand, counts, number, apply) for operand in rest))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        excerpt = text if len(text) <= 60 else text[:57] + "..."
        self.where = f"measure {excerpt!r}"
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

    def _take(self, *expected: str) -> str | None:
        if self._peek() in expected and self._peek():
            self.at += 1
            return self.tokens[self.at - 1][0]
        return None

    def _need(self, expected: str) -> None:
        if self._take(expected) is None:
            raise self._unexpected(repr(expected))

    def _unexpected(self, expected: str) -> MeasureError:
        token, position = self.tokens[self.at]
        got = repr(token) if token else "the end"
        return MeasureError(f"{self.where}: expected {expected} at position {position}, found {got}")

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
        expected = FUNCTIONS[name]
        if (expected is not None and len(operands) != expected) or (expected is None and len(operands) < 2):
            raise MeasureError(
                f"{self.where}: {name} takes {expected or 'two or more'} operand(s), got {len(operands)}"
            )
        return Node(name, tuple(operands))
