"""Which columns of text are running text, lists, numbers with units or ordered categories, by their cells."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import numpy as np

from polyrule.data.columns import listing, recode
from polyrule.data.derive.columns import derive
from polyrule.data.derive.members import JSON_LISTS, LISTED, split_members
from polyrule.data.derive.quantities import Quantity
from polyrule.data.derive.words import split_words
from polyrule.data.orders import find_order
from polyrule.data.table import TEXTUAL, Feature, Table
from polyrule.data.written_numbers import find_quantities
from polyrule.errors import DataWarning
from polyrule.utils.arrays import Floats, Ints
from polyrule.utils.messages import argument, depth_of_caller

MIN_ROWS = 20
"""A column with fewer known cells stays one of categories."""
MIN_ITEM_ROWS = 5
_SEPARATORS = ("|", ";", ",")
_MIN_CELLS = 30
_MIN_WORDS = 4.0
"""Mean number of words of the distinct cells of running text; a little less if most cells are distinct."""
_MIN_WORDS_IF_DISTINCT = 3.0
_MIN_DISTINCT_SHARE = 0.05
_MIN_LIST_SHARE = 0.02


_IS_OFF: ContextVar[bool] = ContextVar("_IS_OFF", default=False)


@contextmanager
def recognition_off() -> Iterator[None]:
    """Read columns of text as categories in a block: one part of the rows does not show what all of them are."""
    token = _IS_OFF.set(True)
    try:
        yield
    finally:
        _IS_OFF.reset(token)


def is_recognition_off() -> bool:
    """Return True in a block of `recognition_off`.

    >>> with recognition_off():
    ...     is_recognition_off()
    True
    """
    return _IS_OFF.get()


def recognize(
    table: Table, declared: Collection[str] = (), known: Mapping[str, Sequence[Feature]] | None = None
) -> Table:
    """Return the table with columns of text as what their cells are, except for `declared` categories.

    Texts and lists become such columns, numbers with units become numbers, and ordered categories become ordinal. The
    features of columns of numbers with units may be `known`.

    Examples
    --------
    >>> cells = ("At home", "At home, At work", "At work", "On the go, At work", "On the go")
    >>> table = Table.from_array(np.arange(60.0)[:, None] % 5, [Feature("where", "nominal", cells)])
    >>> recognize(table).features[0].kind, recognize(table).features[0].separator
    ('list', ',')
    >>> sizes = Feature("size", "nominal", ("12 kg", "3 kg", "5 kg"))
    >>> recognize(Table.from_array([[0.0], [1.0], [2.0]], [sizes])).features
    (Feature(name='size (kg)', kind='numeric', categories=()),)
    """
    if table.is_sparse or is_recognition_off():
        return table
    names = set(table.feature_names)
    features: list[Feature] = []
    changed: dict[str, Floats] = {}
    for j, feature in enumerate(table.features):
        if feature.kind == "list" and feature.separator == LISTED:
            features.append(replace(feature, separator=_separator_of(feature.categories)))
            continue
        if known and feature.name in known:
            features += known[feature.name]
            continue
        if not feature.is_nominal or feature.derived is not None or feature.name in declared:
            features.append(feature)
            continue
        column = table.column(j)
        counts = np.bincount(column[~np.isnan(column)].astype(np.int64), minlength=len(feature.categories))
        quantities = find_quantities(feature.name, feature.categories, counts.tolist())
        numbers = [quantity.feature() for quantity in quantities]
        if numbers and not any(one.name in names - {feature.name} for one in numbers):
            features += numbers
            _warn_about_words(feature, quantities)
        elif order := find_order([text for text, count in zip(feature.categories, counts, strict=True) if count]):
            features.append(Feature(feature.name, "ordinal", order))
            changed[feature.name] = recode(column, feature, features[-1])
        else:
            features.append(recognized(feature, counts))
    return _with_features(table, tuple(features), changed)


def _warn_about_words(feature: Feature, quantities: Sequence[Quantity]) -> None:
    """Warn of cells that are no numbers among many that are."""
    missing = np.logical_and.reduce([np.isnan(quantity.values(feature.categories)) for quantity in quantities])
    if missing.any():
        words = [feature.categories[code] for code in np.flatnonzero(missing).tolist()]
        warnings.warn(
            f"column {feature.name!r} is read as numbers, and {listing(words)} as missing; "
            f"{argument('nominal', feature.name)} reads all as categories",
            DataWarning,
            stacklevel=depth_of_caller(),
        )


def _with_features(table: Table, features: tuple[Feature, ...], changed: dict[str, Floats]) -> Table:
    """Return the table with other features of the same columns, in order; `changed` has new values by column."""
    if features == table.features:
        return table
    derived = derive(table, tuple(f for f in features if f.derived is not None and f not in table.features))
    columns = {feature.name: derived.column(j) for j, feature in enumerate(derived.features)}
    place = {name: j for j, name in enumerate(table.feature_names)}
    columns |= changed
    new = {j: columns[feature.name] for j, feature in enumerate(features) if feature.name in columns}
    return table.rearranged([place[feature.column] for feature in features], features, new)


def as_categories(table: Table) -> Table:
    """Return the table with columns of texts and lists as categories, where words cannot be chosen from all rows.

    >>> as_categories(Table.from_array([[0.0]], [Feature("plot", "text", ("a film",))])).features
    (Feature(name='plot', kind='nominal', categories=('a film',)),)
    """
    if not any(feature.kind in TEXTUAL for feature in table.features):
        return table
    features = tuple(
        replace(feature, kind="nominal", separator="") if feature.kind in TEXTUAL else feature
        for feature in table.features
    )
    return replace(table, features=features)


def _separator_of(cells: Sequence[str]) -> str:
    """Return the separator of cells that are lists for sure: the character that most cells have."""
    if any(LISTED in cell for cell in cells):
        return LISTED
    separator = find_list_separator(cells, np.ones(len(cells), dtype=np.int64))
    if separator is not None:
        return separator
    best = max(_SEPARATORS, key=lambda mark: sum(mark in cell for cell in cells))
    return best if any(best in cell for cell in cells) else LISTED


def recognized(feature: Feature, counts: Ints) -> Feature:
    """Return a feature of categories as one of texts or lists if its cells are such; `counts` are rows by category."""
    n_rows = int(counts.sum())
    if n_rows < MIN_ROWS or len(feature.categories) < 4:
        return feature
    separator = find_list_separator(feature.categories, counts)
    if separator is not None:
        return replace(feature, kind="list", separator=separator)
    used = [text for text, count in zip(feature.categories, counts.tolist(), strict=True) if count]
    if len(used) > _MIN_CELLS or len(used) > n_rows / 2:
        n_words = sum(len(split_words(text)) for text in used) / len(used)
        long_tail = len(used) > n_rows / 2
        if len(used) > _MIN_DISTINCT_SHARE * n_rows and n_words >= (
            _MIN_WORDS_IF_DISTINCT if long_tail else _MIN_WORDS
        ):
            return replace(feature, kind="text")
    return feature


def find_list_separator(cells: Sequence[str], counts: Ints) -> str | None:
    """Return the separator of the members of lists, None if the cells are no lists.

    Examples
    --------
    >>> find_list_separator(["a|b", "b", "b|a|c", "c|a"], np.array([9, 9, 9, 9]))
    '|'
    >>> find_list_separator(["Smith, John", "Miller, Jane", "Smith, Jane"], np.array([9, 9, 9])) is None
    True
    """
    rows = [(cell, count) for cell, count in zip(cells, counts.tolist(), strict=True) if count]
    if rows and all(cell.startswith("[") and cell.endswith("]") for cell, _ in rows):
        return JSON_LISTS
    for separator in _SEPARATORS:
        if any(separator in cell for cell, _ in rows) and _Members.of(rows, separator).are_lists:
            return separator
    return None


@dataclass(frozen=True)
class _Members:
    """Members of cells, if they were lists with some separator."""

    n_rows: int
    n_lists: int  # rows with several members
    n_cells: int
    counts: Counter[str]  # rows by member
    n_first: int  # later members that are also the first of some list
    n_later: int

    @classmethod
    def of(cls, rows: Sequence[tuple[str, int]], separator: str) -> _Members:
        lists = [(split_members(cell, separator), count) for cell, count in rows]
        counts: Counter[str] = Counter()
        later: Counter[str] = Counter()
        first = {members[0] for members, _ in lists if members}
        for members, count in lists:
            for member in members:
                counts[member] += count
            for member in members[1:]:
                later[member] += count
        return cls(
            sum(count for _, count in rows),
            sum(count for members, count in lists if len(members) > 1),
            len(rows),
            counts,
            sum(count for member, count in later.items() if member in first),
            later.total(),
        )

    @property
    def are_lists(self) -> bool:
        """True if most members recur, and in any place: clauses of a sentence do not; or if they are many names."""
        if self.n_lists < max(MIN_ITEM_ROWS, _MIN_LIST_SHARE * self.n_rows):
            return False
        n_frequent = sum(count >= MIN_ITEM_ROWS for count in self.counts.values())
        share = sum(count for count in self.counts.values() if count >= MIN_ITEM_ROWS) / self.counts.total()
        n_words = sum(len(split_words(member)) for member in self.counts) / len(self.counts)
        recur = n_frequent >= 3 and share >= 0.5 and self.n_first >= 0.2 * self.n_later and n_words <= 5
        names = n_frequent >= 20 and n_words <= 3 and self.counts.total() >= 3 * self.n_rows
        return (recur and len(self.counts) < self.n_cells + 2) or names
