"""The examples a page carries: as many as its size allows, with the features that rules test and the true labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.data.labels import UNKNOWN
from polyrule.report.features import plain
from polyrule.report.inputs import Part

MOST_EXAMPLES = 5000
#: examples from which the size of all is first guessed
PILOT = 200
#: share of the room that test examples get first when not all fit
TEST_SHARE = 0.6


def summarise(parts: Sequence[Part], columns: Sequence[int], budget: int) -> dict[str, Any]:
    """Examples of all parts, sampled evenly where they would take more than `budget` bytes.

    Returns
    -------
    dict
        part (index of the part), id, row (position in its part), truth (present labels) per example; columns: per
        feature its values, as a list or, where most are 0, as {i: positions, v: values}.
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


def _sized(parts: Sequence[Part], columns: Sequence[int], room: int) -> tuple[dict[str, Any], int]:
    """Return an entry with at most `room` examples, and the bytes it takes."""
    rows = [_spread(len(part), number) for part, number in zip(parts, _shares(parts, room), strict=True)]
    entry = chosen_examples(parts, rows, columns)
    return entry, len(json.dumps(entry, separators=(",", ":")))


def _shares(parts: Sequence[Part], room: int) -> list[int]:
    """How many examples each part may show; what one part does not need goes to the other."""
    if len(parts) < 2:
        return [min(len(part), room) for part in parts]
    train, test = len(parts[0]), len(parts[1])
    for_test = min(test, max(round(room * TEST_SHARE), room - train))
    return [min(train, room - for_test), for_test]


def _spread(total: int, number: int) -> npt.NDArray[np.int64]:
    """Return `number` of `total` positions, evenly spread, all of them where they fit."""
    return np.unique(np.linspace(0, total - 1, number).round().astype(np.int64)) if number else np.zeros(0, np.int64)


def chosen_examples(
    parts: Sequence[Part], rows: Sequence[npt.NDArray[np.int64]], columns: Sequence[int]
) -> dict[str, Any]:
    """The examples at these positions of each part, with the values of these features."""
    entry: dict[str, Any] = {"part": [], "row": [], "id": [], "truth": [], "unknown": []}
    for index, (part, chosen) in enumerate(zip(parts, rows, strict=True)):
        entry["part"] += [index] * len(chosen)
        entry["row"] += chosen.tolist()
        entry["id"] += [None if part.row_ids is None else part.row_ids[row] for row in chosen.tolist()]
        entry["truth"] += [np.flatnonzero(part.truth[row] == 1).tolist() for row in chosen]
        entry["unknown"] += [np.flatnonzero(part.truth[row] == UNKNOWN).tolist() for row in chosen]
    if not parts:
        return entry | {"columns": [[] for _ in columns]}
    tables = [part.table[chosen] for part, chosen in zip(parts, rows, strict=True)]
    entry["columns"] = [_column(np.concatenate([table.column(column) for table in tables])) for column in columns]
    return entry


def _column(values: npt.NDArray[np.float64]) -> Any:
    stored = np.flatnonzero(~(values == 0))
    if 3 * len(stored) < len(values):
        return {"i": stored.tolist(), "v": [plain(value) for value in values[stored].tolist()]}
    return [plain(value) for value in values.tolist()]
