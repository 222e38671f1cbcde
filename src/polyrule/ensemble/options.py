"""Options of a fit, and its training examples."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.binning.text import word_columns
from polyrule.data.table import Table
from polyrule.ensemble.boosting import BoostingOptions
from polyrule.model.rule import WeightedRule
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints
from polyrule.utils.compute import ONE_THREAD, Compute

_RIDGE = 2.0
# A word is a strong sign: weights shrink less, during the search and afterwards.
_TEXT_RIDGE, _TEXT_GAIN_RIDGE = 0.15, 0.5
# Many rare words have the same meaning: a member need not gain much beside the first word of a rule. The label with the
# largest gain judges it, so that words for different labels are not joined.
_TEXT_GROWTH: dict[str, Any] = {"min_improvement": 0.0, "chance": 0.15, "judges": 1}
_MIN_ROWS = 5
# Up to this number of rules, one build of all examples is as strong as a pool, quicker, and has fewer conditions.
_MAX_RULES_OF_ONE_BUILD = 100
_BUILDS = 3


@dataclass(frozen=True, eq=False)
class Examples:
    """Training examples of the user; labels are 0, 1 or `polyrule.data.labels.UNKNOWN`."""

    table: Table
    truth: Bytes
    weights: Floats

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, rows: Ints) -> Examples:
        return Examples(self.table[rows], self.truth[rows], self.weights[rows])


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Options of a fit.

    Parameters
    ----------
    build : BoostingOptions
    builds : int or None
        Number of builds that are pooled; None for one with up to 100 rules, three with more.
    sample : float
        Share of the examples, by weight, that each of several builds learns from.
    teacher : bool
        False to fit the labels without a teacher.
    trust : float
        Weight of the teacher's estimate in a soft target.
    labels_per_head : float or None
        Maximum mean number of labels of a head.
    ridge : float or None
        Penalty on squared weights; None for the one that suits the table.
    min_coverage : int or None
        Minimum number of examples that a rule covers; None for five, or a tenth of the examples if they are fewer than
        fifty.
    folds : int
    max_bins : int
    points : int
        Maximum points of a scorecard; 0 for real weights.
    decision, optimize : str
        See `polyrule.ensemble.decision.choose`.
    start : tuple of WeightedRule
        Rules of the model from the beginning; their bodies and heads stay, their weights are fitted with the others.
    allowed : ndarray of bool, shape (features, labels), or None
        Features that rules for a label may test.
    direction : ndarray of int8, shape (features,), or None
        1 or -1 for features that all scores may only rise or only fall with, 0 for the others.
    text : bool
        True if the table looks like text; see `for_examples`.
    time_limit : float or None
        Seconds.
    seed : int
    compute : Compute
    """

    build: BoostingOptions = field(default_factory=BoostingOptions)
    builds: int | None = None
    sample: float = 0.7
    teacher: bool = True
    trust: float = 0.5
    labels_per_head: float | None = None
    ridge: float | None = None
    min_coverage: int | None = None
    folds: int = 3
    max_bins: int = 64
    points: int = 0
    decision: str = "auto"
    optimize: str = "micro-f1"
    start: tuple[WeightedRule, ...] = ()
    allowed: Bools | None = None
    direction: npt.NDArray[np.int8] | None = None
    text: bool = False
    time_limit: float | None = None
    seed: int = 0
    compute: Compute = ONE_THREAD

    @property
    def n_builds(self) -> int:
        """Number of builds that are pooled."""
        return self.builds or (_BUILDS if self.build.max_rules > _MAX_RULES_OF_ONE_BUILD else 1)

    def rules_per_build(self, labels: int) -> int:
        """Return the number of rules of a build: half of `max_rules` if it is one of several, or one per label.

        Builds that are too short for the labels all find rules for the same common ones.
        """
        max_rules = self.build.max_rules
        return max_rules if self.n_builds == 1 else min(max_rules, max(-(-max_rules // 2), labels))

    def for_examples(self, examples: Examples) -> FitOptions:
        """Return the options with all that depends on the examples."""
        (words, text), rows = word_columns(examples.table), len(examples)
        min_rows = min(_MIN_ROWS, max(1, rows // 10)) if self.min_coverage is None else self.min_coverage
        ridge = (_TEXT_RIDGE if text else _RIDGE) if self.ridge is None else self.ridge
        build = replace(self.build, ridge=ridge, min_rows=min_rows, words=words)
        if text:
            growth = replace(build.growth, **_TEXT_GROWTH)
            build = replace(build, gain_ridge=_TEXT_GAIN_RIDGE, growth=growth)
        return replace(self, build=build, text=text)
