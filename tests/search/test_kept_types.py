"""Numbers stay in the type and the order they come in, and the list is that of the same numbers as float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.limits import native_engine

from polyrule import RuleListClassifier
from polyrule.data import Table, to_table
from polyrule.data.examples import fingerprint
from polyrule.measures import Objective
from polyrule.search import native as native_kernels
from polyrule.search.protocol import GrowOptions
from polyrule.search.reference import ReferenceEngine
from polyrule.utils.compute import native

TYPES = ["float64", "float32", "int8", "uint8", "int16", "uint16", "int32"]


def numbers(rng: np.random.Generator, kind: str, order: str) -> np.ndarray:
    """Small whole numbers, which every type can hold; some missing where the type knows missing values."""
    X = rng.integers(0, 7, (40, 4)).astype(kind)
    X[:, 3] = rng.integers(0, 2, 40)
    if kind.startswith("float"):
        X[rng.random(X.shape) < 0.1] = np.nan
    if order == "every second":
        wide = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)
        return wide[::2, ::2]
    return np.asfortranarray(X) if order == "F" else X


@pytest.mark.parametrize("order", ["C", "F", "every second"])
@pytest.mark.parametrize("kind", TYPES)
def test_nothing_is_copied(kind: str, order: str) -> None:
    X = numbers(np.random.default_rng(0), kind, order)
    table = to_table(X)
    assert np.shares_memory(table.values, X)
    assert table.column(1).dtype == np.float64
    np.testing.assert_array_equal(table.column(1), X[:, 1].astype(float))


@pytest.mark.parametrize("kind", ["int64", "uint32", "float16", "longdouble"])
def test_other_numbers_become_floating_point(kind: str) -> None:
    X = np.array([[1, 2], [3, 4]], dtype=kind)
    assert to_table(X).values.dtype == (np.float32 if kind == "float16" else np.float64)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(TYPES),
    order=st.sampled_from(["C", "F", "every second"]),
    measure=st.sampled_from(["precision", "f0.5", "subset"]),
    limits=st.sampled_from([{}, {"sorted_rows": 1, "binned_rows": 1}]),
)
@pytest.mark.skipif(native is None, reason="the compiled kernels are not built")
def test_the_rules_do_not_depend_on_type_and_order(seed: int, kind: str, order: str, measure: str, limits: Any) -> None:
    rng = np.random.default_rng(seed)
    X = numbers(rng, kind, order)
    truth = (rng.random((40, 3)) < 0.4).astype(np.uint8)
    truth[:, 0] |= (np.nan_to_num(X[:, 1]) > 3).astype(np.uint8)
    others = truth, np.ones(40, dtype=np.int64), Objective(measure), GrowOptions()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_kernels, "_COPIED_ROWS", 0)
        mine = native_engine(Table.from_array(X), *others, limits=limits)
    reference = ReferenceEngine(Table.from_array(X.astype(float)), *others)
    for _ in range(3):
        found, expected = mine.grow(), reference.grow()
        if expected is None:
            assert found is None
            break
        assert (found.value, found.head, found.body) == (expected.value, expected.head, expected.body)
        mine.commit(expected, 0.01, True)
        reference.commit(expected, 0.01, True)


@pytest.mark.parametrize("kind", TYPES)
def test_models_and_fingerprints_do_not_depend_on_the_type(kind: str) -> None:
    X = np.nan_to_num(numbers(np.random.default_rng(1), kind, "C"))
    Y = np.stack([X[:, 0] > 3, X[:, 1] < 2], axis=1).astype(np.uint8)
    wide = X.astype(float)
    assert fingerprint(to_table(X), Y) == fingerprint(to_table(wide), Y)
    one, other = (RuleListClassifier().fit(values, Y) for values in (X, wide))
    assert str(one.rules_) == str(other.rules_)
    np.testing.assert_array_equal(one.predict(X), other.predict(wide))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(wide))
