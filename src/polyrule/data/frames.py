"""pandas, polars and pyarrow frames, all read through narwhals."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Literal

import narwhals as nw
import numpy as np
import scipy.sparse as sp

from polyrule.data.columns import (
    BOOLEAN_CATEGORIES,
    UnseenCategories,
    category_text,
    encode_source,
    infer_kind,
    is_missing,
    listing,
    shorten,
)
from polyrule.data.dates import IN_WORDS, POINTS, DateForms, day_of
from polyrule.data.derive.columns import add_derived, derive, source_features
from polyrule.data.derive.members import LISTED
from polyrule.data.labelspec import choose_columns
from polyrule.data.recognize import is_recognition_off, recognize
from polyrule.data.table import TEXTUAL, Feature, Table, row_blocks
from polyrule.errors import DataError, DataWarning, OptionError
from polyrule.utils.arrays import Floats
from polyrule.utils.messages import depth_of_caller, did_you_mean

Others = Literal["refuse", "skip"]
"""What to do with named columns that a model does not ask for."""
_FLOAT32_TYPES = (nw.Float32, nw.Int8, nw.Int16, nw.UInt8, nw.UInt16, nw.Boolean, nw.Categorical, nw.Enum, nw.String)
"""Columns whose numbers, or numbers of categories, are exact as float32."""
_READ_AS_OBJECTS = (nw.Categorical, nw.Enum, nw.Boolean, nw.String, nw.Object, nw.Unknown)
_NUMBERS: dict[Any, Any] = {
    getattr(nw, name): np.dtype(name.lower())
    for name in ("Float64", "Float32", "Int64", "Int32", "Int16", "Int8", "UInt64", "UInt32", "UInt16", "UInt8")
}
"""Types of numbers that NumPy has, too."""
_FLOAT32_NUMBERS = tuple(np.dtype(name) for name in ("float16", "float32", "int8", "int16", "uint8", "uint16"))
_READ_CELLS = 1 << 20
"""Numbers read at once."""


def is_frame(data: Any) -> bool:
    """True if `data` is a frame of a library narwhals supports; lazy frames count, so that opening can refuse them."""
    if isinstance(data, (np.ndarray, list, tuple)):  # what is given most often; asking narwhals takes its time
        return False
    if nw.dependencies.is_pandas_dataframe(data) or nw.dependencies.is_polars_dataframe(data) or _is_batch(data):
        return True
    try:
        return nw.from_native(data, pass_through=True) is not data
    except Exception:  # a frame narwhals knows but refuses, e.g. for duplicate names; opening it says why
        return True


def open_frame(data: Any) -> nw.DataFrame[Any]:
    """Wrap a frame; raise DataError with a remedy for one that cannot be used."""
    if _is_batch(data):
        data = nw.dependencies.get_pyarrow().Table.from_batches([data])
    try:
        frame: Any = nw.from_native(data, allow_series=True)
    except Exception as problem:  # narwhals raises its own and the library's errors, e.g. for duplicate names
        reason = " ".join(str(problem).split())
        raise DataError(f"the data frame cannot be read ({reason}); column names must be distinct") from problem
    if isinstance(frame, nw.LazyFrame):
        raise DataError("a lazy frame has no values yet; call .collect() first")
    if isinstance(frame, nw.Series):
        raise DataError("a table needs a data frame, got a single column; use frame[['name']] instead of frame['name']")
    opened: nw.DataFrame[Any] = frame
    if not hasattr(data, "iloc") and (rows := [name for name in opened.columns if is_row_number(name)]):
        opened = opened.drop(rows)
    return opened


def _is_batch(data: Any) -> bool:
    """True if `data` is a batch of Arrow, which narwhals does not support; as an array it would lose its names."""
    arrow = nw.dependencies.get_pyarrow()
    return arrow is not None and isinstance(data, arrow.RecordBatch)


def is_row_number(name: str) -> bool:
    """True if a column is what pandas writes for an index without a name, and removes when it reads.

    >>> is_row_number("__index_level_0__"), is_row_number("level")
    (True, False)
    """
    return name.startswith("__index_level_") and name.endswith("__")


def column_names(frame: Any) -> list[str]:
    """Names of the columns as text; two columns may not end up with the same name."""
    names = [str(name) for name in frame.columns]
    check_distinct(names, "column")
    return names


def check_distinct(names: Sequence[str], what: str) -> None:
    """Refuse duplicate names, because a rule that prints one of them would be ambiguous."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in seen:
            raise DataError(
                f"{what} name {name!r} appears twice (positions {seen[name]} and {position}); rename one of them"
            )
        seen[name] = position


def frame_to_table(
    data: Any, features: Sequence[Feature] | None, others: Others = "refuse", unseen: UnseenCategories | None = None
) -> Table:
    """Encode a frame; with `features`, its columns are found by name and may come in any order."""
    pandas_sparse = _pandas_sparse(data)
    if pandas_sparse is not None:
        return pandas_sparse
    frame = open_frame(data)
    names = column_names(frame)
    if features is None:
        is_part = is_recognition_off()
        dated_columns = [(name, _dates(frame[:, j], name, is_part)) for j, name in enumerate(names)]
        table = recognize(_read_columns(frame, range(len(names)), dated_columns, unseen), _declared(frame, names))
        return add_derived(table, () if is_part else None)
    sources = source_features(features)
    order = match_names(names, list(sources), others)
    return derive(_read_columns(frame, order, list(sources.items()), unseen), tuple(features))


def _declared(frame: nw.DataFrame[Any], names: Sequence[str]) -> list[str]:
    """Return the names of columns whose categories were declared."""
    return [
        name
        for name, kind in zip(names, frame.schema.dtypes(), strict=True)
        if isinstance(kind, (nw.Categorical, nw.Enum))
    ]


def _read_columns(
    frame: nw.DataFrame[Any],
    sources: Sequence[int],
    named_features: Sequence[tuple[str, Feature | None]],
    unseen: UnseenCategories | None,
) -> Table:
    """Encode a column per (name, feature), numbers together and others one by one; None finds the feature."""
    plain, columns = _plain_numbers(frame, sources), frame.columns
    single = {source: frame.get_column(columns[source]) for source in set(sources) - plain.keys()}
    fits_float32 = all(kind in _FLOAT32_NUMBERS for kind in plain.values())
    fits_float32 = fits_float32 and all(series.dtype in _FLOAT32_TYPES for series in single.values())
    has_dates = any(feature is not None and feature.kind == "date" for _, feature in named_features)  # with times
    fits_float32 = fits_float32 and not has_dates
    values = np.empty((len(frame), len(sources)), dtype=np.float32 if fits_float32 else np.float64, order="F")
    features: list[Feature] = []
    together: dict[Any, list[int]] = {}
    for target, (source, (name, feature)) in enumerate(zip(sources, named_features, strict=True)):
        if source in plain and (feature is None or (feature.kind == "numeric" and feature.derived is None)):
            together.setdefault(plain[source], []).append(target)
            features.append(Feature(name) if feature is None else feature)
            continue
        series = frame.get_column(columns[source]) if source in plain else single[source]
        feature, values[:, target] = _encode_series(series, name, feature, unseen)
        features.append(feature)
    groups = list(together.values())
    if len(groups) > 1 and hasattr(frame.to_native(), "iloc") and values.size <= _READ_CELLS:
        groups = [sorted(chain.from_iterable(groups))]  # a few rows: asking pandas costs more than the numbers
    for targets in groups:
        _read_numbers(frame, [sources[target] for target in targets], values, targets)
    return Table(values, tuple(features)).check_finite()


def _plain_numbers(frame: nw.DataFrame[Any], positions: Sequence[int]) -> dict[int, Any]:
    """Columns that hold nothing but numbers of a type that NumPy has, each with that type."""
    native = frame.to_native()
    if nw.dependencies.is_pandas_dataframe(native):  # knows its types already; narwhals asks every column anew
        dtypes = native.dtypes.tolist()
        return {j: dtypes[j] for j in set(positions) if isinstance(dtypes[j], np.dtype) and dtypes[j].kind in "fiu"}
    if nw.dependencies.is_polars_dataframe(native):
        types = frame.schema.dtypes()
        return {j: _NUMBERS[types[j]] for j in set(positions) if types[j] in _NUMBERS}
    return {}


def _read_numbers(frame: nw.DataFrame[Any], sources: list[int], values: Any, targets: list[int]) -> None:
    """Read columns of numbers together, a piece of the rows at a time, which bounds the memory."""
    native, everything = frame.to_native(), list(range(len(frame.columns)))
    blocks = row_blocks(len(frame), len(sources), _READ_CELLS)
    for rows in blocks:
        part = native if len(blocks) == 1 else native[rows]
        if sources != everything:
            part = part.take(sources, axis=1) if hasattr(part, "iloc") else part[:, sources]
        values[rows, targets] = part.to_numpy()


def match_names(available: Sequence[str], required: Sequence[str], others: Others = "refuse") -> list[int]:
    """Positions of the required names among the available ones; `others` is "skip" if further names are allowed.

    Examples
    --------
    >>> match_names(["b", "a"], ["a", "b"])
    [1, 0]
    """
    if list(available) == list(required):
        return list(range(len(required)))
    position = {name: index for index, name in enumerate(available)}
    missing = [name for name in required if name not in position]
    if others == "skip":
        if missing:
            raise DataError(
                f"the model needs column(s) {listing(missing)}, which the data does not have"
                f"{did_you_mean(missing[0], available)} (it has {listing(available) or 'none'})"
            )
        return [position[name] for name in required]
    extra = sorted(set(available) - set(required), key=position.__getitem__)
    if missing or extra:
        parts = [f"missing {listing(missing)}"] if missing else []
        parts += [f"not expected {listing(extra)}"] if extra else []
        raise DataError(f"the columns are not those the model was fitted on: {'; '.join(parts)}")
    return [position[name] for name in required]


def _encode_series(
    series: nw.Series[Any], name: str, feature: Feature | None, unseen: UnseenCategories | None
) -> tuple[Feature, Floats]:
    values: Any
    if series.dtype.is_numeric():
        values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        feature = feature or Feature(name)
    elif series.dtype in _READ_AS_OBJECTS or (feature is not None and feature.source_kind == "date"):
        values = python_values(series)
        feature = feature or _found_feature(series, values, name)
    elif feature is not None and feature.kind in TEXTUAL:
        values = python_values(series)
    elif feature is None and isinstance(series.dtype, nw.List):
        feature, values = Feature(name, "list", separator=LISTED), python_values(series)
    else:
        raise DataError(
            f"column {name!r} holds {series.dtype} values, which rules cannot test; "
            "drop the column or turn it into numbers or text first"
        )
    return encode_source(values, feature, unseen)


def _found_feature(series: nw.Series[Any], values: list[Any], name: str) -> Feature:
    if series.dtype in (nw.Object, nw.Unknown):
        return infer_kind(values, name)
    categories = _categories(series, values, name)
    return Feature(name, "ordinal" if len(categories) > 1 and _is_ordered(series) else "nominal", categories)


def python_values(series: nw.Series[Any]) -> list[Any]:
    """Return the values of a column as Python objects; raise DataError if Python has no such values."""
    try:
        return list(series.to_list())
    except Exception as problem:  # of whichever library: a date past the year 9999, an unknown time zone
        reason = " ".join(str(problem).split())
        raise DataError(f"column {series.name!r} cannot be read ({reason}); convert or drop it first") from problem


def _dates(series: nw.Series[Any], name: str, is_part: bool = False) -> Feature | None:
    """Return the feature of a column of dates: as such, as objects of pandas, or as text; else None.

    If a series `is_part` of a column, it may not show the form of all dates, which must then be clear from each.
    """
    if series.dtype in (nw.Datetime, nw.Date):
        return Feature(name, "date")
    if series.dtype not in (nw.Object, nw.String, nw.Unknown):  # Unknown: narwhals reads no zone with an underscore
        return None
    present = [value for value in python_values(series) if not is_missing(value)]
    forms = DateForms(present)
    if forms.slashes and len(forms.left) > 1:
        warnings.warn(
            f"column {series.name!r} holds dates such as {shorten(present[0])} as text, which may be a day or a month "
            "first: turn them into dates (pandas.to_datetime, polars' str.to_date) for rules to test them as such",
            DataWarning,
            stacklevel=depth_of_caller(),
        )
        return None
    if is_part and (forms.slashes or forms.in_words):
        return None
    if forms.slashes and forms.left:
        return Feature(name, "date", form=forms.left[0])
    if not present or any(day_of(value, POINTS) is None for value in present):
        return None
    return Feature(name, "date", form=IN_WORDS if forms.in_words else "")


def _is_ordered(series: nw.Series[Any]) -> bool:
    """True if categories were declared to ascend, which only pandas and pyarrow store."""
    native = series.to_native()
    owner = getattr(native, "cat", None) or getattr(native, "type", None)
    return getattr(owner, "ordered", False) is True


def _categories(series: nw.Series[Any], values: list[Any], name: str) -> tuple[str, ...]:
    """Declared order where there is one; sorted otherwise (polars' Categorical only remembers what came first)."""
    if series.dtype == nw.Boolean:
        return BOOLEAN_CATEGORIES
    declared = _declared_categories(series)
    if declared is None:
        return tuple(sorted({str(value) for value in values if not is_missing(value)}))
    categories = [category_text(category) for category in declared]
    check_distinct(categories, f"column {name!r}: category")
    return tuple(categories)


def _declared_categories(series: nw.Series[Any]) -> list[Any] | None:
    """Return the categories by the library itself: narwhals only returns those that occur."""
    dtype, native = series.dtype, series.to_native()
    if isinstance(dtype, nw.Enum):
        declared = getattr(dtype, "categories", None)  # narwhals tells since 1.26
        return list(native.dtype.categories if declared is None else declared)
    if dtype == nw.Categorical and hasattr(native, "cat") and hasattr(native.cat, "categories"):
        return list(native.cat.categories)
    if dtype == nw.Categorical and hasattr(native, "unify_dictionaries"):
        chunks = native.unify_dictionaries().chunks
        return list(chunks[0].dictionary.to_pylist()) if chunks else []
    return None


def _pandas_sparse(data: Any) -> Table | None:
    """A pandas frame of nothing but sparse number columns filled with 0 stays sparse."""
    if not hasattr(data, "iloc") or getattr(data, "ndim", 0) != 2 or data.shape[1] == 0:
        return None
    dtypes = data.dtypes
    if not all(type(dtype).__name__ == "SparseDtype" and dtype.fill_value == 0 for dtype in dtypes):
        return None
    features = [Feature(name) for name in column_names(data)]
    return Table.from_array(sp.csc_array(data.sparse.to_coo()), features).check_finite()


def renamed(features: Sequence[Feature], names: Sequence[str]) -> tuple[Feature, ...]:
    """Return features under other names, in order.

    >>> [feature.name for feature in renamed([Feature("x0"), Feature("x1")], ["size", "hue"])]
    ['size', 'hue']
    """
    names = [str(name) for name in names]
    if len(names) != len(features):
        raise OptionError(f"names: {len(names)} name(s) for {len(features)} feature(s)")
    check_distinct(names, "feature")
    if any(feature.derived is not None for feature in features):
        raise OptionError("names: features with dates have the names of their columns; rename those of the frame")
    return tuple(replace(feature, name=name) for feature, name in zip(features, names, strict=True))


def split_labels(frame: Any, labels: Any) -> tuple[Any, Any]:
    """Return the features and the labels of a frame, each as a frame of the same library.

    Labels are given as for files: see `polyrule.data.labelspec`.

    Examples
    --------
    >>> import pandas as pd
    >>> X, Y = split_labels(pd.DataFrame({"size": [1, 2], "red": [0, 1], "blue": [1, 1]}), ["blue", "red"])
    >>> list(X.columns), list(Y.columns)
    (['size'], ['blue', 'red'])
    """
    if not is_frame(frame):
        raise OptionError("labels= names columns of a data frame; for other data pass the labels as y")
    opened = open_frame(frame)
    names = column_names(opened)
    positions = choose_columns(labels, names)
    if not positions:
        raise DataError("labels= names no column; name at least one")
    rest = [position for position in range(len(names)) if position not in set(positions)]
    return opened[:, rest].to_native(), opened[:, positions].to_native()


def without_columns(frame: Any, names: Sequence[str]) -> Any:
    """Return a frame without columns of these names, as far as it has them; what is no frame stays as it is."""
    if not is_frame(frame):
        return frame
    opened = open_frame(frame)
    remaining = [position for position, name in enumerate(column_names(opened)) if name not in set(names)]
    return frame if len(remaining) == len(opened.columns) else opened[:, remaining].to_native()
