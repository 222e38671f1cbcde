"""A teacher of trees: a forest that says about each training example what it thinks without that example."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from polyrule.arrays import Bytes, Floats, Floats32, Ints, Ints32
from polyrule.teacher.ridge import usual_values
from polyrule.teacher.tree import CODE_WIDTH, Columns, Tree, grow

_FEATURE_SHARE = 0.2
_FEWEST_FEATURES = 10
_MOST_TRIED = (300, 60)  # features at a node, of few and of many examples
_LARGEST_BAG = 5000
_CODE_STEPS = 64  # of a standard deviation, for codes that are random points
_MANY_EXAMPLES = 1000
_BLOCK_CELLS = 1_000_000


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
    step = max(1, _BLOCK_CELLS // max(1, sums.shape[1]))
    for first in range(0, len(rows), step):
        some = slice(first, first + step)
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
