"""Base of the classifiers: fitting and predicting."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Self

import joblib
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.covering.progress import telling
from polyrule.data.dataset import Dataset
from polyrule.data.encode import ReadTarget, read_target
from polyrule.data.examples import integer_weights
from polyrule.data.frames import column_names, open_frame, split_labels, without_columns
from polyrule.data.labelspec import some_columns
from polyrule.data.preparation import prepare
from polyrule.data.table import Table
from polyrule.errors import DataError, ModelError, OptionError
from polyrule.estimators.config import current_config
from polyrule.estimators.constraints import Constraints
from polyrule.estimators.fitted import FittedRules
from polyrule.estimators.inputs import (
    TrainingData,
    data_fingerprint,
    plain,
    read_features,
    read_packed,
    read_training_features,
    weight_note,
    with_relations,
)
from polyrule.estimators.options import Allowed, check_parameters
from polyrule.model.columns import without_unused_items
from polyrule.model.packed import check_table
from polyrule.search.gpu.device import report_out_of_memory
from polyrule.store import Packed
from polyrule.utils.arrays import Floats
from polyrule.utils.compute import Compute, warn_if_slow
from polyrule.utils.messages import parameter_name
from polyrule.utils.version import __version__

logger = logging.getLogger(__name__)

SMALLEST_TOTAL = Fraction(1, 10**100)
"""Minimum total weight of examples: products of smaller numbers are 0, and their reciprocals infinite."""

# Parameters that change what is printed, not what is learned.
_NOT_STORED = ("verbose",)

Callback = Callable[[Any], object]


@dataclass(frozen=True)
class FitContext:
    """Surroundings of one fit, captured when it begins; the model does not depend on them.

    Parameters
    ----------
    compute : Compute
        Threads and kernels.
    device : {"cpu", "cuda"}
    callback : callable or None
        Called with the progress.
    """

    compute: Compute
    device: str = "cpu"
    callback: Callback | None = None

    def on_device(self) -> AbstractContextManager[None]:
        """Return a context that raises `LimitError` if a GPU runs out of memory."""
        return nullcontext() if self.device == "cpu" else report_out_of_memory()


class RuleEstimator(FittedRules):
    """Base of the rule classifiers."""

    time_limit: float | None
    n_jobs: int | None
    max_samples: int | None = None
    verbose: bool
    constraints: Any = None
    stopped_reason_: str
    #: Allowed values of parameters that differ from those of the other learners.
    _allowed: ClassVar[Mapping[str, Allowed]] = {}
    #: What `Constraints.keep_columns` means if it is None.
    _keep_columns: ClassVar[Any] = ()
    #: settings of `config_context` that this estimator changes; no parameters, because no model depends on them
    _settings: Mapping[str, Any] = MappingProxyType({})

    def _check(self) -> None:
        """Raise `OptionError` for a parameter with a value that is not allowed."""
        check_parameters(self.get_params(deep=False), **self._allowed)
        Constraints.of(self.constraints)

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
        callback: Callback | None = None,
        relations: Any = None,
    ) -> Self:
        """Learn rules.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Table, Dataset or Store
            Features. Text, boolean and categorical columns are nominal; NaN is missing. A `Dataset` and
            a `Store` contain labels, too.
        y : label matrix of 0/1, labels as words, or a one-dimensional array of classes, default=None
            Labels as words are a list or set per example, or texts such as ``"jazz;calm"``. For several classes one
            label per class is learned and the most probable one predicted.
        sample_weight : array, default=None
            Weights of the examples; 0 leaves one out.
        label_names : sequence of str, or a fitted MultiLabelBinarizer, default=None
            Names of the labels. Frames, words and a named series have names already.
        labels : list of str, or a pattern such as ``"mood_*"``, default=None
            Columns of the frame X that are labels, in place of y; the others are features.
        start : RuleList, for `RuleEnsembleClassifier` a RuleEnsemble, default=None
            Rules to start from. Those of a list stay in front, and rules are learned for the labels that they leave
            unset. Those of an ensemble keep their bodies and heads, and their weights are fitted together with those of
            the new rules; `max_rules` counts both.
        feature_names : sequence of str, default=None
            Names of the columns of an array or a sparse matrix. For a fitted pipeline, see `polyrule.name_features`.
        callback : callable, default=None
            Called with the progress after each rule; returning True ends learning. With an attribute ``within_rules =
            True`` a list also calls it about twice a second while a rule is grown. Several threads of an ensemble may
            call it.
        relations : str, list, mapping, array or path, default=None
            Relations between labels, which the training data obeys and every prediction will, such as ``["pneumonia =>
            lung disease", "benign, malignant: at most one"]`` or a tree; see `polyrule.relations.read`.

        Returns
        -------
        self
            Fitted. After an interrupt (Ctrl-C) the estimator is fitted with the rules learned so far before
            KeyboardInterrupt is raised.
        """
        self._check()
        check_parameters({"callback": callback})
        context = self._context(callback)
        training = self._read_training(X, y, sample_weight, label_names, labels, feature_names)
        return self._fit_to(training if relations is None else with_relations(training, relations), start, context)

    def _fit_to(self, training: TrainingData, start: Any, context: FitContext) -> Self:
        raise NotImplementedError

    def _context(self, callback: Callback | None) -> FitContext:
        """Capture the settings of the moment; threads and workers of the fit read no others."""
        config = current_config().changed(self._settings)
        threads = int(joblib.effective_n_jobs(self.n_jobs))
        return FitContext(Compute(threads, config.kernels), config.device, telling(callback, self.verbose))

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
                raise OptionError("labels= names columns of X as labels, so y must be left out")
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
        positive: Any = weights > 0
        if positive.all():
            positive = None
        else:
            raw, truth, weights = raw[positive], truth[positive], weights[positive]
        table = raw
        if "feature_names_in_" in seen:  # the columns of an array are used as they are
            constraints = Constraints.of(self.constraints)
            table = prepare(raw, keep=self._named_columns(raw, constraints), forbidden=set(constraints.forbidden))
        before = None if table is raw else raw
        return TrainingData(table, truth, weights, target.names, scale, target, seen, positive, label_columns, before)

    def _named_columns(self, table: Table, constraints: Constraints) -> set[str]:
        """Return the names of columns that stay even if they identify rows, because a parameter names them."""
        names = table.feature_names
        keep = plain(self._keep_columns if constraints.keep_columns is None else constraints.keep_columns)
        named = {names[j] for j in some_columns(keep, names, "keep_columns")} if keep else set()
        return named | constraints.named()

    def _keep(self, training: TrainingData, model: Any, reason: str, info: dict[str, Any], **learned: Any) -> Any:
        """Set all fitted attributes at once and return the model, with its provenance."""
        model, target = with_threshold_intervals(model, training.table), training.target
        if training.raw is not None:
            model = without_unused_items(model)
        if training.relations:
            model = model.with_relations(training.relations)
            info = info | {"relations": [one.text(target.names) for one in training.relations]}
        model.info.update(self._provenance(training) | {"stopped": reason} | info | weight_note(training))
        fitted = {
            "features_": model.features,
            "label_names_": target.names,
            "classes_": target.classes,
            "_target": ReadTarget(target.kind, None, target.names, target.classes, target.sparse, target.separator),
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
        """Return the probability that each label is present.

        The probability of an ensemble is calibrated. In a list, a label set by a rule has the precision that the
        learner expects of that literal on new examples or, if none is stored, the Laplace-smoothed precision in
        training, (TP + 1) / (TP + FP + 2); a label that no rule sets has the same of the examples without such a rule.
        A list's `predict` follows the rules, so it may disagree with 0.5 if a rule is uncertain.
        """
        table = self._read(X)
        return self._target.probabilities_out(self.model_.chances_of(table))

    def _provenance(self, training: TrainingData) -> dict[str, Any]:
        """Return the provenance of a model, in plain JSON values."""
        parameters = self.get_params(deep=False)
        return {
            "learner": type(self).__name__,
            "options": {name: plain(value) for name, value in parameters.items() if name not in _NOT_STORED},
            "polyrule_version": __version__,
            "examples": len(training.table),
            "data_fingerprint": data_fingerprint(training),
        }

    def _sample_size(self, training: TrainingData) -> int | None:
        """Return the number of examples to learn from; None for all."""
        largest = self.max_samples
        return None if largest is None or len(training.table) <= largest else int(largest)

    def _start(self, start: Any, training: TrainingData) -> Any:
        """Return the model to start from, after checking that it has the labels and features of the data."""
        if start is None:
            return None
        if not isinstance(start, self._holds):
            kind = type(start).__name__
            raise OptionError(f"{parameter_name('start')} must be a {self._holds.__name__}, not {kind}")
        table: Any = training.table
        check_table(start, table)
        if start.label_names != training.label_names:
            problem = "has other labels than the data; pass a model with the same ones, in the same order"
            raise ModelError(f"{parameter_name('start')} {problem}")
        return start

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.classifier_tags.multi_label = True
        return tags


def pass_on_interrupt(reason: str, model: Any) -> None:
    """Raise KeyboardInterrupt again, once the estimator is fitted."""
    if reason == "interrupted":
        logger.warning("interrupted: the estimator keeps the %d rule(s) learned so far", len(model))
        raise KeyboardInterrupt
