"""Labels given as words: a column of texts such as ``jazz;calm``, or for every example a list or set of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.data.columns import is_missing
from polyrule.data.formats.encoders import Place
from polyrule.data.labels import TRUTH
from polyrule.data.tags import SEPARATORS, TagCollector, likely_separator
from polyrule.data.vocabulary import arrange_labels
from polyrule.errors import DataError


def tag_cells(y: Any) -> tuple[list[Any], str] | None:
    """Return the cells of a column of tags and what separates them; None where y is something else.

    A column of texts is one of tags if one of the separators occurs and the parts recur: there are fewer different
    parts than different texts. So ``"Smith, John"`` and ``"Miller, Jane"`` stay two classes.

    Examples
    --------
    >>> tag_cells(["a;b", "b", "a;b;c", "c", None])
    (['a;b', 'b', 'a;b;c', 'c', None], ';')
    >>> tag_cells([["a", "b"], [], {"c"}])
    ([['a', 'b'], [], ['c']], '|')
    >>> tag_cells(["Smith, John", "Miller, Jane"]) is None, tag_cells([[0, 1], [1, 0]]) is None
    (True, True)
    """
    cells = _cells(y)
    if cells is None:
        return None
    given = [cell for cell in cells if cell is not None]
    if given and all(isinstance(cell, str) for cell in given):
        separator = likely_separator(given, SEPARATORS)
        return None if separator is None else (cells, separator)
    if given and all(isinstance(cell, (list, tuple, set, frozenset, np.ndarray)) for cell in given):
        lists = [None if cell is None else _in_order(cell) for cell in cells]
        items = [item for cell in lists if cell for item in cell]
        if items and all(isinstance(item, str) for item in items) and not all(item.lower() in TRUTH for item in items):
            return lists, SEPARATORS[0]
    return None


def read_tags(cells: Sequence[Any], separator: str, known: Sequence[str] | None = None) -> tuple[Any, tuple[str, ...]]:
    """Return the 0/1 labels of cells that `tag_cells` found, and their names: those given, or all there are, sorted.

    Examples
    --------
    >>> read_tags(["a;b", "b", None], ";")
    (array([[1, 1], [0, 1], [0, 0]], dtype=uint8), ('a', 'b'))
    """
    tags = TagCollector(separator, known)
    tags.add(cells, Place("y", "labels", range(len(cells)), "row"))
    return tags.matrix()


def rows_right(y: Any, separator: str, predicted: Any, names: Sequence[str]) -> Any:
    """Say of every row whether the predicted labels are exactly its tags; None where y holds no tags.

    Examples
    --------
    >>> rows_right(["a;b", "a", "z"], ";", np.array([[1, 1], [0, 1], [0, 0]]), ["a", "b"]).tolist()
    [True, False, False]
    """
    cells = _cells(y)
    if cells is None or any(not isinstance(cell, (str, list, tuple, set, frozenset)) for cell in cells if cell):
        return None
    truth, tags = read_tags(
        [cell if cell is None or isinstance(cell, str) else _in_order(cell) for cell in cells], separator
    )
    found = arrange_labels(truth, tags, names)
    # What the model has never heard of it cannot be right about.
    return (predicted == (found.Y.toarray() if sp.issparse(found.Y) else found.Y)).all(axis=1) & ~found.touched


def _cells(y: Any) -> list[Any] | None:
    """The cells of a single column, None where they are missing; None for what cannot be a column of words."""
    if sp.issparse(y) or getattr(y, "ndim", 1) != 1 or isinstance(y, (str, bytes)) or not hasattr(y, "__len__"):
        return None
    if (isinstance(y, np.ndarray) and y.dtype.kind not in "OUS") or hasattr(y, "columns"):
        return None
    return [None if _is_missing(cell) else cell for cell in _to_list(y)]


def _to_list(y: Any) -> list[Any]:
    for name in ("to_list", "to_pylist", "tolist"):
        if hasattr(y, name):
            try:
                return list(getattr(y, name)())
            except Exception as problem:  # of whichever library: values that Python does not have
                raise DataError(f"y cannot be read ({' '.join(str(problem).split())})") from problem
    return list(y)


def _is_missing(cell: Any) -> bool:
    return not isinstance(cell, (str, list, tuple, set, frozenset, np.ndarray)) and is_missing(cell)


def _in_order(cell: Any) -> list[Any]:
    """Sets have no order that two runs agree on."""
    return sorted(cell, key=str) if isinstance(cell, (set, frozenset)) else list(cell)
