"""Vocabularies of texts and of lists: which words and members become features, chosen on the training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import scipy.sparse as sp

from polyrule.data.derive.stop_words import STOP_WORDS
from polyrule.data.derive.words import split_words
from polyrule.utils.arrays import Ints

MIN_ROWS = 5
"""Rows that must have a word, and that must not: no rule tests a rarer one."""
MAX_ITEMS = 1000
"""Words or members of one column; those of most rows."""


@dataclass(frozen=True)
class Items:
    """Words or members that become features, and which rows have them.

    Parameters
    ----------
    names : tuple of str
        The words, sorted.
    rows : csc_array of float64, shape (rows, words)
        1 where a row has a word.
    """

    names: tuple[str, ...]
    rows: sp.csc_array


def find_words(texts: Sequence[str], codes: Ints) -> Items:
    """Return the vocabulary of a column of texts.

    Parameters
    ----------
    texts : sequence of str
        Distinct texts.
    codes : ndarray of int
        The text of each training row, -1 if it is missing.

    Examples
    --------
    >>> items = find_words(["A zombie comes", "the zombies", "Zombie films"], np.repeat([0, 1, 2, -1], 4))
    >>> items.names, items.rows.sum(axis=0)
    (('zombie',), array([8.]))
    """
    return find_items(texts, codes, _content_words)


def _content_words(text: str) -> set[str]:
    return {word for word in split_words(text) if len(word) > 1 and word not in STOP_WORDS}


def find_items(texts: Sequence[str], codes: Ints, split: Callable[[str], Iterable[str]]) -> Items:
    """Return the items into which `split` divides texts, without those of too few or too many rows.

    Of items that the same rows have, the longest stays.
    """
    counts = np.bincount(codes[codes >= 0], minlength=len(texts))
    index: dict[str, int] = {}
    used = [text if counts[code] else "" for code, text in enumerate(texts)]
    lists = [[index.setdefault(item, len(index)) for item in sorted(set(split(text)))] for text in used]
    starts = np.concatenate([[0], np.cumsum([len(items) for items in lists])])
    places = np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(starts[-1]))
    by_text = sp.csr_array((np.ones(len(places)), places, starts), shape=(len(texts), len(index)))
    n_rows = np.asarray(by_text.T @ counts.astype(np.float64)).astype(np.int64)
    names = list(index)
    frequent = np.flatnonzero((n_rows >= MIN_ROWS) & (n_rows <= len(codes) - MIN_ROWS))
    largest = sorted(frequent.tolist(), key=lambda j: (-n_rows[j], names[j]))[:MAX_ITEMS]
    selected = sp.csc_array(by_text[:, largest])
    chosen = sorted(_distinct(selected, [names[j] for j in largest], counts))
    by_chosen = sp.csr_array(selected[:, [place for _, place in chosen]])
    rows = sp.csr_array(sp.vstack([by_chosen, sp.csr_array((1, len(chosen)))]))[codes]  # -1 is the last row
    return Items(tuple(name for name, _ in chosen), sp.csc_array(rows))


def _distinct(by_text: sp.csc_array, names: Sequence[str], counts: Ints) -> list[tuple[str, int]]:
    """Return items and their columns, one of those with equal rows."""
    longest: dict[bytes, int] = {}
    by_text.sort_indices()
    for place, name in enumerate(names):
        texts = by_text.indices[by_text.indptr[place] : by_text.indptr[place + 1]]
        key = texts[counts[texts] > 0].tobytes()
        other = longest.get(key)
        if other is None or (len(name), names[other]) > (len(names[other]), name):
            longest[key] = place
    return [(names[place], place) for place in longest.values()]
