"""The scikit-learn class for compact ensembles of weighted rules, and the check of its parameters."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from polyrule.data.labels import dense_labels, require_known
from polyrule.data.table import Table
from polyrule.ensemble.building import BuildOptions
from polyrule.ensemble.control import Callback, LearnOptions, signs_of
from polyrule.ensemble.growing import Growth
from polyrule.ensemble.learning import learn
from polyrule.ensemble.tuning import Evidence, check_decision, choose
from polyrule.errors import OptionError
from polyrule.estimators.base import (
    RuleEstimator,
    TrainingData,
    listed,
    pass_on_interrupt,
    plain,
    unpacked,
)
from polyrule.estimators.options import whole
from polyrule.estimators.sampling import ensemble_on_all, sampled
from polyrule.learning.constraints import Constraints
from polyrule.model.rule import WeightedRule
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.scale.gpu_slopes import kernels_of
from polyrule.utils.arrays import Bools, Bytes, Ints, Ints8
from polyrule.utils.compute import Compute
from polyrule.utils.messages import argument, parameter_name

logger = logging.getLogger(__name__)

# More examples than these need no teacher: thirty rules cannot chase the noise of so many.
_MOST_TAUGHT = 200_000
_POINTS = 10
_SPLITS = "a number of folds, a splitter, or pairs of row numbers"
_TRIED_LABELS = 8  # labels that a rule may weigh before pruning, for every one that may stay on average
_SEARCH_COST = 0.5  # what a label must gain to count for a body, where heads shall be short


class RuleEnsembleClassifier(RuleEstimator):
    """A few rules that a person can read, with the strength of a large ensemble.

    Each rule adds a signed weight to every label of its head; a label is predicted when its sum is large enough. Rules
    are chosen one at a time by how far they can lower the logistic loss of all labels together, and after every rule
    the weights of all of them are refitted. A forest fitted to the same training data tells how sure one can be of each
    training label, which keeps the few rules from chasing noise; the forest is not part of the model.

    Parameters
    ----------
    max_rules : int
        Most rules.
    max_conditions : int
        Most conditions per rule; a group of alternatives counts as one.
    label_cost : "auto" or float
        How far an entry of a head must lower the training loss (in nats) to be worth reading; more gives shorter heads.
        "auto" takes the highest of a few prices at which the cross-validated log loss is within 2 % of the best.
    labels_per_head : float or None
        Most labels in a head on average; the price of an entry rises until that holds. None lets `label_cost` decide.
    alternatives : "auto" or bool
        Whether a rule may have a group of conditions of which not all must hold: "any of {jam, queue}", "at least 2 of
        (age > 65, smoker = yes, systolic > 150)". A body grows by whatever gains most, so that rules have a group where
        it pays; for an ensemble "auto" does what True does.
    max_members : int
        Most conditions in a group.
    beam_width : int
        Bodies kept at each step of growing a rule; 1 is greedy, more looks ahead.
    swaps : int
        How often, at the end, the weakest rule may be exchanged for a better one.
    restarts : int
        Greedy choices are partly luck: rules may be learned so many times, each time with other mixed examples of the
        teacher, and those that fit best are kept.
    ridge : "auto" or float
        Penalty on squared weights; "auto" chooses by cross-validation.
    teacher : {"forest", None}
        None fits the bare labels.
    decision : {"auto", "threshold", "per-label", "subset", "expected-f1"}
        How sums become labels: one threshold on the probability, one per label, the most probable label set seen in
        training, or the one with the largest expected F1; "auto" takes what does best in cross-validation.
    optimize : {"micro-f1", "macro-f1", "example-f1", "subset", "hamming"}
        What the decision is tuned for.
    points : bool or int
        Whole points instead of weights (a scorecard): True for at most 10 points per entry, or the largest number. A
        point is worth as much log-odds as suits the label, or the same for all where `decision` chooses label sets. An
        "auto" decision is then one that can be made by hand, with thresholds.
    cv : int, splitter or iterable of (train, test)
        Folds of the cross-validation, on the training data only. Each of its models learns from all examples outside
        its test rows.
    max_bins : int
        Most intervals that a numeric feature is cut into; those of a store are whole bins of the store.
    features : dict of str to list of str, or None
        Per label, the only features that rules for it may test; labels that are not named may use all.
    forbid : list of str or None
        Features that no rule may test; the teacher does not see them either.
    monotone : dict of str to {"up", "down"}, or None
        Numeric features that may count in one direction only: with "up" the sum of every label can only rise as the
        feature rises, with "down" only fall. A missing value is neither more nor less than another. Decisions are then
        made by thresholds, so that predicted labels follow.
    time_limit : float or None
        Seconds for all of `fit`; rules, teacher and folds share them.
    callback : callable or None
        Called with an `EnsembleProgress` when a phase begins and after every rule, from several threads if there are
        several; returning True ends the search for rules of that part.
    kernels : {None, "native", "reference"}
        Which search kernel; both give the same rules.
    n_jobs : int or None
        Threads; the model does not depend on it.
    random_state : int, RandomState or None
        Seed of the forest, the mixed examples and the folds. An int gives the same model on every run.
    max_samples : int or None
        Of more examples, rules and weights are learned from a sample of so many, drawn by content, so that it does not
        depend on their order; what rules cover is counted on all. None learns from all.
    device : {"cpu", "cuda"}
        Where gains and weights are computed, on a processor or a GPU; the model does not depend on it.
    verbose : bool
        Write a line on progress to standard error, at most one a second.
    keep_columns : list of str, or a pattern such as ``"*_id"``
        Columns that rules may test although they identify rows: text, keys and counters whose values are nearly all
        distinct are left out otherwise, with a warning.

    Attributes
    ----------
    model_ : RuleEnsemble
        The rules, weights and decision; `rules_` is the same object.
    stopped_reason_ : {"complete", "time_limit", "callback", "interrupted"}
        Why learning ended.
    merits_ : dict
        What each kind of decision that was tried reached in cross-validation.
    label_names_ : tuple of str
        Names of the labels.
    features_ : tuple of Feature
        Name, kind and categories of every column of the training data.
    classes_ : ndarray
        What the columns of `predict_proba` stand for: the label names, or the classes if y was one-dimensional.
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
    merits_: dict[str, Any]
    _holds = RuleEnsemble
    _allowed: ClassVar = {"max_rules": whole(0), "max_conditions": whole(1), "max_bins": whole(2, most=60_000)}
    _evidence: Evidence | None = None

    def __init__(
        self,
        max_rules: int = 30,
        max_conditions: int = 4,
        label_cost: str | float = "auto",
        labels_per_head: float | None = 4,
        alternatives: str | bool = "auto",
        max_members: int = 8,
        beam_width: int = 1,
        swaps: int = 0,
        restarts: int = 1,
        ridge: str | float = "auto",
        teacher: str | None = "forest",
        decision: str = "auto",
        optimize: str = "micro-f1",
        points: bool | int = False,
        cv: int | Any = 3,
        max_bins: int = 64,
        features: Mapping[str, Sequence[str]] | None = None,
        forbid: Sequence[str] | None = None,
        monotone: Mapping[str, Any] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        kernels: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: bool = False,
        max_samples: int | None = 200_000,
        device: str = "cpu",
        keep_columns: Any = (),
    ) -> None:
        self.max_rules = max_rules
        self.max_conditions = max_conditions
        self.label_cost = label_cost
        self.labels_per_head = labels_per_head
        self.alternatives = alternatives
        self.max_members = max_members
        self.beam_width = beam_width
        self.swaps = swaps
        self.restarts = restarts
        self.ridge = ridge
        self.teacher = teacher
        self.decision = decision
        self.optimize = optimize
        self.points = points
        self.cv = cv
        self.max_bins = max_bins
        self.features = features
        self.forbid = forbid
        self.monotone = monotone
        self.time_limit = time_limit
        self.callback = callback
        self.kernels = kernels
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.max_samples = max_samples
        self.device = device
        self.keep_columns = keep_columns

    def _check(self) -> None:
        super()._check()
        if isinstance(self.cv, (str, bytes, bool, float)) or self.cv is None:
            raise OptionError(parameter="cv", value=self.cv, allowed=_SPLITS)
        if isinstance(self.cv, (int, np.integer)):
            whole(0).check("cv", self.cv)
            if self.cv == 1:
                raise OptionError(parameter="cv", value=1, allowed="0, which holds nothing out, or at least 2 folds")
        check_decision(self.decision, self.optimize, self.monotone)

    def _fit_to(self, training: TrainingData, start: Any) -> Self:
        options, start = _options_of(self), self._start(start, training)
        most, some = self._sample_size(training), training
        if most is not None:
            if not isinstance(self.cv, (int, np.integer)):
                advice = f"pass a number of folds, or {argument('max_samples', None)}"
                raise OptionError(f"rules are learned from a sample; {advice}", parameter="cv")
            some = sampled(training, most, self._threads())
        if len(training.table) > _MOST_TAUGHT:
            options = dataclasses.replace(options, taught=False)
        some = unpacked(some)
        require_known(some.truth, "an ensemble of rules")
        table, truth = some.table, dense_labels(some.truth)
        assert isinstance(table, Table)
        if start is not None:
            if start.unit != 1:
                raise OptionError("a scorecard cannot be gone on from: its points are no weights", parameter="start")
            options = dataclasses.replace(options, start=start.rules)
        told: dict[str, str] = {}
        forbid = listed(self.forbid)
        if self.features or forbid or self.monotone:
            limits = Constraints.read(table, training.label_names, self.features, forbid, self.monotone)
            told = {table.features[j].name: "up" if op == ">" else "down" for j, op in limits.directions.items()}
            if not limits.allowed.all():
                table = table.emptied(np.asarray(limits.allowed.any(axis=1)))
                options = dataclasses.replace(options, allowed=limits.allowed)
            if told:
                options = dataclasses.replace(options, direction=_direction(limits, options.start))
        weights = some.weights.astype(np.float64) * float(some.scale)
        names, fold = training.label_names, _folds_of(self.cv, truth, some.kept)
        with self._on_device():
            learned = learn(table, truth, weights, names, options, self._told(), fold)
        model = learned.model
        if most is not None:
            model = ensemble_on_all(model, training, self._threads())
            model.info.pop("weights", None)  # they are the best ones for the sample
        info = {"monotone": told} if told else {}
        model = self._keep(training, model, learned.reason, info, merits_=learned.merits, _evidence=learned.evidence)
        logger.info("%d rules, decision %r: %s", len(model.rules), model.decision.kind, learned.merits)
        pass_on_interrupt(learned.reason, model)
        return self

    def _compute(self) -> Compute:
        return dataclasses.replace(super()._compute(), device=None if self.device == "cpu" else kernels_of(self.device))

    def tune_decision(self, optimize: str | None = None, decision: str | None = None) -> Self:
        """Decide for another measure, or in another way, with the same rules.

        The cross-validated scores of the training examples were kept by `fit`, so this takes no time.
        """
        check_is_fitted(self)
        if self._evidence is None:
            raise OptionError(
                "the scores of training examples are not stored with a model; model_.tune_decision(data) takes others"
            )
        optimize = self.optimize if optimize is None else optimize
        kind = self.decision if decision is None else decision
        check_decision(kind, optimize, self.monotone)
        chosen, merits = choose(self._evidence, kind, optimize, by_hand=bool(self.points or self.monotone))
        unit = self.model_.unit
        tuned_for = {"optimize": optimize, "decision": kind}  # what `verify` does again
        info = self.model_.info | {"cross_validation": merits, "tuned": tuned_for}
        tuned = chosen.in_points(unit) if self.points else chosen
        self.model_ = dataclasses.replace(self.model_, decision=tuned, info=info)
        self.merits_ = merits
        return self

    def decision_path(self, X: Any) -> sp.csr_matrix:
        """Return a sparse indicator (examples × rules) of the rules that fire."""
        table = self._read(X)
        return sp.csr_matrix(self.model_.fired(table).astype(np.int64))


def _direction(limits: Constraints, start: Sequence[WeightedRule]) -> Ints8:
    """Per feature, 1 or -1 if all sums may only rise or only fall with it, else 0."""
    direction = np.zeros(len(limits.allowed), dtype=np.int8)
    for place, op in limits.directions.items():
        direction[place] = 1 if op == ">" else -1
    for number, rule in enumerate(start, start=1):
        if len(set(signs_of(rule.body, direction.tolist()))) > 1:
            raise OptionError(
                f"what rule {number} covers neither only grows nor only shrinks as the monotone features rise; "
                f"remove the rule, or the feature from {parameter_name('monotone')}",
                parameter="start",
            )
    return direction


def _options_of(given: RuleEnsembleClassifier) -> LearnOptions:
    """Bring the parameters of an ensemble estimator into the form the learner takes."""
    wanted = given.labels_per_head
    members = int(given.max_members) if given.alternatives else 1
    growth = Growth(given.max_conditions, members, given.beam_width)
    prices = LearnOptions().prices if given.label_cost == "auto" else (float(given.label_cost),)
    return LearnOptions(
        build=BuildOptions(
            given.max_rules,
            label_cost=prices[0],
            search_cost=0.0 if wanted is None else _SEARCH_COST,
            max_head=None if wanted is None else int(_TRIED_LABELS * wanted),
            swaps=given.swaps,
            growth=growth,
        ),
        taught=given.teacher is not None,
        prices=prices,
        ridges=() if given.ridge == "auto" else (float(given.ridge),),
        restarts=int(given.restarts),
        labels_per_head=None if wanted is None else float(wanted),
        folds=int(given.cv) if isinstance(given.cv, (int, np.integer)) else 0,
        max_bins=int(given.max_bins),
        points=_POINTS if plain(given.points) is True else int(given.points),
        decision=given.decision,
        optimize=given.optimize,
        time_limit=None if given.time_limit is None else float(given.time_limit),
        seed=int(check_random_state(given.random_state).randint(2**31 - 1)),
        compute=given._compute(),
    )


def _folds_of(cv: Any, truth: Bytes, kept: Bools | None) -> Ints | None:
    """In which part of the cross-validation each example is held out, -1 for never; None for folds of our own.

    Row numbers count all examples that were given; a splitter is asked about those of positive weight.
    """
    if isinstance(cv, (int, np.integer)):
        return None
    splits = cv
    if hasattr(cv, "split"):
        splits, kept = cv.split(np.zeros((len(truth), 1)), truth), None
    fold = np.full(len(truth) if kept is None else len(kept), -1, dtype=np.int64)
    try:
        for number, (_, test) in enumerate(splits):
            fold[np.asarray(test)] = number
    except (TypeError, ValueError, IndexError) as error:
        raise OptionError(f"the value is not {_SPLITS}: {error}", parameter="cv") from error
    return fold if kept is None else np.asarray(fold[kept])
