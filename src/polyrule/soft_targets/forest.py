"""A forest with out-of-bag estimates of every label.

Its trees are extremely randomized (Geurts, Ernst and Wehenkel 2006), compiled or the same in NumPy. A node tries some
features, with one random threshold each, and takes the one that brings the codes of its examples nearest to the mean
of their side. All sums are whole numbers and every random number is drawn in one order, so that a tree is the same on
every machine that has the same generators of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from polyrule.data.table import row_blocks
from polyrule.soft_targets.regression import common_values
from polyrule.utils.arrays import Bytes, Floats, Floats32, Ints, Ints32
from polyrule.utils.compute import native

CODE_WIDTH = 8
_MAX_SUM = 2**29
_MAX_LISTED_SHARE = 0.25  # of the examples
_BITS = 2**64 - 1

_FEATURE_SHARE = 0.2
_MIN_FEATURES = 10
_MAX_TRIED = (300, 60)  # features at a node, for few and for many examples
_MAX_BAG = 5000
_CODE_STEPS = 64  # per standard deviation, for codes that are random points
_MANY_EXAMPLES = 1000
_BLOCK_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree: nodes in the order in which they are made, a left child after its parent.

    Parameters
    ----------
    feature : ndarray of int32
        -1 for a leaf.
    threshold : ndarray of float32
        Values up to it belong to the left child.
    right : ndarray of int32
        The right child of a node; the number of a leaf.
    """

    feature: Ints32
    threshold: Floats32
    right: Ints32

    def leaves(self, matrix: Floats32) -> Ints32:
        """Return the number of the leaf of every row; no value is missing."""
        nodes = np.zeros(len(matrix), dtype=np.int32)
        if native is not None:
            native.find_leaves(self.feature, self.threshold, self.right, np.ascontiguousarray(matrix), nodes)
            return nodes
        inner = np.flatnonzero(self.feature[nodes] >= 0)
        while len(inner):
            node = nodes[inner]
            left = matrix[inner, self.feature[node]] <= self.threshold[node]
            nodes[inner] = np.where(left, node + 1, self.right[node])
            inner = inner[self.feature[nodes[inner]] >= 0]
        return np.asarray(self.right[nodes])


@dataclass(frozen=True, eq=False)
class Columns:
    """The matrix of a forest, and the rows that differ from the common value of a column.

    Parameters
    ----------
    matrix : ndarray of float32, shape (examples, features)
        No value is missing.
    values : ndarray of float32, shape (features, examples)
        The same, one feature after the other.
    common : ndarray of float32, shape (features,)
    starts : ndarray of int64, shape (features + 1,)
        Start of each feature in `listed`; a feature without a dominant value has no entries.
    listed : ndarray of int32
        Examples whose value is not the common one.
    """

    matrix: Floats32
    values: Floats32
    common: Floats32
    starts: Ints
    listed: Ints32

    @classmethod
    def of(cls, matrix: Floats32, common: Floats32) -> Columns:
        """Return the columns of a matrix with the common value of each column."""
        matrix, values = np.ascontiguousarray(matrix), np.ascontiguousarray(matrix.T)
        differs = values != common[:, None]
        counts = np.count_nonzero(differs, axis=1)
        differs[counts > _MAX_LISTED_SHARE * len(matrix)] = False
        listed = np.flatnonzero(differs) % max(1, len(matrix))
        starts = np.append(0, np.cumsum(np.where(counts > _MAX_LISTED_SHARE * len(matrix), 0, counts)))
        return cls(matrix, values, common.astype(np.float32), starts, listed.astype(np.int32))


def grow(
    columns: Columns, rows: Ints, codes: Ints32, weights: Floats32, tried: int, smallest: int, seed: int
) -> tuple[Tree, Ints32]:
    """Grow a tree; also return the leaf of every example, in the bag or not.

    Parameters
    ----------
    columns : Columns
    rows : ndarray of int
        Examples in the bag, ascending.
    codes : ndarray of int32, shape (rows, 8)
        Targets that should be alike in a leaf.
    weights : ndarray, shape (rows,)
        Positive.
    tried : int
        Number of features tried at the root; of the features not yet constant at a node, the same share.
    smallest : int
        Minimum number of examples in a leaf.
    seed : int
    """
    scale = _MAX_SUM / (float(weights.sum(dtype=np.float64)) * max(1, int(np.abs(codes).max(initial=0))))
    whole = np.maximum(np.rint(weights.astype(np.float64) * scale), 1).astype(np.int32)
    room = 2 * len(rows)
    feature, threshold, right = np.empty(room, np.int32), np.empty(room, np.float32), np.empty(room, np.int32)
    leaves = np.empty(columns.values.shape[1], dtype=np.int32)
    arguments = rows.astype(np.int32), codes, whole, tried, smallest, seed, feature, threshold, right, leaves
    if native is None:
        size = _grow(columns.values, *arguments)
    else:
        size = native.grow_tree(
            columns.matrix, columns.values, columns.common, columns.starts, columns.listed, *arguments
        )
    return Tree(feature[:size].copy(), threshold[:size].copy(), right[:size].copy()), leaves


def _grow(
    columns: Floats32,
    rows: Ints32,
    codes: Ints32,
    weights: Ints32,
    tried: int,
    smallest: int,
    seed: int,
    feature: Ints32,
    threshold: Floats32,
    right: Ints32,
    leaves: Ints32,
) -> int:
    """Grow a tree with NumPy; every number equals that of the compiled function."""
    features, products = np.arange(len(columns)), codes.astype(np.int64) * weights[:, None]
    tasks = [(np.arange(len(rows)), np.setdiff1d(np.arange(columns.shape[1]), rows), len(columns), -1)]
    size = leaf = 0
    while tasks:
        bag, rest, alive, parent = tasks.pop()
        node, size = size, size + 1
        if parent >= 0:
            right[parent] = node
        feature[node], best, drawn, visited, budget = -1, -1.0, 0, 0, -(-tried * alive // len(columns))
        total, weight = products[bag].sum(axis=0), int(weights[bag].sum())
        searched = len(bag) >= 2 * smallest and bool((codes[bag] != codes[bag[0]]).any())
        while searched and drawn < alive and (visited < budget or not drawn):
            seed, bits = _random(seed)
            swap = drawn + ((bits >> 32) * (alive - drawn) >> 32)
            features[[drawn, swap]] = features[[swap, drawn]]
            values = columns[features[drawn], rows[bag]]
            low, high = values.min(), values.max()
            visited += 1
            if low == high:
                alive -= 1
                features[[drawn, alive]] = features[[alive, drawn]]
                continue
            drawn += 1
            candidate = low + np.float32(bits & 0xFFFFFF) * np.float32(2**-24) * (high - low)
            left = values <= (candidate if candidate < high else low)
            if min(left.sum(), len(left) - left.sum()) < smallest:
                continue
            sums, heavy = products[bag[left]].sum(axis=0), int(weights[bag[left]].sum())
            near, far = (sum(float(part) * float(part) for part in side) for side in (sums, total - sums))
            value = near / heavy + far / (weight - heavy)
            if value > best:
                best, feature[node] = value, features[drawn - 1]
                threshold[node] = candidate if candidate < high else low
        if feature[node] < 0:
            leaves[rows[bag]] = leaves[rest] = right[node] = leaf
            leaf += 1
            continue
        left = columns[feature[node]] <= threshold[node]
        tasks.append((bag[~left[rows[bag]]], rest[~left[rest]], alive, node))
        tasks.append((bag[left[rows[bag]]], rest[left[rest]], alive, -1))
    return size


def _random(state: int) -> tuple[int, int]:
    """Return the next state of splitmix64, and 64 random bits."""
    state = bits = (state + 0x9E3779B97F4A7C15) & _BITS
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & _BITS
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & _BITS
    return state, bits ^ (bits >> 31)


@dataclass(frozen=True, eq=False)
class _Grown:
    """A tree (None unless it is kept for predictions), and its rows with their weights and leaves."""

    tree: Tree | None
    rows: Ints
    weights: Floats32
    leaves: Ints32

    def means(self, labels: Floats32) -> Floats32:
        """Return the share of each label in every leaf."""
        order, size = np.argsort(self.leaves, kind="stable"), np.bincount(self.leaves)
        shares = self.weights / np.bincount(self.leaves, self.weights).astype(np.float32)[self.leaves]
        ends = np.append(0, np.cumsum(size))
        return np.asarray(sp.csr_array((shares[order], self.rows[order], ends), (len(size), len(labels))) @ labels)


class Forest:
    """Extremely randomized trees on bootstrap samples: half on the labels one by one, half on whole label sets.

    The two halves err differently, and their mean is better than either. A tree does not see the labels themselves but
    a few random sums of them (Joly, Geurts and Wehenkel 2014), or a random point per label set: the splits are as good
    on average, and neither time nor memory grows with the number of labels or label sets. The shares of the labels in
    the leaves are counted when they are needed and not stored.

    Parameters
    ----------
    matrix : ndarray of float32, shape (examples, columns)
        Missing values are NaN.
    labels : ndarray of uint8, shape (examples, labels)
    weights : ndarray, shape (examples,)
    trees, seed, threads : int
        Threads do not change the result.
    stop : callable
        Polled before every tree but the first few; True ends the forest.
    keep : bool
        Keep the trees in memory for `predict`.
    common : ndarray or None
        Result of `common_values`, computed if None.

    Attributes
    ----------
    out_of_fold : ndarray of float32, shape (examples, labels)
        Mean over the trees whose bags lack the example.
    """

    def __init__(
        self,
        matrix: Floats32,
        labels: Bytes,
        weights: Floats,
        trees: int,
        seed: int,
        threads: int = 1,
        stop: Callable[[], bool] = lambda: False,
        keep: bool = True,
        common: Floats32 | None = None,
    ) -> None:
        self._labels, self._keep = labels.astype(np.float32), keep
        self._weights = (weights / weights.mean()).astype(np.float32)
        filled = _filled(matrix)
        self._columns = Columns.of(filled, common_values(filled) if common is None else common)
        features, rows = matrix.shape[1], min(len(matrix), _MAX_BAG)
        # With many examples, leaves of one only add noise and time, and a few features suffice.
        many = rows >= _MANY_EXAMPLES
        self._smallest_leaf = 2 if many else 1
        tried = min(round(_FEATURE_SHARE * features), _MAX_TRIED[many])
        self._tried = min(features, max(_MIN_FEATURES, tried))
        self._sets = _label_sets(labels)
        self._grown: list[_Grown] = []
        sums = np.zeros(labels.shape, dtype=np.float32)
        times = np.zeros(len(labels), dtype=np.float32)
        # Leaves of all rows are stored as long as some row was in every bag: such rows get in-bag estimates.
        always, all_leaves = np.arange(len(labels)), list[Ints32]()
        with ThreadPoolExecutor(threads) as pool:
            for first in range(0, trees, 2 * threads):
                if first and stop():
                    break
                numbers = [(seed, k) for k in range(first, min(trees, first + 2 * threads))]
                for grown, leaves in pool.map(self._grow, numbers):
                    self._grown.append(grown)
                    outside = np.ones(len(labels), dtype=bool)
                    outside[grown.rows] = False
                    _add(sums, np.flatnonzero(outside), leaves[outside], grown.means(self._labels))
                    times += outside
                    always = np.flatnonzero(times == 0)
                    all_leaves = [*all_leaves, leaves] if len(always) else []
        for grown, leaves in zip(self._grown, all_leaves, strict=False):
            _add(sums, always, leaves[always], grown.means(self._labels))
        times[always] = len(self._grown)
        sums /= times[:, None]
        self.out_of_fold: Floats32 = sums

    def predict(self, matrix: Floats32) -> Floats32:
        """Estimate the probability of each label."""
        filled = _filled(matrix)
        sums = np.zeros((len(matrix), self._labels.shape[1]), dtype=np.float32)
        for grown in self._grown:
            assert grown.tree is not None, "pass keep=True to predict"
            _add(sums, np.arange(len(sums)), grown.tree.leaves(filled), grown.means(self._labels))
        return sums / np.float32(len(self._grown))

    def _grow(self, number: tuple[int, int]) -> tuple[_Grown, Ints32]:
        """Grow a tree; also return the leaves of all training rows."""
        random = np.random.default_rng(number)
        examples = len(self._labels)
        counts = np.bincount(random.integers(examples, size=min(examples, _MAX_BAG)), minlength=examples)
        rows = np.flatnonzero(counts)
        weights = counts[rows].astype(np.float32) * self._weights[rows]
        codes, seed = self._code(rows, number[1], random), int(random.integers(2**63))
        tree, leaves = grow(self._columns, rows, codes, weights, self._tried, self._smallest_leaf, seed)
        return _Grown(tree if self._keep else None, rows, weights, leaves[rows]), leaves

    def _code(self, rows: Ints, number: int, random: np.random.Generator) -> Ints32:
        """Return a few numbers per row whose spread measures how much labels, or label sets, differ."""
        codes = np.zeros((len(rows), CODE_WIDTH), dtype=np.int32)
        if self._sets is not None and number % 2:
            points = _CODE_STEPS * random.standard_normal((int(self._sets.max()) + 1, CODE_WIDTH))
            codes[:] = np.rint(points)[self._sets[rows]]
        elif (n_labels := self._labels.shape[1]) <= CODE_WIDTH:
            codes[:, :n_labels] = self._labels[rows]
        else:
            signs = random.integers(2, size=(n_labels, CODE_WIDTH)).astype(np.float32) * 2 - 1
            codes[:] = self._labels[rows] @ signs
        return codes


def _add(sums: Floats32, rows: Ints, leaves: Ints32, means: Floats32) -> None:
    """Add the estimates of a tree for `rows`, whose leaves are `leaves`; blocks of rows bound the memory."""
    for block in row_blocks(len(rows), sums.shape[1], _BLOCK_CELLS):
        sums[rows[block]] += means[leaves[block]]


def _label_sets(labels: Bytes) -> Ints | None:
    """Return the label set of each example; None if most are unique, so that whole sets cannot be learned."""
    if labels.shape[1] < 2:
        return None
    packed = np.packbits(labels, axis=1)
    sets, places = np.unique(packed, axis=0, return_inverse=True)
    return places.ravel().astype(np.int64) if 1 < len(sets) <= len(labels) / 2 else None


def _filled(matrix: Floats32) -> Floats32:
    """Replace missing values by a value below all others."""
    missing = np.isnan(matrix)
    return np.where(missing, np.float32(-1), matrix) if missing.any() else matrix
