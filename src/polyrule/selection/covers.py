"""Row masks of bodies, as bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polyrule.data.table import packed_bits, unpacked_bits
from polyrule.utils.arrays import Bools, Floats, Ints, Words
from polyrule.utils.compute import native


class Covers:
    """Rows that each body covers, as bits: 64 rows to a word, body by body.

    Examples
    --------
    >>> covers = Covers.pack(np.array([[True, True], [False, True]]))  # two bodies, two rows
    >>> covers.of(1)
    array([False,  True])
    >>> covers.sums(np.array([True, True]), np.array([[1.0], [2.0]]))
    array([[3.],
           [2.]])
    """

    def __init__(self, packed: Words, n_rows: int, threads: int = 1) -> None:
        self._packed, self._n_rows, self._threads = packed, n_rows, threads

    @classmethod
    def pack(cls, covers: Bools) -> Covers:
        """Return the covers of an array of shape (bodies, rows)."""
        return cls(packed_bits(covers), covers.shape[1])

    def __len__(self) -> int:
        return len(self._packed)

    def of(self, body: int) -> Bools:
        """Return the rows that a body covers."""
        return unpacked_bits(self._packed[body], self._n_rows)

    def any_of(self, bodies: Sequence[int]) -> Bools:
        """Return the rows that one of the bodies covers."""
        return unpacked_bits(np.bitwise_or.reduce(self._packed[list(bodies)], axis=0, initial=0), self._n_rows)

    def all_of(self, bodies: Sequence[int]) -> Bools:
        """Return the rows that all of the bodies cover."""
        if not len(bodies):
            return np.ones(self._n_rows, dtype=bool)
        return unpacked_bits(np.bitwise_and.reduce(self._packed[list(bodies)], axis=0), self._n_rows)

    def sums(self, rows: Bools, values: Floats) -> Floats:
        """Return for each body the sum of `values` over the rows of `rows` that it covers, shape (bodies, columns).

        `values` holds whole numbers below 2**53 in all, for every row.
        """
        if native is not None:
            sums = np.empty((len(self), values.shape[1]))
            native.cover_sums(self._packed, packed_bits(rows), np.ascontiguousarray(values), sums, self._threads)
            return sums
        return plain_sums(self, rows, values)

    def only(self, bodies: Ints) -> Covers:
        """Return the covers of some bodies."""
        return Covers(self._packed[bodies], self._n_rows, self._threads)

    def key(self, body: int) -> bytes:
        """Return bytes that are equal for bodies with equal covers."""
        return bytes(self._packed[body].tobytes())


def plain_sums(covers: Covers, rows: Bools, values: Floats) -> Floats:
    """Define `Covers.sums`; the compiled sums must equal it."""
    sums = [values[covers.of(body) & rows].sum(axis=0) for body in range(len(covers))]
    return np.array(sums).reshape(len(covers), values.shape[1])
