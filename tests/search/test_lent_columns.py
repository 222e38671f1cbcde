"""Engines for the same table that use the columns one of them has sorted."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from polyrule.data.table import Table
from polyrule.measures import Objective, get
from polyrule.search.native import NativeEngine
from polyrule.search.protocol import GrowOptions
from polyrule.utils.compute import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")

RANDOM = np.random.default_rng(0)
VALUES, WEIGHTS = RANDOM.integers(0, 9, size=(80, 4)).astype(float), RANDOM.integers(1, 4, size=80)
ONE, OTHER = ((RANDOM.random((80, 3)) < share).astype(np.uint8) for share in (0.4, 0.3))
# Most numbers are not zero, so that a sparse table keeps them by row.
TABLES = {"dense": Table.from_array(VALUES), "sparse": Table.from_array(sp.csc_array(VALUES))}


def engine(table: Table, truth: Any, measure: str, like: NativeEngine | None = None) -> NativeEngine:
    objective = Objective(get(measure), negative=False)
    return NativeEngine(table, truth, WEIGHTS, objective, GrowOptions(label_conditions=False), like=like)


def rules(of: NativeEngine, *, keep: bool = True) -> list[Any]:
    found = []
    for _ in range(4):
        rule = of.grow()
        assert rule is not None
        found.append((rule.body, rule.head, rule.covered.tolist()))
        of.commit(rule, -1.0 if keep else 1.0, keep)
    return found


@pytest.mark.parametrize("kind", TABLES)
def test_lent_columns_give_the_same_rules(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the lender has grown rules, and is gone before they are used."""
    table = TABLES[kind]
    expected, lender = rules(engine(table, OTHER, "f0.5")), engine(table, ONE, "f1")
    rules(lender)
    monkeypatch.setattr("polyrule.search.native._values", None)  # nobody reads the table again
    borrower = engine(table, OTHER, "f0.5", like=lender)
    del lender
    gc.collect()
    assert rules(borrower) == expected


@pytest.mark.parametrize("kind", TABLES)
def test_columns_that_rows_have_left_are_not_lent(kind: str) -> None:
    table, lender = TABLES[kind], engine(TABLES[kind], ONE, "f1")
    rules(lender, keep=False)
    assert lender.remaining < WEIGHTS.sum()
    assert rules(engine(table, OTHER, "f0.5", like=lender)) == rules(engine(table, OTHER, "f0.5"))


def test_columns_of_other_weights_are_refused() -> None:
    """What the extension is handed is checked there."""
    lender = engine(TABLES["dense"], ONE, "f1")
    objective, weights = Objective(get("f1"), negative=False), WEIGHTS[::-1].copy()  # as many in all
    with pytest.raises(ValueError, match="cannot be lent"):
        NativeEngine(TABLES["dense"], ONE, weights, objective, GrowOptions(), like=lender)
