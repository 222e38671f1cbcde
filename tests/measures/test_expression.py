from __future__ import annotations

import math
import pickle
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyrule import measures
from polyrule.errors import MeasureError, PolyruleError
from polyrule.measures import RatioMeasure
from polyrule.measures.expression import ExpressionMeasure, parse

COUNTS = st.tuples(*[st.integers(0, 9)] * 4)


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("tp/(tp+fp)", "precision"),
        ("(1 + 0.25) * TP / (1.25*tp + fp + .25*fn)", "f0.5"),
        ("2*tp/(2*tp+fp+fn)", "f1"),
        ("(tp+tn)/(tp+fp+tn+fn)", "hamming"),
        ("(tp+1)/(tp+fp+2)", "laplace"),
        ("(tp + 2*0.25) / (tp + fp + 2)", "m2:0.25"),
        ("2 * (tp / (2*(tp + fp)))", "precision"),
        ("tp * (1 / (tp + fn))", "recall"),
        ("(tp / (tp+fp)) / 2**0", "precision"),
    ],
)
def test_linear_over_linear_becomes_a_ratio_measure(text, same_as):
    measure = parse(text)
    assert isinstance(measure, RatioMeasure)
    assert measure.rows == measures.get(same_as).rows


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("tp**2/(tp+fp)", F(9, 4)),
        ("tp^2 - 3^-1", F(26, 3)),
        ("1 + tp/fp", F(4)),
        ("min(tp, fp, 7) + max(tn, fn) - abs(fp - tp)", F(3)),
        ("tp/(tp+fn) - fp/(fp+tn)", F(2, 5)),
        ("-tp**2", F(-9)),
        ("tp/0", F(0)),
        ("0**-1 * tp", F(0)),
    ],
)
def test_other_rational_expressions_are_exact(text, value):
    measure = parse(text)
    assert isinstance(measure, ExpressionMeasure)
    assert measure.exact
    assert measure.value(3, 1, 4, 2) == value
    assert pickle.loads(pickle.dumps(measure)) == measure


def test_roots_and_logarithms_are_doubles():
    measure = parse("sqrt(tp*fp) + log(1+tp) + tn**0.5")
    assert not measure.exact
    assert measure.value(2, 2, 9, 0) == pytest.approx(2 + math.log(3) + 3)


@given(COUNTS)
def test_expressions_agree_with_the_measures_they_spell(counts):
    assert parse("tp/(tp+fn) - fp/(fp+tn)").value(*counts) == measures.rate_difference().value(*counts)
    assert parse("(tp*tn-fp*fn)/(tp+fp+tn+fn)**2").value(*counts) == measures.wracc().value(*counts)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tp/", "expected a number.* at position 4, found the end"),
        ("tp $ fp", r"unexpected '\$' at position 4"),
        ("tp fp", "expected an operator at position 4, found 'fp'"),
        ("tp/(fp", r"expected '\)' at position 7, found the end"),
        ("tp**99", "exponent at position 5 must be a number up to 8"),
        ("tp**fp", "exponent at position 5"),
        ("sqrt(tp, fp)", r"sqrt takes 1 operand\(s\), got 2"),
        ("min(tp)", "min takes two or more"),
        ("exp(tp)", "found 'exp'"),
        ("tp.real", r"unexpected '\.'"),
        ("tp if fp else tn", "expected an operator"),
        ("__import__('os').system('true') + tp", 'unexpected "\'"'),
        ("(" * 60 + "tp" + ")" * 60, "more than 50 nested"),
        ("-" * 60 + "tp", "more than 50 nested"),
        ("tp+" * 400 + "tp", "longer than 500"),
        ("tp\x00", "unexpected"),
        ("log(-tp)", "no finite value"),
        ("(0-tp)**0.5", "no finite value"),
    ],
)
def test_what_is_no_expression_is_refused_with_its_place(text, words):
    with pytest.raises(MeasureError, match=words):
        measures.get(text)


def test_a_value_that_does_not_exist_is_named():
    measure = parse("log(tp)")
    with pytest.raises(MeasureError, match="no finite value for tp=0"):
        measure.value(0, 1, 1, 1)


@given(st.text(alphabet="tpfn0123456789.+-*/^(), sqrtlogminmax_x'\"[]", max_size=40))
def test_no_text_does_more_than_raise_our_error(text):
    try:
        measure = parse(text)
        measure.value(1, 2, 3, 4)
    except PolyruleError:
        pass


@pytest.mark.parametrize(
    "text",
    ["1e99**8*tp", "tp/1e99**8", "1e99*1e99*tp", "tp*tn*1e99**8", "(1e99*tp)**8/fp", "sqrt(1e99**8*tp)", "9" * 400],
)
def test_numbers_that_no_double_holds_are_refused(text):
    with pytest.raises(MeasureError, match="its numbers grow beyond 150 digits"):
        parse(text)


def test_coefficients_that_no_double_holds_are_refused():
    with pytest.raises(MeasureError, match="keep them within 150 digits"):
        RatioMeasure("mine", (0, 10**200, 0, 0, 0), (1, 0, 0, 0, 0))


def test_an_exponent_is_a_number_not_another_power():
    """As the grammar says: a tower would have to be read from the right, and nobody needs one."""
    with pytest.raises(MeasureError, match="expected an operator at position 6"):
        parse("tp**1**1")
    assert parse("-tp**2").value(3, 0, 0, 0) == -9


@pytest.mark.parametrize("text", ["tp + 0**-1", "max(tp, fp, 2) / (0**-2 + fn)", "min(tp, 3) - log(1 + 2)*fp"])
def test_constants_are_worked_out_for_arrays_as_for_single_counts(text):
    counts = np.array([[3, 1, 0, 2], [0, 4, 5, 0], [7, 0, 2, 1]])
    measure = parse(text)
    assert measure.quick_values(*counts.T) == pytest.approx([float(measure.value(*map(int, row))) for row in counts])


@pytest.mark.parametrize("text", ["tp * min(tp, 0 + 0)", "tp * tn + sqrt(0)", "tp**2 * abs(0 - 0)"])
def test_sums_of_nothing_have_units(text):
    measure = measures.get(text)
    assert measure.in_units(F(1, 2)).value(2, 2, 4, 6) == measure.value(1, 1, 2, 3)
