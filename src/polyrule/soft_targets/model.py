"""The soft-label model: probabilities of training labels without the labels of the example.

A forest, a kernel regression and, for text, a linear one, stacked by a logistic regression on their out-of-fold
estimates: out-of-bag for the forest, by the closed form of leave-one-out for the regressions. Memory stays within a few
numbers per example and label, plus about 100 MB, whatever the number of labels or label sets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from polyrule.data.table import row_blocks
from polyrule.soft_targets.forest import Forest
from polyrule.soft_targets.regression import KernelRidge, LinearRidge, common_values, looks_like_text
from polyrule.soft_targets.stacking import StackedModel
from polyrule.utils.arrays import Bytes, Floats, Floats32

_TREES = 100
_TREES_FOR_TEXT = 60  # there the linear model replaces further trees
_MAX_STACKED_CELLS = 100_000
_BLOCK_CELLS = 1_000_000
# Estimates are rounded to multiples of this, so that the last digits of a machine's arithmetic have no effect.
RESOLUTION = 2.0**-16


class Member(Protocol):
    """A model that is stacked."""

    out_of_fold: Floats32

    def predict(self, matrix: Floats32) -> Floats32:
        """Estimate the probability of each label."""


class SoftLabelModel:
    """Stacked estimates of all labels.

    Parameters
    ----------
    matrix : ndarray of float32, shape (examples, columns)
        Features as numbers; missing is NaN. `polyrule.soft_targets.feature_matrix` makes one from a table.
    labels : ndarray of uint8, shape (examples, labels)
    weights : ndarray, shape (examples,)
        Positive.
    seed : int
        Decides everything random; the number of threads decides nothing.
    threads : int
    trees : int or None
        Trees of the forest; None for 100, or 60 for text.
    stop : callable
        Polled between trees; True ends the fit with the models so far.
    keep : bool
        Keep the models in memory for `predict`.

    Attributes
    ----------
    out_of_fold : ndarray of float32, shape (examples, labels)
        Probability of each label of each training example, independent of its labels.
    model_weights : dict
        Weight of each stacked model.

    Examples
    --------
    >>> matrix = np.arange(40, dtype=np.float32).reshape(-1, 1)
    >>> labels = (matrix > 20).astype(np.uint8)
    >>> labels[3] = 1  # surely a mistake
    >>> model = SoftLabelModel(matrix, labels, np.ones(40), seed=0)
    >>> bool(model.out_of_fold[3, 0] < 0.5), bool(model.out_of_fold[35, 0] > 0.5)
    (True, True)
    """

    def __init__(
        self,
        matrix: Floats32,
        labels: Bytes,
        weights: Floats,
        seed: int,
        threads: int = 1,
        trees: int | None = None,
        stop: Callable[[], bool] = lambda: False,
        keep: bool = True,
    ) -> None:
        common = common_values(matrix)
        text = looks_like_text(matrix, common)
        if trees is None:
            trees = _TREES_FOR_TEXT if text else _TREES
        forest = Forest(matrix, labels, weights, trees, seed, threads, stop, keep, common)
        self._members: dict[str, Member] = {"forest": forest}
        if not stop():
            self._members["kernel"] = KernelRidge(matrix, labels, weights, seed, text)
            if text and not stop():
                self._members["linear"] = LinearRidge(matrix, labels, weights, common)
        estimates = [member.out_of_fold for member in self._members.values()]
        for member in self._members.values():
            del member.out_of_fold
        # A hundred thousand estimates suffice for a handful of weights.
        part = slice(None, None, max(1, labels.size // _MAX_STACKED_CELLS))
        self._stacked = StackedModel.fit(
            [estimate[part].astype(np.float64) for estimate in estimates],
            labels[part].astype(np.float64),
            weights[part],
        )
        self.model_weights = dict(zip(self._members, self._stacked.weights, strict=True))
        self.out_of_fold = self._combine(estimates)
        if not keep:
            self._members.clear()

    def predict(self, matrix: Floats32) -> Floats32:
        """Estimate the probability of each label of other examples."""
        return self._combine([member.predict(matrix) for member in self._members.values()])

    def _combine(self, estimates: list[Floats32]) -> Floats32:
        combined = estimates[0]  # in place: such matrices take most of the memory
        for block in row_blocks(len(combined), combined.shape[1], _BLOCK_CELLS):
            probabilities = self._stacked.predict([estimate[block].astype(np.float64) for estimate in estimates])
            combined[block] = np.rint(probabilities / RESOLUTION) * RESOLUTION
        return combined
