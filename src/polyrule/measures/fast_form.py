"""The objectives whose best head a kernel finds from integer counts alone, in the form it needs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from polyrule.measures.association import SPECS, Association
from polyrule.measures.base import SCOPES, Measure
from polyrule.measures.expression import ExpressionMeasure
from polyrule.measures.function import FunctionMeasure
from polyrule.measures.matthews import Matthews
from polyrule.measures.ratio import RatioMeasure, Row
from polyrule.measures.rational import (
    RationalMeasure,
    m_estimate_from_counts,
    true_minus_false_positive_rate,
    weighted_relative_accuracy,
)
from polyrule.measures.subset import SubsetAccuracy

if TYPE_CHECKING:
    from polyrule.measures.objective import Objective

#: Numerators and denominators below this have cross products, and sums of a few of them, that fit 128-bit integers.
LARGEST_SUM = 1 << 60
#: A lift in steps of 2**-30 below this may be multiplied in, too.
LARGEST_LIFT = 1 << 36

HAMMING: tuple[Row, Row] = ((0, 1, 0, 1, 0), (0, 1, 1, 1, 1))

KINDS = ("singles", "subset", "ratio", "counted", "micro", "alone", "example")
FORMULAS = ("", "wracc", "rate_difference", "m_estimate", "matthews", *SPECS, "function", "ratio")


@dataclass(frozen=True, slots=True)
class FastForm:
    """How a kernel finds the best head.

    Parameters
    ----------
    kind : {"singles", "subset", "ratio", "counted", "micro", "alone", "example"}
        ``singles`` (facts A and C): the best value of a head is the best value of a single literal, and the best head
        is the union of the literals that reach it. ``subset`` (fact D): the same with (TP + TN) / total weight as
        value, but only literals with identical sets of rightly treated examples go together. ``ratio`` (fact B): the
        head maximises (N0 + sum of a_i) / (D0 + sum of b_i), found by Dinkelbach's iteration, for every head size
        where `rho` is given. The others are for measures that are no ratio: ``counted`` is like ``singles``; ``micro``
        measures the counts summed over the head (functions only if monotone); ``alone`` is fast for one literal only.
        ``example`` measures each example by itself: Hamming accuracy, or a * TP / (b * TP + c * FP + ...) with b >= c >
        0, which is fast as long as each label is set on all examples or on none.
    num, den : five ints
        Coefficients of (constant, TP, FP, TN, FN); zeros for ``subset``.
    scope : str
        Where N0 and D0 come from and what a literal adds; see `polyrule.heads.World`.
    rho : tuple of int or None
        Head-size factor in 2**-30 steps, by head size (entry 0 is unused); None without lift.
    max_head_size : int or None
    formula : str
        What is measured where it is no ratio measure: ``wracc``, ``rate_difference``, ``m_estimate``, ``matthews``,
        the name of an association, ``function`` for one whose values are asked for (of an expression, doubles in their
        order), or ``ratio`` for a function that is ordered like num / den.
    m : (int, int)
        Numerator and denominator of the m-estimate's m.

    Examples
    --------
    >>> from polyrule.measures import Objective
    >>> Objective("precision").fast_form(n_labels=5).kind
    'singles'
    """

    kind: str
    num: Row
    den: Row
    scope: str
    rho: tuple[int, ...] | None
    max_head_size: int | None
    formula: str = ""
    m: tuple[int, int] = (0, 1)

    def __post_init__(self) -> None:
        for what, value, known in (
            ("kind", self.kind, KINDS),
            ("scope", self.scope, SCOPES),
            ("formula", self.formula, FORMULAS),
        ):
            if value not in known:
                raise ValueError(f"no kernel knows the {what} {value!r}; there is {', '.join(filter(None, known))}")


def fast_form(objective: Objective, n_labels: int, weight: int = 0) -> FastForm | None:
    """Return the fast form of an objective for examples of some total weight, or None.

    >>> from polyrule.measures import Objective
    >>> fast_form(Objective("f0.5"), 6)
    FastForm(kind='singles', num=(0, 5, 0, 0, 0), den=(0, 5, 4, 0, 1), scope='head', rho=None, max_head_size=None, ...)
    >>> fast_form(Objective("laplace"), 6).kind
    'ratio'
    >>> fast_form(Objective("matthews"), 6).kind
    'micro'
    >>> fast_form(Objective("matthews", scope="all"), 6) is None
    True
    """
    measure = objective.measure
    rho = (
        None
        if objective.lift.is_none
        else tuple(
            objective.lift.SCALE if size == 0 else objective.lift.steps(size, n_labels) for size in range(n_labels + 1)
        )
    )
    if isinstance(measure, SubsetAccuracy):
        if objective.scope != "head" or rho is not None:
            return None
        zero: Row = (0, 0, 0, 0, 0)
        return FastForm("subset", zero, zero, "head", None, objective.max_head_size)
    if not isinstance(measure, RatioMeasure):
        return _traced_form(objective, n_labels, weight) or _counted_form(objective, n_labels, weight)
    kind = _ratio_kind(objective, measure, lifted=rho is not None)
    most = max(weight, 1) * n_labels  # the four counts of a label sum to at most the weight
    if kind is None or max(abs(row[0]) + max(map(abs, row[1:])) * most for row in measure.rows) >= LARGEST_SUM:
        return None
    if max(rho or (0,)) >= LARGEST_LIFT:
        return None
    if kind == "example" and max(measure.denominator) * n_labels >= 1 << 31:
        return None
    return FastForm(kind, measure.numerator, measure.denominator, objective.scope, rho, objective.max_head_size)


def _traced_form(objective: Objective, n_labels: int, weight: int) -> FastForm | None:
    """Return the form of a function that is known to compute a ratio, as long as its doubles are ordered like it."""
    measure = objective.measure
    if not isinstance(measure, FunctionMeasure) or objective.scope != "head" or not objective.lift.is_none:
        return None
    if measure.traced is None or weight * n_labels > measure.traced.largest_total:
        return None
    found = fast_form(replace(objective, measure=measure.traced.measure), n_labels, weight)
    return None if found is None else replace(found, formula="ratio")


def _counted_form(objective: Objective, n_labels: int, weight: int) -> FastForm | None:
    """Return the form of a measure that is no ratio: scope head, micro-averaged or label-wise, without lift."""
    found = _formula(objective.measure, weight * n_labels)
    if found is None or objective.scope != "head" or not objective.lift.is_none:
        return None
    formula, m = found
    if objective.averaging == "label" or (
        objective.averaging == "micro" and (n_labels == 1 or objective.max_head_size == 1)
    ):
        kind = "counted"
    elif objective.averaging == "micro":
        kind = "alone" if formula == "function" and not objective.measure.monotone else "micro"
    else:
        return None
    zero: Row = (0, 0, 0, 0, 0)
    return FastForm(kind, zero, zero, "head", None, objective.max_head_size, formula, m)


def _formula(measure: Measure, most: int) -> tuple[str, tuple[int, int]] | None:
    if isinstance(measure, Matthews):
        return "matthews", (0, 1)
    if isinstance(measure, Association):
        return measure.name, (0, 1)
    if isinstance(measure, FunctionMeasure):
        return "function", (0, 1)
    if isinstance(measure, ExpressionMeasure):
        return ("function", (0, 1)) if most > 0 and measure.keeps_order(most) else None
    if not isinstance(measure, RationalMeasure):
        return None
    if measure.function is m_estimate_from_counts:
        m = Fraction(measure.parameters[0])
        small = m.numerator + m.denominator * max(most, 1) < LARGEST_SUM
        return ("m_estimate", m.as_integer_ratio()) if small else None
    formulas = {weighted_relative_accuracy: "wracc", true_minus_false_positive_rate: "rate_difference"}
    name = formulas.get(measure.function)
    return None if name is None else (name, (0, 1))


def _ratio_kind(objective: Objective, measure: RatioMeasure, lifted: bool) -> str | None:
    if objective.averaging == "label" and objective.scope == "head" and not lifted:
        return "singles" if min(measure.denominator) >= 0 else None
    if objective.averaging == "example":
        return None if lifted or objective.scope != "head" or not _is_compiled_example_wise(measure) else "example"
    if objective.averaging != "micro" or not measure.has_positive_denominator:
        return None
    decomposable = objective.scope == "head" and not measure.has_constants
    return "singles" if decomposable and not lifted else "ratio"


def _is_compiled_example_wise(measure: RatioMeasure) -> bool:
    """Whether it is Hamming accuracy, or gives only covered examples a value, convex in the number of their errors."""
    if (measure.numerator, measure.denominator) == HAMMING:
        return True
    constant, tp, *others = measure.numerator
    zero, right, wrong, *_ = measure.denominator
    plain = constant == 0 and tp > 0 and not any(others) and zero == 0 and min(measure.denominator) >= 0
    return plain and right >= wrong > 0
