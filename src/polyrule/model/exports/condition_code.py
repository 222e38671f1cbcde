"""Conditions on features, and how a row is read for them, in each language; shared by lists and ensembles.

A feature with categories is read as text, so that its conditions name the categories that satisfy them; a text that is
no category counts as missing, as it does here. The variable of feature 3 is ``x3``, in C ``x[3]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from polyrule.data.dates import MONTHS, WEEKDAYS, format_date
from polyrule.data.table import Feature
from polyrule.model.conditions import accepted
from polyrule.model.exports.quoting import javascript_string, python_string, sql_name, sql_number, sql_string
from polyrule.model.rule import (
    Condition,
    FeatureCondition,
    GroupCondition,
    InputCondition,
    LabelCondition,
    MissingCondition,
    NumericCondition,
)

Features = Sequence[Feature]

_BOOLEAN = ("False", "True")


def columns_of(features: Features, used: Sequence[int]) -> list[str]:
    """Return the columns that a row must have; several features may be read from one column of dates."""
    return list(dict.fromkeys(features[j].column for j in used))


def _names(condition: FeatureCondition, feature: Feature) -> list[str]:
    """Categories that satisfy a condition; all of them for one that only asks whether a value is known."""
    return [feature.categories[code] for code in accepted(condition, feature)]


def _enough(group: GroupCondition, members: list[str], either: str) -> str:
    """Return that enough members of a group hold; where any of them does, in the words of the language."""
    if group.least == 1:
        return f"({either.join(members)})"
    return f"({' + '.join(f'({member})' for member in members)} >= {group.least})"


@dataclass(frozen=True)
class _Script:
    """How a language says what Python and JavaScript both say."""

    either: str
    equal: str
    unequal: str
    quoted: Callable[[str], str]
    among: str
    outside: str

    def test(self, condition: InputCondition, features: Features) -> str:
        """Return a condition as an expression."""
        if isinstance(condition, GroupCondition):
            return _enough(condition, [self.test(member, features) for member in condition.members], self.either)
        x, feature = f"x{condition.feature}", features[condition.feature]
        match condition:
            case NumericCondition(_, op, threshold) if not feature.has_categories:
                return f"{x} {op} {float(threshold)!r}"
            case MissingCondition(_, missing) if not feature.has_categories:
                return f"{x} {self.unequal if missing else self.equal} {x}"
            case MissingCondition(_, True):
                return self.outside.format(x=x, names=", ".join(map(self.quoted, feature.categories)))
        names = [self.quoted(name) for name in _names(condition, feature)]
        return f"{x} {self.equal} {names[0]}" if len(names) == 1 else self.among.format(x=x, names=", ".join(names))


_PYTHON = _Script(" or ", "==", "!=", python_string, "{x} in [{names}]", "{x} not in [{names}]")
_JAVASCRIPT = _Script(" || ", "===", "!==", javascript_string, "[{names}].includes({x})", "![{names}].includes({x})")


def sql_test(condition: InputCondition, features: Features) -> str:
    """Return a condition as an expression of SQL, where NULL is missing."""
    if isinstance(condition, GroupCondition):
        members = [sql_test(member, features) for member in condition.members]
        if condition.least > 1:
            members = [f"CASE WHEN {member} THEN 1 ELSE 0 END" for member in members]
        return _enough(condition, members, " OR ")
    x, feature = f"x{condition.feature}", features[condition.feature]
    every = ", ".join(map(sql_string, feature.categories)) or "NULL"
    match condition:
        case NumericCondition(_, op, threshold) if feature.kind == "date":
            return f"{x} {op} {sql_string(format_date(threshold))}"
        case NumericCondition(_, op, threshold) if not feature.has_categories:
            return f"{x} {op} {sql_number(threshold)}"
        case MissingCondition(_, missing) if not feature.has_categories:
            return f"{x} IS {'' if missing else 'NOT '}NULL"
        case MissingCondition(_, True):
            return f"CASE WHEN {x} IN ({every}) THEN 0 ELSE 1 END = 1"
    names = [sql_string(name) for name in _names(condition, feature)] or ["NULL"]
    return f"{x} = {names[0]}" if len(names) == 1 else f"{x} IN ({', '.join(names)})"


def c_test(condition: InputCondition, features: Features) -> str:
    """Return a condition as an expression of C, where categories are numbers and missing is NaN."""
    if isinstance(condition, GroupCondition):
        return _enough(condition, [c_test(member, features) for member in condition.members], " || ")
    x = f"x[{condition.feature}]"
    match condition:
        case NumericCondition(_, op, threshold):
            return f"{x} {op} {float(threshold)!r}"
        case MissingCondition(_, missing):
            return f"{x} {'!=' if missing else '=='} {x}"
    equal = [f"{x} == {code}" for code in accepted(condition, features[condition.feature])]
    return equal[0] if len(equal) == 1 else f"({' || '.join(equal)})"


def _body(test: Any, both: str, equal: str, always: str, body: Sequence[Condition], features: Features) -> str:
    """Return a body as one expression, where the label 3 that earlier rules set is ``y[3]``."""
    tests = (f"y[{c.label}] {equal} {c.value}" if isinstance(c, LabelCondition) else test(c, features) for c in body)
    return both.join(tests) or always


python_body = partial(_body, _PYTHON.test, " and ", "==", "True")
javascript_body = partial(_body, _JAVASCRIPT.test, " && ", "===", "true")
c_body = partial(_body, c_test, " && ", "==", "1")


READ_PYTHON = """
def _number(value):
    return float("nan") if value is None else float(value)


def _text(value):
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return None if value != value else repr(int(value)) if value == int(value) else repr(float(value))
    return str(value)
"""

READ_PYTHON_DATES = f'''

def _date(value, part):
    """Days since 1970-01-01 of a date or of a text such as 2021-03-05, or a part of the date."""
    if value is None or value != value:
        return float("nan") if part in ("", "year") else None
    day = datetime.date.fromisoformat(value.strip()[:10]) if isinstance(value, str) else value
    if part == "weekday":
        return {WEEKDAYS!r}[day.weekday()]
    if part == "month":
        return {MONTHS!r}[day.month - 1]
    return float(day.year if part else datetime.date(day.year, day.month, day.day).toordinal() - 719163)
'''


def python_helpers(features: Features, used: Sequence[int]) -> str:
    """Return the functions that `python_read` calls."""
    dates = any(features[j].is_dated for j in used)
    return f"\nimport datetime\n\n{READ_PYTHON}{READ_PYTHON_DATES}" if dates else READ_PYTHON


def python_read(feature: Feature) -> str:
    """Return the expression that reads a feature from a row."""
    value = f"row[{python_string(feature.column)}]"
    if feature.is_dated:
        return f"_date({value}, {python_string(feature.part)})"
    return f"{'_text' if feature.has_categories else '_number'}({value})"


READ_JAVASCRIPT = """
  const read = (row, name) => {
    if (!Object.prototype.hasOwnProperty.call(row, name)) throw new Error("the row lacks the feature " + name);
    return row[name];
  };
  const number = (row, name) => {
    const value = read(row, name);
    return value === null || value === undefined ? NaN : Number(value);
  };
  const text = (row, name) => {
    const value = read(row, name);
    if (value === null || value === undefined || value !== value) return null;
    return typeof value === "boolean" ? (value ? "True" : "False") : String(value);
  };
"""

READ_JAVASCRIPT_DATES = f"""\
  // A text such as 2021-03-05, or a Date, of which the day in UTC counts.
  const date = (row, name, part) => {{
    const value = read(row, name);
    if (value === null || value === undefined || value !== value) return part && part !== "year" ? null : NaN;
    const day = new Date((value instanceof Date ? value.toISOString() : String(value).trim()).slice(0, 10));
    if (part === "year") return day.getUTCFullYear();
    if (part === "month") return {list(MONTHS)!r}[day.getUTCMonth()];
    if (part === "weekday") return {list(WEEKDAYS)!r}[(day.getUTCDay() + 6) % 7];
    return day.getTime() / 86400000;
  }};
"""


def javascript_helpers(features: Features, used: Sequence[int]) -> str:
    """Return the functions that `javascript_read` calls."""
    return READ_JAVASCRIPT + (READ_JAVASCRIPT_DATES if any(features[j].is_dated for j in used) else "")


def javascript_read(feature: Feature) -> str:
    """Return the expression that reads a feature from a row."""
    name = javascript_string(feature.column)
    if feature.is_dated:
        return f"date(row, {name}, {javascript_string(feature.part)})"
    return f"{'text' if feature.has_categories else 'number'}(row, {name})"


def sql_read(feature: Feature) -> str:
    """Return the expression that reads one feature from the table: a double, or text; a date is text, too."""
    column = f"t.{sql_name(feature.column)}"
    if feature.is_dated:
        return _sql_date(f"SUBSTR(CAST({column} AS TEXT), 1, 10)", feature.part)
    if not feature.has_categories:
        return f"NULLIF(CAST({column} AS DOUBLE PRECISION), 'NaN')"
    if feature.categories != _BOOLEAN:
        return f"CAST({column} AS TEXT)"
    cases = "WHEN 'true' THEN 'True' WHEN '1' THEN 'True' WHEN 'false' THEN 'False' WHEN '0' THEN 'False'"
    return f"CASE LOWER(CAST({column} AS TEXT)) {cases} END"


def _sql_date(day: str, part: str) -> str:
    """Return a part of a date written as 2021-03-05; engines share no functions for dates, but these they do."""
    if not part:
        return day
    year, month, number = (f"CAST(SUBSTR({day}, {a}, {n}) AS INTEGER)" for a, n in ((1, 4), (6, 2), (9, 2)))
    if part == "year":
        return f"CAST({year} AS DOUBLE PRECISION)"
    if part == "month":
        return f"CASE {month} {' '.join(f'WHEN {k} THEN {sql_string(name)}' for k, name in enumerate(MONTHS, 1))} END"
    # Sakamoto's congruence: January and February count to the year before; % leaves whole numbers to divide.
    shifts = " ".join(f"WHEN {k} THEN {shift}" for k, shift in enumerate((0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4), 1))
    y = f"({year} - CASE WHEN {month} < 3 THEN 1 ELSE 0 END)"
    leaps = f"({y} - {y} % 4) / 4 - ({y} - {y} % 100) / 100 + ({y} - {y} % 400) / 400"
    place = f"CAST({y} + {leaps} + CASE {month} {shifts} END + {number} AS INTEGER) % 7"
    names = " ".join(f"WHEN {k} THEN {sql_string(WEEKDAYS[k - 1])}" for k in range(7))  # 0 is Sunday
    return f"CASE {place} {names} END"
