"""Ridge regressions with leave-one-out estimates by a closed form.

One uses a kernel, the other is linear in words, for tables that are mostly zeros, such as text.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from polyrule.binning.text import COMMON_SHARE, MIN_WORDS
from polyrule.data.table import row_blocks
from polyrule.utils.arrays import Bytes, Floats, Floats32, Matrix

_COLUMN_CELLS = 2_000_000
_RIDGE = 0.3
_MAX_DISTANCE = 3.0  # standard deviations; rare words would otherwise move an example far from all others
_STEPS = 16  # per standard deviation: distances are then whole numbers, exact in any order of summation
_EXACT_COLUMNS = 2**24 // int(_STEPS * _MAX_DISTANCE) ** 2  # up to this many, single precision is exact
_JITTER = 1e-8
_KERNEL_CELLS = 500_000
_MAX_KERNEL_EXAMPLES = 5000  # for the fit; the other examples are out-of-sample anyway
_MAX_EXACT = 1000  # examples, all of which are landmarks
_LANDMARKS = 700  # for more examples
_TEXT_LANDMARKS = 350  # beside the linear model
_RIDGES = (3.0, 1.0, 0.3)  # for fewer examples than words; for more, the first was always best
_MAX_WORDS = 1500
_MAX_WORD_EXAMPLES = 20_000
_BLOCK = 2000
_BLOCK_CELLS = 1_000_000


@cache
def blas() -> Any:
    """Return the controller of the BLAS threads of NumPy and SciPy.

    It is cached because listing the libraries of a process takes as long as a small fit.
    """
    return ThreadpoolController().select(user_api="blas")


def common_values(matrix: Floats32) -> Floats32:
    """Return the median of each column, its dominant value if it has one; 0 if all values are missing."""
    sample = matrix[:: max(1, len(matrix) // _BLOCK)]
    missing = np.isnan(sample)
    if not missing.any():  # nanmedian takes ten times as long
        return np.asarray(np.median(sample, axis=0))
    return np.asarray(np.nanmedian(np.where(missing.all(axis=0), np.float32(0), sample), axis=0))


def looks_like_text(matrix: Floats32, common: Floats32) -> bool:
    """Return True if a table looks like text: many columns, most entries the common value of the column.

    Examples
    --------
    >>> [looks_like_text(table, common_values(table)) for table in (np.eye(60), np.ones((60, 3)))]
    [True, False]
    """
    sample = matrix[:: max(1, len(matrix) // _BLOCK)]
    return matrix.shape[1] >= MIN_WORDS and bool(len(sample) and np.mean(sample == common) >= COMMON_SHARE)


class LinearRidge:
    """Linear ridge regression on weighted words.

    An entry is the logarithm of its distance from the common value of the column, times the inverse document frequency;
    each row is scaled to length 1. The penalty is the one with the smallest leave-one-out error.

    Parameters
    ----------
    matrix : ndarray of float32, shape (examples, columns)
        Missing values (NaN) count as the common value.
    labels : ndarray of uint8, shape (examples, labels)
    weights : ndarray, shape (examples,)
        Positive.
    common : ndarray of float32, shape (columns,)
        Result of `common_values`.

    Attributes
    ----------
    out_of_fold : ndarray of float32, shape (examples, labels)
        Leave-one-out estimates; may be a little outside 0 to 1.
    """

    def __init__(self, matrix: Floats32, labels: Bytes, weights: Floats, common: Floats32) -> None:
        self._common = common
        differing = np.count_nonzero((matrix != common) & ~np.isnan(matrix), axis=0)
        order = np.argsort(-differing, kind="stable")[:_MAX_WORDS]
        columns = np.sort(order[differing[order] > 0])
        self._places = np.full(len(common), -1)
        self._places[columns] = np.arange(len(columns))
        self._rarity = np.log((1 + len(matrix)) / differing[columns])
        share = weights / weights.mean()
        self._shares = share @ labels / share.sum()
        words = self._words(matrix)
        fitted = slice(0, _MAX_WORD_EXAMPLES)
        regression = _Regression(words[fitted], labels[fitted], self._shares, share[fitted])
        best_error = np.inf
        for ridge in _RIDGES if regression.is_dual else _RIDGES[:1]:
            coefficients, leverage = regression.fit(ridge)
            out_of_fold, error = np.empty(labels.shape, dtype=np.float32), 0.0
            for block in _blocks(*labels.shape):
                residuals = labels[block] - self._shares - words[block] @ coefficients
                block_leverage = np.minimum(leverage[block], 1 - 1e-6)
                residuals[: len(block_leverage)] /= (1 - block_leverage)[:, None]
                out_of_fold[block] = labels[block] - residuals
                error += float(share[block] @ (residuals**2).sum(axis=1))
            if error < best_error:
                best_error, self._coefficients, self.out_of_fold = error, coefficients, out_of_fold

    def predict(self, matrix: Floats32) -> Floats32:
        """Estimate the probability of each label; may be a little outside 0 to 1."""
        return np.asarray(self._words(matrix) @ self._coefficients + self._shares, dtype=np.float32)

    def _words(self, matrix: Floats32) -> sp.csr_array:
        rows, columns = np.divmod(np.flatnonzero(matrix != self._common), matrix.shape[1])
        distance = matrix[rows, columns].astype(np.float64) - self._common[columns]
        usable = (self._places[columns] >= 0) & ~np.isnan(distance)
        rows, columns, distance = rows[usable], self._places[columns[usable]], distance[usable]
        values = np.sign(distance) * np.log1p(np.abs(distance)) * self._rarity[columns]
        values /= np.sqrt(np.bincount(rows, values**2, len(matrix)))[rows]
        ends = np.append(0, np.cumsum(np.bincount(rows, minlength=len(matrix))))
        return sp.csr_array((values, columns, ends), shape=(len(matrix), len(self._rarity)))


class _Regression:
    """Weighted ridge regression in its primal form, or in its dual form if there are fewer examples than words."""

    def __init__(self, words: sp.csr_array, labels: Bytes, start: Floats, share: Floats) -> None:
        self._root = root = sp.csr_array(sp.diags_array(np.sqrt(share)) @ words)
        self.is_dual = root.shape[1] > root.shape[0]
        if self.is_dual:
            self._products: Matrix = (root @ root.T).toarray()
            self._moments: Matrix = np.sqrt(share)[:, None] * (labels - start)
            return
        self._products = (root.T @ root).toarray()
        self._moments = np.zeros((root.shape[1], labels.shape[1]))
        for block in _blocks(len(labels), labels.shape[1]):
            self._moments += root[block].T @ (np.sqrt(share[block])[:, None] * (labels[block] - start))

    def fit(self, ridge: float) -> tuple[Matrix, Floats]:
        """Return the coefficients and the leverage of each example."""
        hessian, root = self._products.copy(), self._root
        hessian[np.diag_indices_from(hessian)] += ridge
        upper = cholesky(hessian, overwrite_a=True, check_finite=False)
        coefficients = _solved(upper, _solved(upper, self._moments.copy(order="F"), trans="T"))
        if self.is_dual:
            inverse = _solved(upper, np.eye(len(upper), order="F"))
            return np.asarray(root.T @ coefficients), 1 - ridge * (inverse**2).sum(axis=1)
        leverage = np.empty(root.shape[0])
        for block in _blocks(len(leverage), len(upper)):
            leverage[block] = (_solved(upper, root[block].toarray().T, trans="T") ** 2).sum(axis=0)
        return coefficients, leverage


def _solved(upper: Matrix, right: Matrix, trans: str = "N") -> Matrix:
    """Solve a triangular system in place of `right`, which must be in column order."""
    return np.asarray(solve_triangular(upper, right, trans=trans, overwrite_b=True, check_finite=False))


def _blocks(rows: int, columns: int, cells: int = _BLOCK_CELLS) -> list[slice]:
    """Return slices of at most 2,000 rows."""
    return row_blocks(rows, columns, min(cells, _BLOCK * columns))


class KernelRidge:
    """Ridge regression with a Gaussian kernel as wide as the mean distance.

    Trees use steps along single features, a kernel distances in all of them; the two err differently. Distances
    are taken to landmarks only (Nyström's approximation; exact for up to 1,000 examples), so that memory and
    time grow with the number of examples, not with its square and cube.

    Parameters
    ----------
    matrix : ndarray, shape (examples, columns)
        Missing values (NaN) count as the mean.
    labels : ndarray, shape (examples, labels)
    weights : ndarray, shape (examples,)
        Positive.
    seed : int
        Selects the landmarks.
    text : bool
        A linear model is stacked, too, so that fewer landmarks suffice.

    Attributes
    ----------
    out_of_fold : ndarray of float32, shape (examples, labels)
        Leave-one-out estimates; may be a little outside 0 to 1.
    """

    def __init__(self, matrix: Floats32, labels: Bytes, weights: Floats, seed: int = 0, text: bool = False) -> None:
        self._mean, self._spread = np.empty((2, matrix.shape[1]), dtype=np.float32)
        for block in column_blocks(matrix):
            columns = matrix[:, block]
            missing = np.isnan(columns)
            present = np.maximum(len(matrix) - missing.sum(axis=0), 1)
            zeros = np.where(missing, 0, columns) if missing.any() else columns
            self._mean[block] = zeros.sum(axis=0, dtype=np.float64) / present
            filled = np.where(missing, self._mean[block], columns) if missing.any() else columns
            spread = filled.std(axis=0, dtype=np.float64)
            self._spread[block] = np.where(spread > 0, spread, 1)
        order = np.random.default_rng([seed, 1]).permutation(len(matrix))
        fitted = np.sort(order[:_MAX_KERNEL_EXAMPLES])
        n_landmarks = len(matrix) if len(matrix) <= _MAX_EXACT else _LANDMARKS
        self._marks = self._scaled(matrix[np.sort(order[: _TEXT_LANDMARKS if text else n_landmarks])])
        squares = (self._marks**2).sum(axis=1, dtype=np.float64)
        middle = self._marks.mean(axis=0, dtype=np.float64)
        self._width = max(float(2 * (squares.mean() - (middle**2).sum())), 1e-12)
        kernel = self._kernel(self._marks)
        kernel[np.diag_indices_from(kernel)] += _JITTER * len(kernel)
        self._root = cholesky(kernel, overwrite_a=True, check_finite=False)
        if len(fitted) == len(matrix):
            self.out_of_fold = self._fit(matrix, labels, weights / weights.mean())
        else:
            out_of_fold = self._fit(matrix[fitted], labels[fitted], weights[fitted] / weights[fitted].mean())
            self.out_of_fold = self.predict(matrix)
            self.out_of_fold[fitted] = out_of_fold

    def predict(self, matrix: Floats32) -> Floats32:
        """Estimate the probability of each label; may be a little outside 0 to 1."""
        estimates = np.empty((len(matrix), len(self._shares)), dtype=np.float32)
        for block in _blocks(*estimates.shape, _KERNEL_CELLS):
            estimates[block] = self._kernel(self._scaled(matrix[block])) @ self._influence + self._shares
        return estimates

    def _fit(self, matrix: Floats32, labels: Bytes, share: Floats) -> Floats32:
        """Fit; return leave-one-out estimates."""
        self._shares = share @ labels / share.sum()
        size, root = len(self._marks), np.sqrt(share)[:, None]
        hessian, moments = _RIDGE * np.eye(size), np.zeros((size, labels.shape[1]))
        blocks, block_features = row_blocks(len(matrix), 1, _BLOCK), []
        for block in blocks:
            # The kernel to the landmarks, in coordinates whose inner product is the (approximate) kernel.
            features = _solved(self._root, self._kernel(self._scaled(matrix[block])).T, trans="T").T
            features *= root[block]
            hessian += features.T @ features
            moments += features.T @ (root[block] * (labels[block] - self._shares))
            block_features.append(features)
        upper = cholesky(hessian, overwrite_a=True, check_finite=False)
        coefficients = _solved(upper, _solved(upper, moments.copy(order="F"), trans="T"))
        out_of_fold = np.empty(labels.shape, dtype=np.float32)
        for block, features in zip(blocks, block_features, strict=True):
            residuals = labels[block] - self._shares - features @ coefficients / root[block]
            leverage = (_solved(upper, features.T, trans="T") ** 2).sum(axis=0)
            out_of_fold[block] = labels[block] - residuals / (1 - np.minimum(leverage, 1 - 1e-6))[:, None]
        self._influence = _solved(self._root, coefficients)
        return out_of_fold

    def _scaled(self, matrix: Floats32) -> Floats32:
        steps = matrix - self._mean
        missing = np.isnan(steps)
        if missing.any():
            steps[missing] = 0
        steps /= self._spread
        np.clip(steps, -_MAX_DISTANCE, _MAX_DISTANCE, out=steps)
        steps *= _STEPS
        np.rint(steps, out=steps)
        return np.asarray(steps, dtype=np.float32 if matrix.shape[1] <= _EXACT_COLUMNS else np.float64)

    def _kernel(self, scaled: Floats32) -> Matrix:
        kernel = (scaled @ self._marks.T).astype(np.float64)
        kernel *= -2
        kernel += (scaled**2).sum(axis=1, dtype=np.float64)[:, None]
        kernel += (self._marks**2).sum(axis=1, dtype=np.float64)
        kernel /= -self._width
        return np.exp(kernel, out=kernel)


def column_blocks(matrix: Floats32) -> list[slice]:
    """Return slices of a few columns each, which bound temporary memory.

    Examples
    --------
    >>> column_blocks(np.zeros((1_000_000, 3), dtype=np.float32))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    return row_blocks(matrix.shape[1], len(matrix), _COLUMN_CELLS)
