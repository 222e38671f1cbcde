"""Which columns of text are running text or lists, by their cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from polyrule.data.derive.members import JSON_LISTS, LISTED, split_members
from polyrule.data.derive.words import split_words
from polyrule.data.table import TEXTUAL, Feature, Table
from polyrule.utils.arrays import Ints

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


def recognize(table: Table, declared: Collection[str] = ()) -> Table:
    """Return the table with columns of text and of lists as such, except for `declared` categories.

    Examples
    --------
    >>> cells = ("At home", "At home, At work", "At work", "On the go, At work", "On the go")
    >>> table = Table.from_array(np.arange(60.0)[:, None] % 5, [Feature("where", "nominal", cells)])
    >>> recognize(table).features[0].kind, recognize(table).features[0].separator
    ('list', ',')
    """
    features = list(table.features)
    if table.is_sparse:
        return table
    for j, feature in enumerate(features):
        if feature.kind == "list" and feature.separator == LISTED:
            features[j] = replace(feature, separator=_separator_of(feature.categories))
        if feature.is_nominal and feature.derived is None and feature.name not in declared:
            column = table.column(j)
            counts = np.bincount(column[~np.isnan(column)].astype(np.int64), minlength=len(feature.categories))
            features[j] = recognized(feature, counts)
    return table if tuple(features) == table.features else replace(table, features=tuple(features))


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
    """Return what separates the members of cells that are lists for sure: the character that most cells have."""
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
    """Return what separates the members of lists, None if the cells are no lists.

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
