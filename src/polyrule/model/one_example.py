"""The one example that is explained or flipped, in whatever form people have it at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polyrule.data.columns import encode_column
from polyrule.data.dataset import Dataset
from polyrule.data.frames import is_frame, match_names
from polyrule.data.table import Table
from polyrule.data.unseen import UnseenCategories
from polyrule.errors import DataError, ModelError
from polyrule.model.narrowing import fit_to, narrow_with_dates


def one_example(model: Any, example: Any, row: int | None = None, *, dates: bool = False) -> tuple[Any, Any]:
    """Return the model over the columns that are there, and the example as a table of one row.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
    example : frame, table, data set or array that holds the example; or the example alone
        Alone it is a mapping from feature name to value, a row of a pandas frame, or an array of feature values in the
        model's order.
    row : int, optional
        Which row of a frame, table, data set or array, counted from 0; not needed where it has only one.
    dates : bool
        Also keep dates of which only parts are tested.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NominalCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NominalCondition(0, 1),))
    >>> model = RuleList((rule,), (Feature("hue", "nominal", ("red", "blue")), Feature("size")), ("calm",))
    >>> one_example(model, {"hue": "blue"})[1].values
    array([[1.]])
    """
    if isinstance(example, (str, bytes)):
        raise ModelError(f"the example comes first, then the label: {example!r} is no example")
    if row is None:
        record = as_record(example)
        if record is not None:
            return _encode_record(narrow_with_dates(model) if dates else model.narrowed, record)
        if not isinstance(example, (Table, Dataset)) and not is_frame(example):
            return model, _plain(model, example)
    fitted, table = fit_to(model, example, dates=dates)
    if row is None:
        if len(table) != 1:
            raise ModelError(f"there are {len(table)} examples here; say which one with row=, counted from 0")
        return fitted, table
    if isinstance(row, bool) or not isinstance(row, (int, np.integer)):
        raise DataError(f"row must be a whole number, counted from 0, not {row!r}")
    if not -len(table) <= row < len(table):
        raise DataError(f"row {row} does not exist: there are {len(table)} example(s), counted from 0")
    return fitted, table[int(row)]


def as_record(example: Any) -> Mapping[str, Any] | None:
    """Return the example as a mapping if it is one, or a row of a pandas frame, which knows the columns' names."""
    if isinstance(example, Mapping):
        return example
    if getattr(example, "ndim", None) == 1 and hasattr(example, "index") and hasattr(example, "to_dict"):
        return {str(name): value for name, value in example.to_dict().items()}
    return None


def _encode_record(model: Any, record: Mapping[str, Any]) -> tuple[Any, Table]:
    names = [str(name) for name in record]
    match_names(names, [feature.column for feature in model.features], "skip")
    unseen = UnseenCategories()
    values = [encode_column([record[feature.column]], feature, unseen)[0] for feature in model.features]
    unseen.warn()
    return model, Table.from_array(np.array([values], dtype=np.float64).reshape(1, -1), model.features)


def _plain(model: Any, example: Any) -> Any:
    """Numbers in the model's order stay as they are, a category given by its position; texts are looked up."""
    array = np.asarray(example, dtype=object) if isinstance(example, (list, tuple)) else np.asarray(example)
    if array.ndim == 1 and any(isinstance(value, str) for value in array.tolist()):
        return fit_to(model, array.astype(object).reshape(1, -1))[1]
    return example
