"""Functions that are one linear function over another are recognised; others are not, and ties stay as they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.measures import FunctionMeasure, Objective, get


def guarded(tp, fp, tn, fn):
    covered = tp + fp
    return np.divide(tp, covered, out=np.zeros_like(tp), where=covered > 0)


def nested(tp, fp, tn, fn):
    covered = tp + fp
    return np.where(covered == 0, 0.0, tp / np.where(covered == 0, 1, covered))


RATIOS = [
    (guarded, "precision"),
    (nested, "precision"),
    (lambda tp, fp, tn, fn: 1.25 * tp / np.maximum(1.25 * tp + fp + 0.25 * fn, 1e-30), "f0.5"),
    (lambda tp, fp, tn, fn: (tp + 1) / (tp + fp + 2), "laplace"),
    (lambda tp, fp, tn, fn: (tp.astype(float) + tn) / np.maximum(tp + fp + tn + fn, 1), "hamming"),
    (lambda tp, fp, tn, fn: 2 * (tp / (2 * np.maximum(tp + fp + fn, 1))), "jaccard"),
    (lambda tp, fp, tn, fn: tp - fp, "tp - fp"),
]
OPAQUE = [
    lambda tp, fp, tn, fn: np.sqrt(tp),
    lambda tp, fp, tn, fn: tp * tp / (1 + fp),
    lambda tp, fp, tn, fn: tp / 3 + fp,  # rounded, then added to
    lambda tp, fp, tn, fn: 1 - fp / (1 + tp + fp),  # rounding may join values
    lambda tp, fp, tn, fn: 3 * (tp / (1 + tp + fp)),
    lambda tp, fp, tn, fn: tp / (tp + 0.1 * fp + 1),  # 0.1 is no short binary number
    lambda tp, fp, tn, fn: tp / (1 + abs(tp - fp)),
    lambda tp, fp, tn, fn: np.where(tp > fp, tp, 0.0),
    lambda tp, fp, tn, fn: tp / np.where(tp + fp == tn, 1, 1 + tp + fp),
    lambda tp, fp, tn, fn: (2.0**40 * tp + fp) - 2.0**40 * tp,
    lambda tp, fp, tn, fn: np.asarray(tp) / (1 + fp),
    lambda tp, fp, tn, fn: 0.0 if isinstance(tp, np.generic) else tp / np.maximum(tp - fp, 1),
]


@pytest.mark.parametrize(("function", "name"), RATIOS)
def test_a_ratio_is_recognised(function, name):
    found = FunctionMeasure("mine", function).traced
    assert found is not None
    assert found.measure.rows == get(name).rows
    assert found.largest_total > 2**20


@pytest.mark.parametrize("function", OPAQUE)
def test_what_is_not_exact_is_not_taken(function):
    measure = FunctionMeasure("mine", function)
    assert measure.traced is None
    assert Objective(measure, averaging="label").fast_form(3).formula == "function"


def test_a_function_that_behaves_otherwise_with_numbers_is_found_out():
    def two_faced(tp, fp, tn, fn):
        return tp / (1 + tp + fp) if not isinstance(tp, np.ndarray) else tp / (2 + tp + fp)

    assert FunctionMeasure("mine", two_faced).traced is None


@given(st.sampled_from(RATIOS), st.lists(st.integers(0, 2**22), min_size=8, max_size=8))
@settings(max_examples=200, deadline=None)
def test_doubles_are_ordered_like_the_ratio(ratio, numbers):
    function, name = ratio
    measure, exact = FunctionMeasure("mine", function), get(name)
    numbers[0], numbers[4] = max(numbers[0], 1), max(numbers[4], 1)
    left, right = numbers[:4], numbers[4:]
    difference = exact.value(*left) - exact.value(*right)
    doubles = measure.value(*left) - measure.value(*right)
    assert (difference > 0, difference == 0) == (doubles > 0, doubles == 0)


def test_beyond_the_largest_total_the_function_is_asked():
    objective = Objective(FunctionMeasure("mine", guarded), averaging="label")
    largest = objective.measure.traced.largest_total
    assert objective.fast_form(2, largest // 2).formula == "ratio"
    assert objective.fast_form(2, largest).formula == "function"


def test_a_lift_is_left_to_the_function():
    assert Objective(FunctionMeasure("mine", guarded), lift="kln:0.1").fast_form(3) is None


def test_values_are_those_of_the_function():
    third = FunctionMeasure("mine", guarded).value(1, 2, 0, 0)
    assert third == Fraction(1 / 3) != Fraction(1, 3)
