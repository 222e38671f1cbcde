"""The arithmetic of the weights: compiled equals NumPy to the last digit, and both equal what libraries compute."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.ensemble.logistic import (
    Logistic,
    exp_neg,
    fixed_point_scale,
    inverse_diagonals,
    log1p,
    newton_steps,
    sigmoid,
)
from polyrule.ensemble.solver import Solver
from polyrule.utils.compute import Compute, native

needs_native = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")


def world(seed: int, rows: int, whole_weights: bool):
    rng = np.random.default_rng(seed)
    rules, labels = int(rng.integers(0, 20)), int(rng.integers(1, 5))
    covers = (rng.random((22, rows)) < rng.random()).astype(np.uint8)
    covers[0] = 1
    targets = rng.integers(0, 2, (labels, rows)).astype(np.float32)
    if rng.random() < 0.5:
        targets = rng.random((labels, rows)).astype(np.float32)
    if rng.random() < 0.5:
        targets[rng.random(targets.shape) < rng.choice([0.2, 0.9])] = np.nan
    weights = rng.integers(1, 5, rows).astype(float) if whole_weights else rng.random(rows) + 1e-3
    some = rng.permutation(labels)[: int(rng.integers(1, labels + 1))]
    support = rng.random((1 + rules, len(some))) < 0.7
    support[0] = True
    coefficients = np.where(support, rng.normal(0, rng.choice([0.1, 3, 200]), support.shape), 0)
    return covers, targets, weights, some, coefficients, support


def both(covers, targets, weights, threads: int = 1):
    unit = fixed_point_scale(weights)
    return [Logistic(covers, targets, weights, unit, Compute(threads, kernels)) for kernels in ("native", "reference")]


def test_exponentials_and_logarithms() -> None:
    sizes = np.concatenate([np.linspace(0, 50, 5001), np.geomspace(1e-12, 680, 500)])
    assert exp_neg(sizes) == pytest.approx(np.exp(-sizes), rel=4e-16)
    shares = np.linspace(0, 1, 5001)
    assert log1p(shares) == pytest.approx(np.log1p(shares), rel=4e-16)
    assert sigmoid(np.array([-1e9, 0.0, 1e9])) == pytest.approx([0, 0.5, 1])


@needs_native
@given(st.integers(0, 10**6), st.sampled_from([1, 7, 511, 1100]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_compiled_and_numpy_agree_to_the_last_digit(seed: int, rows: int, whole_weights: bool) -> None:
    covers, targets, weights, labels, coefficients, support = world(seed, rows, whole_weights)
    fast, slow = both(covers, targets, weights, threads=1 + seed % 3)
    assert np.array_equal(*(kernel.gradients(labels, coefficients, support) for kernel in (fast, slow)))
    matrices = fast.hessians(labels, coefficients, support)
    for mine, other in zip(matrices, slow.hessians(labels, coefficients, support), strict=True):
        assert np.array_equal(mine, other)
    slopes = [np.zeros((2, rows, 1 + len(targets)), dtype=np.int32) for _ in range(2)]
    for kernel, found in zip((fast, slow), slopes, strict=True):
        kernel.write_gradients(labels, coefficients, support, 2.0**20, *found)
    assert np.array_equal(*slopes)
    gradient = np.random.default_rng(seed).normal(size=support.shape)
    penalties = np.full(len(support), 0.3)
    for mine, other in zip(
        newton_steps(matrices, support, penalties, gradient, Compute(kernels="native")),
        newton_steps(matrices, support, penalties, gradient, Compute(kernels="reference")),
        strict=True,
    ):
        assert np.array_equal(mine, other)
    for mine, other in zip(
        inverse_diagonals(matrices, support, penalties, Compute(kernels="native")),
        inverse_diagonals(matrices, support, penalties, Compute(kernels="reference")),
        strict=True,
    ):
        assert np.array_equal(mine, other)


@pytest.mark.parametrize("unknown", [0.0, 0.4])
@pytest.mark.parametrize("kernels", ["reference", pytest.param("native", marks=needs_native)])
def test_the_obvious_formulas_give_the_same(kernels: str, unknown: float) -> None:
    covers, targets, weights, labels, coefficients, support = world(3, 300, whole_weights=False)
    targets[np.random.default_rng(1).random(targets.shape) < unknown] = np.nan
    coefficients = coefficients / 100
    kernel = Logistic(covers, targets, weights, fixed_point_scale(weights), Compute(kernels=kernels))
    shown = covers[: len(support)].T.astype(float)
    scores, wanted = shown @ coefficients, targets[labels].T.astype(float)
    slopes = kernel.gradients(labels, coefficients, support)
    chances = 1 / (1 + np.exp(-scores))
    known = ~np.isnan(wanted)
    expected = shown.T @ (weights[:, None] * np.where(known, chances - wanted, 0))
    assert slopes == pytest.approx(np.where(support, expected, 0), rel=1e-9, abs=1e-9)
    matrices = kernel.hessians(labels, coefficients, support)
    for place, matrix in enumerate(matrices):
        inside = shown[:, support[:, place]]
        bent = inside.T @ (inside * (weights * known[:, place] * chances[:, place] * (1 - chances[:, place]))[:, None])
        assert matrix == pytest.approx(bent, rel=1e-9, abs=1e-9)
    penalties = np.full(len(support), 0.5)
    steps, good = newton_steps(matrices, support, penalties, slopes, Compute(kernels=kernels))
    variance, _ = inverse_diagonals(matrices, support, penalties, Compute(kernels=kernels))
    assert good.all()
    for place, matrix in enumerate(matrices):
        inside = support[:, place]
        bent = matrix + 0.5 * np.eye(len(matrix))
        assert steps[inside, place] == pytest.approx(np.linalg.solve(bent, slopes[inside, place]), rel=1e-6)
        assert variance[inside, place] == pytest.approx(np.diagonal(np.linalg.inv(bent)), rel=1e-6)


@pytest.mark.parametrize("kernels", ["reference", pytest.param("native", marks=needs_native)])
def test_a_matrix_that_bends_the_wrong_way_is_named(kernels: str) -> None:
    support = np.ones((2, 2), dtype=bool)
    matrices = [np.eye(2), np.array([[1.0, 5.0], [5.0, 1.0]])]
    _, good = newton_steps(matrices, support, np.full(2, 0.1), np.ones((2, 2)), Compute(kernels=kernels))
    assert good.tolist() == [True, False]
    assert inverse_diagonals(matrices, support, np.full(2, 0.1), Compute(kernels=kernels))[1].tolist() == [True, False]


@needs_native
@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_solvers_of_both_kinds_come_to_the_same_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, labels = 90, 4
    truth = rng.integers(0, 2, (rows, labels)).astype(np.float32)
    truth[rng.random(truth.shape) < 0.2] = np.nan
    solvers = [
        Solver(truth, np.ones(rows), 1.0, 6, compute=Compute(kernels=kernels)) for kernels in ("native", "reference")
    ]
    for _ in range(5):
        covered = np.flatnonzero(rng.random(rows) < 0.4).astype(np.int32)
        head = rng.random(labels) < 0.7
        for solver in solvers:
            solver.add(covered, head)
            solver.solve(np.flatnonzero(head), steps=2)
    worth = [solver.saliency() for solver in solvers]
    assert np.array_equal(*worth)
    for solver in solvers:
        solver.remove(2)
        solver.solve(steps=20)
    assert np.array_equal(solvers[0].coefficients, solvers[1].coefficients)
    assert np.array_equal(solvers[0].gradients, solvers[1].gradients)
    assert solvers[0].objective() == solvers[1].objective()


@needs_native
def test_arrays_that_do_not_fit_are_refused() -> None:
    covers, targets, weights, labels, coefficients, support = world(1, 20, whole_weights=True)
    kernel = Logistic(covers, targets, weights, 1.0)
    with pytest.raises(ValueError, match="row per rule"):
        kernel.gradients(labels, coefficients[:, :0], support)
    with pytest.raises(IndexError, match="no such label"):
        kernel.gradients(labels + 99, coefficients, support)
    with pytest.raises(ValueError, match="one entry per row"):
        Logistic(covers[:, :5].copy(), targets, weights, 1.0).gradients(labels, coefficients, support)
    with pytest.raises(ValueError, match="do not fit together"):
        newton_steps([np.eye(3)], np.ones((2, 1), dtype=bool), np.ones(2), np.ones((2, 1)), Compute(kernels="native"))
