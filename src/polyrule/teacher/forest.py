"""A teacher of trees: a forest that says about each training example what it thinks without that example."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.arrays import Bytes, Floats, Floats32, Ints, Ints32, Matrix
from polyrule.lazy import import_late

_FEATURE_SHARE = 0.2
_FEWEST_FEATURES = 10
_MOST_TRIED = (300, 60)  # features at a node, of few and of many examples
_LARGEST_BAG = 5000
_CODE_WIDTH = 8
_MANY_EXAMPLES = 1000
_BLOCK_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class _Grown:
    """One tree (None where nobody will ask it), its number of nodes, its rows with their weights and leaves."""

    tree: Any
    nodes: int
    rows: Ints
    weights: Floats32
    leaves: Ints32

    def means(self, truth: Bytes) -> tuple[Floats32, Ints]:
        """Share of each label in every leaf, and where each node of the tree is among the leaves."""
        order = np.argsort(self.leaves, kind="stable")
        starts = np.flatnonzero(np.diff(self.leaves[order], prepend=-1))
        where = np.zeros(self.nodes, dtype=np.int64)
        where[self.leaves[order[starts]]] = np.arange(len(starts))
        weights = self.weights[order, None]
        means = np.add.reduceat(truth[self.rows[order]] * weights, starts, axis=0)
        means /= np.add.reduceat(weights, starts, axis=0)
        return means, where


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
    ) -> None:
        self._truth, self._keep = truth, keep
        self._weights = (weights / weights.mean()).astype(np.float32)
        self._known = np.asfortranarray(_filled(design))  # trees look at one column after the other
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
                    _add(sums, np.flatnonzero(outside), leaves[outside], *grown.means(truth))
                    times += outside
                    always = np.flatnonzero(times == 0)
                    known = [*known, leaves] if len(always) else []
        for grown, leaves in zip(self._grown, known, strict=False):
            _add(sums, always, leaves[always], *grown.means(truth))
        times[always] = len(self._grown)
        sums /= times[:, None]
        self.left_out: Floats32 = sums

    def predict(self, design: Floats32) -> Floats32:
        """Estimate the probability of each label."""
        known = _filled(design)
        sums = np.zeros((len(design), self._truth.shape[1]), dtype=np.float32)
        for grown in self._grown:
            _add(sums, np.arange(len(sums)), grown.tree.apply(known), *grown.means(self._truth))
        return sums / np.float32(len(self._grown))

    def _grow(self, number: tuple[int, int]) -> tuple[_Grown, Ints32]:
        """Grow a tree, and find the leaves of all training rows."""
        random = np.random.default_rng(number)
        examples = len(self._truth)
        counts = np.bincount(random.integers(examples, size=min(examples, _LARGEST_BAG)), minlength=examples)
        rows = np.flatnonzero(counts)
        weights = counts[rows].astype(np.float32) * self._weights[rows]
        tree = import_late("sklearn.tree").ExtraTreeRegressor(
            max_features=self._tried,
            min_samples_leaf=self._smallest_leaf,
            random_state=int(random.integers(2**31)),
        )
        targets, shown = self._code(rows, number[1], random), self._known.T.take(rows, axis=1).T
        # Of a small tree, most of the time would go into checking what is known to be right.
        with import_late("sklearn").config_context(skip_parameter_validation=True, assume_finite=True):
            tree.fit(shown, targets, sample_weight=weights.astype(np.float64), check_input=False)
        grown = tree.tree_
        leaves = grown.apply(self._known).astype(np.int32)
        return _Grown(grown if self._keep else None, grown.node_count, rows, weights, leaves[rows]), leaves

    def _code(self, rows: Ints, number: int, random: np.random.Generator) -> Matrix:
        """A few numbers for each row whose spread tells how much the rows differ in their labels, or label sets."""
        if self._sets is not None and number % 2:
            return random.standard_normal((int(self._sets.max()) + 1, _CODE_WIDTH))[self._sets[rows]]
        truth = self._truth[rows]
        if truth.shape[1] <= _CODE_WIDTH:
            return truth.astype(np.float64)
        signs = random.integers(2, size=(truth.shape[1], _CODE_WIDTH)).astype(np.float32) * 2 - 1
        return (truth.astype(np.float32) @ signs).astype(np.float64)


def _add(sums: Floats32, rows: Ints, leaves: Ints | Ints32, means: Floats32, where: Ints) -> None:
    """Add what a tree says about `rows`, which lie in `leaves`; a few rows at a time, for memory's sake."""
    step = max(1, _BLOCK_CELLS // max(1, sums.shape[1]))
    for first in range(0, len(rows), step):
        some = slice(first, first + step)
        sums[rows[some]] += means[where[leaves[some]]]


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
