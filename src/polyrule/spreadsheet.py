"""Cells that a spreadsheet would run as a formula, made text."""

from __future__ import annotations

from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def safe_cell(value: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would take for a formula; numbers are left alone.

    >>> safe_cell("=1+1"), safe_cell(" @x"), safe_cell("red"), safe_cell(-1.5)
    ("'=1+1", "' @x", 'red', -1.5)
    """
    if isinstance(value, str) and (value.startswith(_FORMULA) or value.lstrip(" ").startswith(_FORMULA)):
        return "'" + value
    return value
