"""What scikit-learn calls X: whatever can become a table, read with the checks that an estimator owes its users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from polyrule.data.dataset import Dataset
from polyrule.data.encode import to_table
from polyrule.data.frames import check_distinct, column_names, is_frame, open_frame
from polyrule.data.labelspec import choose_columns
from polyrule.data.sparse import check_sparse
from polyrule.data.table import Feature, Table
from polyrule.errors import DataError, OptionError


def read_features(estimator: Any, X: Any, features: tuple[Feature, ...]) -> Table:
    """Read X for predicting with a fitted estimator, whose `n_features_in_` and `feature_names_in_` it must have."""
    X = _checked(estimator, X)
    if isinstance(X, Table):
        return to_table(X, features)
    if is_frame(X):
        column_names(X if hasattr(X, "iloc") else open_frame(X))  # which says more clearly what is wrong with names
    validate_data(estimator, X, reset=False, skip_check_array=True)
    return to_table(X, features)


def read_training_features(estimator: Any, X: Any, names: Sequence[str] | None = None) -> tuple[Table, dict[str, Any]]:
    """Read X for fitting; also returns the attributes with which scikit-learn's estimators remember its columns.

    `names` are for the rules only: new data of the same form still comes without any.

    They are for the caller to set once a fit is done: a fit that fails, or another one beside it, sees none of them.

    >>> read_training_features(BaseEstimator(), [[1.0, 2.0]])[1]
    {'n_features_in_': 2}
    """
    X = _checked(estimator, X)
    if names is not None and (isinstance(X, Table) or is_frame(X)):
        raise OptionError("feature_names is for arrays and sparse matrices; this data has names of its own")
    if isinstance(X, Table):
        table = to_table(X)
        seen = {"n_features_in_": table.shape[1], "feature_names_in_": np.array(table.feature_names, dtype=object)}
    else:
        table = to_table(X)  # first, because it says more clearly what is wrong with a frame
        memory = BaseEstimator()
        try:
            validate_data(memory, X, reset=True, skip_check_array=True)
        except TypeError as problem:  # names that are partly text, partly numbers
            raise DataError(" ".join(str(problem).split())) from problem
        seen = vars(memory)
    if names is not None:
        table = Table(table.values, renamed(table.features, names))
    if len(table) == 0:
        raise DataError("X holds no examples: 0 sample(s) is not enough to learn rules from")
    if table.shape[1] == 0:
        raise DataError("X holds no features: 0 feature(s) is not enough to learn rules from")
    return table, seen


def _checked(estimator: Any, X: Any) -> Any:
    """X as a table, a frame, or an array or sparse matrix that scikit-learn accepts."""
    if isinstance(X, Dataset):
        X = X.X
    if sp.issparse(X):
        X = check_sparse(X)  # scikit-learn's checks already follow the indices
    if isinstance(X, Table) or is_frame(X):
        return X
    try:
        return check_array(X, accept_sparse=True, dtype=None, ensure_all_finite=False, estimator=estimator)
    except (TypeError, ValueError) as problem:
        raise DataError(" ".join(str(problem).split())) from problem


def renamed(features: Sequence[Feature], names: Sequence[str]) -> tuple[Feature, ...]:
    """Return features under other names, in order.

    >>> [feature.name for feature in renamed([Feature("x0"), Feature("x1")], ["size", "hue"])]
    ['size', 'hue']
    """
    names = [str(name) for name in names]
    if len(names) != len(features):
        raise OptionError(f"names: {len(names)} name(s) for {len(features)} feature(s)")
    check_distinct(names, "feature")
    if any(feature.part for feature in features):
        raise OptionError("names: features with dates have the names of their columns; rename those of the frame")
    return tuple(replace(feature, name=name) for feature, name in zip(features, names, strict=True))


def split_labels(frame: Any, labels: Any) -> tuple[Any, Any]:
    """Return the features and the labels of a frame, each as a frame of the same library.

    Parameters
    ----------
    frame : pandas, polars or pyarrow frame
    labels : list of names and positions, or a text such as ``"mood_*"``
        As for files: see `polyrule.data.labelspec`.

    Examples
    --------
    >>> import pandas as pd
    >>> X, Y = split_labels(pd.DataFrame({"size": [1, 2], "red": [0, 1], "blue": [1, 1]}), ["blue", "red"])
    >>> list(X.columns), list(Y.columns)
    (['size'], ['blue', 'red'])
    """
    if not is_frame(frame):
        raise OptionError("labels= names columns of a data frame; for other data pass the labels as y")
    opened = open_frame(frame)
    names = column_names(opened)
    chosen = choose_columns(labels, names).positions
    if not chosen:
        raise DataError("labels= names no column; name at least one")
    rest = [position for position in range(len(names)) if position not in set(chosen)]
    return opened[:, rest].to_native(), opened[:, chosen].to_native()


def without_columns(frame: Any, names: Sequence[str]) -> Any:
    """Return a frame without columns of these names, as far as it has them; what is no frame stays as it is."""
    if not names or not is_frame(frame):
        return frame
    opened = open_frame(frame)
    kept = [position for position, name in enumerate(column_names(opened)) if name not in set(names)]
    return frame if len(kept) == len(opened.columns) else opened[:, kept].to_native()
