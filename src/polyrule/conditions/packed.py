"""Bodies of rules as plain arrays, the only input of prediction kernels, with a NumPy definition of the kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.conditions.base import Condition
from polyrule.conditions.evaluate import Evaluator
from polyrule.conditions.predicate import AtLeast, Column, Compare, Leaf, Missing, OneOf
from polyrule.data.sparse import stored_cells
from polyrule.data.table import Feature
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints, Ints8, Ints32
from polyrule.utils.compute import native

# Kinds of tests, as in native/predict/kinds.h.
AT_MOST, ABOVE, CATEGORY, LABEL, IN, MISSING, GROUP = 0, 1, 2, 3, 4, 5, 6

# Values of the used columns and label states in memory at once; 4 million of each are about 70 MB.
_CHUNK_CELLS = 4_000_000

Block = Floats
"""Some rows of the used columns, dense."""


class _Packer:
    """Visitor that appends the tests of a predicate: kind, index, value."""

    def __init__(self, features: Sequence[Feature]) -> None:
        self.features = features
        self.tests: list[tuple[int, int, float]] = []
        self.sets: list[int] = []

    def compare(self, node: Compare) -> None:
        self.tests.append((AT_MOST if node.op == "<=" else ABOVE, node.column.index, node.value))

    def one_of(self, node: OneOf) -> None:
        if node.column.source == "label" or len(node.codes) == 1:
            kind = LABEL if node.column.source == "label" else CATEGORY
            self.tests.append((kind, node.column.index, node.codes[0]))
            return
        self.tests.append((IN, node.column.index, len(self.sets)))
        count = len(self.features[node.column.index].categories)
        self.sets += [count, *(code in node.codes for code in range(count))]

    def missing(self, node: Missing) -> None:
        self.tests.append((MISSING, node.column.index, node.missing))

    def at_least(self, node: AtLeast) -> None:
        self.tests.append((GROUP, len(node.parts), node.count))
        for part in node.parts:
            part.accept(self)


@dataclass(frozen=True, eq=False)
class PackedBodies:
    """The bodies of rules as plain arrays.

    The tests of rule r are ``start[r]:start[r + 1]``; its body holds if all of them do. A `GROUP` is followed by its
    members: it holds if enough of them do.
    """

    kind: Bytes  # per test: `AT_MOST`, `ABOVE`, `CATEGORY`, `LABEL`, `IN`, `MISSING` or `GROUP`
    # Per test: position of its column in `used`; for `LABEL` the label, for `GROUP` the number of members that follow
    index: Ints32
    # Per test: threshold, category, 0/1; for `IN` the start of its set in `sets`, for `GROUP` the number of members
    # that must hold
    value: Floats
    start: Ints32  # offsets, one more than there are rules
    # One set after the other: the number of categories of the feature, and for each 1 if it belongs to the set
    sets: Ints32
    used: Ints32  # columns that some test reads, ascending

    @classmethod
    def of(cls, bodies: Iterable[Iterable[Condition]], features: Sequence[Feature]) -> PackedBodies:
        """Pack bodies of rules of any type of model."""
        packer = _Packer(features)
        start = [0]
        for body in bodies:
            for condition in body:
                condition.predicate().accept(packer)
            start.append(len(packer.tests))
        kinds, places = (np.array([test[i] for test in packer.tests], dtype=np.int32) for i in (0, 1))
        on_columns = (kinds != LABEL) & (kinds != GROUP)
        used, places[on_columns] = np.unique(places[on_columns], return_inverse=True)
        return cls(
            kind=kinds.astype(np.uint8),
            index=places,
            value=np.array([test[2] for test in packer.tests], dtype=np.float64),
            start=np.array(start, dtype=np.int32),
            sets=np.array(packer.sets, dtype=np.int32),
            used=used,
        )

    @property
    def rules(self) -> int:
        """Number of rules."""
        return len(self.start) - 1

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Arguments of the native kernels."""
        return self.kind, self.index, self.value, self.start, self.sets, self.used

    def fired(self, rule: int, block: Block, rows: Ints, state: Ints8 | None = None) -> Ints:
        """Return the rows among `rows` that satisfy the body; `state` contains the labels set so far (-1 unset)."""
        test, end = int(self.start[rule]), int(self.start[rule + 1])
        while test < end:
            if self.kind[test] == GROUP:
                members = range(test + 1, test + 1 + int(self.index[test]))
                counts = sum(self._holds(member, block, rows, state).astype(np.int64) for member in members)
                rows, test = rows[counts >= self.value[test]], members.stop
            else:
                rows, test = rows[self._holds(test, block, rows, state)], test + 1
        return rows

    def _holds(self, test: int, block: Block, rows: Ints, state: Ints8 | None) -> Bools:
        index = int(self.index[test])
        if self.kind[test] == LABEL:
            assert state is not None, "only lists test labels"
            return self.satisfied(test, state[rows, index])
        return self.satisfied(test, block[rows, index])

    def satisfied(self, test: int, values: Any) -> Bools:
        """Return which values of its column, or of its label, satisfy a test."""
        return _evaluate(self._leaf(int(self.kind[test]), self.value[test]), values)

    def passed(self, row: Floats) -> Bools:
        """Return for each test if one example with these feature values satisfies it.

        Tests of labels pass, and so do members of a group, whose count is in the entry of the group.
        """
        passed = np.ones(len(self.kind), dtype=np.bool_)
        for kind in set(self.kind.tolist()) - {LABEL, GROUP}:
            tests = np.flatnonzero(self.kind == kind)
            values = row[self.used[self.index[tests]]]
            if kind == IN:
                passed[tests] = [
                    self.satisfied(test, value) for test, value in zip(tests.tolist(), values, strict=True)
                ]
            else:
                passed[tests] = _evaluate(self._leaf(kind, self.value[tests]), values)
        for group in np.flatnonzero(self.kind == GROUP).tolist():
            members = slice(group + 1, group + 1 + int(self.index[group]))
            passed[group] = np.count_nonzero(passed[members]) >= self.value[group]
            passed[members] = True
        return passed

    def _leaf(self, kind: int, value: Any) -> Leaf:
        """Return the predicate of a test, or of many of one kind whose values are an array, without its column."""
        column = Column(0)
        if kind == IN:
            first = int(value) + 1
            return OneOf(column, tuple(np.flatnonzero(self.sets[first : first + self.sets[first - 1]]).tolist()))
        if kind == MISSING:
            return Missing(column, value != 0)
        if kind in (CATEGORY, LABEL):
            return OneOf(column, (value,))
        return Compare(column, "<=" if kind == AT_MOST else ">", value)

    def blocks(self, values: Any, width: int = 1) -> Iterator[tuple[slice, Block]]:
        """Yield rows in blocks of bounded size, each a dense matrix of the used columns only."""
        examples = int(values.shape[0])
        step = max(1, _CHUNK_CELLS // max(1, len(self.used), width))
        columns: Any = sp.csr_array(values[:, self.used]) if sp.issparse(values) else values
        for start in range(0, examples, step):
            rows = slice(start, min(examples, start + step))
            if sp.issparse(columns):
                yield rows, columns[rows].toarray(order="F")
            else:
                yield rows, np.asfortranarray(columns[rows][:, self.used], dtype=np.float64)


def _evaluate(leaf: Leaf, values: Any) -> Bools:
    return np.asarray(leaf.accept(Evaluator(lambda _, function: function(values))))


def native_values(values: Any) -> Iterator[tuple[slice, Any]]:
    """Yield rows as the native kernels take them: all at once if they are doubles, other numbers in chunks."""
    if sp.issparse(values):
        yield slice(None), stored_cells(values)
    elif values.dtype == np.float64:
        yield slice(None), values
    else:
        step = max(1, _CHUNK_CELLS // max(1, values.shape[1]))
        for start in range(0, values.shape[0], step):
            rows = slice(start, start + step)
            yield rows, np.asarray(values[rows], dtype=np.float64)


def covers(bodies: PackedBodies, values: Any) -> Bools:
    """Return which rule's body holds on which example, shape (examples, rules); the bodies may not test labels."""
    if native is None:
        return covers_numpy(bodies, values)
    covered = np.empty((int(values.shape[0]), bodies.rules), dtype=np.uint8)
    for rows, part in native_values(values):
        native.cover(part, bodies.arrays, covered[rows])
    return covered.view(np.bool_)


def covers_numpy(bodies: PackedBodies, values: Any) -> Bools:
    """Return `covers` by its NumPy definition."""
    covered = np.zeros((int(values.shape[0]), bodies.rules), dtype=np.bool_)
    for rows, block in bodies.blocks(values, bodies.rules):
        each = np.arange(len(block))
        for rule in range(bodies.rules):
            covered[rows][bodies.fired(rule, block, each), rule] = True
    return covered


def coverage_weights(covered: Bools, weights: Ints) -> Ints:
    """Return the weight of the examples that each rule covers; unit weights, by far the most common, are counted."""
    if (weights == 1).all():
        return np.asarray(np.count_nonzero(covered, axis=0))
    return np.asarray(weights @ covered.astype(np.int64))
