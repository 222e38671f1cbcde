"""Dates as text and as whole days since 1970-01-01."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

EPOCH = datetime.date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = datetime.date.min.toordinal() - EPOCH, datetime.date.max.toordinal() - EPOCH
"""The days that can be written as dates: from 0001-01-01 to 9999-12-31."""
# A date that begins with the year, perhaps with a time of day, which is not used, and a time zone, not applied.
_WRITTEN = re.compile(
    r"(\d{4})(?:-(\d\d)-(\d\d)|/(\d{1,2})/(\d{1,2}))"
    r"(?:[T ]\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?",
    re.ASCII,
)

_DIGITS = re.compile(r"(\d{4})(\d\d)(\d\d)", re.ASCII)
_LOCAL = re.compile(
    r"(\d{1,2})([./])(\d{1,2})\2(\d{4})(?:,? \d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[AaPp][Mm])?)?", re.ASCII
)


DATE_FORMS = ("day/month/year", "month/day/year")
"""How dates with slashes may be written; those with points, such as 31.12.2021, begin with the day everywhere."""
POINTS = "day.month.year"
"""Dates with points only."""


def day_of(value: Any, form: str | None = None) -> float | None:
    """Return the day of a date, a date with a time, or a text such as 2021-03-05 or 2021/3/5; None for all else.

    With a `form`, dates with points are read, too, and, unless it is `POINTS`, those with slashes.

    >>> day_of("1970-01-02"), day_of("1970/01/02"), day_of("1970-01-02 23:59:59+02:00"), day_of("2021-02-30")
    (1.0, 1.0, 1.0, None)
    >>> day_of("02.01.1970", POINTS), day_of("1/2/1970", POINTS), day_of("1/2/1970 9:30 PM", "month/day/year")
    (1.0, None, 1.0)
    """
    if isinstance(value, str):
        value = _date_of_text(value.strip(), form)
    if isinstance(value, datetime.date):  # a datetime is one, too
        try:
            return float(value.toordinal() - EPOCH)
        except (NotImplementedError, ValueError):  # pandas knows days past the year 9999
            return None
    return None


def _date_of_text(text: str, form: str | None) -> datetime.date | None:
    local = None if form is None else _LOCAL.fullmatch(text)
    if local is not None and (local[2] == "." or form != POINTS):
        by_month = local[2] == "/" and form == "month/day/year"
        year, month, day = (local[4], local[1], local[3]) if by_month else (local[4], local[3], local[1])
    elif found := _WRITTEN.fullmatch(text):
        year, month, day = filter(None, found.groups())
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
    return datetime.date.fromordinal(int(min(max(np.floor(day), FIRST_DAY), LAST_DAY)) + EPOCH).isoformat()
