"""The scikit-learn class for one rule list over all labels."""

from __future__ import annotations

from polyrule.errors import OptionError
from polyrule.estimators.base import TrainingData
from polyrule.estimators.counting import packed_training
from polyrule.estimators.rule_classifier import RuleClassifier
from polyrule.kernels.engine import GrowOptions
from polyrule.learning.learners import Learner
from polyrule.learning.progress import Callback
from polyrule.learning.separate import Reason, SeparateOptions
from polyrule.measures import Lift, Measure, Objective, get
from polyrule.model import RuleList


class RuleListClassifier(RuleClassifier):
    """Multi-label rule list by separate-and-conquer, with heads of several labels or of one.

    Parameters
    ----------
    measure : str or Measure
        What a rule is judged by: "precision", "recall", "f1", "f0.5", "hamming", "jaccard", "laplace", "m2", "wracc",
        "matthews", "rate-difference", "subset", an expression such as "tp/(tp+fp+0.5*fn)", or a `Measure`.
    heads : {"multi", "single"}
        Heads of any number of labels, or of one label.
    averaging : {"micro", "label", "example", "macro"}
        When counts are summed before measuring: over everything, per label, per example, or not at all.
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
    max_bins : int or None
        Most bins of a numeric feature: rules are then learned from counts per bin, as from a store made by
        `polyrule.pack`. A feature with no more distinct values loses nothing. None uses every value.
    refine : bool
        Whether thresholds between the bins are looked for, too, so that bins only save work.
    device : {"cpu", "cuda"}
        Where bins are counted; the list does not depend on it.

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
        max_bins: int | None = None,
        refine: bool = False,
        device: str = "cpu",
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
        self.max_bins = max_bins
        self.refine = refine
        self.device = device

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
        counting = self._counting()
        learner = Learner(objective, growing, separating, self.kernels, self._threads(), counting)
        t = packed_training(training, counting)
        return learner.rule_list(t.table, t.truth, t.weights, t.target.names, self.heads, t.scale, self.callback)
