"""A model needs only the columns that its rules test, wherever columns have names."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ensemble.worlds import hostile_table, random_ensemble
from tests.model.strategies import random_table, rule_lists

from polyrule import RuleListClassifier
from polyrule.data import Dataset, Feature, Table
from polyrule.errors import DataError
from polyrule.evaluation import importances, stability
from polyrule.model import Literal, NumericCondition, Rule, RuleList
from polyrule.model.columns import drop_unused_features, used_features


def only(table: Table, features: tuple[Feature, ...]) -> Table:
    names = [feature.name for feature in table.features]
    return Table.from_array(table.values[:, [names.index(feature.name) for feature in features]], features)


@settings(max_examples=80, deadline=None)
@given(rule_lists(), st.integers(0, 20), st.integers(0, 10**6), st.booleans())
def test_a_narrowed_list_treats_every_example_alike(model, rows, seed, sparse):
    table = random_table(model.features, rows, seed, sparse=sparse)
    narrowed = drop_unused_features(model)
    few = only(table, narrowed.features)
    assert narrowed.features == tuple(model.features[j] for j in used_features(model.rules))
    assert np.array_equal(narrowed.predict(few), model.predict(table))
    assert np.array_equal(model.predict(few), model.predict(table)), "a table knows its columns by name"
    assert np.array_equal(model.predict_proba(few), model.predict_proba(table))
    for row in range(min(rows, 3)):
        assert str(model.explain(few, row)) == str(model.explain(table, row))


def test_a_narrowed_ensemble_decides_alike():
    rng = np.random.default_rng(3)
    for kind in ("threshold", "expected-f1"):
        models = (random_ensemble(rng, kind, rules=1) for _ in range(100))
        model = next(model for model in models if len(used_features(model)) < len(model.features))
        table = hostile_table(rng, 40)
        narrowed = drop_unused_features(model)
        assert len(narrowed.features) < len(model.features)
        few = only(table, narrowed.features)
        assert np.array_equal(narrowed.predict(few), model.predict(table))
        assert np.array_equal(model.predict(few), model.predict(table))
        assert str(model.explain(few, row=0)) == str(model.explain(table, row=0))


MODEL = RuleList(
    (Rule((Literal(0, 1),), (NumericCondition(2, ">", 5.5),)),),
    (Feature("area"), Feature("religion", "nominal", ("none", "hindu")), Feature("colours")),
    ("red",),
)


def test_a_frame_needs_only_the_tested_columns_and_may_have_others():
    frame = pd.DataFrame({"red": ["?", "?"], "colours": [6, 2]})
    assert MODEL.predict(frame).tolist() == [[1], [0]]
    assert MODEL.explain(frame, row=0).labels[0].checks[0].actual == "colours = 6"


def test_a_tested_column_that_is_not_there_is_named():
    with pytest.raises(DataError, match=r"needs column\(s\) 'colours', .* did you mean 'Colours'\?"):
        MODEL.predict(pd.DataFrame({"area": [1], "Colours": [6]}))


def test_an_array_needs_every_column():
    with pytest.raises(DataError, match=r"X has 1 column\(s\), but the model was fitted on 3"):
        MODEL.predict(np.array([[6.0]]))


def test_a_list_that_tests_nothing_needs_nothing():
    always = RuleList((Rule((Literal(0, 1),)),), MODEL.features, ("red",))
    assert always.predict(pd.DataFrame({"other": [1, 2]})).tolist() == [[1], [1]]


def test_importances_find_columns_by_name_as_prediction_does():
    values, truth = np.array([[0.0, 1.0, 6.0], [0.0, 0.0, 2.0]] * 20), [[1], [0]] * 20
    found = importances(MODEL, Table.from_array(values, MODEL.features), truth)
    turned = importances(MODEL, Table.from_array(values[:, ::-1], MODEL.features[::-1]), truth)
    assert found.score == turned.score == 1.0
    assert [(item.name, item.drop) for item in found.features] == [(item.name, item.drop) for item in turned.features]


def test_rules_come_back_on_columns_in_another_order():
    values = np.column_stack([np.arange(40.0), np.tile([0.0, 1.0], 20)])
    features = (Feature("size"), Feature("idle"))
    truth = (values[:, :1] > 19).astype(np.uint8)
    fitted = RuleListClassifier(max_rules=1).fit(Dataset(Table.from_array(values, features), truth, ("y",)))
    turned = Dataset(Table.from_array(values[:, ::-1], features[::-1]), truth, ("y",))
    assert stability(fitted, turned, resamples=3).rules == (1.0,)
