"""Detection of tables of words."""

from __future__ import annotations

import numpy as np

from polyrule.data.table import Table
from polyrule.utils.arrays import Bools

#: A table looks like text from this number of columns on, if this share of its values is common in its column.
MIN_WORDS, COMMON_SHARE = 50, 0.8
_MAX_EXAMPLES = 1000


def word_columns(table: Table) -> tuple[Bools, bool]:
    """Mark the columns that look like words, and return True if the whole table looks like text.

    A column looks like a word if one value, as the zeros of a word count, has 80 % of the rows, and there are at least
    50 such columns. The table looks like text if one value has 80 % of the rows on average; then all columns may be
    words, also frequent ones.

    Examples
    --------
    >>> words, is_text = word_columns(Table.from_array(np.hstack([np.eye(60), np.arange(3600).reshape(60, 60)])))
    >>> int(words.sum()), is_text
    (60, False)
    """
    columns = table.shape[1]
    if columns < MIN_WORDS or not len(table):
        return np.zeros(columns, dtype=bool), False
    sample = table[np.arange(0, len(table), 1 + (len(table) - 1) // _MAX_EXAMPLES)]
    shares = np.array([sample.spans(j)[2].max(initial=0) / len(sample) for j in range(columns)])
    is_text = bool(shares.mean() >= COMMON_SHARE)
    words = shares >= COMMON_SHARE
    return (words | is_text) & (words.sum() >= MIN_WORDS or is_text), is_text


def looks_like_text(table: Table) -> bool:
    """Return True if a table has many features with a dominant value, as the zeros of word counts are.

    Examples
    --------
    >>> looks_like_text(Table.from_array(np.eye(60))), looks_like_text(Table.from_array(np.eye(20)))
    (True, False)
    """
    return word_columns(table)[1]
