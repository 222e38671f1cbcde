"""What a user is told: warnings before and after learning, one sentence each, and progress while it goes on."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.data.columns import listing
from polyrule.data.labels import dense_labels
from polyrule.data.table import Table
from polyrule.errors import MeasureWarning, ModelWarning, OptionError, SlowSearchWarning
from polyrule.heads import HeadProblem, best_head
from polyrule.heads.no_condition import excluding_never_helps
from polyrule.measures import FunctionMeasure, Objective, SubsetAccuracy
from polyrule.measures.check import remarks
from polyrule.model.rule import Rule
from polyrule.model.rule_list import RuleList
from polyrule.utils.arrays import Ints
from polyrule.utils.messages import argument, depth_of_caller, parameter_name

PATIENCE = 60.0
"""Seconds that a search for one condition may take before it is announced."""

SAMPLES, LONGEST_SAMPLE = 3, 0.5
FREQUENT = 0.2
"""Share of examples from which on a label is missed if no rule predicts it; rarer ones may well not earn a rule."""

MOSTLY = 0.6
"""Share of rules without a condition from which on the measure is to blame."""


def warn_about_measure(objective: Objective) -> None:
    """Warn if every rule is as good as any other, if errors are rewarded, or if false positives do not count."""
    for remark in remarks(objective.measure):
        if not remark.startswith("it makes"):  # that depends on the data; see `warn_about_rules`
            warnings.warn(f"measure {objective.measure.name!r}: {remark}", MeasureWarning, stacklevel=depth_of_caller())


def warn_about_rules(objective: Objective, rules: Sequence[Rule]) -> None:
    """Warn if most rules have no condition, so that the list predicts nearly the same for every example."""
    bare = sum(not rule.body for rule in rules)
    if len(rules) < 2 or bare < MOSTLY * len(rules):
        return
    often, same = ("every time", "the same") if bare == len(rules) else ("most of the time", "nearly the same")
    warnings.warn(
        f"measure {objective.measure.name!r}: 'label <- true' won {often}, so the list predicts {same} for every "
        "example; a measure that punishes false positives more, such as f0.5, gives rules with conditions",
        MeasureWarning,
        stacklevel=depth_of_caller(),
    )


def warn_about_model(model: RuleList, truth: Any, reason: str, whole: bool = True) -> None:
    """Warn if a list has no rules, is no better than constants, or cannot predict a frequent label or any present one.

    A list that was ended before its time, or whose classes are decided by probabilities (not `whole`), is only expected
    to have a rule.
    """
    poor = model.shortfall() if model.rules else ""
    for text in filter(None, (poor and f"the list is {poor}", _shortcoming(model, truth, reason, whole))):
        warnings.warn(text, ModelWarning, stacklevel=depth_of_caller())


def _shortcoming(model: RuleList, truth: Any, reason: str, whole: bool) -> str:
    frequent = np.asarray((truth == 1).mean(axis=0)).ravel() >= FREQUENT
    frequent &= np.array(model.defaults) == 0
    if not frequent.any() or reason in ("interrupted", "callback"):
        return ""  # little is there to be predicted, or the user knows
    if not model.rules:
        smaller = f"{parameter_name('simplicity')} or {parameter_name('min_coverage')}"
        why = f"none was good enough; a smaller {smaller} allows more"
        if reason == "time_limit":
            why = "the time limit ended learning before the first; allow more time"
        return f"the list has no rules: {why}"
    if reason != "complete" or not whole:
        return ""
    said = {literal.label for rule in model.rules for literal in rule.head if literal.value}
    if not said and not any(model.defaults):
        return (
            "the list can only say that labels are absent; a measure that rewards what is present, such as f0.5, or "
            "negative=False gives rules for them"
        )
    never = [name for k, name in enumerate(model.label_names) if frequent[k] and k not in said]
    if not never:
        return ""
    which = listing(never)
    return (
        f"never predicted by this model: {which}, though at least one example in {round(1 / FREQUENT)} has "
        f"{'it' if len(never) == 1 else 'each of them'}; more or longer rules may predict "
        f"{'it' if len(never) == 1 else 'them'} (a smaller simplicity, more conditions)"
    )


def warn_about_time(objective: Objective, table: Table, truth: Any, weights: Ints) -> None:
    """Warn, with what would make it fast, if trying every condition once would take longer than `PATIENCE`."""
    if excluding_never_helps(objective):
        return  # no condition is tried
    found = forecast(objective, table, truth, weights)
    if found is not None and found.seconds > PATIENCE:
        warnings.warn(f"{found}; {_advice(objective)}", SlowSearchWarning, stacklevel=depth_of_caller())


@dataclass(frozen=True)
class Forecast:
    """How long trying every condition once will take, from a few bodies that were tried."""

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
    world = HeadProblem(truth, covered, np.full(truth.shape, -1, dtype=np.int8), weights, allowed)
    start = time.perf_counter()

    def watch() -> None:
        if time.perf_counter() - start > LONGEST_SAMPLE:
            raise _Enough

    try:
        best_head(world, objective, watch)
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


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of learning after one more rule, or while a rule is searched.

    Attributes
    ----------
    rules : int
        Rules learned so far.
    remaining : float
        Share of the training weight still in the working set.
    done : float
        Share of all label decisions on the training data that rules have made; for one list per label, the share of
        the labels that are dealt with.
    elapsed : float
        Seconds since learning began.
    rule : Rule or None
        The rule just learned; None in a report from within a rule, which a callback gets only if it asks for it by
        an attribute ``within_rules = True``.
    bodies : int
        Within a rule: bodies judged for it so far, at least; in the fastest searches columns are counted instead.
    best : float or None
        Within a rule: value of the best body so far.
    """

    rules: int
    remaining: float
    done: float
    elapsed: float
    rule: Rule | None
    bodies: int = 0
    best: float | None = None


Callback = Callable[[Progress], object]
"""Called after every rule; returning ``True`` ends learning with the list so far.

A callback with an attribute ``within_rules`` that is true is also called about twice a second while a rule is searched.
"""

#: seconds between two lines
PACE = 1.0


def telling(callback: Callable[[Any], object] | None, verbose: bool | int) -> Callable[[Any], object] | None:
    """Return a callback that also writes a line to standard error, at most one a second, if `verbose` asks for it."""
    if not verbose:
        return callback
    started = last = time.monotonic()

    def tell(progress: Any) -> object:
        nonlocal last
        now = time.monotonic()
        if now - last >= PACE or progress.rules == 1:
            last = now
            sys.stderr.write(f"[polyrule] {describe(progress)}, {now - started:.1f} s\n")
        wanted = callback is not None and (getattr(progress, "rule", True) is not None or wants_within(callback))
        return callback(progress) if callback is not None and wanted else None

    return within_rules(tell)


def within_rules(callback: Callable[[Any], object]) -> Callable[[Any], object]:
    """Mark a function as a callback that also wants reports from within rules.

    Examples
    --------
    >>> @within_rules
    ... def show(progress):
    ...     print(describe(progress))
    >>> show(Progress(3, 1.0, 0.4, 9.0, None, 120_000, 0.75))
    3 rules, 40 % of the label decisions made; next: 120,000 bodies judged, best value 0.75
    """
    callback.within_rules = True  # type: ignore[attr-defined]
    return callback


def wants_within(callback: Callable[[Any], object] | None) -> bool:
    """Whether a callback asks for reports from within rules."""
    return bool(getattr(callback, "within_rules", False))


def describe(progress: Any) -> str:
    """Say in words how far learning is; `progress` is what any of the learners reports.

    Examples
    --------
    >>> describe(Progress(12, 1.0, 0.62, 3.0, None))
    '12 rules, 62 % of the label decisions made'
    """
    words = f"{progress.rules} rule{'' if progress.rules == 1 else 's'}"
    if hasattr(progress, "phase"):
        return f"{words}, {progress.phase}, {progress.done:.0%} done"
    words = f"{words}, {progress.done:.0%}".replace("%", " % of the label decisions made")
    if progress.rule is not None or not progress.bodies:
        return words
    best = "" if progress.best is None else f", best value {progress.best:.4g}"
    return f"{words}; next: {progress.bodies:,} bodies judged{best}"
