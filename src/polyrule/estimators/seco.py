"""Scikit-learn class for the separate-and-conquer learner of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from polyrule.covering.constraints import grow_restricted
from polyrule.covering.learner import Learner, Reason, SeparateOptions
from polyrule.data.table import Table
from polyrule.errors import OptionError
from polyrule.estimators.base import FitContext
from polyrule.estimators.constraints import Constraints
from polyrule.estimators.inputs import TrainingData, plain
from polyrule.estimators.lists import RuleListEstimator
from polyrule.estimators.sampling import with_default_counts
from polyrule.estimators.warnings import warn_about_measure
from polyrule.measures import Lift, Measure, Objective, get
from polyrule.model import RuleList
from polyrule.search.counted.counting import Counting
from polyrule.search.protocol import GrowOptions
from polyrule.utils.messages import argument, parameter_name


class SeCoClassifier(RuleListEstimator):
    """Multi-label rule list as separate-and-conquer grows it: the learner of the paper.

    Each rule has the best body that the search finds and the best head for it, on the examples that the rules before
    it leave. Rules also predict that labels are absent, test labels that earlier rules set, and may stop the list.
    Thresholds are midpoints between values, and all columns are used. `RuleListClassifier` selects few of such rules
    and predicts new examples better.

    Parameters
    ----------
    measure : str or Measure, default="f0.5"
        Measure by which rules are judged: "precision", "f1", "f0.5", "hamming", "laplace", "m2", "wracc", "subset" and
        others, an expression such as "tp/(tp+fp+0.5*fn)", or a `Measure`. Measures closer to precision give more rules.
    averaging : {"micro", "label", "example", "macro"}, default="micro"
        Averaging of the counts before the measure is computed: over all cells, per label, per example, or per cell. Use
        "label" if rare labels count as much as frequent ones.
    scope : {"head", "all", "full"}, default="head"
        Labels that a rule is judged by: those of its head, or all. With "full" a rule also sets all labels outside its
        head to absent.
    search : str, default="auto"
        Search for the best head; "auto" is the cheapest that is proved exact. Use another, such as "exhaustive", to
        check it.
    effort : int or None, default=None
        Maximum number of heads to try per body, for measures whose best head may take very long to find: "wracc",
        "kappa", "matthews", "klosgen" and functions. Rules then state by how much another head may be better. None
        finds the best head.
    lift : str, Lift or None, default=None
        Preference for larger heads, such as "kln:0.16" or "root:4". Use it if heads have fewer labels than wanted.
    heads : {"multi", "single"}, default="multi"
        Heads of any number of labels, or of one label.
    max_head_size : int or None, default=None
        Maximum number of labels in a head; None is no limit.
    negative : bool, default=True
        True if rules may predict that a label is absent.
    label_conditions : bool, default=True
        True if bodies may test labels that earlier rules have set.
    beam_width : int, default=1
        Number of bodies kept at each step of growing a rule; 1 is greedy. A beam of 2 takes several times as long.
    min_coverage : float, default=0
        Minimum weight of examples that a rule covers; 0 is no minimum. Increase it if rules of few examples are not
        wanted.
    max_conditions : int or None, default=None
        Maximum number of conditions of a rule; None is no limit.
    max_rules : int or None, default=None
        Maximum number of rules; None is no limit.
    remaining : float, default=0.1
        Share of the training weight at which learning ends if no more is left in the working set. Use 0 to cover all
        examples.
    stop_threshold : float or None, default=0.01
        Share of unset labels in the covered weight up to which a rule stops the list. None learns no stops.
    keep_covered : bool, default=True
        True if all examples covered by a rule without a stop stay in the working set; False keeps only those with an
        unset label.
    constraints : Constraints, dict or None, default=None
        Features that rules may not test, or in one direction only; see `polyrule.Constraints`.
    max_bins : int or None, default=None
        Maximum number of bins of a numeric feature, as in a store made by `polyrule.pack`. None uses each value.
    refine : bool, default=False
        True to search thresholds between bins, too, so that bins save work and cost no accuracy.
    time_limit : float or None, default=None
        Seconds after which growing ends; the rule in progress is kept as an unfinished one. None is no limit.
    n_jobs : int or None, default=None
        Number of threads, -1 for all cores. The list does not depend on it.
    verbose : bool, default=False
        Write a line on progress to standard error, at most one a second.

    Attributes
    ----------
    model_ : RuleList
        The learned list; `rules_` is the same object.
    label_names_, features_, classes_, n_features_in_, feature_names_in_, stopped_reason_
        As in `RuleListClassifier`.
    labels_without_rules_ : tuple of str
        Labels that no rule sets.

    Examples
    --------
    >>> from polyrule import SeCoClassifier
    >>> X = [[1, 9], [2, 8], [3, 1], [4, 2]]
    >>> Y = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 1]]
    >>> print(SeCoClassifier("precision").fit(X, Y, label_names=["calm", "sad", "happy"]).rules_)
    1. calm, sad, ¬happy <- x0 <= 2.5   (TP 6, FP 0) [stop]
    2. ¬calm, ¬sad, happy <- true   (TP 6, FP 0) [stop]
    (labels that no rule sets are absent)
    """

    _keep_columns: ClassVar[Any] = "*"

    def __init__(
        self,
        measure: str | Measure = "f0.5",
        *,
        averaging: str = "micro",
        scope: str = "head",
        search: str = "auto",
        effort: int | None = None,
        lift: str | Lift | None = None,
        heads: str = "multi",
        max_head_size: int | None = None,
        negative: bool = True,
        label_conditions: bool = True,
        beam_width: int = 1,
        min_coverage: float = 0,
        max_conditions: int | None = None,
        max_rules: int | None = None,
        remaining: float = 0.1,
        stop_threshold: float | None = 0.01,
        keep_covered: bool = True,
        constraints: Constraints | Mapping[str, Any] | None = None,
        max_bins: int | None = None,
        refine: bool = False,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.measure = measure
        self.averaging = averaging
        self.scope = scope
        self.search = search
        self.effort = effort
        self.lift = lift
        self.heads = heads
        self.max_head_size = max_head_size
        self.negative = negative
        self.label_conditions = label_conditions
        self.beam_width = beam_width
        self.min_coverage = min_coverage
        self.max_conditions = max_conditions
        self.max_rules = max_rules
        self.remaining = remaining
        self.stop_threshold = stop_threshold
        self.keep_covered = keep_covered
        self.constraints = constraints
        self.max_bins = max_bins
        self.refine = refine
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check(self) -> None:
        super()._check()
        if self.heads == "single" and self.max_head_size not in (None, 1):
            problem = f"{parameter_name('max_head_size')} contradicts {argument('heads', 'single')}"
            raise OptionError(f"{problem}; leave it out or pass {argument('heads', 'multi')}")

    def _learn(
        self, training: TrainingData, counting: Counting, start: RuleList | None, context: FitContext
    ) -> tuple[RuleList, Reason]:
        start, learner, table = self._start(start, training), self._learner(counting, context), training.table
        limited = Constraints.of(self.constraints).limits_bodies
        if (limited or start is not None) and not isinstance(table, Table):
            names = ", ".join(map(parameter_name, ("features", "forbid", "monotone")))
            counts = parameter_name("max_bins")
            raise OptionError(f"{names} and {parameter_name('start')} need the examples, not their counts ({counts})")
        if limited or start is not None:
            limits = self._limits(training)
            model, reason = grow_restricted(learner, training, self.heads, limits, start, context.callback)
        else:
            model, reason = learner.rule_list(training, self.heads, context.callback)
        # Thresholds within a bin cannot be looked up by code.
        exact = isinstance(table, Table) or not counting.refine
        return (with_default_counts(model, training, context.compute.threads) if exact else model), reason

    def _learner(self, counting: Counting, context: FitContext) -> Learner:
        objective = Objective(
            get(self.measure),
            averaging=self.averaging,
            scope=self.scope,
            lift=self.lift,  # type: ignore[arg-type]
            search=self.search,
            max_head_size=1 if self.heads == "single" else self.max_head_size,
            negative=bool(self.negative),
            effort=self.effort,
        )
        warn_about_measure(objective)
        growing = GrowOptions(
            self.beam_width, bool(self.label_conditions), plain(self.min_coverage), self.max_conditions
        )
        separating = SeparateOptions(
            plain(self.remaining),
            plain(self.stop_threshold),
            bool(self.keep_covered),
            self.max_rules,
            plain(self.time_limit),
        )
        return Learner(objective, growing, separating, context.compute, counting)
