"""Objectives that are one linear function of the head's literals over another: the ground of the `ratio` search.

Micro-averaged ratio measures are, for every scope (fact B); so are label-wise averages of *any* measure (fact C), and
a few others where the totals that make a measure non-linear are the same for every head.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from polyrule.heads.space import HeadSpace
from polyrule.heads.valuation import ExampleValuation, LabelValuation, MicroValuation, Valuation
from polyrule.measures.base import Counts
from polyrule.measures.definition import LabelValue
from polyrule.measures.ratio import RatioMeasure
from polyrule.measures.rational import (
    RationalMeasure,
    m_estimate_from_counts,
    true_minus_false_positive_rate,
    weighted_relative_accuracy,
)


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
    """Return the linear form of an objective in a world, or None if it has none."""
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
    if isinstance(measure, RationalMeasure):
        return _rational_form(valuation, space, measure)
    return None


def _label_form(valuation: LabelValuation, space: HeadSpace) -> LinearForm:
    one, zero = Fraction(1), Fraction(0)
    if valuation.outside is None:
        return LinearForm(zero, zero, {literal: (valuation.single[literal], one) for literal in space.literals})
    outside = valuation.outside
    gains = {literal: (valuation.single[literal] - outside[literal[0]], zero) for literal in space.literals}
    return LinearForm(valuation.total_outside, Fraction(valuation.world.n_labels), gains)


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
    micro = _ratio_form(MicroValuation(valuation.world, valuation.objective), space, measure)
    total = valuation.world.total_weight
    return LinearForm(micro.top + measure.numerator[0] * (total - 1), micro.bottom * total, micro.terms)


def _rational_form(valuation: MicroValuation, space: HeadSpace, measure: RationalMeasure) -> LinearForm | None:
    """Find the form where the totals that make the measure non-linear are the same for every head."""
    scope = valuation.objective.scope
    deltas = {literal: valuation.delta[literal] for literal in space.literals}
    tp, fp, tn, fn = valuation.base
    total = tp + fp + tn + fn
    zero = Fraction(0)
    if any(sum(delta) for delta in deltas.values()):
        if measure.function is weighted_relative_accuracy and scope == "head" and _equal_margins(deltas):
            singles = {literal: (measure.value(*delta), Fraction(1)) for literal, delta in deltas.items()}
            return LinearForm(zero, zero, singles)
        return None
    # From here on TP + FP + TN + FN is the same for every head.
    if measure.function is m_estimate_from_counts:
        (m,) = measure.parameters
        terms = {s: (total * d[0] + m * (d[0] + d[3]), Fraction(total * (d[0] + d[1]))) for s, d in deltas.items()}
        return LinearForm(total * tp + m * (tp + fn), total * (tp + fp + m), terms)
    positives, negatives = tp + fn, fp + tn
    if measure.function is weighted_relative_accuracy:
        predicted = tp + fp
        if all(d[0] + d[1] == 0 for d in deltas.values()):
            terms = {s: (Fraction(total * d[0] - predicted * (d[0] + d[3])), zero) for s, d in deltas.items()}
        elif all(d[0] + d[3] == 0 for d in deltas.values()):
            terms = {s: (Fraction(total * d[0] - (d[0] + d[1]) * positives), zero) for s, d in deltas.items()}
        else:
            return None
        return LinearForm(Fraction(tp * tn - fp * fn), Fraction(total * total), terms)
    if measure.function is true_minus_false_positive_rate and all(d[0] + d[3] == 0 for d in deltas.values()):
        p, q = max(positives, 1), max(negatives, 1)
        terms = {s: (Fraction(q * d[0] - p * d[1]), zero) for s, d in deltas.items()}
        return LinearForm(Fraction(q * tp - p * fp), Fraction(p * q), terms)
    return None


def _equal_margins(deltas: dict[LabelValue, Counts]) -> bool:
    """Whether all literals predict on the same weight and leave out the same weight: nothing set on what they cover."""
    return len({(d[0] + d[1], d[2] + d[3]) for d in deltas.values()}) == 1


def _dot(row: tuple[int, ...], counts: Counts) -> Fraction:
    return Fraction(sum(x * y for x, y in zip(row, counts, strict=True)))
