"""Soft targets of lists: labels blended with a teacher's estimates, and synthetic examples with estimates alone.

A threshold that separates few examples by chance does not separate the synthetic ones between them. All
synthetic examples together weigh as much as the examples of the user.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polyrule.binning.binning import Binning
from polyrule.binning.text import MIN_WORDS, looks_like_text
from polyrule.data.examples import LARGEST_TOTAL, by_content
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table
from polyrule.soft_targets.feature_matrix import FeatureMatrix
from polyrule.soft_targets.model import RESOLUTION, SoftLabelModel
from polyrule.soft_targets.synthetic import nearest_neighbors, synthesize
from polyrule.utils.arrays import Bytes, Floats, Ints, Matrix

_WEIGHT = 0.5  # of the estimate in a target
MIN_EXAMPLES = 50  # for a teacher
_TREES = 15, 30  # for very many and for few examples
_TREE_ROWS = 75_000  # estimates of all trees together, about
_MAX_BINS = 64
_TEXT_ROWS = 1000  # to find out if a table looks like text
# Maximum number of examples with synthetic ones, and their number per example. In more examples, chance finds fewer
# conditions that look good.
_MAX_EXAMPLES, _PER_EXAMPLE = 5000, 3
_MAX_VALUES = 20_000_000  # of all these examples
_NEIGHBORS, _EXCHANGE = 5, 0.5


@dataclass(frozen=True, eq=False)
class SoftTargets:
    """Examples with a teacher's estimates: those of the user, then synthetic ones.

    Parameters
    ----------
    table : Table
    labels : ndarray of uint8
        Those of synthetic examples are estimates at or above the cutoff.
    weights : ndarray of int64
    estimates : ndarray of float64
        Probability of each label; of the user's examples, independent of their labels.
    cutoff : float
        Estimate from which a label counts as present: the one with the best F1 on the user's examples.
    """

    table: Table
    labels: Bytes
    weights: Ints
    estimates: Matrix
    cutoff: float

    @classmethod
    def make(
        cls, table: Table, labels: Bytes, weights: Ints, *, text: bool, threads: int = 1, deadline: float | None = None
    ) -> SoftTargets | None:
        """Fit a teacher and return its estimates; None if there are too few examples, no usable feature or no time.

        The teacher learns from the examples whose labels are all known, which must be half of them; the others are new
        to it.
        """

        def late() -> bool:
            return deadline is not None and time.monotonic() > deadline

        n_rows, order = len(labels), by_content(table, labels, weights)
        complete = (labels[order] != UNKNOWN).all(axis=1)  # in the teacher's order
        if np.count_nonzero(complete) < max(MIN_EXAMPLES, n_rows / 2) or late():
            return None
        binning = Binning.of(table, _MAX_BINS, readable=False)
        features = FeatureMatrix.of(binning, table)
        if not features.features:
            return None
        matrix = features.from_table(table)[order]
        n_all = (1 + _PER_EXAMPLE) * n_rows
        synthetic = not text and n_all <= _MAX_EXAMPLES and n_all * table.shape[1] <= _MAX_VALUES
        rows = slice(None) if complete.all() else complete  # a view, if possible
        trees = int(np.clip(_TREE_ROWS // n_rows, *_TREES))
        keep = synthetic or not complete.all()
        known_weights = matrix[rows], labels[order[rows]], weights[order[rows]].astype(np.float64)
        teacher = SoftLabelModel(*known_weights, 0, threads, trees, late, keep=keep)
        estimates = np.zeros(labels.shape)
        estimates[order[rows]] = teacher.out_of_fold
        if not complete.all():
            estimates[order[~complete]] = teacher.predict(matrix[~complete])
            estimates[labels == UNKNOWN] = 0  # such a label counts nowhere
        cutoff = best_cutoff(estimates, labels, weights)
        targets = cls(table, labels, weights, estimates, cutoff)
        if not synthetic or late():
            return targets
        return targets._with_synthetic(teacher, features, matrix, order)

    def _with_synthetic(
        self, teacher: SoftLabelModel, features: FeatureMatrix, matrix: Any, order: Ints
    ) -> SoftTargets:
        """Append synthetic examples, with the teacher's estimates as labels."""
        random = np.random.default_rng(0)
        neighbors = nearest_neighbors(matrix, _NEIGHBORS, random)
        stored: Any = self.table.values
        values = stored.toarray() if self.table.is_sparse else stored
        columns, sources = synthesize(values[order].T, neighbors, _PER_EXAMPLE * len(values), _EXCHANGE, random)
        synthetic = replace(self.table, values=np.asfortranarray(columns.T))
        estimates = teacher.predict(features.from_table(synthetic)).astype(np.float64)
        divisor = -(-2 * _PER_EXAMPLE * int(self.weights.sum()) // LARGEST_TOTAL)
        weights = np.maximum(1, self.weights // divisor)
        return SoftTargets(
            replace(self.table, values=np.asfortranarray(np.vstack([values, columns.T]))),
            np.vstack([self.labels, (estimates >= self.cutoff).astype(np.uint8)]),
            np.concatenate([_PER_EXAMPLE * weights, weights[order][sources]]),
            np.vstack([self.estimates, estimates]),
            self.cutoff,
        )


def table_is_text(table: Table, labels: Bytes, weights: Ints) -> bool:
    """Return True if a table looks like text, whatever the order of its rows."""
    if len(table.features) < MIN_WORDS:
        return False
    return looks_like_text(table[by_content(table, labels, weights)[:_TEXT_ROWS]])


def blend_targets(labels: Bytes, estimates: Matrix | None, scale: int) -> Matrix:
    """Return targets as whole numbers up to `scale`: means of labels and estimates, and estimates of further rows.

    Parameters
    ----------
    labels : ndarray of uint8
    estimates : ndarray or None
        For the rows of `labels`, then for synthetic examples.
    scale : int

    Examples
    --------
    >>> labels, estimates = np.array([[1, 0]], dtype=np.uint8), np.array([[0.5, 0.25], [0.5, 0.5]])
    >>> blend_targets(labels, estimates, 256)
    array([[192.,  32.],
           [128., 128.]])
    """
    present = np.where(labels == UNKNOWN, 0, labels).astype(np.float64)
    if estimates is None:
        return scale * present
    blended = (1 - _WEIGHT) * present + _WEIGHT * estimates[: len(labels)]
    return np.asarray(np.rint(scale * np.vstack([blended, estimates[len(labels) :]])))


def best_cutoff(estimates: Matrix, labels: Bytes, weights: Ints) -> float:
    """Return the cutoff of estimates with the best micro-averaged F1.

    Examples
    --------
    >>> labels = np.array([[1], [1], [0]], dtype=np.uint8)
    >>> best_cutoff(np.array([[0.875], [0.375], [0.125]]), labels, np.ones(3, dtype=np.int64))
    0.375
    """
    places, flat = np.rint(estimates.ravel() / RESOLUTION).astype(np.int64), labels.ravel()
    known_weights = np.repeat(weights, labels.shape[1]) * (flat != UNKNOWN)
    predicted, right = (np.cumsum(np.bincount(places, w)[::-1]) for w in (known_weights, known_weights * (flat == 1)))
    value = 2 * right / np.maximum(predicted + right[-1], 1)
    return float((len(value) - 1 - int(np.argmax(value))) * RESOLUTION)


def association(estimates: Matrix, labels: Bytes, n_examples: Floats) -> Floats:
    """Return for each label by how many standard errors estimates are higher if it is present.

    Estimates that were made without an example's label tell it only if the features do. This is the score statistic of
    a regression of the label on the estimate; unknown labels count nowhere.

    Examples
    --------
    >>> labels = np.array([[1, 1], [1, 0], [0, 1], [0, 0]] * 4, dtype=np.uint8)
    >>> estimates = np.array([[0.875, 0.5], [0.75, 0.5], [0.25, 0.5], [0.125, 0.5]] * 4)
    >>> association(estimates, labels, np.ones(16)).round(2)
    array([3.92, 0.  ])
    """
    known_weights = np.where(labels == UNKNOWN, 0.0, n_examples[:, None])
    total = np.maximum(known_weights.sum(axis=0), 1.0)
    label_deviations = labels - (known_weights * labels).sum(axis=0) / total
    deviations = estimates - (known_weights * estimates).sum(axis=0) / total
    variance = (known_weights * deviations**2).sum(axis=0) * (known_weights * label_deviations**2).sum(axis=0) / total
    covariance = (known_weights * deviations * label_deviations).sum(axis=0)
    scores = np.divide(covariance, np.sqrt(variance), out=np.zeros(len(total)), where=variance > 1e-12 * total)
    return np.asarray(scores)
