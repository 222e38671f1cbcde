"""A teacher of neighbourhoods: kernel ridge regression, which knows what it would say without an example."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, solve_triangular

Matrix = npt.NDArray[np.float64]
Design = npt.NDArray[np.float32]

_RIDGE = 0.3
_FARTHEST = 3.0  # standard deviations; rare words would otherwise put an example at the end of the world
_JITTER = 1e-8
_BLOCK = 2000


class KernelRidge:
    """Smooth estimates: each example speaks for those near it, by a Gaussian kernel as wide as the mean distance.

    Where trees see steps along single features, this sees distances in all of them; the two err differently. Distances
    are taken to at most `landmarks` of the examples (Nyström's approximation; exact where there are no more), so that
    memory and time grow with the number of examples, not with its square and cube.

    Parameters
    ----------
    design : ndarray, shape (examples, columns)
        Missing values (NaN) count as the mean.
    truth : ndarray, shape (examples, labels)
    weights : ndarray, shape (examples,)
        Positive.
    landmarks : int
    seed : int
        Decides which examples are landmarks.

    Attributes
    ----------
    left_out : ndarray of float32, shape (examples, labels)
        What it says about each example when fitted to all others; may lie a little outside 0 to 1.
    """

    def __init__(
        self, design: Design, truth: npt.NDArray[np.uint8], weights: Matrix, landmarks: int = 500, seed: int = 0
    ) -> None:
        missing = np.isnan(design)
        present = np.maximum(len(design) - missing.sum(axis=0), 1)
        self._mean = (np.where(missing, 0, design).sum(axis=0, dtype=np.float64) / present).astype(np.float32)
        spread = np.where(missing, self._mean, design).std(axis=0, dtype=np.float64)
        self._spread = np.where(spread > 0, spread, 1).astype(np.float32)
        rows = np.arange(len(design))
        if len(rows) > landmarks:
            rows = np.sort(np.random.default_rng([seed, 1]).permutation(len(rows))[:landmarks])
        self._marks = self._scaled(design[rows])
        squares = (self._marks**2).sum(axis=1, dtype=np.float64)
        self._width = max(float(2 * (squares.mean() - (self._marks.mean(axis=0) ** 2).sum(dtype=np.float64))), 1e-12)
        kernel = self._kernel(self._marks)
        kernel[np.diag_indices_from(kernel)] += _JITTER * len(kernel)
        self._root = cholesky(kernel, overwrite_a=True)
        self._fit(design, truth, weights / weights.mean())

    def predict(self, design: Design) -> npt.NDArray[np.float32]:
        """Estimate the probability of each label; may lie a little outside 0 to 1."""
        found = np.empty((len(design), len(self._start)), dtype=np.float32)
        for first in range(0, len(design), _BLOCK):
            block = slice(first, first + _BLOCK)
            found[block] = self._features(design[block]) @ self._slopes + self._start
        return found

    def _fit(self, design: Design, truth: npt.NDArray[np.uint8], share: Matrix) -> None:
        self._start = share @ truth / share.sum()
        size = len(self._marks)
        curvature, moments = _RIDGE * np.eye(size), np.zeros((size, truth.shape[1]))
        blocks = [slice(first, first + _BLOCK) for first in range(0, len(design), _BLOCK)]
        for block in blocks:
            features = self._features(design[block])
            weighted = features * share[block, None]
            curvature += features.T @ weighted
            moments += weighted.T @ (truth[block] - self._start)
        upper = cholesky(curvature, overwrite_a=True)
        self._slopes = solve_triangular(upper, solve_triangular(upper, moments, trans="T"))
        self.left_out = np.empty(truth.shape, dtype=np.float32)
        for block in blocks:
            features = self._features(design[block])
            pull = share[block] * (solve_triangular(upper, features.T, trans="T") ** 2).sum(axis=0)
            surplus = truth[block] - self._start - features @ self._slopes
            self.left_out[block] = truth[block] - surplus / (1 - np.minimum(pull, 1 - 1e-6))[:, None]

    def _features(self, design: Design) -> Matrix:
        """The kernel to the landmarks, in coordinates whose inner product is the (approximate) kernel."""
        return np.asarray(solve_triangular(self._root, self._kernel(self._scaled(design)).T, trans="T").T)

    def _scaled(self, design: Design) -> npt.NDArray[np.float32]:
        filled = np.where(np.isnan(design), self._mean, design)
        return np.asarray(np.clip((filled - self._mean) / self._spread, -_FARTHEST, _FARTHEST), dtype=np.float32)

    def _kernel(self, scaled: npt.NDArray[np.float32]) -> Matrix:
        mine = (scaled**2).sum(axis=1, dtype=np.float64)
        theirs = (self._marks**2).sum(axis=1, dtype=np.float64)
        distances = mine[:, None] + theirs - 2 * (scaled @ self._marks.T).astype(np.float64)
        return np.asarray(np.exp(-np.maximum(distances, 0) / self._width))
