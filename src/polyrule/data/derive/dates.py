"""Parts of dates: year, month and weekday of a column of days."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from polyrule.data.dates import EPOCH, LAST_DAY, WRITTEN_FORMS
from polyrule.data.derive.base import Derivation
from polyrule.data.table import Feature
from polyrule.errors import ModelError
from polyrule.utils.arrays import Floats

if TYPE_CHECKING:
    from polyrule.data.documents import JsonNode

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

DATE_PARTS = ("year", "month", "weekday")
"""Features that are derived from each date."""

_PYTHON = f'''

import datetime
import re


def _date(value, part, form=""):
    """Days since 1970-01-01 of a date or of a text, or a part of the date; `form` is how texts write it."""
    if value is None or value != value:
        return None if part in ("month", "weekday") else float("nan")
    day, hour = value, getattr(value, "hour", 0)
    if isinstance(value, str):
        numbers = re.findall("[0-9]+", value)
        name = re.search("jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec", value.lower())
        if name:
            numbers.insert(1, str({[m.lower()[:3] for m in MONTHS]!r}.index(name[0]) + 1))
        if len(numbers[0]) < 4:
            by_month = not name and form == "month/day/year" and "." not in value.split()[0]
            numbers[:3] = [numbers[2], numbers[0], numbers[1]] if by_month else numbers[2::-1]
        year, month, number = map(int, numbers[:3])
        if len(numbers[0]) == 2:
            year += 2000 if year < 69 else 1900
        day = datetime.date(year, month, number)
        hour = int(numbers[3]) if len(numbers) > 4 and ":" in value else 0
        half = re.search(r"[0-9] ?([ap])\\.?m\\b", value.lower())
        if half:
            hour = hour % 12 + (12 if half[1] == "p" else 0)
    if part == "hour":
        return float(hour)
    if part == "weekday":
        return {WEEKDAYS!r}[day.weekday()]
    if part == "month":
        return {MONTHS!r}[day.month - 1]
    return float(day.year if part else datetime.date(day.year, day.month, day.day).toordinal() - 719163)
'''

_JAVASCRIPT = f"""\
  // A Date, of which the day in UTC counts, or a text; form is how texts write dates.
  const date = (value, part, form) => {{
    const isName = part === "month" || part === "weekday";
    if (value === null || value === undefined || value !== value) return isName ? null : NaN;
    const text = value instanceof Date ? value.toISOString() : String(value).trim();
    const numbers = text.match(/[0-9]+/g) ?? [];
    const name = /jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec/.exec(text.toLowerCase());
    if (name) {{
      const month = {[m.lower()[:3] for m in MONTHS]!r}.indexOf(name[0]) + 1;
      numbers.splice(1, 0, String(month));
    }}
    if (numbers[0].length < 4) {{
      const byMonth = !name && form === "month/day/year" && !text.split(" ")[0].includes(".");
      const [first, second, year] = numbers;
      numbers.splice(0, 3, year, byMonth ? first : second, byMonth ? second : first);
    }}
    const short = numbers[0].length === 2;
    const year = Number(numbers[0]) + (short ? (Number(numbers[0]) < 69 ? 2000 : 1900) : 0);
    const pad = (number, width) => String(number).padStart(width, "0");
    const day = new Date(`${{pad(year, 4)}}-${{pad(numbers[1], 2)}}-${{pad(numbers[2], 2)}}`);
    if (part === "hour") {{
      const hour = numbers.length > 4 && text.includes(":") ? Number(numbers[3]) : 0;
      const half = /[0-9] ?([ap])\\.?m\\b/.exec(text.toLowerCase());
      return half ? (hour % 12) + (half[1] === "p" ? 12 : 0) : hour;
    }}
    if (part === "year") return day.getUTCFullYear();
    if (part === "month") return {list(MONTHS)!r}[day.getUTCMonth()];
    if (part === "weekday") return {list(WEEKDAYS)!r}[(day.getUTCDay() + 6) % 7];
    return day.getTime() / 86400000;
  }};
"""


@dataclass(frozen=True, slots=True)
class DatePart(Derivation):
    """Year, month or weekday of a date; of no part, the day itself.

    Parameters
    ----------
    column : str
        Name of the column of dates.
    part : {"", "year", "month", "weekday"}
    form : str
        How dates are written, if not as 2021-12-31; not part of what makes two derivations equal.

    Examples
    --------
    >>> DatePart("signup", "weekday").feature().name
    'signup weekday'
    >>> DatePart("signup", "weekday").values(np.array([18691.0, np.nan])).tolist()
    [4.0, nan]
    """

    part: str = ""
    form: str = field(default="", compare=False)

    KEY: ClassVar[str] = "part"
    SOURCE: ClassVar[str] = "date"
    HELPERS: ClassVar[Mapping[str, str]] = {"python": _PYTHON, "javascript": _JAVASCRIPT}
    CHANGES_SOURCE: ClassVar[bool] = True
    WHEN_READ: ClassVar[bool] = True

    def feature(self) -> Feature:
        """Return the feature ``column part``, or the date itself."""
        if not self.part:
            return Feature(self.column, "date", form=self.form)
        name = f"{self.column} {self.part}"
        if self.part == "month":
            return Feature(name, "ordinal", MONTHS, self)
        return Feature(name, "nominal", WEEKDAYS, self) if self.part == "weekday" else Feature(name, derived=self)

    def values(self, *sources: Any) -> Floats:
        """Return the year, the month (0 is January) or the weekday (0 is Monday) of days."""
        return part_of(sources[0], self.part)

    def to_json(self) -> Any:
        """Return the part, and the form if there is one; the name of the feature contains that of the column."""
        return {"part": self.part, "form": self.form} if self.form else self.part

    @classmethod
    def from_json(cls, node: JsonNode, name: str) -> Self:
        """Return the part of the date after which the feature is named."""
        form = ""
        if isinstance(node.value, dict):
            members = node.fields(("part", "form"))
            node, form = members["part"], members["form"].choice(*WRITTEN_FORMS)
        part = node.choice(*DATE_PARTS)
        return cls(name.removesuffix(f" {part}"), part, form)

    def code(self, language: str, *cells: str) -> str:
        """Return a call of the helper, or SQL that reads text such as 2021-03-05."""
        if language == "sql":
            check_sql_form(self.column, self.form)
            return _sql(f"SUBSTR(CAST({cells[0]} AS TEXT), 1, 10)", self.part)
        return date_call(language, cells[0], self.part, self.form)

    def last_source(self, threshold: float) -> float | None:
        """Return the last day up to a day, or of a year; months and weekdays recur."""
        if self.part == "year":
            return float(year_start(floor(threshold) + 1) - 1)
        return None if self.part else float(floor(threshold))


def date_features(name: str, form: str = "") -> tuple[Feature, ...]:
    """Return the features of a column of dates: the date itself, its year, month and weekday.

    >>> [feature.name for feature in date_features("on")]
    ['on', 'on year', 'on month', 'on weekday']
    """
    return tuple(DatePart(name, part, form).feature() for part in ("", *DATE_PARTS))


def date_call(language: str, cell: str, part: str, form: str) -> str:
    r"""Return a call of the helper that reads dates; the part may also be "hour".

    >>> date_call("python", "row['on']", "year", "")
    '_date(row[\'on\'], "year", "")'
    """
    if language not in DatePart.HELPERS:
        raise ModelError(f"dates cannot be exported to {language}")
    return f'{"_" if language == "python" else ""}date({cell}, "{part}", "{form}")'


def check_sql_form(column: str, form: str) -> None:
    """Refuse dates in text that SQL cannot read."""
    if form:
        raise ModelError(
            f"SQL reads dates such as 2021-03-05, and column {column!r} has them as {form}: learn from dates written so"
        )


def part_of(days: Floats, part: str) -> Floats:
    """Return the year, the month (0 is January) or the weekday (0 is Monday) of days; missing stays missing.

    >>> part_of(np.array([18691.0, np.nan]), "weekday").tolist()
    [4.0, nan]
    """
    if not part:
        return np.floor(days)
    known = ~np.isnan(days)
    result = np.array(days, dtype=np.float64)
    whole = np.floor(days[known]).astype(np.int64)
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
    return datetime.date(max(int(year), datetime.MINYEAR), 1, 1).toordinal() - EPOCH


def _sql(day: str, part: str) -> str:
    """Return a part of a date written as 2021-03-05, by the few functions that all engines have."""
    if not part:
        return day
    year, month, number = (f"CAST(SUBSTR({day}, {a}, {n}) AS INTEGER)" for a, n in ((1, 4), (6, 2), (9, 2)))
    if part == "year":
        return f"CAST({year} AS DOUBLE PRECISION)"
    if part == "month":
        names = " ".join(f"WHEN {k} THEN '{name}'" for k, name in enumerate(MONTHS, 1))
        return f"CASE {month} {names} END"
    # Sakamoto's congruence: January and February count to the year before; % leaves whole numbers to divide.
    shifts = " ".join(f"WHEN {k} THEN {shift}" for k, shift in enumerate((0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4), 1))
    y = f"({year} - CASE WHEN {month} < 3 THEN 1 ELSE 0 END)"
    leaps = f"({y} - {y} % 4) / 4 - ({y} - {y} % 100) / 100 + ({y} - {y} % 400) / 400"
    place = f"CAST({y} + {leaps} + CASE {month} {shifts} END + {number} AS INTEGER) % 7"
    names = " ".join(f"WHEN {k} THEN '{WEEKDAYS[k - 1]}'" for k in range(7))  # 0 is Sunday
    return f"CASE {place} {names} END"
