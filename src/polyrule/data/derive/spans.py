"""Days between two columns of dates: ``days from admitted to discharged``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from polyrule.data.derive.base import Derivation
from polyrule.data.derive.dates import DatePart
from polyrule.data.table import Feature
from polyrule.utils.arrays import Floats

if TYPE_CHECKING:
    from polyrule.data.documents import Node

_DAYS_BEFORE_MONTH = (306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275)
"""Days from the first of March to the first of each month, January first; a year begins in March."""


@dataclass(frozen=True, slots=True)
class DaysBetween(Derivation):
    """Number of days from one date to another, negative if the other is earlier.

    Parameters
    ----------
    column : str
        Name of the column of first dates.
    end : str
        Name of the column of last dates.

    Examples
    --------
    >>> stay = DaysBetween("admitted", "discharged")
    >>> stay.feature().name, stay.values(np.array([10.0, 10.0]), np.array([13.0, np.nan])).tolist()
    ('days from admitted to discharged', [3.0, nan])
    """

    end: str

    KEY: ClassVar[str] = "days"
    SOURCE: ClassVar[str] = "date"
    HELPERS: ClassVar[Mapping[str, str]] = DatePart.HELPERS

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of both columns."""
        return (self.column, self.end)

    def feature(self) -> Feature:
        """Return the numeric feature."""
        return Feature(f"days from {self.column} to {self.end}", derived=self)

    def values(self, *sources: Any) -> Floats:
        """Return the differences of days."""
        days: Floats = np.asarray(sources[1], dtype=np.float64) - np.asarray(sources[0], dtype=np.float64)
        return days

    def to_json(self) -> list[str]:
        """Return the names of both columns."""
        return [self.column, self.end]

    @classmethod
    def from_json(cls, node: Node, name: str) -> Self:
        """Return the derivation of the feature `name`."""
        names = [item.text() for item in node]
        if len(names) != 2 or name != f"days from {names[0]} to {names[1]}":
            node.fail(f"must name the two columns of dates of {name!r}")
        return cls(*names)

    def code(self, language: str, *cells: str) -> str:
        """Return a difference of days."""
        start, end = cells
        if language == "sql":
            return f"CAST({_sql_days(end)} - {_sql_days(start)} AS DOUBLE PRECISION)"
        days = [DatePart(self.column).code(language, cell) for cell in (end, start)]
        return f"({days[0]} - {days[1]})"


def _sql_days(cell: str) -> str:
    """Return the number of days since some day, of a date written as 2021-03-05, without functions for dates."""
    text = f"SUBSTR(CAST({cell} AS TEXT), 1, 10)"
    year, month, day = (f"CAST(SUBSTR({text}, {a}, {n}) AS INTEGER)" for a, n in ((1, 4), (6, 2), (9, 2)))
    y = f"({year} - CASE WHEN {month} < 3 THEN 1 ELSE 0 END)"
    leaps = f"({y} - {y} % 4) / 4 - ({y} - {y} % 100) / 100 + ({y} - {y} % 400) / 400"
    before = " ".join(f"WHEN {k} THEN {days}" for k, days in enumerate(_DAYS_BEFORE_MONTH, 1))
    return f"(365 * {y} + {leaps} + CASE {month} {before} END + {day})"
