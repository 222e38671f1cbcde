"""A teacher of neighbourhoods: kernel ridge regression, which knows what it would say without an example."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.lapack import dpotri

from polyrule.arrays import Floats32, Matrix

_RIDGE = 0.3
_FARTHEST = 3.0  # standard deviations; rare words would otherwise put an example at the end of the world
_BLOCK = 1000


class KernelRidge:
    """Smooth estimates: each example speaks for those near it, by a Gaussian kernel as wide as the mean distance.

    Where trees see steps along single features, this sees distances in all of them; the two err differently.

    Parameters
    ----------
    design : ndarray, shape (examples, columns)
        Missing values (NaN) count as the mean.
    truth : ndarray, shape (examples, labels)
    weights : ndarray, shape (examples,)
        Positive.

    Attributes
    ----------
    left_out : ndarray, shape (examples, labels)
        What it says about each example when fitted to all others; may lie a little outside 0 to 1.
    """

    def __init__(self, design: Floats32, truth: Matrix, weights: Matrix) -> None:
        missing = np.isnan(design)
        present = np.maximum(len(design) - missing.sum(axis=0), 1)
        self._mean = np.where(missing, 0, design).sum(axis=0, dtype=np.float64) / present
        spread = np.where(missing, self._mean, design).std(axis=0)
        self._spread = np.where(spread > 0, spread, 1)
        self._known = self._scaled(design)
        squares = (self._known**2).sum(axis=1)
        self._width = max(float(2 * (squares.mean() - (self._known.mean(axis=0) ** 2).sum())), 1e-12)
        share = weights / weights.mean()
        self._start = share @ truth / share.sum()
        kernel = self._kernel(self._known)
        kernel[np.diag_indices_from(kernel)] += _RIDGE / share
        upper = dpotri(cholesky(kernel, overwrite_a=True))[0]
        inverse = np.triu(upper) + np.triu(upper, 1).T
        self._influence = inverse @ (truth - self._start)
        self.left_out = truth - self._influence / np.diag(inverse)[:, None]

    def predict(self, design: Floats32) -> Matrix:
        """Estimate the probability of each label; may lie a little outside 0 to 1."""
        found = np.empty((len(design), len(self._start)))
        for first in range(0, len(design), _BLOCK):
            block = slice(first, first + _BLOCK)
            found[block] = self._kernel(self._scaled(design[block])) @ self._influence + self._start
        return found

    def _scaled(self, design: Floats32) -> Matrix:
        filled = np.where(np.isnan(design), self._mean, design).astype(np.float64)
        return np.asarray(np.clip((filled - self._mean) / self._spread, -_FARTHEST, _FARTHEST))

    def _kernel(self, scaled: Matrix) -> Matrix:
        mine, theirs = (scaled**2).sum(axis=1), (self._known**2).sum(axis=1)
        distances = mine[:, None] + theirs - 2 * (scaled @ self._known.T)
        return np.asarray(np.exp(-np.maximum(distances, 0) / self._width))
