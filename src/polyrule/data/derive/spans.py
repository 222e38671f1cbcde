"""Time between two columns of dates: ``days from admitted to discharged``, ``years from born to admitted``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from polyrule.data.dates import WRITTEN_FORMS
from polyrule.data.derive.base import Derivation
from polyrule.data.derive.dates import DatePart, check_sql_form, date_call
from polyrule.data.table import Feature
from polyrule.utils.arrays import Floats

if TYPE_CHECKING:
    from polyrule.data.documents import JsonNode

DAYS_OF_YEAR = 365.25
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
    form, end_form : str
        How the dates of both are written, if not as 2021-12-31; not part of what makes two derivations equal.

    Examples
    --------
    >>> stay = DaysBetween("admitted", "discharged")
    >>> stay.feature().name, stay.values(np.array([10.0, 10.0]), np.array([13.0, np.nan])).tolist()
    ('days from admitted to discharged', [3.0, nan])
    """

    end: str
    form: str = field(default="", compare=False)
    end_form: str = field(default="", compare=False)

    KEY: ClassVar[str] = "days"
    SOURCE: ClassVar[str] = "date"
    HELPERS: ClassVar[Mapping[str, str]] = DatePart.HELPERS
    UNIT: ClassVar[str] = "days"

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of both columns."""
        return (self.column, self.end)

    def form_of(self, source: str) -> str:
        """Return the form of the dates of one of both columns."""
        return self.form if source == self.column else self.end_form

    def feature(self) -> Feature:
        """Return the numeric feature."""
        return Feature(f"{self.UNIT} from {self.column} to {self.end}", derived=self)

    def values(self, *sources: Any) -> Floats:
        """Return the differences of days."""
        start, end = (np.floor(np.asarray(source, dtype=np.float64)) for source in sources)
        days: Floats = end - start
        return days

    def to_json(self) -> list[str]:
        """Return the names of both columns, and their forms if one has any."""
        forms = [self.form, self.end_form] if self.form or self.end_form else []
        return [self.column, self.end, *forms]

    @classmethod
    def from_json(cls, node: JsonNode, name: str) -> Self:
        """Return the derivation of the feature `name`."""
        nodes = node.items()
        names, forms = [item.text() for item in nodes[:2]], [item.choice("", *WRITTEN_FORMS) for item in nodes[2:]]
        if len(names) != 2 or len(forms) not in (0, 2) or name != f"{cls.UNIT} from {names[0]} to {names[1]}":
            node.fail(f"must name the two columns of dates of {name!r}")
        return cls(*names, *forms)

    def code(self, language: str, *cells: str) -> str:
        """Return a difference of days."""
        start, end = cells
        if language == "sql":
            check_sql_form(self.column, self.form)
            check_sql_form(self.end, self.end_form)
            return f"CAST({_sql_days(end)} - {_sql_days(start)} AS DOUBLE PRECISION)"
        days = [date_call(language, end, "", self.end_form), date_call(language, start, "", self.form)]
        return f"({days[0]} - {days[1]})"


@dataclass(frozen=True, slots=True)
class YearsBetween(DaysBetween):
    """Years from one date to another, such as the age of a person at admission; a year has 365.25 days.

    Examples
    --------
    >>> age = YearsBetween("born", "admitted")
    >>> age.feature().name, age.values(np.array([0.0]), np.array([14610.0])).tolist()
    ('years from born to admitted', [40.0])
    """

    KEY: ClassVar[str] = "years"
    UNIT: ClassVar[str] = "years"

    def values(self, *sources: Any) -> Floats:
        """Return the differences in years."""
        years: Floats = super(YearsBetween, self).values(*sources) / DAYS_OF_YEAR
        return years

    def code(self, language: str, *cells: str) -> str:
        """Return a difference in years."""
        return f"({super(YearsBetween, self).code(language, *cells)} / {DAYS_OF_YEAR}{'e0' * (language == 'sql')})"


def _sql_days(cell: str) -> str:
    """Return the number of days since some day, of a date written as 2021-03-05, without functions for dates."""
    text = f"SUBSTR(CAST({cell} AS TEXT), 1, 10)"
    year, month, day = (f"CAST(SUBSTR({text}, {a}, {n}) AS INTEGER)" for a, n in ((1, 4), (6, 2), (9, 2)))
    y = f"({year} - CASE WHEN {month} < 3 THEN 1 ELSE 0 END)"
    leaps = f"({y} - {y} % 4) / 4 - ({y} - {y} % 100) / 100 + ({y} - {y} % 400) / 400"
    before = " ".join(f"WHEN {k} THEN {days}" for k, days in enumerate(_DAYS_BEFORE_MONTH, 1))
    return f"(365 * {y} + {leaps} + CASE {month} {before} END + {day})"
