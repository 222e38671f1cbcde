"""Scikit-learn class for ensembles of weighted rules."""

from __future__ import annotations

import dataclasses
import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from polyrule.covering import constraints as limits_of_bodies
from polyrule.data.labels import dense_labels
from polyrule.data.table import Table
from polyrule.ensemble.boosting import BoostingOptions
from polyrule.ensemble.decision import OutOfFoldScores, check_decision, choose
from polyrule.ensemble.fit import fit
from polyrule.ensemble.growth import GrowthOptions
from polyrule.ensemble.options import FitOptions
from polyrule.ensemble.refit import required_signs
from polyrule.errors import ModelWarning, OptionError
from polyrule.estimators.base import Callback, FitContext, RuleEstimator, pass_on_interrupt
from polyrule.estimators.constraints import Constraints
from polyrule.estimators.inputs import TrainingData, plain, unpacked
from polyrule.estimators.options import price, whole
from polyrule.estimators.sampling import ensemble_on_all, sampled
from polyrule.model.rule import WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.search.gpu.gradients import kernels_of
from polyrule.utils.arrays import Bools, Bytes, Ints, Ints8
from polyrule.utils.compute import Compute
from polyrule.utils.messages import argument, depth_of_caller, parameter_name

logger = logging.getLogger(__name__)

# More examples need no teacher: few rules cannot fit their noise.
_MAX_FOR_TEACHER = 200_000
_POINTS = 10
_SPLITS = "a number of folds, a splitter, or pairs of row numbers"
_HEAD_FACTOR = 8  # labels of a rule before pruning, for each that it may have on average
_SEARCH_COST = 0.5  # gain that a label must exceed to count for a body, if heads are short
_AUTO_RULES = 30, 100  # one rule per label, within these
# Nats, for up to 30 rules. Of more rules, each explains less of the loss, and with it each entry of its head.
_LABEL_COST = 0.3


class RuleEnsembleClassifier(RuleEstimator):
    """Ensemble of few readable rules with the strength of a large ensemble.

    Each rule adds a signed weight to every label of its head; a label is predicted if its sum is large enough. Rules
    are added one at a time by their decrease of the logistic loss of all labels, and after every rule the weights of
    all are refitted. For more than 100 rules, three builds, each of a part of the examples, are pooled, refitted to
    all of them, and reduced to the rules that the loss misses most. A forest fitted to the same training data
    estimates each training label, so that the few rules do not fit noise; the forest is not part of the model.

    Parameters
    ----------
    max_rules : "auto" or int, default="auto"
        Maximum number of rules. "auto" is one per label, at least 30 and at most 100. Decrease it for a scorecard.
    min_coverage : "auto" or int, default="auto"
        Minimum number of examples that a rule covers, whatever their weights. "auto" is five, or a tenth of the
        examples if they are fewer than fifty.
    max_conditions : int, default=4
        Maximum number of conditions of a rule; a group of alternatives counts as one. Decrease it for rules that are
        read at a glance.
    labels_per_head : float or None, default=4
        Maximum mean number of labels of a head; None is no limit. Use 1 for rules about one label each.
    label_cost : "auto" or float, default="auto"
        Decrease of the training loss, in nats, that an entry of a head must exceed; "auto" is 0.3 for up to 30 rules,
        and less the more rules there are, 0.09 for 100. Increase it for shorter heads.
    max_alternatives : int, default=8
        Maximum number of conditions in a group of which not all must hold: "any of {jam, queue}", "at least 2 of
        (age > 65, smoker = yes, systolic > 150)". Use 0 for rules without groups.
    ridge : "auto" or float, default="auto"
        Penalty on squared weights; "auto" is 2, or 0.15 for text. Increase it if weights are implausibly large.
    teacher : {"forest", None}, default="forest"
        Model that estimates the probability of each training label, so that rules do not fit noise; it is not part of
        the ensemble. Use None for a faster fit to the labels alone.
    optimize : {"micro-f1", "macro-f1", "example-f1", "subset", "hamming"}, default="micro-f1"
        Measure that the decision is tuned for. Set it to the one that you report.
    decision : {"auto", "threshold", "per-label", "subset", "expected-f1"}, default="auto"
        Decision from sums: one cutoff of the probability, one per label, the most probable label set of the training
        data, or the one with the largest expected F1. "auto" is the kind that suits `optimize`.
    points : bool or int, default=False
        Whole points instead of weights (a scorecard): True for at most 10 points per entry, or the maximum. A
        point has the log-odds that suit the label, or the same for all if `decision` chooses label sets. An "auto"
        decision is then made with cutoffs.
    cv : int, splitter or iterable of (train, test), default=3
        Folds of the cross-validation, on the training data only. Each of its models learns from all examples outside
        its test rows. Use 0 for none, or a splitter if examples belong together.
    constraints : Constraints, dict or None, default=None
        Features that rules may not test, or that count in one direction only; see `polyrule.Constraints`. The teacher
        does not see forbidden features. With a monotone feature decisions are made by cutoffs, so that predicted
        labels are monotone, too; a missing value is neither more nor less than another.
    max_bins : int, default=64
        Maximum number of bins of a numeric feature; those of a store are whole bins of the store.
    max_samples : int or None, default=200_000
        Maximum number of examples to learn from. Of more, a sample is drawn by content, so that it does not depend on
        their order; coverage is counted on all. None learns from all.
    random_state : int, RandomState or None, default=0
        Seed of the forest, the synthetic examples, the subsamples and the folds.
    time_limit : float or None, default=None
        Seconds for `fit`, including the teacher and the cross-validation. None is no limit.
    n_jobs : int or None, default=None
        Number of threads, -1 for all cores. The model does not depend on it.
    verbose : bool, default=False
        Write a line on progress to standard error, at most one a second.

    Attributes
    ----------
    model_ : RuleEnsemble
        The rules, weights and decision; `rules_` is the same object.
    stopped_reason_ : {"complete", "time_limit", "callback", "interrupted"}
        Reason for the end of the fit.
    cv_scores_ : dict
        Value of `optimize` in cross-validation, by kind of decision.
    labels_without_rules_ : tuple of str
        Labels that no rule weights; their probability is constant.
    label_names_ : tuple of str
        Names of the labels.
    features_ : tuple of Feature
        Name, kind and categories of every column of the training data.
    classes_ : ndarray
        Columns of `predict_proba`: the label names, or the classes if y was one-dimensional.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if they had names.

    Examples
    --------
    >>> from polyrule import RuleEnsembleClassifier
    >>> X = [[tempo, loud] for tempo in range(60, 180, 5) for loud in (1, 5)]
    >>> Y = [[tempo < 100, tempo >= 100 and loud > 3, loud > 3] for tempo, loud in X]
    >>> clf = RuleEnsembleClassifier(max_rules=3, points=5, teacher=None)
    >>> clf = clf.fit(X, Y, label_names=["calm", "happy", "party"])
    >>> clf.predict([[70, 1], [150, 5]])
    array([[1, 0, 0],
           [0, 1, 1]])
    """

    model_: RuleEnsemble
    cv_scores_: dict[str, Any]
    _holds = RuleEnsemble
    _allowed: ClassVar = {
        "max_rules": whole(0, "auto"),
        "min_coverage": whole(1, "auto"),
        "max_conditions": whole(1),
        "label_cost": price("auto"),
        "max_alternatives": whole(0),
        "max_bins": whole(2, maximum=60_000),
    }
    _scores: OutOfFoldScores | None = None

    def __init__(
        self,
        max_rules: str | int = "auto",
        *,
        min_coverage: str | int = "auto",
        max_conditions: int = 4,
        labels_per_head: float | None = 4,
        label_cost: str | float = "auto",
        max_alternatives: int = 8,
        ridge: str | float = "auto",
        teacher: str | None = "forest",
        optimize: str = "micro-f1",
        decision: str = "auto",
        points: bool | int = False,
        cv: int | Any = 3,
        constraints: Constraints | Mapping[str, Any] | None = None,
        max_bins: int = 64,
        max_samples: int | None = 200_000,
        random_state: Any = 0,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.max_rules = max_rules
        self.min_coverage = min_coverage
        self.max_conditions = max_conditions
        self.labels_per_head = labels_per_head
        self.label_cost = label_cost
        self.max_alternatives = max_alternatives
        self.ridge = ridge
        self.teacher = teacher
        self.optimize = optimize
        self.decision = decision
        self.points = points
        self.cv = cv
        self.constraints = constraints
        self.max_bins = max_bins
        self.max_samples = max_samples
        self.random_state = random_state
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check(self) -> None:
        super()._check()
        if isinstance(self.cv, (str, bytes, bool, float)) or self.cv is None:
            raise OptionError(parameter="cv", value=self.cv, allowed=_SPLITS)
        if isinstance(self.cv, (int, np.integer)):
            whole(0).check("cv", self.cv)
            if self.cv == 1:
                raise OptionError(parameter="cv", value=1, allowed="0, which holds nothing out, or at least 2 folds")
        check_decision(self.decision, self.optimize, Constraints.of(self.constraints).monotone)

    def _fit_to(self, training: TrainingData, start: Any, context: FitContext) -> Self:
        options, start = _options_of(self, len(training.label_names), context.compute), self._start(start, training)
        size, sample = self._sample_size(training), training
        if size is not None:
            if not isinstance(self.cv, (int, np.integer)):
                advice = f"pass a number of folds, or {argument('max_samples', None)}"
                raise OptionError(f"rules are learned from a sample; {advice}", parameter="cv")
            sample = sampled(training, size, context.compute.threads)
        if len(training.table) > _MAX_FOR_TEACHER:
            options = dataclasses.replace(options, teacher=False)
        sample = unpacked(sample)
        table, truth = sample.table, dense_labels(sample.truth)
        assert isinstance(table, Table)
        if start is not None:
            if start.unit != 1:
                raise OptionError("a scorecard cannot be gone on from: its points are no weights", parameter="start")
            options = dataclasses.replace(options, start=start.rules)
        directions: dict[str, str] = {}
        constraints = Constraints.of(self.constraints)
        if constraints.limits_bodies:
            limits = limits_of_bodies.Constraints.read(
                table, training.label_names, constraints.features, constraints.forbidden, constraints.monotone
            )
            directions = {table.features[j].name: "up" if op == ">" else "down" for j, op in limits.directions.items()}
            if not limits.allowed.all():
                table = table.emptied(np.asarray(limits.allowed.any(axis=1)))
                options = dataclasses.replace(options, allowed=limits.allowed)
            if directions:
                options = dataclasses.replace(options, direction=_direction(limits, options.start))
        weights = sample.weights.astype(np.float64) * float(sample.scale)
        names, fold = training.label_names, _folds_of(self.cv, truth, sample.positive)
        with context.on_device():
            fitted = fit(table, truth, weights, names, options, context.callback, fold)
        model = fitted.model
        if size is not None:
            model = ensemble_on_all(model, training, context.compute.threads)
            model.info.pop("weights", None)  # they are optimal for the sample
        info = {"monotone": directions} if directions else {}
        learned = {"cv_scores_": fitted.cv_scores, "_scores": fitted.scores}
        learned["labels_without_rules_"] = model.labels_without_rules
        model = self._keep(training, model, fitted.reason, info, **learned)
        if not model.rules and options.build.max_rules and fitted.reason == "complete":
            warnings.warn(
                "the ensemble has no rules: on held-out examples rules predict no better than the share of each label",
                ModelWarning,
                stacklevel=depth_of_caller(),
            )
        logger.info("%d rules, decision %r: %s", len(model.rules), model.decision.kind, fitted.cv_scores)
        pass_on_interrupt(fitted.reason, model)
        return self

    def _context(self, callback: Callback | None) -> FitContext:
        context = super()._context(callback)
        device = None if context.device == "cpu" else kernels_of(context.device)
        return dataclasses.replace(context, compute=dataclasses.replace(context.compute, device=device))

    def tune_decision(self, optimize: str | None = None, decision: str | None = None) -> Self:
        """Tune the decision for another measure, or another kind of decision, without another fit.

        The out-of-fold scores of the training examples are attributes of the fitted estimator.
        """
        check_is_fitted(self)
        if self._scores is None:
            raise OptionError(
                "the scores of training examples are not stored with a model; model_.tune_decision(data) takes others"
            )
        optimize = self.optimize if optimize is None else optimize
        kind = self.decision if decision is None else decision
        monotone = Constraints.of(self.constraints).monotone
        check_decision(kind, optimize, monotone)
        tuned, cv_scores = choose(self._scores, kind, optimize, by_label=bool(self.points or monotone))
        tuned_for = {"optimize": optimize, "decision": kind}  # `verify` tunes again
        info = self.model_.info | {"cross_validation": cv_scores, "tuned": tuned_for}
        tuned = tuned.in_points(self.model_.unit) if self.points else tuned
        tuned = tuned if self.model_.plan is None else tuned.only_allowed(self.model_.plan)
        self.model_ = dataclasses.replace(self.model_, decision=tuned, info=info)
        self.cv_scores_ = cv_scores
        return self

    def decision_path(self, X: Any) -> sp.csr_matrix:
        """Return a sparse indicator (examples × rules) of the rules that fire."""
        table = self._read(X)
        return sp.csr_matrix(self.model_.fired(table).astype(np.int64))


def _direction(limits: limits_of_bodies.Constraints, start: Sequence[WeightedRule]) -> Ints8:
    """Return per feature 1 or -1 if all sums may only rise or only fall with it, else 0."""
    direction = np.zeros(len(limits.allowed), dtype=np.int8)
    for place, op in limits.directions.items():
        direction[place] = 1 if op == ">" else -1
    for number, rule in enumerate(start, start=1):
        if len(set(required_signs(rule.body, direction.tolist()))) > 1:
            raise OptionError(
                f"the coverage of rule {number} neither only grows nor only shrinks as the monotone features rise; "
                f"remove the rule, or the feature from {parameter_name('monotone')}",
                parameter="start",
            )
    return direction


def _options_of(learner: RuleEnsembleClassifier, labels: int, compute: Compute) -> FitOptions:
    """Return the parameters of an estimator as the options of a fit."""
    length = learner.labels_per_head
    fewest, largest = _AUTO_RULES
    max_rules = min(largest, max(fewest, labels)) if learner.max_rules == "auto" else int(learner.max_rules)
    return FitOptions(
        build=BoostingOptions(
            max_rules,
            label_cost=_LABEL_COST * fewest / max(fewest, max_rules)
            if learner.label_cost == "auto"
            else float(learner.label_cost),
            search_cost=0.0 if length is None else _SEARCH_COST,
            max_head=None if length is None else int(_HEAD_FACTOR * length),
            growth=GrowthOptions(int(learner.max_conditions), max(1, int(learner.max_alternatives))),
        ),
        teacher=learner.teacher is not None,
        labels_per_head=None if length is None else float(length),
        ridge=None if learner.ridge == "auto" else float(learner.ridge),
        min_coverage=None if learner.min_coverage == "auto" else int(learner.min_coverage),
        folds=int(learner.cv) if isinstance(learner.cv, (int, np.integer)) else 0,
        max_bins=int(learner.max_bins),
        points=_POINTS if plain(learner.points) is True else int(learner.points),
        decision=learner.decision,
        optimize=learner.optimize,
        time_limit=None if learner.time_limit is None else float(learner.time_limit),
        seed=int(check_random_state(learner.random_state).randint(2**31 - 1)),
        compute=compute,
    )


def _folds_of(cv: Any, truth: Bytes, positive: Bools | None) -> Ints | None:
    """Return the fold that each example is held out in, -1 for never; None for stratified folds.

    Row numbers count all examples of the user; a splitter gets those of positive weight.
    """
    if isinstance(cv, (int, np.integer)):
        return None
    splits = cv
    if hasattr(cv, "split"):
        splits, positive = cv.split(np.zeros((len(truth), 1)), truth), None
    fold = np.full(len(truth) if positive is None else len(positive), -1, dtype=np.int64)
    try:
        for number, (_, test) in enumerate(splits):
            fold[np.asarray(test)] = number
    except (TypeError, ValueError, IndexError) as error:
        raise OptionError(f"the value is not {_SPLITS}: {error}", parameter="cv") from error
    return fold if positive is None else np.asarray(fold[positive])
