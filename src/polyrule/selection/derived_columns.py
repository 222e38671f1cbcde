"""Derived columns, by which an engine finds sets of categories and missing values.

For every label, the categories of a nominal feature are put in the order of how often the label is present among them.
Among all sets of categories, the one with the best F-measure, precision or other ratio of counts lies at the end of
this order, so a threshold on the rank finds it exactly, for the empty body. Only the last few categories of the order
get a rank, because nobody reads long sets, and none that too few examples have, because their order would be chance.
Whether a value is missing is a column of zeros and ones. What an engine finds on such a column is translated back to a
condition on the feature.

A threshold becomes the shortest decimal between the same two neighbouring values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from polyrule.conditions import (
    Condition,
    FeatureCondition,
    MissingCondition,
    NumericCondition,
    map_thresholds,
    one_of,
)
from polyrule.conditions.simplify import drop_implied_limits, simplify_body
from polyrule.data.table import Feature, Table
from polyrule.search.candidates import midpoint
from polyrule.store.packed_table import PackedTable
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints

MOST_CATEGORIES = 1000  # a feature with more has no sets that anybody would read
LARGEST_SET = 8  # categories that people read in one condition; never more than half of all
LEAST_EXAMPLES = 5  # of a category of a set
_MOST_ORDERS = 32  # of one feature; those of the most frequent labels


def largest_set(n_categories: int) -> int:
    """Return the maximum number of categories of a set.

    >>> largest_set(100), largest_set(10), largest_set(3)
    (8, 5, 2)
    """
    return min(LARGEST_SET, max(2, n_categories // 2))


@dataclass(frozen=True)
class Derived:
    """A column made from feature `owner`: ranks of its categories (-1: none), or whether it is missing (None)."""

    owner: int
    ranks: tuple[int, ...] | None
    values: Floats

    def condition(self, limit: NumericCondition) -> FeatureCondition:
        """Return what a condition on the column says of the feature."""
        if self.ranks is None:
            return MissingCondition(self.owner, limit.op == ">")
        values = [
            code
            for code, rank in enumerate(self.ranks)
            if rank >= 0 and (rank > limit.threshold if limit.op == ">" else rank <= limit.threshold)
        ]
        return one_of(self.owner, values)


class DerivedTable:
    """A table with derived columns behind its own.

    Parameters
    ----------
    table : Table
    truth : ndarray of uint8
        Labels by which categories are ordered.
    weights : ndarray of int64
    example : float
        How much of `counted` an example of the user is.
    counted : ndarray of int64, optional
        What each row counts for where it is asked how many examples have a category or a label; its weight if None.

    Examples
    --------
    >>> hue = Feature("hue", "nominal", ("blue", "green", "red"))
    >>> table = Table.from_array(np.repeat([[0.0], [1.0], [2.0], [2.0]], 5, axis=0), [hue])
    >>> truth = np.repeat([[1], [0], [1], [0]], 5, axis=0).astype(np.uint8)
    >>> derived = DerivedTable(table, truth, np.ones(20, dtype=np.int64))
    >>> derived.table.values[::5, 1]
    array([2., 0., 1., 1.])
    >>> derived.body((NumericCondition(1, ">", 0.5),))
    (SetCondition(feature=0, values=(0, 2)),)
    """

    def __init__(
        self, table: Table, truth: Bytes, weights: Ints, example: float = 1, counted: Ints | None = None
    ) -> None:
        self._n_features = len(table.features)
        counted, min_weight = weights if counted is None else counted, example * LEAST_EXAMPLES
        self._derived = [*_orders(table, truth, weights, counted, min_weight), *_missing(table)]
        names = [Feature(f"derived {number}") for number in range(len(self._derived))]
        self.table = table.with_columns([one.values for one in self._derived], names)

    def allowed(self, features: Bools) -> Bools:
        """Extend a choice of features to the columns made from them."""
        owners = [derived.owner for derived in self._derived]
        return np.concatenate([features, features[np.array(owners, dtype=np.int64)]])

    def body(self, body: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """Return a body over the features of the original table, as short as it can be said."""
        return drop_implied_limits(simplify_body(map_thresholds(body, self._translated)), self.table.features)

    def _translated(self, condition: NumericCondition) -> FeatureCondition:
        if condition.feature < self._n_features:
            return _between_bins(condition, self.table) if isinstance(self.table, PackedTable) else condition
        return self._derived[condition.feature - self._n_features].condition(condition)


def _between_bins(condition: NumericCondition, table: PackedTable) -> NumericCondition:
    """Move a threshold between the largest values of two bins to the middle between the bins."""
    lows, highs, _ = table.spans(condition.feature)
    place = int(np.searchsorted(highs, condition.threshold, side="right"))
    if not 0 < place < len(highs):
        return condition
    return replace(condition, threshold=midpoint(float(highs[place - 1]), float(lows[place])))


def _orders(table: Table, truth: Bytes, weights: Ints, counted: Ints, min_weight: float) -> list[Derived]:
    """Ranks of categories that at least so many examples have, per feature and label; equal orders are kept once."""
    present = [np.flatnonzero(truth[:, label] == 1) for label in range(truth.shape[1])]
    frequent = sorted(range(truth.shape[1]), key=lambda label: (-int(counted[present[label]].sum()), label))
    orders: list[Derived] = []
    for owner, feature in enumerate(table.features):
        count = len(feature.categories)
        if not feature.is_nominal or not 2 < count <= MOST_CATEGORIES:
            continue
        column = table.column(owner)
        has_value = ~np.isnan(column)
        codes = np.where(has_value, column, 0).astype(np.int64)
        total = np.bincount(codes[has_value], weights[has_value], count)
        total[np.bincount(codes[has_value], counted[has_value], count) < min_weight] = 0
        if np.count_nonzero(total) < 2:
            continue
        seen: set[tuple[int, ...]] = set()
        for label in frequent:
            rows = present[label][has_value[present[label]]]
            ranks = _ranks(np.bincount(codes[rows], weights[rows], count), total)
            if ranks not in seen and len(seen) < _MOST_ORDERS:
                seen.add(ranks)
                values = np.array([np.nan if rank < 0 else rank for rank in ranks])[codes]
                orders.append(Derived(owner, ranks, np.where(has_value, values, np.nan)))
    return orders


def _ranks(present_weights: Any, total: Any) -> tuple[int, ...]:
    """Places of the categories by the share of their examples that have a label; -1 for those that get none."""
    seen = [code for code in range(len(total)) if total[code]]
    order = sorted(seen, key=lambda code: (Fraction(int(present_weights[code]), int(total[code])), -code))
    order = order[-largest_set(len(total)) - 1 :]  # one more, from which a threshold divides the set
    ranks = [-1] * len(total)
    for place, code in enumerate(order):
        ranks[code] = place
    return tuple(ranks)


def _missing(table: Table) -> list[Derived]:
    """Whether a value is missing, for every feature where it sometimes is; equal columns are kept once."""
    columns: dict[bytes, Derived] = {}
    for owner in table.gaps().tolist():
        missing = np.isnan(table.column(owner))
        if not missing.all():
            columns.setdefault(np.packbits(missing).tobytes(), Derived(owner, None, missing.astype(np.float64)))
    return list(columns.values())
