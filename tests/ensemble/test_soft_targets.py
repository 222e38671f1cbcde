"""Soft targets without the example itself, and synthetic examples."""

from __future__ import annotations

import numpy as np
import pytest

from polyrule.binning.binning import Binning
from polyrule.data import Feature, Table
from polyrule.data.labels import UNKNOWN
from polyrule.ensemble import fold_model
from polyrule.ensemble.fold_model import SoftTargets
from polyrule.ensemble.options import Examples, FitOptions
from polyrule.soft_targets import feature_matrix
from polyrule.soft_targets.feature_matrix import FeatureMatrix
from polyrule.utils.compute import Compute


def world(seed: int = 0, rows: int = 150):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 4)).round(2)
    values[rng.random(values.shape) < 0.05] = np.nan
    table = Table.from_array(
        np.column_stack([values, rng.integers(0, 3, rows)]),
        [*map(Feature, "abcd"), Feature("hue", "nominal", ("r", "g", "b"))],
    )
    clean = np.nan_to_num(values)
    truth = np.stack([clean[:, 0] > 0, clean[:, 1] > 0.5], axis=1).astype(np.uint8)
    noisy = truth ^ (rng.random(truth.shape) < 0.1)
    return Binning.of(table, 32), table, noisy.astype(np.uint8), truth


@pytest.fixture(autouse=True)
def _thirty_trees(monkeypatch) -> None:
    monkeypatch.setattr(fold_model, "_FOLD_TREES", 30)


def targets_of(
    rows: int = 150, weights=None, seed: int = 0, threads: int = 1, final: bool = False, **constants
) -> SoftTargets:
    binning, table, noisy, _ = world(rows=rows)
    every = np.ones(rows) if weights is None else weights
    options = FitOptions(seed=seed, compute=Compute(threads))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in constants.items():
            patch.setattr(fold_model, f"_{name.upper()}", value)
        return SoftTargets(binning, Examples(table, noisy, every), options, final=final)


def test_targets_lie_between_label_and_estimate_and_are_nearer_the_truth() -> None:
    _, _, noisy, truth = world(rows=400)
    examples = targets_of(400, rounds=0).examples()
    assert ((examples.targets >= noisy / 2) & (examples.targets <= (noisy + 1) / 2)).all()
    flipped = noisy != truth
    assert np.abs(examples.targets - truth)[flipped].mean() < 0.8  # a wrong label is believed less than a label


def test_synthetic_examples_weigh_as_much_as_the_real_ones() -> None:
    weights = np.random.default_rng(0).integers(1, 4, 150).astype(float)
    examples = targets_of(weights=weights, rounds=2).examples()
    assert examples.targets.shape == (450, 2)
    assert np.array_equal(examples.weights[:150], weights)
    assert examples.weights[150:].sum() == pytest.approx(weights.sum())
    assert ((examples.targets >= 0) & (examples.targets <= 1)).all()


def test_no_more_examples_than_the_limit() -> None:
    assert targets_of(max_examples=170).examples().targets.shape[0] == 170
    assert targets_of(max_examples=100).examples().targets.shape[0] == 150


def test_the_final_model_learns_from_more_synthetic_examples_unless_they_would_be_very_many(monkeypatch) -> None:
    weights = np.random.default_rng(0).integers(1, 4, 150).astype(float)
    examples = targets_of(weights=weights, rounds=2, draws=4, final=True).examples()
    assert examples.targets.shape == (150 + 4 * 300, 2)
    assert examples.weights[150:].sum() == pytest.approx(weights.sum())
    assert targets_of(rounds=2, max_examples=250, final=True).examples().targets.shape[0] == 150 + 3 * 100
    assert targets_of(rounds=2, max_examples=100, final=True).examples().targets.shape[0] == 150
    monkeypatch.setattr(fold_model, "_MAX_TARGETS", 2 * 500)
    assert targets_of(rounds=2, final=True).examples().targets.shape[0] == 500
    monkeypatch.setattr(fold_model, "_MAX_TARGETS", 2 * 200)  # the other models get 300 anyway
    assert targets_of(rounds=2, final=True).examples().targets.shape[0] == 450
    monkeypatch.setattr(fold_model, "_MAX_SYNTHETIC_CELLS", 5 * 320)
    assert targets_of(rounds=2, final=True).examples().targets.shape[0] == 320


def test_targets_depend_on_the_seed_only() -> None:
    first, again, other = targets_of(seed=5), targets_of(seed=5, threads=3), targets_of(seed=6)
    assert np.array_equal(first.examples().targets, again.examples().targets)
    assert not np.array_equal(first.examples().targets, other.examples().targets)


def test_unknown_labels_have_no_target_and_do_not_touch_the_teacher() -> None:
    """Labels of examples that are partly unknown are unknown to the teacher."""
    binning, table, noisy, _ = world()
    some = np.arange(150) % 5 == 0
    targets = []
    for other in (0, 1):
        truth = noisy.copy()
        truth[some] = np.array([UNKNOWN, other])
        examples = Examples(table, truth, np.ones(150))
        targets.append(SoftTargets(binning, examples, FitOptions(), final=False).targets.copy())
        assert np.array_equal(np.isnan(targets[-1]), truth == UNKNOWN)
    assert np.array_equal(targets[0][~some], targets[1][~some])
    assert np.array_equal(targets[0][some, 1] + np.float32(0.5), targets[1][some, 1])


def test_categories_become_columns_and_missing_stays_missing() -> None:
    table = Table.from_array(
        [[0.0, np.nan, 0.0], [2.0, 1.0, 1.0]],
        [Feature("hue", "nominal", ("r", "g", "b")), Feature("size"), Feature("flag", "nominal", ("no", "yes"))],
    )
    binning = Binning.of(table, 8)
    matrix = FeatureMatrix.of(binning, table).from_table(table)
    assert matrix[:, :3].tolist() == [[1, 0, 0], [0, 0, 1]]
    assert np.isnan(matrix[0, 3])
    assert matrix[:, 4].tolist() == [0, 1]


def test_a_table_too_wide_shows_the_columns_that_differ_most(monkeypatch) -> None:
    values = np.zeros((10, 4))
    values[:1, 0] = values[:5, 1] = values[:3, 3] = 1
    table = Table.from_array(values)
    monkeypatch.setattr(feature_matrix, "_MAX_CELLS", 20)
    assert FeatureMatrix.of(Binning.of(table, 8), table).features == (1, 3)
