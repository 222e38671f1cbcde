import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.strategies import random_table, rule_lists

from polyrule.data import Feature, Table
from polyrule.ensemble import Decision, Entry, RuleEnsemble, WeightedRule
from polyrule.errors import ModelError
from polyrule.model import GroupCondition, LabelCondition, Literal, NominalCondition, NumericCondition, Rule, RuleList
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


@settings(max_examples=100, deadline=None)
@given(rule_lists(), st.integers(0, 10**6))
def test_near_misses_are_the_rules_that_would_change_something_without_their_conditions(model, seed):
    table = random_table(model.features, 1, seed)
    told = model.explain(table, near=99)
    labels, tried = model.predict(table)[0], len(model) if told.stopped_at is None else told.stopped_at
    expected = {}
    for number in set(range(tried)) - set(told.fired):
        rules = list(model.rules)
        rules[number] = replace(rules[number], body=())
        after = replace(model, rules=tuple(rules)).predict(table)[0]
        names = [("" if after[k] else "¬") + model.label_names[k] for k in range(len(labels)) if after[k] != labels[k]]
        expected |= {number: tuple(names)} if names else {}
    assert {miss.rule: miss.would_set for miss in told.near} == expected
    assert tuple(told.rules) == tuple(model.format_rule(number, counts=False) for number in range(len(model)))


def test_words():
    features = (Feature("colours"), Feature("religion", "nominal", ("none", "hindu")))
    rules = (
        Rule((Literal(0, 1, 8, 1),), (NumericCondition(0, ">", 5.5), NominalCondition(1, 1))),
        Rule((Literal(1, 0, 5, 0),), (LabelCondition(0, 1),), stop=True),
        Rule((Literal(2, 1),), (NumericCondition(0, ">", 5.5),)),
    )
    model = RuleList(rules, features, ("red", "blue", "gold"), default_counts=((0, 0), (0, 0), (2, 7)))
    assert str(model.explain([7.0, 1.0])).splitlines() == [
        "red   present  rule 1   (8 of 9 right in training)",
        "blue  absent   rule 2   (5 of 5 right in training)",
        "gold  absent   no rule  (7 of 9 right in training)",
        "rule 1: red <- colours > 5.5 (7), religion = hindu",
        "rule 2: ¬blue <- red (set to present)",
        "rule 2 stopped the list",
    ]
    lines = str(model.explain(Table.from_array([[7.0, np.nan]], features))).splitlines()
    assert lines[3:] == [
        "rule 3: gold <- colours > 5.5 (7)",
        "rule 1 would lead to red, ¬gold if religion = hindu (missing)",
        "rule 2 would lead to ¬gold if red (not set by any earlier rule)",
    ]
    assert "religion = hindu (an unknown category)" in str(model.explain([7.0, 9.0]))
    assert str(model.explain([2.0, 0.0], near=2)).splitlines()[3:5] == [
        "no rule fired",
        "rule 3 would lead to gold if colours > 5.5 (2)",
    ]
    assert "rule 1 would lead to red if colours > 5.5 (2) and religion = hindu (none)" in str(
        model.explain([2, 0], near=2)
    )


def test_numbers_can_be_rounded_and_odd_names_stay_whole():
    rule = Rule((Literal(0, 1, 1, 0),), (NumericCondition(0, ">", 0.123456, (0.1, 0.2)),))
    model = RuleList((rule,), (Feature("x <- y"),), ("a <- b",))
    assert 'rule 1: "a <- b" <- "x <- y" > 0.123456 (0.654321)' in str(model.explain([0.654321]))
    told = model.explain([0.654321], digits=2)
    assert 'rule 1: "a <- b" <- "x <- y" > 0.12 (0.65)' in str(told)
    assert told.rules == ('"a <- b" <- "x <- y" > 0.12',)
    # Of an example beside the threshold, both are told apart.
    assert '"x <- y" > 0.12 (0.124)' in str(model.explain([0.1237], digits=2))
    assert '"x <- y" > 0.13 (0.12)' in str(model.explain([0.1222], digits=2))


def test_only_one_example_at_a_time():
    model = RuleList((), (Feature("a"),), ("y",))
    with pytest.raises(ModelError, match=r"one example with 1 feature value"):
        model.explain([[1.0], [2.0]])


def test_an_example_of_a_frame_is_chosen_by_its_row():
    rule = Rule((Literal(0, 1, 3, 0),), (NominalCondition(1, 1),))
    model = RuleList((rule,), (Feature("size"), Feature("hue", "nominal", ("dark", "light"))), ("red",))
    frame = pd.DataFrame({"other": [0, 0], "hue": ["dark", "light"], "size": [1.0, 2.0]})
    assert model.explain(frame, row=1).labels[0].value == 1
    assert str(model.smallest_flip(frame, "red", row=0)).endswith("present: hue = light (now dark)")
    with pytest.raises(ModelError, match="2 examples here; say which one with row="):
        model.explain(frame)


def test_rules_that_come_too_late_are_told_apart():
    model = RuleList((Rule((Literal(0, 1),)), Rule((Literal(0, 0),)), Rule((Literal(1, 1),))), (), ("a", "b"))
    assert str(model.explain([])).splitlines()[-1] == "1 more rule fired with nothing left to set"


SIGNS = (Feature("age"), Feature("smoker", "nominal", ("no", "yes")), Feature("systolic"))
TWO_OF_THREE = GroupCondition((NumericCondition(0, ">", 65), NominalCondition(1, 1), NumericCondition(2, ">", 150)), 2)


def test_a_group_says_which_members_hold_and_which_would_make_it():
    model = RuleList((Rule((Literal(0, 1, 8, 1),), (TWO_OF_THREE,)),), SIGNS, ("risk",))
    group = "at least 2 of (age > 65, smoker = yes, systolic > 150)"
    held = model.explain([70, 0, 160])
    assert f"rule 1: risk <- {group} (2 of 3 hold: age > 65 (70), systolic > 150 (160))" in str(held)
    near = model.explain([70, 0, np.nan])
    needed = "(1 of 3 holds: age > 65 (70); smoker = yes (no) or systolic > 150 (missing) would make it)"
    assert str(near).splitlines()[-1] == f"rule 1 would lead to risk if {group} {needed}"
    far = model.explain([40, 0, 120]).near[0].missing[0]
    assert far.value == "0 of 3 hold; 2 of age > 65 (40), smoker = yes (no), systolic > 150 (120) would make it"
    entry = near.to_dict()["nearly_fired"][0]["missing"][0]
    assert [member["holds"] for member in entry["members"]] == [True, False, False]
    assert entry["members"][1]["condition"] == "smoker = yes"
    assert "1 of 3 holds" in near._repr_html_()


def test_a_group_counts_as_one_condition_of_a_near_miss():
    rule = Rule((Literal(0, 1, 8, 1),), (TWO_OF_THREE, NumericCondition(0, "<=", 90)))
    model = RuleList((rule,), SIGNS, ("risk",))
    assert [miss.rule for miss in model.explain([40, 0, 120], near=1).near] == [0]
    assert model.explain([99, 0, 120], near=1).near == ()


def test_words_that_are_there_are_named_alone():
    words = tuple(Feature(word) for word in ("jam", "queue", "works"))
    group = GroupCondition(tuple(NumericCondition(j, ">", 0.5, (0.0, 1.0)) for j in range(3)), name="road words")
    model = RuleList((Rule((Literal(0, 1, 3, 0),), (group,)),), words, ("traffic",))
    assert 'any of "road words" {jam, queue, works} (2 of 3 hold: jam, works)' in str(model.explain([1, 0, 1]))
    assert str(model.explain([0, 0, 0])).endswith("{jam, queue, works} (none of 3 holds)")


def test_a_column_of_0_and_1_needs_no_value_behind_its_name():
    body = tuple(NumericCondition(j, op, 0.5, (0.0, 1.0)) for j, op in enumerate((">", "<=")))
    rule = Rule((Literal(0, 1, 3, 0),), body)
    model = RuleList((rule,), (Feature("jam", flag=True), Feature("snow", flag=True)), ("traffic",))
    assert "rule 1: traffic <- jam, ¬snow" in str(model.explain([1, 0])).splitlines()
    assert "rule 1: traffic <- jam (2), ¬snow" in str(model.explain([2, 0])).splitlines()
    assert str(model.explain([1, 1])).endswith("if ¬snow")


def test_of_many_rules_that_nearly_fired_the_nearest_are_printed():
    words = tuple(Feature(f"word {j}") for j in range(9))
    rules = [Rule((Literal(j, 1, 3, 0),), (NumericCondition(j, ">", 0.5, (0.0, 1.0)),)) for j in range(9)]
    found = RuleList(tuple(rules), words, tuple(f"tag {j}" for j in range(9))).explain(np.zeros(9))
    assert len(found.near) == len(found.to_dict()["nearly_fired"]) == 9
    assert str(found).count("would lead to") == 6
    assert str(found).endswith("3 more rules nearly fired")
    assert "3 more rules nearly fired" in found._repr_html_()


def test_an_ensemble_says_which_members_hold():
    rules = (WeightedRule((Entry(0, 2.0),), (TWO_OF_THREE,)), WeightedRule((Entry(0, 0.5),)))
    model = RuleEnsemble(rules, SIGNS, ("risk",), (-1.0,), Decision("threshold", (0.0,)))
    told = model.explain([70, 1, 120])
    assert "2 of 3 hold: age > 65 (70), smoker = yes)" in str(told)
    assert "2 of 3 hold" in told._repr_html_()
    first, second = told.to_dict()["labels"][0]["contributions"]
    assert first["held"].startswith("2 of 3 hold")
    assert "held" not in second
