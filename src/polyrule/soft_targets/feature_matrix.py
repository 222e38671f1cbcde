"""Features of a table as columns of numbers for the soft-label model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from polyrule.binning.binning import Binning
from polyrule.data.table import Table
from polyrule.utils.arrays import Codes, Floats32

_MAX_CELLS = 25_000_000
_MAX_CATEGORIES = 100


@dataclass(frozen=True, eq=False)
class FeatureMatrix:
    """Features, and their categories, that become columns of a matrix.

    Parameters
    ----------
    binning : Binning
    features : tuple of int
        A table too wide for a matrix only keeps the features whose values differ most often.
    """

    binning: Binning
    features: tuple[int, ...]

    @classmethod
    def of(cls, binning: Binning, table: Table) -> FeatureMatrix:
        """Choose the features for a matrix of at most 25 million cells.

        A feature with more than a hundred categories is an identifier, not a property, and is left out.
        """
        usable = [j for j, feature in enumerate(binning.features) if _width(binning, j)]
        width, rows = sum(_width(binning, j) for j in usable), max(1, len(table))
        if width * rows > _MAX_CELLS:
            uncommon = {j: rows - np.bincount(binning.column(j, table)).max(initial=0) for j in usable}
            selected, room = [], _MAX_CELLS // rows
            for j in sorted(usable, key=lambda j: (-uncommon[j], j)):
                if _width(binning, j) <= room:
                    selected.append(j)
                    room -= _width(binning, j)
            usable = sorted(selected)
        return cls(binning, tuple(usable))

    def from_codes(self, columns: Iterable[Codes], rows: int) -> Floats32:
        """Return the matrix of examples whose codes are passed one feature of `features` after the other.

        Examples
        --------
        >>> table = Table.from_array([[0.5, np.nan], [2.0, 7.0]])
        >>> binning = Binning.of(table, 8)
        >>> FeatureMatrix.of(binning, table).from_codes(binning.columns(table), 2)
        array([[ 0., nan],
               [ 1.,  0.]], dtype=float32)
        """
        matrix = np.zeros((rows, max(1, sum(_width(self.binning, j) for j in self.features))), dtype=np.float32)
        place = 0
        for j, column in zip(self.features, columns, strict=True):
            count, width = self.binning.count(j), _width(self.binning, j)
            if width == 1:
                matrix[:, place] = np.where(column == count, np.float32(np.nan), column.astype(np.float32))
            else:
                for value in range(count):
                    matrix[:, place + value] = column == value
            place += width
        return matrix

    def from_table(self, table: Table) -> Floats32:
        """Return the matrix of a table."""
        columns = (self.binning.column(j, table) for j in self.features)
        return self.from_codes(columns, len(table))


def _width(binning: Binning, feature: int) -> int:
    count = binning.count(feature)
    if not binning.features[feature].is_nominal or count <= 2:
        return 1
    return count if count <= _MAX_CATEGORIES else 0
