"""Problem that all stages of the default list read: examples, targets, costs, and what rules may say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil

import numpy as np

from polyrule.covering.constraints import Constraints
from polyrule.covering.learner import Learner, TimeBudget
from polyrule.covering.progress import Callback
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table
from polyrule.measures.ratio import exact_number
from polyrule.model.predict import predict
from polyrule.model.rule_list import RuleList
from polyrule.selection.covers import Covers
from polyrule.selection.objective import QUANTUM, Body, Costs, cell_gains, reached_levels
from polyrule.selection.settings import ListSettings
from polyrule.soft_targets.targets import SoftTargets, association, blend_targets, table_is_text
from polyrule.utils.arrays import Bools, Bytes, Ints, Matrix

# Standard errors by which a teacher's out-of-fold estimates must rise with a label before rules with conditions may
# predict it. If labels are noise, one in fifty reaches this.
_MIN_ASSOCIATION = 2.0


@dataclass(frozen=True, eq=False)
class Examples:
    """Labeled examples in memory.

    Parameters
    ----------
    table : Table
    labels : ndarray of uint8
        0, 1 or unknown.
    weights : ndarray of int64
    label_names : tuple of str
    scale : Fraction
        Weight that one unit of `weights` stands for.
    """

    table: Table
    labels: Bytes
    weights: Ints
    label_names: tuple[str, ...]
    scale: Fraction

    def __len__(self) -> int:
        return len(self.weights)


@dataclass(frozen=True, eq=False)
class FixedCells:
    """Cells that the rules of `start` leave no other rule.

    Parameters
    ----------
    cells : ndarray of bool
        Cells that are set, or of rows on which the list ends.
    set_cells, present : ndarray of bool
        Cells that are set, and those that are set to present.
    ended : ndarray of bool, shape (rows,)
        Rows on which the list ends.
    """

    cells: Bools
    set_cells: Bools
    present: Bools
    ended: Bools


@dataclass(frozen=True, eq=False)
class ListProblem:
    """Data and settings of one fit.

    Parameters
    ----------
    examples : Examples
        Examples of the user, which counts, expectations and limits are about.
    train : Examples
        These, then synthetic examples.
    estimates : ndarray or None
        Probabilities by the teacher for the rows of `train`; None without a teacher.
    targets : ndarray
        Targets of the rows of `train`, in units of 1 / QUANTUM; 0 for unknown labels.
    validation_targets : ndarray
        Targets for estimating the value of a list on new examples. Training targets are optimistic and estimates alone
        conservative, so this is their mean.
    first_level : int
        Value of a list before it is known: that of the teacher's estimates.
    predictable : ndarray of bool, shape (labels,)
        Labels that rules with conditions may predict.
    known : ndarray of bool
        Cells of `train` whose label is known.
    fixed : FixedCells
        Of the rows of `train`.
    costs : Costs
    text : bool
    settings : ListSettings
    learner : Learner
        Grows the bodies.
    constraints : Constraints or None
    start : RuleList or None
    callback : Callback or None
    budget : TimeBudget
    """

    examples: Examples
    train: Examples
    estimates: Matrix | None
    targets: Matrix
    validation_targets: Matrix
    first_level: int
    predictable: Bools
    known_cells: Bools
    fixed: FixedCells
    costs: Costs
    text: bool
    settings: ListSettings
    learner: Learner
    constraints: Constraints | None = None
    start: RuleList | None = None
    callback: Callback | None = None
    budget: TimeBudget = field(default_factory=TimeBudget)

    @property
    def threads(self) -> int:
        """Number of threads."""
        return self.learner.compute.threads

    @property
    def has_synthetic(self) -> bool:
        """True if there are synthetic examples."""
        return self.train is not self.examples

    @property
    def example(self) -> float:
        """Weight of one example of the user in `train`; the mean, if all are lighter than 1 on average."""
        return example_weight(self.examples) * float(self.examples.scale / self.train.scale)

    @property
    def min_weight(self) -> float:
        """Weight that a rule with one condition and one label must predict correctly to exceed its costs."""
        return (self.costs.rule + self.costs.condition + self.costs.literal) / (2 * QUANTUM)

    def gains(self, targets: Matrix, levels: Ints | int) -> Matrix:
        """Return the gain of predicting each cell as present; 0 for unknown labels."""
        gains = self.train.weights[:, None] * cell_gains(targets, self.settings.beta_squared, levels)
        return np.where(self.known_cells, gains, 0.0)

    def allowed_labels(self, bodies: Sequence[Body]) -> Bools:
        """Return the labels that may be in the head for each body, shape (bodies, labels)."""
        allowed = np.ones((len(bodies), len(self.predictable)), dtype=bool)
        if self.constraints is not None:
            allowed &= self.constraints.heads(bodies)
        allowed[np.array([bool(body) for body in bodies])] &= self.predictable
        return allowed

    def is_allowed(self, body: Body) -> bool:
        """Return True unless a condition has a direction that the constraints exclude."""
        return self.constraints is None or self.constraints.allowed_part(body) == body

    def covers_enough(self, covers: Covers) -> Bools:
        """Return True for each body that covers enough examples, in number and in weight."""
        examples = self.examples
        sizes = np.zeros((len(self.train.weights), 2))
        sizes[: len(examples)] = np.column_stack([np.ones(len(examples)), examples.weights])
        covered = covers.sums(np.ones(len(sizes), dtype=bool), sizes)
        return np.asarray((covered >= [self.settings.least_rows(len(examples)), self.min_coverage]).all(axis=1))

    @property
    def min_coverage(self) -> int:
        """Minimum weight of examples that a rule covers, as the user set it."""
        return ceil(exact_number(self.learner.growing.min_coverage) / self.examples.scale)


def example_weight(examples: Examples) -> float:
    """Return the weight of one example, in units; the mean, if all are lighter than 1 on average."""
    return float(min(1 / examples.scale, Fraction(float(examples.weights.mean()))))


def prepare(
    examples: Examples,
    settings: ListSettings,
    learner: Learner,
    constraints: Constraints | None = None,
    start: RuleList | None = None,
    callback: Callback | None = None,
) -> ListProblem:
    """Return the problem: fit the teacher, if there is one, and make the targets."""
    budget = TimeBudget(learner.separating.time_limit)
    table, labels, weights = examples.table, examples.labels, examples.weights
    text = table_is_text(table, labels, weights)
    soft = None
    if settings.teacher:
        soft = SoftTargets.make(
            table, labels, weights, text=text, threads=learner.compute.threads, deadline=budget.deadline
        )
    train, estimates = examples, None
    if soft is not None:
        estimates = soft.estimates
        if len(soft.labels) > len(labels):
            scale = examples.scale * Fraction(int(weights.sum()), int(soft.weights.sum()))
            train = replace(examples, table=soft.table, labels=soft.labels, weights=soft.weights, scale=scale)
    targets = blend_targets(labels, estimates, QUANTUM)
    validation, predictable = targets, np.ones(labels.shape[1], dtype=bool)
    first_level = round(QUANTUM * (0.5 if settings.beta_squared is None else 0.6))
    if soft is not None:
        validation = np.rint((targets + QUANTUM * soft.estimates) / 2)
        predictable = (
            association(soft.estimates[: len(labels)], labels, weights / example_weight(examples)) >= _MIN_ASSOCIATION
        )
        first_level = reached_levels(targets, soft.weights, soft.estimates >= soft.cutoff, settings.beta_squared)[0]
    problem = ListProblem(
        examples,
        train,
        estimates,
        targets,
        validation,
        first_level,
        predictable,
        np.asarray(train.labels != UNKNOWN),
        fixed_cells(start, train),
        Costs(1, 1, 1),
        text,
        settings,
        learner,
        constraints,
        start,
        callback,
        budget,
    )
    total = float((train.weights[:, None] * targets).sum())
    return replace(problem, costs=settings.costs(total, problem.example))


def fixed_cells(start: RuleList | None, train: Examples) -> FixedCells:
    """Return the cells that the rules of `start` leave no other rule."""
    if start is None or not len(start):
        none = np.zeros(train.labels.shape, dtype=bool)
        return FixedCells(none, none, none, np.zeros(len(train.labels), dtype=bool))
    prediction = predict(start, train.table.decoded())
    stops = np.array([rule.stop for rule in start.rules])
    set_cells = prediction.setter >= 0
    ended = (set_cells & stops[prediction.setter]).any(axis=1)
    return FixedCells(set_cells | ended[:, None], set_cells, set_cells & (prediction.labels == 1), ended)
