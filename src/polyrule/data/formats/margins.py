"""Rows around a table, as spreadsheets and survey tools write them: further header rows and footers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyrule.data.columns import shorten
from polyrule.data.formats.number_style import NumberStyle
from polyrule.errors import DataError
from polyrule.utils.messages import argument

_MAX_HEADERS = 3
"""Further header rows that are looked for: Qualtrics writes two."""
_MIN_COLUMNS, _MIN_NUMBERS = 2, 3


def check_headers(name: str, unit: str, lines: Sequence[int], names: Sequence[str], columns: Sequence[Any]) -> None:
    """Raise if the first rows are further header rows: texts only, above columns of numbers.

    Examples
    --------
    >>> cells = [["How old?", "31", "45", "27"], ["How tall?", "170", "182", "165"], ["Town", "A", "B", "A"]]
    >>> check_headers("survey.csv", "line", [2, 3, 4, 5], ["Q1", "Q2", "Q3"], cells)
    Traceback (most recent call last):
    ...
    polyrule.errors.DataError: survey.csv, line 2: a further header row, such as 'How old?' above the numbers of column
    'Q1'; delete it, or pass missing= if the texts stand for missing values
    """
    style = NumberStyle()

    def is_number(cell: Any) -> bool:
        return isinstance(cell, float) or (isinstance(cell, str) and style.plain(cell) is not None)

    rows = list(zip(*(column[:_MAX_HEADERS] for column in columns), strict=True))
    n_rows = 0
    while n_rows < len(rows) and not any(is_number(cell) for cell in rows[n_rows]):
        n_rows += 1
    for n_headers in range(1, min(n_rows, _MAX_HEADERS - 1) + 1):
        headed = []
        for column_name, column in zip(names, columns, strict=True):
            below = [cell for cell in column[n_headers:] if cell is not None]
            above = next((cell for cell in column[:n_headers] if isinstance(cell, str)), None)
            if above is not None and len(below) >= _MIN_NUMBERS and all(map(is_number, below)):
                headed.append((column_name, above))
        if len(headed) >= _MIN_COLUMNS:
            place = f"{unit} {lines[0]}" if n_headers == 1 else f"{unit}s {lines[0]} to {lines[n_headers - 1]}"
            what = "a further header row" if n_headers == 1 else "further header rows"
            them = "it" if n_headers == 1 else "them"
            raise DataError(
                f"{name}, {place}: {what}, such as {shorten(headed[0][1])} above the numbers of column "
                f"{headed[0][0]!r}; delete {them}, or pass {argument('missing')} if the texts stand for missing values"
            )


def last_row(rows: Sequence[Any]) -> int:
    """Return the number of the last row of a sheet that is not a footer.

    A footer stands below an empty row, and each of its rows has a value in the first column only.

    Examples
    --------
    >>> last_row([["a", "b"], [1.0, 2.0], ["", ""], ["Source: town hall", ""]])
    2
    >>> last_row([["a", "b"], [1.0, 2.0], [3.0, ""]])
    3
    """
    filled = [any(value != "" for value in row[1:]) for row in rows]
    full = max((number for number, is_full in enumerate(filled, 1) if is_full), default=len(rows))
    below = [row[0] != "" for row in rows[full:]]
    return full if any(below) and not below[0] else len(rows)
