import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.strategies import random_table, rule_lists, slow_predict

from polyrule.conditions import packed
from polyrule.data import Feature, Table
from polyrule.errors import DataError, ModelError
from polyrule.model import Literal, NumericCondition, Rule, RuleList
from polyrule.model.predict import FlatRules, predict, predict_flat


@settings(max_examples=200, deadline=None)
@given(rule_lists(), st.integers(0, 30), st.integers(0, 10**6), st.booleans())
def test_every_example_is_treated_as_the_definition_says(model, rows, seed, sparse):
    table = random_table(model.features, rows, seed, sparse=sparse)
    dense = np.asarray(table)
    for result in (predict(model, table), predict_flat(FlatRules.of(model), table.values)):
        assert result.labels.shape == result.setter.shape == (rows, len(model.label_names))
        for i in range(rows):
            labels, setter = slow_predict(model, dense[i])
            assert result.labels[i].tolist() == labels
            assert result.setter[i].tolist() == setter


@settings(max_examples=30, deadline=None)
@given(rule_lists(), st.integers(0, 10**6), st.booleans())
def test_small_blocks_change_nothing(model, seed, sparse):
    table = random_table(model.features, 23, seed, sparse=sparse)
    whole = predict(model, table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "_CHUNK_CELLS", 9)
        pieces = predict_flat(FlatRules.of(model), table.values)
    assert np.array_equal(whole.labels, pieces.labels)
    assert np.array_equal(whole.setter, pieces.setter)


def test_a_stop_needs_a_newly_set_label():
    """A rule with a stop that fires but finds its labels set does not end the list."""
    rules = (Rule((Literal(0, 1),)), Rule((Literal(0, 0),), stop=True), Rule((Literal(1, 1),)))
    table = Table.from_array([[0.0]])
    result = predict(RuleList(rules, table.features, ("a", "b")), table)
    assert result.labels.tolist() == [[1, 1]]
    assert result.setter.tolist() == [[0, 2]]


def test_an_effective_stop_ends_the_list():
    rules = (Rule((Literal(0, 1),), (NumericCondition(0, ">", 0.5),), stop=True), Rule((Literal(1, 1),)))
    table = Table.from_array([[1.0], [0.0]])
    assert predict(RuleList(rules, table.features, ("a", "b")), table).labels.tolist() == [[1, 0], [0, 1]]


def test_columns_are_checked():
    model = RuleList((), (Feature("a"), Feature("b", "nominal", ("u", "v"))), ("y",))
    with pytest.raises(ModelError, match=r"2 feature\(s\) but the data has 1"):
        predict(model, Table.from_array([[1.0]]))
    with pytest.raises(ModelError, match="column 0 is named 'x0' but the model calls it 'a'"):
        predict(model, Table.from_array([[1.0, 0.0]]))
    with pytest.raises(ModelError, match="is numeric but the model learned it as nominal"):
        predict(model, Table.from_array([[1.0, 0.0]], [Feature("a"), Feature("b")]))
    with pytest.raises(ModelError, match="other categories"):
        predict(model, Table.from_array([[1.0, 0.0]], [Feature("a"), Feature("b", "nominal", ("v", "u"))]))


def test_flat_arrays_have_the_promised_types():
    flat = FlatRules.of(RuleList((Rule((Literal(0, 1),)),), (), ("y",)))
    assert flat.bodies.kind.dtype == np.uint8
    assert (
        flat.bodies.index.dtype == flat.bodies.start.dtype == flat.head_label.dtype == flat.head_start.dtype == np.int32
    )
    assert flat.bodies.value.dtype == np.float64
    assert flat.bodies.rules == 1


def test_what_prediction_runs_on_is_kept_but_never_stored():
    rules = tuple(Rule((Literal(0, value),), (NumericCondition(1, ">", 0.5),)) for value in (1, 0))
    model = RuleList(rules, (Feature("a"), Feature("b")), ("y",))
    fresh = pickle.dumps(model)
    assert model.predict(np.array([[0.0, 1.0]])).tolist() == [[1]]
    assert model.flat is model.flat
    assert model.narrowed is model.narrowed
    assert pickle.dumps(model) == fresh
    for again in (pickle.loads(fresh), copy.copy(model), copy.deepcopy(model)):
        assert not vars(again).keys() & {"flat", "narrowed"}
        assert again.predict(np.array([[0.0, 1.0]])).tolist() == [[1]]
    turned = replace(model, rules=rules[::-1])
    assert turned.predict(np.array([[0.0, 1.0]])).tolist() == [[0]], "another list has arrays of its own"


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_arrays_of_any_order_and_number_type(order, dtype):
    model = RuleList((Rule((Literal(0, 1),), (NumericCondition(2, ">", 1.5),)),), tuple(map(Feature, "abc")), ("y",))
    rows = np.arange(600).reshape(200, 3) % 5
    assert np.array_equal(model.predict(rows.astype(dtype, order=order))[:, 0], rows[:, 2] > 1.5)


def test_an_infinite_value_far_down_is_named():
    model = RuleList((), tuple(map(Feature, "ab")), ("y",))
    rows = np.zeros((600_000, 2))
    rows[599_998, 1] = -np.inf
    with pytest.raises(DataError, match="column 'b', row 599998: the value is infinite"):
        model.predict(rows)
