"""What every estimator shares: reading X and y with the checks it owes its users, fitting, predicting."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar, Self

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.data.dataset import Dataset
from polyrule.data.encode import Target, read_target, to_table
from polyrule.data.examples import fingerprint, integer_weights
from polyrule.data.frames import column_names, is_frame, open_frame, renamed, split_labels, without_columns
from polyrule.data.labelspec import some_columns
from polyrule.data.preparation import prepare
from polyrule.data.sparse import check_sparse
from polyrule.data.table import Feature, Table, unmasked
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.estimators.fitted import FittedRules
from polyrule.estimators.options import Allowed, check_parameters
from polyrule.learning.constraints import listed_names
from polyrule.learning.messages import telling, warn_about_model
from polyrule.learning.separate import Reason, Training
from polyrule.model import RuleList
from polyrule.model.counting import is_weighted, note_weights
from polyrule.model.narrowing import without_unused_items
from polyrule.model.packed import check_table
from polyrule.model.predict import predict as run_rules
from polyrule.search.counted.counting import NOTHING_COUNTED, Counting
from polyrule.search.gpu.device import report_out_of_memory
from polyrule.store import Packed, Store, pack_table
from polyrule.store.coded_table import unpack, unpack_values
from polyrule.store.packed import BLOCK_ROWS
from polyrule.utils.arrays import Bools, Floats
from polyrule.utils.compute import Compute, native, warn_if_slow
from polyrule.utils.messages import argument, literal, parameter_name
from polyrule.utils.version import __version__

logger = logging.getLogger(__name__)

SMALLEST_TOTAL = Fraction(1, 10**100)
"""Least total weight of examples: products of smaller numbers are 0, and their reciprocals infinite."""

# Parameters that say how learning is watched, not what is learned.
_NOT_STORED = ("callback", "verbose")


@dataclass(frozen=True, eq=False)
class TrainingData(Training):
    """What a fit learns from: examples of positive weight only, weights as integers times `scale`.

    `kept` tells which of the given examples these are, None for all. `raw` is the table as it was before columns were
    left out, if some were: the fingerprint is that of the data. `seen` are the fitted attributes that describe the
    columns of X, and `label_columns` those of X that were the labels: a fit sets nothing on its estimator before it is
    done, so that one may be fitted by several threads.
    """

    target: Target
    seen: dict[str, Any]
    kept: Bools | None = None
    label_columns: tuple[str, ...] = ()
    raw: Table | None = None


class RuleEstimator(FittedRules):
    """Base of the rule classifiers."""

    time_limit: float | None
    callback: Callable[[Any], object] | None
    kernels: str | None
    n_jobs: int | None
    max_samples: int | None = None
    device: str
    verbose: bool
    keep_columns: Any
    stopped_reason_: str
    #: Allowed values of parameters that differ from those of the other learners.
    _allowed: ClassVar[Mapping[str, Allowed]] = {}

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        check_parameters(self.get_params(deep=False), **self._allowed)
        if self.kernels == "native" and native is None:
            needs = "needs the compiled kernels, which are not built here"
            raise OptionError(f"{argument('kernels', 'native')} {needs}; use {literal(None)}")

    def _on_device(self) -> AbstractContextManager[None]:
        """Return what says it in a sentence where a GPU that was asked for runs out of memory."""
        return nullcontext() if self.device == "cpu" else report_out_of_memory()

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        label_names: Sequence[str] | None = None,
        labels: Any = None,
        start: Any = None,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> Self:
        """Learn rules.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Table, Dataset or Store
            Features. Text, boolean and categorical columns are nominal; NaN is missing. A `Dataset` and
            a `Store` bring their labels.
        y : label matrix of 0/1, labels as words, or a one-dimensional array of classes
            Words are a list or set of labels per example, or texts such as ``"jazz;calm"``. For several classes one
            label per class is learned and the most probable one predicted.
        sample_weight : array, optional
            Weights of the examples; 0 leaves one out.
        label_names : sequence of str, or a fitted MultiLabelBinarizer, optional
            Names to print; frames, words and a named series bring their own.
        labels : list of str, or a pattern such as ``"mood_*"``, optional
            Which columns of the frame X are labels, in place of y; the others are features.
        start : RuleList, for `RuleEnsembleClassifier` a RuleEnsemble, optional
            Rules to go on from. Those of a list stay in front, and only what they leave open is learned. Those of an
            ensemble keep their bodies and heads, and their weights are fitted together with those of the new rules;
            `max_rules` counts both.
        feature_names : sequence of str, optional
            What rules call the columns of an array or a sparse matrix; frames bring their own names. For a fitted
            pipeline, see `polyrule.name_features`.

        Returns
        -------
        self
            Fitted. An interrupt (Ctrl-C) keeps the rules learned so far: the estimator is fitted before
            KeyboardInterrupt goes on.
        """
        self._check()
        return self._fit_to(self._read_training(X, y, sample_weight, label_names, labels, feature_names), start)

    def _fit_to(self, training: TrainingData, start: Any) -> Self:
        raise NotImplementedError

    def _read_training(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        label_names: Sequence[str] | None,
        labels: Any = None,
        feature_names: Sequence[str] | None = None,
    ) -> TrainingData:
        warn_if_slow()
        label_columns: tuple[str, ...] = ()
        if labels is not None:
            if y is not None:
                raise OptionError("labels= says which columns of X are labels, so y must be left out")
            X, y = split_labels(X, labels)
            label_columns = tuple(column_names(open_frame(y)))
        if isinstance(X, Packed):
            return read_packed(X, y, sample_weight, label_names, feature_names)
        if isinstance(X, Dataset):
            label_names = X.label_names if label_names is None else label_names
            sample_weight = X.weights if sample_weight is None else sample_weight
            X, y = X.X, X.Y if y is None else y
        raw, seen = read_training_features(self, X, feature_names)
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        target = read_target(y, label_names)
        truth = target.truth
        if truth.shape[0] != len(raw):
            raise DataError(f"X has {len(raw)} examples but y has {truth.shape[0]}: inconsistent numbers of samples")
        weights, scale = integer_weights(sample_weight, len(raw))
        if int(weights.sum()) * scale < SMALLEST_TOTAL:
            problem = f"the weights add up to less than {float(SMALLEST_TOTAL):g}"
            raise DataError(f"{problem}; multiply them all by the same constant")
        kept: Any = weights > 0
        if kept.all():
            kept = None
        else:
            raw, truth, weights = raw[kept], truth[kept], weights[kept]
        table = raw
        if "feature_names_in_" in seen:  # the columns of an array are what the caller made them
            table = prepare(raw, keep=self._named_columns(raw), forbidden=self._forbidden())
        before = None if table is raw else raw
        return TrainingData(table, truth, weights, target.names, scale, target, seen, kept, label_columns, before)

    def _named_columns(self, table: Table) -> set[str]:
        """Return the names of columns that stay even if they identify rows, because a parameter names them."""
        names = table.feature_names
        kept = plain(self.keep_columns)
        named = {names[j] for j in some_columns(kept, names, "keep_columns")} if kept else set()
        features, monotone = getattr(self, "features", None), getattr(self, "monotone", None)
        for allowed in features.values() if isinstance(features, Mapping) else ():
            named |= {name for name in listed(allowed) if isinstance(name, str)} if isinstance(allowed, list) else set()
        return named | (set(map(str, monotone)) if isinstance(monotone, Mapping) else set())

    def _forbidden(self) -> set[str]:
        forbidden = listed(getattr(self, "forbid", None))
        return set(listed_names(forbidden, "forbid") if forbidden else ())

    def _keep(self, training: TrainingData, model: Any, reason: str, info: dict[str, Any], **learned: Any) -> Any:
        """Set the fitted attributes, all at once: those that follow from the data, and what was learned.

        Returns the model as it is kept: it says where it came from.
        """
        model, target = with_threshold_intervals(model, training.table), training.target
        if training.raw is not None:
            model = without_unused_items(model)
        model.info.update(self._provenance(training) | {"stopped": reason} | info | _weight_note(training))
        fitted = {
            "features_": model.features,
            "label_names_": target.names,
            "classes_": target.classes,
            "_target": Target(target.kind, None, target.names, target.classes, target.sparse, target.separator),
            "_label_columns": training.label_columns,
        }
        learned |= {"model_": model, "stopped_reason_": reason}
        self.__dict__.update(fitted | training.seen | learned)
        if "feature_names_in_" not in training.seen:
            self.__dict__.pop("feature_names_in_", None)
        return model

    def _read(self, X: Any) -> Table:
        """Read the features of new examples."""
        check_is_fitted(self)
        if self._label_columns:
            X = without_columns(X, self._label_columns)
        return read_features(self, X, self.features_)

    def predict(self, X: Any) -> Any:
        """Predict labels: a 0/1 matrix (sparse if the training labels were), or classes if y was one-dimensional."""
        table, model = self._read(X), self.model_
        return self._target.labels_out(model.labels_of(table), lambda: model.chances_of(table))

    def predict_proba(self, X: Any) -> Floats:
        """Probability that each label is present.

        That of an ensemble is calibrated. In a list, a label set by a rule gets what the learner expects of that
        literal on new examples or, where it stored nothing, the Laplace-smoothed share of training examples on which it
        was right, (TP + 1) / (TP + FP + 2); a label that nobody set gets the same of the examples where nobody set it.
        A list's `predict` follows the rules, so it may disagree with 0.5 where a rule's own evidence is weak.
        """
        table = self._read(X)
        return self._target.probabilities_out(self.model_.chances_of(table))

    def _provenance(self, training: TrainingData) -> dict[str, Any]:
        """Where a model came from, in plain JSON values."""
        parameters = self.get_params(deep=False)
        return {
            "learner": type(self).__name__,
            "options": {name: plain(value) for name, value in parameters.items() if name not in _NOT_STORED},
            "polyrule_version": __version__,
            "examples": len(training.table),
            "data_fingerprint": _fingerprint(training),
        }

    def _sample_size(self, training: TrainingData) -> int | None:
        """How many examples rules are learned from; None where that is all of them."""
        most = self.max_samples
        return None if most is None or len(training.table) <= most else int(most)

    def _start(self, start: Any, training: TrainingData) -> Any:
        """Return the model to go on from, if it is about this data."""
        if start is None:
            return None
        if not isinstance(start, self._holds):
            kind = type(start).__name__
            raise OptionError(f"{parameter_name('start')} must be a {self._holds.__name__}, not {kind}")
        table: Any = training.table
        check_table(start, table)
        if start.label_names != training.label_names:
            other = "other labels than the data; go on with the same ones, in the same order"
            raise ModelError(f"{parameter_name('start')} has {other}")
        return start

    def _threads(self) -> int:
        return int(joblib.effective_n_jobs(self.n_jobs))

    def _compute(self) -> Compute:
        return Compute(self._threads(), self.kernels)

    def _told(self) -> Callable[[Any], object] | None:
        """Return who is told how far learning is."""
        return telling(self.callback, self.verbose)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        return tags


def pass_on_interrupt(reason: str, model: Any) -> None:
    """Let an interrupt go on, once the estimator is fitted."""
    if reason == "interrupted":
        logger.warning("interrupted: the estimator keeps the %d rule(s) learned so far", len(model))
        raise KeyboardInterrupt


def _weight_note(training: TrainingData) -> dict[str, Any]:
    """Return what a model states if its counts are sums of weights."""
    if isinstance(training.table, Packed):
        return note_weights({}, training.table.total_weight != len(training.table))
    return note_weights({}, is_weighted(training.weights, training.scale))


def _fingerprint(training: TrainingData) -> str:
    if isinstance(training.table, Packed):
        return f"store:{getattr(training.table, 'fingerprint', 'in memory')}"
    table = training.table if training.raw is None else training.raw
    return fingerprint(table, training.truth, training.weights)


def read_packed(X: Packed, y: Any, sample_weight: Any, label_names: Any, feature_names: Any = None) -> TrainingData:
    """Read packed data, which has labels, names and weights of its own."""
    own = {"y": y, "sample_weight": sample_weight, "label_names": label_names, "feature_names": feature_names}
    for name, given in own.items():
        if given is not None:
            raise DataError(f"a store brings its own labels and weights; leave out {name}")
    names = np.array([feature.name for feature in X.features], dtype=object)
    classes = [np.array([0, 1]) for _ in X.label_names]
    target = Target("multilabel", None, X.label_names, classes)
    seen = {"n_features_in_": len(names), "feature_names_in_": names}
    weights = np.array([X.total_weight], dtype=np.int64)
    return TrainingData(X, None, weights, X.label_names, Fraction(1), target, seen)


def listed(value: Any) -> Any:
    """Return an array or an index, such as some of the columns of a frame, as a list; a number of NumPy as a number."""
    return value.tolist() if hasattr(value, "tolist") else value


def plain(value: Any) -> Any:
    """Return a parameter as a model file stores it, to be given again; as its text where JSON has no such thing."""
    if isinstance(value, np.floating):
        return float(str(value))  # a single 0.1 is one tenth, too
    value = listed(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(item, str) for item in value):
        return sorted(value) if isinstance(value, (set, frozenset)) else list(value)
    if callable(value):  # a measure given as a function: its name, not where it lies in memory
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


class RuleClassifier(RuleEstimator):
    """What the classifiers that learn lists share: fitting, predicting, explaining."""

    _holds = RuleList
    beam_width: int
    max_conditions: int | None
    max_bins: int | None
    refine: bool

    model_: RuleList

    def _learn(
        self, training: TrainingData, counting: Counting, start: RuleList | None = None
    ) -> tuple[RuleList, Reason]:
        raise NotImplementedError

    def _counting(self) -> Counting:
        """How rows are counted where data is binned or packed."""
        chosen = (self.max_bins, self.refine, self.device)
        return NOTHING_COUNTED if chosen == (None, False, "cpu") else Counting(*chosen)

    def _fit_to(self, training: TrainingData, start: Any) -> Self:
        return self._fit(training, self._counting(), start)

    def _fit(self, training: TrainingData, counting: Counting, start: RuleList | None = None) -> Self:
        with self._on_device():
            model, reason = self._learn(packed_training(training, counting), counting, start)
        model = self._keep(training, model, reason, {})
        if isinstance(training.table, Table):
            several = training.target.kind == "multilabel"
            warn_about_model(model, training.truth, reason, several and getattr(self, "max_rules", None) is None)
        pass_on_interrupt(reason, model)
        return self

    def decision_path(self, X: Any) -> sp.csr_matrix:
        """Return a sparse indicator (examples × rules) of the rules that set at least one label of an example."""
        table = self._read(X)
        setter = run_rules(self.model_, table).setter
        rows, columns = np.nonzero(setter >= 0)
        path = sp.csr_matrix(
            (np.ones(len(rows), dtype=np.int64), (rows, setter[rows, columns])), shape=(len(setter), len(self.model_))
        )
        path.data[:] = 1
        return path


def packed_training(training: TrainingData, counting: Counting) -> TrainingData:
    """Pack a table where bins are asked for; say so where an option does not fit the data."""
    table = training.table
    if isinstance(table, Packed):
        if counting.max_bins is not None:
            chosen = "is chosen when data is packed; leave it out to fit a store"
            raise OptionError(f"{parameter_name('max_bins')} {chosen}")
        if counting.refine and isinstance(table, Store) and not table.has_values:
            keep = argument("keep_values", True)
            raise OptionError(f"{argument('refine', True)} needs the original values; pack the data with {keep}")
        return training
    if counting.max_bins is None:
        if counting is not NOTHING_COUNTED:
            counting.check_used()
        return training
    t = training
    packed = pack_table(
        table, t.truth, t.weights, t.label_names, counting.max_bins, BLOCK_ROWS, keep_values=counting.refine
    )
    return replace(training, table=packed, truth=None)


def unpacked(training: TrainingData, *, refine: bool = False) -> TrainingData:
    """Return packed data as a table of codes, or of values where thresholds are looked for between them."""
    if not isinstance(training.table, Packed):
        return training
    table, truth, weights = unpack(training.table)
    values = unpack_values(training.table) if refine else table
    return replace(training, table=values, truth=truth, weights=weights)
