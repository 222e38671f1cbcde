"""The measures that come with polyrule, and how a name becomes a measure.

A new measure is one small function here and one line in `FIXED` or `PARAMETRIC`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from polyrule.errors import MeasureError
from polyrule.measures.association import SPECS, Association, MEstimate
from polyrule.measures.base import Measure, SubsetAccuracy
from polyrule.measures.expression import parse
from polyrule.measures.function import FunctionMeasure
from polyrule.measures.ratio import RatioMeasure, exact_number
from polyrule.utils.messages import shown


def precision() -> RatioMeasure:
    """TP / (TP + FP): how often the rule is right where it speaks.

    >>> precision().value(3, 1, 5, 2)
    Fraction(3, 4)
    """
    return RatioMeasure("precision", (0, 1, 0, 0, 0), (0, 1, 1, 0, 0))


def recall() -> RatioMeasure:
    """TP / (TP + FN).

    >>> recall().value(3, 1, 5, 2)
    Fraction(3, 5)
    """
    return RatioMeasure("recall", (0, 1, 0, 0, 0), (0, 1, 0, 0, 1))


def f(beta: Any = 1) -> RatioMeasure:
    """The F-measure, which weighs recall `beta` times as much as precision; 0 is precision, infinity is recall.

    >>> f(0.5)
    RatioMeasure('f0.5', 5·TP / (5·TP + 4·FP + FN))
    """
    if isinstance(beta, float) and beta == math.inf:
        return recall()
    exact = _parameter("f", "beta", beta)
    square = exact * exact
    return RatioMeasure(f"f{_decimal(exact)}", (0, 1 + square, 0, 0, 0), (0, 1 + square, 1, 0, square))


def hamming() -> RatioMeasure:
    """(TP + TN) / (TP + FP + TN + FN): the share of right cells.

    >>> hamming().value(3, 1, 5, 2)
    Fraction(8, 11)
    """
    return RatioMeasure("hamming", (0, 1, 0, 1, 0), (0, 1, 1, 1, 1))


def jaccard() -> RatioMeasure:
    """TP / (TP + FP + FN).

    >>> jaccard().value(3, 1, 5, 2)
    Fraction(1, 2)
    """
    return RatioMeasure("jaccard", (0, 1, 0, 0, 0), (0, 1, 1, 0, 1))


def laplace() -> RatioMeasure:
    """(TP + 1) / (TP + FP + 2).

    >>> laplace().value(3, 1, 5, 2)
    Fraction(2, 3)
    """
    return RatioMeasure("laplace", (1, 1, 0, 0, 0), (2, 1, 1, 0, 0))


def m_estimate(m: Any = 2, prior: Any = None) -> Measure:
    """(TP + m·prior) / (TP + FP + m); without a `prior` it is P/N, taken from the counts themselves.

    The larger `m`, the more a rule with few examples is drawn towards the prior.

    >>> m_estimate(2, prior=0.5) == RatioMeasure("m2:0.5", (1, 1, 0, 0, 0), (2, 1, 1, 0, 0))
    True
    """
    exact = _parameter("m-estimate", "m", m)
    if prior is None:
        return MEstimate(f"m{_decimal(exact)}", exact)
    share = _parameter("m-estimate", "prior", prior)
    if share > 1:
        raise MeasureError(f"m-estimate: prior must be between 0 and 1, got {prior}")
    name = f"m{_decimal(exact)}:{_decimal(share)}"
    return RatioMeasure(name, (exact * share, 1, 0, 0, 0), (exact, 1, 1, 0, 0))


def wracc() -> Association:
    """Weighted relative accuracy: (TP·TN - FP·FN) / N².

    >>> wracc().value(3, 1, 5, 2)
    Fraction(13, 121)
    """
    return Association("wracc")


def matthews() -> Association:
    """Matthews' correlation coefficient.

    >>> round(float(matthews().value(3, 1, 5, 2)), 3)
    0.449
    """
    return Association("matthews")


def rate_difference() -> Association:
    """TP / (TP + FN) - FP / (FP + TN).

    >>> rate_difference().value(3, 1, 5, 2)
    Fraction(13, 30)
    """
    return Association("rate_difference")


def klosgen(exponent: Any = 0.5) -> Measure:
    """Klösgen's measure: what is covered, as a share and to a power, times the gain in precision over the prior.

    The exponent 0 is the added value, 1 is WRAcc. Others would be roots that cannot be compared exactly.

    >>> klosgen(), klosgen(0), klosgen(1)
    (Association('klosgen'), Association('added_value'), Association('wracc'))
    """
    names = {Fraction(0): "added_value", Fraction(1, 2): "klosgen", Fraction(1): "wracc"}
    exact = _parameter("klosgen", "the exponent", exponent)
    if exact not in names:
        raise MeasureError(
            f"klosgen: the exponent must be 0, 0.5 or 1, got {exponent}; for another one write an expression such as "
            f"'((tp+fp)/(tp+fp+tn+fn))**{exponent} * (tp/(tp+fp) - (tp+fn)/(tp+fp+tn+fn))'"
        )
    return get(names[exact])


def subset() -> SubsetAccuracy:
    """Subset accuracy.

    >>> subset()
    SubsetAccuracy()
    """
    return SubsetAccuracy()


FIXED: dict[str, Callable[[], Measure]] = {
    "precision": precision,
    "recall": recall,
    "hamming": hamming,
    "jaccard": jaccard,
    "laplace": laplace,
    **{name: partial(Association, name) for name in SPECS},
    "subset": subset,
}

# Names with a number in them: pattern, how it is listed, constructor. A leading zero is refused: f05 is meant as f0.5.
PARAMETRIC: tuple[tuple[str, str, Callable[..., Measure]], ...] = (
    (r"f[_:]?(-?(?:0|[1-9]\d*)(?:\.\d*)?|-?\.\d+|inf)", "f<beta>", lambda beta: f(math.inf if beta == "inf" else beta)),
    (r"m[_:]?(-?\d+(?:\.\d*)?)(?::(-?\d*\.?\d+))?", "m<m>[:<prior>]", m_estimate),
    (r"klosgen[_:]?(-?\d*\.?\d+)", "klosgen<exponent>", klosgen),
)

ALIASES = {
    "hamming_accuracy": "hamming",
    "subset_accuracy": "subset",
    "accuracy": "hamming",
    "mcc": "matthews",
    "f_measure": "f1",
    "weighted_relative_accuracy": "wracc",
    "m_estimate": "m2",
    "leverage": "wracc",
    "informedness": "rate_difference",
    "youden": "rate_difference",
    "klösgen": "klosgen",
    "kloesgen": "klosgen",
    "cohen_kappa": "kappa",
    "cohens_kappa": "kappa",
    "yules_q": "yule_q",
    "odds_ratio": "yule_q",
    "conviction": "certainty",
    "certainty_factor": "certainty",
}

EXAMPLES = ("f1", "f0.5", "f2", "m2")


def available() -> tuple[str, ...]:
    """Return the names `get` knows, those with a parameter by examples.

    >>> available()
    ('precision', 'recall', 'hamming', 'jaccard', 'laplace', 'wracc', 'matthews', 'rate_difference', 'klosgen',
     'added_value', 'cosine', 'kappa', 'yule_q', 'lift', 'certainty', 'subset', 'f1', 'f0.5', 'f2', 'm2')
    """
    return tuple(FIXED) + EXAMPLES


def get(measure: str | Measure | Callable[..., Any]) -> Measure:
    """Turn `measure` into a measure: a name, an expression in tp, fp, tn and fn, a function of them, or one already.

    Examples
    --------
    >>> get("f0.5")
    RatioMeasure('f0.5', 5·TP / (5·TP + 4·FP + FN))
    >>> get("tp / (tp + fp + 0.5*fn)")
    RatioMeasure('tp / (tp + fp + 0.5*fn)', 2·TP / (2·TP + 2·FP + FN))
    >>> get(lambda tp, fp, tn, fn: tp - fp).value(3, 1, 0, 0)
    Fraction(2, 1)
    >>> get("precison")
    Traceback (most recent call last):
        ...
    polyrule.errors.MeasureError: unknown measure 'precison'; did you mean 'precision'? Known: ...
    """
    if isinstance(measure, Measure):
        return measure
    if callable(measure) and not isinstance(measure, type):
        return FunctionMeasure(getattr(measure, "__name__", "function"), measure)
    if not isinstance(measure, str):
        raise MeasureError(
            f"a measure is a name, an expression, a function of (tp, fp, tn, fn) or a Measure, not {shown(measure)}"
        )
    name = measure.strip().lower().replace("-", "_").replace(" ", "_")
    name = ALIASES.get(name, name)
    if name in FIXED:
        return FIXED[name]()
    for pattern, _, constructor in PARAMETRIC:
        if match := re.fullmatch(pattern, measure.strip().lower() if name not in ALIASES.values() else name):
            return constructor(*match.groups())
    if re.search(r"\b(tp|fp|tn|fn)\b", measure, re.IGNORECASE):
        return parse(measure)
    raise MeasureError(_unknown(measure, name))


def _unknown(text: str, name: str) -> str:
    close = difflib.get_close_matches(name[:60], [*available(), *ALIASES], n=2, cutoff=0.6)
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}? Known" if close else "; known"
    forms = ", ".join([*FIXED, *(form for _, form, _ in PARAMETRIC)])
    return f"unknown measure {_short(text)!r}{hint}: {forms}, or an expression in tp, fp, tn, fn"


def _parameter(measure: str, name: str, number: Any) -> Fraction:
    try:
        exact = exact_number(number)
        float(exact)
    except (ValueError, OverflowError):
        raise MeasureError(f"{measure}: {name} must be a finite number, got {_short(repr(number))}") from None
    if exact < 0:
        raise MeasureError(f"{measure}: {name} must not be negative, got {number}")
    return exact


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _decimal(number: Fraction) -> str:
    """Write a fraction as a short decimal where it is one.

    >>> _decimal(Fraction(1, 2)), _decimal(Fraction(1, 3))
    ('0.5', '1/3')
    """
    decimal = f"{float(number):.12g}"
    return decimal if Fraction(decimal) == number else str(number)
