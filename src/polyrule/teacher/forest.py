"""A teacher of trees: a forest that says about each training example what it thinks without that example.

Its trees are extremely randomised (Geurts, Ernst and Wehenkel 2006), compiled or the same in NumPy. A node tries some
features, with one random cut each, and takes the cut that brings the codes of its examples nearest to the mean of their
side. All sums are whole numbers and every random number is drawn in one order, so that a tree is the same on every
machine.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from polyrule.data.table import row_blocks
from polyrule.teacher.ridge import usual_values
from polyrule.utils.arrays import Bytes, Floats, Floats32, Ints, Ints32
from polyrule.utils.compute import native

CODE_WIDTH = 8
_LARGEST_SUM = 2**29
_LISTED_SHARE = 0.25  # of the examples, at most
_BITS = 2**64 - 1

_FEATURE_SHARE = 0.2
_FEWEST_FEATURES = 10
_MOST_TRIED = (300, 60)  # features at a node, of few and of many examples
_LARGEST_BAG = 5000
_CODE_STEPS = 64  # of a standard deviation, for codes that are random points
_MANY_EXAMPLES = 1000
_BLOCK_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in the order in which they are made: a left child follows its parent.

    Parameters
    ----------
    feature : ndarray of int32
        -1 for a leaf.
    cut : ndarray of float32
        A value at most as large goes to the left.
    right : ndarray of int32
        The other child; of a leaf, its number.
    """

    feature: Ints32
    cut: Floats32
    right: Ints32

    def leaves(self, design: Floats32) -> Ints32:
        """Return the number of the leaf of every row; no value is missing."""
        found = np.zeros(len(design), dtype=np.int32)
        if native is not None:
            native.find_leaves(self.feature, self.cut, self.right, np.ascontiguousarray(design), found)
            return found
        inner = np.flatnonzero(self.feature[found] >= 0)
        while len(inner):
            node = found[inner]
            left = design[inner, self.feature[node]] <= self.cut[node]
            found[inner] = np.where(left, node + 1, self.right[node])
            inner = inner[self.feature[found[inner]] >= 0]
        return np.asarray(self.right[found])


@dataclass(frozen=True, eq=False)
class Columns:
    """What a forest is grown from: a matrix, and of features that are mostly one value, which examples have others.

    Parameters
    ----------
    design : ndarray of float32, shape (examples, features)
        No value is missing.
    values : ndarray of float32, shape (features, examples)
        The same, one feature after the other.
    usual : ndarray of float32, shape (features,)
    starts : ndarray of int64, shape (features + 1,)
        Where each feature begins in `listed`; one whose values are not mostly the same has nothing there.
    listed : ndarray of int32
        Examples whose value is not the usual one.
    """

    design: Floats32
    values: Floats32
    usual: Floats32
    starts: Ints
    listed: Ints32

    @classmethod
    def of(cls, design: Floats32, usual: Floats32) -> Columns:
        """Take the columns of a matrix, whose usual values are known."""
        design, values = np.ascontiguousarray(design), np.ascontiguousarray(design.T)
        unusual = values != usual[:, None]
        counts = np.count_nonzero(unusual, axis=1)
        unusual[counts > _LISTED_SHARE * len(design)] = False
        listed = np.flatnonzero(unusual) % max(1, len(design))
        starts = np.append(0, np.cumsum(np.where(counts > _LISTED_SHARE * len(design), 0, counts)))
        return cls(design, values, usual.astype(np.float32), starts, listed.astype(np.int32))


def grow(
    columns: Columns, rows: Ints, codes: Ints32, weights: Floats32, tried: int, smallest: int, seed: int
) -> tuple[Tree, Ints32]:
    """Grow a tree; also return the leaf of every example, whether it was grown from it or not.

    Parameters
    ----------
    columns : Columns
    rows : ndarray of int
        Examples that it is grown from, ascending.
    codes : ndarray of int32, shape (rows, 8)
        What should be alike in a leaf.
    weights : ndarray, shape (rows,)
        Positive.
    tried : int
        How many features are looked at in each node: of those that are not known to be constant there, the same share.
    smallest : int
        Fewest examples in a leaf.
    seed : int
    """
    scale = _LARGEST_SUM / (float(weights.sum(dtype=np.float64)) * max(1, int(np.abs(codes).max(initial=0))))
    whole = np.maximum(np.rint(weights.astype(np.float64) * scale), 1).astype(np.int32)
    room = 2 * len(rows)
    feature, cut, right = np.empty(room, np.int32), np.empty(room, np.float32), np.empty(room, np.int32)
    leaves = np.empty(columns.values.shape[1], dtype=np.int32)
    given = rows.astype(np.int32), codes, whole, tried, smallest, seed, feature, cut, right, leaves
    if native is None:
        size = _grow(columns.values, *given)
    else:
        size = native.grow_tree(columns.design, columns.values, columns.usual, columns.starts, columns.listed, *given)
    return Tree(feature[:size].copy(), cut[:size].copy(), right[:size].copy()), leaves


def _grow(
    columns: Floats32,
    rows: Ints32,
    codes: Ints32,
    weights: Ints32,
    tried: int,
    smallest: int,
    seed: int,
    feature: Ints32,
    cut: Floats32,
    right: Ints32,
    leaves: Ints32,
) -> int:
    """Plain form of the compiled function; every number comes out the same."""
    features, products = np.arange(len(columns)), codes.astype(np.int64) * weights[:, None]
    tasks = [(np.arange(len(rows)), np.setdiff1d(np.arange(columns.shape[1]), rows), len(columns), -1)]
    size = leaf = 0
    while tasks:
        bag, rest, alive, parent = tasks.pop()
        node, size = size, size + 1
        if parent >= 0:
            right[parent] = node
        feature[node], best, drawn, visited, wanted = -1, -1.0, 0, 0, -(-tried * alive // len(columns))
        every, weight = products[bag].sum(axis=0), int(weights[bag].sum())
        searched = len(bag) >= 2 * smallest and bool((codes[bag] != codes[bag[0]]).any())
        while searched and drawn < alive and (visited < wanted or not drawn):
            seed, bits = _random(seed)
            other = drawn + ((bits >> 32) * (alive - drawn) >> 32)
            features[[drawn, other]] = features[[other, drawn]]
            values = columns[features[drawn], rows[bag]]
            low, high = values.min(), values.max()
            visited += 1
            if low == high:
                alive -= 1
                features[[drawn, alive]] = features[[alive, drawn]]
                continue
            drawn += 1
            threshold = low + np.float32(bits & 0xFFFFFF) * np.float32(2**-24) * (high - low)
            left = values <= (threshold if threshold < high else low)
            if min(left.sum(), len(left) - left.sum()) < smallest:
                continue
            sums, heavy = products[bag[left]].sum(axis=0), int(weights[bag[left]].sum())
            near, far = (sum(float(part) * float(part) for part in side) for side in (sums, every - sums))
            value = near / heavy + far / (weight - heavy)
            if value > best:
                best, feature[node], cut[node] = value, features[drawn - 1], threshold if threshold < high else low
        if feature[node] < 0:
            leaves[rows[bag]] = leaves[rest] = right[node] = leaf
            leaf += 1
            continue
        left = columns[feature[node]] <= cut[node]
        tasks.append((bag[~left[rows[bag]]], rest[~left[rest]], alive, node))
        tasks.append((bag[left[rows[bag]]], rest[left[rest]], alive, -1))
    return size


def _random(state: int) -> tuple[int, int]:
    """Splitmix64: the next state, and 64 random bits."""
    state = bits = (state + 0x9E3779B97F4A7C15) & _BITS
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & _BITS
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & _BITS
    return state, bits ^ (bits >> 31)


@dataclass(frozen=True, eq=False)
class _Grown:
    """One tree (None where nobody will ask it), and its rows with their weights and leaves."""

    tree: Tree | None
    rows: Ints
    weights: Floats32
    leaves: Ints32

    def means(self, truth: Floats32) -> Floats32:
        """Share of each label in every leaf."""
        order, size = np.argsort(self.leaves, kind="stable"), np.bincount(self.leaves)
        shares = self.weights / np.bincount(self.leaves, self.weights).astype(np.float32)[self.leaves]
        ends = np.append(0, np.cumsum(size))
        return np.asarray(sp.csr_array((shares[order], self.rows[order], ends), (len(size), len(truth))) @ truth)


class Forest:
    """Extremely randomised trees on bootstrap samples: half on the labels one by one, half on whole label sets.

    The two halves err differently, and their mean is better than either. A tree does not see the labels themselves but
    a few random sums of them (Joly, Geurts and Wehenkel 2014), or a random point per label set: the splits are as good
    on average, and neither time nor memory grows with the number of labels or label sets. The shares of the labels in
    the leaves are counted when they are needed and then forgotten.

    Parameters
    ----------
    design : ndarray of float32, shape (examples, columns)
        Missing values are NaN.
    truth : ndarray of uint8, shape (examples, labels)
    weights : ndarray, shape (examples,)
    trees, seed, threads : int
        The result does not depend on the number of threads.
    stop : callable
        Asked before every tree but the first few; True ends the forest there.
    keep : bool
        Whether `predict` will be called; the trees take memory.
    usual : ndarray or None
        See `usual_values`, where they are known.

    Attributes
    ----------
    left_out : ndarray of float32, shape (examples, labels)
        What the trees that were grown without an example say about it.
    """

    def __init__(
        self,
        design: Floats32,
        truth: Bytes,
        weights: Floats,
        trees: int,
        seed: int,
        threads: int = 1,
        stop: Callable[[], bool] = lambda: False,
        keep: bool = True,
        usual: Floats32 | None = None,
    ) -> None:
        self._truth, self._keep = truth.astype(np.float32), keep
        self._weights = (weights / weights.mean()).astype(np.float32)
        filled = _filled(design)
        self._columns = Columns.of(filled, usual_values(filled) if usual is None else usual)
        features, rows = design.shape[1], min(len(design), _LARGEST_BAG)
        # Where examples are plenty, leaves of one only add noise and time, and a few features will do.
        many = rows >= _MANY_EXAMPLES
        self._smallest_leaf = 2 if many else 1
        wanted = min(round(_FEATURE_SHARE * features), _MOST_TRIED[many])
        self._tried = min(features, max(_FEWEST_FEATURES, wanted))
        self._sets = _label_sets(truth)
        self._grown: list[_Grown] = []
        sums = np.zeros(truth.shape, dtype=np.float32)
        times = np.zeros(len(truth), dtype=np.float32)
        # Leaves of all rows are kept as long as some row was in every bag: such rows are asked about all the same.
        always, known = np.arange(len(truth)), list[Ints32]()
        with ThreadPoolExecutor(threads) as pool:
            for first in range(0, trees, 2 * threads):
                if first and stop():
                    break
                numbers = [(seed, k) for k in range(first, min(trees, first + 2 * threads))]
                for grown, leaves in pool.map(self._grow, numbers):
                    self._grown.append(grown)
                    outside = np.ones(len(truth), dtype=bool)
                    outside[grown.rows] = False
                    _add(sums, np.flatnonzero(outside), leaves[outside], grown.means(self._truth))
                    times += outside
                    always = np.flatnonzero(times == 0)
                    known = [*known, leaves] if len(always) else []
        for grown, leaves in zip(self._grown, known, strict=False):
            _add(sums, always, leaves[always], grown.means(self._truth))
        times[always] = len(self._grown)
        sums /= times[:, None]
        self.left_out: Floats32 = sums

    def predict(self, design: Floats32) -> Floats32:
        """Estimate the probability of each label."""
        known = _filled(design)
        sums = np.zeros((len(design), self._truth.shape[1]), dtype=np.float32)
        for grown in self._grown:
            assert grown.tree is not None, "keep the trees to ask them"
            _add(sums, np.arange(len(sums)), grown.tree.leaves(known), grown.means(self._truth))
        return sums / np.float32(len(self._grown))

    def _grow(self, number: tuple[int, int]) -> tuple[_Grown, Ints32]:
        """Grow a tree, and find the leaves of all training rows."""
        random = np.random.default_rng(number)
        examples = len(self._truth)
        counts = np.bincount(random.integers(examples, size=min(examples, _LARGEST_BAG)), minlength=examples)
        rows = np.flatnonzero(counts)
        weights = counts[rows].astype(np.float32) * self._weights[rows]
        codes, seed = self._code(rows, number[1], random), int(random.integers(2**63))
        tree, leaves = grow(self._columns, rows, codes, weights, self._tried, self._smallest_leaf, seed)
        return _Grown(tree if self._keep else None, rows, weights, leaves[rows]), leaves

    def _code(self, rows: Ints, number: int, random: np.random.Generator) -> Ints32:
        """A few numbers for each row whose spread tells how much the rows differ in their labels, or label sets."""
        codes = np.zeros((len(rows), CODE_WIDTH), dtype=np.int32)
        if self._sets is not None and number % 2:
            points = _CODE_STEPS * random.standard_normal((int(self._sets.max()) + 1, CODE_WIDTH))
            codes[:] = np.rint(points)[self._sets[rows]]
        elif (labels := self._truth.shape[1]) <= CODE_WIDTH:
            codes[:, :labels] = self._truth[rows]
        else:
            signs = random.integers(2, size=(labels, CODE_WIDTH)).astype(np.float32) * 2 - 1
            codes[:] = self._truth[rows] @ signs
        return codes


def _add(sums: Floats32, rows: Ints, leaves: Ints32, means: Floats32) -> None:
    """Add what a tree says about `rows`, which lie in `leaves`; a few rows at a time, for memory's sake."""
    for some in row_blocks(len(rows), sums.shape[1], _BLOCK_CELLS):
        sums[rows[some]] += means[leaves[some]]


def _label_sets(truth: Bytes) -> Ints | None:
    """Which label set each example has; None where most are unique, for predicting whole sets is hopeless then."""
    if truth.shape[1] < 2:
        return None
    packed = np.packbits(truth, axis=1)
    sets, places = np.unique(packed, axis=0, return_inverse=True)
    return places.ravel().astype(np.int64) if 1 < len(sets) <= len(truth) / 2 else None


def _filled(design: Floats32) -> Floats32:
    """A missing value lies below all others."""
    missing = np.isnan(design)
    return np.where(missing, np.float32(-1), design) if missing.any() else design
