"""Results as data frames, text tables and cells: pandas where it is installed, else polars, else pyarrow, or none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from polyrule.errors import PolyruleError


class MissingExtraError(PolyruleError, ImportError):
    """Something was asked for that needs a package which is not installed."""


def make_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Build a data frame from named columns with the first of pandas, polars and pyarrow that is installed.

    Examples
    --------
    >>> make_frame({"label": ["red", "blue"], "f1": [0.5, 1.0]}).shape
    (2, 2)
    """
    for module, constructor in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        try:
            build = getattr(import_module(module), constructor)
        except ImportError:
            continue
        return build({name: list(values) for name, values in columns.items()})
    raise MissingExtraError("a data frame needs pandas, polars or pyarrow: install one of them")


def frame_of_rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> Any:
    """Build a data frame from dictionaries; a key that a row lacks becomes a missing value."""
    table = [dict(row) for row in rows]
    names = list(columns) if columns is not None else list(dict.fromkeys(key for row in table for key in row))
    return make_frame({name: [row.get(name) for row in table] for name in names})


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Lay out cells in aligned columns: the first `left` columns to the left, the others to the right.

    Examples
    --------
    >>> print(text_table(["label", "f1"], [["red", "0.5"], ["orange", "1"]]))
    label    f1
    red     0.5
    orange    1
    """
    cells = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        parts = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    return "\n".join(line(row) for row in cells)


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def safe_cell(value: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would take for a formula; numbers are left alone.

    >>> safe_cell("=1+1"), safe_cell(" @x"), safe_cell("red"), safe_cell(-1.5)
    ("'=1+1", "' @x", 'red', -1.5)
    """
    if isinstance(value, str) and (value.startswith(_FORMULA) or value.lstrip(" ").startswith(_FORMULA)):
        return "'" + value
    return value
