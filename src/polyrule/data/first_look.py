"""What each column of a data set is read as, and the option that reads it otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.data.dates import format_date
from polyrule.data.derive.members import JSON_LISTS, LISTED
from polyrule.data.derive.quantities import Quantity
from polyrule.data.derive.words import split_words
from polyrule.data.identifiers import find_identifiers
from polyrule.data.table import Feature, Table
from polyrule.utils.messages import argument

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset

_N_EXAMPLES = 3
_SAMPLE_TEXTS = 1000
_N_NAMES = 4
_RUN = 3
"""Columns in a row that are read alike become one line if they are this many."""


@dataclass(frozen=True, slots=True)
class ColumnReading:
    """One column of the data, or several in a row that are read alike.

    Parameters
    ----------
    names : tuple of str
    role : str
        "number", "category", "ordered", "words", "list", "date" or "left out".
    detail : str
        Its values in a few words.
    missing : int
        Rows without a value.
    option : str
        How to read it otherwise, as it is written where the user is: on the command line or in Python.
    has_unit : bool
        Whether numbers were found in text.
    """

    names: tuple[str, ...]
    role: str
    detail: str
    missing: int
    option: str
    has_unit: bool = False

    @property
    def name(self) -> str:
        """The name, or the first and the last one."""
        return self.names[0] if len(self.names) == 1 else f"{self.names[0]} … {self.names[-1]}"


def column_readings(data: Dataset, keep: Collection[str] = ()) -> tuple[ColumnReading, ...]:
    r"""Return the reading of each column of features, in order; identifiers are left out unless they are to `keep`.

    Examples
    --------
    >>> import io
    >>> from polyrule.data import read
    >>> data = read(io.BytesIO(b"length,red\n90 min,1\n7 min,0\n30 min,1\n"), labels="red")
    >>> [(one.name, one.role, one.detail) for one in column_readings(data)]
    [('length', 'number', '7 to 90 min')]
    """
    identifiers = {data.features[j].name for j in find_identifiers(data.X, keep)}
    columns: dict[str, list[int]] = {}
    for j, feature in enumerate(data.features):
        columns.setdefault(feature.column, []).append(j)
    return tuple(_reading(data.X, name, places, identifiers) for name, places in columns.items())


def _reading(table: Table, name: str, places: Sequence[int], identifiers: set[str]) -> ColumnReading:
    features = [table.features[j] for j in places]
    values = np.column_stack([table.column(j) for j in places])
    missing = int(np.isnan(values).all(axis=1).sum())
    first = features[0]
    if first.name in identifiers:
        return ColumnReading((name,), "left out", _identifier(first, values[:, 0]), missing, _keep(name))
    if isinstance(first.derived, Quantity):
        ranges = [_range(values[:, k], f.derived) for k, f in enumerate(features) if isinstance(f.derived, Quantity)]
        return ColumnReading((name,), "number", ", ".join(ranges), missing, argument("nominal", name), True)
    present = values[:, 0][~np.isnan(values[:, 0])]
    if first.kind == "date":
        return ColumnReading((name,), "date", _dates(present, features), missing, _keep(name))
    role, detail = _kind(first, present)
    option_of_role = {"category": "drop"}
    return ColumnReading((name,), role, detail, missing, argument(option_of_role.get(role, "nominal"), name))


def _keep(name: str) -> str:
    return argument("keep_columns", name)


def _kind(feature: Feature, values: Any) -> tuple[str, str]:
    """Return the role of a column that is a feature, and its values."""
    if feature.kind == "numeric":
        return "number", f"{values.min():g} to {values.max():g}" if len(values) else "no value"
    if feature.kind == "ordinal":
        return "ordered", _ends(feature.categories)
    if feature.kind == "text":
        return "words", _texts(feature.categories)
    if feature.kind == "list":
        mark = {JSON_LISTS: "as in JSON", LISTED: "as lists"}.get(
            feature.separator, f"separated by {feature.separator!r}"
        )
        return "list", f"{mark}, such as {feature.categories[0]}" if feature.categories else mark
    counts = np.bincount(values.astype(np.int64), minlength=len(feature.categories))
    frequent = [feature.categories[code] for code in np.argsort(-counts, kind="stable")[:_N_EXAMPLES].tolist()]
    more = len(feature.categories) - len(frequent)
    return "category", ", ".join(frequent) + (f" and {more} more" if more > 0 else "")


def _ends(categories: Sequence[str]) -> str:
    parts = [*categories] if len(categories) <= _N_EXAMPLES + 1 else [categories[0], categories[1], "…", categories[-1]]
    return " < ".join(parts)


def _texts(texts: Sequence[str]) -> str:
    sample = texts[:_SAMPLE_TEXTS]
    n_words = sum(len(split_words(text)) for text in sample) / max(1, len(sample))
    return f"{len(texts):,} texts of {n_words:.0f} words"


def _identifier(feature: Feature, values: Any) -> str:
    n_distinct = len(np.unique(values[~np.isnan(values)]))
    example = f", such as {feature.categories[0]}" if feature.categories else ""
    return f"identifies rows: {n_distinct:,} values{example}"


def _range(values: Any, quantity: Quantity) -> str:
    present = values[~np.isnan(values)]
    unit = f" {quantity.name_of_unit}" if quantity.name_of_unit else ""
    return f"{present.min():g} to {present.max():g}{unit}" if len(present) else f"no value{unit}"


def _dates(days: Any, features: Sequence[Feature]) -> str:
    parts = [f.name.rpartition(" ")[2] for f in features if f.name.endswith((" month", " weekday", " hour"))]
    span = f"{format_date(days.min())} to {format_date(days.max())}" if len(days) else "no value"
    form = f", {features[0].form}" if features[0].form else ""
    return f"{span}{form}: {', '.join(parts)}"


def guesses(readings: Sequence[ColumnReading]) -> str:
    """Return in a few words what columns of text were recognized as, nothing if there is no such column.

    >>> plot, age = ColumnReading(("plot",), "words", "9 texts", 0, ""), ColumnReading(("age",), "number", "", 0, "")
    >>> guesses([plot, age])
    'words of plot'
    """
    plurals = {"words": "words of", "list": "members of", "ordered": "order of", "date": "dates of"}
    parts = []
    for role, what in plurals.items():
        names = [name for reading in readings if reading.role == role for name in reading.names]
        if names:
            parts.append(
                f"{what} {', '.join(names[:_N_NAMES])}" + f" and {len(names) - _N_NAMES} more" * (len(names) > _N_NAMES)
            )
    units = [reading for reading in readings if reading.role == "number" and reading.has_unit]
    parts += [f"{reading.name} as {reading.detail}" for reading in units[:_N_NAMES]]
    return "; ".join(parts)


def folded(readings: Sequence[ColumnReading]) -> Iterator[ColumnReading]:
    """Yield readings with runs of numbers, or of categories, as one.

    >>> one = [ColumnReading((f"x{j}",), "number", f"{j} to 9", 0, "") for j in range(5)]
    >>> [(reading.name, reading.detail) for reading in folded(one)]
    [('x0 … x4', '5 columns')]
    """
    for (role, has_unit), group in groupby(readings, key=lambda reading: (reading.role, reading.has_unit)):
        run = list(group)
        if len(run) < _RUN or has_unit or role not in ("number", "category", "ordered"):
            yield from run
            continue
        names = tuple(name for reading in run for name in reading.names)
        missing = sum(reading.missing for reading in run)
        yield ColumnReading(names, role, f"{len(run)} columns", missing, "")
