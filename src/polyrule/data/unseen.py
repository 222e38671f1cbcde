"""Categories that new data holds and a model never saw: counted while reading, told once."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Any

from polyrule.data.columns import category_text, shorten
from polyrule.errors import UnseenCategoryWarning

_MOST_COLUMNS = 5
_MOST_EXAMPLES = 3


class UnseenCategories:
    """How many values of which column are no category of their feature.

    Examples
    --------
    >>> unseen = UnseenCategories()
    >>> unseen.add("key", ["lydian", "dorian", "lydian"])
    >>> unseen.add("size", [7.0])
    >>> print(unseen)
    4 values are categories that the model does not know, and count as missing: 3 in 'key' ('lydian', 'dorian'),
    1 in 'size' ('7')
    """

    def __init__(self) -> None:
        self._columns: dict[str, tuple[int, tuple[str, ...]]] = {}

    def __len__(self) -> int:
        return sum(count for count, _ in self._columns.values())

    def add(self, column: str, values: Iterable[Any]) -> None:
        """Count values of a column."""
        texts = [category_text(value) for value in values]
        if texts:
            count, examples = self._columns.get(column, (0, ()))
            examples = tuple(dict.fromkeys([*examples, *texts]))[: _MOST_EXAMPLES + 1]
            self._columns[column] = (count + len(texts), examples)

    def __str__(self) -> str:
        parts = [f"{count} in {column!r} ({_some(examples)})" for column, (count, examples) in self._columns.items()]
        if len(parts) > _MOST_COLUMNS:
            parts[_MOST_COLUMNS:] = [f"and {len(parts) - _MOST_COLUMNS} more columns"]
        start = "1 value is a category" if len(self) == 1 else f"{len(self)} values are categories"
        counts = "counts" if len(self) == 1 else "count"
        return f"{start} that the model does not know, and {counts} as missing: {', '.join(parts)}"

    def warn(self, source: str = "") -> None:
        """Warn, if there is something to warn of, as from the line outside polyrule that asked for it."""
        if self._columns:
            text = f"{source}: {self}" if source else str(self)
            warnings.warn(text, UnseenCategoryWarning, stacklevel=depth_of_caller())


def _some(examples: tuple[str, ...]) -> str:
    more = ["…"] if len(examples) > _MOST_EXAMPLES else []
    return ", ".join([*map(shorten, examples[:_MOST_EXAMPLES]), *more])


def depth_of_caller() -> int:
    """Frames from the one that warns to the first one that is not polyrule's own."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "polyrule":
        depth, frame = depth + 1, frame.f_back
    return depth
