"""Counts as they travel between machines: only what cannot be found from the rest, in as few bytes as hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.scale.coded import KINDS, Counts
from polyrule.scale.questions import CountRows
from polyrule.scale.row_counts import fill_usual


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """Counts without the usual kind of each label, which the weight gives back, and without kinds that no row has.

    Examples
    --------
    >>> kinds = np.array([[[5, 2, 0, 0]], [[0, 3, 0, 0]]])
    >>> sent = Parcel.of(Counts(kinds, np.array([7, 3])), usual=(0,))
    >>> sent.cells.tolist(), sent.cells.dtype.name
    ([[2], [3]], 'uint8')
    >>> bool(((sent + sent).counts().kinds == 2 * kinds).all())
    True
    """

    places: tuple[int, ...]
    cells: Any
    weight: Any
    usual: tuple[int, ...]

    @classmethod
    def of(cls, counts: Counts, usual: tuple[int, ...]) -> Parcel:
        """Pack counts."""
        flat = counts.kinds.reshape(len(counts.weight), -1)
        sent = flat.any(axis=0)
        sent[[label * KINDS + kind for label, kind in enumerate(usual)]] = False
        return cls(tuple(np.flatnonzero(sent).tolist()), _narrow(flat[:, sent]), _narrow(counts.weight), usual)

    def __add__(self, other: Parcel) -> Parcel:
        places = tuple(sorted({*self.places, *other.places}))
        cells = np.zeros((len(self.weight), len(places)), dtype=np.int64)
        for parcel in (self, other):
            cells[:, np.searchsorted(places, parcel.places)] += parcel.cells
        weight = self.weight.astype(np.int64) + other.weight
        return Parcel(places, _narrow(cells), _narrow(weight), self.usual)

    def counts(self) -> Counts:
        """Unpack."""
        weight = self.weight.astype(np.int64)
        flat = np.zeros((len(weight), len(self.usual) * KINDS), dtype=np.int64)
        flat[:, self.places] = self.cells
        kinds = flat.reshape(len(weight), len(self.usual), KINDS)
        fill_usual(kinds, weight, self.usual)
        return Counts(kinds, weight)


def packed_answer(answer: Any, question: Any) -> Any:
    """Make tables of counts small; other answers are."""
    return Parcel.of(answer, question.usual) if isinstance(question, CountRows) else answer


def unpacked_answer(answer: Any) -> Any:
    """Return what `packed_answer` was given."""
    return answer.counts() if isinstance(answer, Parcel) else answer


def _narrow(counts: Any) -> Any:
    most = int(counts.max(initial=0))
    return counts.astype(np.int64 if most >> 32 else np.min_scalar_type(most))  # int64 and uint64 would add as floats
