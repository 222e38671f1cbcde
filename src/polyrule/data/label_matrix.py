"""A 0/1 label array that remembers what its columns are called."""

from __future__ import annotations

from typing import Any

import numpy as np


class LabelMatrix(np.ndarray):
    """A label array whose columns have names; selecting rows keeps them, anything else gives a plain result.

    It lets ``fit(data.X, data.Y)`` print rules with the labels' own names, also inside cross-validation.

    Examples
    --------
    >>> labels = LabelMatrix.of(np.array([[1, 0], [0, 1]], dtype=np.uint8), ("jazz", "calm"))
    >>> labels[[1]].names
    ('jazz', 'calm')
    >>> labels.sum(axis=0).names is None
    True
    """

    names: tuple[str, ...] | None

    @classmethod
    def of(cls, array: Any, names: tuple[str, ...]) -> LabelMatrix:
        """View an array with these column names."""
        matrix = np.asarray(array).view(cls)
        matrix.names = names
        return matrix

    def __array_finalize__(self, source: Any) -> None:
        names = getattr(source, "names", None)
        fits = names is not None and self.ndim == 2 and self.shape[1] == len(names) == source.shape[-1]
        self.names = names if fits else None

    def __reduce__(self) -> Any:
        return LabelMatrix.of, (np.asarray(self), self.names) if self.names else super().__reduce__()
