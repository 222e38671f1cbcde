"""The gain search: native equals reference equals the slow obvious way, for every kind of column."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ensemble.worlds import random_table

from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.binning import Binning
from polyrule.binning.code_tests import ABOVE, AT_MOST, CATEGORY, BinTest
from polyrule.ensemble.gain import Gradients, best_conditions, reference_best_conditions
from polyrule.utils.compute import Compute, native

needs_native = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")


def fixed(
    gradient: np.ndarray, hessian: np.ndarray, ridge: float, cost: float, min_rows: int = 1, synthetic: int = 0
) -> Gradients:
    """Gradients in units of 2**-24, as a solver stores them, after a column that counts rows."""
    scale = 2.0**24
    ones = np.ones((len(gradient), 1))
    examples = (np.arange(len(gradient)) < len(gradient) - synthetic)[:, None]
    first = np.hstack([ones, np.rint(gradient * scale)]).astype(np.int32)
    second = np.where(hessian > 0, np.maximum(np.rint(hessian * scale), 1), 0)
    return Gradients.of(first, np.hstack([examples, second]).astype(np.int32), scale, ridge, cost, min_rows)


def world(seed: int, rows: int = 40, labels: int = 3, cost: float = 0.0, min_rows: int = 1):
    """A table, gradients some of which are unknown, and some rows; a few rows at the end are synthetic."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, rows)
    binning = Binning.of(table, 64)
    binned = BinnedTable.of(binning, binning.columns(table))
    chance = rng.random((rows, labels))
    known = rng.random((rows, labels)) < rng.choice([0.0, 0.7, 1.0], labels, p=[0.1, 0.4, 0.5])
    gradient = np.where(known, chance - rng.integers(0, 2, (rows, labels)), 0.0)
    slopes = fixed(gradient, np.where(known, chance * (1 - chance), 0.0), 1.0, cost, min_rows, int(rng.integers(9)))
    chosen = np.flatnonzero(rng.random(rows) < 0.7).astype(np.int32)
    return binned, slopes, chosen


def obvious(binned: BinnedTable, rows: np.ndarray, slopes: Gradients) -> tuple[list[float], list[tuple[int, int]]]:
    """Try every condition of every feature on its own."""
    gains, conditions = [], []
    for feature, count in enumerate(binned.count.tolist()):
        best, found = -1.0, (-1, 0)
        kinds = [CATEGORY] if binned.nominal[feature] else [AT_MOST, ABOVE]
        for bin_ in range(count if binned.nominal[feature] else count - 1):
            for kind in kinds:
                covered = binned.covered(BinTest(feature, kind, bin_), rows)
                enough = slopes.hessian[covered, 0].sum() >= slopes.min_rows
                if enough and 0 < len(covered) < len(rows) and slopes.gain(slopes.sums(covered)) > best + 1e-12:
                    best, found = slopes.gain(slopes.sums(covered)), (bin_, kind)
        gains.append(best)
        conditions.append(found)
    return gains, conditions


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_reference_finds_what_the_obvious_search_finds(seed: int, cost: float, min_rows: int) -> None:
    binned, slopes, rows = world(seed, cost=cost, min_rows=min_rows)
    found = reference_best_conditions(binned, rows, slopes)
    gains, _ = obvious(binned, rows, slopes)
    assert np.allclose(found.gain[found.gain >= 0], np.array(gains)[found.gain >= 0], rtol=1e-9, atol=1e-9)
    assert ((found.gain < 0) == (np.array(gains) < 0)).all()
    for feature in np.flatnonzero(found.gain > 0).tolist():
        test = BinTest(feature, int(found.kind[feature]), int(found.bin[feature]))
        assert np.isclose(slopes.gain(slopes.sums(binned.covered(test, rows))), found.gain[feature])


@needs_native
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]), st.integers(1, 3), st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_native_equals_reference_to_the_bit(seed: int, cost: float, threads: int, min_rows: int) -> None:
    binned, slopes, rows = world(seed, labels=1 + seed % 9, cost=cost, min_rows=min_rows)
    reference = reference_best_conditions(binned, rows, slopes)
    found = best_conditions(binned, rows, replace(slopes, compute=Compute(threads, "native")))
    assert np.array_equal(found.gain, reference.gain)
    has = reference.gain >= 0
    assert np.array_equal(found.bin[has], reference.bin[has])
    assert np.array_equal(found.kind[has], reference.kind[has])


@needs_native
def test_native_refuses_rows_that_do_not_exist() -> None:
    binned, slopes, _ = world(1)
    with pytest.raises(IndexError, match="no such row"):
        best_conditions(binned, np.array([10**6], dtype=np.int32), slopes)


def test_a_label_that_is_unknown_everywhere_gains_nothing() -> None:
    binned, slopes, rows = world(3)
    nothing = np.zeros_like(slopes.gradient)
    nothing[:, 0] = 1
    unknown = Gradients.of(nothing, nothing, slopes.scale, 1.0, 0.0)
    for kernels in ("reference", None):
        best = best_conditions(binned, rows, replace(unknown, compute=Compute(kernels=kernels)))
        assert set(best.gain.tolist()) <= {0.0, -1.0}
    assert unknown.gain(unknown.sums(rows)) == 0


def test_equal_gains_go_to_the_first_feature_and_threshold() -> None:
    codes = np.array([[0, 1, 2, 3], [0, 1, 2, 3]], dtype=np.uint16)
    from polyrule.data import Feature

    cuts = np.array([1.5, 2.5, 3.5])
    binning = Binning((Feature("a"), Feature("b")), (cuts, cuts))
    binned = BinnedTable.of(binning, codes)
    gradient = np.array([[-0.5], [0.5], [0.5], [-0.5]])
    slopes = fixed(gradient, np.full((4, 1), 0.25), 1.0, 0.0)
    for kernels in ("reference", None):
        found = best_conditions(binned, np.arange(4, dtype=np.int32), replace(slopes, compute=Compute(kernels=kernels)))
        assert found.gain[0] == found.gain[1]
        assert (found.bin[0], found.kind[0]) == (0, AT_MOST)


def test_a_rule_and_its_complement_gain_the_same_once_the_intercept_is_fitted() -> None:
    rng = np.random.default_rng(3)
    chance = np.full((50, 1), 0.3)
    truth = np.zeros((50, 1))
    truth[:15] = 1  # 0.3 of 50: the gradients sum to 0
    slopes = fixed(chance - truth, chance * (1 - chance), 1e-12, 0.0)
    rows = np.sort(rng.choice(50, 20, replace=False)).astype(np.int32)
    others = np.setdiff1d(np.arange(50, dtype=np.int32), rows)
    assert slopes.gain(slopes.sums(rows)) == pytest.approx(slopes.gain(slopes.sums(others)), rel=1e-5)


@pytest.mark.parametrize("kernels", [None, "reference"])
@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_some_features_alone_give_what_they_give_among_all(kernels: str | None, seed: int) -> None:
    binned, slopes, rows = world(seed)
    features = np.flatnonzero(np.random.default_rng(seed).random(len(binned.slot)) < 0.5).tolist()
    if not features:
        return
    slopes = replace(slopes, compute=Compute(kernels=kernels))
    every = best_conditions(binned, rows, slopes)
    some = best_conditions(binned.only(features), rows, slopes)
    assert np.array_equal(some.gain, every.gain[features])
    assert np.array_equal(some.bin, every.bin[features])
    assert np.array_equal(some.kind, every.kind[features])


@needs_native
@given(st.integers(0, 10**6), st.sampled_from([31, 32, 33, 70]))
@settings(max_examples=40, deadline=None)
def test_many_labels_too(seed: int, labels: int) -> None:
    binned, slopes, rows = world(seed, labels=labels)
    native, reference = best_conditions(binned, rows, slopes), reference_best_conditions(binned, rows, slopes)
    assert np.array_equal(native.gain, reference.gain)
    assert np.array_equal(native.bin, reference.bin)
    assert np.array_equal(native.kind, reference.kind)


@pytest.mark.parametrize("kernels", ["reference", pytest.param("native", marks=needs_native)])
def test_nothing_is_found_on_no_feature(kernels: str) -> None:
    """A body of one group has no plain condition that could be tightened, and may be as long as bodies may be."""
    binned, slopes, rows = world(0)
    asked = replace(slopes, compute=Compute(1, kernels))
    assert len(best_conditions(binned, rows, asked, np.empty(0, dtype=np.int64)).gain) == 0


@needs_native
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([3, 20, 40]))
@settings(max_examples=60, deadline=None)
def test_some_labels_and_features_are_asked_about_any_rows(seed: int, threads: int, labels: int) -> None:
    """Rows are divided and joined as a search does, and asked about by some labels and features."""
    rng = np.random.default_rng(seed)
    binned, slopes, _ = world(seed, labels=labels)
    asked = [np.ones(binned.rows, dtype=bool)]
    for _ in range(10):
        one, other = (asked[place] for place in rng.integers(len(asked), size=2))
        part = one & (rng.random(binned.rows) < rng.choice([0.1, 0.5, 0.9]))
        chosen = [one, other, part, one & ~part, one & ~other, one | part, other | part][rng.integers(7)]
        asked.append(chosen)
        judges = None if rng.random() < 0.3 else np.unique(rng.integers(labels, size=6))
        some = np.arange(len(binned.slot)) if rng.random() < 0.6 else np.unique(rng.integers(len(binned.slot), size=2))
        rows = np.flatnonzero(chosen).astype(np.int32)
        reference = reference_best_conditions(binned.only(some.tolist()), rows, slopes, judges=judges)
        found = best_conditions(binned, rows, replace(slopes, compute=Compute(threads, "native")), some, judges=judges)
        for name in ("gain", "bin", "kind"):
            assert np.array_equal(getattr(found, name), getattr(reference, name)), name
