"""Teachers that know by a closed form what they would say without an example: ridge regressions.

One of neighbourhoods, with a kernel, and a linear one of words, for tables that are mostly zeros, such as text.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from polyrule.bins.binning import FEWEST_WORDS, USUAL_SHARE
from polyrule.data.table import row_blocks
from polyrule.utils.arrays import Bytes, Floats, Floats32, Matrix

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
_FEW_LANDMARKS = 700  # and above it so many;
_TEXT_LANDMARKS = 350  # so many are enough beside a linear member
_RIDGES = (3.0, 1.0, 0.3)  # of fewer examples than words; the first of more, which were all best with it
_MOST_COLUMNS = 1500
_WORD_EXAMPLES = 20_000
_BLOCK = 2000
_BLOCK_CELLS = 1_000_000


@cache
def blas() -> Any:
    """The libraries that multiply matrices for NumPy and SciPy, whose threads may be limited.

    Found once: looking through all that a process has loaded takes milliseconds, as long as a small fit.
    """
    return ThreadpoolController().select(user_api="blas")


def usual_values(design: Floats32) -> Floats32:
    """The median of each column; for columns that are mostly one value, that value; 0 where none is known."""
    some = design[:: max(1, len(design) // _BLOCK)]
    missing = np.isnan(some)
    if not missing.any():  # the median that allows for missing values takes ten times as long
        return np.asarray(np.median(some, axis=0))
    return np.asarray(np.nanmedian(np.where(missing.all(axis=0), np.float32(0), some), axis=0))


def looks_like_text(design: Floats32, usual: Floats32) -> bool:
    """Whether a table looks like text: many columns, most entries the column's usual value.

    Examples
    --------
    >>> [looks_like_text(table, usual_values(table)) for table in (np.eye(60), np.ones((60, 3)))]
    [True, False]
    """
    some = design[:: max(1, len(design) // _BLOCK)]
    return design.shape[1] >= FEWEST_WORDS and bool(len(some) and np.mean(some == usual) >= USUAL_SHARE)


class LinearRidge:
    """Words speak for labels one by one, rare words more, long texts no more than short ones.

    Entries count by the logarithm of their distance from the column's usual value, times the inverse frequency of an
    unusual one; each row is brought to length 1. The penalty is the one with the smallest error on examples
    that are left out.

    Parameters
    ----------
    design : ndarray of float32, shape (examples, columns)
        Missing values (NaN) count as usual ones.
    truth : ndarray of uint8, shape (examples, labels)
    weights : ndarray, shape (examples,)
        Positive.
    usual : ndarray of float32, shape (columns,)
        See `usual_values`.

    Attributes
    ----------
    left_out : ndarray of float32, shape (examples, labels)
        What it says about each example when fitted to all others; may lie a little outside 0 to 1.
    """

    def __init__(self, design: Floats32, truth: Bytes, weights: Floats, usual: Floats32) -> None:
        self._usual = usual
        unusual = np.count_nonzero((design != usual) & ~np.isnan(design), axis=0)
        order = np.argsort(-unusual, kind="stable")[:_MOST_COLUMNS]
        columns = np.sort(order[unusual[order] > 0])
        self._places = np.full(len(usual), -1)
        self._places[columns] = np.arange(len(columns))
        self._rarity = np.log((1 + len(design)) / unusual[columns])
        share = weights / weights.mean()
        self._start = share @ truth / share.sum()
        words = self._words(design)
        fitted = slice(0, _WORD_EXAMPLES)
        regression = _Regression(words[fitted], truth[fitted], self._start, share[fitted])
        least = np.inf
        for ridge in _RIDGES if regression.by_examples else _RIDGES[:1]:
            slopes, pull = regression.fit(ridge)
            left_out, error = np.empty(truth.shape, dtype=np.float32), 0.0
            for block in _blocks(*truth.shape):
                surplus = truth[block] - self._start - words[block] @ slopes
                pulled = np.minimum(pull[block], 1 - 1e-6)
                surplus[: len(pulled)] /= (1 - pulled)[:, None]
                left_out[block] = truth[block] - surplus
                error += float(share[block] @ (surplus**2).sum(axis=1))
            if error < least:
                least, self._slopes, self.left_out = error, slopes, left_out

    def predict(self, design: Floats32) -> Floats32:
        """Estimate the probability of each label; may lie a little outside 0 to 1."""
        return np.asarray(self._words(design) @ self._slopes + self._start, dtype=np.float32)

    def _words(self, design: Floats32) -> sp.csr_array:
        rows, columns = np.divmod(np.flatnonzero(design != self._usual), design.shape[1])
        away = design[rows, columns].astype(np.float64) - self._usual[columns]
        seen = (self._places[columns] >= 0) & ~np.isnan(away)
        rows, columns, away = rows[seen], self._places[columns[seen]], away[seen]
        values = np.sign(away) * np.log1p(np.abs(away)) * self._rarity[columns]
        values /= np.sqrt(np.bincount(rows, values**2, len(design)))[rows]
        ends = np.append(0, np.cumsum(np.bincount(rows, minlength=len(design))))
        return sp.csr_array((values, columns, ends), shape=(len(design), len(self._rarity)))


class _Regression:
    """Weighted ridge regression by words, or by examples where those are fewer."""

    def __init__(self, words: sp.csr_array, truth: Bytes, start: Floats, share: Floats) -> None:
        self._root = root = sp.csr_array(sp.diags_array(np.sqrt(share)) @ words)
        self.by_examples = root.shape[1] > root.shape[0]
        if self.by_examples:
            self._products: Matrix = (root @ root.T).toarray()
            self._moments: Matrix = np.sqrt(share)[:, None] * (truth - start)
            return
        self._products = (root.T @ root).toarray()
        self._moments = np.zeros((root.shape[1], truth.shape[1]))
        for block in _blocks(len(truth), truth.shape[1]):
            self._moments += root[block].T @ (np.sqrt(share[block])[:, None] * (truth[block] - start))

    def fit(self, ridge: float) -> tuple[Matrix, Floats]:
        """Return slopes, and how far each example pulls its estimate to itself."""
        curvature, root = self._products.copy(), self._root
        curvature[np.diag_indices_from(curvature)] += ridge
        upper = cholesky(curvature, overwrite_a=True, check_finite=False)
        slopes = _solved(upper, _solved(upper, self._moments.copy(order="F"), trans="T"))
        if self.by_examples:
            inverse = _solved(upper, np.eye(len(upper), order="F"))
            return np.asarray(root.T @ slopes), 1 - ridge * (inverse**2).sum(axis=1)
        pull = np.empty(root.shape[0])
        for block in _blocks(len(pull), len(upper)):
            pull[block] = (_solved(upper, root[block].toarray().T, trans="T") ** 2).sum(axis=0)
        return slopes, pull


def _solved(upper: Matrix, right: Matrix, trans: str = "N") -> Matrix:
    """Solve a triangular system in the place of `right`, whose columns must lie one after the other."""
    return np.asarray(solve_triangular(upper, right, trans=trans, overwrite_b=True, check_finite=False))


def _blocks(rows: int, columns: int, cells: int = _BLOCK_CELLS) -> list[slice]:
    """At most 2,000 rows at a time."""
    return row_blocks(rows, columns, min(cells, _BLOCK * columns))


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
    text : bool
        Whether there is a linear member, too.

    Attributes
    ----------
    left_out : ndarray of float32, shape (examples, labels)
        What it says about each example when fitted to all others; may lie a little outside 0 to 1.
    """

    def __init__(self, design: Floats32, truth: Bytes, weights: Floats, seed: int = 0, text: bool = False) -> None:
        self._mean, self._spread = np.empty((2, design.shape[1]), dtype=np.float32)
        for block in column_blocks(design):
            columns = design[:, block]
            missing = np.isnan(columns)
            present = np.maximum(len(design) - missing.sum(axis=0), 1)
            known = np.where(missing, 0, columns) if missing.any() else columns
            self._mean[block] = known.sum(axis=0, dtype=np.float64) / present
            filled = np.where(missing, self._mean[block], columns) if missing.any() else columns
            spread = filled.std(axis=0, dtype=np.float64)
            self._spread[block] = np.where(spread > 0, spread, 1)
        order = np.random.default_rng([seed, 1]).permutation(len(design))
        fitted = np.sort(order[:_KERNEL_EXAMPLES])
        most = _MOST_LANDMARKS if len(design) <= _EXACT else _FEW_LANDMARKS
        self._marks = self._scaled(design[np.sort(order[: _TEXT_LANDMARKS if text else most])])
        squares = (self._marks**2).sum(axis=1, dtype=np.float64)
        middle = self._marks.mean(axis=0, dtype=np.float64)
        self._width = max(float(2 * (squares.mean() - (middle**2).sum())), 1e-12)
        kernel = self._kernel(self._marks)
        kernel[np.diag_indices_from(kernel)] += _JITTER * len(kernel)
        self._root = cholesky(kernel, overwrite_a=True, check_finite=False)
        if len(fitted) == len(design):
            self.left_out = self._fit(design, truth, weights / weights.mean())
        else:
            left_out = self._fit(design[fitted], truth[fitted], weights[fitted] / weights[fitted].mean())
            self.left_out = self.predict(design)
            self.left_out[fitted] = left_out

    def predict(self, design: Floats32) -> Floats32:
        """Estimate the probability of each label; may lie a little outside 0 to 1."""
        found = np.empty((len(design), len(self._start)), dtype=np.float32)
        for block in _blocks(*found.shape, _KERNEL_CELLS):
            found[block] = self._kernel(self._scaled(design[block])) @ self._influence + self._start
        return found

    def _fit(self, design: Floats32, truth: Bytes, share: Floats) -> Floats32:
        """Fit, and return what would be said about each example without it."""
        self._start = share @ truth / share.sum()
        size, root = len(self._marks), np.sqrt(share)[:, None]
        curvature, moments = _RIDGE * np.eye(size), np.zeros((size, truth.shape[1]))
        blocks, seen = row_blocks(len(design), 1, _BLOCK), []
        for block in blocks:
            # The kernel to the landmarks, in coordinates whose inner product is the (approximate) kernel.
            features = _solved(self._root, self._kernel(self._scaled(design[block])).T, trans="T").T
            features *= root[block]
            curvature += features.T @ features
            moments += features.T @ (root[block] * (truth[block] - self._start))
            seen.append(features)
        upper = cholesky(curvature, overwrite_a=True, check_finite=False)
        slopes = _solved(upper, _solved(upper, moments.copy(order="F"), trans="T"))
        left_out = np.empty(truth.shape, dtype=np.float32)
        for block, features in zip(blocks, seen, strict=True):
            surplus = truth[block] - self._start - features @ slopes / root[block]
            pull = (_solved(upper, features.T, trans="T") ** 2).sum(axis=0)
            left_out[block] = truth[block] - surplus / (1 - np.minimum(pull, 1 - 1e-6))[:, None]
        self._influence = _solved(self._root, slopes)
        return left_out

    def _scaled(self, design: Floats32) -> Floats32:
        steps = design - self._mean
        missing = np.isnan(steps)
        if missing.any():
            steps[missing] = 0
        steps /= self._spread
        np.clip(steps, -_FARTHEST, _FARTHEST, out=steps)
        steps *= _STEPS
        np.rint(steps, out=steps)
        return np.asarray(steps, dtype=np.float32 if design.shape[1] <= _EXACT_COLUMNS else np.float64)

    def _kernel(self, scaled: Floats32) -> Matrix:
        kernel = (scaled @ self._marks.T).astype(np.float64)
        kernel *= -2
        kernel += (scaled**2).sum(axis=1, dtype=np.float64)[:, None]
        kernel += (self._marks**2).sum(axis=1, dtype=np.float64)
        kernel /= -self._width
        return np.exp(kernel, out=kernel)


def column_blocks(matrix: Floats32) -> list[slice]:
    """Cut a matrix into a few columns each, so that what is made of them stays small.

    Examples
    --------
    >>> column_blocks(np.zeros((1_000_000, 3), dtype=np.float32))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    return row_blocks(matrix.shape[1], len(matrix), _COLUMN_CELLS)
