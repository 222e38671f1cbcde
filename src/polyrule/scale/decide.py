"""The best condition of a node, from its counts, by the compiled decider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.kernels.singles import RatioValues
from polyrule.native import native
from polyrule.scale.coded import Counts
from polyrule.scale.gpu import decide_on_device

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnViews:
    """Columns of a table in canonical order: where each begins and ends, whether it is cut, which label it shows."""

    starts: Ints
    ends: Ints
    numeric: npt.NDArray[np.uint8]
    own_label: npt.NDArray[np.int32]


def decide(
    counts: Counts,
    occurs: Any,
    columns: ColumnViews,
    allowed: npt.NDArray[np.bool_],
    total: Ints,
    values: RatioValues,
    min_coverage: int,
    single: bool,
) -> tuple[int, int, bool] | None:
    """Return position among `columns`, code and side of the best candidate; None where no literal can be used.

    `occurs` is the weight of every bin in the working set; `single` says that a head holds one label.
    """
    if not isinstance(counts.weight, np.ndarray):
        return decide_on_device(counts, occurs, columns, allowed, total, values, min_coverage, single)
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
        num=list(values.num),
        den=list(values.den),
        min_coverage=min_coverage,
        single=single,
    )
    return found
