"""How numbers are written in a text file: which sign is the decimal one, and which parts groups of three digits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from polyrule.data.columns import shorten
from polyrule.errors import OptionError
from polyrule.utils.messages import argument

_SPACES = " \u00a0\u202f"  # those that do not break a line are what programs write
_SEPARATORS = (",", ".", " ", "'")


@dataclass(frozen=True)
class NumberStyle:
    """One way to write numbers.

    Examples
    --------
    >>> NumberStyle(",", ".").plain("-1.234,5"), NumberStyle(".", ",").plain("7,750"), NumberStyle(",").plain("7,750")
    ('-1234.5', '7750', '7.750')
    >>> NumberStyle(",").plain("3.5") is None, NumberStyle(".", ",").plain("0,125") is None
    (True, True)
    """

    decimal: str = "."  # one of ".", ","
    # one of ",", ".", " ", "'"; what stands between groups of three digits, in numbers that have groups
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise OptionError(parameter="decimal", value=self.decimal, allowed="'.' or ','")
        if self.thousands is not None and (self.thousands not in _SEPARATORS or self.thousands == self.decimal):
            allowed = "one of ',', '.', ' ' and \"'\", and not the decimal sign"
            raise OptionError(parameter="thousands", value=self.thousands, allowed=allowed)

    @property
    def is_plain(self) -> bool:
        """True if numbers are written as Python writes them."""
        return self.decimal == "." and self.thousands is None

    @cached_property
    def _number(self) -> re.Pattern[str]:
        groups = "(?!)"  # never
        if self.thousands is not None:
            mark = f"[{_SPACES}]" if self.thousands == " " else re.escape(self.thousands)
            groups = rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})++"
        point = re.escape(self.decimal)
        return re.compile(
            rf"([+-]?)(?:({groups})|(\d*))(?:{point}(?P<part>\d*))?([eE][+-]?\d+)?",
            re.ASCII,
        )

    def plain(self, cell: str) -> str | None:
        """Return a number as Python writes it, or None if the cell is no number of this style."""
        match = self._number.fullmatch(cell.strip())
        if match is None or not (match[2] or match[3] or match["part"]):
            return None
        whole = "".join(filter(str.isdigit, match[2])) if match[2] else match[3]
        part = "" if match["part"] is None else f".{match['part']}"
        return f"{match[1]}{whole}{part}{match[5] or ''}"

    def has_groups(self, cell: str) -> bool:
        """True if a cell is a number with groups of three digits."""
        match = self._number.fullmatch(cell.strip())
        return match is not None and match[2] is not None

    def advice(self) -> str:
        """Return the options with which numbers are read this way."""
        thousands = "" if self.thousands is None else argument("thousands", self.thousands)
        decimal = "" if self.decimal == "." else argument("decimal", self.decimal)
        return "pass " + " and ".join(filter(None, (decimal, thousands)))


_ALL = tuple(
    NumberStyle(decimal, thousands) for decimal in ".," for thousands in (None, *_SEPARATORS) if thousands != decimal
)


def other_style(cells: Iterable[str | None], declared: NumberStyle) -> tuple[str, str] | None:
    """Return the contents of a column of text, and a remedy, if all cells are numbers of another style than declared.

    None if it is text. Groups of three digits are never called decimals, because reading 7,750 as 7.75 and 338 as 338
    would go unnoticed; a column that fits no style as a whole is to be written anew.

    Examples
    --------
    >>> other_style(["7,750", "338"], NumberStyle())
    ("numbers with thousands separators such as '7,750'", "pass thousands=','")
    >>> other_style(["3,25", "338"], NumberStyle())
    ("numbers with a decimal comma such as '3,25'", "pass decimal=','")
    >>> other_style(["7,750", "3,25"], NumberStyle(".", ","))
    ("numbers written in several ways, such as '3,25'", 'write them in one way')
    >>> other_style(["7,750", "Smith, John"], NumberStyle()) is None
    True
    """
    present = [cell for cell in cells if cell is not None]
    odd = [cell for cell in present if declared.plain(cell) is None]
    if not odd or not all(any(style.plain(cell) is not None for style in _ALL) for cell in odd):
        return None
    # the caller's options stay as they are
    allowed = [
        style
        for style in _ALL
        if declared.is_plain or (style.decimal == declared.decimal and declared.thousands in (None, style.thousands))
    ]
    fitting = [style for style in allowed if all(style.plain(cell) is not None for cell in present)]
    grouped = [style for style in fitting if all(style.has_groups(cell) for cell in odd)]
    if grouped and not any(_is_long(cell, grouped[0]) for cell in present):
        return f"numbers with thousands separators such as {shorten(odd[0])}", grouped[0].advice()
    if fitting and not grouped:
        what = "a decimal comma" if fitting[0].thousands is None else "a decimal comma and thousands separators"
        return f"numbers with {what} such as {shorten(odd[0])}", fitting[0].advice()
    return f"numbers written in several ways, such as {shorten(odd[0])}", "write them in one way"


def _is_long(cell: str, style: NumberStyle) -> bool:
    """True if a number without groups has enough digits for some."""
    plain = style.plain(cell)
    return plain is not None and not style.has_groups(cell) and len(plain.lstrip("+-").partition(".")[0]) > 3
