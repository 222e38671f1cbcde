"""Columns that identify rows: a rule on them does not generalize, so learners leave them out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from polyrule.data.columns import listing
from polyrule.data.table import TEXTUAL, Feature, Table
from polyrule.utils.arrays import Floats
from polyrule.utils.messages import constraint

MIN_ROWS = 20
"""A column with fewer known values is never an identifier."""
_MIN_NUMBERS = 100
"""A column of numbers without the name of a key needs this many known values: few ages may well all differ."""
MIN_DISTINCT_SHARE = 0.5
"""Of the known values of a column of text."""
_MIN_WORDS = 5
"""Mean number of words of running text."""
_SAMPLE_ROWS = 1000
_YEARS = (1500, 2100)
_KEY_WORDS = frozenset(
    ("id", "ids", "uuid", "guid", "key", "pk", "nr", "num", "no", "number", "idx", "index", "rownames", "rowid")
)
_BIRTH_WORDS = frozenset(("birth", "birthday", "birthdate", "born", "dob"))
_NAME_PARTS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
_POSITION_NAME = re.compile(r"x\d+")


def find_identifiers(table: Table, keep: Collection[str] = ()) -> tuple[int, ...]:
    """Return the positions of columns that identify rows, without those that `keep` names.

    Text identifies rows if more than half of its known values are distinct. Whole numbers do if all of them are
    distinct although random ones would repeat, or if the name of the column is that of a key. Dates never do, and
    neither do columns of arrays, which have no names.

    Examples
    --------
    >>> table = Table.from_array([[1000.0 + j, j / 7] for j in range(100)], [Feature("patient"), Feature("dose")])
    >>> find_identifiers(table), find_identifiers(table, keep=["patient"])
    ((0,), ())
    """
    if len(table) < MIN_ROWS:
        return ()
    return tuple(
        j
        for j, feature in enumerate(table.features)
        if feature.name not in keep and not _POSITION_NAME.fullmatch(feature.name) and _is_identifier(table, j)
    )


def _is_identifier(table: Table, j: int) -> bool:
    feature = table.features[j]
    if feature.source_kind == "date" or feature.kind in ("ordinal", *TEXTUAL):
        return False
    if feature.is_nominal:
        if len(feature.categories) <= MIN_DISTINCT_SHARE * MIN_ROWS:
            return False
        known, n_distinct = _known_and_distinct(table.column(j))
        return known >= MIN_ROWS and n_distinct > MIN_DISTINCT_SHARE * known
    if table.is_sparse and _n_stored(table, j) < len(table) - 1:  # zero occurs twice
        return False
    column = table.column(j)
    has_key_name = is_key_name(feature.name)
    # Sorting all rows takes longer than looking at the first ones.
    return _may_identify(column[:_SAMPLE_ROWS], has_key_name) and _may_identify(column, has_key_name)


def _may_identify(column: Floats, has_key_name: bool) -> bool:
    values = column[~np.isnan(column)]
    if len(values) < MIN_ROWS or not np.all(values == np.floor(values)):
        return False
    distinct = np.unique(values)
    if has_key_name:
        return len(distinct) > MIN_DISTINCT_SHARE * len(values)
    if len(distinct) < max(len(values), _MIN_NUMBERS):
        return False
    low, high = distinct[0], distinct[-1]
    # By the birthday problem, random draws from fewer than n**2 numbers would hardly all differ.
    return bool(high - low < len(values) ** 2) and not (_YEARS[0] <= low and high <= _YEARS[1])


def _known_and_distinct(column: Floats) -> tuple[int, int]:
    values = column[~np.isnan(column)]
    return len(values), len(np.unique(values))


def _n_stored(table: Table, j: int) -> int:
    indptr = table.values.indptr  # type: ignore[union-attr]
    return int(indptr[j + 1] - indptr[j])


def is_key_name(name: str) -> bool:
    """Return True if the last word of a name is one that keys have.

    >>> is_key_name("patient_id"), is_key_name("userId"), is_key_name("Unnamed: 0"), is_key_name("paid")
    (True, True, True, False)
    """
    words = [word.lower() for word in _NAME_PARTS.split(name) if word]
    return not words or words[-1] in _KEY_WORDS or words[0] == "unnamed"


def is_birth_name(name: str) -> bool:
    """Return True if a column is called as dates of birth are.

    >>> is_birth_name("birth_date"), is_birth_name("DOB"), is_birth_name("dateOfBirth"), is_birth_name("admitted")
    (True, True, True, False)
    """
    return not _BIRTH_WORDS.isdisjoint(word.lower() for word in _NAME_PARTS.split(name))


def is_running_text(feature: Feature) -> bool:
    """Return True if the categories of a feature have more words than names and addresses have, on average."""
    return sum(len(text.split()) for text in feature.categories) >= _MIN_WORDS * max(1, len(feature.categories))


def without_values(table: Table, positions: Sequence[int]) -> Table:
    """Return the table with all values of some columns missing, and without their categories.

    Such a column keeps its name and place, so that new data may have it, but nothing can be learned from it.

    Examples
    --------
    >>> table = without_values(Table.from_array([[1.0, 2.0]], [Feature("id"), Feature("size")]), [0])
    >>> table.features[0], table.values
    (Feature(name='id', kind='nominal', categories=()), array([[nan,  2.]]))
    """
    if not positions:
        return table
    features = list(table.features)
    for j in positions:
        features[j] = replace(features[j], kind="nominal", categories=(), flag=False)
    missing = np.full(len(table), np.nan)
    return table.rearranged(range(len(features)), features, dict.fromkeys(positions, missing))


def is_left_out(feature: Feature) -> bool:
    """Return True if a feature of a model is a column that was left out: it has no categories to test.

    >>> is_left_out(Feature("id", "nominal")), is_left_out(Feature("id"))
    (True, False)
    """
    return feature.kind == "nominal" and not feature.categories and feature.derived is None


def identifier_messages(features: Sequence[Feature]) -> Iterator[tuple[str, tuple[str, ...]]]:
    r"""Yield one sentence on identifiers and one on running text, each with the names of its columns.

    >>> for message, names in identifier_messages([Feature("number")]):
    ...     print(message.replace("; ", ";\n"))
    'number' has a distinct value in most rows, like an identifier, and is left out;
    constraints={'keep_columns': 'number'} keeps it
    """
    texts = [feature.name for feature in features if is_running_text(feature) and feature.categories]
    others = [feature.name for feature in features if feature.name not in texts]
    for names, what, many in ((others, "an identifier", "identifiers"), (texts, "running text", "running text")):
        if len(names) == 1:
            yield (
                f"{listing(names)} has a distinct value in most rows, like {what}, and is left out; "
                f"{constraint('keep_columns', names[0])} keeps it",
                tuple(names),
            )
        elif names:
            yield (
                f"{listing(names)} have distinct values in most rows, like {many}, and are left out; "
                f"{constraint('keep_columns', ','.join(names))} keeps them",
                tuple(names),
            )
