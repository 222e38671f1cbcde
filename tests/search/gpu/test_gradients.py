"""Ensembles whose gains and weights a GPU computes, with kernels run by the processor: the same to the last digit."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ensemble import test_gain, test_logistic
from tests.search.gpu.emulated import no_gpu

from polyrule import RuleEnsembleClassifier, RuleListClassifier, config_context
from polyrule.binning.binned_table import BinnedTable
from polyrule.binning.binning import Binning
from polyrule.data.table import Feature, Table
from polyrule.ensemble.gain import Gradients, best_conditions, reference_best_conditions
from polyrule.ensemble.logistic import Logistic, fixed_point_scale
from polyrule.errors import LimitError, OptionError
from polyrule.model.files import dumps
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.search.gpu import gradients as gpu_slopes
from polyrule.search.gpu.gradients import GpuKernels
from polyrule.utils.compute import Compute

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="kernels are compiled with g++")


@pytest.fixture(scope="module", autouse=True)
def _no_gpu(tmp_path_factory):
    with no_gpu(tmp_path_factory.mktemp("kernels")) as patch:
        patch.setattr(gpu_slopes, "_LARGEST_TABLE", 1 << 13)  # so that features take turns
        yield


def same_conditions(binned: BinnedTable, rows, slopes: Gradients, *given) -> None:
    features = np.arange(len(binned.slot))[len(rows) % 2 :]
    found = best_conditions(binned, rows, replace(slopes, compute=Compute(device=GpuKernels())), features, *given)
    expected = reference_best_conditions(binned.only(features.tolist()), rows, slopes, *given)
    np.testing.assert_array_equal(found.gain, expected.gain)
    np.testing.assert_array_equal(found.bin, expected.bin)
    np.testing.assert_array_equal(found.kind, expected.kind)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 3, 9, 20]), st.booleans(), st.sampled_from([-1, 0, 1]), st.booleans())
def test_conditions(seed: int, labels: int, every_row: bool, sign: int, limited: bool) -> None:
    binned, slopes, rows = test_gain.world(seed, labels=labels, cost=0.1 * (seed % 2), min_rows=1 + seed % 6)
    rng = np.random.default_rng(seed)
    if limited:
        direction = np.where(binned.nominal, 0, rng.integers(-1, 2, 4)).astype(np.int8)
        forbidden = rng.integers(-1, np.maximum(binned.count, 1)).astype(np.int32)
        binned = replace(binned, direction=direction, forbidden=forbidden)
    sure = rows[rng.random(len(rows)) < 0.3] if limited else rows[:0]
    border = np.arange(40, dtype=np.int32) if every_row else np.setdiff1d(rows, sure).astype(np.int32)
    judges = np.sort(rng.permutation(labels)[: 1 + labels // 2]) if seed % 3 else None
    same_conditions(binned, border, slopes, sign, slopes.sums(sure), judges)


def test_features_of_very_many_bins_are_added_up_directly() -> None:
    rng = np.random.default_rng(1)
    names = tuple(f"c{i}" for i in range(700))
    columns = [rng.integers(0, 700, 2500), rng.integers(0, 50, 2500), np.where(rng.random(2500) < 0.1, 1, 0)]
    table = Table.from_array(
        np.column_stack(columns).astype(float), [Feature("a", "nominal", names), *map(Feature, "bc")]
    )
    binning = Binning.of(table, 64)
    binned = BinnedTable.of(binning, binning.columns(table))
    chance = rng.random((2500, 9))
    units = 2.0**21  # the largest slopes there are, and more rows than fit into a sum of 32 bits
    slopes = Gradients.of(
        *(
            np.hstack([np.ones((2500, 1)), np.rint(units * some)]).astype(np.int32)
            for some in (np.ones((2500, 9)), np.maximum(chance, 0.01))
        ),
        units,
        1.0,
        0.0,
    )
    same_conditions(binned, np.arange(2500, dtype=np.int32), slopes, 0, None, None)
    same_conditions(binned, np.arange(0, 2500, 2, dtype=np.int32), slopes, 0, None, None)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 7, 511, 1100]), st.booleans())
def test_derivatives(seed: int, rows: int, whole_weights: bool) -> None:
    covers, targets, weights, labels, coefficients, support = test_logistic.world(seed, rows, whole_weights)
    there, here = (
        Logistic(covers, targets, weights, fixed_point_scale(weights), compute)
        for compute in (Compute(device=GpuKernels()), Compute(kernels="reference"))
    )
    np.testing.assert_array_equal(*(k.gradients(labels, coefficients, support) for k in (there, here)))
    for mine, its in zip(*(k.hessians(labels, coefficients, support) for k in (here, there)), strict=True):
        np.testing.assert_array_equal(its, mine)
    slopes = np.zeros((2, 2, rows, 1 + len(targets)), dtype=np.int32)
    for kernel, found in zip((there, here), slopes, strict=True):
        kernel.write_gradients(labels, coefficients, support, 2.0**20, *found)
    np.testing.assert_array_equal(*slopes)
    some = np.flatnonzero(np.random.default_rng(seed).random(rows) < 0.4).astype(np.int32)
    shared = GpuKernels().shared_curvature(covers, some, slopes[0, 1], labels)
    np.testing.assert_array_equal(shared, covers[:, some].astype(np.int64) @ slopes[0, 1][np.ix_(some, labels)])


def planted(seed: int = 0, rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (rows, 5)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    Y = np.column_stack([X[:, 0] > 6, (X[:, 1] > 4) & (X[:, 2] <= 7), X[:, 3] <= 2, rng.random(rows) < 0.2])
    return X, (Y ^ (rng.random(Y.shape) < 0.05)).astype(np.uint8)


def file_of(model: RuleEnsemble) -> str:
    """The model as it is stored, every digit of it, but for where it was learned."""
    return dumps(replace(model, info={key: value for key, value in model.info.items() if key != "options"}))


WAYS = {
    "plain": {},
    "teacher": {"teacher": "forest"},
    "monotone": {"constraints": {"monotone": {"x0": "up", "x3": "down"}}},
    "features": {"constraints": {"features": {"y0": ["x0", "x1"]}, "forbid": ["x4"]}},
    "points": {"points": True, "cv": 3},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weighted", [False, True])
def test_same_ensemble(way: str, weighted: bool) -> None:
    X, Y = planted()
    weights = np.random.default_rng(5).random(len(X)) * 3 if weighted else None
    options = {"max_rules": 4, "cv": 2, "teacher": None} | WAYS[way]
    names = {"label_names": [f"y{i}" for i in range(4)], "feature_names": [f"x{j}" for j in range(5)]}
    learner = RuleEnsembleClassifier(**options)
    here = learner.fit(X, Y, weights, **names).model_
    with config_context(device="cuda"):
        there = learner.fit(X, Y, weights, **names).model_
    assert file_of(there) == file_of(here)


def test_same_ensemble_of_sparse_data() -> None:
    rng = np.random.default_rng(2)
    X = sp.random_array((250, 60), density=0.08, rng=rng, data_sampler=lambda size: rng.integers(1, 4, size=size) * 1.0)
    Y = np.column_stack([np.asarray(X.tocsc()[:, [j]].todense())[:, 0] > 0 for j in range(12)]).astype(np.uint8)
    learner = RuleEnsembleClassifier(max_rules=5, cv=2, teacher=None)
    here = learner.fit(X.tocsr(), Y).model_
    with config_context(device="cuda"):
        there = learner.fit(X.tocsr(), Y).model_
    assert file_of(there) == file_of(here)
    assert len(here) > 2


def test_a_gpu_that_runs_out_of_memory_is_an_error_of_one_sentence(monkeypatch) -> None:
    class OutOfMemoryError(MemoryError):
        __module__ = "cupy.cuda.memory"

    def refuse(*_):
        raise OutOfMemoryError("out of memory allocating 9 bytes")

    X, Y = planted(rows=40)
    monkeypatch.setattr(GpuKernels, "logistic_gradients", refuse)
    with config_context(device="cuda"), pytest.raises(LimitError, match=r"too little memory.*9 bytes.*max_samples"):
        RuleEnsembleClassifier().fit(X, Y)
    monkeypatch.setattr("polyrule.search.counted.counting.GpuCounter", refuse)
    with config_context(device="cuda"), pytest.raises(LimitError, match="too little memory"):
        RuleListClassifier(max_bins=20).fit(X, Y)


def test_other_devices_are_refused() -> None:
    with pytest.raises(OptionError, match="device must be 'cpu' or 'cuda'"):
        config_context(device="tpu").__enter__()
