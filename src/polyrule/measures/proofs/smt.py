"""The lemmas put to z3, for roots, absolute values, min and max, and what else has no certificate of low degree.

z3 decides polynomial arithmetic over the reals. ``unsat`` for the lemma's opposite is a proof, but one that only z3
can repeat. A point that contradicts the lemma is a hint where a problem may be found that refutes the measure; nothing
is refuted until such a problem is confirmed with whole numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from importlib import import_module
from math import lcm
from types import ModuleType
from typing import Any

import numpy as np

from polyrule.measures.grammar import VARIABLES, Node, evaluate
from polyrule.measures.profiles import Profiles
from polyrule.measures.proofs.lemmas import OPPOSED, PARTS, RIVALS, summed, with_opposite

MAX_EXAMPLES = 2000


def load() -> ModuleType | None:
    """Return z3, or None where it is not installed."""
    try:
        return import_module("z3")
    except ImportError:
        return None


class Question:
    """A lemma about an expression, ready to be put to z3.

    With `single`, x, y and z are single literals rather than any parts of a head: enough to refute, not to prove.
    """

    def __init__(self, z3: Any, lemma: str, root: Node, nothing_set: bool, single: bool = False) -> None:
        self.z3, self.lemma = z3, lemma
        self.counts = {part: [z3.Real(f"{part}.{name}") for name in VARIABLES] for part in PARTS[lemma]}
        self.sides: list[Any] = []
        self.root = root
        vectors = list(self.counts.values())
        for tp, fp, tn, fn in vectors:
            self.sides += [tp >= 1, fp >= 0, tn >= 0, fn >= 0]
        first = vectors[0]
        for other in vectors[1:]:
            if single:
                self.sides.append(first[2] + first[3] == other[2] + other[3])
            if single and nothing_set:
                self.sides.append(first[0] + first[1] == other[0] + other[1])
            elif nothing_set:
                inside, outside = ((v[0] + v[1], v[2] + v[3]) for v in (first, other))
                self.sides.append(inside[0] * outside[1] == outside[0] * inside[1])
        self.opposite = self._opposite()

    def ask(self, seconds: float) -> tuple[str, dict[str, list[Fraction]] | None]:
        """Return ``proved``, ``contradicted`` with a point where it can be told, or ``unknown``."""
        solver = self.z3.SolverFor("QF_NRA")
        solver.set("timeout", max(1, int(seconds * 1000)))
        solver.add(*self.sides, self.opposite)
        answer = solver.check()
        if answer == self.z3.unsat:
            return "proved", None
        if answer != self.z3.sat:
            return "unknown", None
        return "contradicted", self._point(solver.model())

    def _opposite(self) -> Any:
        z3 = self.z3
        if self.lemma == "between":
            x, y, both = self._at("x"), self._at("y"), self._at("xy")
            return z3.Or(z3.And(x < y, z3.Or(both <= x, both >= y)), z3.And(x == y, both != x))
        whole = self._at("xyz")
        best = [whole >= self._at(parts) for parts in RIVALS]
        if self.lemma == "fall, both signs":
            opposed = [whole >= self._at(parts) for parts in OPPOSED]
            best.append(z3.Or(self.counts["y"][1] == 0, z3.And(*opposed)))
        return z3.And(self._at("xy") < self._at("x"), *best)

    def _at(self, parts: str) -> Any:
        z3 = self.z3

        def log(x: Any) -> Any:
            raise NotImplementedError("log is beyond polynomial arithmetic")

        apply: dict[str, Callable[..., Any]] = {
            "+": operator.add,
            "-": operator.sub,
            "*": operator.mul,
            "/": lambda x, y: z3.If(y == 0, z3.RealVal(0), x / y),
            "**": self._power,
            "sqrt": self._root,
            "log": log,
            "abs": lambda x: z3.If(x < 0, -x, x),
            "min": lambda *operands: reduce(lambda x, y: z3.If(y < x, y, x), operands),
            "max": lambda *operands: reduce(lambda x, y: z3.If(y > x, y, x), operands),
        }
        counts = summed(with_opposite(self.counts), parts, 0)
        return evaluate(self.root, counts, lambda number: z3.Q(number.numerator, number.denominator), apply)

    def _power(self, base: Any, exponent: Fraction) -> Any:
        if exponent.denominator == 2:
            base, exponent = self._root(base), exponent * 2
        if exponent.denominator != 1:
            raise NotImplementedError("a broken power is beyond polynomial arithmetic")
        product = self.z3.RealVal(1)
        for _ in range(abs(int(exponent))):
            product = product * base
        return product if exponent >= 0 else self.z3.If(product == 0, self.z3.RealVal(0), 1 / product)

    def _root(self, square: Any) -> Any:
        root = self.z3.Real(f"root.{len(self.sides)}")
        self.sides += [root >= 0, root * root == square]
        return root

    def _point(self, model: Any) -> dict[str, list[Fraction]] | None:
        point = {}
        for part, counts in self.counts.items():
            numbers = []
            for count in counts:
                value = model.eval(count, model_completion=True)
                if not self.z3.is_rational_value(value):
                    value = value.approx(20)
                numbers.append(value.as_fraction())
            point[part] = [Fraction(n.numerator, n.denominator) for n in numbers]
        return point


def as_problems(point: dict[str, list[Fraction]]) -> Profiles | None:
    """Turn single literals into problems with whole counts, one label each; None if they are too large."""
    scale = lcm(*(count.denominator for counts in point.values() for count in counts))
    vectors = [[int(count * scale) for count in counts] for counts in point.values()]
    outside = {v[2] + v[3] for v in vectors}
    inside = max(v[0] + v[1] for v in vectors)
    if len(outside) > 1 or inside + max(outside) > MAX_EXAMPLES:
        return None
    return Profiles.of(np.array([[[fp, tp, inside - tp - fp, 0, tn, fn] for tp, fp, tn, fn in vectors]]))
