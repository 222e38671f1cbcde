"""The table that learners see, made from the columns that the user has."""

from __future__ import annotations

import warnings
from collections.abc import Collection

from polyrule.data.identifiers import find_identifiers, identifier_messages, without_values
from polyrule.data.table import Table
from polyrule.errors import DataWarning
from polyrule.utils.messages import depth_of_caller


def prepare(table: Table, keep: Collection[str] = (), forbidden: Collection[str] = ()) -> Table:
    """Return the table to learn from: identifiers are left out, with a warning.

    Parameters
    ----------
    table : Table
        The training rows.
    keep : collection of str
        Columns that are used even if they identify rows.
    forbidden : collection of str
        Columns that no rule may test, of which no warning is needed.

    Examples
    --------
    >>> from polyrule.data.table import Feature
    >>> table = Table.from_array([[1000.0 + j] for j in range(100)], [Feature("patient")])
    >>> prepare(table, keep=["patient"]) is table
    True
    """
    positions = find_identifiers(table, keep)
    told = [table.features[j] for j in positions if table.features[j].name not in forbidden]
    for message, names in identifier_messages(told):
        column = "column" if len(names) == 1 else "columns"
        warnings.warn(f"{column} {message}", DataWarning, stacklevel=depth_of_caller())
    return without_values(table, positions)
