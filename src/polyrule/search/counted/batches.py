"""From the counts of one body to the candidates that extend it, in canonical order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.binning.bins import Bins
from polyrule.conditions import Condition, LabelCondition, NominalCondition, NumericCondition
from polyrule.data.table import Feature
from polyrule.search.candidates import cut_sides, midpoint
from polyrule.search.counted.requests import Body, Counts, Range
from polyrule.utils.arrays import Bools, Ints


@dataclass(frozen=True, eq=False)
class CountedBatch:
    """Candidates of one column: weight that each of them covers, and its body by codes and by last condition."""

    outcomes: Ints  # (candidates, labels, N_OUTCOMES)
    weight: Ints
    body: Callable[[int], Body]
    condition: Callable[[int], Condition]

    @classmethod
    def of(
        cls, body: Body, counts: Counts, ranges: Callable[[int], Range], condition: Callable[[int], Condition]
    ) -> CountedBatch:
        """Return the candidates that add one condition each to a body."""
        return cls(counts.outcomes, counts.weight, lambda index: (*body, ranges(index)), condition)

    def __len__(self) -> int:
        return len(self.weight)


def numeric_cuts(weight: Ints, occurs: Ints) -> tuple[Ints, Bools]:
    """Return the candidates of a numeric column: the last bin below each cut, and whether the rows above it are meant.

    `weight` and `occurs` are the weights of each bin, the missing value last, in the node and in the working set. Two
    cuts that divide the node alike are one candidate, at the lowest threshold. Where rows of the node miss a value, a
    cut below or above all others leaves out just those.

    Examples
    --------
    >>> below, above = numeric_cuts(np.array([1, 0, 2, 0]), np.array([1, 1, 2, 0]))
    >>> below.tolist(), above.tolist()
    ([0, 0], [False, True])
    """
    inside, everywhere = np.flatnonzero(weight[:-1]), np.flatnonzero(occurs[:-1])
    missing = weight[-1] > 0 and len(inside) > 0
    before, behind = missing and everywhere[0] < inside[0], missing and everywhere[-1] > inside[-1]
    step, above = cut_sides(len(inside), before, behind)
    return np.append(inside, everywhere[:1])[step], above


def numeric_batch(
    body: Body, column: int, bins: Bins, counts: Counts, occurs: Ints, only: tuple[int, bool] | None = None
) -> CountedBatch:
    """Candidates ``<=`` and ``>`` of a numeric feature, cut between bins; or the one of a cut and side."""
    below, above = numeric_cuts(counts.weight, occurs)
    if only is not None:
        selected = (below == only[0]) & (above == only[1])
        below, above = below[selected], above[selected]
    with_value = slice(0, len(bins))
    everywhere = np.flatnonzero(occurs[with_value])

    def split(per_bin: Any) -> Any:
        running = np.cumsum(per_bin[with_value], axis=0)
        selected = running[below]
        selected[above] = (running[-1] if len(running) else 0) - selected[above]
        return selected

    def ranges(index: int) -> Range:
        cut = int(below[index])
        return Range(column, cut + 1, len(bins) - 1) if above[index] else Range(column, 0, cut)

    def condition(index: int) -> Condition:
        cut = int(below[index])
        upper = int(everywhere[np.searchsorted(everywhere, cut, side="right")])
        threshold = midpoint(float(bins.highs[cut]), float(bins.lows[upper]))
        return NumericCondition(column, ">" if above[index] else "<=", threshold)

    return CountedBatch.of(body, Counts(split(counts.outcomes), split(counts.weight)), ranges, condition)


def equality_batch(
    body: Body, column: int, features: tuple[Feature, ...], counts: Counts, only: int | None = None
) -> CountedBatch:
    """Candidates ``=`` of a nominal feature or of a label, or the one of a code; the last code is a missing value."""
    total = int(counts.weight.sum())
    values = np.flatnonzero((counts.weight[:-1] > 0) & (counts.weight[:-1] < total))
    if only is not None:
        values = values[values == only]

    def condition(index: int) -> Condition:
        value = int(values[index])
        if column < len(features):
            return NominalCondition(column, value)
        return LabelCondition(column - len(features), value)

    def ranges(index: int) -> Range:
        return Range(column, int(values[index]), int(values[index]))

    return CountedBatch.of(body, counts.at(values), ranges, condition)
