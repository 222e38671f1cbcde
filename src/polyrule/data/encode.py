"""Arrays, sparse matrices and frames become a `Table`.

At fit time kinds and categories are found in the data; at prediction time the features of the fit are given and the
data is encoded against them. Columns of arrays are matched by position, columns of frames by name. A category that was
not there at fit time becomes a missing value, which satisfies no condition; a warning counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.arrays import Array, Floats
from polyrule.data.columns import (
    BOOLEAN_CATEGORIES,
    UnseenCategories,
    check_finite,
    encode_column,
    encode_numbers,
    infer_column,
    recode,
)
from polyrule.data.dataset import Dataset
from polyrule.data.frames import Others, frame_to_table, is_frame, match_names
from polyrule.data.table import Feature, Table, as_array, as_kept
from polyrule.errors import DataError

# Cells looked at at once for infinite numbers.
_CHECKED_CELLS = 1 << 20


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
    table = _encode(X, None if features is None else tuple(features), others, unseen)
    if unseen.columns:
        unseen.warn()
    return table


def _encode(X: Any, features: tuple[Feature, ...] | None, others: Others, unseen: UnseenCategories) -> Table:
    if isinstance(X, Dataset):
        X = X.X
    if isinstance(X, Table):
        X.check_values()  # anyone may build one
        return X if features is None or X.features == features else _reencode(X, features, others, unseen)
    if sp.issparse(X):
        return _encode_sparse(X, features, unseen)
    if not isinstance(X, (np.ndarray, list, tuple)) and is_frame(X):
        table = frame_to_table(X, features, others, unseen)
        return table if features is None or table.features == features else _reencode(table, features, others, unseen)
    return _encode_array(_as_array(X), features, unseen)


def _as_array(X: Any) -> Array:
    array = as_array(X, "the rows of X have different lengths; every example needs the same columns")
    if array.dtype.kind == "c":
        raise DataError("Complex data not supported: features are real numbers, text or booleans")
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
        found = features or tuple(Feature(name, "nominal", BOOLEAN_CATEGORIES) for name in names)
    elif array.dtype.kind in "OU":
        found = features or tuple(infer_column(array[:, j], name)[0] for j, name in enumerate(names))
    else:
        raise DataError(f"an array of {array.dtype} cannot be used as features; turn it into numbers or text first")
    values = np.empty(array.shape, order="F")
    for j, feature in enumerate(found):
        values[:, j] = encode_column(array[:, j], feature, unseen)
    return Table(values, found)


def _encode_numeric(array: Array, features: tuple[Feature, ...], unseen: UnseenCategories) -> Table:
    """Encode an array of numbers, which is read where it is, if it can be."""
    nominal = [j for j, feature in enumerate(features) if feature.has_categories]
    values = np.array(array, dtype=np.float64, order="F") if nominal else as_kept(array)
    step = max(1, _CHECKED_CELLS // max(1, values.shape[1]))
    for start in range(0, len(values), step):
        if values.dtype.kind == "f" and np.isinf(values[start : start + step]).any():
            for j, feature in enumerate(features):
                check_finite(values[:, j], feature.name)
    for j in nominal:
        values[:, j] = encode_numbers(values[:, j], features[j], unseen)
    return Table(values, features)


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
    table = Table.from_array(matrix, features)
    values: Any = table.values
    if np.isinf(values.data).any():
        entry = int(np.argmax(np.isinf(values.data)))
        column = int(np.searchsorted(values.indptr, entry, side="right")) - 1
        raise DataError(
            f"column {features[column].name!r}, row {int(values.indices[entry])}: the value is infinite; "
            "use NaN for a missing value or clip it to a finite number"
        )
    if any(feature.has_categories for feature in features) and matrix.dtype.kind != "b":
        return _sparse_nominal(values, features, unseen)
    return table


def _sparse_nominal(values: Any, features: tuple[Feature, ...], unseen: UnseenCategories) -> Table:
    """Read stored numbers of nominal columns as categories; what is not stored is the number 0."""
    data, indices, lengths = [], [], []
    for j, feature in enumerate(features):
        stored = slice(values.indptr[j], values.indptr[j + 1])
        rows, numbers = values.indices[stored], values.data[stored]
        if feature.has_categories:
            zero = encode_numbers(np.zeros(1), feature)[0]
            numbers = encode_numbers(numbers, feature, unseen)
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


def _reencode(table: Table, features: tuple[Feature, ...], others: Others, unseen: UnseenCategories) -> Table:
    """Bring a table to a model's features: columns by name, categories by their text."""
    order = match_names(table.feature_names, [feature.name for feature in features], others)
    changed = [
        (target, source, feature)
        for target, (source, feature) in enumerate(zip(order, features, strict=True))
        if table.features[source] != feature
    ]
    values: Any = table.values[:, order]
    if not changed:
        return Table.from_array(values, features)
    columns: dict[int, Any] = {}
    for target, source, feature in changed:
        columns[target] = _reencode_column(table, source, feature, unseen)
    if table.is_sparse:
        parts = [
            sp.csc_array(columns[j].reshape(-1, 1)) if j in columns else values[:, [j]] for j in range(len(features))
        ]
        return Table.from_array(sp.hstack(parts, format="csc"), features)
    values = np.array(values, order="F")
    for target, column in columns.items():
        values[:, target] = column
    return Table(values, features)


def _reencode_column(table: Table, source: int, feature: Feature, unseen: UnseenCategories) -> Floats:
    old, values = table.features[source], table.column(source)
    if old.has_categories and feature.has_categories:
        return recode(values, old, feature, unseen)
    if feature.has_categories:
        return encode_numbers(values, feature, unseen)
    names = np.array([*old.categories, None], dtype=object)
    texts = names[np.where(np.isnan(values), len(old.categories), values).astype(np.int64)]
    return encode_column(texts, feature, unseen)


def _check_width(width: int, features: tuple[Feature, ...] | None) -> None:
    if features is not None and width != len(features):
        raise DataError(f"X has {width} column(s), but the model was fitted on {len(features)}")
