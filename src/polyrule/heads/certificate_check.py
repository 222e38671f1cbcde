"""An independent check of certificates: it counts by the definition and uses none of the searches.

What it relies on: `evaluate`, the definition of a head's value, and `rank`, the order of heads; the statements of
`polyrule.measures.properties`; a few lines of arithmetic here; and `bound_heads`, for heads that are not stated to be
the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

from polyrule.heads.bounding import bound_heads
from polyrule.heads.problem import HeadProblem, Rank, evaluate, rank
from polyrule.measures.base import SubsetAccuracy
from polyrule.measures.definition import Head, LabelValue, cell
from polyrule.measures.objective import Objective
from polyrule.measures.properties import is_correlation
from polyrule.measures.ratio import RatioMeasure

Terms = dict[LabelValue, tuple[Fraction, Fraction]]
MOST_HEADS = 20_000


def verify_certificate(
    problem: HeadProblem, objective: Objective, head: Sequence[tuple[int, int]], certificate: dict[str, Any]
) -> list[str]:
    """Check that a certificate proves a head to be the best one; return what is wrong with it, nothing if it holds.

    Parameters
    ----------
    problem : HeadProblem
        The examples as the body splits them.
    objective : Objective
        What heads are judged by.
    head : sequence of (label, value)
        The head in question.
    certificate : dict
        What `certify` gave, or a model file holds.

    Examples
    --------
    >>> from polyrule.heads import certify
    >>> problem, objective = HeadProblem.from_text(covered="0110 1100 1000"), Objective("precision")
    >>> certificate = certify(problem, objective)
    >>> verify_certificate(problem, objective, [(0, 1), (1, 1)], certificate)
    []
    >>> verify_certificate(problem, objective, [(0, 1)], certificate)
    ['the certificate is for the head [(0, 1), (1, 1)], not for [(0, 1)]']
    """
    try:
        return _Check(problem, objective, tuple(head), certificate).run()
    except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        return [f"the certificate is malformed: {type(error).__name__}: {error}"]


class _Check:
    def __init__(self, problem: HeadProblem, objective: Objective, head: Head, certificate: dict[str, Any]) -> None:
        self.problem, self.objective, self.head, self.certificate = problem, objective, head, certificate
        self.tp = {(k, v): _count(problem, k, v, "head")[0] for k in range(problem.n_labels) for v in (0, 1)}
        self.literals = [
            (label, v)
            for label, v in self.tp
            if problem.allowed[label, v] and self.tp[label, v] >= 1 and (objective.negative or v == 1)
        ]
        labels = len({label for label, _ in self.literals})
        self.max_size = labels if objective.max_head_size is None else min(objective.max_head_size, labels)

    def run(self) -> list[str]:
        claimed = [(int(label), int(v)) for label, v in self.certificate["head"]]
        if claimed != list(self.head):
            return [f"the certificate is for the head {claimed}, not for {list(self.head)}"]
        if len({label for label, _ in self.head}) < len(self.head) or not 0 < len(self.head) <= self.max_size:
            return [f"a head needs 1 to {self.max_size} different labels, not {list(self.head)}"]
        odd = [literal for literal in self.head if literal not in self.literals]
        if odd:
            return [f"the head holds {odd}, which no head may hold here"]
        value = Fraction(self.certificate["value"])
        true = evaluate(self.problem, self.objective, self.head)
        if value != true:
            return [f"the head has the value {true}, not {value}"]
        checks = {
            "singles": self._singles,
            "alike": self._alike,
            "ratio": self._ratio,
            "subset": self._subset,
            "heads": self._heads,
            "bounded": self._bounded,
        }
        kind = self.certificate["kind"]
        return checks[kind](value) if kind in checks else [f"unknown kind of certificate {kind!r}"]

    def _singles(self, value: Fraction) -> list[str]:
        o = self.objective
        negative = any(v == 0 for _, v in self.literals)
        properties = o.measure.properties(o.averaging, o.scope, negative, self.problem.nothing_set)
        if not (properties.proved and properties.kind == "decomposable" and o.lift.is_none):
            return [f"single values prove nothing for {o}: {properties}"]
        true, problems = self._single_values()
        top = max(true.values())
        if value != top:
            problems.append(f"the head has {value} but a single literal has {top}")
        return problems + self._canonical({literal: x for literal, x in true.items() if x == top})

    def _single_values(self) -> tuple[dict[LabelValue, Fraction], list[str]]:
        """Return the value of every literal, and in what the certificate differs."""
        true = {literal: evaluate(self.problem, self.objective, [literal]) for literal in self.literals}
        claimed = {(int(label), int(v)): Fraction(x) for label, v, x in self.certificate["singles"]}
        return true, _differences("single value", claimed, true)

    def _alike(self, value: Fraction) -> list[str]:
        """By fact H the best head is the largest group of best literals with equal counts."""
        o = self.objective
        if not (is_correlation(o.measure) and (o.averaging, o.scope) == ("micro", "head") and o.lift.is_none):
            return [f"equal counts prove nothing for {o}"]
        counts = {literal: tuple(_count(self.problem, *literal, "head")) for literal in self.literals}
        if len({tp + fp for tp, fp, _, _ in counts.values()}) > 1 or value <= 0:
            return ["equal counts prove nothing where literals differ in what they cover, or no value is positive"]
        true, problems = self._single_values()
        best = [literal for literal in self.literals if true[literal] == max(true.values())]
        groups = [[s for s in best if counts[s] == c] for c in {counts[s] for s in best}]
        if self.head != max(map(self._first, groups), key=lambda head: self._rank(head, value)):
            problems.append(f"{list(self.head)} is not the largest and first head of best literals with equal counts")
        return problems

    def _first(self, group: list[LabelValue]) -> Head:
        present: dict[int, LabelValue] = {}
        for literal in sorted(group, key=lambda s: (s[0], -s[1])):
            present.setdefault(literal[0], literal)
        return tuple(present[label] for label in sorted(present)[: self.max_size])

    def _ratio(self, value: Fraction) -> list[str]:
        top, bottom, terms = self._terms()
        claimed = {(int(x[0]), int(x[1])): (Fraction(x[2]), Fraction(x[3])) for x in self.certificate["terms"]}
        problems = _differences("term", claimed, terms)
        constant = tuple(Fraction(x) for x in self.certificate["constant"])
        if constant != (top, bottom):
            problems.append(f"the constants are {(top, bottom)}, not {constant}")
        min_bottoms: dict[int, Fraction] = {}
        for (label, _), (_, b) in terms.items():
            min_bottoms[label] = min(min_bottoms.get(label, Fraction(0)), b)
        min_bottom = bottom + sum(min_bottoms.values())
        if min_bottom < 0 or (min_bottom == 0 and not all(b > 0 for _, b in terms.values())):
            problems.append("a denominator may not be positive, so λ proves nothing")
        levels = {size: Fraction(x) for size, x in self.certificate["levels"].items()}
        sizes = ["any"] if self.objective.lift.is_none else [str(k) for k in range(1, self.max_size + 1)]
        if sorted(levels) != sorted(sizes):
            return [*problems, f"λ is given for {sorted(levels)}, needed for {sorted(sizes)}"]
        if problems:
            return problems
        heads = []
        for size, level in levels.items():
            best, head = self._best(terms, level, size)
            if best + top - level * bottom != 0:
                problems.append(f"λ = {level} is not the best value for {size} label(s)")
            heads.append(head)
        if problems:
            return problems
        lift = self.objective.lift
        rated = [(evaluate(self.problem, self.objective, h) if not lift.is_none else value, h) for h in heads]
        best_of_all = max(rated, key=lambda pair: (pair[0], len(pair[1])))
        if best_of_all != (value, self.head):
            problems.append(f"the best head is {list(best_of_all[1])} with {best_of_all[0]}")
        return problems

    def _terms(self) -> tuple[Fraction, Fraction, Terms]:
        """Count the linear form anew: cell by cell for ratio measures, label by label for label-wise averages."""
        o, zero = self.objective, Fraction(0)
        if o.averaging in ("label", "macro"):
            plain = Objective(o.measure, o.averaging, o.scope)
            if o.scope == "head":
                return zero, zero, {s: (evaluate(self.problem, plain, [s]), Fraction(1)) for s in self.literals}
            n = self.problem.n_labels
            empty = n * self._without_any()
            return (
                empty,
                Fraction(n),
                {s: (n * evaluate(self.problem, plain, [s]) - empty, zero) for s in self.literals},
            )
        if not isinstance(o.measure, RatioMeasure) or o.averaging != "micro":
            raise ValueError(f"λ cannot be checked for {o}")
        a, b = o.measure.rows
        base = [_count(self.problem, label, None, o.scope) for label in range(self.problem.n_labels)]
        total = [sum(column) for column in zip(*base, strict=True)]
        terms = {}
        for label, v in self.literals:
            moved = [x - y for x, y in zip(_count(self.problem, label, v, o.scope), base[label], strict=True)]
            terms[label, v] = Fraction(_dot(a[1:], moved)), Fraction(_dot(b[1:], moved))
        return Fraction(a[0] + _dot(a[1:], total)), Fraction(b[0] + _dot(b[1:], total)), terms

    def _without_any(self) -> Fraction:
        """Value of the empty head with scope all or full: each label separately, then the mean."""
        o = self.objective
        n = self.problem.n_labels
        if o.averaging == "label":
            counts = [_count(self.problem, label, None, o.scope) for label in range(n)]
            return sum((o.measure.value(*c) for c in counts), Fraction(0)) / n
        total = Fraction(0)
        for e, weight in enumerate(self.problem.weights.tolist()):
            for label in range(n):
                total += weight * o.measure.value(*_cell(self.problem, e, label, None, o.scope))
        return total / (n * self.problem.total_weight)

    def _best(self, terms: Terms, level: Fraction, size: str) -> tuple[Fraction, Head]:
        """Return the largest sum of gains over heads of a size, and the head that the tie rules choose."""
        leaders: dict[int, tuple[Fraction, int, int]] = {}
        for (label, v), (a, b) in terms.items():
            offer = a - level * b, self.tp[label, v], v
            leaders[label] = max(leaders.get(label, offer), offer)
        order = sorted((-gain, -tp, label, v) for label, (gain, tp, v) in leaders.items())
        if size == "any":
            selected = [x for i, x in enumerate(order[: self.max_size]) if i == 0 or x[0] <= 0]
        else:
            selected = order[: int(size)]
        gain = -sum((x[0] for x in selected), Fraction(0))
        return gain, tuple(sorted((label, v) for _, _, label, v in selected))

    def _subset(self, value: Fraction) -> list[str]:
        o = self.objective
        if not isinstance(o.measure, SubsetAccuracy) or o.scope != "head" or not o.lift.is_none:
            return [f"identical sets prove nothing for {o}"]
        sets = {literal: self._right(literal) for literal in self.literals}
        weights = {s: sum(int(self.problem.weights[e]) for e in members) for s, members in sets.items()}
        claimed = {(int(label), int(v)): int(w) for label, v, w in self.certificate["right"]}
        problems = _differences("weight of right examples", claimed, weights)
        top = max(weights.values())
        distinct_sets = {sets[literal] for literal in self.head}
        if len(distinct_sets) != 1 or weights[self.head[0]] != top:
            return [*problems, "the head's literals do not share one largest set of right examples"]
        groups: dict[frozenset[int], list[LabelValue]] = {}
        for literal, members in sets.items():
            if weights[literal] == top:
                groups.setdefault(members, []).append(literal)
        heads = [self._merged(group) for group in groups.values()]
        best = max(heads, key=lambda head: self._rank(head, value))
        return problems if best == self.head else [*problems, f"the head {list(best)} is as good and comes first"]

    def _right(self, literal: LabelValue) -> frozenset[int]:
        label, v = literal
        w = self.problem
        right = []
        for e in range(len(w.truth)):
            expected = v if w.covered[e] else 0
            free = not w.covered[e] or w.assigned[e, label] == -1
            if w.weights[e] > 0 and ((free and w.truth[e, label] == expected) or w.truth[e, label] > 1):
                right.append(e)
        return frozenset(right)

    def _bounded(self, value: Fraction) -> list[str]:
        """The bound is proved anew: a certificate of it would be longer than the proof."""
        stated = Fraction(self.certificate["bound"])
        bound = bound_heads(self.problem, replace(self.objective, effort=self.objective.effort or 1), value)
        if bound is not None and bound > stated:
            return [f"it is proved that no head is worth more than {bound}, not {stated}"]
        return []

    def _heads(self, value: Fraction) -> list[str]:
        """Try every head by the definition, if they are not too many."""
        options = [
            [None, *(s for s in self.literals if s[0] == label)] for label in sorted({s[0] for s in self.literals})
        ]
        count = 1
        for choice in options:
            count *= len(choice)
        if count > MOST_HEADS:
            return [f"there are {count - 1} heads, too many to try them all, and no shorter proof is known"]
        rank_of_head = self._rank(self.head, value)
        for combination in product(*options):
            other = tuple(s for s in combination if s is not None)
            if not 0 < len(other) <= self.max_size or other == self.head:
                continue
            other_value = evaluate(self.problem, self.objective, other)
            if self._rank(other, other_value) > rank_of_head:
                return [f"the head {list(other)} with {other_value} is better"]
        return []

    def _rank(self, head: Head, value: Fraction) -> Rank:
        return rank(value, head, sum(self.tp[literal] for literal in head))

    def _canonical(self, best: dict[LabelValue, Fraction]) -> list[str]:
        merged = self._merged(list(best))
        return [] if merged == self.head else [f"by the tie rules the best head is {list(merged)}"]

    def _merged(self, literals: list[LabelValue]) -> Head:
        leaders: dict[int, tuple[int, int]] = {}
        for label, v in literals:
            leaders[label] = max(leaders.get(label, (0, 0)), (self.tp[label, v], v))
        order = sorted((-tp, label, v) for label, (tp, v) in leaders.items())
        return tuple(sorted((label, v) for _, label, v in order[: self.max_size]))


def _cell(problem: HeadProblem, e: int, label: int, literal: int | None, scope: str) -> tuple[int, int, int, int]:
    return cell(int(problem.truth[e, label]), bool(problem.covered[e]), int(problem.assigned[e, label]), literal, scope)


def _count(problem: HeadProblem, label: int, literal: int | None, scope: str) -> list[int]:
    weighted = [
        [int(w) * x for x in _cell(problem, e, label, literal, scope)] for e, w in enumerate(problem.weights.tolist())
    ]
    return [sum(column) for column in zip(*weighted, strict=True)] if weighted else [0] * 4


def _dot(row: Sequence[int], counts: Sequence[int]) -> int:
    return sum(x * y for x, y in zip(row, counts, strict=True))


def _differences(what: str, claimed: dict[LabelValue, Any], true: dict[LabelValue, Any]) -> list[str]:
    if claimed.keys() != true.keys():
        return [f"a {what} is given for {sorted(claimed)}, needed for {sorted(true)}"]
    return [f"the {what} of {s} is {true[s]}, not {claimed[s]}" for s in true if claimed[s] != true[s]]
