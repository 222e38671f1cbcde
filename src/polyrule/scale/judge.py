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

from polyrule.arrays import Bools, Bytes, Ints, Ints32
from polyrule.errors import OptionError
from polyrule.heads import LabelCounts, World
from polyrule.kernels.judge import Judge, Verdict
from polyrule.measures import Objective, RatioMeasure, SubsetAccuracy
from polyrule.model.rule import Condition
from polyrule.native import native
from polyrule.scale import device
from polyrule.scale.coded import Body, Counts, Range
from polyrule.scale.gpu import decide_on_device

Literals = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class CountedBatch:
    """Candidates of one column: what each of them covers, as counts (candidates, labels, absent or present)."""

    unset: Ints
    covered: Ints
    weight: Ints
    ranges: Callable[[int], Range] | None  # None: the empty body as it is
    longer: Callable[[Range], Body]
    condition: Callable[[int], Condition]

    def __len__(self) -> int:
        return len(self.weight)

    def body(self, index: int) -> Body:
        """Return the body of a candidate, coded."""
        return () if self.ranges is None else self.longer(self.ranges(index))


def check_countable(objective: Objective) -> None:
    """Say so where a head's value cannot be known from counts per label."""
    subset = isinstance(objective.measure, SubsetAccuracy)
    if subset and (objective.scope != "head" or not objective.lift.is_none):
        raise OptionError(
            "subset accuracy with bins or a store needs scope='head' and no lift; leave out max_bins to fit in memory"
        )
    if not subset and objective.averaging == "example":
        raise OptionError(
            f"averaging={objective.averaging!r} needs whole examples, which bins and stores only count; "
            "use averaging='micro' or 'label', or leave out max_bins to fit in memory"
        )


class CountedJudge(Judge):
    """Finds the best candidate of a batch of counts."""

    def __init__(self, labels: int, objective: Objective, agree: Callable[[Body, Literals], Ints]) -> None:
        check_countable(objective)
        self.objective = objective
        self.watch = None
        self._last = None
        form = objective.fast_form(labels)
        self.form = None if form is None or form.formula else form
        self._agree = agree

    def update(self, total: Ints, working_weight: int) -> None:
        """Take note of the working set: (labels, absent or present) and its weight."""
        self.total = total
        self._working_weight = working_weight

    def fast_measure(self, allowed: Bools) -> RatioMeasure | None:
        """What values single literals, where the compiled decider can: ratios in 64 bits, heads not cut to a size."""
        limit = self.objective.max_head_size
        if limit is not None and 1 < limit < len(allowed):
            return None
        values = self._literal_values(allowed)
        return None if values is None else values.ratio

    def counts(self, batch: Any) -> LabelCounts:
        """Label counts of every candidate."""
        return LabelCounts.of(batch.unset, batch.covered, self.total - batch.covered)

    def _world(self, batch: Any, index: int, allowed: Bools) -> World:
        return World.from_counts(batch.unset[index], batch.covered[index], self.total, self._working_weight, allowed)

    def ends_growth(self) -> bool:
        """Say no: that takes rows."""
        return False

    def _search(self, batch: Any, index: int, allowed: Bools) -> Verdict | None:
        subset = isinstance(self.objective.measure, SubsetAccuracy)
        return (self._search_subset if subset else super()._search)(batch, index, allowed)

    def _search_subset(self, batch: Any, index: int, allowed: Bools) -> Verdict | None:
        """Literals that are right on the same examples go together: they agree on as much as each is right."""
        unset = batch.unset[index]
        usable = allowed & (unset > 0)
        if not usable.any():
            return None
        right = np.where(usable, unset + (self.total - batch.covered[index])[:, :1], -1)
        best = int(right.max())
        tied = tuple((int(label), int(value)) for label, value in np.argwhere(right == best))
        agreed = self._agree(batch.body(index), tied) if len(tied) > 1 else np.array([[best]])
        groups: list[tuple[int, int, list[int], list[int]]] = []
        for i in range(len(tied)):
            members = [tied[j] for j in np.flatnonzero(agreed[i] == best)]
            if self.objective.max_head_size is not None and len(members) > self.objective.max_head_size:
                members.sort(key=lambda literal: (-unset[literal], literal[0]))
                members = sorted(members[: self.objective.max_head_size])
            tp = int(sum(unset[literal] for literal in members))
            groups.append((-len(members), -tp, [m[0] for m in members], [-m[1] for m in members]))
        _, tp, labels, values = min(groups)
        head = tuple(
            (label, -value, int(unset[label, -value]), int(unset[label, 1 + value]))
            for label, value in zip(labels, values, strict=True)
        )
        return Verdict(index, Fraction(best, self._working_weight), -tp, head)


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
