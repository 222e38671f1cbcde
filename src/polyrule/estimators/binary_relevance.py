"""Scikit-learn class for one rule list per label."""

from __future__ import annotations

from typing import Any, ClassVar

from polyrule.covering.learner import Learner, Reason, SeparateOptions
from polyrule.errors import OptionError
from polyrule.estimators.base import FitContext
from polyrule.estimators.inputs import TrainingData, plain
from polyrule.estimators.lists import RuleListEstimator
from polyrule.estimators.warnings import warn_about_measure
from polyrule.measures import Measure, Objective, get
from polyrule.model import RuleList
from polyrule.search.counted.counting import Counting
from polyrule.search.protocol import GrowOptions
from polyrule.utils.messages import parameter_name


class BinaryRelevanceRuleClassifier(RuleListEstimator):
    """One independent rule list per label, the baseline of the paper.

    Each list predicts the rarer value of its label from the features only, ends when a new rule has no more true than
    false positives, and predicts the majority of the uncovered training examples if no rule covers an example. Counts
    are those of the binary problem whose positive class is the predicted value, be it present or absent. All columns
    are used.

    Parameters
    ----------
    measure : str or Measure, default="f0.5"
        Measure by which rules are judged; see `SeCoClassifier`.
    beam_width : int, default=1
        Number of bodies kept at each step of growing a rule; 1 is greedy. A beam of 2 takes several times as long.
    min_coverage : float, default=0
        Minimum weight of examples that a rule covers; 0 is no minimum. Increase it if rules of few examples are not
        wanted.
    max_conditions : int or None, default=None
        Maximum number of conditions of a rule; None is no limit.
    max_bins : int or None, default=None
        Maximum number of bins of a numeric feature, as in a store made by `polyrule.pack`. None uses each value.
    time_limit : float or None, default=None
        Seconds after which growing ends; the rule in progress is kept as an unfinished one. None is no limit.
    n_jobs : int or None, default=None
        Number of threads, -1 for all cores. The lists do not depend on it.
    verbose : bool, default=False
        Write a line on progress to standard error, at most one a second.

    Attributes
    ----------
    model_ : RuleList
        The lists of all labels, one after the other; `rules_` is the same object.
    label_names_, features_, classes_, n_features_in_, feature_names_in_, stopped_reason_
        As in `RuleListClassifier`.
    labels_without_rules_ : tuple of str
        Labels that no rule sets.

    Examples
    --------
    >>> from polyrule import BinaryRelevanceRuleClassifier
    >>> clf = BinaryRelevanceRuleClassifier("precision").fit([[1], [2], [3]], [[1, 0], [0, 0], [0, 1]])
    >>> print(clf.rules_)
    1. y0 <- x0 <= 1.5   (TP 1, FP 0)
    2. y1 <- x0 > 2.5   (TP 1, FP 0)
    (labels that no rule sets are absent)
    """

    _keep_columns: ClassVar[Any] = "*"

    def __init__(
        self,
        measure: str | Measure = "f0.5",
        *,
        beam_width: int = 1,
        min_coverage: float = 0,
        max_conditions: int | None = None,
        max_bins: int | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.measure = measure
        self.beam_width = beam_width
        self.min_coverage = min_coverage
        self.max_conditions = max_conditions
        self.max_bins = max_bins
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(
        self, training: TrainingData, counting: Counting, start: RuleList | None, context: FitContext
    ) -> tuple[RuleList, Reason]:
        if start is not None:
            remedy = "leave it out, or use SeCoClassifier"
            raise OptionError(f"{parameter_name('start')} is for one list over all labels; {remedy}")
        growing = GrowOptions(self.beam_width, False, plain(self.min_coverage), self.max_conditions)
        separating = SeparateOptions(
            remaining=0.0, stop_threshold=None, keep_covered=False, time_limit=plain(self.time_limit)
        )
        objective = Objective(get(self.measure))
        warn_about_measure(objective)
        learner = Learner(objective, growing, separating, context.compute, counting)
        return learner.binary_relevance(training, context.callback)
