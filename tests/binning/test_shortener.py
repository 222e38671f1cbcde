"""Thresholds are short, and divide the examples as before."""

import math
from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyrule.binning.thresholds import short_between
from polyrule.data.table import Feature, Table
from polyrule.model import Literal, NumericCondition, Rule, RuleList
from polyrule.selection.model import shorten

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, finite)
def test_the_threshold_stands_between_its_neighbours(a, b):
    low, high = min(a, b), max(a, b)
    if low == high:
        return
    found = short_between(low, high)
    assert low <= found < high
    assert math.copysign(1, found) == 1 or found != 0, "a threshold is never -0.0"


@given(st.integers(-10_000, 10_000), st.integers(1, 500), st.integers(-3, 3))
def test_no_shorter_decimal_lies_in_the_middle_third(start, width, power):
    scale = 10.0**power
    low, high = start * scale, (start + width) * scale
    found = Decimal(repr(short_between(low, high)))
    digits = len(found.normalize().as_tuple().digits) if found else 0
    third = (Decimal(high) - Decimal(low)) / 3
    for exponent in range(-6, 9):  # every decimal with fewer digits, by brute force
        step = Decimal(1).scaleb(exponent)
        first = int((Decimal(low) + third) / step) - 1
        for number in range(first, first + 4):
            value = number * step
            if Decimal(low) + third <= value <= Decimal(high) - third:
                assert digits <= len(str(abs(number)).rstrip("0"))


def test_a_list_covers_the_same_examples():
    values = np.array([[16230.12], [16242.44], [17000.0], [np.nan]])
    table = Table.from_array(values, [Feature("income")])
    middle = (16230.12 + 16242.44) / 2
    rule = Rule((Literal(0, 1),), (NumericCondition(0, ">", middle), NumericCondition(0, "<=", 99999.5)))
    model = shorten(RuleList((rule,), table.features, ("rich",)), table)
    assert model.format_rule(0, counts=False) == "rich <- 16236 < income <= 99999.5"
    assert model.predict(table).ravel().tolist() == [0, 1, 1, 0]


def test_whole_numbers_get_whole_thresholds():
    table = Table.from_array(np.array([[1.0, 1.0], [2.0, 2.0], [40.0, 2.5]]), [Feature("age"), Feature("size")])
    body = (NumericCondition(0, ">", 1.5), NumericCondition(0, "<=", 21.0), NumericCondition(1, ">", 1.5))
    model = shorten(RuleList((Rule((Literal(0, 1),), body),), table.features, ("old",)), table)
    assert model.format_rule(0, counts=False) == "old <- 1 < age <= 20, size > 1.5"
