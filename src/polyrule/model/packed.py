"""Models as plain arrays, and the kernels that run them over a table within the limits of the caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.conditions.packed import PackedBodies
from polyrule.data.table import Table
from polyrule.errors import ModelError
from polyrule.utils.arrays import Ints32
from polyrule.utils.budget import CURRENT, NO_LIMITS

# Tests of rules between two looks at the clock; well below a second of work.
_CHUNK_TESTS = 10_000_000


@dataclass(frozen=True, eq=False)
class PackedModel:
    """A model as plain arrays; the head of rule r is in entries ``head_start[r]:head_start[r + 1]``."""

    bodies: PackedBodies
    head_start: Ints32
    head_label: Ints32

    @staticmethod
    def shared(model: Any) -> tuple[PackedBodies, Ints32, Ints32]:
        """Pack what models of all types have."""
        heads = [rule.head for rule in model.rules]
        labels = [entry.label for head in heads for entry in head]
        starts = np.cumsum([0, *map(len, heads)], dtype=np.int32)
        bodies = PackedBodies.of((rule.body for rule in model.rules), model.features)
        return bodies, starts, np.array(labels, np.int32)


def run(rules: int, width: int, table: Table, kernel: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Run a kernel over the values of a table, within the limits of the caller.

    A kernel does not stop early, so with a time limit it runs on chunks, and the clock is read between them.
    """
    allowed = CURRENT.get()
    if allowed is NO_LIMITS:
        return kernel(table.values)
    allowed.check_cells("prediction", len(table) * width)
    if allowed.deadline is None:
        return kernel(table.values)
    step = max(1, _CHUNK_TESTS // max(1, rules, width))
    parts = []
    for start in range(0, max(1, len(table)), step):
        allowed.check_time("prediction")
        parts.append(kernel(table[start : start + step].values))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def check_table(model: Any, table: Table) -> None:
    """Refuse a table whose columns are not those on which the model, of whatever type, was learned."""
    if table.features is model.features or table.features == model.features:
        return
    expected, actual = len(model.features), len(table.features)
    if expected != actual:
        raise ModelError(
            f"the model knows {expected} feature(s) but the data has {actual} column(s); give it the same ones"
        )
    for number, (feature, other) in enumerate(zip(model.features, table.features, strict=True)):
        if feature.name != other.name:
            raise ModelError(
                f"column {number} is named {other.name!r} but the model calls it {feature.name!r}; to_table(X,"
                " model.features) of polyrule.data brings data into the model's order"
            )
        if feature.kind != other.kind:
            raise ModelError(
                f"column {number} ({other.name!r}) is {other.kind} but the model learned it as {feature.kind}"
            )
        if feature.categories != other.categories:
            raise ModelError(
                f"column {number} ({other.name!r}) lists other categories than the model; read the data with the"
                " model's features"
            )
