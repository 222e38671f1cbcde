"""The compiled engine with its test limits lowered, so that small data takes the ways of large data.

The only place that knows how limits are given to the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polyrule.kernels.native import NativeEngine
from polyrule.native import native

#: Name of a limit -> its usual arguments, and lower ones to draw from.
USUAL: dict[str, tuple[float, ...]] = {
    "limit_lanes": (2**31 / 3.1, 64.0),
    "limit_runs": (4096,),
    "limit_races": (256, 4),
    "limit_lists": (1000, 48),
}
LOWER: dict[str, list[tuple[float, ...]]] = {
    "limit_lanes": [(400.0, 2.0), (5000.0, 2.0)],
    "limit_runs": [(1,), (4,), (16,), (40,)],
    "limit_races": [(1, 0), (1, 1), (8, 2), (20, 8)],
    "limit_lists": [(0, 1), (0, 100), (20, 4)],
}
Limits = Mapping[str, tuple[float, ...]]


def draw_limits(rng: np.random.Generator) -> dict[str, tuple[float, ...]]:
    """Some limits lowered, several at once more often than not."""
    return {name: choices[rng.integers(len(choices))] for name, choices in LOWER.items() if rng.random() < 0.5}


def native_engine(*arguments: Any, limits: Limits | None = None, n_jobs: int = 1) -> NativeEngine:
    """Make a compiled engine with limits; they hold until the next one is made."""
    for name, usual in USUAL.items():
        getattr(native, name)(*(limits or {}).get(name, usual))
    return NativeEngine(*arguments, n_jobs=n_jobs)


def as_code(limits: Limits) -> list[str]:
    """Lines of a program that lower the limits before the engine is made."""
    return [f"native.{name}{arguments!r}" for name, arguments in limits.items()]
