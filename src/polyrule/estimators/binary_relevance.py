"""The scikit-learn class for one rule list per label."""

from __future__ import annotations

from typing import Any

from polyrule.errors import OptionError
from polyrule.estimators.base import RuleClassifier, TrainingData, plain
from polyrule.learning.messages import Callback, warn_about_measure
from polyrule.learning.separate import Learner, Reason, SeparateOptions
from polyrule.measures import Measure, Objective, get
from polyrule.model import RuleList
from polyrule.search.counted.counting import Counting
from polyrule.search.protocol import GrowOptions
from polyrule.utils.messages import parameter_name


class BinaryRelevanceRuleClassifier(RuleClassifier):
    """One independent rule list per label, the paper's baseline.

    Each list predicts the rarer value of its label from the features only, stops when a new rule has no more true than
    false positives, and falls back to the majority of the training examples that no rule covers. Rules are judged by
    the counts of the binary problem whose positive class is the value they predict, be it present or absent.

    Parameters
    ----------
    measure : str or Measure
        What a rule is judged by; see `RuleListClassifier`.
    beam_width, min_coverage, max_conditions, time_limit, callback, kernels, n_jobs, max_bins, refine, device, verbose
        As in `RuleListClassifier`.
    keep_columns : list of str, or a pattern such as ``"*_id"``, default="*"
        Columns that rules may test although they identify rows: all, as in the paper.

    Attributes
    ----------
    model_ : RuleList
        The lists of all labels, one after the other; `rules_` is the same object.
    label_names_, features_, classes_, n_features_in_, feature_names_in_, stopped_reason_
        As in `RuleListClassifier`.

    Examples
    --------
    >>> from polyrule import BinaryRelevanceRuleClassifier
    >>> clf = BinaryRelevanceRuleClassifier("precision").fit([[1], [2], [3]], [[1, 0], [0, 0], [0, 1]])
    >>> print(clf.rules_)
    1. y0 <- x0 <= 1.5   (TP 1, FP 0)
    2. y1 <- x0 > 2.5   (TP 1, FP 0)
    (labels that no rule sets are absent)
    """

    def __init__(
        self,
        measure: str | Measure = "f0.5",
        beam_width: int = 1,
        min_coverage: float = 0,
        max_conditions: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        kernels: str | None = None,
        n_jobs: int | None = None,
        max_bins: int | None = None,
        refine: bool = False,
        device: str = "cpu",
        verbose: bool = False,
        keep_columns: Any = "*",
    ) -> None:
        self.measure = measure
        self.beam_width = beam_width
        self.min_coverage = min_coverage
        self.max_conditions = max_conditions
        self.time_limit = time_limit
        self.callback = callback
        self.kernels = kernels
        self.n_jobs = n_jobs
        self.max_bins = max_bins
        self.refine = refine
        self.device = device
        self.verbose = verbose
        self.keep_columns = keep_columns

    def _learn(
        self, training: TrainingData, counting: Counting, start: RuleList | None = None
    ) -> tuple[RuleList, Reason]:
        if start is not None:
            advice = "leave it out, or use RuleListClassifier"
            raise OptionError(f"{parameter_name('start')} is for one list over all labels; {advice}")
        growing = GrowOptions(self.beam_width, False, plain(self.min_coverage), self.max_conditions)
        separating = SeparateOptions(
            remaining=0.0, stop_threshold=None, keep_covered=False, time_limit=plain(self.time_limit)
        )
        objective = Objective(get(self.measure))
        warn_about_measure(objective)
        learner = Learner(objective, growing, separating, self._compute(), counting)
        return learner.binary_relevance(training, self._told())
