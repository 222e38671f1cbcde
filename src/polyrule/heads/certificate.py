"""Certificates: plain data that show why a head is the best for its body, to be stored with a rule.

``singles``  the value of every usable literal; the head holds those that reach the best (facts A, C, E)
``ratio``    the linear form and λ, which show that no head has a positive sum of gains a - λ·b (facts
B, C);
             with a lift, a λ for every head size
``alike``    the same for correlations, of which only literals with equal counts go together (fact H)
``subset``   the weight that every usable literal treats rightly; the head's literals have one and the same set (fact D)
``bounded``  a head from a search with an `effort`, and a bound of all heads
``heads``    no short proof is known; only the number of heads, for a verifier that tries them all

`polyrule.heads.certificate_check` checks them without any of the searches.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from polyrule.heads.bounding import climbed_bound
from polyrule.heads.problem import HeadProblem, HeadSpace, SearchRecord
from polyrule.heads.ratio_search import LinearForm, dinkelbach, linear_form
from polyrule.heads.search import best_head, known_properties
from polyrule.heads.single_literals import alike_values, search_decomposable, search_subset
from polyrule.heads.valuation import SubsetValuation, Valuation, valuation
from polyrule.measures.definition import LabelValue
from polyrule.measures.objective import Objective
from polyrule.measures.ratio import RatioMeasure

Certificate = dict[str, Any]


def certify(problem: HeadProblem, objective: Objective) -> Certificate | None:
    """Return the certificate of the best head of `problem` for `objective` as JSON values; None if there is no head.

    Examples
    --------
    >>> problem = HeadProblem.from_text(covered="0110 1100 1000")
    >>> certify(problem, Objective("precision"))
    {'kind': 'singles', 'head': [[0, 1], [1, 1]], 'value': '2/3',
     'singles': [[0, 1, '2/3'], [1, 1, '2/3'], [2, 1, '1/3']]}
    """
    best = best_head(problem, objective)
    if best is None:
        return None
    space, values = HeadSpace.of(problem, objective), valuation(problem, objective)
    start = {"head": [list(literal) for literal in best.head], "value": str(best.value)}
    bound = climbed_bound(problem, objective, best.value)
    if bound is not None:
        return {"kind": "bounded", **start, "bound": str(bound)}
    if isinstance(values, SubsetValuation):
        if objective.scope == "head" and objective.lift.is_none:
            shares, total = _singles(search_subset(space, values)), problem.total_weight
            return {"kind": "subset", **start, "right": [[*s, int(share * total)] for s, share in shares.items()]}
        return {"kind": "heads", **start, "heads": space.size}
    properties = known_properties(values, space)
    if objective.lift.is_none and properties.proved and properties.kind == "decomposable":
        singles = _singles(search_decomposable(space, values))
        return {"kind": "singles", **start, "singles": [[*literal, str(v)] for literal, v in singles.items()]}
    alone = alike_values(values, space)
    if alone is not None:
        return {"kind": "alike", **start, "singles": [[*literal, str(v)] for literal, v in alone.items()]}
    form = linear_form(values, space)
    checkable = objective.averaging in ("label", "macro") or isinstance(objective.measure, RatioMeasure)
    if form is not None and checkable and objective.averaging != "example" and not objective.measure.rounded:
        return {"kind": "ratio", **start, **_ratio(space, values, form)}
    return {"kind": "heads", **start, "heads": space.size}


def _singles(record: SearchRecord) -> dict[LabelValue, Fraction]:
    """Return the values of single literals from a search that tries nothing else."""
    return {literal: value for (literal,), (value, _) in record.seen.items() if value is not None}


def _ratio(space: HeadSpace, values: Valuation, form: LinearForm) -> Certificate:
    if values.objective.lift.is_none:
        levels = {"any": _level(space, values, form, 1, space.max_size)}
    else:
        levels = {str(k): _level(space, values, form, k, k) for k in range(1, space.max_size + 1)}
    return {
        "constant": [str(form.top), str(form.bottom)],
        "terms": [[*literal, str(a), str(b)] for literal, (a, b) in form.terms.items()],
        "levels": {size: str(level) for size, level in levels.items()},
    }


def _level(space: HeadSpace, values: Valuation, form: LinearForm, min_size: int, max_size: int) -> Fraction:
    return form.value(dinkelbach(space, values, form, min_size, max_size)[0])
