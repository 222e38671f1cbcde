"""Kernel ridge regression: its closed form against leaving each example out in turn, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as Reference

from polyrule.soft_targets.regression import _RIDGE, KernelRidge


def world(seed: int, rows: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(rows, 3)).astype(np.float32)
    truth = np.stack([design[:, 0] > 0, design[:, 1] + rng.normal(size=rows) > 0.5], axis=1).astype(np.uint8)
    return design, truth, rng.integers(1, 4, rows).astype(float)


def slow(teacher: KernelRidge, truth, weights, left_out: int | None, asked: np.ndarray) -> np.ndarray:
    """Fit scikit-learn to the examples but one, with the same kernel and the same mean."""
    keep = np.arange(len(truth)) != left_out
    known = teacher._marks
    model = Reference(alpha=_RIDGE, kernel="rbf", gamma=1 / teacher._width)
    model.fit(known[keep], truth[keep] - teacher._shares, sample_weight=(weights / weights.mean())[keep])
    return model.predict(teacher._scaled(asked)) + teacher._shares


@pytest.mark.parametrize("seed", range(3))
def test_what_is_said_without_an_example_is_what_a_fit_without_it_says(seed: int) -> None:
    design, truth, weights = world(seed)
    teacher = KernelRidge(design, truth, weights)
    for row in (0, 7, 39):
        assert teacher.out_of_fold[row] == pytest.approx(slow(teacher, truth, weights, row, design[[row]])[0], abs=1e-5)


def test_predictions_are_those_of_scikit_learn() -> None:
    design, truth, weights = world(5)
    teacher = KernelRidge(design, truth, weights)
    asked = world(6)[0]
    assert teacher.predict(asked) == pytest.approx(slow(teacher, truth, weights, None, asked), abs=1e-4)


def test_predicting_in_blocks_changes_nothing(monkeypatch) -> None:
    design, truth, weights = world(1)
    teacher = KernelRidge(design, truth, weights)
    whole = teacher.predict(design)
    monkeypatch.setattr("polyrule.soft_targets.regression._BLOCK", 7)
    assert teacher.predict(design) == pytest.approx(whole, abs=1e-6)


def test_missing_values_count_as_the_mean_and_constant_columns_as_nothing() -> None:
    design, truth, weights = world(2)
    odd = np.column_stack([design, np.full(40, np.nan), np.full(40, 3.0)]).astype(np.float32)
    plain, padded = KernelRidge(design, truth, weights), KernelRidge(odd, truth, weights)
    assert padded.out_of_fold == pytest.approx(plain.out_of_fold, abs=1e-5)
    design[3, 0] = np.nan
    assert np.isfinite(KernelRidge(design, truth, weights).predict(design)).all()


def test_examples_that_are_all_alike_give_the_mean() -> None:
    teacher = KernelRidge(
        np.zeros((6, 2), dtype=np.float32), np.array([[1]] * 3 + [[0]] * 3, dtype=np.uint8), np.ones(6)
    )
    assert teacher.predict(np.zeros((1, 2), dtype=np.float32)) == pytest.approx(np.array([[0.5]]), abs=1e-6)


def test_landmarks_come_close_and_examples_beyond_the_limit_are_left_out_anyway(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    design = rng.normal(size=(300, 2)).astype(np.float32)
    truth = (design > 0).astype(np.uint8)
    exact = KernelRidge(design, truth, np.ones(300))
    monkeypatch.setattr("polyrule.soft_targets.regression._MAX_EXACT", 100)
    monkeypatch.setattr("polyrule.soft_targets.regression._LANDMARKS", 60)
    near = KernelRidge(design, truth, np.ones(300))
    assert np.abs(near.out_of_fold - exact.out_of_fold).mean() < 0.03
    monkeypatch.setattr("polyrule.soft_targets.regression._MAX_KERNEL_EXAMPLES", 200)
    some = KernelRidge(design, truth, np.ones(300))
    order = np.random.default_rng([0, 1]).permutation(300)
    flipped = truth.copy()
    flipped[order[200:]] = 1 - flipped[order[200:]]
    other = KernelRidge(design, flipped, np.ones(300))
    assert np.array_equal(some.out_of_fold, other.out_of_fold)  # labels that it is not fitted to say nothing


def test_distances_are_whole_numbers_that_single_precision_holds() -> None:
    """So that no processor's order of summation shows in what the teacher says."""
    rng = np.random.default_rng(3)
    design = rng.normal(size=(50, 700)).astype(np.float32)
    teacher = KernelRidge(design, np.ones((50, 1), dtype=np.uint8), np.ones(50))
    steps = teacher._scaled(design)
    assert np.array_equal(steps, np.rint(steps))
    whole = steps.astype(np.int64)
    assert np.array_equal(steps @ steps.T, whole @ whole.T)
