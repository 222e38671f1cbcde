"""The table that learners see, made from the columns that the user has."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.data.derive.columns import derive
from polyrule.data.derive.members import Member, split_members
from polyrule.data.derive.quantities import Quantity
from polyrule.data.derive.spans import DaysBetween, YearsBetween
from polyrule.data.derive.vocabulary import find_items, find_words
from polyrule.data.derive.words import Cell, Word
from polyrule.data.identifiers import (
    find_identifiers,
    identifier_messages,
    is_birth_name,
    is_left_out,
    without_values,
)
from polyrule.data.table import TEXTUAL, Feature, Table
from polyrule.errors import DataError, DataWarning
from polyrule.utils.messages import depth_of_caller

_MAX_DATES = 4
"""Days between more columns of dates than these are not offered."""
_EXTREME_SHARE = 0.05


def prepare(table: Table, keep: Collection[str] = (), forbidden: Collection[str] = ()) -> Table:
    """Return the table to learn from: identifiers are left out, with a warning; texts and lists become their items.

    Days between dates are added, and absolute dates, which no new row has, are left out.

    Parameters
    ----------
    table : Table
        The training rows.
    keep : collection of str
        Columns that are used even if they identify rows.
    forbidden : collection of str
        Columns that no rule may test, of which no warning is needed.

    Examples
    --------
    >>> from polyrule.data.table import Feature
    >>> table = Table.from_array([[1000.0 + j] for j in range(100)], [Feature("patient")])
    >>> prepare(table, keep=["patient"]) is table
    True
    """
    positions = find_identifiers(table, keep)
    identifiers = [table.features[j] for j in positions if table.features[j].name not in forbidden]
    for message, names in identifier_messages(identifiers):
        column = "column" if len(names) == 1 else "columns"
        warnings.warn(f"{column} {message}", DataWarning, stacklevel=depth_of_caller())
    return without_past(expand(without_extremes(with_spans(without_values(table, positions)))), keep)


def without_past(table: Table, keep: Collection[str] = ()) -> Table:
    """Return the table with days and years of dates that tell rows apart no more, unless `keep` names their column.

    A threshold of an absolute date divides the past; new rows are all behind it. Months, weekdays and days between
    dates recur, and remain; so does whether a date is missing. Births remain: new rows have people of every age.

    Examples
    --------
    >>> table = Table.from_array([[18691.0], [np.nan]], [Feature("on", "date")])
    >>> without_past(table).values.tolist(), without_past(table, keep=["on"]) is table
    ([[0.0], [nan]], True)
    """
    past = [
        j
        for j, f in enumerate(table.features)
        if (f.kind == "date" or getattr(f.derived, "part", "") == "year")
        and not {f.name, f.column} & set(keep)
        and not is_birth_name(f.column)
    ]
    if not past:
        return table
    constant = {j: np.where(np.isnan(table.column(j)), np.nan, 0.0) for j in past}
    return table.rearranged(range(len(table.features)), table.features, constant)


def without_extremes(table: Table) -> Table:
    """Return the table with the few smallest and largest numbers of a column with two units made equal.

    Where rows have another unit the number is missing. A threshold beyond nearly all numbers would only test the unit,
    for which there are better conditions.

    Examples
    --------
    >>> from polyrule.data.derive.quantities import quantities
    >>> both = [one.feature() for one in quantities("x", [("kg", ["kg"]), ("m", ["m"])], ".", "")]
    >>> numbers = np.column_stack([np.arange(101.0), np.full(101, np.nan)])
    >>> np.unique(without_extremes(Table.from_array(numbers, both)).column(0))[[0, -1]]
    array([ 5., 95.])
    """
    columns = Counter(f.column for f in table.features if isinstance(f.derived, Quantity))
    changed = {}
    for j, feature in enumerate(table.features):
        if columns[feature.column] > 1 and isinstance(feature.derived, Quantity):
            numbers = table.column(j)
            present = np.sort(numbers[~np.isnan(numbers)])
            if len(present):
                n_cut = int(_EXTREME_SHARE * len(present))
                changed[j] = np.clip(numbers, present[n_cut], present[-1 - n_cut])
    return table.rearranged(range(len(table.features)), table.features, changed) if changed else table


def with_spans(table: Table) -> Table:
    """Return the table with the days between columns of dates, if one of two is never before the other.

    Examples
    --------
    >>> dates = Feature("admitted", "date"), Feature("discharged", "date")
    >>> with_spans(Table.from_array([[10.0, 13.0], [11.0, 11.0]], dates)).feature_names
    ('admitted', 'discharged', 'days from admitted to discharged')
    """
    dates = [j for j, feature in enumerate(table.features) if feature.kind == "date"]
    if len(dates) > _MAX_DATES:
        return table
    spans: list[DaysBetween] = []
    features = table.features
    columns: list[Any] = []
    for start, end in permutations(dates, 2):
        days = table.column(end) - table.column(start)
        present = days[~np.isnan(days)]
        if len(present) and (present >= 0).all() and (present > 0).any():
            kind = YearsBetween if is_birth_name(features[start].name) else DaysBetween
            spans.append(kind(features[start].name, features[end].name, features[start].form, features[end].form))
            columns.append(spans[-1].values(table.column(start), table.column(end)))
    return table.with_columns(columns, [span.feature() for span in spans])


def is_prepared(features: Sequence[Feature]) -> bool:
    """Return True if a model has features that data has not when it is read, or left columns out."""
    return any(is_left_out(f) or _is_computed(f) for f in features)


def _is_computed(feature: Feature) -> bool:
    """Return True if a feature is computed when a model is fitted, not when data is read, as parts of dates are."""
    return feature.derived is not None and not feature.derived.WHEN_READ


def of_columns(table: Table, features: Sequence[Feature]) -> Table:
    """Return the table with only those columns to which the features of a model belong.

    >>> table = Table.from_array([[1.0, 2.0]], [Feature("size"), Feature("age")])
    >>> of_columns(table, [Feature("age")]).feature_names
    ('age',)
    """
    columns = {feature.column for feature in features}
    order = [j for j, feature in enumerate(table.features) if feature.column in columns]
    return table.rearranged(order, [table.features[j] for j in order])


def as_fitted(table: Table, features: tuple[Feature, ...]) -> Table:
    """Return data with the columns that a model was fitted on: its words and members, and without what it left out.

    Other columns stay as they are, so that what a model states about them can be compared with the data.

    Examples
    --------
    >>> plot = Feature("plot", "text", ("a zombie film", "a love story"))
    >>> data = Table.from_array([[0.0, 7.0], [1.0, 8.0]], [plot, Feature("year")])
    >>> as_fitted(data, (Word("plot", "love").feature(), Feature("year"))).values.tolist()
    [[0.0, 7.0], [1.0, 8.0]]
    """
    data_features = {feature.name: feature for feature in table.features}
    if not is_prepared(features):
        return table
    required: list[Feature] = []
    for feature in features:
        if _is_computed(feature):
            if not set(feature.sources) <= data_features.keys():
                return table
            required.append(feature)
        elif feature.name in data_features:
            required.append(feature if is_left_out(feature) else data_features[feature.name])
    columns = {feature.column for feature in required}
    required += [feature for feature in table.features if feature.column not in columns]
    omitted = [
        j for j, feature in enumerate(table.features) if feature.name in {f.name for f in required if is_left_out(f)}
    ]
    return _computed(without_values(table, omitted), tuple(required))


def _computed(table: Table, features: tuple[Feature, ...]) -> Table:
    """Return the features that are derived from texts, and others from columns with their names."""
    place = {name: j for j, name in enumerate(table.feature_names)}
    computed = derive(table, tuple(filter(_is_computed, features)))
    column = {feature.name: j for j, feature in enumerate(computed.features)}
    order = [place.get(feature.column, 0) for feature in features]
    order = [place.get(feature.name, where) for feature, where in zip(features, order, strict=True)]
    changed = {j: computed.column(column[f.name]) for j, f in enumerate(features) if f.name in column}
    return table.rearranged(order, features, changed)


def expand(table: Table) -> Table:
    """Return a table in which words and members stand in place of columns of texts and lists.

    The vocabulary is that of the rows of the table. In place of each such column stands a feature of which only is
    known if the cell is missing, followed by features of 0 and 1.

    Examples
    --------
    >>> from polyrule.data.table import Feature
    >>> plot = Feature("plot", "text", ("a zombie film", "a love story"))
    >>> expand(Table.from_array(np.arange(20.0)[:, None] % 2, [plot])).feature_names
    ('plot', 'plot has story', 'plot has zombie')
    """
    if not any(feature.kind in TEXTUAL for feature in table.features):
        return table
    blocks: list[Any] = []
    features: list[Feature] = []
    for j, feature in enumerate(table.features):
        column = table.column(j)
        if feature.kind not in TEXTUAL:
            blocks.append(column[:, None])
            features.append(feature)
            continue
        codes = np.where(np.isnan(column), -1, column).astype(np.int64)
        if feature.kind == "text":
            items = find_words(feature.categories, codes)
            derived: list[Any] = [Word(feature.name, word) for word in items.names]
        else:
            split = partial(split_members, separator=feature.separator)
            items = find_items(feature.categories, codes, split)
            derived = [Member(feature.name, member, feature.separator) for member in items.names]
        blocks += [np.where(codes < 0, np.nan, 0.0)[:, None], items.rows]
        features += [one.feature() for one in (Cell(feature.name, feature.separator), *derived)]
    return Table.from_array(sp.hstack([sp.csc_array(block) for block in blocks], format="csc"), _distinct(features))


def _distinct(features: list[Feature]) -> list[Feature]:
    """Return features of which none is called like another column."""
    names = Counter(feature.name for feature in features)
    twice = next((f for f in features if f.derived is not None and names[f.name] > 1), None)
    if twice is not None:
        raise DataError(
            f"column {twice.column!r} has a word or member for which a column {twice.name!r} stands; rename it"
        )
    return features
