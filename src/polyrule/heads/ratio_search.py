"""The `ratio` search: Dinkelbach's iteration where an objective is one linear function of literals over another.

Micro-averaged ratio measures are, for every scope (fact B); so are label-wise averages of *any* measure (fact C), and
a few others where the totals that make a measure non-linear are the same for every head.

Example-wise averages may be additive once the head size is fixed (fact E and its kin): for heads of size k the value is
c_k + sum of g_k,i over the literals, wherever the value of every single example is an affine function of its counts at
that size. Whether it is gets checked on the spot and exactly, over the few counts an example can have, so it holds for
measures without any proof, and fails as soon as set labels break it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from polyrule.heads.problem import HeadSpace, SearchRecord
from polyrule.heads.valuation import ExampleValuation, LabelValuation, MicroValuation, Valuation
from polyrule.measures.association import Association, MEstimate
from polyrule.measures.base import Counts, Measure
from polyrule.measures.definition import Head, LabelValue
from polyrule.measures.ratio import RatioMeasure

Line = tuple[Fraction, Fraction, Fraction]
Ranges = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SizeForm:
    """Per head size the constant and the gain of every literal; entry 0 belongs to heads of one label."""

    constants: list[Fraction]
    gains: list[dict[LabelValue, Fraction]]


def size_form(valuation: Valuation, space: HeadSpace) -> SizeForm | None:
    """Return the size-wise additive form of an example-wise average, or None if it has none in this problem.

    >>> from polyrule.heads import HeadProblem
    >>> from polyrule.heads.valuation import valuation
    >>> from polyrule.measures import Objective
    >>> problem = HeadProblem.from_text(covered="011 110")
    >>> def has_form(measure):
    ...     objective = Objective(measure, averaging="example")
    ...     return size_form(valuation(problem, objective), HeadSpace.of(problem, objective)) is not None
    >>> has_form("jaccard"), has_form("f1")
    (True, False)
    """
    if not isinstance(valuation, ExampleValuation):
        return None
    examples = _Examples(valuation, space)
    if not examples.same_totals:
        return None
    constants, gains = [], []
    for size in range(1, space.max_size + 1):
        lines = examples.lines(size)
        if lines is None or (examples.measure.rounded and any(any(line) for line in lines)):
            return None
        constant, gain = examples.additive(lines)
        constants.append(constant)
        gains.append(gain)
    return SizeForm(constants, gains)


class _Examples:
    """The examples of a problem by kind: those of a kind have the same counts and the same range of changes."""

    def __init__(self, valuation: ExampleValuation, space: HeadSpace) -> None:
        self.measure = valuation.objective.measure
        self.literals = space.literals
        self.total = Fraction(max(valuation.problem.total_weight, 1))
        # shape (examples, literals, 4)
        changed = np.stack([valuation.change[value][:, label] for label, value in self.literals], axis=1)
        predicted, silent = changed[:, :, :2].sum(axis=2), changed[:, :, 2:].sum(axis=2)
        # Unless every literal adds the same to TP + FP and to TN + FN of an example, k does not fix these totals.
        self.same_totals = bool((predicted == predicted[:, :1]).all() and (silent == silent[:, :1]).all())
        t, q = changed[:, :, 0], changed[:, :, 3]
        ranges = [t.min(axis=1), t.max(axis=1), q.min(axis=1), q.max(axis=1), (t + q == 0).all(axis=1)]
        groups, which = np.unique(
            np.column_stack([valuation.base, predicted[:, 0], silent[:, 0], *ranges]), axis=0, return_inverse=True
        )
        self.groups: list[list[int]] = groups.tolist()
        weights = np.array(valuation.weights, np.int64)
        self.weights = np.zeros(len(groups), np.int64)
        np.add.at(self.weights, which.ravel(), weights)
        self.change = np.zeros((len(groups), *changed.shape[1:]), np.int64)
        np.add.at(self.change, which.ravel(), weights[:, None, None] * changed)

    def lines(self, size: int) -> list[Line] | None:
        """Return value = c + s·(growth of TP) + r·(growth of FN) for every kind, or None if one has no such line."""
        lines = []
        for tp, fp, tn, fn, predicted, silent, *ranges in self.groups:
            line = _line(self.measure, (tp, fp, tn, fn), predicted * size, silent * size, tuple(ranges), size)
            if line is None:
                return None
            lines.append(line)
        return lines

    def additive(self, lines: list[Line]) -> tuple[Fraction, dict[LabelValue, Fraction]]:
        """Sum the lines of all examples into one constant and a gain per literal."""
        constant = sum((int(w) * c for w, (c, _, _) in zip(self.weights, lines, strict=True)), Fraction(0))
        gains = dict.fromkeys(self.literals, Fraction(0))
        for (_, s, r), rows in zip(lines, self.change.tolist(), strict=True):
            for literal, row in zip(self.literals, rows, strict=True):
                gains[literal] += s * row[0] + r * row[3]
        return constant / self.total, {literal: gain / self.total for literal, gain in gains.items()}


@lru_cache(maxsize=1 << 16)
def _line(measure: Measure, base: Counts, predicted: int, silent: int, ranges: Ranges, size: int) -> Line | None:
    """Fit value = c + s·t + r·q over all growths t of TP and q of FN that `size` literals can cause; exact or None."""
    t_low, t_high, q_low, q_high, cancels = ranges
    points: dict[tuple[int, int], Fraction] = {}
    for t in range(t_low * size, t_high * size + 1):
        for q in [-t] if cancels else range(q_low * size, q_high * size + 1):
            counts = base[0] + t, base[1] + predicted - t, base[2] + silent - q, base[3] + q
            if min(counts) >= 0:
                points[t, q] = measure.value(*counts)
    if not points:
        return None
    (t0, q0), v0 = next(iter(points.items()))
    along_t = ((v - v0) / (t - t0) for (t, q), v in points.items() if t != t0 and (cancels or q == q0))
    along_q = ((v - v0) / (q - q0) for (t, q), v in points.items() if q != q0 and t == t0)
    s = next(along_t, Fraction(0))
    r = Fraction(0) if cancels else next(along_q, Fraction(0))
    c = v0 - s * t0 - r * q0
    return (c, s, r) if all(v == c + s * t + r * q for (t, q), v in points.items()) else None


@dataclass(frozen=True, eq=False)
class LinearForm:
    """(top + sum of a_i) / (bottom + sum of b_i), the pair (a_i, b_i) given per literal."""

    top: Fraction
    bottom: Fraction
    terms: dict[LabelValue, tuple[Fraction, Fraction]]

    def value(self, head: tuple[LabelValue, ...]) -> Fraction:
        """Return the value of a head."""
        top = sum((self.terms[literal][0] for literal in head), self.top)
        bottom = sum((self.terms[literal][1] for literal in head), self.bottom)
        return top / bottom


def linear_form(valuation: Valuation, space: HeadSpace) -> LinearForm | None:
    """Return the linear form of an objective in a problem, or None if it has none."""
    measure = valuation.objective.measure
    if isinstance(valuation, LabelValuation):
        return _label_form(valuation, space)
    if (
        isinstance(valuation, ExampleValuation)
        and isinstance(measure, RatioMeasure)
        and not any(measure.denominator[1:])
    ):
        # A linear measure: the average over examples is that of the summed counts, but for the constant.
        return _summed_form(valuation, space, measure)
    if not isinstance(valuation, MicroValuation):
        return None
    if isinstance(measure, RatioMeasure):
        return _ratio_form(valuation, space, measure) if measure.has_positive_denominator else None
    if isinstance(measure, (Association, MEstimate)):
        return _rational_form(valuation, space, measure)
    return None


def _label_form(valuation: LabelValuation, space: HeadSpace) -> LinearForm:
    one, zero = Fraction(1), Fraction(0)
    if valuation.outside is None:
        return LinearForm(zero, zero, {literal: (valuation.single[literal], one) for literal in space.literals})
    outside = valuation.outside
    gains = {literal: (valuation.single[literal] - outside[literal[0]], zero) for literal in space.literals}
    return LinearForm(valuation.total_outside, Fraction(valuation.problem.n_labels), gains)


def _ratio_form(valuation: MicroValuation, space: HeadSpace, measure: RatioMeasure) -> LinearForm:
    a, b = measure.numerator, measure.denominator
    return LinearForm(
        a[0] + _dot(a[1:], valuation.base),
        b[0] + _dot(b[1:], valuation.base),
        {
            literal: (_dot(a[1:], valuation.delta[literal]), _dot(b[1:], valuation.delta[literal]))
            for literal in space.literals
        },
    )


def _summed_form(valuation: ExampleValuation, space: HeadSpace, measure: RatioMeasure) -> LinearForm:
    micro = _ratio_form(MicroValuation(valuation.problem, valuation.objective), space, measure)
    total = valuation.problem.total_weight
    return LinearForm(micro.top + measure.numerator[0] * (total - 1), micro.bottom * total, micro.terms)


def _rational_form(valuation: MicroValuation, space: HeadSpace, measure: Association | MEstimate) -> LinearForm | None:
    """Find the form where the totals that make the measure non-linear are the same for every head."""
    scope = valuation.objective.scope
    deltas = {literal: valuation.delta[literal] for literal in space.literals}
    tp, fp, tn, fn = valuation.base
    total = tp + fp + tn + fn
    zero = Fraction(0)
    if any(sum(delta) for delta in deltas.values()):
        if measure.name == "wracc" and scope == "head" and valuation.equal_margins(space.literals):
            singles = {literal: (measure.value(*delta), Fraction(1)) for literal, delta in deltas.items()}
            return LinearForm(zero, zero, singles)
        return None
    # From here on TP + FP + TN + FN is the same for every head.
    if isinstance(measure, MEstimate):
        m = measure.m
        terms = {s: (total * d[0] + m * (d[0] + d[3]), Fraction(total * (d[0] + d[1]))) for s, d in deltas.items()}
        return LinearForm(total * tp + m * (tp + fn), total * (tp + fp + m), terms)
    positives, negatives = tp + fn, fp + tn
    if measure.name == "wracc":
        predicted = tp + fp
        if all(d[0] + d[1] == 0 for d in deltas.values()):
            terms = {s: (Fraction(total * d[0] - predicted * (d[0] + d[3])), zero) for s, d in deltas.items()}
        elif all(d[0] + d[3] == 0 for d in deltas.values()):
            terms = {s: (Fraction(total * d[0] - (d[0] + d[1]) * positives), zero) for s, d in deltas.items()}
        else:
            return None
        return LinearForm(Fraction(tp * tn - fp * fn), Fraction(total * total), terms)
    if measure.name == "rate_difference" and all(d[0] + d[3] == 0 for d in deltas.values()):
        p, q = max(positives, 1), max(negatives, 1)
        terms = {s: (Fraction(q * d[0] - p * d[1]), zero) for s, d in deltas.items()}
        return LinearForm(Fraction(q * tp - p * fp), Fraction(p * q), terms)
    return None


def _dot(row: tuple[int, ...], counts: Counts) -> Fraction:
    return Fraction(sum(x * y for x, y in zip(row, counts, strict=True)))


Gain = Callable[[LabelValue], Fraction]


def search_ratio(space: HeadSpace, valuation: Valuation, form: LinearForm | SizeForm) -> SearchRecord:
    """Return the best head.

    Without lift one iteration over heads of any size is enough. With lift the sizes compete: the best is the best
    over k of (best head of size k) × ρ(k). A `SizeForm` is additive per size, so it always goes size by size.
    """
    if isinstance(form, LinearForm) and valuation.objective.lift.is_none:
        tried = [dinkelbach(space, valuation, form, 1, space.max_size)]
    elif isinstance(form, LinearForm):
        tried = [dinkelbach(space, valuation, form, size, size) for size in range(1, space.max_size + 1)]
    else:
        sizes = enumerate(form.gains[: space.max_size], start=1)
        tried = [(choose(space, valuation, gains.__getitem__, size, size), 1) for size, gains in sizes]
    record = SearchRecord()
    for head, _ in tried:
        record.note(head, valuation.rank(head))
    record.evaluated = sum(rounds for _, rounds in tried)
    return record


def dinkelbach(
    space: HeadSpace, valuation: Valuation, form: LinearForm, min_size: int, max_size: int
) -> tuple[Head, int]:
    """Return the best head of `min_size` to `max_size` labels and how many heads were evaluated to find it.

    At λ = the best value, no head has a positive sum of gains a_i - λ·b_i (constants included), and the best ones
    have 0. Starting below, each round takes the head with the largest sum at the current λ and its value as the next
    λ, which can only grow; when it stays, it is the best.
    """
    level = form.value(choose(space, valuation, lambda literal: Fraction(valuation.tp((literal,))), min_size, min_size))
    rounds = 1
    while True:
        current = level

        def gain(literal: LabelValue, at: Fraction = current) -> Fraction:
            a, b = form.terms[literal]
            return a - at * b

        head = choose(space, valuation, gain, min_size, max_size)
        level = form.value(head)
        rounds += 1
        if level == current:
            return head, rounds


def choose(space: HeadSpace, valuation: Valuation, gain: Gain, min_size: int, max_size: int) -> Head:
    """Return the head with the largest sum of gains; on ties more labels, more TP, first labels, ``= 1`` first.

    Of a label's literals only the better one can be in it. Beyond the `min_size` labels it must hold, it takes those
    whose gain is not negative.
    """
    leaders = []
    for label, literals in space.choices.items():
        gained, tp, value = max((gain(literal), valuation.tp((literal,)), literal[1]) for literal in literals)
        leaders.append((-gained, -tp, label, value))
    leaders.sort()
    selected = [entry for index, entry in enumerate(leaders[:max_size]) if index < min_size or entry[0] <= 0]
    return tuple(sorted((label, value) for _, _, label, value in selected))
