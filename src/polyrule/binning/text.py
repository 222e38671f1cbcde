"""Detection of tables of words."""

from __future__ import annotations

import numpy as np

from polyrule.data.table import Table

#: A table looks like text from this number of columns on, if this share of its values is common in its column.
MIN_WORDS, COMMON_SHARE = 50, 0.8
_MAX_EXAMPLES = 1000


def looks_like_text(table: Table) -> bool:
    """Return True if a table has many features with a dominant value, as the zeros of word counts are.

    Examples
    --------
    >>> looks_like_text(Table.from_array(np.eye(60))), looks_like_text(Table.from_array(np.eye(20)))
    (True, False)
    """
    if table.shape[1] < MIN_WORDS or not len(table):
        return False
    sample = table[np.arange(0, len(table), 1 + (len(table) - 1) // _MAX_EXAMPLES)]
    common = sum(int(sample.spans(j)[2].max(initial=0)) for j in range(table.shape[1]))
    return common >= COMMON_SHARE * len(sample) * table.shape[1]
