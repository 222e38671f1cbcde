import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.strategies import random_table, rule_lists

from polyrule.data import Feature, Table
from polyrule.errors import ModelError
from polyrule.model import LabelCondition, Literal, NominalCondition, NumericCondition, Rule, RuleList
from polyrule.model.predict import fired_rows, predict


@settings(max_examples=100, deadline=None)
@given(rule_lists(), st.integers(0, 10**6))
def test_an_explanation_says_what_prediction_does(model, seed):
    table = random_table(model.features, 1, seed)
    told = model.explain(table, near=2)
    result = predict(model, table)
    chances = model.predict_proba(table)[0]
    assert [reason.value for reason in told.labels] == result.labels[0].tolist()
    assert [-1 if reason.rule is None else reason.rule for reason in told.labels] == result.setter[0].tolist()
    assert [reason.probability for reason in told.labels] == pytest.approx(chances.tolist())
    assert list(told.fired) == [number for number, rows in enumerate(fired_rows(model, table)) if len(rows)]
    assert all(check.holds for reason in told.labels for check in reason.checks)
    assert all(not check.holds for miss in told.near for check in miss.missing)
    assert all(miss.would_set for miss in told.near)
    assert all(1 <= len(miss.missing) <= 2 and miss.rule not in told.fired for miss in told.near)
    json.dumps(told.to_dict(), allow_nan=False)
    assert len(told.to_frame()) == len(model.label_names)
    assert str(told)


def test_words():
    features = (Feature("colours"), Feature("religion", "nominal", ("none", "hindu")))
    rules = (
        Rule((Literal(0, 1, 8, 1),), (NumericCondition(0, ">", 5.5), NominalCondition(1, 1))),
        Rule((Literal(1, 0, 5, 0),), (LabelCondition(0, 1),), stop=True),
        Rule((Literal(2, 1),), (NumericCondition(0, ">", 5.5),)),
    )
    model = RuleList(rules, features, ("red", "blue", "gold"), default_counts=((0, 0), (0, 0), (2, 7)))
    assert str(model.explain([7.0, 1.0])).splitlines() == [
        "red   present  rule 1: red <- colours > 5.5, religion = hindu",
        "      because colours = 7; religion = hindu   (8 right, 1 wrong in training)",
        "blue  absent   rule 2: ¬blue <- red",
        "      because red is set to present   (5 right, 0 wrong in training)",
        "gold  absent   no rule set it   (7 right, 2 wrong in training)",
        "rules that fired: 1, 2; rule 2 stopped the list",
    ]
    lines = str(model.explain(Table.from_array([[7.0, np.nan]], features))).splitlines()
    assert lines[-8:] == [
        "rules that fired: 3",
        "nearly fired:",
        "  rule 1: red <- colours > 5.5, religion = hindu",
        "      needs religion = hindu, but religion is missing",
        "      it would have set red",
        "  rule 2: ¬blue <- red",
        "      needs red, but red is not set by any earlier rule",
        "      it would have set ¬blue",
    ]
    assert "religion is an unknown category" in str(model.explain([7.0, 9.0]))


def test_only_one_example_at_a_time():
    model = RuleList((), (Feature("a"),), ("y",))
    with pytest.raises(ModelError, match=r"one example with 1 feature value"):
        model.explain([[1.0], [2.0]])


def test_rules_that_come_too_late_are_told_apart():
    model = RuleList((Rule((Literal(0, 1),)), Rule((Literal(0, 0),)), Rule((Literal(1, 1),))), (), ("a", "b"))
    assert str(model.explain([])).splitlines()[-1] == "rules that fired: 1, 3; also, with nothing left to set: 2"
