"""The lemmas put to z3, for what has no certificate of low degree and for roots, absolute values, min and max.

z3 decides polynomial arithmetic over the reals. ``unsat`` for the lemma's opposite is a proof, but one that only z3
can repeat. A point that contradicts the lemma is a hint where a world may be found that refutes the measure; nothing
is refuted until such a world is confirmed with whole numbers.
"""

from __future__ import annotations

import time
from fractions import Fraction
from importlib import import_module
from math import lcm
from types import ModuleType
from typing import Any

import numpy as np

from polyrule.measures.grammar import VARIABLES, Node
from polyrule.measures.profiles import Profiles
from polyrule.measures.proofs.lemmas import OPPOSITE, PARTS, Case, variable_names
from polyrule.measures.proofs.normal_form import Undecided, quotient
from polyrule.measures.proofs.polynomial import MOST_WORK, OutOfReach, Polynomial, effort, spend

LARGEST_WORLD = 2000


def load() -> ModuleType | None:
    """Return z3, or None where it is not installed."""
    try:
        return import_module("z3")
    except ImportError:
        return None


def ask_cases(z3: Any, todo: list[Case], deadline: float) -> str:
    """Ask whether a lemma holds in all of its cases: ``proved``, ``contradicted`` or ``unknown``."""
    for case in todo:
        counts = [z3.Real(name) for name in variable_names(case.lemma)]
        solver = z3.SolverFor("QF_NRA")
        solver.set("timeout", max(1, int((deadline - time.process_time()) * 1000)))
        for i, count in enumerate(counts):
            # a true positive is a whole number, so one that is positive is at least 1
            solver.add(count == 0 if i in case.zero else count >= 1 if i % 4 == 0 else count >= 0)
        solver.add(*(counts[i] > 0 for i in case.positive))
        terms = {p.name: (p.multiplier, _polynomial(z3, p.factor, counts)) for p in case.products}
        solver.add(_failure(z3, case, list(terms.values())))
        answer = solver.check()
        if answer != z3.unsat:
            return "contradicted" if answer == z3.sat else "unknown"
    return "proved"


def _failure(z3: Any, case: Case, terms: list[tuple[str, Any]]) -> Any:
    margins = [term == 0 for kind, term in terms if kind == "any"]
    if case.lemma == "between":
        (_, gained), (_, ahead) = terms[:2]
        wrong = z3.Or(z3.And(ahead < 0, gained <= 0), z3.And(ahead > 0, gained >= 0), z3.And(ahead == 0, gained != 0))
        return z3.And(wrong, *margins)
    others = [term >= 0 for kind, term in terms if kind == "not negative"]
    return z3.And(terms[0][1] > 0, *others, *margins)


def _polynomial(z3: Any, polynomial: Polynomial, counts: list[Any]) -> Any:
    total = z3.RealVal(0)
    for monomial, coefficient in polynomial.terms.items():
        spend(10 * len(monomial))  # a term costs z3 more than a product costs us
        term = z3.Q(coefficient.numerator, coefficient.denominator)
        for i, exponent in enumerate(monomial):
            for _ in range(exponent):
                term = term * counts[i]
        total = total + term
    return total


class Question:
    """A lemma about an expression, ready to be put to z3.

    With `single`, x, y and z are single literals rather than any parts of a head: enough to refute, not to prove.
    """

    def __init__(self, z3: Any, lemma: str, root: Node, nothing_set: bool, single: bool = False) -> None:
        self.z3, self.lemma = z3, lemma
        self.counts = {part: [z3.Real(f"{part}.{name}") for name in VARIABLES] for part in PARTS[lemma]}
        self.sides: list[Any] = []
        self.root = root
        self.plain = _never_divides_by_zero(root)
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
        best = [whole >= self._at(p) for p in ("x", "y", "z", "xy", "xz", "yz")]
        if self.lemma == "fall, both signs":
            opposite = [whole >= self._at(p.replace("y", OPPOSITE)) for p in ("y", "xy", "yz", "xyz")]
            best.append(z3.Or(self.counts["y"][1] == 0, z3.And(*opposite)))
        return z3.And(self._at("xy") < self._at("x"), *best)

    def _at(self, parts: str) -> Any:
        vectors = [self._vector(part) for part in parts]
        counts = dict(zip(VARIABLES, (sum(vector[i] for vector in vectors) for i in range(4)), strict=True))
        if not self.plain:
            return self._term(self.root, counts)
        top, bottom = self._fraction(self.root, counts)
        # That the denominator is not 0 is clear, but z3 is much better with the question asked than without.
        return top if bottom is None else self.z3.If(bottom == 0, self.z3.RealVal(0), top / bottom)

    def _fraction(self, node: Node, counts: dict[str, Any]) -> tuple[Any, Any]:
        """Return numerator and denominator where no denominator can be 0; None for a denominator of 1."""
        if node.kind not in ("/", "*", "+", "-"):
            return self._term(node, counts), None
        (a, b), (c, d) = (self._fraction(operand, counts) for operand in node.operands)

        def times(x: Any, y: Any) -> Any:
            return x if y is None else y if x is None else x * y

        if node.kind == "*":
            return times(a, c), times(b, d)
        if node.kind == "/":
            return times(a, d), times(b, c)
        left, right = times(a, d), times(c, b)
        return (left + right if node.kind == "+" else left - right), times(b, d)

    def _vector(self, part: str) -> list[Any]:
        if part != OPPOSITE:
            return self.counts[part]
        tp, fp, tn, fn = self.counts["y"]
        return [fp, tp, tn, fn]

    def _term(self, node: Node, counts: dict[str, Any]) -> Any:
        z3 = self.z3
        if node.kind == "number":
            return z3.Q(node.number.numerator, node.number.denominator)
        if node.kind in counts:
            return counts[node.kind]
        if node.kind == "log":
            raise NotImplementedError("log is beyond polynomial arithmetic")
        parts = [self._term(operand, counts) for operand in node.operands]
        if node.kind == "/":
            return z3.If(parts[1] == 0, z3.RealVal(0), parts[0] / parts[1])
        if node.kind == "**":
            return self._power(parts[0], node.operands[1].number)
        if node.kind == "sqrt":
            return self._root(parts[0])
        if node.kind == "abs":
            return z3.If(parts[0] < 0, -parts[0], parts[0])
        if node.kind in ("min", "max"):
            chosen = parts[0]
            for part in parts[1:]:
                chosen = z3.If((part < chosen) if node.kind == "min" else (part > chosen), part, chosen)
            return chosen
        return {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}[node.kind](*parts)

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


def _never_divides_by_zero(root: Node) -> bool:
    point = {name: Polynomial.variable(i, 4) for i, name in enumerate(VARIABLES)}
    try:
        with effort(MOST_WORK):
            quotient(root, point, frozenset({0}))
    except (OutOfReach, Undecided):
        return False
    return True


def as_worlds(point: dict[str, list[Fraction]]) -> Profiles | None:
    """Turn single literals into worlds with whole counts, each label being one of them; None if they are too large."""
    scale = lcm(*(count.denominator for counts in point.values() for count in counts))
    vectors = [[int(count * scale) for count in counts] for counts in point.values()]
    outside = {v[2] + v[3] for v in vectors}
    inside = max(v[0] + v[1] for v in vectors)
    if len(outside) > 1 or inside + max(outside) > LARGEST_WORLD:
        return None
    free = np.array([[[fp, tp] for tp, fp, _, _ in vectors]])
    closed = np.array([[[inside - tp - fp, 0] for tp, fp, _, _ in vectors]])
    return Profiles(free, closed, np.array([[[tn, fn] for _, _, tn, fn in vectors]]))
