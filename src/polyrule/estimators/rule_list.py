"""The scikit-learn class for one rule list over all labels."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

from polyrule.data.examples import unscaled
from polyrule.data.labels import dense_labels
from polyrule.data.table import Table
from polyrule.errors import OptionError
from polyrule.estimators.base import (
    RuleClassifier,
    TrainingData,
    listed,
    plain,
    unpacked,
)
from polyrule.estimators.sampling import list_on_all, sampled, share_of, with_default_counts
from polyrule.learning.composing import LONGEST_BODY, Composition
from polyrule.learning.constraints import Constraints, grow_restricted
from polyrule.learning.messages import Callback, warn_about_measure
from polyrule.learning.readable import shorten
from polyrule.learning.selection import Pruning
from polyrule.learning.separate import Learner, Reason, SeparateOptions
from polyrule.measures import Lift, Measure, Objective, get
from polyrule.measures.ratio import exact_number
from polyrule.model import RuleList
from polyrule.model.counting import list_counts, with_counts
from polyrule.model.narrowing import used_features
from polyrule.search.counted.counting import Counting
from polyrule.search.protocol import GrowOptions
from polyrule.utils.messages import argument, parameter_name


class RuleListClassifier(RuleClassifier):
    """Multi-label rule list: few rules, heads of several labels, chosen for the list as a whole.

    As it comes, every rule makes labels present, and an example has a label if any rule says so: each rule can be read
    by itself, in any order. Rules are grown by separate-and-conquer and then chosen so that micro-F1 of the whole list
    is largest, with a price on rules, conditions and labels. With ``prune=None`` the list is what was grown, and
    `paper` gives the learner of the paper.

    Parameters
    ----------
    measure : str or Measure
        What a rule is judged by while it grows: "precision", "recall", "f1", "f0.5", "hamming", "jaccard", "laplace",
        "m2", "wracc", "matthews", "rate-difference", "klosgen", "kappa", "subset", an expression such as
        "tp/(tp+fp+0.5*fn)", or a `Measure`.
    prune : str or None
        What the list as a whole is judged by when rules are chosen: "f1", another F-measure such as "f0.5" or "f2",
        or "hamming". None keeps the list as it was grown.
    simplicity : float
        Price of rules, conditions and labels of heads: 2 gives shorter lists, 0.5 longer ones.
    teacher : {"forest", None}
        Whether a teacher, a forest blended with smooth regressions, says how sure one can be of each training label;
        it is thrown away after the fit.
    thresholds : {"short", "midpoint"}
        The shortest decimal between two neighbouring values, or their middle. Lists as they are grown (``prune=None``)
        from bins or a store always have the middle.
    alternatives : "auto" or bool
        Whether a rule may hold a group of alternatives, such as ``any of {jam, queue}``. "auto" offers groups wherever
        rules are chosen; those of lists as they are grown (``prune=None``) never have any.
    max_members : int
        Alternatives of a group, at most.
    features : dict of str to list of str, or None
        Per label, the only features that rules for it may test; labels that are not named may use all.
    forbid : list of str or None
        Features that no rule may test.
    monotone : dict of str to {"up", "down"}, or None
        Features that may count in one direction only: "up" allows ``>``, "down" allows ``<=``.
    heads : {"multi", "single"}
        Heads of any number of labels, or of one label.
    beam_width : int
        Bodies kept at each step of growing a rule; 1 is greedy.
    min_coverage : float
        Least weight of examples a rule must cover; 0 is off.
    min_precision : float
        Least share of correct predictions to expect of every label of a head on new examples, such as 0.5; the list is
        chosen without labels below it. 0 is off.
    max_conditions, max_head_size, max_rules : int or None
        Limits; None is off. Bodies of a pruned list have at most 3 conditions unless this says otherwise.
    averaging : {"micro", "label", "example", "macro"}
        When counts are summed before measuring: over everything, per label, per example, or not at all. For
        ``prune=None``, like all that follow up to `keep_covered`.
    scope : {"head", "all", "full"}
        Which labels a rule is judged on. `full` makes full predictions: a rule sets every label, those outside its
        head to absent.
    search : str
        Head search; "auto" takes the cheapest that is provably exact.
    effort : int or None
        Heads that are tried for a body, at most, by measures whose best head may take very long to find with many
        labels: "wracc", "kappa", "matthews", "klosgen" and their kin, the m-estimate, functions of your own. Every rule
        then says by how much its head can be beaten. The work is counted, so the list is the same on every machine.
        None finds the best head, however long that takes.
    lift : str, Lift or None
        Preference for larger heads, such as "kln:0.16" or "root:4".
    negative : bool or None
        Whether rules may predict that a label is absent. None: yes, unless the list is pruned.
    label_conditions : bool or None
        Whether bodies may test labels that earlier rules have set. None: yes, unless the list is pruned.
    remaining : float
        End when no more than this share of the training weight is left.
    stop_threshold : float or None
        A rule gets a stop when at most this share of the weight it covers still has an unset label. None: no stops.
    keep_covered : bool
        Whether examples covered by a rule without a stop all stay, or only those with an unset label.
    time_limit : float or None
        Seconds after which growing ends; the list is made of what was found. With ``prune=None`` the rule in progress
        is kept as far as it has come, and says so.
    callback : callable or None
        Called with a `Progress` after every rule grown; returning True ends growing. With an attribute ``within_rules =
        True`` it is also called about twice a second while a rule is searched, with ``rule=None``, the bodies judged
        so far and the best value.
    kernels : {None, "native", "reference"}
        Which engine; both give the same list.
    n_jobs : int or None
        Threads; the list does not depend on it.
    max_bins : int or None
        Most bins of a numeric feature: rules are then learned from counts per bin, as from a store made by
        `polyrule.pack`. A feature with no more distinct values loses nothing. None uses every value.
    refine : bool
        Whether thresholds between the bins are looked for, too, so that bins only save work.
    device : {"cpu", "cuda"}
        Where bins are counted; the list does not depend on it.
    max_samples : int or None
        Of more examples, rules are learned from a sample of so many, drawn by content, so that it does not depend on
        their order; their counts are those on all examples. None learns from all. Lists as they are grown
        (``prune=None``) always do.
    verbose : bool
        Write a line on progress to standard error, at most one a second.
    keep_columns : list of str, or a pattern such as ``"*_id"``
        Columns that rules may test although they identify rows: text, keys and counters whose values are nearly all
        distinct are left out otherwise, with a warning.

    Attributes
    ----------
    model_ : RuleList
        The learned list; `rules_` is the same object.
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
    stopped_reason_ : str
        Why learning ended: nothing left to learn, a limit, the callback, or an interrupt.

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

    def __init__(
        self,
        measure: str | Measure = "f0.5",
        heads: str = "multi",
        averaging: str = "micro",
        scope: str = "head",
        search: str = "auto",
        lift: str | Lift | None = None,
        negative: bool | None = None,
        label_conditions: bool | None = None,
        beam_width: int = 1,
        min_coverage: float = 0,
        max_conditions: int | None = None,
        max_head_size: int | None = None,
        remaining: float = 0.1,
        stop_threshold: float | None = 0.01,
        keep_covered: bool = True,
        max_rules: int | None = None,
        prune: str | None = "f1",
        simplicity: float = 1.0,
        teacher: str | None = "forest",
        thresholds: str = "short",
        alternatives: str | bool = "auto",
        max_members: int = 8,
        features: Mapping[str, Sequence[str]] | None = None,
        forbid: Sequence[str] | None = None,
        monotone: Mapping[str, Any] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        kernels: str | None = None,
        n_jobs: int | None = None,
        max_bins: int | None = None,
        refine: bool = False,
        device: str = "cpu",
        verbose: bool = False,
        min_precision: float = 0,
        max_samples: int | None = 50_000,
        effort: int | None = None,
        keep_columns: Any = (),
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
        self.prune = prune
        self.simplicity = simplicity
        self.teacher = teacher
        self.thresholds = thresholds
        self.alternatives = alternatives
        self.max_members = max_members
        self.features = features
        self.forbid = forbid
        self.monotone = monotone
        self.time_limit = time_limit
        self.callback = callback
        self.kernels = kernels
        self.n_jobs = n_jobs
        self.max_bins = max_bins
        self.refine = refine
        self.device = device
        self.verbose = verbose
        self.min_precision = min_precision
        self.max_samples = max_samples
        self.effort = effort
        self.keep_columns = keep_columns

    @classmethod
    def paper(cls, measure: str | Measure = "f0.5", **options: Any) -> Self:
        """Return the learner of the paper, whose published rows it reproduces to the last digit.

        Rules also say which labels are absent, test labels that earlier rules have set, may stop the list, and are kept
        as they were grown; thresholds are midpoints, and columns that identify rows stay unless `keep_columns` is
        passed.

        Examples
        --------
        >>> RuleListClassifier.paper("precision", max_rules=5).get_params()["prune"] is None
        True
        """
        usual = {"prune": None, "teacher": None, "thresholds": "midpoint", "alternatives": False, "keep_columns": "*"}
        return cls(**{"measure": measure} | usual | options)

    def _check(self) -> None:
        super()._check()
        if self.heads == "single" and self.max_head_size not in (None, 1):
            raise OptionError(
                f"{parameter_name('max_head_size')} contradicts {argument('heads', 'single')}; leave it out or pass "
                f"{argument('heads', 'multi')}"
            )
        if self.prune is None:
            if self.min_precision:
                raise _for_chosen("min_precision")
            if plain(self.alternatives) is True:
                raise _for_chosen("alternatives")
        else:
            for name in _GROWN_ONLY:
                value, default = plain(getattr(self, name)), _default(name)
                as_usual = value is default or (isinstance(value, (str, float)) and value == default)
                if not as_usual and not (default is None and value is False):
                    advice = f"leave it out or pass {argument('prune', None)}"
                    raise OptionError(f"{parameter_name(name)} is for lists as they are grown; {advice}")

    def _learn(
        self, training: TrainingData, counting: Counting, start: RuleList | None = None
    ) -> tuple[RuleList, Reason]:
        start, learner = self._start(start, training), self._learner(counting)
        if self.prune is None:
            model, reason = self._grown(training, learner, start)
            # Thresholds within a bin cannot be looked up by code.
            exact = isinstance(training.table, Table) or not counting.refine
            return (with_default_counts(model, training, self._threads()) if exact else model), reason
        most, threads = self._sample_size(training), self._threads()
        if most is None:
            return self._chosen(unpacked(training, refine=counting.refine), learner, start)
        some = sampled(training, most, threads)
        least = exact_number(plain(self.min_coverage)) * share_of(some, training)
        learner = replace(learner, growing=replace(learner.growing, min_coverage=least))
        model, reason = self._chosen(unpacked(some, refine=counting.refine), learner, start)
        return list_on_all(model, training, most, 0 if start is None else len(start), threads), reason

    def _grown(self, training: TrainingData, learner: Learner, start: RuleList | None) -> tuple[RuleList, Reason]:
        """Return the list as separate-and-conquer makes it."""
        table = training.table
        if self._limited or start is not None:
            if not isinstance(table, Table):
                names = ", ".join(map(parameter_name, ("features", "forbid", "monotone")))
                counts = parameter_name("max_bins")
                raise OptionError(
                    f"{names} and {parameter_name('start')} need the examples, not their counts ({counts})"
                )
            limits = self._limits(training)
            model, reason = grow_restricted(learner, training, self.heads, limits, start, self._told())
        else:
            model, reason = learner.rule_list(training, self.heads, self._told())
        if self.thresholds == "short" and isinstance(table, Table):
            model = shorten(model, table, after=0 if start is None else len(start))
        return model, reason

    def _chosen(self, training: TrainingData, learner: Learner, start: RuleList | None) -> tuple[RuleList, Reason]:
        """Return a short list whose rules are chosen for the list as a whole."""
        pruning = Pruning(
            str(self.prune),
            float(self.simplicity),
            self.teacher is not None,
            self.max_rules,
            1 if self.heads == "single" else self.max_head_size,
            self.thresholds == "short",
            plain(self.min_precision),
            max_members=self.max_members if self.alternatives else 0,
        )
        assert isinstance(training.table, Table)
        limits = self._limits(training) if self._limited else None
        truth = dense_labels(training.truth)
        model, reason = Composition(
            training.table,
            truth,
            training.weights,
            training.label_names,
            learner,
            pruning,
            training.scale,
            self._told(),
            None if limits is None or limits.none else limits,
            start,
        ).learn()
        counts = list_counts(model, training.table.decoded(used_features(model.rules)), truth, training.weights)
        after = 0 if start is None else len(start)
        return with_counts(model, counts, partial(unscaled, scale=training.scale), after, only_alone=True), reason

    @property
    def _limited(self) -> bool:
        """Whether bodies may not test everything."""
        return bool(self.features or listed(self.forbid) or self.monotone)

    def _limits(self, training: TrainingData) -> Constraints:
        forbid = listed(self.forbid)
        return Constraints.read(training.table, training.label_names, self.features, forbid, self.monotone)

    def _learner(self, counting: Counting) -> Learner:
        grown = self.prune is None
        # NumPy's own False is no False.
        negative, label_conditions = (
            grown and (given is None or bool(given)) for given in (self.negative, self.label_conditions)
        )
        objective = Objective(
            get(self.measure),
            averaging=self.averaging,
            scope=self.scope,
            lift=self.lift,  # type: ignore[arg-type]
            search=self.search,
            max_head_size=1 if self.heads == "single" else self.max_head_size,
            negative=negative,
            effort=self.effort,
        )
        warn_about_measure(objective)
        longest = self.max_conditions if grown or self.max_conditions is not None else LONGEST_BODY
        growing = GrowOptions(self.beam_width, label_conditions, plain(self.min_coverage), longest)
        separating = SeparateOptions(
            plain(self.remaining),
            plain(self.stop_threshold),
            bool(self.keep_covered),
            self.max_rules if grown else None,
            plain(self.time_limit),
        )
        return Learner(objective, growing, separating, self._compute(), counting)


# Options of separate-and-conquer that a pruned list has no use for.
_GROWN_ONLY = (
    "averaging",
    "scope",
    "search",
    "effort",
    "lift",
    "negative",
    "label_conditions",
    "remaining",
    "stop_threshold",
    "keep_covered",
)


def _for_chosen(name: str) -> OptionError:
    advice = f"leave it out or pass {argument('prune', 'f1')}"
    return OptionError(f"{parameter_name(name)} is for lists whose rules are chosen; {advice}")


def _default(name: str) -> Any:
    return inspect.signature(RuleListClassifier).parameters[name].default
