"""Tables with derived columns: those of data without a model, and those that a model needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from polyrule.data.columns import category_text
from polyrule.data.derive.base import Derivation
from polyrule.data.derive.dates import date_features
from polyrule.data.derive.hours import HourOfDay
from polyrule.data.table import TEXTUAL, Feature, Table
from polyrule.errors import DataError
from polyrule.utils.arrays import Floats, Ints


def source_features(features: Iterable[Feature]) -> dict[str, Feature]:
    """Return the columns that features are read from, each with the feature as which it is encoded.

    >>> source_features(date_features("on")[1:])
    {'on': Feature(name='on', kind='date', categories=())}
    """
    return {name: _source(name, feature) for feature in features for name in feature.sources}


def _source(name: str, feature: Feature) -> Feature:
    if feature.source_kind == "date":
        return Feature(name, "date", form=feature.form if feature.derived is None else feature.derived.form_of(name))
    if feature.derived is not None and feature.source_kind == "text":
        return Feature(name, "list", separator=getattr(feature.derived, "separator", ""))
    return feature


def add_derived(table: Table, timed: Collection[str] | None = None) -> Table:
    """Return a table in which the parts of each date follow it; hours only of `timed` columns, or of dates with times.

    >>> add_derived(Table.from_array([[18691.0]], [Feature("on", "date")])).feature_names
    ('on', 'on year', 'on month', 'on weekday')
    """
    features: list[Feature] = []
    for j, feature in enumerate(table.features):
        if feature.kind != "date":
            features.append(feature)
            continue
        features += date_features(feature.name, feature.form)
        days = table.column(j)
        has_times = bool((days != np.floor(days))[~np.isnan(days)].any())
        if has_times if timed is None else feature.name in timed:
            features.append(HourOfDay(feature.name, feature.form).feature())
    names = [feature.name for feature in features]
    for feature in features:
        if feature.derived is not None and names.count(feature.name) > 1:
            part = feature.name.removeprefix(f"{feature.column} ")
            raise DataError(
                f"column {feature.column!r} holds dates, and its {part} is called {feature.name!r}, as another "
                "column is; rename one of them"
            )
    return derive(table, tuple(features))


def derive(table: Table, features: tuple[Feature, ...]) -> Table:
    """Return the table with exactly these features; derived ones that it lacks are computed from their sources.

    The categories of texts and lists are the cells of the table.

    >>> year = date_features("on")[1]
    >>> derive(Table.from_array([[18691.0]], [Feature("on", "date")]), (year,)).values.tolist()
    [[2021.0]]
    """
    place = {name: j for j, name in enumerate(table.feature_names)}
    features = tuple(table.features[place[f.name]] if f.kind in TEXTUAL and f.name in place else f for f in features)
    dates = [j for j, feature in enumerate(features) if feature.kind == "date"]
    if table.features == features and not dates:
        return table
    groups: dict[tuple[type[Derivation], tuple[str, ...]], list[int]] = {}
    columns: dict[int, Floats] = {j: np.floor(table.column(place[features[j].name])) for j in dates}
    known = {feature: j for j, feature in enumerate(table.features) if feature.derived is not None}
    for j, feature in enumerate(features):
        if feature.derived is not None and feature in known:
            columns[j] = table.column(known[feature])
        elif feature.derived is not None:
            groups.setdefault((type(feature.derived), feature.derived.sources), []).append(j)
    for (kind, names), places in groups.items():
        derivations = [derived for j in places if (derived := features[j].derived) is not None]
        if kind.SOURCE == "text":
            texts, codes = _texts(table, place[names[0]])
            columns |= {j: by_text[codes] for j, by_text in zip(places, kind.columns(derivations, texts), strict=True)}
            continue
        sources = [table.column(place[name]) for name in names]
        columns |= zip(places, kind.columns(derivations, *sources), strict=True)
    order = [known[feature] if feature in known else place[feature.column] for feature in features]
    return table.rearranged(order, features, columns)


def _texts(table: Table, j: int) -> tuple[list[str | None], Ints]:
    """Return the distinct texts of a column, None last, and the position of the text of each row."""
    column, feature = table.column(j), table.features[j]
    missing = np.isnan(column)
    if feature.has_categories:
        return [*feature.categories, None], np.where(missing, len(feature.categories), column).astype(np.int64)
    numbers, codes = np.unique(column[~missing], return_inverse=True)
    places = np.full(len(column), len(numbers), dtype=np.int64)
    places[~missing] = codes
    return [*map(category_text, numbers.tolist()), None], places
