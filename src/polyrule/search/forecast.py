"""Forecast of the time of a search without a compiled form, and the warning about it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.data.labels import dense_labels
from polyrule.data.table import Table
from polyrule.errors import OptionError, SlowSearchWarning
from polyrule.heads import HeadProblem, best_head
from polyrule.heads.no_condition import excluding_never_helps
from polyrule.measures import FunctionMeasure, Objective, SubsetAccuracy
from polyrule.utils.arrays import Ints
from polyrule.utils.messages import argument, depth_of_caller, parameter_name

PATIENCE = 60.0
"""Seconds that a search for one condition may take before it is announced."""

SAMPLES, LONGEST_SAMPLE = 3, 0.5


def warn_about_time(objective: Objective, table: Table, truth: Any, weights: Ints) -> None:
    """Warn, with what would make it fast, if trying every condition once would take longer than `PATIENCE`."""
    if excluding_never_helps(objective):
        return  # no condition is tried
    expected = forecast(objective, table, truth, weights)
    if expected is not None and expected.seconds > PATIENCE:
        warnings.warn(f"{expected}; {_advice(objective)}", SlowSearchWarning, stacklevel=depth_of_caller())


@dataclass(frozen=True)
class Forecast:
    """Forecast of the time to try every condition once, from a sample of bodies."""

    objective: str
    bodies: int
    seconds_per_body: float
    at_least: bool

    @property
    def seconds(self) -> float:
        """For all bodies."""
        return self.bodies * self.seconds_per_body

    def __str__(self) -> str:
        more = "more than " if self.at_least else "about "
        return (
            f"{self.objective} has no compiled search: each condition of a rule means trying up to {self.bodies:,} "
            f"bodies, {more}{_duration(self.seconds)} in all"
        )


def forecast(objective: Objective, table: Table, truth: Any, weights: Ints) -> Forecast | None:
    """Time the head search for a few bodies; None where bodies are judged without a search of their own."""
    form = objective.fast_form(truth.shape[1], int(weights.sum()))
    plain = objective.scope == "head" and objective.lift.is_none and not isinstance(objective.measure, SubsetAccuracy)
    if form is not None or (objective.averaging == "label" and plain):
        return None
    dense = dense_labels(truth)
    rng = np.random.default_rng(0)
    spent, at_least = [], False
    for _ in range(SAMPLES):
        seconds, ended = _one_body(objective, dense, weights, rng)
        spent.append(seconds)
        at_least |= ended
    return Forecast(str(objective), _bodies(table), float(np.mean(spent)), at_least)


class _Enough(Exception):
    """A sample took long enough to know."""


def _one_body(objective: Objective, truth: Any, weights: Ints, rng: np.random.Generator) -> tuple[float, bool]:
    """Search the best head for half of the examples, for at most `LONGEST_SAMPLE`; return seconds and if it was cut."""
    covered = rng.random(len(truth)) < 0.5
    allowed = np.ones((truth.shape[1], 2), dtype=bool)
    allowed[:, 0] = objective.negative
    problem = HeadProblem(truth, covered, np.full(truth.shape, -1, dtype=np.int8), weights, allowed)
    start = time.perf_counter()

    def watch() -> None:
        if time.perf_counter() - start > LONGEST_SAMPLE:
            raise _Enough

    try:
        best_head(problem, objective, watch)
    except _Enough:
        return LONGEST_SAMPLE, True
    except OptionError:  # too many heads to try, or no value for such counts: the search itself will say so
        return 0.0, False
    return time.perf_counter() - start, False


def _bodies(table: Table) -> int:
    """Count the conditions that can be tried on a table."""
    total = 0
    for number, feature in enumerate(table.features):
        column = table.column(number)
        distinct = len(np.unique(column[~np.isnan(column)]))
        total += distinct if feature.is_nominal else 2 * max(distinct - 1, 0)
    return total


def _advice(objective: Objective) -> str:
    ways = []
    if objective.averaging == "example":
        ways.append(f"{argument('averaging', 'micro')} or 'label'")
    if objective.scope != "head":
        ways.append(argument("scope", "head"))
    if isinstance(objective.measure, FunctionMeasure):
        ways.append("an expression such as 'tp/(tp+fp+0.5*fn)' instead of a function")
    ways.append(argument("heads", "single"))
    limit = parameter_name("time_limit")
    return f"{', '.join(ways)} would be fast, and {limit} ends learning with the rules found so far"


def _duration(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
