"""What scikit-learn calls y, as 0/1 labels: a label matrix, the classes of a problem with one label, or words.

Words are a column of texts such as ``jazz;calm``, or for every example a list or set of labels.

Labels of new data are arranged beside those of a model: what the data lacks is absent there, what the model lacks is
named.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from polyrule.arrays import Array, Bools, Bytes, Floats
from polyrule.data.columns import is_missing, listing, shorten
from polyrule.data.formats.encoders import Place
from polyrule.data.frames import is_frame
from polyrule.data.labels import TRUTH, LabelMatrix, to_labels
from polyrule.data.tags import OTHER_SEPARATORS, SEPARATORS, TagCollector, likely_separator
from polyrule.errors import DataError, DataWarning, depth_of_caller
from polyrule.lazy import import_late


@dataclass(frozen=True, eq=False)
class Target:
    """Labels to learn, and how predicted labels turn back into what the user gave."""

    kind: Literal["multilabel", "binary", "multiclass"]
    truth: Any  # shape (examples, labels)
    names: tuple[str, ...]
    classes: Any  # as scikit-learn's `classes_`; the names of the labels where there are several per example
    sparse: bool = False  # whether the labels came as a sparse matrix, so predictions go back as one
    separator: str | None = None  # what separates labels that came as words; None where they came otherwise

    def labels_out(self, labels: Bytes, probabilities: Any) -> Any:
        """Turn predicted 0/1 labels back; several classes are decided by the largest probability."""
        if self.kind == "multilabel":
            return sp.csr_matrix(labels) if self.sparse else labels.astype(np.int64)
        if self.kind == "binary":
            return self.classes[labels[:, 0] if len(self.classes) > 1 else np.zeros(len(labels), dtype=int)]
        return self.classes[np.argmax(probabilities(), axis=1)]

    def probabilities_out(self, present: Floats) -> Floats:
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

    The matrix may be an array, nested list, sparse matrix or frame. Words come as a list, set or tuple per example, or
    as texts such as ``"jazz;calm"``, separated by ``|``, ``;`` or ``,``. `label_names` may be a fitted
    MultiLabelBinarizer; a frame's columns, the words themselves and a series' own name are the default.

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


def _warn_of_tags(classes: Array) -> None:
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


def _classes(names: tuple[str, ...]) -> Array:
    """`classes_` as classifiers have it whose `predict_proba` is one matrix: one entry per column."""
    return np.array(names, dtype=object)


def _class_names(shown: Array, column: Any) -> tuple[str, ...]:
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


def tag_cells(y: Any) -> tuple[list[Any], str] | None:
    """Return the cells of a column of tags and what separates them; None where y is something else.

    A column of texts is one of tags if one of the separators occurs and the parts recur: there are fewer different
    parts than different texts. So ``"Smith, John"`` and ``"Miller, Jane"`` stay two classes.

    Examples
    --------
    >>> tag_cells(["a;b", "b", "a;b;c", "c", None])
    (['a;b', 'b', 'a;b;c', 'c', None], ';')
    >>> tag_cells([["a", "b"], [], {"c"}])
    ([['a', 'b'], [], ['c']], '|')
    >>> tag_cells(["Smith, John", "Miller, Jane"]) is None, tag_cells([[0, 1], [1, 0]]) is None
    (True, True)
    """
    cells = _cells(y)
    if cells is None:
        return None
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(cell, str) for cell in given):
        separator = likely_separator(given, SEPARATORS)
        return None if separator is None else (cells, separator)
    if given and all(isinstance(cell, (list, tuple, set, frozenset, np.ndarray)) for cell in given):
        lists = [None if cell is None else _in_order(cell) for cell in cells]
        items = [item for cell in lists if cell for item in cell]
        if items and all(isinstance(item, str) for item in items) and not all(item.lower() in TRUTH for item in items):
            return lists, SEPARATORS[0]
    return None


def read_tags(cells: Sequence[Any], separator: str, known: Sequence[str] | None = None) -> tuple[Any, tuple[str, ...]]:
    """Return the 0/1 labels of cells that `tag_cells` found, and their names: those given, or all there are, sorted.

    Examples
    --------
    >>> read_tags(["a;b", "b", None], ";")
    (array([[1, 1], [0, 1], [0, 0]], dtype=uint8), ('a', 'b'))
    """
    tags = TagCollector(separator, known)
    tags.add(cells, Place("y", "labels", range(len(cells)), "row"))
    return tags.matrix()


def rows_right(y: Any, separator: str, predicted: Any, names: Sequence[str]) -> Any:
    """Say of every row whether the predicted labels are exactly its tags; None where y holds no tags.

    Examples
    --------
    >>> rows_right(["a;b", "a", "z"], ";", np.array([[1, 1], [0, 1], [0, 0]]), ["a", "b"]).tolist()
    [True, False, False]
    """
    cells = _cells(y)
    if cells is None or any(not isinstance(cell, (str, list, tuple, set, frozenset)) for cell in cells if cell):
        return None
    truth, tags = read_tags(
        [cell if cell is None or isinstance(cell, str) else _in_order(cell) for cell in cells], separator
    )
    found = arrange_labels(truth, tags, names)
    # What the model has never heard of it cannot be right about.
    return (predicted == (found.Y.toarray() if sp.issparse(found.Y) else found.Y)).all(axis=1) & ~found.touched


def _cells(y: Any) -> list[Any] | None:
    """The cells of a single column, None where they are missing; None for what cannot be a column of words."""
    if sp.issparse(y) or getattr(y, "ndim", 1) != 1 or isinstance(y, (str, bytes)) or not hasattr(y, "__len__"):
        return None
    if (isinstance(y, np.ndarray) and y.dtype.kind not in "OUS") or hasattr(y, "columns"):
        return None
    return [None if _is_missing(cell) else cell for cell in _to_list(y)]


def _to_list(y: Any) -> list[Any]:
    for name in ("to_list", "to_pylist", "tolist"):
        if hasattr(y, name):
            try:
                return list(getattr(y, name)())
            except Exception as problem:  # of whichever library: values that Python does not have
                raise DataError(f"y cannot be read ({' '.join(str(problem).split())})") from problem
    return list(y)


def _is_missing(cell: Any) -> bool:
    return not isinstance(cell, (str, list, tuple, set, frozenset, np.ndarray)) and is_missing(cell)


def _in_order(cell: Any) -> list[Any]:
    """Sets have no order that two runs agree on."""
    return sorted(cell, key=str) if isinstance(cell, (set, frozenset)) else list(cell)


_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class Arranged:
    """Labels in a model's order."""

    Y: Any  # shape (examples, labels of the model)
    lacking: tuple[str, ...]  # labels of the model that the data does not have; absent everywhere
    # Labels that the model does not know, and how many examples have each, the most frequent first
    strange: dict[str, int]
    touched: Bools  # shape (examples,); which examples have a label that the model does not know

    def check(self, source: str, outcome: str) -> Arranged:
        """Say once what differs, and refuse data that shares no label with the model.

        `source` is what to call the data, `outcome` what becomes of labels that the model does not know: "left out".
        """
        if len(self.lacking) == self.Y.shape[1]:
            raise DataError(f"{source}: none of the model's labels ({listing(self.lacking)}) is a label of the data")
        said = []
        if self.lacking:
            said.append(f"no example has the label(s) {listing(self.lacking)} of the model, which count as absent")
        if self.strange:
            shown = ", ".join(f"{shorten(name)} ({count})" for name, count in [*self.strange.items()][:_MOST_NAMED])
            more = f" and {len(self.strange) - _MOST_NAMED} more" if len(self.strange) > _MOST_NAMED else ""
            said.append(f"the model does not know the label(s) {shown}{more}, {outcome}")
        if said:
            warnings.warn(f"{source}: {'; '.join(said)}", DataWarning, stacklevel=depth_of_caller())
        return self


def arrange_labels(Y: Any, names: Sequence[str], wanted: Sequence[str]) -> Arranged:
    """Bring labels into a model's order: from columns with these `names` to the `wanted` ones.

    Examples
    --------
    >>> found = arrange_labels(np.array([[1, 0], [0, 1]], dtype=np.uint8), ["jazz", "rock"], ["calm", "rock"])
    >>> found.Y.tolist(), found.lacking, found.strange, found.touched.tolist()
    ([[0, 0], [0, 1]], ('calm',), {'jazz': 1}, [True, False])
    """
    place = {name: column for column, name in enumerate(names)}
    lacking = tuple(name for name in wanted if name not in place)
    columns = [place.get(name, len(names)) for name in wanted]  # one more column, where nothing is present
    others = [place[name] for name in names if name not in set(wanted)]
    if sp.issparse(Y):
        wide = sp.csc_array(sp.hstack([Y, sp.csc_array((Y.shape[0], 1), dtype=Y.dtype)]))
        arranged, strangers = sp.csr_array(wide[:, columns]), np.asarray(wide[:, others].toarray())
    else:
        wide = np.hstack([np.asarray(Y), np.zeros((len(Y), 1), dtype=Y.dtype)])
        arranged, strangers = wide[:, columns], wide[:, others]
    present = strangers == 1
    counts = {names[column]: int(count) for column, count in zip(others, present.sum(axis=0), strict=True) if count}
    strange = dict(sorted(counts.items(), key=lambda item: -item[1]))
    return Arranged(arranged, lacking, strange, np.asarray(present.any(axis=1)))
