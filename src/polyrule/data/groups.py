"""Groups of examples: the values of a column, or numbers in parts of equal size."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from polyrule.data.dataset import Dataset
from polyrule.errors import DataError, OptionError
from polyrule.utils.arrays import Array, Bools
from polyrule.utils.messages import did_you_mean

#: groups of a column of numbers, and the maximum number of values that are groups
PARTS, MAX_VALUES = 4, 10
#: groups of one column
MAX_GROUPS = 50


def groups_of(data: Any, groups: Any, rows: int) -> tuple[str, tuple[str, ...], Array]:
    """Return the name of the groups, the name of each, and the number of its group for every example.

    >>> groups_of(None, ["f", "m", "f"], 3)
    ('group', ('f', 'm'), array([0, 1, 0]))
    """
    if isinstance(groups, str):
        title, values = groups, column_values(data, groups)
    else:
        title, values = str(getattr(groups, "name", None) or "group"), np.asarray(groups)
    if len(values) != rows:
        raise DataError(f"{len(values)} groups for {rows} examples")
    if values.dtype.kind in "fiub" and len(np.unique(values[~_missing(values)])) > MAX_VALUES:
        names, places = _quarters(values.astype(np.float64))
    else:
        texts = np.array(["missing" if gone else _text(v) for v, gone in zip(values, _missing(values), strict=True)])
        distinct, places = np.unique(texts, return_inverse=True)
        names = tuple(map(str, distinct))
    if len(names) > MAX_GROUPS:
        raise OptionError(f"{title} has {len(names)} values, more than {MAX_GROUPS}: group them first")
    return title, names, places


def _text(value: Any) -> str:
    number = isinstance(value, (float, np.floating))
    return f"{float(value):g}" if number else str(value)


def _missing(values: Array) -> Bools:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return np.array([value is None or value != value for value in values])


def column_values(data: Any, name: str) -> Array:
    """Return the values of a column of a data set, table or frame: numbers, or texts with None if missing."""
    table = data.X if isinstance(data, Dataset) else data
    features = getattr(table, "features", None)
    if features is None:
        try:
            return np.asarray(table[name])
        except (KeyError, IndexError, TypeError):
            raise OptionError(f"there is no column {name!r} in the data") from None
    column_names = [feature.name for feature in features]
    if name not in column_names:
        raise OptionError(
            f"there is no column {name!r} in the data{did_you_mean(name, column_names)}; pass the groups themselves"
        )
    feature, values = features[column_names.index(name)], table.column(column_names.index(name))
    if not feature.has_categories:
        return np.asarray(values)
    texts = [None if np.isnan(value) else feature.categories[int(value)] for value in values]
    return np.array(texts, dtype=object)


def _quarters(values: Array) -> tuple[tuple[str, ...], Array]:
    """Groups of numbers: parts of about equal size."""
    is_known = ~np.isnan(values)
    cuts = np.unique(np.quantile(values[is_known], np.linspace(0, 1, PARTS + 1)[1:-1], method="inverted_cdf"))
    places = np.searchsorted(cuts, values, side="left")
    names = [f"up to {cuts[0]:g}", *(f"{low:g} to {high:g}" for low, high in pairwise(cuts))]
    names.append(f"above {cuts[-1]:g}")
    places[~is_known] = len(names)
    if not is_known.all():
        names.append("missing")
    return tuple(names), places
