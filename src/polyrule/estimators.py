"""The scikit-learn classes: a rule list for all labels, and one list per label."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from polyrule.errors import OptionError
from polyrule.kernels.engine import GrowOptions
from polyrule.learning.estimator import RuleEstimator, TrainingData
from polyrule.learning.learners import Learner
from polyrule.learning.progress import Callback
from polyrule.learning.separate import Reason, SeparateOptions
from polyrule.measures import Lift, Measure, Objective, get
from polyrule.model import RuleList
from polyrule.model.explain import Explanation, explain
from polyrule.model.predict import predict as run_rules
from polyrule.model.probability import predict_proba as rule_probabilities

logger = logging.getLogger(__name__)


class _RuleClassifier(RuleEstimator):
    """What both classifiers share: fitting, predicting, explaining."""

    callback: Callback | None

    def _learn(self, training: TrainingData) -> tuple[RuleList, Reason]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, label_names: Sequence[str] | None = None) -> Self:
        """Learn rules.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Table or Dataset
            Features. Text, boolean and categorical columns are nominal; NaN is missing. A `Dataset` brings its labels.
        y : label matrix of 0/1, or a one-dimensional array of classes
            For several classes one label per class is learned and the most probable one predicted.
        sample_weight : array, optional
            Weights of the examples; 0 leaves one out.
        label_names : sequence of str, optional
            Names to print; a data frame of labels brings its own.

        Returns
        -------
        self
            Fitted. An interrupt (Ctrl-C) keeps the rules learned so far: the estimator is fitted before
            KeyboardInterrupt goes on.
        """
        training = self._read_training(X, y, sample_weight, label_names)
        model, reason = self._learn(training)
        model.info.update(self._provenance(training) | {"stopped": reason})
        self._remember(training)
        self.model_ = model
        self.stopped_reason_ = reason
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

        A label set by a rule gets the Laplace-smoothed share of training examples on which that literal was right,
        (TP + 1) / (TP + FP + 2); a label that nobody set gets the smoothed share of present labels among the training
        examples where nobody set it. `predict` follows the rules, so it may disagree with 0.5 where a rule's own
        evidence is weak.
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

    def explain(self, X: Any, row: int = 0, *, near: int = 1, digits: int | None = None) -> Explanation:
        """Explain the prediction for one example: which rule set each label, with which conditions and counts.

        `near` lists rules that failed by so few conditions, `digits` rounds numbers for reading.
        """
        return explain(self.model_, self._read_row(X, row), near=near, digits=digits)

    @property
    def rules_(self) -> RuleList:
        """The learned rules in order; prints as in the paper."""
        check_is_fitted(self, "model_")
        return self.model_


class RuleListClassifier(_RuleClassifier):
    """Multi-label rule list by separate-and-conquer, with heads of several labels or of one.

    Parameters
    ----------
    measure : str or Measure
        What a rule is judged by: "precision", "recall", "f1", "f0.5", "hamming", "jaccard", "laplace", "m2", "wracc",
        "matthews", "rate-difference", "subset", an expression such as "tp/(tp+fp+0.5*fn)", or a `Measure`.
    heads : {"multi", "single"}
        Heads of any number of labels, or of one label.
    averaging : {"micro", "label", "example", "macro"}
    scope : {"head", "all", "full"}
        Which labels a rule is judged on. `full` makes full predictions: a rule sets every label, those outside its
        head to absent.
    search : str
        Head search; "auto" takes the cheapest that is provably exact.
    lift : str, Lift or None
        Preference for larger heads, such as "kln:0.16" or "root:4".
    negative : bool
        Whether rules may predict that a label is absent.
    label_conditions : bool
        Whether bodies may test labels that earlier rules have set.
    beam_width : int
        Bodies kept at each step of growing a rule; 1 is greedy.
    min_coverage : float
        Least weight of examples a rule must cover; 0 is off.
    max_conditions, max_head_size, max_rules : int or None
        Limits; None is off.
    remaining : float
        End when no more than this share of the training weight is left.
    stop_threshold : float or None
        A rule gets a stop when at most this share of the weight it covers still has an unset label. None: no stops.
    keep_covered : bool
        Whether examples covered by a rule without a stop all stay, or only those with an unset label.
    time_limit : float or None
        Seconds after which learning ends with the list so far.
    callback : callable or None
        Called with a `Progress` after every rule; returning True ends learning.
    kernels : {None, "native", "reference"}
        Which engine; both give the same list.
    n_jobs : int or None
        Threads; the list does not depend on it.

    Attributes
    ----------
    model_ : RuleList
        The learned list; `rules_` is the same object.
    label_names_, features_, classes_, n_features_in_, feature_names_in_, stopped_reason_

    Examples
    --------
    >>> from polyrule import RuleListClassifier
    >>> X = [[1, 9], [2, 8], [3, 1], [4, 2]]
    >>> Y = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]]
    >>> clf = RuleListClassifier(measure="precision").fit(X, Y, label_names=["calm", "sad", "happy"])
    >>> print(clf.rules_)
    1. calm, sad, ¬happy <- x0 <= 2.5   (TP 6, FP 0) [stop]
    2. ¬calm, ¬sad, happy <- true   (TP 6, FP 0) [stop]
    (labels that no rule sets are absent)
    >>> clf.predict([[1.5, 7]])
    array([[1, 1, 0]])
    """

    def __init__(
        self,
        measure: str | Measure = "f0.5",
        heads: str = "multi",
        averaging: str = "micro",
        scope: str = "head",
        search: str = "auto",
        lift: str | Lift | None = None,
        negative: bool = True,
        label_conditions: bool = True,
        beam_width: int = 1,
        min_coverage: float = 0,
        max_conditions: int | None = None,
        max_head_size: int | None = None,
        remaining: float = 0.1,
        stop_threshold: float | None = 0.01,
        keep_covered: bool = True,
        max_rules: int | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        kernels: str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.measure = measure
        self.heads = heads
        self.averaging = averaging
        self.scope = scope
        self.search = search
        self.lift = lift
        self.negative = negative
        self.label_conditions = label_conditions
        self.beam_width = beam_width
        self.min_coverage = min_coverage
        self.max_conditions = max_conditions
        self.max_head_size = max_head_size
        self.remaining = remaining
        self.stop_threshold = stop_threshold
        self.keep_covered = keep_covered
        self.max_rules = max_rules
        self.time_limit = time_limit
        self.callback = callback
        self.kernels = kernels
        self.n_jobs = n_jobs

    def _learn(self, training: TrainingData) -> tuple[RuleList, Reason]:
        objective = Objective(
            get(self.measure),
            averaging=self.averaging,
            scope=self.scope,
            lift=self.lift,  # type: ignore[arg-type]
            search=self.search,
            max_head_size=1 if self.heads == "single" else self.max_head_size,
            negative=self.negative,
        )
        if self.heads == "single" and self.max_head_size not in (None, 1):
            raise OptionError("max_head_size contradicts heads='single'; leave it out or use heads='multi'")
        growing = GrowOptions(
            self.beam_width, self.label_conditions, float(self.min_coverage / training.scale), self.max_conditions
        )
        separating = SeparateOptions(
            self.remaining, self.stop_threshold, self.keep_covered, self.max_rules, self.time_limit
        )
        learner = Learner(objective, growing, separating, self.kernels, self._threads())
        t = training
        return learner.rule_list(t.table, t.truth, t.weights, t.target.names, self.heads, t.scale, self.callback)


class BinaryRelevanceRuleClassifier(_RuleClassifier):
    """One independent rule list per label, the paper's baseline.

    Each list predicts the rarer value of its label from the features only, stops when a new rule has no more true than
    false positives, and falls back to the majority of the training examples that no rule covers.

    Parameters
    ----------
    measure : str or Measure
        What a rule is judged by; see `RuleListClassifier`.
    beam_width, min_coverage, max_conditions, time_limit, callback, kernels, n_jobs
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
    ) -> None:
        self.measure = measure
        self.beam_width = beam_width
        self.min_coverage = min_coverage
        self.max_conditions = max_conditions
        self.time_limit = time_limit
        self.callback = callback
        self.kernels = kernels
        self.n_jobs = n_jobs

    def _learn(self, training: TrainingData) -> tuple[RuleList, Reason]:
        growing = GrowOptions(self.beam_width, False, float(self.min_coverage / training.scale), self.max_conditions)
        separating = SeparateOptions(remaining=0.0, stop_threshold=None, keep_covered=False, time_limit=self.time_limit)
        learner = Learner(Objective(get(self.measure)), growing, separating, self.kernels, self._threads())
        t = training
        return learner.binary_relevance(t.table, t.truth, t.weights, t.target.names, t.scale, self.callback)
