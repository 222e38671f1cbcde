"""Doubles that are ordered as the exact values of expressions are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyrule.measures.expression import ExpressionMeasure, parse

EXPRESSIONS = [
    "tp**2 / (tp + fp)",
    "tp * tn - fp * fn",
    "(tp * tn - fp * fn) / ((tp + fp) * (tn + fn))",
    "tp / (tp + fp) + tn / (tn + fn)",
    "0.3 + tp / (fp - 2)",  # a denominator below 0
    "(tp + 1)**-2 - fp**-1",
    "sqrt(tp / (tp + fp) * tp / (tp + fn))",
]

counts = st.tuples(*[st.integers(0, 40)] * 4)


def _ordered(text: str, *rows: tuple[int, int, int, int]) -> tuple[ExpressionMeasure, list[float]]:
    measure = parse(text)
    assert isinstance(measure, ExpressionMeasure)
    return measure, measure.ordered_values(*np.array(rows).T).tolist()


@pytest.mark.parametrize("text", EXPRESSIONS)
@given(one=counts, other=counts)
def test_doubles_compare_like_the_values(
    text: str, one: tuple[int, int, int, int], other: tuple[int, int, int, int]
) -> None:
    measure, (a, b) = _ordered(text, one, other)
    exact = measure.value(*one), measure.value(*other)
    assert measure.keeps_order(40)
    assert (a < b, a == b) == (exact[0] < exact[1], exact[0] == exact[1])


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_so_they_do_for_the_largest_counts_that_are_allowed(text: str) -> None:
    """Neighbouring counts at the limit, where values are closest."""
    measure = parse(text)
    assert isinstance(measure, ExpressionMeasure)
    most = 1
    while measure.keeps_order(2 * most):
        most *= 2
    assert not measure.keeps_order(4 * most)
    rng = np.random.default_rng(0)
    rows = most - rng.integers(0, 3, size=(150, 4))
    rows[::3] = rng.integers(0, most + 1, size=rows[::3].shape)
    _, doubles = _ordered(text, *map(tuple, rows.tolist()))
    exact = [measure.value(*row) for row in rows.tolist()]
    by_double, by_value = np.argsort(doubles, kind="stable"), sorted(range(len(exact)), key=exact.__getitem__)
    assert by_double.tolist() == by_value


@pytest.mark.parametrize("text", ["log(1 + tp) - fp", "max(tp, fp) / (1 + tn * fn)", "tp**0.5 - fp"])
def test_what_is_no_quotient_of_whole_numbers_is_left_alone(text: str) -> None:
    measure = parse(text)
    assert isinstance(measure, ExpressionMeasure)
    assert not measure.keeps_order(10)
