"""What the estimators that learn rule lists share."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyrule.data.table import Table
from polyrule.errors import OptionError
from polyrule.estimators.base import RuleEstimator, TrainingData
from polyrule.learning.messages import Callback, warn_about_identifiers, warn_about_model
from polyrule.learning.separate import Reason
from polyrule.model import RuleList
from polyrule.model.predict import predict as run_rules
from polyrule.model.probability import predict_proba as rule_probabilities
from polyrule.model.rounding import with_gaps
from polyrule.scale.counting import Counting
from polyrule.store import Packed, Store, pack_table
from polyrule.store.coded_table import unpack, unpack_values
from polyrule.store.packed import BLOCK_ROWS

logger = logging.getLogger(__name__)


class RuleClassifier(RuleEstimator):
    """What the classifiers that learn lists share: fitting, predicting, explaining."""

    _holds = RuleList
    callback: Callback | None
    max_bins: int | None
    refine: bool
    device: str
    verbose: bool

    model_: RuleList
    stopped_reason_: Reason

    def _learn(
        self, training: TrainingData, counting: Counting, start: RuleList | None = None
    ) -> tuple[RuleList, Reason]:
        raise NotImplementedError

    def _counting(self) -> Counting:
        """How rows are counted where data is binned or packed."""
        return Counting(self.max_bins, self.refine, self.device)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        label_names: Sequence[str] | None = None,
        labels: Any = None,
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
        feature_names : sequence of str, optional
            What rules call the columns of an array or a sparse matrix; frames bring their own names. For a fitted
            pipeline, see `polyrule.name_features`.

        Returns
        -------
        self
            Fitted. An interrupt (Ctrl-C) keeps the rules learned so far: the estimator is fitted before
            KeyboardInterrupt goes on.
        """
        return self._fit(self._read_training(X, y, sample_weight, label_names, labels, feature_names), self._counting())

    def _fit(self, training: TrainingData, counting: Counting, start: RuleList | None = None) -> Self:
        if isinstance(training.table, Table):
            warn_about_identifiers(training.table)
        model, reason = self._learn(training, counting, start)
        model = with_gaps(model, training.table)
        model.info.update(self._provenance(training) | {"stopped": reason})
        self._remember(training, model_=model, stopped_reason_=reason)
        if isinstance(training.table, Table):
            several = training.target.kind == "multilabel"
            warn_about_model(model, training.truth, reason, several and getattr(self, "max_rules", None) is None)
        if reason == "interrupted":
            logger.warning("interrupted: the estimator keeps the %d rule(s) learned so far", len(model))
            raise KeyboardInterrupt
        return self

    def predict(self, X: Any) -> Any:
        """Predict labels: a 0/1 matrix (sparse if the training labels were), or classes if y was one-dimensional."""
        table = self._read(X)
        labels = run_rules(self.model_, table).labels
        return self._target.labels_out(labels, lambda: rule_probabilities(self.model_, table))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability that each label is present.

        A label set by a rule gets what the learner expects of that literal on new examples or, where it stored nothing,
        the Laplace-smoothed share of training examples on which it was right, (TP + 1) / (TP + FP + 2); a label that
        nobody set gets the same of the examples where nobody set it. `predict` follows the rules, so it may disagree
        with 0.5 where a rule's own evidence is weak.
        """
        table = self._read(X)
        return self._target.probabilities_out(rule_probabilities(self.model_, table))

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
            raise OptionError("max_bins is chosen when data is packed; leave it out to fit a store")
        if counting.refine and isinstance(table, Store) and not table.has_values:
            raise OptionError("refine=True needs the original values; pack the data with keep_values=True")
        return training
    if counting.max_bins is None:
        counting.check_used()
        return training
    t = training
    packed = pack_table(
        table, t.truth, t.weights, t.target.names, counting.max_bins, BLOCK_ROWS, keep_values=counting.refine
    )
    return replace(training, table=packed, truth=None)


def examples_of(training: TrainingData, counting: Counting) -> TrainingData:
    """Return packed data as a table of codes, or of values where thresholds are looked for between them."""
    if not isinstance(training.table, Packed):
        return training
    table, truth, weights = unpack(training.table)
    return replace(
        training,
        table=unpack_values(training.table) if counting.refine else table,
        truth=truth,
        weights=weights,
    )
