"""Teachers that know by a closed form what they would say without an example: ridge regressions.

One of neighbourhoods, with a kernel, and a linear one of words, for tables that are mostly zeros, such as text.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from polyrule.arrays import Bytes, Floats, Floats32, Ints, Matrix
from polyrule.bins.binning import FEWEST_WORDS, USUAL_SHARE

_COLUMN_CELLS = 2_000_000
_RIDGE = 0.3
_FARTHEST = 3.0  # standard deviations; rare words would otherwise put an example at the end of the world
_STEPS = 16  # of a standard deviation: distances are then whole numbers, whatever order a processor adds them up in
_EXACT_COLUMNS = 2**24 // int(_STEPS * _FARTHEST) ** 2  # up to so many single precision holds them
_JITTER = 1e-8
_KERNEL_CELLS = 500_000
_KERNEL_EXAMPLES = 5000  # that it is fitted to; what it says about the others is left out by itself
_EXACT = 1000  # up to so many examples ...
_MOST_LANDMARKS = 1000  # ... there may be so many landmarks,
_FEW_LANDMARKS = 700  # and above it so many
_RIDGES = (0.3, 1.0, 3.0)
_MOST_COLUMNS = 1500
_WORD_EXAMPLES = 20_000
_MOST_JUDGED = 1000  # examples, to find the best penalty
_BLOCK = 2000
_BLOCK_CELLS = 1_000_000


def looks_like_text(design: Floats32) -> bool:
    """Whether a table looks like text: many columns, most entries the column's usual value.

    Examples
    --------
    >>> looks_like_text(np.eye(60, dtype=np.float32)), looks_like_text(np.ones((60, 3), dtype=np.float32))
    (True, False)
    """
    if design.shape[1] < FEWEST_WORDS:
        return False
    some = design[:: max(1, len(design) // _BLOCK)]
    return bool(len(some) and np.mean(some == _usual(some)) >= USUAL_SHARE)


class LinearRidge:
    """Words speak for labels one by one, rare words more, long texts no more than short ones.

    Entries count by the logarithm of their distance from the column's usual value, times the inverse frequency of an
    unusual one; each row is brought to length 1. The penalty is the one with the smallest error on some
    examples, each left out.

    Parameters
    ----------
    design : ndarray of float32, shape (examples, columns)
        Missing values (NaN) count as usual ones.
    truth : ndarray of uint8, shape (examples, labels)
    weights : ndarray, shape (examples,)
        Positive.

    Attributes
    ----------
    left_out : ndarray of float32, shape (examples, labels)
        What it says about each example when fitted to all others; may lie a little outside 0 to 1.
    """

    def __init__(self, design: Floats32, truth: Bytes, weights: Floats) -> None:
        self._usual = _usual(design)
        unusual = ((design != self._usual) & ~np.isnan(design)).sum(axis=0)
        order = np.argsort(-unusual, kind="stable")[:_MOST_COLUMNS]
        self._columns = np.sort(order[unusual[order] > 0])
        self._rarity = np.log((1 + len(design)) / np.maximum(unusual[self._columns], 1))
        share = weights / weights.mean()
        self._start = share @ truth / share.sum()
        words = self._words(design)
        fitted, judged = slice(0, _WORD_EXAMPLES), slice(0, _MOST_JUDGED)
        regression = _Regression(words[fitted], truth[fitted], self._start, share[fitted])
        some, right, weight = words[judged], truth[judged], share[judged]
        errors = [
            sum(
                float(weight[block] @ ((said - right[block]) ** 2).sum(axis=1, dtype=np.float64))
                for block, said in self._without(some, right, *regression.fit(ridge, _MOST_JUDGED))
            )
            for ridge in _RIDGES
        ]
        self._slopes, pull = regression.fit(_RIDGES[int(np.argmin(errors))])
        self.left_out = np.empty(truth.shape, dtype=np.float32)
        for block, said in self._without(words, truth, self._slopes, pull):
            self.left_out[block] = said

    def predict(self, design: Floats32) -> Floats32:
        """Estimate the probability of each label; may lie a little outside 0 to 1."""
        return np.asarray(self._words(design) @ self._slopes + self._start, dtype=np.float32)

    def _without(
        self, words: sp.csr_array, truth: Bytes, slopes: Matrix, pull: Floats
    ) -> Iterator[tuple[slice, Floats32]]:
        """What it would say about each example when fitted to all others, some examples at a time."""
        for block in _blocks(len(truth), truth.shape[1]):
            said = np.asarray(words[block] @ slopes) + self._start
            pulled = np.zeros(len(said))
            pulled[: len(pull[block])] = np.minimum(pull[block], 1 - 1e-6)
            yield block, (truth[block] - (truth[block] - said) / (1 - pulled)[:, None]).astype(np.float32)

    def _words(self, design: Floats32) -> sp.csr_array:
        rows = []
        for first in range(0, len(design), _BLOCK):
            block = design[first : first + _BLOCK, self._columns] - self._usual[self._columns]
            rows.append(sp.csr_array(np.nan_to_num(block, nan=0.0)))
        words = sp.csr_array(sp.vstack(rows)) if rows else sp.csr_array((0, len(self._columns)))
        words.data = np.sign(words.data) * np.log1p(np.abs(words.data.astype(np.float64)))
        words = sp.csr_array(words @ sp.diags_array(self._rarity))
        length = np.sqrt(np.asarray((words * words).sum(axis=1)))
        return sp.csr_array(sp.diags_array(1 / np.where(length > 0, length, 1)) @ words)


class _Regression:
    """Weighted ridge regression by words, or by examples where those are fewer."""

    def __init__(self, words: sp.csr_array, truth: Bytes, start: Floats, share: Floats) -> None:
        self._root = root = sp.csr_array(sp.diags_array(np.sqrt(share)) @ words)
        self._by_examples = root.shape[1] > root.shape[0]
        if self._by_examples:
            self._products: Matrix = (root @ root.T).toarray()
            self._moments: Matrix = np.sqrt(share)[:, None] * (truth - start)
            return
        self._products = (root.T @ root).toarray()
        self._moments = np.zeros((root.shape[1], truth.shape[1]))
        for block in _blocks(len(truth), truth.shape[1]):
            self._moments += root[block].T @ (np.sqrt(share[block])[:, None] * (truth[block] - start))

    def fit(self, ridge: float, first: int | None = None) -> tuple[Matrix, Floats]:
        """Return slopes, and how far each example, or each of the first so many, pulls its estimate to itself."""
        curvature, root = self._products.copy(), self._root
        curvature[np.diag_indices_from(curvature)] += ridge
        upper = cholesky(curvature, overwrite_a=True)
        slopes = solve_triangular(upper, solve_triangular(upper, self._moments, trans="T"))
        if self._by_examples:
            inverse = solve_triangular(upper, np.eye(len(upper)))
            return np.asarray(root.T @ slopes), (1 - ridge * (inverse**2).sum(axis=1))[:first]
        pull = np.empty(root.shape[0])[:first]
        for block in _blocks(len(pull), len(upper)):
            pull[block] = (solve_triangular(upper, root[:first][block].toarray().T, trans="T") ** 2).sum(axis=0)
        return slopes, pull


def _blocks(rows: int, columns: int) -> list[slice]:
    """Rows at a time, so that a matrix of so many columns stays small."""
    step = max(1, min(_BLOCK, _BLOCK_CELLS // max(1, columns)))
    return [slice(first, first + step) for first in range(0, rows, step)]


def _usual(design: Floats32) -> Floats32:
    """The median of each column; for columns that are mostly one value, that value."""
    some = design[:: max(1, len(design) // _BLOCK)]
    # The median that allows for missing values takes ten times as long.
    return np.asarray(np.nan_to_num(np.nanmedian(some, axis=0)) if np.isnan(some).any() else np.median(some, axis=0))


class KernelRidge:
    """Smooth estimates: each example speaks for those near it, by a Gaussian kernel as wide as the mean distance.

    Where trees see steps along single features, this sees distances in all of them; the two err differently. Distances
    are taken to some of the examples only (Nyström's approximation; exact for up to 1,000 examples), so that memory and
    time grow with the number of examples, not with its square and cube.

    Parameters
    ----------
    design : ndarray, shape (examples, columns)
        Missing values (NaN) count as the mean.
    truth : ndarray, shape (examples, labels)
    weights : ndarray, shape (examples,)
        Positive.
    seed : int
        Decides which examples are landmarks.

    Attributes
    ----------
    left_out : ndarray of float32, shape (examples, labels)
        What it says about each example when fitted to all others; may lie a little outside 0 to 1.
    """

    def __init__(self, design: Floats32, truth: Bytes, weights: Floats, seed: int = 0) -> None:
        self._mean, self._spread = np.empty((2, design.shape[1]), dtype=np.float32)
        for block in column_blocks(design):
            missing = np.isnan(design[:, block])
            present = np.maximum(len(design) - missing.sum(axis=0), 1)
            self._mean[block] = np.where(missing, 0, design[:, block]).sum(axis=0, dtype=np.float64) / present
            spread = np.where(missing, self._mean[block], design[:, block]).std(axis=0, dtype=np.float64)
            self._spread[block] = np.where(spread > 0, spread, 1)
        order = np.random.default_rng([seed, 1]).permutation(len(design))
        fitted = np.sort(order[:_KERNEL_EXAMPLES])
        landmarks = np.sort(order[: _MOST_LANDMARKS if len(design) <= _EXACT else _FEW_LANDMARKS])
        self._marks = self._scaled(design[landmarks])
        squares = (self._marks**2).sum(axis=1, dtype=np.float64)
        middle = self._marks.mean(axis=0, dtype=np.float64)
        self._width = max(float(2 * (squares.mean() - (middle**2).sum())), 1e-12)
        kernel = self._kernel(self._marks)
        kernel[np.diag_indices_from(kernel)] += _JITTER * len(kernel)
        self._root = cholesky(kernel, overwrite_a=True)
        left_out = self._fit(design[fitted], truth[fitted], weights[fitted] / weights[fitted].mean())
        self.left_out = left_out if len(fitted) == len(design) else self._complete(design, fitted, left_out)

    def predict(self, design: Floats32) -> Floats32:
        """Estimate the probability of each label; may lie a little outside 0 to 1."""
        found = np.empty((len(design), len(self._start)), dtype=np.float32)
        step = max(1, min(_BLOCK, _KERNEL_CELLS // max(1, len(self._start))))
        for first in range(0, len(design), step):
            block = slice(first, first + step)
            found[block] = self._kernel(self._scaled(design[block])) @ self._influence + self._start
        return found

    def _complete(self, design: Floats32, fitted: Ints, left_out: Floats32) -> Floats32:
        every = self.predict(design)
        every[fitted] = left_out
        return every

    def _fit(self, design: Floats32, truth: Bytes, share: Floats) -> Floats32:
        """Fit, and return what would be said about each example without it."""
        self._start = share @ truth / share.sum()
        size = len(self._marks)
        curvature, moments = _RIDGE * np.eye(size), np.zeros((size, truth.shape[1]))
        blocks = [slice(first, first + _BLOCK) for first in range(0, len(design), _BLOCK)]
        seen = [self._features(design[block]) for block in blocks]
        for block, features in zip(blocks, seen, strict=True):
            weighted = features * share[block, None]
            curvature += features.T @ weighted
            moments += weighted.T @ (truth[block] - self._start)
        upper = cholesky(curvature, overwrite_a=True)
        slopes = solve_triangular(upper, solve_triangular(upper, moments, trans="T"))
        self._influence = solve_triangular(self._root, slopes)
        left_out = np.empty(truth.shape, dtype=np.float32)
        for block, features in zip(blocks, seen, strict=True):
            pull = share[block] * (solve_triangular(upper, features.T, trans="T") ** 2).sum(axis=0)
            surplus = truth[block] - self._start - features @ slopes
            left_out[block] = truth[block] - surplus / (1 - np.minimum(pull, 1 - 1e-6))[:, None]
        return left_out

    def _features(self, design: Floats32) -> Matrix:
        """The kernel to the landmarks, in coordinates whose inner product is the (approximate) kernel."""
        return np.asarray(solve_triangular(self._root, self._kernel(self._scaled(design)).T, trans="T").T)

    def _scaled(self, design: Floats32) -> Floats32:
        filled = np.where(np.isnan(design), self._mean, design)
        steps = np.rint(_STEPS * np.clip((filled - self._mean) / self._spread, -_FARTHEST, _FARTHEST))
        return np.asarray(steps, dtype=np.float32 if design.shape[1] <= _EXACT_COLUMNS else np.float64)

    def _kernel(self, scaled: Floats32) -> Matrix:
        mine = (scaled**2).sum(axis=1, dtype=np.float64)
        theirs = (self._marks**2).sum(axis=1, dtype=np.float64)
        distances = mine[:, None] + theirs - 2 * (scaled @ self._marks.T).astype(np.float64)
        return np.asarray(np.exp(-np.maximum(distances, 0) / self._width))


def column_blocks(matrix: Floats32) -> list[slice]:
    """Cut a matrix into a few columns each, so that what is made of them stays small.

    Examples
    --------
    >>> column_blocks(np.zeros((1_000_000, 3), dtype=np.float32))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    step = max(1, _COLUMN_CELLS // max(1, len(matrix)))
    return [slice(first, first + step) for first in range(0, matrix.shape[1], step)]
