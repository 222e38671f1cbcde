"""The runs of an experiment: every data set with every learner on every split, each with a key that says what it is."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from polyrule.evaluation.experiment.spec import DataSpec, ExperimentSpec, LearnerSpec, SplitSpec


@dataclass(frozen=True)
class Run:
    """One fit: a learner on the training part of one split of one data set.

    Attributes
    ----------
    fold : int or None
        Which fold is the test part; None for the data set's own test part.
    seed : int or None
        Seed of the folds.
    """

    data: DataSpec
    learner: LearnerSpec
    split: SplitSpec
    fold: int | None = None
    seed: int | None = None

    @property
    def split_name(self) -> str:
        """What rows call the split."""
        return "test" if self.fold is None else f"seed {self.seed} fold {self.fold + 1}"

    @property
    def key(self) -> str:
        """A file name that no other run has: readable words and a digest of everything that decides the result.

        A changed parameter gives another key, so a stored row is never taken for the result of something else.
        """
        digest = hashlib.sha256(json.dumps(self._definition(), sort_keys=True, default=str).encode()).hexdigest()[:12]
        words = f"{self.data.name} {self.learner.name} {self.split_name}"
        return f"{re.sub(r'[^A-Za-z0-9.]+', '-', words)[:100].strip('-')}-{digest}"

    def _definition(self) -> dict[str, Any]:
        learner = asdict(self.learner)
        for word in ("family", "measure"):  # how a row is shown does not change what it says
            del learner[word]
        if not self.learner.tune:
            del learner["tune_measure"], learner["tune_folds"]
        split = None if self.fold is None else [self.split.folds, self.split.stratified, self.seed, self.fold]
        return {"data": self.data.definition(), "learner": learner, "split": split}


def plan_runs(spec: ExperimentSpec) -> list[Run]:
    """List all runs in the order of the file: data set by data set, then split, then learner."""
    return [
        Run(data, learner, spec.split, fold, seed)
        for data in spec.data
        for seed, fold in _splits(spec.split)
        for learner in spec.learners
    ]


def _splits(split: SplitSpec) -> list[tuple[int | None, int | None]]:
    if split.kind == "parts":
        return [(None, None)]
    return [(seed, fold) for seed in split.seeds for fold in range(split.folds)]
