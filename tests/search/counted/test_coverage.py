"""Bodies looked up by code cover what they cover by value, and lists are counted alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ensemble.worlds import random_ensemble
from tests.model.strategies import random_table, rule_lists

from polyrule.conditions import GroupCondition, LabelCondition, NumericCondition
from polyrule.conditions.packed import PackedBodies
from polyrule.data.table import Feature
from polyrule.model.counting import list_counts
from polyrule.search.counted.coverage import EncodedBodies, encoded_list_counts, reads_codes
from polyrule.store import Bins, pack_table
from polyrule.store.packed_table import unpack

ROWS = 60


def coded(features, seed: int):
    table = random_table(features, ROWS, seed)
    truth = np.zeros((ROWS, 1), dtype=np.uint8)
    return unpack(pack_table(table, truth, None, ("a",), 1000))[0]


@settings(max_examples=100, deadline=None)
@given(rule_lists(), st.integers(0, 10**6), st.booleans())
def test_lists(model, seed: int, weighted: bool) -> None:
    plain = [
        replace(rule, stop=False, body=tuple(c for c in rule.body if not isinstance(c, LabelCondition)))
        for rule in model.rules
    ]
    assert reads_codes(model.flat.bodies) or any(rule.body != own.body for rule, own in zip(model, plain, strict=True))
    model = replace(model, rules=tuple(plain), full=False)
    table, rng = coded(model.features, seed), np.random.default_rng(seed)
    truth = rng.integers(0, 2, (ROWS, len(model.label_names))).astype(np.uint8)
    weights = rng.integers(1, 9, ROWS) if weighted else np.ones(ROWS, dtype=np.int64)
    bodies = EncodedBodies.of(model.flat.bodies, table.bins)
    found = encoded_list_counts(model, bodies, table.values.T, truth, weights if weighted else None)
    np.testing.assert_array_equal(found, list_counts(model, table.decoded(), truth, weights))


@pytest.mark.parametrize("seed", range(20))
def test_ensembles(seed: int) -> None:
    model = random_ensemble(np.random.default_rng(seed), "threshold", rules=30)  # more parts than one word counts
    table = coded(model.features, seed)
    fired = model.fired(table.decoded())
    bodies = EncodedBodies.of(model.flat.bodies, table.bins)
    np.testing.assert_array_equal(np.array(list(bodies.covers(table.values.T))).T, fired)
    weights = np.arange(1, ROWS + 1)
    np.testing.assert_array_equal(bodies.weights(table.values.T, weights), weights @ fired.astype(np.int64))


def test_parts_fill_one_word_after_the_other() -> None:
    body = [GroupCondition(tuple(NumericCondition(0, ">", k + 0.5) for k in range(9)), least) for least in range(1, 9)]
    flat = PackedBodies.of([body[:least] for least in range(1, 9)] * 2, [Feature("x")])
    values = np.arange(10.0)
    bodies = EncodedBodies.of(flat, (Bins(values, values),))
    assert len(bodies.tables) > 4
    for least, covered in zip([*range(1, 9)] * 2, bodies.covers(np.arange(11, dtype=np.uint8)[None]), strict=True):
        assert covered.tolist() == [value >= least for value in range(10)] + [False]
