"""Numbers as people write them: ``90 min``, ``$1,234.50``, ``12 %``; a column with two units has a number for each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from polyrule.data.derive.base import Derivation
from polyrule.data.table import Feature
from polyrule.utils.arrays import Floats

if TYPE_CHECKING:
    from polyrule.data.documents import JsonNode

_BLANKS = " \u00a0\u202f"
_DECIMALS = (".", ",")
_GROUP_MARKS = ("", ",", ".", " ", "'")


@cache
def quantity_pattern(decimal: str, thousands: str) -> str:
    """Return the regular expression of a quantity, which Python and JavaScript read alike.

    Its groups are the text before the number, the sign, the text after the sign, the number, and the text behind it.
    """
    point = f"[{decimal}]"
    groups = f"[1-9][0-9]{{0,2}}(?:[{_BLANKS if thousands == ' ' else thousands}][0-9]{{3}})+|" if thousands else ""
    number = f"(?:{groups}[0-9]+)(?:{point}[0-9]+)?|{point}[0-9]+"
    return f"^([^0-9+.,-]*)(?:([+-])([^0-9+.,-]*))?({number})([^0-9]*)$"


@cache
def _compiled(decimal: str, thousands: str) -> re.Pattern[str]:
    return re.compile(quantity_pattern(decimal, thousands))


def split_quantity(text: str, decimal: str = ".", thousands: str = "") -> tuple[float, str] | None:
    """Return the number and the unit of a cell, None if it is no quantity; the unit comes in lower case.

    >>> split_quantity("90 min"), split_quantity("-$1,234.50", thousands=","), split_quantity("12-14 years")
    ((90.0, 'min'), (-1234.5, '$'), None)
    """
    parts = _compiled(decimal, thousands).match(text.strip())
    if parts is None or "\n" in text:
        return None
    before, sign, between, digits, after = (part or "" for part in parts.groups())
    for mark in _BLANKS if thousands == " " else thousands:
        digits = digits.replace(mark, "")
    unit = " ".join(f"{before} {between} {after}".lower().split())
    return float(f"{sign}{digits.replace(decimal, '.')}"), unit


_PYTHON = '''

def _quantity(cell, units, pattern, decimal, marks):
    """The number of a cell such as 90 min if its unit is one of `units`, else NaN."""
    import re

    if cell is None or cell != cell:
        return float("nan")
    if not isinstance(cell, str):
        return float(cell) if "" in units else float("nan")
    parts = re.match(pattern, cell.strip())
    if parts is None or "\\n" in cell:
        return float("nan")
    before, sign, between, digits, after = (part or "" for part in parts.groups())
    if " ".join((before + " " + between + " " + after).lower().split()) not in units:
        return float("nan")
    for mark in marks:
        digits = digits.replace(mark, "")
    return float(sign + digits.replace(decimal, "."))
'''

_JAVASCRIPT = """\
  // The number of a cell such as 90 min if its unit is one of `units`, else NaN.
  const quantity = (cell, units, pattern, decimal, marks) => {
    if (cell === null || cell === undefined || cell !== cell) return NaN;
    if (typeof cell === "number") return units.includes("") ? cell : NaN;
    const parts = pattern.exec(String(cell).trim());
    if (parts === null || String(cell).includes("\\n")) return NaN;
    const [before, sign, between, digits, after] = parts.slice(1).map((part) => part ?? "");
    const unit = `${before} ${between} ${after}`.toLowerCase().split(/\\s+/).filter(Boolean).join(" ");
    if (!units.includes(unit)) return NaN;
    const plain = [...digits].filter((mark) => !marks.includes(mark)).join("");
    return Number(sign + plain.replace(decimal, "."));
  };
"""


@dataclass(frozen=True, slots=True)
class Quantity(Derivation):
    """The number in cells with a unit; missing where a cell has another unit, or is no number.

    Parameters
    ----------
    column : str
        Name of the column.
    units : tuple of str
        Spellings of the unit in lower case, "" for a number without a unit.
    name_of_unit : str
        As names of features show it; empty if numbers have no unit.
    decimal, thousands : str
        The decimal sign, and what separates groups of three digits, or nothing.

    Examples
    --------
    >>> minutes = Quantity("duration", ("min",), "min")
    >>> minutes.feature().name, minutes.values(["90 min", "2 Seasons", None]).tolist()
    ('duration (min)', [90.0, nan, nan])
    """

    units: tuple[str, ...]
    name_of_unit: str = ""
    decimal: str = "."
    thousands: str = ""

    KEY: ClassVar[str] = "quantity"
    SOURCE: ClassVar[str] = "text"
    WHEN_READ: ClassVar[bool] = True
    HELPERS: ClassVar[Mapping[str, str]] = {"python": _PYTHON, "javascript": _JAVASCRIPT}

    def feature(self) -> Feature:
        """Return the numeric feature ``column (unit)``."""
        return Feature(self.column + self._suffix, derived=self)

    @property
    def _suffix(self) -> str:
        return f" ({self.name_of_unit})" if self.name_of_unit else ""

    def values(self, *sources: Any) -> Floats:
        """Return the number of each cell."""
        numbers = np.full(len(sources[0]), np.nan)
        for row, text in enumerate(sources[0]):
            if text is not None:
                quantity = split_quantity(text, self.decimal, self.thousands)
                if quantity is not None and quantity[1] in self.units:
                    numbers[row] = quantity[0]
        return numbers

    def to_json(self) -> dict[str, Any]:
        """Return the style of the numbers; the name of the feature contains that of the column."""
        written = {"units": list(self.units), "unit": self.name_of_unit}
        return {**written, "decimal": self.decimal, "thousands": self.thousands}

    @classmethod
    def from_json(cls, node: JsonNode, name: str) -> Self:
        """Return the derivation of the feature `name`."""
        parts = node.fields(("units", "unit", "decimal", "thousands"))
        unit, units = parts["unit"].text(), tuple(item.text() for item in parts["units"])
        decimal, thousands = parts["decimal"].choice(*_DECIMALS), parts["thousands"].choice(*_GROUP_MARKS)
        suffix = f" ({unit})" if unit else ""
        if not units or decimal == thousands or not name.endswith(suffix):
            node.fail(f"must name a unit with which the name {name!r} ends, and two different marks of numbers")
        return cls(name.removesuffix(suffix), units, unit, decimal, thousands)

    def code(self, language: str, *cells: str) -> str:
        """Return a call of the helper, or SQL.

        SQL takes separators of groups wherever they are; a cell with several signs or points is an error there.
        """
        (cell,) = cells
        pattern, marks = quantity_pattern(self.decimal, self.thousands), self._marks
        if language == "python":
            return f"_quantity({cell}, {self.units!r}, {pattern!a}, {self.decimal!r}, {marks!a})"
        if language == "javascript":
            units = json.dumps(list(self.units))
            return f"quantity({cell}, {units}, /{pattern}/, {json.dumps(self.decimal)}, {json.dumps(marks)})"
        if language == "sql":
            return self._sql(cell)
        return super(Quantity, self).code(language, *cells)

    @property
    def _marks(self) -> str:
        return _BLANKS if self.thousands == " " else self.thousands

    def _sql(self, cell: str) -> str:
        """Return the cell without unit, blanks and separators as a number, if nothing but a number remains."""
        text, cases = f"LOWER(TRIM(CAST({cell} AS TEXT)))", []
        for unit in sorted(self.units, key=len, reverse=True):
            number = text
            for word in (*unit.split(), *_BLANKS, *self._marks):
                number = f"REPLACE({number}, {_sql_string(word)}, '')"
            number = f"REPLACE({number}, '{self.decimal}', '.')"
            rest = number
            for mark in "0123456789.":
                rest = f"REPLACE({rest}, '{mark}', '')"
            is_number = f"{number} NOT IN ('', '.', '-', '+') AND {rest} IN ('', '-', '+')"
            if unit:
                # Without the number, only the unit remains.
                is_number = f"REPLACE({text}, {_sql_string(unit.split()[-1])}, '') <> {text} AND {is_number}"
            cases.append(f"WHEN {is_number} THEN CAST({number} AS DOUBLE PRECISION)")
        return f"CASE {' '.join(cases)} END"


def _sql_string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def quantities(column: str, units: Sequence[tuple[str, Sequence[str]]], decimal: str, thousands: str) -> list[Quantity]:
    """Return a derivation for each unit, given by the name and the spellings of each.

    A number without a unit has the only unit that there is.

    >>> [one.feature().name for one in quantities("size", [("kg", ["kg"]), ("lb", ["lb", "lbs"])], ".", "")]
    ['size (kg)', 'size (lb)']
    """
    bare = ("",) if len(units) == 1 else ()
    spellings = [tuple(dict.fromkeys((*names, *bare))) for _, names in units]
    names = [name for name, _ in units]
    return [Quantity(column, one, name, decimal, thousands) for name, one in zip(names, spellings, strict=True)]
