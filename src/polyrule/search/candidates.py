"""The conditions that can extend a body, feature by feature, with what each would cover.

A batch holds the candidates of one feature (or of one label) in canonical order. What they cover is counted by running
sums over the covered rows in the feature's order, so all thresholds of a feature cost one sort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from polyrule.conditions import (
    Condition,
    LabelCondition,
    NominalCondition,
    NumericCondition,
    fixed_features,
    label_conditions,
)
from polyrule.data.table import Table
from polyrule.search.state import TrainingState
from polyrule.utils.arrays import Bools, Ints


def midpoint(low: float, high: float) -> float:
    """Return a threshold that separates ``x <= low`` from ``x >= high``, halfway where doubles allow it.

    Examples
    --------
    >>> midpoint(1.0, 2.0)
    1.5
    >>> midpoint(1e308, 1.5e308)
    1.25e+308
    >>> midpoint(5e-324, 1e-323)
    5e-324
    """
    with np.errstate(over="ignore"):
        middle = float((np.float64(low) + np.float64(high)) / 2)
    if not np.isfinite(middle):
        middle = low / 2 + high / 2
    return middle if low <= middle < high else low


def cut_sides(steps: int, before: bool, behind: bool) -> tuple[Ints, Bools]:
    """Return the last step below each cut of a numeric feature, and whether the rows above it are covered.

    Thresholds ascend, both sides of each are candidates, ``<=`` first. Where rows miss a value, a cut `before` or
    `behind` all steps may leave out just those.

    Examples
    --------
    >>> below, above = cut_sides(2, before=True, behind=False)
    >>> below.tolist(), above.tolist()
    ([-1, 0, 0], [True, False, True])
    """
    below, above = np.repeat(np.arange(steps - 1), 2), np.tile([False, True], max(0, steps - 1))
    if before:
        below, above = np.append(-1, below), np.append(True, above)
    if behind:
        below, above = np.append(below, steps - 1), np.append(above, False)
    return below, above


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Candidates of one feature or label: candidate `i` covers ``rows[start[i]:end[i]]``.

    `condition` makes the condition of a candidate when it is wanted, which for most of them is never.
    """

    state: TrainingState
    rows: Ints
    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    condition: Callable[[int], Condition]

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def outcomes(self) -> Ints:
        """Weight that each candidate covers, by label and kind."""
        return self.sums(self.state.outcomes)

    @cached_property
    def weight(self) -> Ints:
        """Weight that each candidate covers."""
        return self.sums(self.state.weights)

    def covered(self, index: int) -> Ints:
        """Rows that candidate `index` covers, ascending."""
        return np.sort(self.rows[self.start[index] : self.end[index]])

    def sums(self, per_row: Ints) -> Ints:
        """Sum of `per_row` (indexed like the training examples) over each candidate's rows."""
        running = np.zeros((len(self.rows) + 1, *per_row.shape[1:]), dtype=np.int64)
        np.cumsum(per_row[self.rows], axis=0, out=running[1:])
        return np.asarray(running[self.end] - running[self.start])


@dataclass(eq=False)
class CandidateFinder:
    """Enumerates the batches that extend a body, in canonical order: features by column, then labels by index.

    It is made anew for every rule, because thresholds depend on the working set.
    """

    table: Table
    state: TrainingState
    label_conditions: bool = True
    _distinct: dict[int, npt.NDArray[np.float64]] = field(default_factory=dict)

    def batches(self, covered: Ints, body: tuple[Condition, ...]) -> Iterator[tuple[RowBatch, int | None]]:
        """Yield the non-empty batches of conditions that exclude at least one covered row and keep at least one.

        Beside each stands the label that it tests, if it does.
        """
        tested = fixed_features(body)
        tested_labels = {condition.label for condition in label_conditions(body)}
        for batch in self._of_features(covered, tested):
            yield batch, None
        if self.label_conditions:
            for label in np.flatnonzero(self.state.ever_set):
                if label not in tested_labels:
                    batch = self._label(int(label), covered)
                    if len(batch):
                        yield batch, int(label)

    def _of_features(self, covered: Ints, tested: set[int]) -> Iterator[RowBatch]:
        for index, feature in enumerate(self.table.features):
            if not feature.is_nominal:
                batch = self._numeric(index, covered)
            elif index not in tested:
                batch = self._nominal(index, covered)
            else:
                continue
            if len(batch):
                yield batch

    def _working_values(self, index: int) -> npt.NDArray[np.float64]:
        if index not in self._distinct:
            values = self.table.column(index)[self.state.working]
            self._distinct[index] = np.unique(values[~np.isnan(values)])
        return self._distinct[index]

    def _numeric(self, index: int, covered: Ints) -> RowBatch:
        values = self.table.column(index)[covered]
        has_value = ~np.isnan(values)
        order = np.argsort(values[has_value], kind="stable")
        rows, values = covered[has_value][order], values[has_value][order]
        distinct = self._working_values(index)
        groups = np.searchsorted(distinct, values)
        ends = np.flatnonzero(np.diff(groups, append=-1)) + 1  # of the rows of each group
        missing = 0 < len(rows) < len(covered)
        before, behind = missing and groups[0] > 0, missing and groups[-1] + 1 < len(distinct)
        step, above = cut_sides(len(ends), before, behind)
        # the last group below each cut, or the first of all, and the first row above it
        below, position = np.append(groups[ends - 1], 0)[step], np.append(ends, 0)[step]

        def condition(i: int) -> Condition:
            threshold = midpoint(float(distinct[below[i]]), float(distinct[below[i] + 1]))
            return NumericCondition(index, ">" if above[i] else "<=", threshold)

        start, end = np.where(above, position, 0), np.where(above, len(rows), position)
        return RowBatch(self.state, rows, start, end, condition)

    def _nominal(self, index: int, covered: Ints) -> RowBatch:
        values = self.table.column(index)[covered]
        return self._equalities(values, covered, lambda value: NominalCondition(index, value))

    def _label(self, label: int, covered: Ints) -> RowBatch:
        values = self.state.assigned[covered, label].astype(np.float64)
        values[values < 0] = np.nan
        return self._equalities(values, covered, lambda value: LabelCondition(label, value))

    def _equalities(self, values: npt.NDArray[np.float64], covered: Ints, make: Callable[[int], Condition]) -> RowBatch:
        has_value = ~np.isnan(values)
        order = np.argsort(values[has_value], kind="stable")
        rows, values = covered[has_value][order], values[has_value][order]
        distinct, start = np.unique(values, return_index=True)
        end = np.append(start[1:], len(rows))
        proper = end - start < len(covered)
        return RowBatch(self.state, rows, start[proper], end[proper], lambda i: make(int(distinct[proper][i])))
