from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.data.examples import GRID, LARGEST_TOTAL, integer_weights
from polyrule.errors import DataError


def test_unweighted_and_uniform_weights_count_examples():
    integers, scale = integer_weights(None, 3)
    assert integers.tolist() == [1, 1, 1]
    assert scale == 1
    assert integer_weights([1 / 3] * 3, 3)[0].tolist() == [1, 1, 1]
    assert integer_weights(2.5, 2)[0].tolist() == [1, 1]


def test_decimals_are_meant_as_printed():
    integers, scale = integer_weights([0.1, 0.2, 0.7, 0], 4)
    assert integers.tolist() == [1, 2, 7, 0]
    assert scale == Fraction(1, 10)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20).filter(any), st.integers(0, 6))
def test_exact_weights_stay_exact(numerators, places):
    weights = [n / 10**places for n in numerators]
    integers, scale = integer_weights(weights, len(weights))
    assert [Fraction(n, 10**places) for n in numerators] == [int(i) * scale for i in integers]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=20).filter(any))
def test_any_weights_keep_order_ties_and_zeros(weights):
    integers, scale = integer_weights(weights, len(weights))
    assert integers.dtype == np.int64
    assert int(integers.sum()) <= LARGEST_TOTAL
    exact = [Fraction(repr(weight)) for weight in weights]
    total = sum(exact)
    for i, weight in enumerate(weights):
        assert (integers[i] == 0) == (weight == 0)
        assert abs(int(integers[i]) * scale - exact[i]) <= (2 * total / GRID + exact[i] / 10**12) * Fraction(11, 10)
        for j, other in enumerate(weights):
            if weight == other:
                assert integers[i] == integers[j]
            elif weight < other:
                assert integers[i] <= integers[j]


def test_singles_are_decimals_too():
    integers, scale = integer_weights(np.array([0.1, 0.3, 0.7], dtype=np.float32), 3)
    assert (integers.tolist(), scale) == ([1, 3, 7], Fraction(1, 10))


def test_weights_without_a_common_scale_are_multiples_of_a_power_of_two():
    """So that the constants of a measure stay short numbers in these units."""
    scale = integer_weights(np.random.default_rng(0).random(50), 50)[1]
    assert scale.numerator == 1
    assert scale.denominator & (scale.denominator - 1) == 0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1e300), min_size=2, max_size=20).filter(any))
def test_what_is_rounded_is_rounded_to_the_nearest_multiple(weights):
    weights.append(sum(weights) * np.pi / 3)  # no common scale but by chance
    integers, scale = integer_weights(weights, len(weights))
    if [int(i) * scale for i in integers] != [Fraction(repr(weight)) for weight in weights]:
        total = sum(Fraction(weight) for weight in weights)
        assert scale / 2 < total / GRID <= scale
        assert integers.tolist() == [max(1, round(Fraction(w) / scale)) if w else 0 for w in weights]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], "row 1: -1.0 is not a weight"),
        ([1, float("nan")], "row 1: nan"),
        ([float("inf"), 1], "row 0: inf"),
        ([1], r"expected \(2,\)"),
        ([0, 0], "zero for every example"),
        (["a", "b"], "must hold numbers"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(DataError, match=message):
        integer_weights(weights, 2)
