"""Bins and thresholds."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ensemble.worlds import random_table

from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.binning import Binning
from polyrule.binning.code_tests import ABOVE, AT_MOST, CATEGORY, BinTest, holds, simplify
from polyrule.binning.text import word_columns
from polyrule.binning.thresholds import short_between, short_thresholds
from polyrule.data import Feature, Table
from polyrule.model import NominalCondition, NumericCondition

numbers = st.floats(-1e9, 1e9, allow_nan=False)
tiny = st.floats(0, 1e-12)


decimals = st.integers(-(10**6), 10**6).map(lambda whole: whole / 100)


@given(st.lists(st.one_of(st.tuples(numbers, numbers), st.tuples(decimals, decimals), st.tuples(tiny, tiny))))
@settings(max_examples=300, deadline=None)
def test_many_thresholds_are_those_of_each_pair(pairs: list[tuple[float, float]]) -> None:
    pairs = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    lows, highs = np.array(pairs, dtype=float).reshape(-1, 2).T
    found = short_thresholds(lows, highs)
    assert found.tolist() == [short_between(low, high) for low, high in pairs]
    assert ((lows <= found) & (found < highs)).all()


def test_thresholds_are_short() -> None:
    lows, highs = (
        np.array([0.123456, 7.0, -120.3, 0.0, 2.0]),
        np.array([0.987654, 8.0, -101.9, 0.5, np.nextafter(2, 3)]),
    )
    assert short_thresholds(lows, highs).tolist() == [0.6, 7.5, -110.0, 0.2, 2.0]


def test_words_are_found_column_by_column() -> None:
    rng = np.random.default_rng(0)
    words, numeric = (rng.random((80, 60)) < 0.1).astype(float), rng.random((80, 40))
    mixed = np.hstack([numeric, words])
    assert word_columns(Table.from_array(mixed))[0].tolist() == [False] * 40 + [True] * 60
    assert not word_columns(Table.from_array(mixed))[1]
    assert not word_columns(Table.from_array(mixed[:, :80]))[0].any()
    frequent = np.hstack([words, (rng.random((80, 1)) < 0.5).astype(float)])
    assert word_columns(Table.from_array(frequent))[0].all()


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 64]))
@settings(max_examples=50, deadline=None)
def test_codes_and_conditions_agree_on_every_value(seed: int, max_bins: int) -> None:
    table = random_table(np.random.default_rng(seed), 30)
    binning = Binning.of(table, max_bins)
    for feature, described in enumerate(table.features):
        values, count = table.column(feature), binning.count(feature)
        codes = binning.encode(feature, values)
        kinds = [CATEGORY] if described.is_nominal else [AT_MOST, ABOVE]
        for bin_ in range(count if described.is_nominal else count - 1):
            for kind in kinds:
                test = BinTest(feature, kind, bin_)
                match binning.condition(test):
                    case NumericCondition(_, op, threshold):
                        expected = values <= threshold if op == "<=" else values > threshold
                    case NominalCondition(_, value):
                        expected = values == value
                assert np.array_equal(holds(test, codes, count), expected)


def test_no_more_bins_than_asked_for() -> None:
    binning = Binning.of(Table.from_array(np.arange(1000.0)[:, None]), 16)
    assert binning.count(0) == 16
    sizes = np.bincount(binning.encode(0, np.arange(1000.0)))
    assert sizes.min() > 30  # each threshold may move by a quarter of a bin


def test_sparse_and_dense_tables_give_the_same_bins() -> None:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((60, 5)) < 0.85, 0.0, rng.integers(-3, 9, (60, 5)))
    features = [Feature(f"w{j}") for j in range(5)]
    tables = [Table.from_array(dense, features), Table.from_array(sp.csr_array(dense), features)]
    binned = [BinnedTable.of(b, b.columns(t)) for t in tables for b in [Binning.of(t, 64)]]
    assert (binned[0].slot == -1).any()
    for feature in range(5):
        assert np.array_equal(binned[0].column(feature), binned[1].column(feature))


def test_implied_tests_are_dropped() -> None:
    tests = (
        BinTest(0, AT_MOST, 5),
        BinTest(1, CATEGORY, 0),
        BinTest(0, ABOVE, 1),
        BinTest(0, AT_MOST, 3),
        BinTest(0, ABOVE, 0),
    )
    assert simplify(tests) == (BinTest(1, CATEGORY, 0), BinTest(0, ABOVE, 1), BinTest(0, AT_MOST, 3))


@given(st.lists(st.integers(-9, 40), min_size=2, max_size=60), st.sampled_from([2, 5, 64]))
@settings(max_examples=100, deadline=None)
def test_whole_numbers_are_cut_at_whole_numbers(column: list[int], max_bins: int) -> None:
    values = np.array(column, dtype=float)[:, None]
    whole = Binning.of(Table.from_array(values), max_bins)
    assert all(cut.is_integer() for cut in whole.thresholds[0].tolist())
    quarters = Binning.of(Table.from_array(np.vstack([values, [[0.25]]])), max_bins)
    if max_bins == 64 and len(set(column)) > 1:
        assert len(whole.thresholds[0]) == len(set(column)) - 1
        assert len(quarters.thresholds[0]) == len(set(column))
    ordinal = Table.from_array([[0.0], [1.0], [2.0]], [Feature("plan", "ordinal", ("a", "b", "c"))])
    assert Binning.of(ordinal, 64).thresholds[0].tolist() == [0.5, 1.5]


def test_cuts_that_nobody_sees_divide_as_readable_ones_do_where_values_are_few() -> None:
    table = random_table(np.random.default_rng(3), 80)
    shown, unseen = (Binning.of(table, 1000, readable=readable) for readable in (True, False))
    assert np.array_equal(shown.codes(table), unseen.codes(table))
    assert all(len(cuts) < 8 for cuts in Binning.of(table, 8, readable=False).thresholds)
