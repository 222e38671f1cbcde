"""Scikit-learn class for one short rule list over all labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from polyrule.covering.learner import Learner, Reason, SeparateOptions
from polyrule.data.examples import unscaled
from polyrule.data.labels import dense_labels
from polyrule.data.table import Table
from polyrule.estimators.base import FitContext
from polyrule.estimators.constraints import Constraints
from polyrule.estimators.inputs import TrainingData, plain, unpacked
from polyrule.estimators.lists import RuleListEstimator
from polyrule.estimators.options import Allowed, number, whole
from polyrule.estimators.sampling import list_on_all, sampled, share_of
from polyrule.estimators.seco import SeCoClassifier
from polyrule.estimators.warnings import warn_about_measure
from polyrule.measures import Measure, Objective, get
from polyrule.measures.ratio import exact_number
from polyrule.model import RuleList
from polyrule.model.columns import used_features
from polyrule.model.counting import list_counts, with_counts
from polyrule.search.counted.counting import Counting
from polyrule.search.protocol import GrowOptions
from polyrule.selection.pipeline import learn_list
from polyrule.selection.problem import Examples
from polyrule.selection.settings import ListSettings


class RuleListClassifier(RuleListEstimator):
    """Multi-label rule list: few rules with heads of several labels, selected for the list as a whole.

    Each rule makes labels present, and an example has a label if a rule predicts it: each rule can be read alone, in
    any order. Rules are grown by separate-and-conquer. Those are selected with which the whole list has the best F1,
    less a cost of rules, conditions and labels.

    Parameters
    ----------
    measure : str or Measure, default="f0.5"
        Measure by which a rule is grown: "precision", "f1", "f0.5", "hamming", "laplace", "m2", "wracc" and others, an
        expression such as "tp/(tp+fp+0.5*fn)", or a `Measure`. Choose one closer to recall, such as "f1", if the rules
        cover too few examples each.
    max_rules : int or None, default=None
        Maximum number of rules. None selects as many as exceed their cost. Decrease it for a list that fits on a page.
    max_conditions : int, default=3
        Maximum number of conditions of a rule; a group of alternatives counts as one. Decrease it for rules that are
        read at a glance.
    max_head_size : int or None, default=None
        Maximum number of labels in a head. None allows all. Use 1 for rules about one label each.
    optimize : str, default="f1"
        Measure of the whole list by which rules are selected: "f1", another F-measure such as "f0.5" or "f2", or
        "hamming". Use "f0.5" if wrong labels are worse than missed ones, "f2" if missed ones are worse.
    simplicity : float, default=1.0
        Factor on the cost of rules, conditions and labels of heads. Use 2 for shorter lists, 0.5 for longer ones.
    min_coverage : "auto" or float, default="auto"
        Minimum weight of examples that a rule covers; 0 is no minimum. "auto" is five examples, whatever their weight,
        or a tenth of them if they are fewer than fifty, so that no rule describes single persons. Increase it if rules
        of few examples are not wanted.
    min_precision : float, default=0
        Minimum precision to be expected of each label of a head on new examples, such as 0.5; 0 is no minimum. Increase
        it if each rule is used alone.
    max_alternatives : int, default=8
        Maximum number of conditions in a group of which not all must hold, such as ``any of {jam, queue}``. Use 0 for
        rules without groups.
    teacher : {"forest", None}, default="forest"
        Model that estimates the probability of each training label, so that rules do not fit noise; it is not part of
        the list. Use None for a faster fit to the labels alone.
    constraints : Constraints, dict or None, default=None
        Features that rules may not test, or in one direction only; see `polyrule.Constraints`. Use it if some features
        are not known when the model predicts, or a direction is known.
    max_samples : int or None, default=50_000
        Maximum number of examples to learn from. Of more, a sample is drawn by content, so that it does not depend on
        their order; counts are those on all examples. None learns from all.
    max_bins : int or None, default=None
        Maximum number of bins of a numeric feature, as in a store made by `polyrule.pack`. None uses each value.
    time_limit : float or None, default=None
        Seconds after which growing ends; the list is made of the bodies so far. None is no limit.
    n_jobs : int or None, default=None
        Number of threads, -1 for all cores. The list does not depend on it.
    verbose : bool, default=False
        Write a line on progress to standard error, at most one a second.

    Attributes
    ----------
    model_ : RuleList
        The learned list; `rules_` is the same object.
    label_names_ : tuple of str
        Names of the labels.
    features_ : tuple of Feature
        Name, kind and categories of each column of the training data.
    classes_ : ndarray
        Columns of `predict_proba`: the label names, or the classes if y was one-dimensional.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if they had names.
    labels_without_rules_ : tuple of str
        Labels that no rule sets: they are absent for every example.
    stopped_reason_ : str
        Reason for the end of learning: "complete", "max_rules", "time_limit", "callback" or "interrupted".

    Examples
    --------
    >>> from polyrule import RuleListClassifier
    >>> X = [[1, 9], [2, 8], [3, 1], [4, 2]]
    >>> Y = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]]
    >>> clf = RuleListClassifier().fit(X, Y, label_names=["calm", "sad", "happy"])
    >>> print(clf.rules_)
    1. calm, sad <- x0 <= 2   (right 4 of 4; expect 50 %)
    2. happy <- x0 > 2   (right 2 of 2; expect 50 %)
    (labels that no rule sets are absent)
    >>> clf.predict([[1.5, 7]])
    array([[1, 1, 0]])
    """

    _allowed: ClassVar[Mapping[str, Allowed]] = {
        "max_conditions": whole(0),
        "min_coverage": number("a finite number of at least 0", lambda value: 0 <= value < math.inf, "auto"),
        "optimize": Allowed("the name of a measure, such as 'f1'", lambda value: isinstance(value, str)),
    }

    def __init__(
        self,
        measure: str | Measure = "f0.5",
        *,
        max_rules: int | None = None,
        max_conditions: int = 3,
        max_head_size: int | None = None,
        optimize: str = "f1",
        simplicity: float = 1.0,
        min_coverage: str | float = "auto",
        min_precision: float = 0,
        max_alternatives: int = 8,
        teacher: str | None = "forest",
        constraints: Constraints | Mapping[str, Any] | None = None,
        max_samples: int | None = 50_000,
        max_bins: int | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.measure = measure
        self.max_rules = max_rules
        self.max_conditions = max_conditions
        self.max_head_size = max_head_size
        self.optimize = optimize
        self.simplicity = simplicity
        self.min_coverage = min_coverage
        self.min_precision = min_precision
        self.max_alternatives = max_alternatives
        self.teacher = teacher
        self.constraints = constraints
        self.max_samples = max_samples
        self.max_bins = max_bins
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def paper(cls, measure: str | Measure = "f0.5", **options: Any) -> SeCoClassifier:
        """Return ``SeCoClassifier(measure, **options)``, the learner of the paper.

        `kernels` and `device` may be among the options: they are settings of its fits, as within `config_context`.
        """
        settings: dict[str, Any] = {name: options.pop(name) for name in ("kernels", "device") if name in options}
        learner = SeCoClassifier(measure, **options)
        if settings:
            learner._settings = settings
        return learner

    def _learn(
        self, training: TrainingData, counting: Counting, start: RuleList | None, context: FitContext
    ) -> tuple[RuleList, Reason]:
        start, learner = self._start(start, training), self._learner(counting, context)
        size, threads = self._sample_size(training), context.compute.threads
        if size is None:
            return self._select(unpacked(training), learner, start, context)
        sample = sampled(training, size, threads)
        least = exact_number(self._min_weight) * share_of(sample, training)
        learner = replace(learner, growing=replace(learner.growing, min_coverage=least))
        model, reason = self._select(unpacked(sample), learner, start, context)
        return list_on_all(model, training, size, 0 if start is None else len(start), threads), reason

    def _select(
        self, training: TrainingData, learner: Learner, start: RuleList | None, context: FitContext
    ) -> tuple[RuleList, Reason]:
        """Return a short list whose rules are selected for the list as a whole."""
        settings = ListSettings(
            self.optimize,
            simplicity=float(self.simplicity),
            teacher=self.teacher is not None,
            max_rules=self.max_rules,
            max_head_size=self.max_head_size,
            min_precision=plain(self.min_precision),
            min_rows=None if self._has_automatic_coverage else 1,
            max_members=self.max_alternatives if self.max_alternatives > 1 else 0,
        )
        table, truth, limits = training.table, dense_labels(training.truth), self._limits(training)
        assert isinstance(table, Table)
        examples = Examples(table, truth, training.weights, training.label_names, training.scale)
        constraints = None if limits.none else limits
        model, reason = learn_list(examples, settings, learner, constraints, start, context.callback)
        counts = list_counts(model, table.decoded(used_features(model.rules)), truth, training.weights)
        after = 0 if start is None else len(start)
        return with_counts(model, counts, partial(unscaled, scale=training.scale), after, only_alone=True), reason

    @property
    def _has_automatic_coverage(self) -> bool:
        return isinstance(self.min_coverage, str)

    @property
    def _min_weight(self) -> float:
        return 0.0 if self._has_automatic_coverage else plain(self.min_coverage)

    def _learner(self, counting: Counting, context: FitContext) -> Learner:
        """Return the learner that grows the bodies."""
        objective = Objective(get(self.measure), max_head_size=self.max_head_size, negative=False)
        warn_about_measure(objective)
        growing = GrowOptions(label_conditions=False, min_coverage=self._min_weight, max_conditions=self.max_conditions)
        separating = SeparateOptions(time_limit=plain(self.time_limit))
        return Learner(objective, growing, separating, context.compute, counting)
