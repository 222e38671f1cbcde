"""Fully corrective weights against scikit-learn's logistic regression, and what is said about removing one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from polyrule.ensemble import logistic
from polyrule.ensemble.logistic import Calibration, sigmoid
from polyrule.ensemble.scorecard import to_points
from polyrule.ensemble.solver import Solver, loss


def problem(seed: int = 0, rows: int = 200, rules: int = 5, labels: int = 3):
    rng = np.random.default_rng(seed)
    covers = rng.random((rows, rules)) < 0.4
    scores = covers @ rng.normal(0, 1.5, (rules, labels)) - 0.5
    truth = (rng.random((rows, labels)) < 1 / (1 + np.exp(-scores))).astype(float)
    return covers, truth, rng.integers(1, 4, rows).astype(float)


def solved(covers, truth, weights, ridge: float, heads=None) -> Solver:
    solver = Solver(truth, weights, ridge, covers.shape[1])
    for rule in range(covers.shape[1]):
        head = np.ones(truth.shape[1], dtype=bool) if heads is None else heads[rule]
        solver.add(np.flatnonzero(covers[:, rule]).astype(np.int32), head)
        solver.solve(steps=1)
    solver.solve(steps=50)
    return solver


def test_slopes_in_fixed_point_are_those_of_the_loss() -> None:
    covers, truth, weights = problem()
    solver = solved(covers, truth, weights, 1.0)
    chance = 1 / (1 + np.exp(-(solver.covers @ solver.coefficients)))
    unit = 2 / solver.scale  # rounded before it is weighed, by 3 at most
    assert solver.gradients[0, :, 1:] / solver.scale == pytest.approx(weights[:, None] * (chance - truth), abs=unit)
    assert solver.gradients[1, :, 1:] / solver.scale == pytest.approx(
        weights[:, None] * chance * (1 - chance), abs=unit
    )


def test_the_slope_vanishes_at_the_optimum_and_blocks_change_nothing(monkeypatch) -> None:
    covers, truth, weights = problem(rows=700)
    solver = solved(covers, truth, weights, 1.0)
    assert solver.max_derivative() < 1e-5 * weights.sum()
    monkeypatch.setattr("polyrule.ensemble.solver._BLOCK_CELLS", 300)
    monkeypatch.setattr("polyrule.ensemble.solver._MAX_LABELS", 2)
    other = solved(covers, truth, weights, 1.0)
    assert other.coefficients == pytest.approx(solver.coefficients, abs=1e-6)


def test_dropping_an_entry_is_never_having_had_it() -> None:
    covers, truth, weights = problem()
    heads = np.ones((5, 3), dtype=bool)
    heads[2, 1] = heads[4, 1] = False
    solver = solved(covers, truth, weights, 1.0)
    solver.drop(2, 1)
    solver.drop(4, 1)
    solver.solve(np.array([1]), steps=50)
    assert solver.coefficients == pytest.approx(solved(covers, truth, weights, 1.0, heads).coefficients, abs=1e-4)


def test_weights_are_those_of_logistic_regression() -> None:
    covers, truth, weights = problem()
    solver = solved(covers, truth, weights, 2.0)
    for label in range(truth.shape[1]):
        # C is the inverse of the penalty.
        other = LogisticRegression(C=1 / 2.0, tol=1e-10, max_iter=1000).fit(covers, truth[:, label], weights)
        assert solver.coefficients[1:, label] == pytest.approx(other.coef_[0], abs=1e-3)
        assert solver.coefficients[0, label] == pytest.approx(other.intercept_[0], abs=1e-3)


def test_labels_outside_a_head_get_no_weight() -> None:
    covers, truth, weights = problem()
    heads = np.random.default_rng(1).random((5, 3)) < 0.5
    solver = solved(covers, truth, weights, 1.0, heads)
    assert (solver.coefficients[1:][~heads] == 0).all()
    assert (solver.coefficients[1:][heads] != 0).all()


def test_saliency_foretells_the_loss_without_a_weight() -> None:
    covers, truth, weights = problem(rows=400)
    solver = solved(covers, truth, weights, 2.0)
    worth, before = solver.saliency(), solver.objective()
    for rule, label in ((0, 0), (3, 1), (4, 2)):
        heads = np.ones((5, 3), dtype=bool)
        heads[rule, label] = False
        rise = solved(covers, truth, weights, 2.0, heads).objective() - before
        assert worth[rule, label] == pytest.approx(rise, rel=0.25)


def test_removing_a_rule_is_never_having_had_it() -> None:
    covers, truth, weights = problem()
    solver = solved(covers, truth, weights, 1.0)
    solver.remove(2)
    solver.solve(steps=50)
    other = solved(np.delete(covers, 2, axis=1), truth, weights, 1.0)
    assert np.allclose(solver.coefficients, other.coefficients, atol=1e-4)
    assert np.array_equal(solver.covers, other.covers)


def test_restoring_weights_restores_gradients_and_objective() -> None:
    covers, truth, weights = problem()
    solver = solved(covers, truth, weights, 1.0)
    state = solver.coefficients.copy(), solver.support.copy()
    gradients, before = solver.gradients.copy(), solver.objective()
    solver.drop(2, 1)
    solver.solve(steps=50)
    assert solver.objective() > before
    solver.restore(np.arange(truth.shape[1]), *state)
    assert np.array_equal(solver.gradients, gradients)
    assert solver.objective() == before


def test_unknown_labels_count_nowhere() -> None:
    """Labels that are unknown for some examples have the weights of a fit without these examples."""
    covers, truth, weights = problem()
    unknown = np.random.default_rng(3).random(truth.shape) < 0.3
    solver = solved(covers, np.where(unknown, np.nan, truth), weights, 1.0)
    for label in range(truth.shape[1]):
        known = ~unknown[:, label]
        alone = solved(covers[known], truth[known][:, [label]], weights[known], 1.0)
        assert solver.coefficients[:, label] == pytest.approx(alone.coefficients[:, 0], abs=1e-6)
        rows = solver.gradients[:, unknown[:, label], label + 1]
        assert not rows.any()
    assert np.isfinite(solver.objective())


def test_a_label_that_is_always_present_stays_finite() -> None:
    solver = Solver(np.ones((50, 1)), np.ones(50), 1.0, 1)
    assert 3 < solver.coefficients[0, 0] < 50


def test_points_are_whole_bounded_and_better_than_rounding() -> None:
    covers, truth, weights = problem(rows=500, rules=6)
    solver = solved(covers, truth, weights, 1.0)
    chances = sigmoid(solver.covers @ solver.coefficients)
    for most, one_unit in ((2, True), (5, True), (2, False), (5, False)):
        points, unit = to_points(solver.coefficients, solver.covers.astype(float), weights, most, one_unit=one_unit)
        assert np.array_equal(points, np.rint(points))
        assert np.abs(points[1:]).max() <= most
        assert isinstance(unit, float) == one_unit
        rounded = np.rint(solver.coefficients / unit) * unit
        reached = [loss(solver.covers @ c, chances, weights).sum() for c in (points * unit, rounded)]
        assert reached[0] <= reached[1] + 1e-9


def test_a_large_weight_of_one_label_leaves_the_points_of_the_others_alone() -> None:
    covers = np.hstack([np.ones((60, 1)), np.random.default_rng(0).random((60, 3)) < 0.5]).astype(float)
    weights = np.array([[0.0, 0.0], [0.3, 30.0], [-0.2, 0.0], [0.1, -15.0]])
    points, unit = to_points(weights, covers, np.ones(60), 10)
    alone, unit_alone = to_points(weights[:, :1], covers, np.ones(60), 10)
    assert np.array_equal(points[:, :1], alone)
    assert unit[:1] == unit_alone
    assert np.abs(points[1:, 0] - weights[1:, 0] / 0.03).max() < 1
    shared, _ = to_points(weights, covers, np.ones(60), 10, one_unit=True)
    assert not shared[:, 0].any()


def test_calibration_restores_log_odds_that_were_stretched() -> None:
    rng = np.random.default_rng(0)
    real = rng.normal(0, 1.5, (4000, 2))
    truth = (rng.random(real.shape) < 1 / (1 + np.exp(-real))).astype(float)
    line = Calibration.fit(3 * real + 1, truth, np.ones(4000))
    assert line.slope == pytest.approx(1 / 3, abs=0.03)
    assert line.shift == pytest.approx(-1 / 3, abs=0.08)


def test_calibration_never_turns_scores_around() -> None:
    scores = np.array([[5.0], [5.0], [-5.0], [-5.0]] * 50)
    assert Calibration.fit(scores, 1.0 * (scores < 0), np.ones(200)) == Calibration(0.0, 0.0)


def test_scores_that_tell_nothing_beside_the_base_have_no_slope() -> None:
    rng = np.random.default_rng(1)
    base = np.array([-2.0, 1.0])
    truth = (rng.random((3000, 2)) < 1 / (1 + np.exp(-base))).astype(float)
    noise = rng.normal(size=truth.shape)
    assert Calibration.fit(base + 0.3 * noise, truth, np.ones(3000), base) == Calibration(0.0, 0.0)
    line = Calibration.fit(base + 2 * (truth - 0.5) + noise, truth, np.ones(3000), base)
    assert line.slope > 0.5
    scores = base + noise
    assert np.allclose(line.apply(scores, base), base + line.shift + line.slope * noise)


def test_calibration_in_small_blocks_is_the_same_line(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    scores = rng.normal(size=(150, 3))
    truth, weights = (rng.random((150, 3)) < 0.3).astype(np.uint8), rng.random(150) + 0.1
    whole = Calibration.fit(scores, truth, weights)
    monkeypatch.setattr(logistic, "_SCORES_AT_A_TIME", 7)
    assert Calibration.fit(scores, truth, weights) == whole


def test_repeated_rows_give_the_weights_of_weighted_ones() -> None:
    covers, truth, weights = problem()
    often = 1 + np.arange(len(truth)) % 3
    repeated = np.repeat(np.arange(len(truth)), often)
    one = solved(covers, truth, weights * often, 1.0)
    other = solved(covers[repeated], truth[repeated], weights[repeated], 1.0)
    assert np.allclose(one.coefficients, other.coefficients, rtol=0, atol=1e-7)
