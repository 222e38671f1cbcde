"""The compiled engine with its limits lowered, so that small data takes the ways of large data.

The only place of the campaign that knows how limits are given to the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polyrule.search.native import NativeEngine

#: Name of a limit -> lower values to draw from.
LOWER: dict[str, list[float]] = {
    "lane_capacity": [400.0, 5000.0],
    "sorted_rows": [1, 16],
    "binned_rows": [1, 8],
    "kept_rows": [0, 20],
    "record_bytes": [0, 64],
    "table_bytes": [0],
    "threaded_work": [0, 100],
    "first_labels": [0, 3],
    "stretch_rows": [1, 2, 5],
}
Limits = Mapping[str, float]


def draw_limits(rng: np.random.Generator) -> dict[str, float]:
    """Some limits lowered, several at once more often than not."""
    return {name: choices[rng.integers(len(choices))] for name, choices in LOWER.items() if rng.random() < 0.4}


def native_engine(*arguments: Any, limits: Limits | None = None, n_jobs: int = 1) -> NativeEngine:
    """Make a compiled engine with limits."""
    return NativeEngine(*arguments, limits=limits, n_jobs=n_jobs)
