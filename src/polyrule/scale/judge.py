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
from polyrule.heads.single_literals import merge
from polyrule.heads.world import HeadSpace, rank
from polyrule.kernels.judge import Judge, Verdict, verdict_of
from polyrule.measures import Objective, RatioMeasure, SubsetAccuracy
from polyrule.scale import device
from polyrule.scale.batches import CountedBatch
from polyrule.scale.coded import Body, Counts
from polyrule.scale.gpu import decide_on_device
from polyrule.utils.arrays import Bools, Bytes, Ints, Ints32
from polyrule.utils.compute import native
from polyrule.utils.messages import argument, parameter_name

Literals = tuple[tuple[int, int], ...]


def check_countable(objective: Objective) -> None:
    """Say so where a head's value cannot be known from counts per label."""
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


class CountedJudge(Judge):
    """Finds the best candidate of a batch of counts."""

    def __init__(self, labels: int, objective: Objective, agree: Callable[[Body, Literals], Ints]) -> None:
        check_countable(objective)
        super().__init__(labels, objective)
        self._agree = agree

    def fast_measure(self, allowed: Bools) -> RatioMeasure | None:
        """What values single literals, where the compiled decider can: ratios in 64 bits, heads not cut to a size."""
        limit = self.objective.max_head_size
        if limit is not None and 1 < limit < len(allowed):
            return None
        values = self._literal_values(allowed)
        return None if values is None else values.ratio

    def _search(self, batch: CountedBatch, index: int, allowed: Bools) -> Verdict | None:
        """Search the best head of a candidate."""
        subset = isinstance(self.objective.measure, SubsetAccuracy)
        return (self._search_subset if subset else super()._search)(batch, index, allowed)

    def _search_subset(self, batch: CountedBatch, index: int, allowed: Bools) -> Verdict | None:
        """Literals that are right on the same examples go together: they agree on as much as each is right."""
        world = self._world(batch, index, allowed)
        space = HeadSpace.of(world, self.objective)
        if not space.choices:
            return None
        right = {(label, v): int(world.counts.tp[label, v] + world.counts.tn[label]) for label, v in space.literals}
        most = max(right.values())
        best = tuple(literal for literal, weight in right.items() if weight == most)
        agreed = self._agree(batch.body(index), best) if len(best) > 1 else np.array([[most]])
        heads = [merge((best[j] for j in np.flatnonzero(row == most)), space, world) for row in agreed]
        value = Fraction(most, self.weight)
        head = max(heads, key=lambda head: rank(value, head, world.tp(head)))
        return verdict_of(index, value, head, world.counts)


@dataclass(frozen=True, eq=False)
class ColumnViews:
    """Columns of a table in canonical order: where each begins and ends, whether it is cut, which label it shows."""

    starts: Ints
    ends: Ints
    numeric: Bytes
    own_label: Ints32

    @cached_property
    def on_device(self) -> tuple[Any, ...]:
        """The same four arrays on a GPU."""
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
    found: tuple[int, int, bool] | None = native.decide_counts(
        kinds=counts.kinds,
        weight=counts.weight,
        occurs=occurs,
        starts=columns.starts,
        ends=columns.ends,
        numeric=columns.numeric,
        own=columns.own_label,
        allowed=allowed.astype(np.uint8),
        total=np.ascontiguousarray(total),
        num=list(measure.numerator),
        den=list(measure.denominator),
        min_coverage=min_coverage,
        single=single,
    )
    return found
