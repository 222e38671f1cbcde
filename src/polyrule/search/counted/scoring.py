"""Which condition is best, from counts alone: the judge of the reference engine, asked with sums instead of rows.

Where a measure is a ratio, the compiled decider, or one on a GPU, finds the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from polyrule.errors import OptionError
from polyrule.heads.problem import HeadSpace, rank
from polyrule.heads.single_literals import merge
from polyrule.measures import Objective, RatioMeasure, SubsetAccuracy
from polyrule.search.counted.batches import CountedBatch
from polyrule.search.counted.requests import Body, Counts
from polyrule.search.gpu import device
from polyrule.search.gpu.counter import decide_on_device
from polyrule.search.scoring import ScoredCandidate, Scorer, scored_candidate
from polyrule.utils.arrays import Bools, Bytes, Ints, Ints32
from polyrule.utils.compute import native
from polyrule.utils.messages import argument, parameter_name

Literals = tuple[tuple[int, int], ...]


def check_countable(objective: Objective) -> None:
    """Raise `OptionError` if counts per label do not determine the value of a head."""
    subset = isinstance(objective.measure, SubsetAccuracy)
    if subset and (objective.scope != "head" or not objective.lift.is_none):
        raise OptionError(
            f"subset accuracy with bins or a store needs {argument('scope', 'head')} and no lift; leave out "
            f"{parameter_name('max_bins')} to fit in memory"
        )
    if not subset and objective.averaging == "example":
        raise OptionError(
            f"{argument('averaging', objective.averaging)} needs whole examples, which bins and stores only count; use "
            f"{argument('averaging', 'micro')} or 'label', or leave out {parameter_name('max_bins')} to fit in memory"
        )


class CountedScorer(Scorer):
    """Finds the best candidate of a batch of counts."""

    def __init__(self, labels: int, objective: Objective, agree: Callable[[Body, Literals], Ints]) -> None:
        check_countable(objective)
        super().__init__(labels, objective)
        self._agree = agree

    def fast_measure(self, allowed: Bools) -> RatioMeasure | None:
        """Return the measure of single literals for the compiled decider: a ratio in 64 bits; else None."""
        limit = self.objective.max_head_size
        if limit is not None and 1 < limit < len(allowed):
            return None
        values = self._literal_values(allowed)
        return None if values is None else values.ratio

    def _search(self, batch: CountedBatch, index: int, allowed: Bools) -> ScoredCandidate | None:
        """Search the best head of a candidate."""
        subset = isinstance(self.objective.measure, SubsetAccuracy)
        return (self._search_subset if subset else super()._search)(batch, index, allowed)

    def _search_subset(self, batch: CountedBatch, index: int, allowed: Bools) -> ScoredCandidate | None:
        """Literals that are right on the same examples go together: they agree on as much as each is right."""
        problem = self._problem(batch, index, allowed)
        space = HeadSpace.of(problem, self.objective)
        if not space.choices:
            return None
        right = {(label, v): int(problem.counts.tp[label, v] + problem.counts.tn[label]) for label, v in space.literals}
        max_right = max(right.values())
        best = tuple(literal for literal, weight in right.items() if weight == max_right)
        agreed = self._agree(batch.body(index), best) if len(best) > 1 else np.array([[max_right]])
        heads = [merge((best[j] for j in np.flatnonzero(row == max_right)), space, problem) for row in agreed]
        value = Fraction(max_right, self.weight)
        head = max(heads, key=lambda head: rank(value, head, problem.tp(head)))
        return scored_candidate(index, value, head, problem.counts)


@dataclass(frozen=True, eq=False)
class ColumnViews:
    """Columns of a table in canonical order: where each begins and ends, whether it is cut, which label it shows."""

    starts: Ints
    ends: Ints
    numeric: Bytes
    own_label: Ints32

    @cached_property
    def on_device(self) -> tuple[Any, ...]:
        """These four arrays on a GPU."""
        return tuple(map(device.cupy().asarray, (self.starts, self.ends, self.numeric, self.own_label)))


def decide(
    counts: Counts,
    occurs: Any,
    columns: ColumnViews,
    allowed: Bools,
    total: Ints,
    measure: RatioMeasure,
    min_coverage: int,
    single: bool,
) -> tuple[int, int, bool] | None:
    """Return position among `columns`, code and side of the best candidate; None where no literal can be used.

    `occurs` is the weight of every bin in the working set; `single` says that a head holds one label.
    """
    if not isinstance(counts.weight, np.ndarray):
        return decide_on_device(counts, occurs, columns, allowed, total, measure, min_coverage, single)
    assert native is not None
    best_cut: tuple[int, int, bool] | None = native.decide_counts(
        outcomes=counts.outcomes,
        weight=counts.weight,
        occurs=occurs,
        starts=columns.starts,
        ends=columns.ends,
        numeric=columns.numeric,
        own_label=columns.own_label,
        allowed=allowed.astype(np.uint8),
        total=np.ascontiguousarray(total),
        num=list(measure.numerator),
        den=list(measure.denominator),
        min_coverage=min_coverage,
        single=single,
    )
    return best_cut
