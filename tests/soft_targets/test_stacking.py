"""Blending teachers: the better one is listened to, none negatively, and the result is calibrated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from polyrule.soft_targets.stacking import StackedModel, log_odds


def world(seed: int = 0, rows: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    real = rng.normal(0, 2, (rows, 2))
    truth = (rng.random(real.shape) < expit(real)).astype(float)
    return expit(real), rng.random(real.shape), truth, np.ones(rows)


def test_a_teacher_that_guesses_is_not_listened_to() -> None:
    good, guess, truth, weights = world()
    blend = StackedModel.fit([guess, good], truth, weights)
    assert blend.weights[0] < 0.1
    assert blend.weights[1] == pytest.approx(1, abs=0.15)


def test_a_teacher_that_is_always_wrong_is_ignored_not_turned_around() -> None:
    good, _, truth, weights = world()
    assert StackedModel.fit([1 - good], truth, weights).weights == (0.0,)


def test_two_halves_of_the_truth_are_better_than_one() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0, 2, (2, 3000, 1))
    truth = (rng.random((3000, 1)) < expit(first + second)).astype(float)
    both, one = [expit(first), expit(second)], [expit(first)]

    def height(estimates: list[np.ndarray]) -> float:
        chance = StackedModel.fit(estimates, truth, np.ones(3000)).predict(estimates)
        return float(-(truth * np.log(chance) + (1 - truth) * np.log(1 - chance)).mean())

    assert height(both) < height(one) - 0.05


def test_weights_are_repetitions() -> None:
    good, guess, truth, _ = world(rows=60)
    weights = np.random.default_rng(2).integers(1, 4, 60)
    repeated = [np.repeat(x, weights, axis=0) for x in (good, guess, truth)]
    weighted = StackedModel.fit([good, guess], truth, weights.astype(float))
    plain = StackedModel.fit(repeated[:2], repeated[2], np.ones(weights.sum()))
    assert weighted.weights == pytest.approx(plain.weights, abs=1e-4)


def test_estimates_outside_0_to_1_stay_finite() -> None:
    assert np.isfinite(log_odds(np.array([-0.2, 0.0, 1.0, 1.3]))).all()
    assert log_odds(np.array([-0.2]))[0] == log_odds(np.array([0.0]))[0]
