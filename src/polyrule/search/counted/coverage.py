"""Which bodies cover which rows of codes, and what a list does there, without the values behind the codes.

A test is true or false for each code of its column. A body has parts, each with the number of tests that must hold: all
its plain conditions are one, every group is another. Each part counts in a few bits of a word, and what a code adds to
all parts of a word is looked up once for a column, however many tests ask about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polyrule.binning.bins import Bins
from polyrule.conditions.packed import GROUP, LABEL, PackedBodies
from polyrule.data.table import looked_up
from polyrule.model.rule_list import RuleList
from polyrule.utils.arrays import Array, Bools, Bytes, Ints, Words

_BITS = 64


@dataclass(frozen=True)
class _Part:
    """Tests of which at least `min_tests` must hold, and the bits that count them."""

    tests: tuple[int, ...]
    min_tests: int
    word: int = 0
    shift: int = 0

    @property
    def bits(self) -> int:
        return len(self.tests).bit_length()


@dataclass(frozen=True, eq=False)
class EncodedBodies:
    """Bodies that test features only, as tables to look codes up in.

    Examples
    --------
    >>> from polyrule.data.table import Feature
    >>> from polyrule.conditions import NumericCondition
    >>> flat = PackedBodies.of([[NumericCondition(0, ">", 1.5)], []], [Feature("x")])
    >>> bodies = EncodedBodies.of(flat, (Bins(np.array([1.0, 2.0]), np.array([1.0, 2.0])),))
    >>> [covered.tolist() for covered in bodies.covers(np.array([[0, 1, 2]], dtype=np.uint8))]  # 2: missing
    [[False, True, False], [True, True, True]]
    """

    parts: tuple[tuple[_Part, ...], ...]  # by body
    columns: Ints
    sizes: tuple[int, ...]  # codes of each column
    tables: tuple[Words, ...]  # by word, one column after the other

    @classmethod
    def of(cls, flat: PackedBodies, bins: tuple[Bins, ...]) -> EncodedBodies:
        """Make the tables."""
        values = [np.append(bins[column].highs, np.nan) for column in flat.used.tolist()]
        starts = np.cumsum([0, *map(len, values)]).tolist()
        parts, tables, shift = [], [np.zeros(starts[-1], dtype=np.uint64)], 0
        for rule in range(flat.rules):
            placed = []
            for part in _parts(flat, rule):
                if shift + part.bits > _BITS:
                    tables.append(np.zeros(starts[-1], dtype=np.uint64))
                    shift = 0
                for test in part.tests:
                    column = int(flat.index[test])
                    satisfied = flat.satisfied(test, values[column])
                    tables[-1][starts[column] : starts[column + 1]] += satisfied.astype(np.uint64) << np.uint64(shift)
                placed.append(_Part(part.tests, part.min_tests, len(tables) - 1, shift))
                shift += part.bits
            parts.append(tuple(placed))
        return cls(tuple(parts), flat.used.astype(np.int64), tuple(map(len, values)), tuple(tables))

    def covers(self, codes: Array) -> Iterator[Bools]:
        """Yield for one body after the other which rows it covers; `codes` are given by column."""
        used_codes = codes[self.columns]
        words = [looked_up(used_codes, table, self.sizes) for table in self.tables]
        for parts in self.parts:
            covered = np.ones(codes.shape[1], dtype=bool)
            for part in parts:
                counted = (words[part.word] >> np.uint64(part.shift)).astype(np.uint32)
                covered &= (counted & np.uint32((1 << part.bits) - 1)) >= part.min_tests
            yield covered

    def weights(self, codes: Array, weights: Ints | None) -> Ints:
        """Return the weight of the rows that each body covers; without weights, all are 1."""
        return np.array([_weight(covered, weights) for covered in self.covers(codes)], dtype=np.int64)


def reads_codes(flat: PackedBodies) -> bool:
    """Return True if bodies test nothing but features."""
    return not (flat.kind == LABEL).any()


def encoded_list_counts(
    model: RuleList, bodies: EncodedBodies, codes: Array, truth: Bytes, weights: Ints | None
) -> Ints:
    """Return `polyrule.model.counting.list_counts` for a list without stops whose rules set their heads."""
    present = np.ascontiguousarray(truth.T).view(bool)
    free = np.ones(present.shape, dtype=bool)
    counts = np.zeros((5, 1 + len(model), len(present)), dtype=np.int64)
    for number, (rule, covered) in enumerate(zip(model.rules, bodies.covers(codes), strict=True), start=1):
        counts[2, number, 0] = _weight(covered, weights)
        for literal in rule.head:
            fresh = covered & free[literal.label]
            free[literal.label] &= ~covered
            right = _weight(fresh & (present[literal.label] == bool(literal.value)), weights)
            counts[:2, number, literal.label] = right, _weight(fresh, weights) - right
            right = _weight(covered & (present[literal.label] == bool(literal.value)), weights)
            counts[3:, number, literal.label] = right, _weight(covered, weights) - right
    for label, (left, has) in enumerate(zip(free, present, strict=True)):
        right = _weight(left & has, weights)
        counts[:2, 0, label] = right, _weight(left, weights) - right
    return counts


def _parts(flat: PackedBodies, rule: int) -> Iterator[_Part]:
    """Yield the parts of a body."""
    plain, test, end = [], int(flat.start[rule]), int(flat.start[rule + 1])
    while test < end:
        if flat.kind[test] == GROUP:
            members = tuple(range(test + 1, test + 1 + int(flat.index[test])))
            yield _Part(members, int(flat.value[test]))
            test = members[-1]
        else:
            plain.append(test)
        test += 1
    if plain:
        yield _Part(tuple(plain), len(plain))


def _weight(rows: Bools, weights: Ints | None) -> int:
    return int(np.count_nonzero(rows)) if weights is None else int(weights[rows].sum())
