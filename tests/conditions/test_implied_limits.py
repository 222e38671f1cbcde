"""Limits of dates and years that follow from each other."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyrule.conditions import NumericCondition
from polyrule.conditions.evaluate import evaluate_column
from polyrule.conditions.simplify import drop_implied_limits, simplify_body
from polyrule.data.derive.dates import date_features, part_of, year_start
from polyrule.data.table import Feature

FEATURES = (*date_features("on")[:2], Feature("off", "date"))
DAYS = np.arange(year_start(2018), year_start(2024), dtype=np.float64)
VALUES = {0: DAYS, 1: part_of(DAYS, "year"), 2: DAYS[::-1]}
FIRST = st.sampled_from([year_start(year) + step for year in range(2019, 2023) for step in (-1, 0, 1, 170)])
LIMITS = st.one_of(
    st.builds(NumericCondition, st.sampled_from([0, 2]), st.sampled_from(["<=", ">"]), FIRST.map(lambda d: d + 0.5)),
    st.builds(NumericCondition, st.just(1), st.sampled_from(["<=", ">"]), st.sampled_from([2019.0, 2020.5, 2022.0])),
)


def covered(body):
    return np.logical_and.reduce([np.ones(len(DAYS), bool), *(evaluate_column(c, VALUES[c.feature]) for c in body)])


@given(st.lists(LIMITS, max_size=6))
def test_the_same_days_with_no_condition_that_follows_from_another(conditions):
    body = simplify_body(tuple(conditions))
    short = drop_implied_limits(body, FEATURES)
    np.testing.assert_array_equal(covered(short), covered(body))
    for condition in short:
        for other in short:
            if {condition.feature, other.feature} == {0, 1} and condition.op == other.op:
                both, alone = covered((condition, other)), covered((other,))
                assert not np.array_equal(both, alone), "a condition follows from another"


def test_of_two_that_say_the_same_the_year_stays():
    on, year = NumericCondition(0, "<=", year_start(2021) - 0.5), NumericCondition(1, "<=", 2020.0)
    assert drop_implied_limits((on, year), FEATURES) == (year,)
    assert drop_implied_limits((year, on), FEATURES) == (year,)
