"""Labels from a column of tags: ``jazz|calm`` becomes two labels."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.data.columns import counted, shorten
from polyrule.data.formats.encoders import Place
from polyrule.errors import DataError, DataWarning, OptionError
from polyrule.utils.messages import argument, depth_of_caller

LARGEST_DENSE_LABELS = 50_000_000
"""Label matrices with more cells than this are sparse."""


SEPARATORS = ("|", ";", ",")
"""What separates tags in a column of texts that somebody gives as y."""

OTHER_SEPARATORS = ("/", "+", "&")
"""What might separate tags, too, but is asked about rather than assumed."""


def likely_separator(texts: Iterable[str], separators: Sequence[str] = (*SEPARATORS, *OTHER_SEPARATORS)) -> str | None:
    """Return the separator of tags in texts: it occurs, and the parts recur, so that they are fewer than the texts.

    Examples
    --------
    >>> likely_separator(["a;b", "b", "a;b;c", "c"]), likely_separator(["Smith, John", "Miller, Jane"])
    (';', None)
    """
    values = set(texts)
    for separator in separators:
        parts = {part.strip() for value in values for part in value.split(separator)} - {""}
        if any(separator in value for value in values) and len(parts) < len(values):
            return separator
    return None


def find_separator(cells: Iterable[Any], vocabulary: Sequence[str] | None = None) -> str:
    """Return the separator of a column of tags, as far as these cells show it.

    Since it is known that they are tags, one that occurs in two different cells is enough, or one in the `vocabulary`.

    >>> find_separator(["jazz;calm", "calm", None, "jazz", "jazz;calm;slow", "slow"])
    ';'
    >>> find_separator(["calm, sad", "calm", "happy"]), find_separator(["Smith, John", "Miller, Jane"])
    (',', '|')
    >>> find_separator(["calm; sad"], ["calm", "happy"])
    ';'
    """
    texts = {cell for cell in cells if isinstance(cell, str)}
    for separator in filter(None, (likely_separator(texts, SEPARATORS), *SEPARATORS)):
        tags = Counter(part for text in texts for part in {part.strip() for part in text.split(separator)})
        parted = {part.strip() for text in texts if separator in text for part in text.split(separator)}
        if parted and (max(tags.values()) > 1 if vocabulary is None else not parted.isdisjoint(vocabulary)):
            return separator
    return SEPARATORS[0]


def warn_about_strange_tags(strange: Counter[str], source: str) -> None:
    """Describe the tags that are no labels, with their counts."""
    if not strange:
        return
    warnings.warn(
        f"{source}: {strange.total()} tag(s) are none of the labels and left out: {counted(strange)}",
        DataWarning,
        stacklevel=depth_of_caller(),
    )


def warn_about_tags(names: Sequence[str], used: str, source: str, column: str) -> None:
    """Warn if labels read from a column of tags look like several tags each, separated by something else."""
    separator = likely_separator(names, [mark for mark in (*SEPARATORS, *OTHER_SEPARATORS) if mark != used])
    if separator is not None:
        example = next(name for name in names if separator in name)
        warnings.warn(
            f"{source}: labels from column {column!r} such as {shorten(example)} look like several tags; if they are, "
            f"pass {argument('tag_separator', separator)}",
            DataWarning,
            stacklevel=depth_of_caller(),
        )


class TagCollector:
    """Gathers the tags of every row; the labels are all tags seen (sorted, whole numbers by value), or those given.

    Examples
    --------
    >>> tags = TagCollector("|")
    >>> tags.add(["jazz|calm", "", None, "calm"], Place("songs.csv", "mood", [2, 3, 4, 5]))
    >>> tags.matrix()
    (array([[1, 1], [0, 0], [0, 0], [1, 0]], dtype=uint8), ('calm', 'jazz'))

    Parameters
    ----------
    separator : str
    known : sequence of str, optional
        All labels there are. A tag that is none of them is an error, or counted in `strange` if that is given.
    strange : Counter, optional
    """

    def __init__(
        self, separator: str = "|", vocabulary: Sequence[str] | None = None, strange: Counter[str] | None = None
    ) -> None:
        if not separator:
            raise OptionError(parameter="tag_separator", value=separator, allowed="at least one character")
        self.separator = separator
        self._vocabulary = None if vocabulary is None else tuple(vocabulary)
        self.strange = strange
        self._clear()

    def _clear(self) -> None:
        self._rows: list[int] = []
        self._tags: list[int] = []
        self._index: dict[str, int] = {name: code for code, name in enumerate(self._vocabulary or ())}
        self._count = 0

    def add(self, cells: Sequence[Any], place: Place) -> None:
        """Take in the cells of the tags column; a cell may also be a list of tags."""
        for row, cell in enumerate(cells):
            for tag in self._split(cell, row, place):
                code = self._index.get(tag)
                if code is None:
                    if self._vocabulary is not None and self.strange is not None:
                        self.strange[tag] += 1
                        continue
                    if self._vocabulary is not None:
                        raise place.error(row, f"the tag {shorten(tag)} is not among the given labels")
                    code = self._index[tag] = len(self._index)
                self._rows.append(self._count)
                self._tags.append(code)
            self._count += 1

    @property
    def entries(self) -> int:
        """Number of tags in the rows since the last matrix."""
        return len(self._tags)

    @property
    def is_known(self) -> bool:
        """True if the labels are fixed before the first row."""
        return self._vocabulary is not None

    def learn(self, cells: Sequence[Any], place: Place) -> None:
        """Add the tags in cells without storing the rows."""
        if self.is_known:
            return
        self.add(cells, place)
        self._rows, self._tags, self._count = [], [], 0

    def freeze(self) -> None:
        """Fix the labels seen so far."""
        if self._vocabulary is None:
            self._vocabulary = self._sorted()
        self._clear()

    def matrix(self) -> tuple[Any, tuple[str, ...]]:
        """Return labels and their names for the rows since the last call."""
        names = self._vocabulary if self._vocabulary is not None else self._sorted()
        rank = {name: code for code, name in enumerate(names)}
        order = np.array([rank[name] for name in self._index], dtype=np.int64)
        columns = order[np.array(self._tags, dtype=np.int64)]
        labels = label_matrix(np.array(self._rows, dtype=np.int64), columns, self._count, len(names))
        self._clear()
        return labels, names

    def _sorted(self) -> tuple[str, ...]:
        return tuple(sorted(self._index, key=_natural))

    def _split(self, cell: Any, row: int, place: Place) -> list[str]:
        if cell is None:
            return []
        if isinstance(cell, (list, tuple)):
            tags = cell
        elif isinstance(cell, str):
            tags = cell.split(self.separator)
        else:
            raise place.error(row, f"expected tags separated by {self.separator!r}, found {shorten(cell)}")
        if not all(isinstance(tag, str) for tag in tags):
            raise place.error(row, f"every tag must be text, found {shorten(cell)}")
        stripped = [tag.strip() for tag in tags]
        return list(dict.fromkeys(tag for tag in stripped if tag))


def _natural(tag: str) -> tuple[int, int, str]:
    """The order of labels: whole numbers by value, then text."""
    is_number = tag.isascii() and tag.isdigit() and len(tag) < 19
    return (0, int(tag), tag) if is_number else (1, 0, tag)


def label_matrix(rows: Any, columns: Any, height: int, width: int) -> Any:
    """Make a label matrix from the places of its ones: dense unless it would be large.

    Examples
    --------
    >>> label_matrix([0, 1], [1, 0], 2, 2)
    array([[0, 1], [1, 0]], dtype=uint8)
    """
    if height * width <= LARGEST_DENSE_LABELS:
        labels = np.zeros((height, width), dtype=np.uint8)
        labels[rows, columns] = 1
        return labels
    if width > np.iinfo(np.int32).max:
        raise DataError(f"{width} labels are too many")
    matrix = sp.csr_array((np.ones(len(rows), dtype=np.uint8), (rows, columns)), shape=(height, width))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix
