"""A model over only the features that its rules test, so that data to predict, or one example, needs no others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.conditions import FeatureCondition, feature_conditions, map_conditions
from polyrule.data.columns import UnseenCategories, encode_source
from polyrule.data.dataset import Dataset
from polyrule.data.derive.columns import derive, source_features
from polyrule.data.encode import to_table
from polyrule.data.frames import is_frame, match_names, open_frame
from polyrule.data.table import Feature, Table
from polyrule.errors import DataError, ModelError
from polyrule.utils.arrays import Floats


def used_features(rules: Iterable[Any]) -> list[int]:
    """Positions of the features that some rule tests, ascending; the rules may be of any kind of model."""
    return sorted({condition.feature for rule in rules for condition in feature_conditions(rule.body)})


def names_in_rules(*models: Any) -> list[str]:
    """Names of the features that some rule of some of the models tests; the models are about the same features."""
    return [models[0].features[j].name for j in used_features(rule for model in models for rule in model.rules)]


def drop_unused_features(model: Any) -> Any:
    """Return a model of any kind with the features that no rule tests left out; it predicts and explains the same.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NumericCondition(1, ">", 5.5),))
    >>> print(drop_unused_features(RuleList((rule,), (Feature("area"), Feature("colours")), ("red",))).features)
    (Feature(name='colours', kind='numeric', categories=()),)
    """
    return _with_features(model, used_features(model.rules))


def without_unused_items(model: Any) -> Any:
    """Return a model without words, members and spans of days that no rule tests; a model file stores no others.

    Examples
    --------
    >>> from polyrule.data.derive.words import Word
    >>> from polyrule.model import RuleList
    >>> without_unused_items(RuleList((), (Word("plot", "zombie").feature(),), ("calm",))).features
    ()
    """
    used = set(used_features(model.rules))
    items = [f.derived is not None and (f.derived.item != "" or len(f.sources) > 1) for f in model.features]
    return _with_features(model, [j for j, is_item in enumerate(items) if j in used or not is_item])


def over_features(model: Any, features: Sequence[Feature]) -> Any:
    """Return a model over other features, among which those that its rules test are found by their names.

    Examples
    --------
    >>> from polyrule.data.derive.words import Word
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> love, zombie = (Word("plot", word).feature() for word in ("love", "zombie"))
    >>> model = RuleList((Rule((Literal(0, 1),), (NumericCondition(0, ">", 0.5),)),), (zombie,), ("scary",))
    >>> print(over_features(model, (love, zombie)).rules[0].body)
    (NumericCondition(feature=1, op='>', threshold=0.5),)
    """
    if model.features == tuple(features):
        return model
    position = {feature.name: j for j, feature in enumerate(features)}
    used = used_features(model.rules)
    for j in used:
        feature = model.features[j]
        if feature.name not in position:
            raise ModelError(f"a rule tests {feature.name!r}, which is not among the features")
        other = features[position[feature.name]]
        if (other.kind, other.categories) != (feature.kind, feature.categories):
            raise ModelError(f"feature {feature.name!r} has another kind or other categories than in the model")
    return _moved(model, tuple(features), {j: position[model.features[j].name] for j in used})


def _with_features(model: Any, used: Sequence[int]) -> Any:
    if len(used) == len(model.features):
        return model
    return _moved(model, tuple(model.features[j] for j in used), {old: new for new, old in enumerate(used)})


def _moved(model: Any, features: tuple[Feature, ...], place: Mapping[int, int]) -> Any:
    """Return the model over other features; `place` maps the position of each tested one to its new position."""

    def on_feature(condition: FeatureCondition) -> FeatureCondition:
        return condition.on_feature(place[condition.feature])

    rules = tuple(replace(rule, body=map_conditions(rule.body, on_feature)) for rule in model.rules)
    return replace(model, rules=rules, features=features)


def narrow_with_dates(model: Any, column_names: Collection[str] | None = None) -> Any:
    """Return the narrowed model, and the dates of which it tests parts, if they are among `column_names`.

    Examples
    --------
    >>> from polyrule.data.derive.dates import date_features
    >>> from polyrule.model import Literal, NominalCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NominalCondition(3, 6),))
    >>> [f.name for f in narrow_with_dates(RuleList((rule,), date_features("signup"), ("calm",))).features]
    ['signup weekday', 'signup']
    """
    narrowed = model.narrowed
    names = {feature.name for feature in narrowed.features}
    dated = [feature for feature in narrowed.features if feature.source_kind == "date"]
    columns = dict.fromkeys(name for feature in dated for name in feature.sources)
    dates = [column for column in columns if column not in names and (column_names is None or column in column_names)]
    return replace(narrowed, features=(*narrowed.features, *(Feature(column, "date") for column in dates)))


def match_columns(model: Any, X: Any, *, dates: bool = False) -> tuple[Any, Table]:
    """Return X as a table, and the model over the columns of that table.

    Where columns have names, those that no rule tests may be missing and others may be there; the columns of an array
    are known by position only, so all of them are needed. With `dates`, the dates whose parts are tested are there,
    too, if X has them.
    """
    table = X.X if isinstance(X, Dataset) else X
    if isinstance(table, Table) and table.features == model.features:
        return model, table
    if not isinstance(table, Table) and not is_frame(table):
        return model, to_table(table, model.features)
    columns = table.feature_names if isinstance(table, Table) else None
    narrowed = narrow_with_dates(model, columns) if dates else model.narrowed
    return narrowed, to_table(table, narrowed.features, others="skip")


def one_example(model: Any, example: Any, row: int | None = None, *, dates: bool = False) -> tuple[Any, Floats]:
    """Return the model over the columns that are there, and the values of one example.

    The example comes alone, as a mapping from feature name to value, a row of a pandas frame or an array of values in
    the model's order; or in a frame, table, data set or array, of which `row` (from 0) is it where there are several.
    With `dates`, those of which only parts are tested are kept, too.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NominalCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1),), (NominalCondition(0, 1),))
    >>> model = RuleList((rule,), (Feature("hue", "nominal", ("red", "blue")), Feature("size")), ("calm",))
    >>> one_example(model, {"hue": "blue"})[1]
    array([1.])
    """
    if isinstance(example, (str, bytes)):
        raise ModelError(f"the example comes first, then the label: {example!r} is no example")
    if row is not None:
        example, row = cut_row(example, row)
    elif (record := as_record(example)) is not None:
        fitted = narrow_with_dates(model) if dates else model.narrowed
        return fitted, _read_record(fitted, record)
    elif not isinstance(example, (Table, Dataset)) and not sp.issparse(example) and not is_frame(example):
        return model, _read_values(model, example)
    fitted, table = match_columns(model, example, dates=dates)
    if row is None and len(table) != 1:
        raise ModelError(f"there are {len(table)} examples here; say which one with row=, counted from 0")
    place = 0 if row is None else place_of_row(row, len(table))
    return fitted, np.asarray(table[place : place + 1], dtype=np.float64)[0]


def cut_row(X: Any, row: int) -> tuple[Any, int]:
    """Return X cut down to one row, and the place of that row in it; what cannot be cut unread stays whole.

    So nothing that stands in other rows can be refused or warned of.

    Examples
    --------
    >>> cut_row(np.array([[1.0, 2.0], [3.0, 4.0]]), -1)
    (array([[3., 4.]]), 0)
    """
    framed = is_frame(X)
    if not framed and not isinstance(X, (Table, Dataset)) and not (isinstance(X, np.ndarray) and X.ndim == 2):
        return X, row
    whole = open_frame(X) if framed else X
    place = place_of_row(row, len(whole))
    part: Any = whole[place : place + 1]
    return part.to_native() if framed else part, 0


def place_of_row(row: int, size: int) -> int:
    """Return the place, from 0, of a row that may be counted from the end; refuse one that does not exist."""
    if isinstance(row, bool) or not isinstance(row, (int, np.integer)):
        raise DataError(f"row must be a whole number, counted from 0, not {row!r}")
    if not -size <= row < size:
        raise DataError(f"row {row} does not exist: there are {size} example(s), counted from 0")
    return int(row) % size


def as_record(example: Any) -> Mapping[str, Any] | None:
    """Return the example as a mapping if it is one, or a row of a pandas frame, which knows the columns' names."""
    if getattr(example, "ndim", None) == 1 and hasattr(example, "index") and hasattr(example, "to_dict"):
        example = example.to_dict()
    return {str(name): value for name, value in example.items()} if isinstance(example, Mapping) else None


def _read_record(model: Any, record: Mapping[str, Any]) -> Floats:
    sources = source_features(model.features)
    match_names(list(record), list(sources), "skip")
    unseen = UnseenCategories()
    encoded = [encode_source([record[name]], feature, unseen) for name, feature in sources.items()]
    unseen.warn()
    values = np.array([[codes[0] for _, codes in encoded]])
    table = derive(Table.from_array(values, tuple(feature for feature, _ in encoded)), model.features)
    row: Floats = np.asarray(table, dtype=np.float64)[0]
    return row


def _read_values(model: Any, example: Any) -> Floats:
    """Numbers in the model's order stay as they are, a category given by its position; texts are looked up."""
    array = np.asarray(example, dtype=object) if isinstance(example, (list, tuple)) else np.asarray(example)
    if array.ndim == 1 and any(isinstance(value, str) for value in array.tolist()):
        example = match_columns(model, array.astype(object).reshape(1, -1))[1]
    try:
        values = np.atleast_2d(np.asarray(example, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise ModelError(
            "an example is one row of a table, or numbers in feature order (a category by its position); of "
            "a frame or data set, choose the example with row="
        ) from error
    if values.shape != (1, len(model.features)):
        raise ModelError(
            f"give one example with {len(model.features)} feature value(s), not an array of shape {np.shape(example)}"
        )
    return np.asarray(values[0])
