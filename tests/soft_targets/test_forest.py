"""Trees: the compiled one against the plain one, and what a tree promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyrule.soft_targets import forest
from polyrule.soft_targets.forest import CODE_WIDTH, Columns, Tree, grow
from polyrule.soft_targets.regression import common_values
from polyrule.utils.compute import native

compiled = pytest.mark.skipif(native is None, reason="the compiled kernels are not built")


def world(seed: int, examples: int, features: int, values: int) -> tuple[Columns, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    design = rng.integers(-1, values, (examples, features)).astype(np.float32)
    if seed % 2:
        design *= rng.normal(size=features).astype(np.float32)
    design[rng.random(design.shape) < rng.random(features)] = 0
    rows = np.unique(rng.integers(examples, size=examples))
    codes = np.zeros((len(rows), CODE_WIDTH), dtype=np.int32)
    wide = int(rng.integers(1, CODE_WIDTH + 1))
    codes[:, :wide] = rng.integers(-3, 4, (len(rows), wide))
    columns = Columns.of(design, common_values(design))
    return columns, rows, codes, rng.random(len(rows)).astype(np.float32) + np.float32(0.1)


@compiled
@settings(deadline=None)
@given(
    seed=st.integers(0, 10_000),
    examples=st.integers(1, 200),
    features=st.integers(1, 12),
    values=st.integers(1, 5),
    tried=st.integers(1, 12),
    smallest=st.integers(1, 3),
)
def test_the_plain_tree_is_the_compiled_one(seed, examples, features, values, tried, smallest) -> None:
    columns, rows, codes, weights = world(seed, examples, features, values)
    fast, leaves = grow(columns, rows, codes, weights, tried, smallest, seed)
    others = np.random.default_rng(seed).normal(size=(20, features)).astype(np.float32)
    found = fast.leaves(others)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forest, "native", None)
        slow, again = grow(columns, rows, codes, weights, tried, smallest, seed)
        for one, other in zip((fast.feature, fast.right), (slow.feature, slow.right), strict=True):
            assert np.array_equal(one, other)
        inner = fast.feature >= 0
        assert np.array_equal(fast.threshold[inner], slow.threshold[inner])
        assert np.array_equal(leaves, again)
        assert np.array_equal(found, slow.leaves(others))
    assert np.array_equal(fast.leaves(columns.matrix), leaves)


@pytest.mark.parametrize("smallest", [1, 4])
def test_leaves_are_pure_or_small(smallest: int) -> None:
    columns, rows, codes, weights = world(2, 200, 6, 40)
    tree, leaves = grow(columns, rows, codes, weights, 6, smallest, 0)
    sizes = np.bincount(leaves[rows])
    assert sizes.min() >= smallest
    assert len(sizes) == (tree.feature < 0).sum() == (len(tree.feature) + 1) // 2
    if smallest == 1:
        for leaf in range(len(sizes)):  # but for examples that no feature tells apart
            mine = leaves[rows] == leaf
            assert 1 in {len(np.unique(seen, axis=0)) for seen in (codes[mine], columns.matrix[rows[mine]])}


def test_the_feature_that_tells_the_codes_apart_is_cut_first() -> None:
    rng = np.random.default_rng(0)
    design = rng.integers(0, 2, (300, 30)).astype(np.float32)
    codes = np.zeros((300, CODE_WIDTH), dtype=np.int32)
    codes[:, 0] = design[:, 17]
    columns, ones = Columns.of(design, common_values(design)), np.ones(300, dtype=np.float32)
    tree, leaves = grow(columns, np.arange(300), codes, ones, 30, 1, 0)
    assert tree.feature.tolist() == [17, -1, -1]
    assert np.array_equal(leaves, design[:, 17])


@compiled
def test_arrays_that_do_not_fit_are_refused() -> None:
    columns, rows, codes, _ = world(0, 20, 3, 4)
    nodes = np.empty(40, np.int32), np.empty(40, np.float32), np.empty(40, np.int32)
    leaves, whole, rows = np.empty(20, np.int32), np.ones(len(rows), np.int32), rows.astype(np.int32)
    first = columns.matrix, columns.values, columns.common, columns.starts, columns.listed
    right = *first, rows, codes, whole
    native.grow_tree(*right, 3, 1, 0, *nodes, leaves)
    for place, changed in (
        (0, columns.values),
        (1, columns.values[:, 1:].copy()),
        (2, columns.common[1:]),
        (3, columns.starts + 1),
        (4, columns.listed + 20),
        (5, rows[::-1].copy()),
        (5, rows + 20),
        (6, codes[1:]),
        (6, codes + 2**30),
        (7, whole * 0),
    ):
        with pytest.raises((ValueError, IndexError)):
            native.grow_tree(*right[:place], changed, *right[place + 1 :], 3, 1, 0, *nodes, leaves)
    for tree in (Tree(np.array([3], np.int32), *nodes[1:]), Tree(np.array([0], np.int32), nodes[1][:1], nodes[2][:1])):
        with pytest.raises((ValueError, IndexError)):
            tree.leaves(columns.matrix)
