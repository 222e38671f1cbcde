"""Trials of other covered rows: the estimate, the refit, and the state after a refusal."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ensemble.test_solver import problem, solved

from polyrule.ensemble.cover_trial import CoverTrial


def trial(max_rise: float):  # type: ignore[no-untyped-def]
    covers, truth, weights = problem()
    solver = solved(covers, truth, weights, 1.0)
    solver.solve(steps=50)
    return solver, CoverTrial(solver, 2, max_rise)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_the_estimate_is_near_the_refit(share: float) -> None:
    solver, one = trial(np.inf)
    covered = one.covered ^ (np.random.default_rng(4).random(len(one.covered)) < share)
    rise, decrease = one.estimate(covered)
    assert decrease > 0
    before = solver.objective()
    assert one.accept(covered)
    refitted = solver.objective()
    assert np.isclose(refitted - before, rise - decrease, rtol=0.2, atol=0.05)
    assert np.array_equal(solver.covers[:, 3] > 0, covered)
    solver.solve(steps=50)
    assert np.isclose(solver.objective(), refitted, rtol=1e-9)


def test_a_refusal_changes_nothing() -> None:
    solver, one = trial(-1.0)
    solver.signs[1:] = np.sign(solver.coefficients[1:, 0]).astype(np.int8)
    weights, support, covers = solver.coefficients.copy(), solver.support.copy(), solver.covers.copy()
    gradients, before = solver.gradients.copy(), solver.objective()
    covered = one.covered.copy()
    covered[:3] ^= True
    assert not one.accept(covered)
    assert np.array_equal(solver.coefficients, weights)
    assert np.array_equal(solver.support, support)
    assert np.array_equal(solver.covers, covers)
    assert np.array_equal(solver.gradients, gradients)
    assert solver.objective() == before


def test_the_same_rows_are_accepted_without_a_refit() -> None:
    solver, one = trial(-1.0)
    before = solver.coefficients.copy()
    assert one.accept(one.covered.copy())
    assert np.array_equal(solver.coefficients, before)
