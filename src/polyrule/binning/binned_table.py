"""Codes of all examples, so that one pass over the examples evaluates every condition on a feature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyrule.binning.binning import Binning
from polyrule.binning.code_tests import AnyTest, satisfied, sign_of
from polyrule.utils.arrays import Bools, Codes, Ints32

# A column is listed, not stored whole, if one code holds for at least this share of the rows.
_MIN_LISTED_SHARE = 0.75


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Codes of all examples, in the form that the search kernels read.

    A feature with one code in most rows (the zeros of word counts, the dominant category) only lists the other rows.

    Parameters
    ----------
    dense : ndarray of uint16, shape (slots, rows)
    slot : ndarray of int32
        Per feature, its row in `dense`; -1 where it is listed.
    count : ndarray of int32
        Bins per feature; also the code of missing values.
    nominal : ndarray of uint8
    common : ndarray of int32
        Per listed feature, the code of the rows that are not listed.
    starts, listed_rows, listed_codes : ndarray
        The listed entries of feature f are ``starts[f]:starts[f + 1]``.
    direction : ndarray of int8
        Per feature, 1 or -1 if scores may only rise or only fall with it, else 0.
    forbidden : ndarray of int32
        Per feature, a code that no condition may hold for, else -1.
    """

    dense: Codes
    slot: npt.NDArray[np.int32]
    count: npt.NDArray[np.int32]
    nominal: npt.NDArray[np.uint8]
    common: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    listed_rows: Ints32
    listed_codes: Codes
    rows: int
    direction: npt.NDArray[np.int8]
    forbidden: npt.NDArray[np.int32]

    @classmethod
    def of(
        cls,
        binning: Binning,
        columns: Iterable[Codes],
        direction: npt.NDArray[np.int8] | None = None,
        words: Bools | None = None,
    ) -> BinnedTable:
        """Arrange codes; `columns` yields those of one feature after the other.

        No condition on one of the `words` may hold for the code that means "absent": conditions test that a word is
        present, not that it is absent.
        """
        features = len(binning.features)
        slot = np.full(features, -1, dtype=np.int32)
        common = np.full(features, -1, dtype=np.int32)
        forbidden = np.full(features, -1, dtype=np.int32)
        count = np.array(binning.counts, dtype=np.int32)
        dense: list[Codes] = []
        rows: list[Ints32] = []
        codes: list[Codes] = []
        lengths: list[int] = []
        total = 0
        for j, column in enumerate(columns):
            total = len(column)
            counts = np.bincount(column, minlength=1)
            dominant = int(np.argmax(counts))
            if words is not None and words[j]:
                forbidden[j] = binning.absent(j, counts)
            if counts[dominant] >= _MIN_LISTED_SHARE * total:
                common[j] = dominant
                listed = np.flatnonzero(column != dominant).astype(np.int32)
                rows.append(listed)
                codes.append(column[listed])
                lengths.append(len(listed))
            else:
                slot[j] = len(dense)
                dense.append(column)
                lengths.append(0)
        return cls(
            dense=np.array(dense, dtype=np.uint16).reshape(len(dense), total),
            slot=slot,
            count=count,
            nominal=np.array([feature.is_nominal for feature in binning.features], dtype=np.uint8),
            common=common,
            starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            listed_rows=np.concatenate(rows).astype(np.int32) if rows else np.empty(0, dtype=np.int32),
            listed_codes=np.concatenate(codes).astype(np.uint16) if codes else np.empty(0, dtype=np.uint16),
            rows=total,
            direction=np.zeros(features, dtype=np.int8) if direction is None else direction,
            forbidden=forbidden,
        )

    def only(self, features: Sequence[int]) -> BinnedTable:
        """Return the table of the selected features, renumbered from 0."""
        places = np.asarray(features, dtype=np.int64)
        ranges = [np.arange(self.starts[feature], self.starts[feature + 1]) for feature in features]
        entries = np.concatenate([np.arange(0), *ranges])  # even for no feature
        slot = self.slot[places]
        stored = slot >= 0
        return BinnedTable(
            dense=np.ascontiguousarray(self.dense[slot[stored]]),
            slot=np.where(stored, np.cumsum(stored) - 1, -1).astype(np.int32),
            count=self.count[places],
            nominal=self.nominal[places],
            common=self.common[places],
            starts=np.cumsum([0, *map(len, ranges)]).astype(np.int64),
            listed_rows=self.listed_rows[entries],
            listed_codes=self.listed_codes[entries],
            rows=self.rows,
            direction=self.direction[places],
            forbidden=self.forbidden[places],
        )

    def sign(self, tests: Iterable[AnyTest]) -> int:
        """Return the sign that the weights of a body must have, 0 for any."""
        return sign_of(tests, self.direction)

    def column(self, feature: int) -> Codes:
        """Return the codes of one feature for all rows."""
        if self.slot[feature] >= 0:
            return np.asarray(self.dense[self.slot[feature]])
        column = np.full(self.rows, self.common[feature], dtype=np.uint16)
        entries = slice(self.starts[feature], self.starts[feature + 1])
        column[self.listed_rows[entries]] = self.listed_codes[entries]
        return column

    def satisfied(self, test: AnyTest) -> Bools:
        """Mark the rows that satisfy a test; a missing value satisfies none."""
        return satisfied(test, lambda feature: (self.column(feature), int(self.count[feature])))

    def covered(self, test: AnyTest, rows: Ints32) -> Ints32:
        """Return those of `rows` that satisfy a test."""
        return rows[self.satisfied(test)[rows]]
