"""Dates as text and as whole days since 1970-01-01."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import floor
from typing import Any

import numpy as np

_SECONDS_OF_DAY = 86_400
_MIN_MONTHS = 3
EPOCH = datetime.date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = datetime.date.min.toordinal() - EPOCH, datetime.date.max.toordinal() - EPOCH
"""The days that can be written as dates: from 0001-01-01 to 9999-12-31."""
_TIME = (
    r"(?:(?:[T ]|, ?| at )(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?: ?([AaPp])\.?[Mm]\.?)?"
    r"(?: ?(?:Z|UTC|GMT|[A-Z]{3,4}|[+-]\d\d:?\d\d))?)?"
)
"""A time of day, perhaps with a time zone, which is not applied."""
_WRITTEN = re.compile(rf"(\d{{4}})(?:-(\d\d)-(\d\d)|/(\d{{1,2}})/(\d{{1,2}})){_TIME}", re.ASCII)
_DIGITS = re.compile(r"(\d{4})(\d\d)(\d\d)", re.ASCII)
_LOCAL = re.compile(rf"(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}}|(?<=/)\d\d){_TIME}", re.ASCII)
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? )?"
_MONTH_FIRST = re.compile(
    rf"{_WEEKDAY}{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}}){_TIME}", re.ASCII | re.IGNORECASE
)
_DAY_FIRST = re.compile(
    rf"{_WEEKDAY}(\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of)?[ -]{_MONTH},?[ -](\d{{4}}|\d\d){_TIME}",
    re.ASCII | re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LAST_YEAR_OF_CENTURY = 68
"""Years of two digits are 1969 to 2068, as POSIX has it."""


DATE_FORMS = ("day/month/year", "month/day/year")
"""How dates with slashes may be written; those with points, such as 31.12.2021, begin with the day everywhere."""
POINTS = "day.month.year"
"""Dates with points only."""
IN_WORDS = "month in words"
"""Dates such as August 14, 2020 and 26-Oct-12, which are read in any form."""
WRITTEN_FORMS = (*DATE_FORMS, IN_WORDS)
"""Forms that a feature may have."""


def day_of(value: Any, form: str | None = None) -> float | None:
    """Return the day of a date, a date with a time, or a text such as 2021-03-05 or 2021/3/5; None for all else.

    With a `form`, dates with points are read, too, and, unless it is `POINTS`, those with slashes.

    >>> day_of("1970-01-02"), day_of("1970/01/02"), day_of("1970-01-02 23:59:59+02:00"), day_of("2021-02-30")
    (1.0, 1.0, 1.0, None)
    >>> day_of("02.01.1970", POINTS), day_of("1/2/1970", POINTS), day_of("1/2/1970 9:30 PM", "month/day/year")
    (1.0, None, 1.0)
    >>> day_of("January 2, 1970"), day_of("2-Jan-70"), day_of("Fri, 2 Jan 1970 10:00:00 GMT")
    (1.0, 1.0, 1.0)
    """
    moment = moment_of(value, form)
    return None if moment is None else float(floor(moment))


def moment_of(value: Any, form: str | None = None) -> float | None:
    """Return the day as `day_of` does, with the time of day as its fraction.

    >>> moment_of("1970-01-02 06:00"), moment_of("1/2/1970 6:00 PM", "month/day/year")
    (1.25, 1.75)
    """
    if isinstance(value, str):
        return _moment_of_text(value.strip(), form)
    if isinstance(value, datetime.date):  # a datetime is one, too
        try:
            day = float(value.toordinal() - EPOCH)
        except (NotImplementedError, ValueError):  # pandas knows days past the year 9999
            return None
        if isinstance(value, datetime.datetime):
            return day + (value.hour * 3600 + value.minute * 60 + value.second) / _SECONDS_OF_DAY
        return day
    return None


@lru_cache(maxsize=1 << 14)  # the days of a column recur
def _moment_of_text(text: str, form: str | None) -> float | None:
    local = None if form in (None, IN_WORDS) else _LOCAL.fullmatch(text)
    if local is not None and (local[2] == "." or form != POINTS):
        by_month = local[2] != "." and form == "month/day/year"
        month, day = (local[1], local[3]) if by_month else (local[3], local[1])
        return _moment(local[4], int(month), day, local.groups()[4:])
    if parts := _WRITTEN.fullmatch(text):
        year, month, day = filter(None, parts.groups()[:5])
        return _moment(year, int(month), day, parts.groups()[5:])
    if not text[:1].isalnum() or not text.isascii():
        return None
    if parts := _MONTH_FIRST.fullmatch(text):
        return _moment(parts[3], _month(parts[1]), parts[2], parts.groups()[3:])
    if parts := _DAY_FIRST.fullmatch(text):
        return _moment(parts[3], _month(parts[2]), parts[1], parts.groups()[3:])
    return None


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _moment(year: str, month: int, day: str, time: Sequence[str | None]) -> float | None:
    """Return a day with its time, None if there is no such day or time."""
    full_year = int(year)
    if len(year) == 2:
        full_year += 2000 if full_year <= _LAST_YEAR_OF_CENTURY else 1900
    hour, minute, second = (int(part or 0) for part in time[:3])
    if half := time[3]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half in "Pp" else 0)
    if hour > 24 or minute > 59 or second > 60:
        return None
    try:
        number = datetime.date(full_year, month, int(day)).toordinal() - EPOCH
    except ValueError:
        return None
    return number + min(hour * 3600 + minute * 60 + second, _SECONDS_OF_DAY - 1) / _SECONDS_OF_DAY


def day_said(value: Any) -> float | None:
    """Return the day of a value declared as a date: also one such as 31.12.2021 or 20211231.

    >>> day_said("31.12.2021") == day_said("20211231") == day_said(20211231.0) == day_of("2021-12-31"), day_said("5")
    (True, None)
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1:
        value = f"{value:.0f}"
    digits = _DIGITS.fullmatch(value.strip()) if isinstance(value, str) else None
    return day_of("-".join(digits.groups()) if digits else value, POINTS)


def is_local_date(value: Any) -> bool:
    """True if a value has the shape of a date with points or slashes."""
    return isinstance(value, str) and _LOCAL.fullmatch(value.strip()) is not None


class DateForms:
    """In which forms all cells seen so far are dates: `plain`, as 2021-12-31, or those `left`, with points or slashes.

    >>> DateForms(["3/4/2021", "3/14/2021", None]).left, DateForms(["3/4/2021"]).left, DateForms(["soon"]).left
    (['month/day/year'], ['day/month/year', 'month/day/year'], [])
    >>> DateForms(["1/1/2021", "1/2/2021", "1/3/2021"]).left, DateForms(["August 14, 2020"]).in_words
    (['day/month/year'], True)
    >>> DateForms(["1.2.2021"]).left, DateForms(["2021-03-05", None]).plain, DateForms([None]).plain
    (['day/month/year'], True, False)
    """

    def __init__(self, cells: Iterable[Any] = ()) -> None:
        self._forms, self._plain = list(DATE_FORMS), True
        self._firsts: set[str] = set()
        self._seconds: set[str] = set()
        self.example: Any = None
        self.slashes = self.timed = False
        self.open = True  # whether they may still all be dates
        for cell in cells:
            self.see(cell)

    @property
    def plain(self) -> bool:
        """True if all are dates, or text such as 2021-12-31 or August 14, 2020, and there is one."""
        return self._plain and self.example is not None

    @property
    def in_words(self) -> bool:
        """True if months are written in letters."""
        return self.plain and isinstance(self.example, str) and _WRITTEN.fullmatch(self.example.strip()) is None

    @property
    def left(self) -> list[str]:
        """The forms that are left; dates with points are written in one way.

        Where days and months could be exchanged, a part that is always 1 beside others that vary is the day.
        """
        if self.example is None:
            return []
        if not self.slashes:
            return self._forms[:1]
        if len(self._forms) == 2:
            for constant, varying, form in zip(
                (self._firsts, self._seconds), (self._seconds, self._firsts), DATE_FORMS, strict=True
            ):
                if {part.lstrip("0") for part in constant} == {"1"} and len(varying) >= _MIN_MONTHS:
                    return [form]
        return self._forms

    def see(self, cell: Any) -> None:
        """Take in a cell, None where it is missing."""
        if cell is None or not self.open:
            return
        local = _LOCAL.fullmatch(cell.strip()) if isinstance(cell, str) else None
        self._forms = [form for form in self._forms if local is not None and day_of(cell, form) is not None]
        self._plain = self._plain and day_of(cell) is not None
        self.open = self._plain or bool(self._forms)
        self.example = cell if self.example is None else self.example
        if local is not None and local[2] != ".":
            self.slashes = True
            self._firsts.add(local[1])
            self._seconds.add(local[3])
        self.timed |= isinstance(cell, str) and ":" in cell


def format_date(day: float) -> str:
    """Return a day as text; the threshold between two days is the first of them.

    >>> format_date(18691.5)
    '2021-03-05'
    """
    return datetime.date.fromordinal(int(min(max(np.floor(day), FIRST_DAY), LAST_DAY)) + EPOCH).isoformat()
