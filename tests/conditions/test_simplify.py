"""Sets, ordered categories, dates, intervals and missing values: read, printed, and said as shortly as they can be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.strategies import one_rule, random_table

from polyrule.conditions.evaluate import evaluate
from polyrule.conditions.simplify import simplify_body
from polyrule.conditions.text import Names
from polyrule.data import Feature
from polyrule.data.derive.dates import date_features
from polyrule.errors import ModelError
from polyrule.model import (
    LabelCondition,
    Literal,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    Rule,
    RuleList,
    SetCondition,
    parse_rule,
)
from polyrule.model.printing import Formatter

FEATURES = (
    Feature("age"),
    Feature("region", "nominal", ("East", "South", "West")),
    Feature("plan", "ordinal", ("basic", "plus", "pro")),
    *date_features("signup"),
)


@pytest.mark.parametrize(
    "text",
    [
        "red <- region in {South, West}",
        "red <- 3 < age <= 60, region is known",
        "red <- age is missing, plan >= plus",
        "red <- plan = basic",
        "red <- plan = plus",
        "red <- signup > 2021-03-05, signup year <= 2022.5",
        "red <- 2021-01-01 < signup <= 2021-03-05",
        "red <- signup = 2021-03-05",
        "red <- signup month >= October, signup weekday in {Saturday, Sunday}",
        "red <- January < signup month <= May",
    ],
)
def test_what_is_printed_reads_back_as_the_same_rule(text):
    rule = parse_rule(text, FEATURES, ["red"])
    assert Formatter(Names(FEATURES, ["red"])).rule(rule, counts=False) == text
    RuleList((rule,), FEATURES, ("red",))  # which checks every condition


@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ("plan > basic", "plan >= plus"),
        ("plan < pro", "plan <= plus"),
        ("plan <= basic", "plan = basic"),
        ("plan >= pro", "plan = pro"),
        ("signup >= 2021-03-06", "signup > 2021-03-05"),
        ("signup < 2021-03-06", "signup <= 2021-03-05"),
        ("region in {West, East, West}", "region in {East, West}"),
        ("region in {West}", "region = West"),
    ],
)
def test_other_ways_to_say_the_same(typed, printed):
    rule = parse_rule(f"red <- {typed}", FEATURES, ["red"])
    assert Formatter(Names(FEATURES, ["red"])).rule(rule, counts=False) == f"red <- {printed}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("region in {North}", "there is no category 'North'"),
        ("region in {}", "nothing stands between"),
        ("region {West}", "a set is written"),
        ("region in {West", "a set is written"),
        ("region in West}", "a set is written"),
        ("plan in {basic}", "is ordinal: a set can only be asked of a nominal one"),
        ("plan >= basic", "holds for all known values or for none"),
        ("plan <= pro", "holds for all known values or for none"),
        ("plan >= gold", "there is no category 'gold'"),
        ("signup > soon", "'soon' is no date"),
        ("income is missing", "there is no feature 'income'"),
        ("is missing", "cannot read"),
        ("age >= 3", "written '<=' or '>'"),
        ("region > West", "is nominal: use '='"),
    ],
)
def test_what_cannot_be_read_is_said(body, message):
    with pytest.raises(ModelError, match=message):
        parse_rule(f"red <- {body}", FEATURES, ["red"])


def test_names_that_look_like_conditions_are_quoted():
    features = (Feature("is missing"), Feature("age is known"), Feature("a {b}", "nominal", ("{", "} in {", "in")))
    labels = ("x is missing", "made in {y}")
    body = (
        MissingCondition(0, True),
        MissingCondition(1, False),
        SetCondition(2, (0, 1, 2)),
        LabelCondition(0, 1),
        LabelCondition(1, 0),
    )
    rule = Rule((Literal(0, 1),), body, origin="hand")
    text = Formatter(Names(features, labels)).rule(rule, counts=False)
    assert parse_rule(text, features, labels) == rule


@settings(max_examples=300, deadline=None)
@given(st.data(), st.integers(0, 10**6))
def test_a_tidy_body_covers_the_same_and_is_no_longer(data, seed):
    features = (Feature("a", "nominal", ("a", "b", "c")), Feature("b"), Feature("c", "ordinal", ("x", "y", "z")))
    body = tuple(
        condition
        for _ in range(2)
        for condition in data.draw(one_rule(features, 1)).body
        if not isinstance(condition, LabelCondition)
    )
    table = random_table(features, 40, seed)
    short = simplify_body(body)
    assert len(short) <= len(body)
    assert simplify_body(short) == short
    assert np.array_equal(cover(short, table), cover(body, table))


def cover(body, table):
    return np.all([np.ones(len(table), dtype=bool), *(evaluate(condition, table) for condition in body)], axis=0)


@pytest.mark.parametrize(
    "condition",
    [
        SetCondition(0, (0,)),
        SetCondition(1, ()),
        SetCondition(1, (1, 0)),
        SetCondition(1, (0, 3)),
        MissingCondition(9, True),
        NumericCondition(1, ">", 0.5),
        NumericCondition(2, ">", 2.0),
        NumericCondition(2, "<=", -0.5),
        NominalCondition(2, 0),
    ],
)
def test_a_list_refuses_conditions_that_its_features_do_not_allow(condition):
    with pytest.raises(ModelError, match="names no column or value"):
        RuleList((Rule((Literal(0, 1),), (condition,)),), FEATURES, ("red",))
