"""The integers behind every score: per label and per example, how often truth and prediction agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.data.columns import is_missing
from polyrule.data.labels import UNKNOWN, LabelMatrix
from polyrule.data.sparse import check_sparse
from polyrule.data.table import as_array
from polyrule.errors import DataError
from polyrule.utils.arrays import Bytes, Ints


@dataclass(frozen=True, eq=False)
class ConfusionCounts:
    """Counts from which all scores are computed exactly."""

    examples: int  # number of examples
    # tp, fp, fn: true positives, false positives and false negatives; true negatives are the rest
    tp: Ints
    fp: Ints
    fn: Ints
    # shape (groups, 4); examples that look alike to example-wise scores, counted together: tp, predicted, present,
    # number of examples
    example_groups: Ints
    known: Ints | None = None  # per label, the examples for which it is known; None where all are

    def as_dict(self) -> dict[str, Any]:
        """Return the integers as plain values, so that every score can be computed again by another convention."""
        return {name: np.asarray(value).tolist() for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> ConfusionCounts:
        """Return the counts that `as_dict` described."""
        arrays = ("tp", "fp", "fn", "example_groups", "known")
        return cls(stored["examples"], **{name: np.array(stored[name]) for name in arrays if name in stored})

    @property
    def cells(self) -> int:
        """Labels that count: all of every example, but for those that are unknown."""
        return self.examples * self.labels if self.known is None else int(self.known.sum())

    @property
    def counted_examples(self) -> int:
        """Examples that count where whole examples do: those with a known label."""
        return int(self.example_groups[:, 3].sum())

    @property
    def labels(self) -> int:
        """Number of labels."""
        return len(self.tp)

    @property
    def tn(self) -> Ints:
        """True negatives per label."""
        return (self.examples if self.known is None else self.known) - self.tp - self.fp - self.fn

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
    truth, unknown = known_labels(Y_true)
    predicted = label_matrix(Y_pred, "Y_pred")
    if truth.shape != predicted.shape:
        raise DataError(f"Y_true has shape {truth.shape} but Y_pred has shape {predicted.shape}: they must be the same")
    if truth.shape[0] == 0 or truth.shape[1] == 0:
        raise DataError(f"nothing to score: the label matrix has shape {truth.shape}")
    n_known, counted = None, np.ones(truth.shape[0], dtype=bool)
    if unknown is not None:
        predicted = sp.csr_array(predicted - predicted.multiply(unknown))
        n_known = truth.shape[0] - _sums(unknown, 0)
        counted = _sums(unknown, 1) < truth.shape[1]
        if not counted.any():
            raise DataError("nothing to score: no label of Y_true is known")
    both = truth.multiply(predicted)
    tp, predicted_per_label, present_per_label = (_sums(matrix, 0) for matrix in (both, predicted, truth))
    per_example = np.stack([_sums(matrix, 1) for matrix in (both, predicted, truth)], axis=1)[counted]
    groups, numbers = np.unique(per_example, axis=0, return_counts=True)
    return ConfusionCounts(
        examples=int(truth.shape[0]),
        tp=tp,
        fp=predicted_per_label - tp,
        fn=present_per_label - tp,
        example_groups=np.column_stack([groups, numbers]).astype(np.int64),
        known=n_known,
    )


def known_labels(Y: Any, name: str = "Y_true") -> tuple[sp.csr_array, sp.csr_array | None]:
    """Split true labels into those present and those unknown: NaN or None, or 2 where `polyrule.data` has read them."""
    labels = _stored_labels(Y, name)
    read = labels.dtype.kind == "u" if sp.issparse(Y) else isinstance(Y, LabelMatrix)
    missing = labels.data == UNKNOWN if read else np.isnan(labels.data)
    if not missing.any():
        return _zeros_and_ones(labels, name), None
    unknown = labels.copy()
    unknown.data, labels.data = missing, np.where(missing, 0, labels.data)
    return _zeros_and_ones(labels, name), _zeros_and_ones(unknown, name)


def encoded_labels(Y: Any, name: str, shape: tuple[int, int] | None = None) -> Bytes:
    """Return true labels as 0, 1, and 2 where one is unknown, which may be given as NaN, None or 2."""
    labels = _stored_labels(Y, name)
    if shape is not None and labels.shape != shape:
        raise DataError(f"{name} has shape {labels.shape}: it must have {shape[0]} examples and {shape[1]} labels")
    labels.data = np.where(np.isnan(labels.data), UNKNOWN, labels.data)
    wrong = labels.data[~np.isin(labels.data, (0, 1, UNKNOWN))]
    if wrong.size:
        raise DataError(f"{name} may hold only 0 (absent), 1 (present) and 2 (unknown), found {wrong[0]}")
    return np.asarray(labels.toarray(), dtype=np.uint8)


def label_matrix(Y: Any, name: str) -> sp.csr_array:
    """Check that `Y` holds only 0 and 1 and bring it to one sparse integer form; a vector becomes one column."""
    return _zeros_and_ones(_stored_labels(Y, name), name)


def _stored_labels(Y: Any, name: str) -> sp.csr_array:
    """Convert labels of any form to a new sparse matrix, whatever its values."""
    if sp.issparse(Y):
        matrix = sp.csr_array(check_sparse(Y, name), copy=True)
        matrix.sum_duplicates()
        return matrix
    dense = as_array(Y, f"the rows of {name} have different lengths; there must be one column per label")
    if dense.ndim == 1:
        dense = dense[:, None]
    if dense.ndim != 2:
        raise DataError(f"{name} must be a matrix with one column per label, got {dense.ndim} dimensions")
    if dense.dtype.kind not in "biuf":
        missing = [[is_missing(value) for value in row] for row in dense]
        try:
            dense = np.where(missing, np.nan, dense.astype(object)).astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{name} may hold only 0 (absent) and 1 (present), not {dense.flat[0]!r}") from None
    return sp.csr_array(dense)


def _zeros_and_ones(matrix: sp.csr_array, name: str) -> sp.csr_array:
    wrong = matrix.data[(matrix.data != 0) & (matrix.data != 1)]
    if wrong.size:
        raise DataError(f"{name} may hold only 0 (absent) and 1 (present), found {wrong[0]}")
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


def _sums(matrix: sp.csr_array, axis: int) -> Ints:
    return np.asarray(matrix.sum(axis=axis), dtype=np.int64).ravel()
