"""Stored rows read back: tidy frames, comparisons and tables, all made without fitting anything again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polyrule.data.results import frame_of_rows
from polyrule.evaluation.confusion import ConfusionCounts
from polyrule.evaluation.experiment.one_run import plan_runs, shown_names
from polyrule.evaluation.experiment.spec import ComparisonSpec, ExperimentSpec
from polyrule.evaluation.experiment.store import Row, RowStore
from polyrule.evaluation.scores import LOWER_IS_BETTER, MEASURES, Scores, score_counts
from polyrule.evaluation.statistics import Interval, LearnerComparison, compare_learners, mean_interval

_FIRST = ("data", "split", "learner", "family", "measure", "status", *MEASURES)
_NOT_TIDY = ("counts", "versions", "traceback")


@dataclass(frozen=True)
class Results:
    """The rows of an experiment, in the order of its file.

    Attributes
    ----------
    spec : ExperimentSpec
    rows : tuple of dict
        One per finished run that the file asks for; rows of runs it no longer asks for are left out.
    missing : int
        Runs that have no row yet.
    """

    spec: ExperimentSpec
    rows: tuple[Row, ...]
    missing: int = 0

    @classmethod
    def load(cls, spec: ExperimentSpec, directory: str | Path) -> Results:
        """Read the rows that belong to `spec`; scores follow the file's conventions for 0/0, whatever was stored."""
        store = RowStore(directory)
        stored, runs = store.keys(), plan_runs(spec)
        there = [run for run in runs if run.key in stored]
        rows = [_with_conventions({**store.read_run(run.key), **shown_names(run)}, spec) for run in there]
        return cls(spec, tuple(rows), len(runs) - len(rows))

    @property
    def finished(self) -> list[Row]:
        """Rows of runs that ended well."""
        return [row for row in self.rows if row["status"] == "ok"]

    @property
    def failures(self) -> list[Row]:
        """Rows of runs that failed, crashed, missed a package or exceeded a limit."""
        return [row for row in self.rows if row["status"] != "ok"]

    @property
    def data_sets(self) -> list[str]:
        """Names of the data sets that have rows."""
        return [data.name for data in self.spec.data if any(row["data"] == data.name for row in self.rows)]

    @property
    def learners(self) -> list[str]:
        """Names of the learners that have rows."""
        return [item.name for item in self.spec.learners if any(row["learner"] == item.name for row in self.rows)]

    def select(self, data: str, learner: str) -> list[Row]:
        """Rows of one learner on one data set, one per split."""
        return [row for row in self.rows if row["data"] == data and row["learner"] == learner]

    def tidy_rows(self) -> list[Row]:
        """Rows of plain values only, as they go into CSV and Parquet files."""
        return [_tidy(row) for row in self.rows]

    def frame(self) -> Any:
        """Return a tidy data frame with a row per run."""
        return frame_of_rows(self.tidy_rows())

    def value(self, data: str, learner: str, column: str) -> Interval | None:
        """Mean of a column over the splits, with its interval; None unless every split that has a row ended well."""
        rows = self.select(data, learner)
        values = [row.get(column) for row in rows]
        if not rows or any(row["status"] != "ok" for row in rows) or any(value is None for value in values):
            return None
        share = 1 / (self.spec.split.folds - 1) if self.spec.split.kind == "folds" else None
        within = (0, 1) if column in MEASURES else None
        return mean_interval([float(value) for value in values if value is not None], test_share=share, within=within)

    def comparison(self, spec: ComparisonSpec, measure: str) -> tuple[LearnerComparison | None, tuple[str, ...]]:
        """Compare learners by one measure on the data sets where all of them have a result.

        Returns
        -------
        comparison : LearnerComparison or None
            None where nothing can be compared.
        notes : tuple of str
            Which data sets were left out, and why.
        """
        notes, compared = [], []
        table: dict[str, list[float]] = {learner: [] for learner in spec.learners}
        for data in spec.data:
            values = {learner: self.value(data, learner, measure) for learner in spec.learners}
            if holes := [learner for learner, value in values.items() if value is None]:
                notes.append(f"{data} is left out: no result for {', '.join(holes)}.")
                continue
            compared.append(data)
            for learner, value in values.items():
                table[learner] += [value.mean] if value is not None else []
        if not compared or not spec.learners:
            return None, tuple(notes)
        higher = measure not in LOWER_IS_BETTER
        return compare_learners(table, compared, higher, spec.alpha, measure), tuple(notes)


def scores_of(row: Row, options: Mapping[str, float]) -> Scores:
    """Compute the scores of a row again from its counts."""
    return score_counts(ConfusionCounts.from_dict(row["counts"]), None, **options)


def _with_conventions(row: Row, spec: ExperimentSpec) -> Row:
    return {**row, **scores_of(row, spec.scores).as_dict()} if row["status"] == "ok" else row


def _tidy(row: Row) -> Row:
    names = [name for name in _FIRST if name in row] + sorted(row.keys() - {*_FIRST, *_NOT_TIDY})
    return {
        name: json.dumps(row[name], sort_keys=True) if isinstance(row[name], (dict, list)) else row[name]
        for name in names
    }
