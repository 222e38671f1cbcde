"""Tables with derived columns: those of data without a model, and those that a model needs."""

from __future__ import annotations

from collections.abc import Iterable

from polyrule.data.derive.base import Derivation
from polyrule.data.derive.dates import date_features
from polyrule.data.table import Feature, Table
from polyrule.errors import DataError
from polyrule.utils.arrays import Floats


def source_features(features: Iterable[Feature]) -> dict[str, Feature]:
    """Return the columns that features are read from, each with the feature as which it is encoded.

    >>> source_features(date_features("on")[1:])
    {'on': Feature(name='on', kind='date', categories=())}
    """
    return {
        name: Feature(name, "date") if feature.source_kind == "date" else feature
        for feature in features
        for name in feature.sources
    }


def add_derived(table: Table) -> Table:
    """Return a table in which the parts of each date follow it.

    >>> add_derived(Table.from_array([[18691.0]], [Feature("on", "date")])).feature_names
    ('on', 'on year', 'on month', 'on weekday')
    """
    features = [part for f in table.features for part in (date_features(f.name) if f.kind == "date" else (f,))]
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
    """Return the table with exactly these features; derived ones are computed from their sources, which it contains.

    >>> year = date_features("on")[1]
    >>> derive(Table.from_array([[18691.0]], [Feature("on", "date")]), (year,)).values.tolist()
    [[2021.0]]
    """
    if table.features == features:
        return table
    place = {name: j for j, name in enumerate(table.feature_names)}
    groups: dict[tuple[type[Derivation], tuple[str, ...]], list[int]] = {}
    for j, feature in enumerate(features):
        if feature.derived is not None:
            groups.setdefault((type(feature.derived), feature.derived.sources), []).append(j)
    columns: dict[int, Floats] = {}
    for (kind, names), places in groups.items():
        sources = [table.column(place[name]) for name in names]
        derivations = [derived for j in places if (derived := features[j].derived) is not None]
        columns |= zip(places, kind.columns(derivations, *sources), strict=True)
    return table.rearranged([place[feature.column] for feature in features], features, columns)
