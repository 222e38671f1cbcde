"""A teacher of words: linear ridge regression for tables that are mostly zeros, such as text."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from polyrule.arrays import Bytes, Floats, Floats32, Matrix

_RIDGES = (0.3, 1.0, 3.0)
_USUAL_SHARE = 0.8
_FEWEST_COLUMNS = 50
_MOST_COLUMNS = 1500
_MOST_EXAMPLES = 20_000
_BLOCK = 2000


def suits(design: Floats32) -> bool:
    """Whether a table looks like text: many columns, most entries the column's usual value.

    Examples
    --------
    >>> suits(np.eye(60, dtype=np.float32)), suits(np.ones((60, 3), dtype=np.float32))
    (True, False)
    """
    if design.shape[1] < _FEWEST_COLUMNS:
        return False
    some = design[:: max(1, len(design) // _BLOCK)]
    return bool(len(some) and np.mean(some == _usual(some)) >= _USUAL_SHARE)


class LinearRidge:
    """Words speak for labels one by one, rare words more, long texts no more than short ones.

    Entries count by the logarithm of their distance from the column's usual value, times the inverse frequency of an
    unusual one; each row is brought to length 1. The penalty is the one with the smallest error on left-out examples.

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
        fitted = slice(0, _MOST_EXAMPLES)
        best = np.inf
        for ridge in _RIDGES:
            slopes, pull = _fit(words[fitted], truth[fitted] - self._start, share[fitted], ridge)
            left_out = np.empty(truth.shape, dtype=np.float32)
            for first in range(0, len(design), _BLOCK):
                block = slice(first, first + _BLOCK)
                said = np.asarray(words[block] @ slopes) + self._start
                pulled = np.zeros(len(said))
                pulled[: len(pull[block])] = np.minimum(pull[block], 1 - 1e-6)
                left_out[block] = truth[block] - (truth[block] - said) / (1 - pulled)[:, None]
            error = float(share @ ((left_out - truth) ** 2).sum(axis=1, dtype=np.float64))
            if error < best:
                best, self._slopes, self.left_out = error, slopes, left_out

    def predict(self, design: Floats32) -> Floats32:
        """Estimate the probability of each label; may lie a little outside 0 to 1."""
        return np.asarray(self._words(design) @ self._slopes + self._start, dtype=np.float32)

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


def _fit(words: sp.csr_array, surplus: Matrix, share: Floats, ridge: float) -> tuple[Matrix, Floats]:
    """Slopes of the weighted ridge regression, and how far each example pulls its own estimate towards itself."""
    root = sp.csr_array(sp.diags_array(np.sqrt(share)) @ words)
    examples, columns = root.shape
    pull = np.empty(examples)
    if columns <= examples:
        curvature = (root.T @ root).toarray()
        curvature[np.diag_indices(columns)] += ridge
        upper = cholesky(curvature, overwrite_a=True)
        moments = np.asarray(root.T @ (np.sqrt(share)[:, None] * surplus))
        for first in range(0, examples, _BLOCK):
            block = slice(first, first + _BLOCK)
            pull[block] = (solve_triangular(upper, root[block].toarray().T, trans="T") ** 2).sum(axis=0)
        return solve_triangular(upper, solve_triangular(upper, moments, trans="T")), pull
    kernel = (root @ root.T).toarray()
    kernel[np.diag_indices(examples)] += ridge
    upper = cholesky(kernel, overwrite_a=True)
    influence = solve_triangular(upper, solve_triangular(upper, np.sqrt(share)[:, None] * surplus, trans="T"))
    inverse = solve_triangular(upper, np.eye(examples))
    pull = 1 - ridge * (inverse**2).sum(axis=1)
    return np.asarray(root.T @ influence), pull


def _usual(design: Floats32) -> Floats32:
    """The median of each column; for columns that are mostly one value, that value."""
    some = design[:: max(1, len(design) // _BLOCK)]
    # The median that allows for missing values takes ten times as long.
    return np.asarray(np.nan_to_num(np.nanmedian(some, axis=0)) if np.isnan(some).any() else np.median(some, axis=0))
