"""The teacher and its forest: nothing leaks, nothing depends on threads, memory does not grow with label sets."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from polyrule.soft_targets import forest, model, regression
from polyrule.soft_targets.forest import Forest
from polyrule.soft_targets.model import SoftLabelModel
from polyrule.soft_targets.synthetic import nearest_neighbors, synthesize


def test_out_of_bag_estimates_do_not_copy_the_label() -> None:
    rng = np.random.default_rng(0)
    design = rng.normal(size=(300, 3)).astype(np.float32)
    noise = rng.integers(0, 2, (300, 2)).astype(np.uint8)
    trees = Forest(design, noise, np.ones(300), 40, 0)
    inside = np.abs(trees.predict(design) - noise).mean()
    outside = np.abs(trees.out_of_fold - noise).mean()
    assert inside < 0.35
    assert outside == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("labels", [2, 12])
def test_estimates_depend_on_the_seed_only(labels: int) -> None:
    rng = np.random.default_rng(1)
    design = rng.normal(size=(120, 5)).astype(np.float32)
    truth = (design[:, [0] * labels] > np.linspace(-1, 1, labels)).astype(np.uint8)
    first, again, other = (
        SoftLabelModel(design, truth, np.ones(120), seed, threads, trees=12)
        for seed, threads in ((5, 1), (5, 3), (6, 1))
    )
    assert np.array_equal(first.out_of_fold, again.out_of_fold)
    assert np.array_equal(first.predict(design), again.predict(design))
    assert not np.array_equal(first.out_of_fold, other.out_of_fold)
    assert ((first.out_of_fold >= 0) & (first.out_of_fold <= 1)).all()


def test_text_has_a_linear_member_and_other_tables_have_not() -> None:
    rng = np.random.default_rng(2)
    words = (rng.random((80, 60)) < 0.1).astype(np.float32)
    truth = words[:, :2].astype(np.uint8)
    assert set(SoftLabelModel(words, truth, np.ones(80), 0, trees=6).model_weights) == {"forest", "kernel", "linear"}
    numbers = rng.normal(size=(80, 60)).astype(np.float32)
    assert set(SoftLabelModel(numbers, truth, np.ones(80), 0, trees=6).model_weights) == {"forest", "kernel"}


def test_a_teacher_told_to_stop_makes_do_with_a_few_trees() -> None:
    design = np.random.default_rng(3).normal(size=(60, 2)).astype(np.float32)
    truth = (design > 0).astype(np.uint8)
    hurried = SoftLabelModel(design, truth, np.ones(60), 0, trees=1000, stop=lambda: True)
    assert set(hurried.model_weights) == {"forest"}
    assert np.isfinite(hurried.out_of_fold).all()


@pytest.mark.parametrize("trees", [1, 2, 12])
def test_a_teacher_that_keeps_nothing_says_the_same(trees: int) -> None:
    """With so few trees some examples are in every bag, and are asked about all the same."""
    rng = np.random.default_rng(5)
    design = rng.normal(size=(50, 3)).astype(np.float32)
    truth = (design > rng.normal(size=(50, 3))).astype(np.uint8)
    kept, light = (Forest(design, truth, np.ones(50), trees, 0, keep=keep) for keep in (True, False))
    assert np.array_equal(kept.out_of_fold, light.out_of_fold)
    rows = np.random.default_rng((0, 0)).integers(50, size=50)
    if trees == 1:
        assert np.array_equal(kept.out_of_fold[rows], kept.predict(design[rows]))
    estimates = [
        SoftLabelModel(design, truth, np.ones(50), 0, trees=trees, keep=keep).out_of_fold for keep in (True, False)
    ]
    assert np.array_equal(*estimates)


def test_estimates_are_the_same_in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    words = (rng.random((90, 60)) < 0.1).astype(np.float32)
    truth = words[:, :3].astype(np.uint8)
    whole = SoftLabelModel(words, truth, np.ones(90), 0, trees=6)
    monkeypatch.setattr(regression, "_KERNEL_CELLS", 20)
    for module in (forest, regression, model):
        monkeypatch.setattr(module, "_BLOCK_CELLS", 20)
    parts = SoftLabelModel(words, truth, np.ones(90), 0, trees=6)
    assert parts.out_of_fold == pytest.approx(whole.out_of_fold, abs=2e-5)
    assert parts.predict(words) == pytest.approx(whole.predict(words), abs=2e-5)


def test_memory_does_not_grow_with_label_sets() -> None:
    """Ten thousand examples with thousands of label sets once took gigabytes."""
    rng = np.random.default_rng(4)
    design = rng.normal(size=(3000, 6)).astype(np.float32)
    truth = (design[:, rng.integers(6, size=16)] + rng.normal(0, 0.5, (3000, 16)) > 0.8).astype(np.uint8)
    assert len(np.unique(truth, axis=0)) > 500
    tracemalloc.start()
    Forest(design, truth, np.ones(3000), 10, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * truth.size + 20e6


def test_mixed_examples_take_every_value_from_two_neighbours() -> None:
    design = np.random.default_rng(1).integers(0, 9, size=(150, 5)).astype(np.float32)
    design[3, 2] = np.nan
    codes, near = (
        np.nan_to_num(design, nan=9).T.astype(np.uint8),
        nearest_neighbors(design, 5, np.random.default_rng(0)),
    )
    mixed, sources = synthesize(codes, near, 300, 0.3, np.random.default_rng(0))
    assert 0.6 < (mixed == codes[:, sources]).mean() < 0.9
    partners = codes[:, near[sources]]  # (features, mixed, neighbours)
    fits = (mixed[:, :, None] == partners) | (mixed == codes[:, sources])[:, :, None]
    assert fits.all(axis=0).any(axis=1).all()


def test_neighbours_are_the_nearest_others() -> None:
    design = np.array([[0.0], [1.0], [10.0], [11.0], [30.0]], dtype=np.float32)
    assert nearest_neighbors(design, 1, np.random.default_rng(0)).ravel().tolist() == [
        1,
        0,
        3,
        2,
        2,
    ]  # 10 and 11 count as equal
