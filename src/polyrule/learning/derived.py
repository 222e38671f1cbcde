"""Columns that let an engine find more kinds of conditions than it knows: sets of categories, and missing values.

For every label, the categories of a nominal feature are put in the order of how often the label is present among them.
Among all sets of categories, the one with the best F-measure, precision or other ratio of counts lies at an end of this
order, so a threshold on the rank finds it exactly, for the empty body. Whether a value is missing is a column of zeros
and ones. What an engine finds on such a column is translated back to a condition on the feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.arrays import Bools, Bytes, Floats, Ints
from polyrule.data.table import Feature, Table
from polyrule.model.conditions import chosen, tidy
from polyrule.model.rule import Condition, FeatureCondition, LabelCondition, MissingCondition, NumericCondition

MOST_CATEGORIES = 1000  # a feature with more has no sets that anybody would read
LARGEST_SET = 8  # categories that people read in one condition
_MOST_ORDERS = 32  # of one feature; those of the most frequent labels


@dataclass(frozen=True)
class Derived:
    """A column made from feature `owner`: ranks of its categories (-1: none), or whether it is missing (None)."""

    owner: int
    ranks: tuple[int, ...] | None
    values: Floats

    def condition(self, found: NumericCondition) -> FeatureCondition | None:
        """Return what a condition on the column says of the feature; None where nobody would read it."""
        if self.ranks is None:
            return MissingCondition(self.owner, found.op == ">")
        values = [
            code
            for code, rank in enumerate(self.ranks)
            if rank >= 0 and (rank > found.threshold if found.op == ">" else rank <= found.threshold)
        ]
        return chosen(self.owner, values) if len(values) <= LARGEST_SET else None


class DerivedTable:
    """A table with derived columns behind its own.

    Parameters
    ----------
    table : Table
    truth : ndarray of uint8
        Labels by which categories are ordered.
    weights : ndarray of int64

    Examples
    --------
    >>> hue = Feature("hue", "nominal", ("blue", "green", "red"))
    >>> table = Table.from_array([[0.0], [1.0], [2.0], [2.0]], [hue])
    >>> derived = DerivedTable(table, np.array([[1], [0], [1], [0]], dtype=np.uint8), np.ones(4, dtype=np.int64))
    >>> derived.table.values[:, 1]
    array([2., 0., 1., 1.])
    >>> derived.body((NumericCondition(1, ">", 0.5),))
    (SetCondition(feature=0, values=(0, 2)),)
    """

    def __init__(self, table: Table, truth: Bytes, weights: Ints) -> None:
        self._own = len(table.features)
        self._derived = [*_orders(table, truth, weights), *_missing(table)]
        self.table = _behind(table, self._derived)

    def allowed(self, features: Bools) -> Bools:
        """Extend a choice of features to the columns made from them."""
        owners = [derived.owner for derived in self._derived]
        return np.concatenate([features, features[np.array(owners, dtype=np.int64)]])

    def body(self, body: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Return a body over the features of the original table, as short as it can be said."""
        found = (self._translated(condition) for condition in body)
        return tidy(tuple(condition for condition in found if condition is not None))

    def _translated(self, condition: Condition) -> Condition | None:
        if isinstance(condition, LabelCondition) or condition.feature < self._own:
            return condition
        assert isinstance(condition, NumericCondition)
        return self._derived[condition.feature - self._own].condition(condition)


def _orders(table: Table, truth: Bytes, weights: Ints) -> list[Derived]:
    """Ranks of categories per feature and label; equal orders are kept once."""
    present = [np.flatnonzero(truth[:, label] == 1) for label in range(truth.shape[1])]
    frequent = sorted(range(truth.shape[1]), key=lambda label: (-len(present[label]), label))
    found: list[Derived] = []
    for owner, feature in enumerate(table.features):
        count = len(feature.categories)
        if not feature.is_nominal or not 2 < count <= MOST_CATEGORIES:
            continue
        column = table.column(owner)
        known = ~np.isnan(column)
        codes = np.where(known, column, 0).astype(np.int64)
        total = np.bincount(codes[known], weights[known], count)
        if np.count_nonzero(total) < 3:
            continue
        seen: set[tuple[int, ...]] = set()
        for label in frequent:
            rows = present[label][known[present[label]]]
            ranks = _ranks(np.bincount(codes[rows], weights[rows], count), total)
            if ranks not in seen and len(seen) < 2 * _MOST_ORDERS:
                last = max(ranks)
                seen |= {ranks, tuple(last - rank if rank >= 0 else -1 for rank in ranks)}  # the other way round, too
                values = np.where(known, np.array(ranks, dtype=np.float64)[codes], np.nan)
                found.append(Derived(owner, ranks, values))
    return found


def _ranks(right: Any, total: Any) -> tuple[int, ...]:
    """Places of the categories by the share of their examples that have a label; -1 for those without examples."""
    seen = [code for code in range(len(total)) if total[code]]
    order = sorted(seen, key=lambda code: (Fraction(int(right[code]), int(total[code])), code))
    ranks = [-1] * len(total)
    for place, code in enumerate(order):
        ranks[code] = place
    return tuple(ranks)


def _missing(table: Table) -> list[Derived]:
    """Whether a value is missing, for every feature where it sometimes is; equal columns are kept once."""
    found: dict[bytes, Derived] = {}
    for owner in range(len(table.features)):
        missing = np.isnan(table.column(owner))
        if missing.any() and not missing.all():
            found.setdefault(np.packbits(missing).tobytes(), Derived(owner, None, missing.astype(np.float64)))
    return list(found.values())


def _behind(table: Table, derived: list[Derived]) -> Table:
    if not derived:
        return table
    features = (*table.features, *(Feature(f"derived {number}") for number in range(len(derived))))
    columns = np.column_stack([one.values for one in derived])
    values: Any = table.values
    if table.is_sparse:
        return Table.from_array(sp.hstack([values, sp.csc_array(columns)], format="csc"), features)
    return Table(np.asfortranarray(np.hstack([values, columns])), features)
