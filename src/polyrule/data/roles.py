"""The reading options, and how they give every column its part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from polyrule.data.assemble import FileLayout
from polyrule.data.columns import UnseenCategories, listing
from polyrule.data.derive.columns import source_features
from polyrule.data.derive.members import LISTED
from polyrule.data.derive.quantities import Quantity
from polyrule.data.derive.words import Cell
from polyrule.data.formats.blocks import EITHER, FileColumn, Reader
from polyrule.data.formats.encoders import ColumnEncoder
from polyrule.data.frames import check_distinct
from polyrule.data.identifiers import is_left_out
from polyrule.data.labelspec import (
    Specs,
    choose_columns,
    choose_labels,
    columns_by_name,
    is_auto,
    names_file,
    some_columns,
)
from polyrule.data.sniff import unpacked_name
from polyrule.data.sources import Source
from polyrule.data.table import TEXTUAL, Feature, FeatureKind, as_features
from polyrule.data.tags import TagCollector, find_separator
from polyrule.errors import DataError, OptionError
from polyrule.utils.messages import argument, did_you_mean

_PARTS = ("-train", "-test", "_train", "_test", "-Train", "-Test")


class LabelsUnknownError(DataError):
    """Error for a file without any hint which columns are labels."""

    def __init__(self, file: str, columns: Sequence[str]) -> None:
        super().__init__(
            f"{file}: nothing says which columns are labels; pass {argument('labels')} (names, a pattern such as "
            "mood_*, last:14, a MULAN XML file, …), or labels=None if there are none (the columns are "
            f"{listing(columns)})"
        )
        self.file, self.columns = file, tuple(columns)


@dataclass(frozen=True)
class Roles:
    """Options of the caller about the columns; see `polyrule.data.read`."""

    labels: Any = "auto"
    drop: Any = ()
    nominal: Any = ()
    ordinal: Mapping[str, Sequence[str]] | None = None
    numeric: Any = ()
    date: Any = ()
    identifier: Any = None
    weights: Any = None
    tags: Any = None
    tag_separator: str | None = None
    features: Sequence[Feature] | None = None
    words: Any = ()
    lists: Any = ()
    list_separator: str | None = None
    like: Sequence[Feature] | None = None

    def __post_init__(self) -> None:
        for name in ("features", "like"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_features(getattr(self, name)))

    @property
    def quantities(self) -> dict[str, tuple[Feature, ...]]:
        """Features of numbers with units in `like`, by column."""
        by_column: dict[str, tuple[Feature, ...]] = {}
        for feature in self.like or ():
            if isinstance(feature.derived, Quantity):
                by_column[feature.column] = (*by_column.get(feature.column, ()), feature)
        return by_column


def make_layout(reader: Reader, roles: Roles, source: Source) -> FileLayout:
    """Decide for every column whether it is a feature, a label, something else, or skipped."""
    names = [column.name for column in reader.columns]
    try:
        check_distinct(names, "column")
    except DataError as problem:
        raise DataError(f"{reader.name}: {problem}") from problem
    _check_overlap(roles, names)
    special = {option: _one(getattr(roles, option), names, option) for option in ("identifier", "weights", "tags")}
    collector = _collector(reader, roles, special["tags"])
    labels, parents = ([], {}) if collector is not None else _labels(reader, roles, names, source)
    reserved = {j for j in special.values() if j is not None}
    if clash := reserved & set(labels):
        raise OptionError(f"column {names[min(clash)]!r} cannot be a label and something else at once")
    dropped = some_columns(roles.drop, names, "drop")
    labels = [j for j in labels if j not in dropped]
    used = dropped | reserved | set(labels)
    free = [j for j in range(len(names)) if j not in used]
    unseen = UnseenCategories()
    encoders = _encoders(reader, roles, names, free, unseen)
    info: dict[str, Any] = {"source": reader.name}
    if reader.hints.dates is not None:
        info["dates"] = reader.hints.dates
    if parents:
        info["label_parents"] = parents
    return FileLayout(
        reader=reader,
        features=list(encoders),
        labels=labels,
        encoders=encoders,
        label_names=tuple(names[j] for j in labels),
        identifier=special["identifier"],
        weights=special["weights"],
        tags_column=special["tags"],
        tags=collector,
        info=info,
        unseen=unseen,
    )


#: Options that give a column one part; "labels" and "drop" come first, because they take a column away.
_PARTS_OF_COLUMNS = (
    "labels",
    "drop",
    "identifier",
    "weights",
    "tags",
    "nominal",
    "ordinal",
    "numeric",
    "date",
    "words",
    "lists",
)


def _check_overlap(roles: Roles, names: list[str]) -> None:
    """Refuse a column that two options name; a pattern that also matches it gives way."""
    option_of: dict[int, str] = {}
    for option in _PARTS_OF_COLUMNS:
        spec = getattr(roles, option)
        if spec is None or (option == "labels" and (is_auto(spec) or roles.tags is not None)):
            continue  # with tags, labels are names of tags and not columns
        if option == "ordinal":
            spec = list(spec) if isinstance(spec, Mapping) else ()
        for column in sorted(columns_by_name(spec, names)):
            first = option_of.setdefault(column, option)
            if first != option:
                problem = f"column {names[column]!r} is named by {argument(first)} too; name it once"
                raise OptionError(problem, parameter=option)


def _one(spec: Any, names: Sequence[str], option: str) -> int | None:
    if spec is None:
        return None
    positions = choose_columns([spec] if isinstance(spec, (str, Integral)) else spec, names, option)
    if len(positions) != 1:
        raise OptionError(parameter=option, value=spec, allowed=f"the name of one column, not of {len(positions)}")
    return positions[0]


def _collector(reader: Reader, roles: Roles, tags_column: int | None) -> TagCollector | None:
    """Labels by name instead of by column: from a column of tags, or from a format that lists them."""
    if tags_column is not None:
        vocabulary = None if roles.labels is None or is_auto(roles.labels) else _vocabulary(roles.labels)
        separator = roles.tag_separator
        if separator is None:
            first = next(iter(reader.blocks([False] * len(reader.columns))), None)
            separator = find_separator([] if first is None else first.column(tags_column, ""), vocabulary)
        return TagCollector(separator, vocabulary, None if vocabulary is None else Counter())
    if not reader.hints.lists_labels or roles.labels is None:
        return None
    if is_auto(roles.labels):
        return TagCollector(",", reader.hints.label_names)
    return TagCollector(",", _vocabulary(roles.labels))


def _vocabulary(labels: Any) -> list[str]:
    """Names of labels that have no separate columns."""
    if isinstance(labels, Specs):
        labels = [name for spec in labels for name in (spec.split(",") if isinstance(spec, str) else spec)]
    names = labels.split(",") if isinstance(labels, str) else labels
    if isinstance(names, (list, tuple, np.ndarray)) and all(isinstance(name, str) for name in names):
        stripped = [name.strip() for name in names]
        check_distinct(stripped, "label")
        return stripped
    labels_are = f"{argument('labels')} gives the names there may be; or leave it out"
    raise OptionError(f"where rows list their labels, {labels_are}")


def _labels(reader: Reader, roles: Roles, names: list[str], source: Source) -> tuple[list[int], dict[str, str]]:
    """Positions of the label columns, and the parents of labels that are nested."""
    if roles.labels is None:
        return [], {}
    if not is_auto(roles.labels):
        return choose_labels(roles.labels, names)
    listed = _label_list_beside(source)
    if listed is not None:
        return names_file(listed, {name: j for j, name in enumerate(names)})
    if reader.hints.meka is not None:
        return _meka(reader, names), {}
    if roles.features is not None:
        return [], {}
    raise LabelsUnknownError(reader.name, names)


def _label_list_beside(source: Source) -> Any:
    """MULAN's convention: the list has the name of the data, without -train or -test."""
    if source.path is None:
        return None
    stem = unpacked_name(source.path.name)
    stem = stem.rpartition(".")[0] or stem
    stems = [stem] + [stem.removesuffix(part) for part in _PARTS if stem.endswith(part)]
    lists = [path for path in (source.path.with_name(f"{s}.xml") for s in stems) if path.is_file()]
    return lists[0] if lists else None


def _meka(reader: Reader, names: list[str]) -> list[int]:
    count, positions = reader.hints.meka or 0, list(range(len(names)))
    if reader.hints.filtered_after_meka:
        raise DataError(
            f"{reader.name}: the relation name says -C {count}, but a Weka filter was applied afterwards, so the "
            f"labels may have moved; pass {argument('labels')}"
        )
    if count == 0 or abs(count) > len(names):
        raise DataError(f"{reader.name}: the relation name says -C {count}, but the file has {len(names)} columns")
    return positions[:count] if count > 0 else positions[count:]


def _encoders(
    reader: Reader, roles: Roles, names: list[str], free: list[int], unseen: UnseenCategories
) -> dict[int, ColumnEncoder]:
    """One encoder per feature, in the order of the features."""
    if roles.features is not None:
        return _model_encoders(reader, roles.features, free, unseen)
    nominal = some_columns(roles.nominal, names, "nominal")
    numeric = some_columns(roles.numeric, names, "numeric")
    date = some_columns(roles.date, names, "date")
    words = some_columns(roles.words, names, "words")
    lists = some_columns(roles.lists, names, "lists")
    ordinal = _ordinal(roles.ordinal, names)
    kind_of_column: dict[int, str] = {}
    columns = {"nominal": nominal, "numeric": numeric, "date": date, "ordinal": set(ordinal), "words": words}
    for kind, positions in {**columns, "lists": lists}.items():
        for j in sorted(positions):
            if kind_of_column.setdefault(j, kind) != kind:
                raise OptionError(f"column {names[j]!r} cannot be {kind_of_column[j]} and {kind} at once")
    if roles.list_separator == "":
        raise OptionError(parameter="list_separator", value="", allowed="at least one character")
    alike = _encoders_like(reader, roles.like or (), {names[j]: j for j in free if j not in kind_of_column})
    return {
        j: alike[j]
        if j in alike
        else ColumnEncoder(names[j], "ordinal", ordinal[j])
        if j in ordinal
        else ColumnEncoder(names[j], "text")
        if j in words
        else ColumnEncoder(names[j], "list", separator=roles.list_separator or LISTED)
        if j in lists or (reader.columns[j].kind == "nested" and j not in nominal)
        else _encoder(reader, reader.columns[j], j in nominal, j in numeric, j in date)
        for j in free
    }


def _encoders_like(reader: Reader, features: Sequence[Feature], free: Mapping[str, int]) -> dict[int, ColumnEncoder]:
    """Return encoders that read columns as what they were when a model was fitted, as far as it used them."""
    encoders = {}
    for feature in features:
        j = free.get(feature.column)
        if j is None or is_left_out(feature):
            continue
        if isinstance(feature.derived, Cell):
            kind: FeatureKind = "list" if feature.derived.separator else "text"
            encoders[j] = ColumnEncoder(feature.column, kind, separator=feature.derived.separator)
        elif isinstance(feature.derived, Quantity):
            encoders[j] = ColumnEncoder(feature.column, "nominal", declared=True)
        elif feature.derived is None and feature.kind == "ordinal":
            encoders[j] = ColumnEncoder(feature.name, "ordinal", feature.categories)
        elif feature.derived is None:
            is_kind = {kind: feature.kind == kind for kind in ("nominal", "numeric", "date")}
            encoders[j] = _encoder(reader, reader.columns[j], **is_kind)
    return encoders


def _ordinal(declared: Any, names: list[str]) -> dict[int, tuple[str, ...]]:
    """Positions of columns whose values ascend in a given order."""
    if declared is not None and not isinstance(declared, Mapping):
        allowed = "a dict of column to values, lowest first, as in {'plan': ['basic', 'plus']}"
        raise OptionError(parameter="ordinal", value=declared, allowed=allowed)
    values_of_column = {}
    for name, values in (declared or {}).items():
        if name not in names:
            raise OptionError(f"there is no column {name!r}{did_you_mean(str(name), names)}", parameter="ordinal")
        ascending = () if isinstance(values, str) or not isinstance(values, Iterable) else tuple(map(str, values))
        if len(set(ascending)) < max(2, len(ascending)):
            problem = f"column {name!r} needs at least two different values, lowest first"
            raise OptionError(problem, parameter="ordinal")
        values_of_column[names.index(name)] = ascending
    return values_of_column


def _encoder(reader: Reader, column: FileColumn, nominal: bool, numeric: bool, date: bool) -> ColumnEncoder:
    form = _date_form(reader, column)
    if (date and column.kind != "mixed") or (column.kind == "mixed" and form is not None and not nominal):
        return ColumnEncoder(column.name, "date", date_form=form)
    if nominal or (column.kind == "nominal" and not numeric):
        return ColumnEncoder(column.name, "nominal", column.categories, declared=nominal)
    if numeric or column.kind in ("numeric", "auto"):
        return ColumnEncoder(column.name, "numeric", tentative=column.kind == "auto" and not numeric)
    if column.kind in ("date", "auto-date"):
        return ColumnEncoder(column.name, "date", tentative=column.kind == "auto-date", date_form=form)
    if column.kind == "mixed":
        raise unread(reader, column)
    what = "free text" if column.kind == "string" else f"{column.kind} values"
    raise DataError(
        f"{reader.name}: column {column.name!r} holds {what}, which rules cannot test; drop it "
        f"({argument('drop')}), make it the row identifier ({argument('identifier')}) or declare it nominal "
        f"({argument('nominal')})"
    )


def _date_form(reader: Reader, column: FileColumn) -> str | None:
    """Return the form of dates: if a column does not show it, as in the other columns of the file."""
    return reader.hints.dates if column.date_form == EITHER else column.date_form


def unread(reader: Reader, column: FileColumn) -> DataError:
    """Return the error for a column that needs an option of the user."""
    return DataError(
        f"{reader.name}: column {column.name!r} holds {column.remark}; {column.advice}, drop it "
        f"({argument('drop')}) or declare it nominal ({argument('nominal')})"
    )


def _model_encoders(
    reader: Reader, features: Sequence[Feature], free: list[int], unseen: UnseenCategories
) -> dict[int, ColumnEncoder]:
    position = {reader.columns[j].name: j for j in free}
    sources = source_features(features)
    missing = [name for name in sources if name not in position]
    if missing:
        raise DataError(
            f"{reader.name}: the model needs column(s) {listing(missing)}, which the file does not have"
            f"{did_you_mean(missing[0], position)} (it has {listing(position)})"
        )
    encoders = {}
    for name, feature in sources.items():
        j = position[name]
        categories = feature.categories if feature.has_categories else None
        if feature.kind == "date":
            encoders[j] = ColumnEncoder(name, "date", date_form=feature.form or _date_form(reader, reader.columns[j]))
        elif feature.kind in TEXTUAL:
            encoders[j] = ColumnEncoder(name, feature.kind, separator=feature.separator)
        else:
            encoders[j] = ColumnEncoder(name, feature.kind, categories, unseen)
    return encoders
