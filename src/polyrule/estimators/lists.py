"""Base of the classifiers that learn rule lists."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from polyrule.covering import constraints as limits
from polyrule.covering.learner import Reason
from polyrule.data.table import Table
from polyrule.estimators.base import FitContext, RuleEstimator, pass_on_interrupt
from polyrule.estimators.constraints import Constraints
from polyrule.estimators.inputs import TrainingData, packed_training
from polyrule.estimators.warnings import warn_about_model
from polyrule.model import RuleList
from polyrule.model.predict import predict as run_rules
from polyrule.search.counted.counting import Counting


class RuleListEstimator(RuleEstimator):
    """Base of the classifiers that learn rule lists."""

    _holds = RuleList
    max_conditions: int | None
    max_bins: int | None
    refine: bool = False

    model_: RuleList

    def _learn(
        self, training: TrainingData, counting: Counting, start: RuleList | None, context: FitContext
    ) -> tuple[RuleList, Reason]:
        raise NotImplementedError

    def _fit_to(self, training: TrainingData, start: Any, context: FitContext) -> Self:
        counting = Counting(self.max_bins, self.refine, context.device)
        return self._fit(training, counting, start, context)

    def _fit(self, training: TrainingData, counting: Counting, start: RuleList | None, context: FitContext) -> Self:
        with context.on_device():
            model, reason = self._learn(packed_training(training, counting), counting, start, context)
        learned = {"labels_without_rules_": model.labels_without_rules}
        model = self._keep(training, model, reason, {}, **learned)
        if isinstance(training.table, Table):
            several = training.target.kind == "multilabel"
            warn_about_model(model, training.truth, reason, several and getattr(self, "max_rules", None) is None)
        pass_on_interrupt(reason, model)
        return self

    def _limits(self, training: TrainingData) -> limits.Constraints:
        """Return the constraints by positions of features and labels."""
        constraints = Constraints.of(self.constraints)
        return limits.Constraints.read(
            training.table, training.label_names, constraints.features, constraints.forbidden, constraints.monotone
        )

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
