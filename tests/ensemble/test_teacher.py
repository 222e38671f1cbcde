"""The teacher: soft targets without the example itself, mixed examples, and no dependence on threads."""

from __future__ import annotations

import numpy as np
import pytest

from polyrule.data import Feature, Table
from polyrule.ensemble import forest, teacher
from polyrule.ensemble.bins import Binning
from polyrule.ensemble.forest import Forest
from polyrule.ensemble.teacher import Teacher, Teaching, design_matrix, mix


@pytest.fixture(autouse=True)
def small_forest(monkeypatch) -> None:
    monkeypatch.setattr(forest, "_TREES", 30)


def world(seed: int = 0, rows: int = 150):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, 4)).round(2)
    values[rng.random(values.shape) < 0.05] = np.nan
    table = Table.from_array(
        np.column_stack([values, rng.integers(0, 3, rows)]),
        [*map(Feature, "abcd"), Feature("hue", "nominal", ("r", "g", "b"))],
    )
    clean = np.nan_to_num(values)
    truth = np.stack([clean[:, 0] > 0, clean[:, 1] > 0.5], axis=1).astype(float)
    noisy = np.abs(truth - (rng.random(truth.shape) < 0.1))
    binning = Binning.of(table, 32)
    return binning, binning.codes(table), noisy, truth


def test_targets_lie_between_label_and_estimate_and_are_nearer_the_truth() -> None:
    binning, codes, noisy, truth = world(rows=400)
    lesson = Teacher(binning, codes, noisy, np.ones(400), Teaching(rounds=0), seed=0).lesson()
    assert ((lesson.targets >= noisy / 2) & (lesson.targets <= (noisy + 1) / 2)).all()
    assert np.abs(lesson.targets - truth).mean() < 0.13 + np.abs(noisy - truth).mean() / 2
    flipped = noisy != truth
    assert np.abs(lesson.targets - truth)[flipped].mean() < 0.8  # a wrong label is believed less than a label


def test_mixed_examples_weigh_as_much_as_the_real_ones() -> None:
    binning, codes, noisy, _ = world()
    weights = np.random.default_rng(0).integers(1, 4, 150).astype(float)
    lesson = Teacher(binning, codes, noisy, weights, Teaching(rounds=2), seed=0).lesson()
    assert lesson.targets.shape == (450, 2)
    assert np.array_equal(lesson.weights[:150], weights)
    assert lesson.weights[150:].sum() == pytest.approx(weights.sum())
    assert (lesson.targets >= 0).all()
    assert (lesson.targets <= 1).all()


def test_no_more_examples_than_the_limit() -> None:
    binning, codes, noisy, _ = world()
    assert Teacher(binning, codes, noisy, np.ones(150), Teaching(limit=170), seed=0).lesson().targets.shape[0] == 170
    assert Teacher(binning, codes, noisy, np.ones(150), Teaching(limit=100), seed=0).lesson().targets.shape[0] == 150


def test_mixed_examples_take_every_value_from_two_neighbours() -> None:
    binning, codes, _, _ = world()
    design = design_matrix(binning, codes)
    mixed, sources = mix(codes, design, 300, Teaching(), np.random.default_rng(0))
    own = (mixed == codes[:, sources]).mean()
    assert 0.6 < own < 0.9
    for feature in range(codes.shape[0]):
        assert set(mixed[feature].tolist()) <= set(codes[feature].tolist())


@pytest.mark.parametrize("threads", [1, 3])
def test_the_lesson_depends_on_the_seed_only(threads: int) -> None:
    binning, codes, noisy, _ = world()
    first = Teacher(binning, codes, noisy, np.ones(150), Teaching(), seed=5).lesson()
    again = Teacher(binning, codes, noisy, np.ones(150), Teaching(), seed=5, threads=threads).lesson()
    other = Teacher(binning, codes, noisy, np.ones(150), Teaching(), seed=6).lesson()
    assert np.array_equal(first.targets, again.targets)
    assert not np.array_equal(first.targets, other.targets)


def test_lessons_differ_in_their_mixed_examples_only() -> None:
    binning, codes, noisy, _ = world()
    teacher_ = Teacher(binning, codes, noisy, np.ones(150), Teaching(), seed=0)
    first, second = teacher_.lesson(0), teacher_.lesson(1)
    assert np.array_equal(first.targets[:150], second.targets[:150])
    assert np.array_equal(first.columns[:, :150], second.columns[:, :150])
    assert not np.array_equal(first.columns[:, 150:], second.columns[:, 150:])
    assert first.weights.sum() == pytest.approx(second.weights.sum())


def test_out_of_bag_estimates_do_not_copy_the_label() -> None:
    rng = np.random.default_rng(0)
    design = rng.normal(size=(300, 3)).astype(np.float32)
    noise = rng.integers(0, 2, (300, 2)).astype(float)
    trees = Forest(design, noise, np.ones(300), 0, 1)
    inside = np.abs(trees.predict(design) - noise).mean()
    outside = np.abs(trees.left_out - noise).mean()
    assert inside < 0.35
    assert outside == pytest.approx(0.5, abs=0.05)


def test_more_examples_than_the_kernel_takes_are_taught_by_the_forest_alone(monkeypatch) -> None:
    binning, codes, noisy, _ = world()
    both = Teacher(binning, codes, noisy, np.ones(150), Teaching(), seed=0).lesson()
    monkeypatch.setattr(teacher, "_LARGEST_KERNEL", 149)
    alone = Teacher(binning, codes, noisy, np.ones(150), Teaching(), seed=0).lesson()
    assert both.targets.shape == alone.targets.shape
    assert not np.array_equal(both.targets, alone.targets)


def test_categories_become_columns_and_missing_stays_missing() -> None:
    table = Table.from_array(
        [[0.0, np.nan, 0.0], [2.0, 1.0, 1.0]],
        [Feature("hue", "nominal", ("r", "g", "b")), Feature("size"), Feature("flag", "nominal", ("no", "yes"))],
    )
    binning = Binning.of(table, 8)
    design = design_matrix(binning, binning.codes(table))
    assert design[:, :3].tolist() == [[1, 0, 0], [0, 0, 1]]
    assert np.isnan(design[0, 3])
    assert design[:, 4].tolist() == [0, 1]
