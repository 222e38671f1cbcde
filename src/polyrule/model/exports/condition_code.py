"""Conditions on features, and how a row is read for them, in each language; shared by lists and ensembles.

A feature with categories is read as text, so that its conditions name the categories that satisfy them; a text that is
no category counts as missing, as it does here. The variable of feature 3 is ``x3``, in C ``x[3]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from polyrule.data.dates import MONTHS, WEEKDAYS, format_date
from polyrule.data.table import Feature
from polyrule.model.conditions import accepted
from polyrule.model.exports.quoting import (
    javascript_string,
    python_string,
    rule_comment,
    sql_name,
    sql_number,
    sql_string,
)
from polyrule.model.rule import (
    Condition,
    GroupCondition,
    InputCondition,
    LabelCondition,
    MissingCondition,
    NumericCondition,
)
from polyrule.model.rule_ensemble import RuleEnsemble
from polyrule.model.rule_list import RuleList

Features = Sequence[Feature]

_BOOLEAN = ("False", "True")


def columns_of(features: Features, used: Sequence[int]) -> list[str]:
    """Return the columns that a row must have; several features may be read from one column of dates."""
    return list(dict.fromkeys(features[j].column for j in used))


def _enough(group: GroupCondition, members: list[str], either: str) -> str:
    """Return that enough members of a group hold; where any of them does, in the words of the language."""
    if group.least == 1:
        return f"({either.join(members)})"
    return f"({' + '.join(f'({member})' for member in members)} >= {group.least})"


@dataclass(frozen=True)
class Language:
    """How a language that runs rules one after the other writes them: each a comment, a test and what the rule does."""

    both: str
    either: str
    equal: str
    unequal: str
    always: str
    comment: str
    condition: str
    end: tuple[str, ...]  # lines after what a rule does
    step: str  # further in
    unicode: bool = False  # whether comments are
    variable: str = "x{}"
    # A category as a text, and how one is looked for among several; C knows categories by their positions
    quoted: Callable[[str], str] | None = None
    among: str = ""
    outside: str = ""

    def rules(self, model: Any, act: Callable[[int], list[str]], indent: str) -> list[str]:
        """Return the lines of all rules; `act` says what one of them does."""
        lines: list[str] = []
        for index, rule in enumerate(model.rules):
            tests = self.both.join(self._test(condition, model.features) for condition in rule.body)
            lines.append(self.comment.format(rule_comment(model, index, unicode=self.unicode)))
            lines.append(self.condition.format(tests or self.always))
            lines += [*(self.step + line for line in act(index)), *self.end]
        return [indent + line for line in lines]

    def _test(self, condition: Condition, features: Features) -> str:
        """Return a condition as an expression, where ``y[3]`` is the label 3 that earlier rules have set."""
        if isinstance(condition, LabelCondition):
            return f"y[{condition.label}] {self.equal} {condition.value}"
        if isinstance(condition, GroupCondition):
            return _enough(condition, [self._test(member, features) for member in condition.members], self.either)
        x, feature = self.variable.format(condition.feature), features[condition.feature]
        quoted = self.quoted if feature.has_categories else None
        match condition:
            case NumericCondition(_, op, threshold) if quoted is None:
                return f"{x} {op} {float(threshold)!r}"
            case MissingCondition(_, missing) if quoted is None:
                return f"{x} {self.unequal if missing else self.equal} {x}"
            case MissingCondition(_, True) if quoted is not None:
                return self.outside.format(x=x, names=", ".join(map(quoted, feature.categories)))
        codes = accepted(condition, feature)
        names = [str(code) if quoted is None else quoted(feature.categories[code]) for code in codes]
        if quoted is not None and len(names) != 1:
            return self.among.format(x=x, names=", ".join(names))
        equal = self.either.join(f"{x} {self.equal} {name}" for name in names)
        return equal if len(names) == 1 else f"({equal})"


PYTHON = Language(
    *(" and ", " or ", "==", "!=", "True", "# {}", "if {}:", (), "    "),
    unicode=True,
    quoted=python_string,
    among="{x} in [{names}]",
    outside="{x} not in [{names}]",
)
JAVASCRIPT = Language(
    *(" && ", " || ", "===", "!==", "true", "// {}", "if ({}) {{", ("}",), "  "),
    quoted=javascript_string,
    among="[{names}].includes({x})",
    outside="![{names}].includes({x})",
)
C = Language(" && ", " || ", "==", "!=", "1", "/* {} */", "if ({}) {{", ("}",), "  ", variable="x[{}]")


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
    names = [sql_string(feature.categories[code]) for code in accepted(condition, feature)] or ["NULL"]
    return f"{x} = {names[0]}" if len(names) == 1 else f"{x} IN ({', '.join(names)})"


def weighing(model: RuleEnsemble, end: str = "") -> Callable[[int], list[str]]:
    """Return what the rules of an ensemble do, in all these languages: add weights to the sums ``s``."""
    return lambda index: [f"s[{one.label}] += {float(one.weight)!r}{end}" for one in model.rules[index].head]


def title(model: RuleList | RuleEnsemble) -> str:
    """Return what stands at the top of code and files."""
    what = "A multi-label rule list" if isinstance(model, RuleList) else "Weighted multi-label rules"
    return f"{what}, exported by polyrule."


def constants(model: RuleList | RuleEnsemble) -> dict[str, Any]:
    """Return the numbers by which what rules say becomes labels, by the names they have in scripts."""
    if isinstance(model, RuleList):
        return {"DEFAULTS": list(map(int, model.defaults))}
    decision = model.decision
    cuts = {"CUTS": list(map(float, decision.every_cut(len(model.label_names))))}
    if not decision.uses_sets:
        return cuts
    sets = [sorted(labels) for labels in decision.label_sets]
    return cuts | {"SETS": sets, "UNIT": model.common_unit, "BONUSES": list(map(float, decision.every_bonus))}


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
