"""Reading X and y for fitting and predicting, with the checks that users need."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from polyrule.covering.learner import Training
from polyrule.data.dataset import Dataset
from polyrule.data.encode import ReadTarget, to_table
from polyrule.data.examples import fingerprint
from polyrule.data.frames import column_names, is_frame, open_frame, renamed
from polyrule.data.sparse import check_sparse
from polyrule.data.table import Feature, Table, unmasked
from polyrule.errors import DataError, OptionError
from polyrule.estimators.constraints import Constraints
from polyrule.model.counting import is_weighted, note_weights
from polyrule.relations import Plan, Relation
from polyrule.relations import read as read_relations
from polyrule.relations.data import check_data
from polyrule.search.counted.counting import Counting
from polyrule.store import Packed, Store, pack_table
from polyrule.store.packed import BLOCK_ROWS
from polyrule.store.packed_table import unpack, unpack_values
from polyrule.utils.arrays import Bools
from polyrule.utils.messages import argument, parameter_name

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class TrainingData(Training):
    """Input of a fit: examples of positive weight, with weights as integers times `scale`.

    A fit sets no attribute of its estimator before its end, so that several threads may fit one.

    Parameters
    ----------
    target : Target
        Labels as they were passed.
    seen : dict
        Fitted attributes that describe the columns of X.
    positive : ndarray of bool or None
        Mask of the examples of positive weight; None if that is all.
    label_columns : tuple of str
        Columns of X that are the labels.
    raw : Table or None
        Table before columns were left out, if some were; the fingerprint is that of this one.
    relations : tuple of Relation
        Relations between labels, which the examples obey.
    """

    target: ReadTarget
    seen: dict[str, Any]
    positive: Bools | None = None
    label_columns: tuple[str, ...] = ()
    raw: Table | None = None
    relations: tuple[Relation, ...] = ()


def with_relations(training: TrainingData, relations: Any) -> TrainingData:
    """Return training data with relations between labels; raise an error if the examples break one."""
    stated = read_relations(relations, training.label_names)
    Plan.of(stated, training.label_names)
    if stated and training.truth is None:
        raise OptionError("relations cannot be checked on a store; add them after learning, with model_.with_relations")
    check_data(stated, training.truth, training.label_names)
    return replace(training, relations=stated)


def weight_note(training: TrainingData) -> dict[str, Any]:
    """Return a note for the model if its counts are sums of weights."""
    if isinstance(training.table, Packed):
        return note_weights({}, training.table.total_weight != len(training.table))
    return note_weights({}, is_weighted(training.weights, training.scale))


def data_fingerprint(training: TrainingData) -> str:
    """Return the fingerprint of the training data as a model stores it."""
    if isinstance(training.table, Packed):
        return f"store:{getattr(training.table, 'fingerprint', 'in memory')}"
    table = training.table if training.raw is None else training.raw
    return fingerprint(table, training.truth, training.weights)


def read_packed(X: Packed, y: Any, sample_weight: Any, label_names: Any, feature_names: Any = None) -> TrainingData:
    """Read packed data, which contains labels, names and weights."""
    arguments = {"y": y, "sample_weight": sample_weight, "label_names": label_names, "feature_names": feature_names}
    for name, value in arguments.items():
        if value is not None:
            raise DataError(f"{name} must be None if X is a store, which contains the labels and weights")
    names = np.array([feature.name for feature in X.features], dtype=object)
    classes = [np.array([0, 1]) for _ in X.label_names]
    target = ReadTarget("multilabel", None, X.label_names, classes)
    seen = {"n_features_in_": len(names), "feature_names_in_": names}
    weights = np.array([X.total_weight], dtype=np.int64)
    return TrainingData(X, None, weights, X.label_names, Fraction(1), target, seen)


def plain(value: Any) -> Any:
    """Return a parameter as a model file stores it; as text if JSON has no such value.

    >>> plain(Constraints(forbid=("a", "b"))), plain(max)
    ({'forbid': ['a', 'b']}, 'max')
    """
    if isinstance(value, np.floating):
        return float(str(value))  # a single-precision 0.1 is one tenth, too
    value = value.tolist() if hasattr(value, "tolist") else value  # arrays, indexes, and integers of NumPy
    if isinstance(value, Constraints):
        value = value.as_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(item, str) for item in value):
        return sorted(value) if isinstance(value, (set, frozenset)) else list(value)
    if callable(value):  # the name of a function that is a measure
        return getattr(value, "__name__", type(value).__name__)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return float(value) if isinstance(value, Real) else str(value)  # a Fraction stays a number


def read_features(estimator: Any, X: Any, features: tuple[Feature, ...]) -> Table:
    """Read X for predicting with a fitted estimator, whose `n_features_in_` and `feature_names_in_` it must have."""
    X = _checked(estimator, X)
    if isinstance(X, Table):
        return to_table(X, features)
    if not isinstance(X, np.ndarray) and is_frame(X):
        column_names(X if hasattr(X, "iloc") else open_frame(X))  # its messages about names are clearer
    validate_data(estimator, X, reset=False, skip_check_array=True)
    return to_table(X, features)


def read_training_features(estimator: Any, X: Any, names: Sequence[str] | None = None) -> tuple[Table, dict[str, Any]]:
    """Return X for fitting, and the attributes in which scikit-learn's estimators store its columns.

    The caller sets the attributes at the end of the fit. `names` are for the rules only: new data of the same form
    has none.

    >>> read_training_features(BaseEstimator(), [[1.0, 2.0]])[1]
    {'n_features_in_': 2}
    """
    X = _checked(estimator, X)
    if names is not None and (isinstance(X, Table) or is_frame(X)):
        raise OptionError("feature_names is for arrays and sparse matrices; this data has names already")
    if isinstance(X, Table):
        table = to_table(X)
        seen = {"n_features_in_": table.shape[1], "feature_names_in_": np.array(table.feature_names, dtype=object)}
    else:
        table = to_table(X)  # first, because its messages are clearer
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
    """Return X as a table, a frame, or an array or sparse matrix that scikit-learn accepts."""
    if isinstance(X, Dataset):
        X = X.X
    if isinstance(X, Packed):
        raise DataError("a store holds codes to learn from, not features; read the data that it was packed from")
    if sp.issparse(X):
        X = check_sparse(X)  # scikit-learn's checks already follow the indices
    if isinstance(X, Table):
        return X
    if not isinstance(X, np.ndarray) and is_frame(X):
        return X if hasattr(X, "iloc") else open_frame(X).to_native()
    try:
        return check_array(unmasked(X), accept_sparse=True, dtype=None, ensure_all_finite=False, estimator=estimator)
    except (TypeError, ValueError) as problem:
        raise DataError(" ".join(str(problem).split())) from problem


def packed_training(training: TrainingData, counting: Counting) -> TrainingData:
    """Return a table packed into bins if `counting` has any; raise `OptionError` if an option does not fit the data."""
    t, table = training, training.table
    if isinstance(table, Packed):
        if counting.max_bins is not None:
            problem = "is chosen when data is packed; leave it out to fit a store"
            raise OptionError(f"{parameter_name('max_bins')} {problem}")
        if counting.refine and isinstance(table, Store) and not table.has_values:
            remedy = argument("keep_values", True)
            raise OptionError(f"{argument('refine', True)} needs the original values; pack the data with {remedy}")
        return training
    if counting.max_bins is None:
        if counting.refine:
            remedy = f"pass {argument('max_bins', 255)} or fit a store"
            raise OptionError(f"{argument('refine', True)} looks between bins; {remedy}")
        if counting.device != "cpu":
            logger.info("device %s is not used: without max_bins no bins are counted", counting.device)
        return training
    packed = pack_table(
        table, t.truth, t.weights, t.label_names, counting.max_bins, BLOCK_ROWS, keep_values=counting.refine
    )
    return replace(training, table=packed, truth=None)


def unpacked(training: TrainingData, *, refine: bool = False) -> TrainingData:
    """Return packed data as a table of codes, or of values with `refine`."""
    if not isinstance(training.table, Packed):
        return training
    table, truth, weights = unpack(training.table)
    values = unpack_values(training.table) if refine else table
    return replace(training, table=values, truth=truth, weights=weights)
