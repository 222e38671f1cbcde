import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.strategies import random_table, rule_lists

from polyrule.model.predict import predict, predict_proba


@settings(max_examples=100, deadline=None)
@given(rule_lists(), st.integers(0, 10**6))
def test_chances_come_from_the_counts_of_the_rule_that_decided(model, seed):
    table = random_table(model.features, 15, seed)
    setter = predict(model, table).setter
    chances = predict_proba(model, table)
    assert chances.shape == setter.shape
    for (row, label), number in np.ndenumerate(setter):
        if number < 0:
            present, absent = model.default_counts[label]
            expected = (present + 1) / (present + absent + 2)
        else:
            rule = model.rules[number]
            counts = next(((x.tp, x.fp, x.value) for x in rule.head if x.label == label), (rule.tp, rule.fp, 0))
            right = (counts[0] + 1) / (counts[0] + counts[1] + 2)
            expected = right if counts[2] else 1 - right
        assert chances[row, label] == expected
