"""The features that the rules test, with their distribution, as the page shows them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.data.table import Feature, Table

BINS = 24


def summarise(feature: Feature, column: int, table: Table | None) -> dict[str, Any]:
    """Name, kind and categories of a feature, which part of which date it is, and its histogram where there is data."""
    entry: dict[str, Any] = {"name": feature.name, "kind": feature.kind, "column": column}
    if feature.is_dated:
        entry |= {"date": feature.column, "part": feature.part}
    if feature.flag:
        entry["flag"] = True
    if feature.has_categories:
        entry["categories"] = list(feature.categories)
    if table is not None:
        entry["histogram"] = histogram(feature, table.column(column))
    return entry


def shown(tested: Sequence[int], features: Sequence[Feature]) -> list[int]:
    """Positions of the features that a page carries: those that rules test, and of a date all that follows from it.

    Examples
    --------
    >>> from polyrule.data.dates import date_features
    >>> shown([4], [Feature("size"), *date_features("on")]), shown([0], [Feature("size"), *date_features("on")])
    ([1, 2, 3, 4], [0])
    """
    dates = {features[j].column for j in tested if features[j].is_dated}
    return sorted({*tested, *(j for j, f in enumerate(features) if f.is_dated and f.column in dates)})


def histogram(feature: Feature, values: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Counts per category, per value where there are few, else per interval of equal width.

    Examples
    --------
    >>> histogram(Feature("stripes"), np.array([0.0, 0.0, 3.0, np.nan]))
    {'missing': 1, 'counts': [2, 1], 'values': [0, 3], 'low': 0, 'high': 3}
    >>> histogram(Feature("hue", "nominal", ("red", "blue")), np.array([1.0, 1.0]))
    {'missing': 0, 'counts': [0, 2]}
    """
    known = values[~np.isnan(values)]
    entry: dict[str, Any] = {"missing": int(len(values) - len(known))}
    if feature.has_categories:
        return entry | {"counts": np.bincount(known.astype(np.int64), minlength=len(feature.categories)).tolist()}
    known = known[np.isfinite(known)]
    if not len(known):
        return entry | {"counts": []}
    distinct, counts = np.unique(known, return_counts=True)
    low, high = plain(distinct[0]), plain(distinct[-1])
    if len(distinct) <= BINS:
        return entry | {
            "counts": counts.tolist(),
            "values": [plain(value) for value in distinct],
            "low": low,
            "high": high,
        }
    # Halving first keeps the span of huge values finite.
    place = (known / 2 - distinct[0] / 2) / (distinct[-1] / 2 - distinct[0] / 2)
    bins = np.minimum((place * BINS).astype(np.int64), BINS - 1)
    return entry | {"counts": np.bincount(bins, minlength=BINS).tolist(), "low": low, "high": high}


def plain(number: Any) -> int | float | str | None:
    """A value as JSON has it: whole numbers short, missing as null, infinities as text; doubles read back exactly."""
    value = float(number)
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    # Beyond 2**53 every double is whole; those stay as they are printed, to be read as doubles again.
    return int(value) if value.is_integer() and abs(value) < 2**53 else value
