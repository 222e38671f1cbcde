"""The integers behind every score: per label and per example, how often truth and prediction agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyrule.arrays import Ints
from polyrule.data.sparse import check_sparse
from polyrule.errors import DataError


@dataclass(frozen=True, eq=False)
class ConfusionCounts:
    """Counts from which all scores are computed exactly.

    Parameters
    ----------
    examples : int
        Number of examples.
    tp, fp, fn : ndarray of int64, one entry per label
        True positives, false positives and false negatives; true negatives are the rest.
    example_groups : ndarray of int64, shape (groups, 4)
        Examples that look alike to example-wise scores, counted together: tp, predicted, present, number of examples.
    """

    examples: int
    tp: Ints
    fp: Ints
    fn: Ints
    example_groups: Ints

    @property
    def labels(self) -> int:
        """Number of labels."""
        return len(self.tp)

    @property
    def tn(self) -> Ints:
        """True negatives per label."""
        return self.examples - self.tp - self.fp - self.fn

    @property
    def exact_matches(self) -> int:
        """Examples for which every label is predicted rightly."""
        tp, predicted, present, number = self.example_groups.T
        return int(number[(tp == predicted) & (tp == present)].sum())


def count(Y_true: Any, Y_pred: Any) -> ConfusionCounts:
    """Count agreements of two label matrices, dense or sparse; a sparse matrix never becomes dense.

    Examples
    --------
    >>> counts = count([[1, 0], [1, 1]], [[1, 1], [0, 1]])
    >>> counts.tp, counts.fp, counts.fn
    (array([1, 1]), array([0, 1]), array([1, 0]))
    >>> counts.exact_matches
    0
    """
    truth, predicted = label_matrix(Y_true, "Y_true"), label_matrix(Y_pred, "Y_pred")
    if truth.shape != predicted.shape:
        raise DataError(f"Y_true has shape {truth.shape} but Y_pred has shape {predicted.shape}: they must be the same")
    if truth.shape[0] == 0 or truth.shape[1] == 0:
        raise DataError(f"nothing to score: the label matrix has shape {truth.shape}")
    both = truth.multiply(predicted)
    tp, predicted_per_label, present_per_label = (_sums(matrix, 0) for matrix in (both, predicted, truth))
    per_example = np.stack([_sums(matrix, 1) for matrix in (both, predicted, truth)], axis=1)
    kinds, numbers = np.unique(per_example, axis=0, return_counts=True)
    return ConfusionCounts(
        examples=int(truth.shape[0]),
        tp=tp,
        fp=predicted_per_label - tp,
        fn=present_per_label - tp,
        example_groups=np.column_stack([kinds, numbers]).astype(np.int64),
    )


def label_matrix(Y: Any, name: str) -> sp.csr_array:
    """Check that `Y` holds only 0 and 1 and bring it to one sparse integer form; a vector becomes one column."""
    if sp.issparse(Y):
        matrix = sp.csr_array(check_sparse(Y, name))
        matrix.sum_duplicates()
        stored = matrix.data
    else:
        dense = np.asarray(Y)
        if dense.ndim == 1:
            dense = dense[:, None]
        if dense.ndim != 2:
            raise DataError(f"{name} must be a matrix with one column per label, got {dense.ndim} dimensions")
        if dense.dtype == object or (not np.issubdtype(dense.dtype, np.number) and dense.dtype != bool):
            dense = _as_numbers(dense, name)
        stored = dense
        matrix = None
    wrong = stored[(stored != 0) & (stored != 1)]
    if wrong.size:
        raise DataError(f"{name} may hold only 0 (absent) and 1 (present), found {wrong.flat[0]}")
    if matrix is None:
        return sp.csr_array(dense.astype(np.int64))
    result = matrix.astype(np.int64)
    result.eliminate_zeros()
    return result


def label_names_or_default(names: Sequence[str] | None, labels: int) -> tuple[str, ...]:
    """Take the given names, which must fit in number, or make up label 1, label 2, …"""
    if names is None:
        return tuple(f"label {index}" for index in range(1, labels + 1))
    if len(names) != labels:
        raise DataError(f"{len(names)} label names for {labels} labels")
    return tuple(str(name) for name in names)


def _as_numbers(values: npt.NDArray[Any], name: str) -> npt.NDArray[np.float64]:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} may hold only 0 (absent) and 1 (present), not {values.flat[0]!r}") from None


def _sums(matrix: sp.csr_array, axis: int) -> Ints:
    return np.asarray(matrix.sum(axis=axis), dtype=np.int64).ravel()
