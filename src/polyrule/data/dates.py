"""Dates: whole days since 1970-01-01, and the parts of them that rules test by name."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from polyrule.data.table import Feature, Table
from polyrule.errors import DataError
from polyrule.utils.arrays import Floats

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

DATE_PARTS = ("year", "month", "weekday")
"""Features that stand behind every date."""

_EPOCH = datetime.date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = datetime.date.min.toordinal() - _EPOCH, datetime.date.max.toordinal() - _EPOCH
"""The days that can be written as dates: from 0001-01-01 to 9999-12-31."""
# A date, perhaps with a time of day, which is not used, and a time zone, which is not applied.
_WRITTEN = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?", re.ASCII
)

_DIGITS = re.compile(r"(\d{4})(\d\d)(\d\d)", re.ASCII)
_LOCAL = re.compile(
    r"(\d{1,2})([./])(\d{1,2})\2(\d{4})(?:,? \d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[AaPp][Mm])?)?", re.ASCII
)


def date_features(name: str) -> tuple[Feature, ...]:
    """Return what a column of dates becomes: the date itself, its year, month and day of the week."""
    return (
        Feature(name, "date"),
        Feature(f"{name} year", part="year"),
        Feature(f"{name} month", "ordinal", MONTHS, part="month"),
        Feature(f"{name} weekday", "nominal", WEEKDAYS, part="weekday"),
    )


DATE_FORMS = ("day/month/year", "month/day/year")
"""How dates with slashes may be written; those with points, such as 31.12.2021, begin with the day everywhere."""
POINTS = "day.month.year"
"""Dates with points only."""


def day_of(value: Any, form: str | None = None) -> float | None:
    """Return the day of a date, a date with a time, or a text such as 2021-03-05; None for anything else.

    With a `form`, dates with points are read, too, and, unless it is `POINTS`, those with slashes.

    >>> day_of("1970-01-02"), day_of("1970-01-02 23:59:59+02:00"), day_of("02.01.1970"), day_of("2021-02-30")
    (1.0, 1.0, None, None)
    >>> day_of("02.01.1970", POINTS), day_of("1/2/1970", POINTS), day_of("1/2/1970 9:30 PM", "month/day/year")
    (1.0, None, 1.0)
    """
    if isinstance(value, str):
        value = _date_of_text(value.strip(), form)
    if isinstance(value, datetime.date):  # a datetime is one, too
        try:
            return float(value.toordinal() - _EPOCH)
        except (NotImplementedError, ValueError):  # pandas knows days past the year 9999
            return None
    return None


def _date_of_text(text: str, form: str | None) -> datetime.date | None:
    local = None if form is None else _LOCAL.fullmatch(text)
    if local is not None and (local[2] == "." or form != POINTS):
        by_month = local[2] == "/" and form == "month/day/year"
        year, month, day = (local[4], local[1], local[3]) if by_month else (local[4], local[3], local[1])
    elif found := _WRITTEN.fullmatch(text):
        year, month, day = found.groups()
    else:
        return None
    try:
        return datetime.date(int(year), int(month), int(day))
    except ValueError:
        return None


def day_said(value: Any) -> float | None:
    """Return the day of something that is said to be a date: also one such as 31.12.2021 or 20211231.

    >>> day_said("31.12.2021") == day_said("20211231") == day_said(20211231.0) == day_of("2021-12-31"), day_said("5")
    (True, None)
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1:
        value = f"{value:.0f}"
    digits = _DIGITS.fullmatch(value.strip()) if isinstance(value, str) else None
    return day_of("-".join(digits.groups()) if digits else value, POINTS)


def is_local_date(value: Any) -> bool:
    """Whether a value has the shape of a date with points or slashes."""
    return isinstance(value, str) and _LOCAL.fullmatch(value.strip()) is not None


class DateForms:
    """In which forms all cells seen so far are dates: `plain`, as 2021-12-31, or those `left`, with points or slashes.

    >>> DateForms(["3/4/2021", "3/14/2021", None]).left, DateForms(["3/4/2021"]).left, DateForms(["soon"]).left
    (['month/day/year'], ['day/month/year', 'month/day/year'], [])
    >>> DateForms(["1.2.2021"]).left, DateForms(["2021-03-05", None]).plain, DateForms([None]).plain
    (['day/month/year'], True, False)
    """

    def __init__(self, cells: Iterable[Any] = ()) -> None:
        self._forms, self._plain = list(DATE_FORMS), True
        self.example: Any = None
        self.slashes = self.timed = False
        self.open = True  # whether they may still all be dates
        for cell in cells:
            self.see(cell)

    @property
    def plain(self) -> bool:
        """Whether all are dates, or text such as 2021-12-31, and there is one."""
        return self._plain and self.example is not None

    @property
    def left(self) -> list[str]:
        """The forms that are left; dates with points are written in one way."""
        if self.example is None:
            return []
        return self._forms if self.slashes else self._forms[:1]

    def see(self, cell: Any) -> None:
        """Take in a cell, None where it is missing."""
        if cell is None or not self.open:
            return
        fits = is_local_date(cell)
        self._forms = [form for form in self._forms if fits and day_of(cell, form) is not None]
        self._plain = self._plain and day_of(cell) is not None
        self.open = self._plain or bool(self._forms)
        self.example = cell if self.example is None else self.example
        self.slashes |= fits and "/" in cell
        self.timed |= isinstance(cell, str) and ":" in cell


def format_date(day: float) -> str:
    """Return a day as text; the threshold between two days is the first of them.

    >>> format_date(18691.5)
    '2021-03-05'
    """
    return datetime.date.fromordinal(int(min(max(np.floor(day), FIRST_DAY), LAST_DAY)) + _EPOCH).isoformat()


def with_parts(table: Table) -> Table:
    """Return a table in which the parts of every date stand behind it.

    >>> with_parts(Table.from_array([[18691.0]], [Feature("on", "date")])).feature_names
    ('on', 'on year', 'on month', 'on weekday')
    """
    features = [part for f in table.features for part in (date_features(f.name) if f.kind == "date" else (f,))]
    names = [feature.name for feature in features]
    for feature in features:
        if feature.part and names.count(feature.name) > 1:
            raise DataError(
                f"column {feature.column!r} holds dates, and its {feature.part} is called {feature.name!r}, as another "
                "column is; rename one of them"
            )
    return arranged(table, tuple(features))


def arranged(table: Table, features: tuple[Feature, ...]) -> Table:
    """Return the table with exactly these features, parts of dates made from its columns of dates."""
    if table.features == features:
        return table
    place = {name: j for j, name in enumerate(table.feature_names)}
    order = [place[feature.column] for feature in features]
    parts = {j: part_of(table.column(order[j]), f.part) for j, f in enumerate(features) if f.part}
    return table.rearranged(order, features, parts)


def part_of(days: Floats, part: str) -> Floats:
    """Return the year, the month (0 is January) or the weekday (0 is Monday) of days; missing stays missing.

    >>> part_of(np.array([18691.0, np.nan]), "weekday").tolist()
    [4.0, nan]
    """
    if not part:
        return days
    known = ~np.isnan(days)
    result = np.array(days, dtype=np.float64)
    whole = days[known].astype(np.int64)
    if part == "weekday":
        result[known] = (whole + 3) % 7
        return result
    months = whole.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    result[known] = months // 12 + 1970 if part == "year" else months % 12
    return result


def year_start(year: float) -> int:
    """Return the first day of a year; beyond the years that can be written, the first or last day of all.

    >>> year_start(1971), year_start(10**6) == LAST_DAY + 1
    (365, True)
    """
    if year > datetime.MAXYEAR:
        return LAST_DAY + 1
    return datetime.date(max(int(year), datetime.MINYEAR), 1, 1).toordinal() - _EPOCH
