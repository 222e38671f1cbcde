"""A 0/1 label array that remembers what its columns are called."""

from __future__ import annotations

from typing import Any

import numpy as np


class LabelMatrix(np.ndarray):
    """A label array whose columns have names; selecting rows or columns keeps the right ones.

    It lets ``fit(data.X, data.Y)`` print rules with the labels' own names, also inside cross-validation. Whatever else
    is done with the array gives one without names.

    Examples
    --------
    >>> labels = LabelMatrix.of(np.array([[1, 0], [0, 1]], dtype=np.uint8), ("jazz", "calm"))
    >>> labels[[1]].names
    ('jazz', 'calm')
    >>> labels[:, [1, 0]].names
    ('calm', 'jazz')
    >>> labels.T.names is None
    True
    """

    names: tuple[str, ...] | None

    @classmethod
    def of(cls, array: Any, names: tuple[str, ...] | None) -> LabelMatrix:
        """View an array with these column names."""
        matrix = np.asarray(array).view(cls)
        matrix.names = names
        return matrix

    def __array_finalize__(self, source: Any) -> None:
        self.names = None  # an operation may have moved the columns; those below that did not say so

    def __getitem__(self, key: Any) -> Any:
        chosen = super().__getitem__(key)
        if self.names is not None and isinstance(chosen, LabelMatrix) and chosen.ndim == 2:
            chosen.names = self._names_of(key, chosen.shape[1])
        return chosen

    def _names_of(self, key: Any, width: int) -> tuple[str, ...] | None:
        """Names of the columns that an index leaves, or None if it is not plainly rows, or rows and columns."""
        names = np.array(self.names, dtype=object)
        if isinstance(key, tuple):
            key = tuple(part for part in key if part is not Ellipsis)
            if any(part is None for part in key) or len(key) > 2:
                return None
            if len(key) == 2 and isinstance(key[0], slice):
                names = names[key[1]]
            elif len(key) == 2 and not isinstance(key[1], slice):
                return None
            elif len(key) == 2:
                names = names[key[1]]
        elif isinstance(key, np.ndarray) and key.ndim != 1:
            return None
        return tuple(names) if names.ndim == 1 and len(names) == width else None

    def copy(self, order: Any = "C") -> Any:
        """Copy the array; the names stay."""
        return LabelMatrix.of(super().copy(order), self.names)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def astype(self, *args: Any, **kwargs: Any) -> Any:
        """Convert the values; the names stay."""
        return LabelMatrix.of(super().astype(*args, **kwargs), self.names)

    def take(self, indices: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Select rows (``axis=0``); the names stay."""
        chosen = super().take(indices, axis, *args, **kwargs)
        if axis == 0 and isinstance(chosen, LabelMatrix) and chosen.ndim == 2:
            chosen.names = self.names
        return chosen

    def __reduce__(self) -> Any:
        return LabelMatrix.of, (np.asarray(self), self.names)
