"""Conditions, rules and tables that an engine and its counters exchange."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

import numpy as np

from polyrule.binning.bins import Bins
from polyrule.measures.definition import N_OUTCOMES
from polyrule.utils.arrays import Ints

#: Codes of a label column: what earlier rules have set (0, 1), or nothing yet.
LABEL_CODES = 3


@dataclass(frozen=True, slots=True)
class Range:
    """A condition: the code of a column lies in [low, high].

    Columns are numbered features first, then labels. Where values between the bins matter, `above` and `threshold`
    define the condition on the original value, and the codes only limit the search.
    """

    column: int
    low: int
    high: int
    above: bool = False
    threshold: float | None = None


Body = tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class CommittedRule:
    """A rule that has joined the list, and which of the examples it covers stay in the working set."""

    body: Body
    head: tuple[tuple[int, int], ...]
    stay: Literal["all", "open", "none"]
    full: bool = False
    negative: bool = True


@dataclass(frozen=True, eq=False)
class Layout:
    """Places of bins in a table: column after column, the missing value last in each."""

    columns: tuple[int, ...]
    widths: tuple[int, ...]
    labels: int

    @classmethod
    def of(cls, bins: tuple[Bins, ...], labels: int, columns: tuple[int, ...]) -> Layout:
        """Return the layout of some columns."""
        return cls(columns, tuple(len(bins[c]) + 1 if c < len(bins) else LABEL_CODES for c in columns), labels)

    @property
    def nbytes(self) -> int:
        """Bytes of a table."""
        return sum(self.widths) * self.labels * N_OUTCOMES * 8

    def divided(self, max_bytes: int) -> list[Layout]:
        """Return layouts of neighboring columns in ascending order, each of at most `max_bytes` or of one column.

        Examples
        --------
        >>> [layout.columns for layout in Layout((0, 1, 2), (9, 5, 5), labels=1).divided(max_bytes=320)]
        [(0,), (1, 2)]
        """
        width, room = dict(zip(self.columns, self.widths, strict=True)), max_bytes // (self.labels * N_OUTCOMES * 8)
        parts: list[list[int]] = [[]]
        width_of_part = 0
        for column in sorted(self.columns):
            if parts[-1] and width_of_part + width[column] > room:
                parts.append([])
                width_of_part = 0
            parts[-1].append(column)
            width_of_part += width[column]
        return [Layout(tuple(part), tuple(width[c] for c in part), self.labels) for part in parts]

    @cached_property
    def starts(self) -> Ints:
        """First row of each column, and the end."""
        return np.concatenate([[0], np.cumsum(self.widths, dtype=np.int64)]).astype(np.int64)


@dataclass(slots=True, eq=False)
class Counts:
    """Weight of covered rows by bin, label and outcome, `outcomes[bin, label, outcome]`, and in all, `weight[bin]`.

    Counts of any division of the rows add up, in any order.
    """

    outcomes: Any
    weight: Any

    @classmethod
    def zeros(cls, bins: int, labels: int) -> Counts:
        """Return counts of no rows."""
        return cls(np.zeros((bins, labels, N_OUTCOMES), dtype=np.int64), np.zeros(bins, dtype=np.int64))

    def add_rows(self, places: Any, outcomes: Iterable[Any], weights: Any) -> None:
        """Count rows: their bins, their outcomes label by label, their weights."""
        np.add.at(self.weight, places, weights)
        for label, outcome in enumerate(outcomes):
            np.add.at(self.outcomes, (places, label, outcome), weights)

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.outcomes + other.outcomes, self.weight + other.weight)

    def __iadd__(self, other: Counts) -> Counts:
        self.outcomes += other.outcomes
        self.weight += other.weight
        return self

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.outcomes - other.outcomes, self.weight - other.weight)

    def at(self, bins: Any) -> Counts:
        """Return the counts of some bins."""
        return Counts(self.outcomes[bins], self.weight[bins])

    def followed_by(self, other: Counts) -> Counts:
        """Return these counts and those of more columns."""
        xp = np if isinstance(self.weight, np.ndarray) else import_module("cupy")
        return Counts(xp.concatenate([self.outcomes, other.outcomes]), xp.concatenate([self.weight, other.weight]))

    def on_host(self) -> Counts:
        """Return the counts as NumPy arrays."""
        return Counts(on_host(self.outcomes), on_host(self.weight))


def on_host(array: Any) -> Any:
    """Return an array of this machine or of a GPU as a NumPy array."""
    return array if isinstance(array, np.ndarray) else array.get()
