"""What scikit-learn calls X: whatever can become a table, read with the checks that an estimator owes its users."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, validate_data

from polyrule.data.dataset import Dataset
from polyrule.data.encode import to_table
from polyrule.data.frames import is_frame
from polyrule.data.sparse import check_sparse
from polyrule.data.table import Feature, Table
from polyrule.errors import DataError


def read_features(estimator: Any, X: Any, features: tuple[Feature, ...] | None = None) -> Table:
    """Read X for fitting, or for predicting where `features` (those of the fitted model) are given.

    Fitting records `n_features_in_` and, where the columns have names, `feature_names_in_` on the estimator; predicting
    holds X against them.
    """
    reset = features is None
    if isinstance(X, Dataset):
        X = X.X
    if isinstance(X, Table):
        table = to_table(X, features)
        if reset:
            estimator.n_features_in_ = table.shape[1]
            estimator.feature_names_in_ = np.array(table.feature_names, dtype=object)
    else:
        if sp.issparse(X):
            X = check_sparse(X)  # scikit-learn's checks already follow the indices
        if not is_frame(X):
            X = check_array(X, accept_sparse=True, dtype=None, ensure_all_finite=False, estimator=estimator)
        if reset:
            table = to_table(X)  # first, because it says more clearly what is wrong with a frame
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if not reset:
            table = to_table(X, features)
    if reset and len(table) == 0:
        raise DataError("X holds no examples: 0 sample(s) is not enough to learn rules from")
    if reset and table.shape[1] == 0:
        raise DataError("X holds no features: 0 feature(s) is not enough to learn rules from")
    return table
