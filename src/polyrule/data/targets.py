"""What scikit-learn calls y: a label matrix, or the classes of a binary or multi-class problem, as 0/1 labels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyrule.data.frames import is_frame
from polyrule.data.label_matrix import LabelMatrix
from polyrule.data.labels import to_labels
from polyrule.data.tag_targets import read_tags, tag_cells
from polyrule.data.tags import OTHER_SEPARATORS, likely_separator
from polyrule.data.unseen import depth_of_caller
from polyrule.errors import DataError, DataWarning
from polyrule.lazy import import_late


@dataclass(frozen=True, eq=False)
class Target:
    """Labels to learn, and how predicted labels turn back into what the user gave.

    Attributes
    ----------
    kind : {"multilabel", "binary", "multiclass"}
    truth : ndarray of uint8 or csr_array, shape (examples, labels)
    names : tuple of str
    classes : ndarray
        As scikit-learn's `classes_`; the names of the labels where there are several per example.
    sparse : bool
        Whether the labels came as a sparse matrix, so predictions go back as one.
    separator : str or None
        What separates labels that came as words; None where they came otherwise.
    """

    kind: Literal["multilabel", "binary", "multiclass"]
    truth: Any
    names: tuple[str, ...]
    classes: Any
    sparse: bool = False
    separator: str | None = None

    def labels_out(self, labels: npt.NDArray[np.uint8], probabilities: Any) -> Any:
        """Turn predicted 0/1 labels back; several classes are decided by the largest probability."""
        if self.kind == "multilabel":
            return sp.csr_matrix(labels) if self.sparse else labels.astype(np.int64)
        if self.kind == "binary":
            return self.classes[labels[:, 0] if len(self.classes) > 1 else np.zeros(len(labels), dtype=int)]
        return self.classes[np.argmax(probabilities(), axis=1)]

    def probabilities_out(self, present: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Turn per-label probabilities of presence into scikit-learn's shape."""
        if self.kind == "multilabel":
            return present
        if self.kind == "binary":
            if len(self.classes) == 1:
                return np.ones((len(present), 1))
            return np.hstack([1 - present, present])
        total = present.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, present, 1.0) / np.where(total > 0, total, present.shape[1]))


def read_target(y: Any, label_names: Sequence[str] | None = None) -> Target:
    """Read a label matrix, labels given as words, or the classes of a one-dimensional y.

    Parameters
    ----------
    y : matrix of 0/1, labels as words, or classes
        The matrix may be an array, nested list, sparse matrix or frame. Words come as a list, set or tuple per example,
        or as texts such as ``"jazz;calm"``, separated by ``|``, ``;`` or ``,``.
    label_names : sequence of str, or a fitted MultiLabelBinarizer, optional
        Names of the labels; a frame's columns, the words themselves and a series' own name are the default.

    Examples
    --------
    >>> read_target(["jazz;calm", "calm", "jazz", "rock"]).names
    ('calm', 'jazz', 'rock')
    >>> read_target([[1, 0], [1, 1]], ["jazz", "calm"]).names
    ('jazz', 'calm')
    >>> read_target(["no", "yes", "no"]).truth.tolist()
    [[0], [1], [0]]
    """
    label_names = getattr(label_names, "classes_", label_names)
    found_tags = tag_cells(y)
    if found_tags is not None:
        truth, names = read_tags(*found_tags, None if label_names is None else list(map(str, label_names)))
        return Target("multilabel", truth, names, _classes(names), separator=found_tags[1])
    if sp.issparse(y) or _is_matrix(y):
        truth, names = to_labels(y, label_names if label_names is not None else getattr(y, "names", None), unknown=True)
        if truth.shape[1] == 0:
            raise DataError("Y has no label column; give at least one label")
        return Target("multilabel", truth, names, _classes(names), sp.issparse(y))
    validation = import_late("sklearn.utils.validation")
    flat = validation.column_or_1d(y, warn=True)
    if flat.dtype.kind in "fc":
        validation.assert_all_finite(flat, input_name="y")
    import_late("sklearn.utils.multiclass").check_classification_targets(flat)
    _warn_of_tags(flat)
    found, codes = np.unique(flat, return_inverse=True)
    kind: Literal["binary", "multiclass"] = "binary" if len(found) <= 2 else "multiclass"
    shown = found[-1:] if kind == "binary" else found
    names = tuple(label_names) if label_names is not None else _class_names(shown, getattr(y, "name", None))
    if len(names) != len(shown):
        raise DataError(f"{len(names)} label name(s) for {len(shown)} class(es)")
    chosen = np.arange(len(found))[-len(shown) :]
    truth = (codes[:, None] == chosen[None, :]).astype(np.uint8)
    return Target(kind, truth, names, found)


def _warn_of_tags(classes: npt.NDArray[Any]) -> None:
    """Warn of texts that look like several labels each but are separated by something unusual."""
    if classes.dtype.kind not in "OUS" or not all(isinstance(value, str) for value in classes):
        return
    separator = likely_separator(classes, OTHER_SEPARATORS)
    if separator is not None:
        warnings.warn(
            f"y looks like several labels per example, separated by {separator!r}, but is read as one class each; if "
            f"these are labels, give lists of them, such as [text.split({separator!r}) for text in y]",
            DataWarning,
            stacklevel=depth_of_caller(),
        )


def _classes(names: tuple[str, ...]) -> npt.NDArray[Any]:
    """`classes_` as classifiers have it whose `predict_proba` is one matrix: one entry per column."""
    return np.array(names, dtype=object)


def _class_names(shown: npt.NDArray[Any], column: Any) -> tuple[str, ...]:
    """What rules call the classes: words speak for themselves, numbers need the name of the column.

    Examples
    --------
    >>> _class_names(np.array([1]), "churns"), _class_names(np.array([2, 3]), "grade")
    (('churns',), ('grade 2', 'grade 3'))
    >>> _class_names(np.array(["yes"]), "churns"), _class_names(np.array([True]), None)
    (('yes',), ('y',))
    """
    words = shown.dtype.kind in "OUS" and not all(isinstance(value, (bool, int, float)) for value in shown)
    name = None if column is None else str(column)
    if len(shown) == 1 and not words and shown[0] == 1:
        return (name or "y",)
    return tuple(str(value) if words or not name else f"{name} {value}" for value in shown)


def _is_matrix(y: Any) -> bool:
    """Whether y holds one column per label; a single column of other things than 0 and 1 is a list of classes."""
    if not isinstance(y, np.ndarray) and is_frame(y):
        return True
    try:
        array = np.asarray(y)
    except ValueError:
        return True  # rows of different lengths: reading it as labels says so
    if array.ndim != 2:
        return array.ndim > 2
    if array.shape[1] != 1 or isinstance(y, LabelMatrix):
        return True
    return bool((np.isin(array, (0, 1)) | np.isnan(array)).all()) if array.dtype.kind in "biuf" else False
