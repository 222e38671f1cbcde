"""Everything that decides what an ensemble becomes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Bools
from polyrule.bins.binning import looks_like_text
from polyrule.data.table import Table
from polyrule.ensemble.building import BuildOptions
from polyrule.ensemble.soft_targets import Teaching
from polyrule.ensemble.weighted_rule import WeightedRule

_RIDGES = (0.3, 1.0, 3.0, 10.0)
# A word is a strong sign: weights shrink less, while rules are chosen and afterwards.
_RIDGE_FOR_TEXT = 0.1
_GAIN_RIDGE_FOR_TEXT = 0.5
_RIDGES_FOR_TEXT = (0.05, 0.15, 0.5, 1.5)


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """Everything that decides what is learned.

    Parameters
    ----------
    build : BuildOptions
    teaching : Teaching or None
        None fits the bare labels.
    prices : tuple of float
        Ascending; what a head entry must lower the loss by to stay, to choose from by cross-validation.
    labels_per_head : float or None
        Most labels in a head on average; prices rise until that holds.
    ridges : tuple of float
        Penalties on squared weights to choose from by cross-validation; empty for those that suit the table.
    restarts : int
        How many sets of rules are learned, each from other mixed examples, for the final model to be the best of.
    folds : int
    max_bins : int
    points : int
        Most points of a scorecard; 0 keeps real weights.
    decision, optimize : str
        See `polyrule.ensemble.tuning.choose`.
    start : tuple of WeightedRule
        Rules that are there from the start; their bodies and heads stay, their weights are fitted with the others.
    allowed : ndarray of bool, shape (features, labels), or None
        Which features rules for a label may test.
    direction : ndarray of int8, shape (features,), or None
        1 or -1 for features that all scores may only rise or only fall with, 0 for the others.
    text : bool
        Whether the table looks like text; see `for_table`.
    time_limit : float or None
        Seconds.
    seed, threads : int
    """

    build: BuildOptions = field(default_factory=BuildOptions)
    teaching: Teaching | None = field(default_factory=Teaching)
    prices: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0)
    labels_per_head: float | None = None
    ridges: tuple[float, ...] = ()
    restarts: int = 1
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
    threads: int = 1

    def for_table(self, table: Table) -> LearnOptions:
        """Return the options with what depends on the kind of table filled in."""
        text = looks_like_text(table)
        build = self.build
        if text:
            growth = replace(build.growth, judging=1)
            build = replace(build, ridge=_RIDGE_FOR_TEXT, gain_ridge=_GAIN_RIDGE_FOR_TEXT, presence=True, growth=growth)
        ridges = self.ridges or (_RIDGES_FOR_TEXT if text else _RIDGES)
        return replace(self, build=build, text=text, ridges=ridges)
