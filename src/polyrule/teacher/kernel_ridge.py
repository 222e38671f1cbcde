"""A teacher of neighbourhoods: kernel ridge regression, which knows what it would say without an example."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from polyrule.arrays import Bytes, Floats, Floats32, Ints, Matrix
from polyrule.teacher.design import column_blocks

_RIDGE = 0.3
_FARTHEST = 3.0  # standard deviations; rare words would otherwise put an example at the end of the world
_STEPS = 16  # of a standard deviation: distances are then whole numbers, whatever order a processor adds them up in
_EXACT_COLUMNS = 2**24 // int(_STEPS * _FARTHEST) ** 2  # up to so many single precision holds them
_JITTER = 1e-8
_BLOCK = 2000
_BLOCK_CELLS = 500_000
_MOST_EXAMPLES = 5000  # that it is fitted to; what it says about the others is left out by itself
_EXACT = 1000  # up to so many examples ...
_MOST_LANDMARKS = 1000  # ... there may be so many landmarks,
_FEW_LANDMARKS = 700  # and above it so many


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
        fitted = np.sort(order[:_MOST_EXAMPLES])
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
        step = max(1, min(_BLOCK, _BLOCK_CELLS // max(1, len(self._start))))
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
