"""Which columns of text are numbers as people write them: with units, currencies, or marks between digits."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from polyrule.data.derive.quantities import Quantity, quantities, split_quantity

_TOKEN = re.compile(
    r"^([^0-9+.,-]*)(?:[+-]([^0-9+.,-]*))?((?:[0-9]+|[.,][0-9]+)(?:[.,' \u00a0\u202f][0-9]+)*)([^0-9]*)$"
)
_STYLES = ((".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
_MAX_UNITS = 3
_MAX_UNIT_LENGTH = 15
_MIN_SHARE = 0.95
"""Share of rows with a number; the others are missing."""
_MIN_UNIT_SHARE = 0.02
_MIN_NUMBERS = 3
_MIN_NUMBERS_AMONG_WORDS = 20
_MAX_WORDS = 3
_MAX_LENGTH = 60
_CODES = frozenset(("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "SEK", "NOK", "DKK", "PLN", "CZK"))
_NO_UNITS = frozenset(("am", "pm", "a.m.", "p.m.", "st", "nd", "rd", "th", "e", "x"))
_NO_UNIT_MARKS = "()[]{}<>=~#@\\:;!?+-,"
_SHORT_UNITS = frozenset(
    ("mm", "cm", "m", "km", "mg", "g", "kg", "t", "ms", "s", "h", "min", "ml", "l", "kb", "mb", "gb")
)


def find_quantities(column: str, cells: Sequence[str], counts: Sequence[int]) -> list[Quantity]:
    """Return the quantities of a column of texts, one for each unit; none if the cells are no numbers.

    Parameters
    ----------
    column : str
    cells : sequence of str
        Distinct texts.
    counts : sequence of int
        Number of rows with each.

    Examples
    --------
    >>> [q.feature().name for q in find_quantities("duration", ["90 min", "94 min", "1 Season", "2 Seasons"], [9] * 4)]
    ['duration (Seasons)', 'duration (min)']
    >>> find_quantities("ward", ["W01", "W02", "W03"], [9, 9, 9]), find_quantities("zip", ["01234", "1234"], [9, 9])
    ([], [])
    """
    tokens: list[tuple[re.Match[str], int]] = []
    words: dict[str, int] = {}
    for cell, count in zip(cells, counts, strict=True):
        token = _TOKEN.match(cell.strip()) if len(cell) <= _MAX_LENGTH else None
        if count and token is None:
            words[cell] = count
            if len(words) > _MAX_WORDS or _has_digit(cell):
                return []
        elif count and token is not None:
            tokens.append((token, count))
    n_words = sum(words.values())
    numbers = {token[3] for token, _ in tokens}
    if n_words > (1 - _MIN_SHARE) * (n_words + sum(count for _, count in tokens)):
        return []
    units = _units([(_unit_parts(token), count) for token, count in tokens])
    style = _style([token[3] for token, _ in tokens])
    if units is None or style is None or any(map(_is_code, numbers)):
        return []
    has_unit = units != [("", [""])]
    if not has_unit and style == (".", "") and not words:
        return []  # digits in a column of text were meant as such
    if len(numbers) < (_MIN_NUMBERS_AMONG_WORDS if words else _MIN_NUMBERS if has_unit else 1):
        return []
    return quantities(column, units, *style)


def _unit_parts(token: re.Match[str]) -> tuple[str, str]:
    """Return the texts before and after a number."""
    return " ".join((token[1] + (token[2] or "")).split()), token[4]


def _units(written: Sequence[tuple[tuple[str, str], int]]) -> list[tuple[str, list[str]]] | None:
    """Return name and spellings of each unit, None if these are no units."""
    rows: Counter[str] = Counter()
    for (before, after), count in written:
        rows[" ".join(f"{before} {after}".split())] += count
    if not all(_is_prefix(before) and _is_suffix(after.strip()) for (before, after), _ in written):
        return None
    groups: dict[str, list[str]] = defaultdict(list)
    for unit in rows:
        stem = unit.lower()
        groups[stem.removesuffix("s") if len(stem) > 3 else stem].append(unit)
    bare = rows.pop("", 0)
    groups.pop("", None)
    if not groups:
        return [("", [""])]
    if len(groups) > (1 if bare else _MAX_UNITS):
        return None
    if len(groups) > 1:
        attached = {after.lower() for (before, after), _ in written if after[:1].isalpha() and not before}
        if attached - _SHORT_UNITS:
            return None  # codes such as 3A and 4B
        if any(sum(rows[unit] for unit in group) < _MIN_UNIT_SHARE * rows.total() for group in groups.values()):
            return None
    ordered = sorted(groups.values(), key=lambda group: (-sum(rows[unit] for unit in group), min(group)))
    spelled = [(max(group, key=lambda unit: (len(unit), unit)), group) for group in ordered]
    return [(name, sorted({unit.lower() for unit in group})) for name, group in spelled]


def _is_prefix(text: str) -> bool:
    """Return True for nothing, or a currency; other letters before a number make a code."""
    return not text or text in _CODES or (unicodedata.category(text[-1]) == "Sc" and len(text) <= 3)


def _is_suffix(text: str) -> bool:
    is_short = len(text) <= _MAX_UNIT_LENGTH and len(text.split()) <= 2
    return is_short and text.lower() not in _NO_UNITS and not any(mark in _NO_UNIT_MARKS for mark in text)


def _style(numbers: Iterable[str]) -> tuple[str, str] | None:
    """Return decimal sign and group separator by which all numbers are written, None if there are no such signs.

    Groups of three digits are never called decimals, unless they follow a point.
    """
    numbers = list(numbers)
    odd = [number for number in numbers if not number.isdigit()]
    fitting = [s for s in _STYLES if all(_fits(number, s) for number in numbers)]
    if not odd or not fitting or fitting[0] == (".", ""):
        return fitting[0] if fitting else None
    grouped = [s for s in fitting if s[1] and all(_has_group(number, s[1]) for number in odd)]
    if grouped and not any(number.isdigit() and len(number) > 3 for number in numbers):
        return grouped[0]
    return None if grouped else fitting[0]


def _fits(number: str, style: tuple[str, str]) -> bool:
    return split_quantity(number, *style) is not None


def _has_group(number: str, mark: str) -> bool:
    marks = " \u00a0\u202f" if mark == " " else re.escape(mark)
    return re.search(rf"[{marks}][0-9]{{3}}(?![0-9])", number) is not None


def _is_code(number: str) -> bool:
    """Return True for digits with zeros in front, as codes have them."""
    return len(number) > 1 and number[0] == "0" and number[1].isdigit()


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))
