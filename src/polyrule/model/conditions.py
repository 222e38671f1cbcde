"""What a condition says of the examples of a table."""

from __future__ import annotations

import numpy as np

from polyrule.arrays import Bools
from polyrule.data.table import Table
from polyrule.errors import ModelError
from polyrule.model.rule import Condition, LabelCondition, NominalCondition, NumericCondition


def holds(condition: Condition, table: Table) -> Bools:
    """Return for every example whether the condition is satisfied; a missing value satisfies no comparison.

    Examples
    --------
    >>> holds(NumericCondition(0, ">", 5.5), Table.from_array([[6.0], [2.0], [float("nan")]])).tolist()
    [True, False, False]
    """
    match condition:
        case NumericCondition(feature, op, threshold):
            column = table.column(feature)
            return np.asarray(column <= threshold if op == "<=" else column > threshold)
        case NominalCondition(feature, value):
            return np.asarray(table.column(feature) == value)
        case LabelCondition():
            raise ModelError("a condition on a label says nothing about a table")
