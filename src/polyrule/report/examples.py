"""The features that the rules test, with their distribution, and the examples a page carries, as its size allows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from polyrule.data.derive.dates import DatePart
from polyrule.data.derive.registry import derivation_of
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Feature, Table
from polyrule.report.inputs import DataPart
from polyrule.utils.arrays import Floats, Ints

BINS = 24


def feature_entry(feature: Feature, column: int, table: Table | None) -> dict[str, Any]:
    """Name, kind and categories of a feature, its part of a date, and its histogram if there is data."""
    entry: dict[str, Any] = {"name": feature.name, "kind": feature.kind, "column": column}
    if isinstance(derivation := derivation_of(feature), DatePart):
        entry |= {"date": feature.column, "part": derivation.part}
    if feature.flag:
        entry["flag"] = True
    if feature.derived is not None and feature.derived.item:
        entry |= {"of": feature.column, "item": feature.derived.item}
    if feature.has_categories:
        entry["categories"] = list(feature.categories)
    if table is not None:
        entry["histogram"] = histogram(feature, table.column(column))
    return entry


def page_features(tested: Sequence[int], features: Sequence[Feature]) -> list[int]:
    """Positions of the features that a page carries: those that rules test, and of a date all that follows from it.

    Examples
    --------
    >>> from polyrule.data.derive.dates import date_features
    >>> features = [Feature("size"), *date_features("on")]
    >>> page_features([4], features), page_features([0], features)
    ([1, 2, 3, 4], [0])
    """
    sources = [f.column if (d := derivation_of(f)) is not None and d.CHANGES_SOURCE else None for f in features]
    needed = {sources[j] for j in tested} - {None}
    return sorted({*tested, *(j for j, source in enumerate(sources) if source in needed)})


def histogram(feature: Feature, values: Floats) -> dict[str, Any]:
    """Counts per category, per value where there are few, else per interval of equal width.

    Examples
    --------
    >>> histogram(Feature("stripes"), np.array([0.0, 0.0, 3.0, np.nan]))
    {'missing': 1, 'counts': [2, 1], 'values': [0, 3], 'low': 0, 'high': 3}
    >>> histogram(Feature("hue", "nominal", ("red", "blue")), np.array([1.0, 1.0]))
    {'missing': 0, 'counts': [0, 2]}
    """
    present = values[~np.isnan(values)]
    entry: dict[str, Any] = {"missing": int(len(values) - len(present))}
    if feature.has_categories:
        return entry | {"counts": np.bincount(present.astype(np.int64), minlength=len(feature.categories)).tolist()}
    finite = present[np.isfinite(present)]
    if not len(finite):
        return entry | {"counts": []}
    distinct, counts = np.unique(finite, return_counts=True)
    low, high = plain(distinct[0]), plain(distinct[-1])
    if len(distinct) <= BINS:
        return entry | {
            "counts": counts.tolist(),
            "values": [plain(value) for value in distinct],
            "low": low,
            "high": high,
        }
    # Halving first keeps the span of huge values finite.
    place = (finite / 2 - distinct[0] / 2) / (distinct[-1] / 2 - distinct[0] / 2)
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


MOST_EXAMPLES = 5000
#: examples from which the size of all is first guessed
PILOT = 200
#: share of the room that test examples get first when not all fit
TEST_SHARE = 0.6


def summarise(parts: Sequence[DataPart], columns: Sequence[int], budget: int) -> dict[str, Any]:
    """Examples of all parts, sampled evenly where they would take more than `budget` bytes.

    Per example part (its index), id, row (position in its part) and truth (present labels); columns: per feature its
    values, as a list or, where most are 0, as {i: positions, v: values}.
    """
    total = sum(len(part) for part in parts)
    room = min(total, MOST_EXAMPLES)
    if total > PILOT:
        _, size = _sized(parts, columns, PILOT)
        room = min(room, max(PILOT, int(PILOT * budget / size)))
    while True:
        entry, size = _sized(parts, columns, room)
        count = len(entry["part"])
        if size <= budget or count <= len(parts):
            return entry
        room = max(len(parts), int(count * budget / size * 0.97))


def _sized(parts: Sequence[DataPart], columns: Sequence[int], room: int) -> tuple[dict[str, Any], int]:
    """Return an entry with at most `room` examples, and the bytes it takes."""
    rows = [_spread(len(part), number) for part, number in zip(parts, _shares(parts, room), strict=True)]
    entry = chosen_examples(parts, rows, columns)
    return entry, len(json.dumps(entry, separators=(",", ":")))


def _shares(parts: Sequence[DataPart], room: int) -> list[int]:
    """Return the number of examples per part; room that one part does not need is for the other."""
    if len(parts) < 2:
        return [min(len(part), room) for part in parts]
    train, test = len(parts[0]), len(parts[1])
    for_test = min(test, max(round(room * TEST_SHARE), room - train))
    return [min(train, room - for_test), for_test]


def _spread(total: int, number: int) -> Ints:
    """Return `number` of `total` positions, evenly spread, all of them where they fit."""
    return np.unique(np.linspace(0, total - 1, number).round().astype(np.int64)) if number else np.zeros(0, np.int64)


def chosen_examples(parts: Sequence[DataPart], rows: Sequence[Ints], columns: Sequence[int]) -> dict[str, Any]:
    """The examples at these positions of each part, with the values of these features."""
    entry: dict[str, Any] = {"part": [], "row": [], "id": [], "truth": [], "unknown": []}
    for index, (part, positions) in enumerate(zip(parts, rows, strict=True)):
        entry["part"] += [index] * len(positions)
        entry["row"] += positions.tolist()
        entry["id"] += [None if part.data.row_ids is None else part.data.row_ids[row] for row in positions.tolist()]
        entry["truth"] += [np.flatnonzero(part.truth[row] == 1).tolist() for row in positions]
        entry["unknown"] += [np.flatnonzero(part.truth[row] == UNKNOWN).tolist() for row in positions]
    if not parts:
        return entry | {"columns": [[] for _ in columns]}
    tables = [part.table[positions] for part, positions in zip(parts, rows, strict=True)]
    entry["columns"] = [_column(np.concatenate([table.column(column) for table in tables])) for column in columns]
    return entry


def _column(values: Floats) -> Any:
    stored = np.flatnonzero(~(values == 0))
    if 3 * len(stored) < len(values):
        return {"i": stored.tolist(), "v": [plain(value) for value in values[stored].tolist()]}
    return [plain(value) for value in values.tolist()]
