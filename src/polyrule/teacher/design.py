"""Features as the teacher sees them: one matrix of ordered numbers, one column per category."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from polyrule.arrays import Codes, Floats32
from polyrule.bins.binning import Binning
from polyrule.data.table import Table

_LARGEST = 25_000_000  # cells
_MOST_CATEGORIES = 100
_BLOCK_CELLS = 2_000_000


@dataclass(frozen=True, eq=False)
class Design:
    """Which features, and which of their categories, make the columns of the matrix.

    Parameters
    ----------
    binning : Binning
    features : tuple of int
        A table too wide to be held as a matrix only shows the features whose values differ most often.
    """

    binning: Binning
    features: tuple[int, ...]

    @classmethod
    def of(cls, binning: Binning, table: Table) -> Design:
        """Choose the features for a matrix of at most 25 million cells.

        A feature with more than a hundred categories is an identifier, not a property, and left out.
        """
        usable = [j for j, feature in enumerate(binning.features) if _width(binning, j)]
        width, rows = sum(_width(binning, j) for j in usable), max(1, len(table))
        if width * rows > _LARGEST:
            unusual = {j: rows - np.bincount(binning.column(j, table)).max(initial=0) for j in usable}
            chosen, left = [], _LARGEST // rows
            for j in sorted(usable, key=lambda j: (-unusual[j], j)):
                if _width(binning, j) <= left:
                    chosen.append(j)
                    left -= _width(binning, j)
            usable = sorted(chosen)
        return cls(binning, tuple(usable))

    def matrix(self, columns: Iterable[Codes], rows: int) -> Floats32:
        """Return the matrix of examples whose bins are given one feature of `features` after the other.

        Examples
        --------
        >>> table = Table.from_array([[0.5, np.nan], [2.0, 7.0]])
        >>> binning = Binning.of(table, 8)
        >>> Design.of(binning, table).matrix(binning.columns(table), 2)
        array([[ 0., nan],
               [ 1.,  0.]], dtype=float32)
        """
        found = np.zeros((rows, max(1, sum(_width(self.binning, j) for j in self.features))), dtype=np.float32)
        place = 0
        for j, column in zip(self.features, columns, strict=True):
            count, width = self.binning.count(j), _width(self.binning, j)
            if width == 1:
                found[:, place] = np.where(column == count, np.float32(np.nan), column.astype(np.float32))
            else:
                for value in range(count):
                    found[:, place + value] = column == value
            place += width
        return found

    def of_table(self, table: Table) -> Floats32:
        """Return the matrix of a table."""
        columns = (self.binning.column(j, table) for j in self.features)
        return self.matrix(columns, len(table))


def column_blocks(matrix: Floats32) -> list[slice]:
    """Cut a matrix into a few columns each, so that what is made of them stays small.

    Examples
    --------
    >>> column_blocks(np.zeros((1_000_000, 3), dtype=np.float32))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    step = max(1, _BLOCK_CELLS // max(1, len(matrix)))
    return [slice(first, first + step) for first in range(0, matrix.shape[1], step)]


def _width(binning: Binning, feature: int) -> int:
    count = binning.count(feature)
    if not binning.features[feature].is_nominal or count <= 2:
        return 1
    return count if count <= _MOST_CATEGORIES else 0
