"""Growth of bodies: lists by separate-and-conquer, from the labels alone, by two measures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from polyrule.covering.learner import CoveringLoop, Reason, SeparateOptions, Training
from polyrule.data.table import Table
from polyrule.measures import Measure, Objective, get
from polyrule.measures.ratio import exact_number
from polyrule.search.protocol import Candidate, Engine
from polyrule.selection.derived_columns import DerivedTable
from polyrule.selection.objective import Body
from polyrule.selection.problem import ListProblem
from polyrule.utils.arrays import Bytes

# Rules of a grown list: with synthetic examples, for very many cells, and for few.
_MAX_RULES_WITH_SYNTHETIC, _MAX_RULES = 50, (50, 1000)
_MAX_GROWN_CELLS = 150_000_000  # rules times examples times labels, about
_MAX_SMALL_RULES = 20  # in a row, that are too small to be selected


@dataclass(frozen=True, eq=False)
class GrownBodies:
    """Bodies of the grown lists, and the reason why growth ended."""

    bodies: tuple[Body, ...]
    reason: Reason


def grow(problem: ListProblem) -> GrownBodies:
    """Grow lists for the labels by the measure and by F1, and return their bodies."""
    labels, train = problem.train.labels, problem.train
    growing = problem.learner.growing
    min_rows = problem.settings.least_rows(len(problem.examples)) * problem.example
    min_coverage = max(exact_number(growing.min_coverage), Fraction(max(problem.min_weight, min_rows)) * train.scale)
    growing = replace(growing, min_coverage=min_coverage)
    max_rules = int(np.clip(_MAX_GROWN_CELLS // labels.size, *_MAX_RULES))
    options = SeparateOptions(
        0, max_rules=_MAX_RULES_WITH_SYNTHETIC if problem.has_synthetic else max_rules, all_stay=True
    )
    bodies: list[Body] = []
    engine: Engine | None = None
    sorted_table: Table | None = None
    for some_labels, table, measure, translate in _tasks(problem):
        loop = CoveringLoop(options, train.scale, problem.callback, some_labels.shape[1], problem.budget)
        learner = replace(problem.learner, objective=Objective(measure, negative=False), growing=growing)
        like = engine if table is sorted_table else None
        examples = Training(table, some_labels, train.weights, train.label_names, train.scale)
        engine, sorted_table = learner.engine(examples, like=like), table
        loop.run(engine, until_small(engine, problem.min_weight), int(train.weights.sum()))
        bodies += [translate(rule.body) for rule in loop.rules]
        if loop.reason not in ("complete", "max_rules"):
            return GrownBodies(tuple(bodies), loop.reason)
    return GrownBodies(tuple(bodies), "complete")


def _tasks(problem: ListProblem) -> Iterator[tuple[Bytes, Table, Measure, Callable[[Body], Body]]]:
    """Yield labels, table, measure and translation of bodies for each list.

    Labels that may use the same features are grown together. Labels that too few examples have for a rule are left out.
    """
    train, constraints = problem.train, problem.constraints
    groups = [(None, range(len(train.label_names)))] if constraints is None else constraints.groups()
    weight, counted = problem.example, train.weights
    if problem.has_synthetic:  # these are many for each of the user's, whatever their weight
        weight, counted = len(train.table) // len(problem.examples.table), np.ones_like(train.weights)
    derived = DerivedTable(train.table, train.labels, train.weights, weight, counted)
    present = train.weights @ (train.labels == 1).astype(np.int64)

    def translate(body: Body) -> Body:
        translated = derived.body(body)
        return translated if constraints is None else constraints.allowed_part(translated)

    for features, labels in groups:
        table = derived.table if features is None else derived.table.emptied(derived.allowed(features))
        frequent = [x for x in labels if present[x] >= problem.min_weight and problem.predictable[x]]
        for measure in dict.fromkeys([problem.learner.objective.measure, get("f1")]) if frequent else ():
            yield np.ascontiguousarray(train.labels[:, frequent]), table, measure, translate


def until_small(engine: Engine, min_weight: float) -> Callable[[], Candidate | None]:
    """Return a function that grows rules until many in a row predict too little correctly to be selected."""
    n_small = 0

    def grow_rule() -> Candidate | None:
        nonlocal n_small
        candidate = engine.grow()
        if candidate is not None:
            n_small = n_small + 1 if candidate.tp < min_weight else 0
        return candidate if n_small <= _MAX_SMALL_RULES else None

    return grow_rule
