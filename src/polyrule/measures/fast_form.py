"""The objectives whose best head a kernel finds from integer counts alone, in the form it needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyrule.measures.lift import SCALE
from polyrule.measures.ratio import RatioMeasure, Row
from polyrule.measures.subset import SubsetAccuracy

if TYPE_CHECKING:
    from polyrule.measures.objective import Objective

# With coefficients up to 2**20 and counts up to 2**40 a cross product stays below 2**125 and fits 128-bit integers.
LARGEST_COEFFICIENT = 1 << 20


@dataclass(frozen=True, slots=True)
class FastForm:
    """How a kernel finds the best head.

    Parameters
    ----------
    kind : {"singles", "subset", "ratio"}
        ``singles`` (facts A and C): the best value of a head is the best value of a single literal, and the best head
        is the union of the literals that reach it. ``subset`` (fact D): the same with (TP + TN) / total weight as
        value, but only literals with identical sets of rightly treated examples go together. ``ratio`` (fact B): the
        head maximises (N0 + sum of a_i) / (D0 + sum of b_i), found by Dinkelbach's iteration, for every head size
        where `rho` is given.
    num, den : five ints
        Coefficients of (constant, TP, FP, TN, FN); zeros for ``subset``.
    scope : str
        Where N0 and D0 come from and what a literal adds; see `polyrule.heads.World`.
    rho : tuple of int or None
        Head-size factor in 2**-30 steps, by head size (entry 0 is unused); None without lift.
    max_head_size : int or None
    """

    kind: str
    num: Row
    den: Row
    scope: str
    rho: tuple[int, ...] | None
    max_head_size: int | None


def fast_form(objective: Objective, n_labels: int) -> FastForm | None:
    """Return the fast form of an objective, or None.

    >>> from polyrule.measures import Objective
    >>> fast_form(Objective("f0.5"), 6)
    FastForm(kind='singles', num=(0, 5, 0, 0, 0), den=(0, 5, 4, 0, 1), scope='head', rho=None, max_head_size=None)
    >>> fast_form(Objective("laplace"), 6).kind
    'ratio'
    >>> fast_form(Objective("matthews"), 6) is None
    True
    """
    measure = objective.measure
    rho = (
        None
        if objective.lift.is_none
        else tuple(SCALE if size == 0 else objective.lift.steps(size, n_labels) for size in range(n_labels + 1))
    )
    if isinstance(measure, SubsetAccuracy):
        if objective.scope != "head" or rho is not None:
            return None
        zero: Row = (0, 0, 0, 0, 0)
        return FastForm("subset", zero, zero, "head", None, objective.max_head_size)
    if not isinstance(measure, RatioMeasure):
        return None
    kind = _ratio_kind(objective, measure, lifted=rho is not None)
    if kind is None or max(map(abs, measure.numerator + measure.denominator)) > LARGEST_COEFFICIENT:
        return None
    return FastForm(kind, measure.numerator, measure.denominator, objective.scope, rho, objective.max_head_size)


def _ratio_kind(objective: Objective, measure: RatioMeasure, lifted: bool) -> str | None:
    if objective.averaging == "label" and objective.scope == "head" and not lifted:
        return "singles" if min(measure.denominator) >= 0 else None
    if objective.averaging != "micro" or not measure.has_positive_denominator:
        return None
    decomposable = objective.scope == "head" and not measure.has_constants
    return "singles" if decomposable and not lifted else "ratio"
