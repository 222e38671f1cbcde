"""Bodies to choose rules from: everything that grown lists test, whole and in parts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np

from polyrule.arrays import Bools
from polyrule.data.table import Table
from polyrule.model.conditions import holds
from polyrule.model.rule import Condition, LabelCondition

Body = tuple[Condition, ...]

_MOST_CELLS = 200_000_000  # bodies times examples, one byte each
_LONGEST = 4  # of longer bodies only beginnings are taken apart: parts grow with 2 to the length


class Pool:
    """Distinct bodies in the order they were found; the empty body comes first."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._most = max(1, _MOST_CELLS // max(1, len(table)))
        self._bodies: dict[frozenset[Condition], Body] = {frozenset(): ()}
        self._masks: dict[Condition, Bools] = {}

    def __len__(self) -> int:
        return len(self._bodies)

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All bodies."""
        return tuple(self._bodies.values())

    def add(self, bodies: Iterable[Body]) -> None:
        """Take in bodies and their parts, up to what memory allows; conditions on labels are left out."""
        for body in bodies:
            kept = tuple(condition for condition in body if not isinstance(condition, LabelCondition))
            for part in _parts(kept):
                if len(self) >= self._most:
                    return
                self._bodies.setdefault(frozenset(part), part)

    def covers(self) -> Bools:
        """Which body covers which example, shape (bodies, examples)."""
        covers = np.ones((len(self), len(self._table)), dtype=bool)
        for number, body in enumerate(self._bodies.values()):
            for condition in body:
                covers[number] &= self._mask(condition)
        return covers

    def _mask(self, condition: Condition) -> Bools:
        if condition not in self._masks:
            self._masks[condition] = holds(condition, self._table)
        return self._masks[condition]


def _parts(body: Body) -> Iterable[Body]:
    """Beginnings of a body as they grew, and all parts of those that are short; longer ones first."""
    for length in range(len(body), 0, -1):
        if length > _LONGEST:
            yield body[:length]
        else:
            yield from combinations(body[: max(_LONGEST, length)], length)
