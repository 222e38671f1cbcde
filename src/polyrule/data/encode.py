"""What scikit-learn calls X and y: features become a `Table`, targets 0/1 labels.

At fit time kinds and categories are found in the data; at prediction time the features of the fit are given and the
data is encoded against them. Columns of arrays are matched by position, columns of frames by name. A category that was
not there at fit time becomes a missing value, which satisfies no condition; a warning counts them.

A target is a label matrix, the classes of a problem with one label, or words: a column of texts such as ``jazz;calm``,
or for every example a list or set of labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from polyrule.data.columns import (
    BOOLEAN_CATEGORIES,
    UnseenCategories,
    encode_column,
    infer_kind,
    is_missing,
    recode,
    shorten,
)
from polyrule.data.dataset import Dataset
from polyrule.data.derive.columns import derive, source_features
from polyrule.data.formats.encoders import Place
from polyrule.data.frames import Others, frame_to_table, is_frame, match_names
from polyrule.data.labels import TRUTH, LabelMatrix, arrange_labels, dense_labels, to_labels
from polyrule.data.table import TEXTUAL, Feature, Table, as_array, as_features, as_kept, unmasked
from polyrule.data.tags import OTHER_SEPARATORS, SEPARATORS, TagCollector, likely_separator
from polyrule.errors import DataError, DataWarning
from polyrule.utils.arrays import Array, Bytes, Floats
from polyrule.utils.lazy import import_late
from polyrule.utils.messages import depth_of_caller


def to_table(X: Any, features: Sequence[Feature] | None = None, *, others: Others = "refuse") -> Table:
    """Turn any feature matrix into a `Table`.

    Parameters
    ----------
    X : Table, Dataset, NumPy array, nested list, SciPy sparse matrix or array, or a pandas, polars or pyarrow frame
        Numbers give numeric features; text, booleans and categorical columns give nominal ones. NaN and None are
        missing values. A sparse matrix stays sparse. Categories keep their declared order (pandas and pyarrow
        categoricals, polars Enum); undeclared ones are sorted, so that the order of the rows does not matter.
    features : sequence of Feature, optional
        The features of a fitted model; `X` is then encoded against them.
    others : {"refuse", "skip"}
        What to do with columns of a frame or table that `features` does not name.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        Naming the column, and the row where there is one.

    Warns
    -----
    UnseenCategoryWarning
        Where `X` holds categories that `features` does not have; they become missing values.

    Examples
    --------
    >>> table = to_table([[1, "red"], [2, "blue"], [None, "red"]])
    >>> table.features[1]
    Feature(name='x1', kind='nominal', categories=('blue', 'red'))
    >>> to_table([[5, "red"]], table.features).values
    array([[5., 1.]])
    """
    unseen = UnseenCategories()
    table = _encode(X, None if features is None else as_features(features), others, unseen)
    if unseen.columns:
        unseen.warn()
    return table


def _encode(X: Any, features: tuple[Feature, ...] | None, extra: Others, unseen: UnseenCategories) -> Table:
    if isinstance(X, Dataset):
        X = X.X
    if isinstance(X, Table):
        X.check_values()  # anyone may build one
        return X if features is None or X.features == features else _reencode(X, features, extra, unseen)
    if sp.issparse(X):
        return _encode_sparse(X, features, unseen)
    if not isinstance(X, (np.ndarray, list, tuple)) and is_frame(X):
        table = frame_to_table(X, features, extra, unseen)
        return table if features is None or table.features == features else _reencode(table, features, extra, unseen)
    return _encode_array(_as_array(X), features, unseen)


def _as_array(X: Any) -> Array:
    array = as_array(X, "the rows of X have different lengths; every example needs the same columns")
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: features are real numbers, text or booleans")
    if array.ndim == 0:
        what = shorten(X) if isinstance(X, (str, int, float)) else type(X).__name__
        raise DataError(
            "X must be a 2-dimensional table of examples by features, such as a data frame or what polyrule.data.read "
            f"returns; this has 0 dimensions: {what}"
        )
    if array.ndim != 2:
        raise DataError(
            f"X must be a 2-dimensional table of examples by features, got {array.ndim} dimension(s). "
            "Reshape your data with .reshape(-1, 1) for one feature or .reshape(1, -1) for one example"
        )
    return array


def _encode_array(array: Array, features: tuple[Feature, ...] | None, unseen: UnseenCategories) -> Table:
    _check_width(array.shape[1], features)
    names = [feature.name for feature in features] if features else [f"x{j}" for j in range(array.shape[1])]
    if array.dtype.kind in "fiu":
        return _encode_numeric(array, features or tuple(Feature(name) for name in names), unseen)
    if array.dtype.kind == "b":
        all_features = features or tuple(Feature(name, "nominal", BOOLEAN_CATEGORIES) for name in names)
    elif array.dtype.kind in "OU":
        all_features = features or tuple(infer_kind(array[:, j], name) for j, name in enumerate(names))
    else:
        raise DataError(f"an array of {array.dtype} cannot be used as features; turn it into numbers or text first")
    values = np.empty(array.shape, order="F")
    for j, feature in enumerate(all_features):
        values[:, j] = encode_column(array[:, j], feature, unseen)
    return Table(values, all_features)


def _encode_numeric(array: Array, features: tuple[Feature, ...], unseen: UnseenCategories) -> Table:
    """Encode an array of numbers, which is read where it is, if it can be."""
    nominal = [j for j, feature in enumerate(features) if feature.has_categories]
    values = np.array(array, dtype=np.float64, order="F") if nominal else as_kept(array)
    for j in nominal:
        values[:, j] = encode_column(values[:, j], features[j], unseen)
    return Table(values, features).check_finite()


def _encode_sparse(matrix: Any, features: tuple[Feature, ...] | None, unseen: UnseenCategories) -> Table:
    if matrix.ndim != 2:
        raise DataError(f"X must be a 2-dimensional table of examples by features, got {matrix.ndim} dimension(s)")
    if matrix.dtype.kind not in "fiub":
        raise DataError(f"a sparse matrix of {matrix.dtype} cannot be used as features; it must hold real numbers")
    width = matrix.shape[1]
    _check_width(width, features)
    if features is None:
        boolean = matrix.dtype.kind == "b"
        features = tuple(
            Feature(f"x{j}", "nominal", BOOLEAN_CATEGORIES) if boolean else Feature(f"x{j}") for j in range(width)
        )
    table = Table.from_array(matrix, features).check_finite()
    if any(feature.has_categories for feature in features) and matrix.dtype.kind != "b":
        return _sparse_nominal(table.values, features, unseen)
    return table


def _sparse_nominal(values: Any, features: tuple[Feature, ...], unseen: UnseenCategories) -> Table:
    """Read stored numbers of nominal columns as categories; what is not stored is the number 0."""
    data, indices, lengths = [], [], []
    for j, feature in enumerate(features):
        stored = slice(values.indptr[j], values.indptr[j + 1])
        rows, numbers = values.indices[stored], values.data[stored]
        if feature.has_categories:
            zero = encode_column(np.zeros(1), feature)[0]
            numbers = encode_column(numbers, feature, unseen)
            if zero != 0:  # zero is a later category, or none: every other row must be stored
                full = np.full(values.shape[0], zero)
                full[rows] = numbers
                unseen.add(feature.name, [0] * (values.shape[0] - len(rows)) if np.isnan(zero) else [])
                rows, numbers = np.arange(values.shape[0], dtype=values.indices.dtype), full
        data.append(numbers)
        indices.append(rows)
        lengths.append(len(rows))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    joined = (np.concatenate(data), np.concatenate(indices), indptr)
    return Table.from_array(sp.csc_array(joined, shape=values.shape), features)


def _reencode(table: Table, features: tuple[Feature, ...], extra: Others, unseen: UnseenCategories) -> Table:
    """Convert a table to a model's features: columns by name, categories by their text."""
    unchanged = set(table.features)
    computed = tuple(f for f in features if f.derived is not None and f not in unchanged)
    if computed:
        sources = _sources_in(table, computed)
        columns = list(dict.fromkeys([*sources, *(feature.column for feature in features)]))
        match_names(list(dict.fromkeys(feature.column for feature in table.features)), columns, extra)
        derived = derive(_reencode(table, tuple(sources.values()), "skip", unseen), computed)
        direct = tuple(feature for feature in features if feature not in computed)
        both = _reencode(table, direct, "skip", unseen)
        both = both.with_columns([derived.column(j) for j in range(len(computed))], computed)
        place = {feature.name: j for j, feature in enumerate(both.features)}
        return both.rearranged([place[feature.name] for feature in features], features)
    order = match_names(table.feature_names, [feature.name for feature in features], extra)
    changed = {
        target: _reencode_column(table, source, feature, unseen)
        for target, (source, feature) in enumerate(zip(order, features, strict=True))
        if table.features[source] != feature
    }
    return table.rearranged(order, features, changed)


def _sources_in(table: Table, features: tuple[Feature, ...]) -> dict[str, Feature]:
    """Return the columns from which features are computed; columns of texts and lists stay as the table has them."""
    table_features = {feature.name: feature for feature in table.features}
    return {
        name: table_features[name] if feature.kind in TEXTUAL and name in table_features else feature
        for name, feature in source_features(features).items()
    }


def _reencode_column(table: Table, source: int, feature: Feature, unseen: UnseenCategories) -> Floats:
    old, values = table.features[source], table.column(source)
    if old.has_categories and feature.has_categories:
        return recode(values, old, feature, unseen)
    if old.kind == "date" and feature.kind == "numeric":
        raise DataError(f"column {feature.name!r} held numbers when the model was fitted, but dates were given")
    if not old.has_categories:
        return encode_column(values, feature, unseen)
    names = np.array([*old.categories, None], dtype=object)
    texts = names[np.where(np.isnan(values), len(old.categories), values).astype(np.int64)]
    return encode_column(texts, feature, unseen)


def _check_width(width: int, features: tuple[Feature, ...] | None) -> None:
    if features is not None and width != len(features):
        raise DataError(f"X has {width} column(s), but the model was fitted on {len(features)}")


@dataclass(frozen=True, eq=False)
class ReadTarget:
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


def read_target(y: Any, label_names: Sequence[str] | None = None) -> ReadTarget:
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
    label_names, y = getattr(label_names, "classes_", label_names), unmasked(y)
    found_tags = tag_cells(y)
    if found_tags is not None:
        truth, names = read_tags(*found_tags, None if label_names is None else list(map(str, label_names)))
        return ReadTarget("multilabel", truth, names, _classes(names), separator=found_tags[1])
    if sp.issparse(y) or _is_matrix(y):
        truth, names = to_labels(y, label_names, unknown=True)
        if truth.shape[1] == 0:
            raise DataError("Y has no label column; give at least one label")
        return ReadTarget("multilabel", truth, names, _classes(names), sp.issparse(y))
    validation = import_late("sklearn.utils.validation")
    flat = validation.column_or_1d(y, warn=True)
    if flat.dtype.kind == "O" and any(absent := [is_missing(value) for value in flat]):
        raise DataError(f"y, row {absent.index(True)}: the class is missing; leave out the examples without one")
    if flat.dtype.kind in "fc":
        validation.assert_all_finite(flat, input_name="y")
    import_late("sklearn.utils.multiclass").check_classification_targets(flat)
    _warn_of_tags(flat)
    classes, codes = np.unique(flat, return_inverse=True)
    kind: Literal["binary", "multiclass"] = "binary" if len(classes) <= 2 else "multiclass"
    named_classes = classes[-1:] if kind == "binary" else classes
    names = tuple(label_names) if label_names is not None else _class_names(named_classes, getattr(y, "name", None))
    if len(names) != len(named_classes):
        raise DataError(f"{len(names)} label name(s) for {len(named_classes)} class(es)")
    codes_of_labels = np.arange(len(classes))[-len(named_classes) :]
    truth = (codes[:, None] == codes_of_labels[None, :]).astype(np.uint8)
    return ReadTarget(kind, truth, names, classes)


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


def _class_names(classes: Array, column: Any) -> tuple[str, ...]:
    """Names of classes in rules: words unchanged, numbers after the name of the column.

    Examples
    --------
    >>> _class_names(np.array([1]), "churns"), _class_names(np.array([2, 3]), "grade")
    (('churns',), ('grade 2', 'grade 3'))
    >>> _class_names(np.array(["yes"]), "churns"), _class_names(np.array([True]), None)
    (('yes',), ('y',))
    """
    words = classes.dtype.kind in "OUS" and not all(isinstance(value, (bool, int, float)) for value in classes)
    name = None if column is None else str(column)
    if len(classes) == 1 and not words and classes[0] == 1:
        return (name or "y",)
    return tuple(str(value) if words or not name else f"{name} {value}" for value in classes)


def _is_matrix(y: Any) -> bool:
    """True if y holds one column per label; a single column of other things than 0 and 1 is a list of classes."""
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
    present = [cell for cell in cells if cell is not None]
    if present and all(isinstance(cell, str) for cell in present):
        separator = likely_separator(present, SEPARATORS)
        return None if separator is None else (cells, separator)
    if present and all(isinstance(cell, (list, tuple, set, frozenset, np.ndarray)) for cell in present):
        lists = [None if cell is None else _in_order(cell) for cell in cells]
        items = [item for cell in lists if cell for item in cell]
        if items and all(isinstance(item, str) for item in items) and not all(item.lower() in TRUTH for item in items):
            return lists, SEPARATORS[0]
    return None


def read_tags(cells: Sequence[Any], separator: str, names: Sequence[str] | None = None) -> tuple[Any, tuple[str, ...]]:
    """Return the 0/1 labels of cells that `tag_cells` found, and their names: those given, or all there are, sorted.

    Examples
    --------
    >>> read_tags(["a;b", "b", None], ";")
    (array([[1, 1], [0, 1], [0, 0]], dtype=uint8), ('a', 'b'))
    """
    tags = TagCollector(separator, names)
    tags.add(cells, Place("y", "labels", range(len(cells)), "row"))
    return tags.matrix()


def rows_right(y: Any, separator: str, predicted: Any, names: Sequence[str]) -> Any:
    """Return for every row if the predicted labels are exactly its tags; None if y holds no tags.

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
    arranged = arrange_labels(truth, tags, names)
    # The model cannot predict labels that it does not have.
    return (predicted == dense_labels(arranged.Y)).all(axis=1) & ~arranged.touched


def _cells(y: Any) -> list[Any] | None:
    """The cells of a single column, None where they are missing; None for what cannot be a column of words."""
    if sp.issparse(y) or getattr(y, "ndim", 1) != 1 or isinstance(y, (str, bytes)) or not hasattr(y, "__len__"):
        return None
    if (isinstance(y, np.ndarray) and y.dtype.kind not in "OUS") or hasattr(y, "columns"):
        return None
    return [None if is_missing(cell) else cell for cell in _to_list(y)]


def _to_list(y: Any) -> list[Any]:
    for name in ("to_list", "to_pylist", "tolist"):
        if hasattr(y, name):
            try:
                return list(getattr(y, name)())
            except Exception as problem:  # of whichever library: values that Python does not have
                raise DataError(f"y cannot be read ({' '.join(str(problem).split())})") from problem
    return list(y)


def _in_order(cell: Any) -> list[Any]:
    """Sets have no order that two runs agree on."""
    return sorted(cell, key=str) if isinstance(cell, (set, frozenset)) else list(cell)
