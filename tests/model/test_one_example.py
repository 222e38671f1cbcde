import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from polyrule.data import Dataset, Feature, Table
from polyrule.data.derive.dates import date_features
from polyrule.errors import DataError, ModelError, OptionError, UnseenCategoryWarning
from polyrule.model import Literal, NominalCondition, NumericCondition, Rule, RuleList

HUE = Feature("hue", "nominal", ("dark", "light"))
MODEL = RuleList(
    (Rule((Literal(0, 1),), (NominalCondition(1, 1), NumericCondition(2, ">", 3.0))),),
    (Feature("untested"), HUE, Feature("size")),
    ("red", "blue"),
)
FRAME = pd.DataFrame({"hue": ["light", "dark"], "size": [1.0, 9.0]})


@pytest.mark.parametrize(
    "example",
    [
        FRAME.iloc[:1],
        FRAME.iloc[0],
        {"hue": "light", "size": 1},
        pl.DataFrame({"hue": ["light"], "size": [1.0]}),
        [7, "light", 1.0],
        np.array([0.0, 1.0, 1.0]),
        Table.from_array([[0.0, 1.0, 1.0]], MODEL.features),
        Dataset(Table.from_array([[0.0, 1.0, 1.0]], MODEL.features), np.zeros((1, 2), dtype=np.uint8), ("red", "blue")),
    ],
    ids=lambda example: type(example).__module__ + "." + type(example).__name__,
)
def test_one_example_is_taken_in_whatever_form_it_is_at_hand(example):
    assert str(MODEL.smallest_flip(example, "red")).endswith("present: size > 3 (now 1)")
    assert MODEL.explain(example).near[0].rule == 0


def test_a_mapping_may_have_numbers_for_names():
    model = RuleList(
        (Rule((Literal(0, 1),), (NumericCondition(0, ">", 3.0),)),), (Feature("0"), Feature("1")), ("red",)
    )
    assert model.explain({0: 4.0, 1: 2.0}).fired == (0,)


def test_a_row_of_a_sparse_matrix_is_an_example():
    model = RuleList(
        (Rule((Literal(0, 1),), (NumericCondition(1, ">", 3.0),)),), (Feature("x0"), Feature("x1")), ("red",)
    )
    assert model.explain(sp.csr_array([[0.0, 4.0]])).fired == (0,)
    assert model.smallest_flip(sp.csr_array([[0.0, 4.0]]), "red").steps == 1


def test_a_date_of_which_parts_are_tested_is_missed_once():
    rules = (Rule((Literal(0, 1),), (NumericCondition(0, ">", 3.0), NumericCondition(1, ">", 2000.0))),)
    model = RuleList(rules, date_features("on")[:2], ("red",))
    with pytest.raises(DataError, match=r"needs column\(s\) 'on', which the data does not have \(it has none\)"):
        model.explain({})


def test_fixed_may_name_features_that_the_example_does_not_have():
    flip = MODEL.smallest_flip(FRAME, "red", row=1, fixed=["untested", "size"])
    assert str(flip).endswith("present: hue = light (now dark)")
    with pytest.raises(ModelError, match="no feature 'sise'; did you mean 'size'"):
        MODEL.smallest_flip(FRAME, "red", row=1, fixed=["sise"])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: MODEL.smallest_flip("red", FRAME), ModelError, "the example comes first, then the label: 'red'"),
        (lambda: MODEL.smallest_flip(FRAME.iloc[:1], FRAME), ModelError, "by its name or position, not by a DataFrame"),
        (lambda: MODEL.smallest_flip(FRAME, "red"), ModelError, "2 examples here; say which one with row="),
        (lambda: MODEL.smallest_flip(FRAME, "red", 2), DataError, "row 2 does not exist: there are 2"),
        (lambda: MODEL.smallest_flip(FRAME, 0, "red"), DataError, "row must be a whole number"),
        (lambda: MODEL.smallest_flip({"hue": "dark"}, "red"), DataError, "needs column"),
        (lambda: MODEL.smallest_flip(FRAME, "red", 0, fixed="size"), OptionError, "fixed must be a list"),
        (lambda: MODEL.smallest_flip([1.0], "red"), ModelError, "one example with 3 feature value"),
        (lambda: MODEL.smallest_flip(FRAME, 7, 0), ModelError, "no label 7; it has 2"),
    ],
)
def test_wrong_arguments_get_a_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_unknown_category_counts_as_missing_and_is_said():
    with pytest.warns(UnseenCategoryWarning, match="hue"):
        told = MODEL.explain({"hue": "neon", "size": 9})
    assert told.labels[0].value == 0


def test_true_as_a_category_needs_no_quotes_and_reads_back():
    flag = Feature("newsletter", "nominal", ("False", "True"))
    rules = tuple(Rule((Literal(0, 1),), (NominalCondition(0, value),)) for value in (0, 1))
    model = RuleList(rules, (flag,), ("churns",))
    lines = str(model).splitlines()
    assert lines[0].startswith("1. churns <- newsletter = False ")
    assert lines[1].startswith("2. churns <- newsletter = True ")
    for number, rule in enumerate(rules):
        assert model.replace(number, lines[number]).rules[number].body == rule.body


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_only_the_row_that_was_asked_for_is_read(frame):
    """Unknown categories, and even numbers that would be refused, may stand in others."""
    strange = frame({"hue": ["light", "neon", "dark"], "size": [1.0, float("inf"), 9.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(MODEL.smallest_flip(strange, "red", row=0)).endswith("present: size > 3 (now 1)")
        assert str(MODEL.smallest_flip(strange, "red", row=-1)).endswith("present: hue = light (now dark)")
        assert MODEL.explain(strange, row=0).near[0].rule == 0
    with pytest.raises(DataError, match="infinite"):
        MODEL.explain(strange, row=1)
    with pytest.warns(UnseenCategoryWarning, match="1 in 'hue'"):
        MODEL.explain(frame({"hue": ["light", "neon"], "size": [1.0, 9.0]}), row=1)
