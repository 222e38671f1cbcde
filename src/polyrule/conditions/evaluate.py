"""Predicates over values in NumPy: the definition that every other target is compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyrule.conditions.base import Condition, FeatureCondition
from polyrule.conditions.predicate import AtLeast, Column, Compare, Missing, OneOf
from polyrule.data.table import Table
from polyrule.errors import ModelError
from polyrule.utils.arrays import Bools, Floats, Ints8

Apply = Callable[[Column, Callable[[Any], Any]], Any]
"""Apply a function of values to those of a column."""


class Evaluator:
    """Visitor that returns which values satisfy a node, of the columns that `apply` reads."""

    def __init__(self, apply: Apply) -> None:
        self.apply = apply

    def compare(self, node: Compare) -> Any:
        """Compare; NaN satisfies no comparison."""
        if node.op == "<=":
            return self.apply(node.column, lambda values: values <= node.value)
        return self.apply(node.column, lambda values: values > node.value)

    def one_of(self, node: OneOf) -> Any:
        """Compare with each code."""
        if len(node.codes) == 1:
            return self.apply(node.column, lambda values: values == node.codes[0])
        return self.apply(node.column, lambda values: np.isin(values, node.codes))

    def missing(self, node: Missing) -> Any:
        """Find NaN."""
        return self.apply(node.column, lambda values: np.isnan(values) == node.missing)

    def at_least(self, node: AtLeast) -> Any:
        """Count the parts that hold."""
        return sum(np.asarray(part.accept(self), dtype=np.int64) for part in node.parts) >= node.count


def evaluate(condition: Condition, table: Table, labels: Ints8 | None = None) -> Bools:
    """Return for each example if it satisfies a condition; `labels` are those set so far (-1 unset).

    Examples
    --------
    >>> from polyrule.model import NumericCondition
    >>> evaluate(NumericCondition(0, ">", 5.5), Table.from_array([[6.0], [2.0], [float("nan")]])).tolist()
    [True, False, False]
    """

    def apply(column: Column, function: Callable[[Any], Any]) -> Any:
        if column.source == "feature":
            return table.apply(column.index, function)
        if labels is None:
            raise ModelError("a condition on a label says nothing about a table")
        return function(labels[:, column.index])

    return np.asarray(condition.predicate().accept(Evaluator(apply)))


def evaluate_column(condition: FeatureCondition, values: Floats) -> Bools:
    """Return for each value of the condition's feature if it satisfies the condition.

    Examples
    --------
    >>> from polyrule.model import MissingCondition
    >>> evaluate_column(MissingCondition(0, True), np.array([6.0, np.nan])).tolist()
    [False, True]
    """
    return np.asarray(condition.predicate().accept(Evaluator(lambda _, function: function(values))))


def evaluate_row(condition: Condition, row: Floats) -> bool:
    """Return True if one example with these feature values satisfies a condition on features."""
    return bool(condition.predicate().accept(Evaluator(lambda column, function: function(row[column.index]))))
