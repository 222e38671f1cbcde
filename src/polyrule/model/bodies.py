"""Bodies of rules over a table, for every kind of model: plain arrays, a NumPy definition and a compiled kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.data.identifiers import is_left_out
from polyrule.data.sparse import stored_cells
from polyrule.data.table import Feature, Table
from polyrule.errors import ModelError
from polyrule.model.rule import (
    Condition,
    FeatureCondition,
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
)
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints, Ints8, Ints32
from polyrule.utils.budget import CURRENT, NO_LIMITS
from polyrule.utils.compute import native

# What a test of a flat body asks; the native kernels use the same numbers.
AT_MOST, ABOVE, CATEGORY, LABEL, IN, MISSING, GROUP = 0, 1, 2, 3, 4, 5, 6

# Values of the used columns and label states held at once; 4 million of each are about 70 MB.
_CHUNK_CELLS = 4_000_000
# Rules tried between two looks at the clock; well below a second of work.
_PIECE_TESTS = 10_000_000

Block = Floats
"""Some rows of the used columns, dense."""


def coded(condition: FeatureCondition | LabelCondition) -> tuple[int, int, Any]:
    """Return what a condition asks, whose feature or label it asks about, and what that is compared with."""
    match condition:
        case NumericCondition(feature, op, threshold):
            return AT_MOST if op == "<=" else ABOVE, feature, threshold
        case NominalCondition(feature, value):
            return CATEGORY, feature, value
        case SetCondition(feature, values):
            return IN, feature, values
        case MissingCondition(feature, missing):
            return MISSING, feature, int(missing)
        case LabelCondition(label, value):
            return LABEL, label, value


@dataclass(frozen=True, eq=False)
class FlatBodies:
    """The bodies of rules as plain arrays, the only form that prediction kernels see.

    The tests of rule r are ``start[r]:start[r + 1]``; its body holds where all of them do. A `GROUP` is followed by its
    members: it holds where enough of them do.
    """

    kind: Bytes  # per test: `AT_MOST`, `ABOVE`, `CATEGORY`, `LABEL`, `IN`, `MISSING` or `GROUP`
    # Per test: where its column stands in `used`; for `LABEL` the label, for `GROUP` how many members follow
    index: Ints32
    # Per test: threshold, category index, 0/1; for `IN` where its set begins in `sets`, for `GROUP` how many members
    # must hold
    value: Floats
    start: Ints32  # offsets, one more than there are rules
    # One set after the other: how many categories the feature has, and for each 1 if it belongs to the set
    sets: Ints32
    used: Ints32  # columns that some test asks for, ascending

    @classmethod
    def of(cls, bodies: Iterable[Iterable[Condition]], features: Sequence[Feature]) -> FlatBodies:
        """Flatten bodies, whatever kind of rule they belong to."""
        tests: list[tuple[int, int, float]] = []
        sets: list[int] = []
        start = [0]
        for body in bodies:
            for condition in body:
                plainly: Any = (condition,)
                if isinstance(condition, GroupCondition):
                    plainly = condition.members
                    tests.append((GROUP, len(plainly), condition.least))
                for kind, index, value in map(coded, plainly):
                    if kind == IN:
                        tests.append((IN, index, len(sets)))
                        count = len(features[index].categories)
                        sets += [count, *(code in value for code in range(count))]
                    else:
                        tests.append((kind, index, value))
            start.append(len(tests))
        kinds, places = (np.array([test[i] for test in tests], dtype=np.int32) for i in (0, 1))
        tests_column = (kinds != LABEL) & (kinds != GROUP)
        used, places[tests_column] = np.unique(places[tests_column], return_inverse=True)
        return cls(
            kind=kinds.astype(np.uint8),
            index=places,
            value=np.array([test[2] for test in tests], dtype=np.float64),
            start=np.array(start, dtype=np.int32),
            sets=np.array(sets, dtype=np.int32),
            used=used,
        )

    @property
    def rules(self) -> int:
        """Number of rules."""
        return len(self.start) - 1

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the native kernels take."""
        return self.kind, self.index, self.value, self.start, self.sets, self.used

    def fired(self, rule: int, block: Block, rows: Ints, state: Ints8 | None = None) -> Ints:
        """Rows among `rows` that satisfy the body; `state` holds the labels set so far (-1 unset)."""
        test, end = int(self.start[rule]), int(self.start[rule + 1])
        while test < end:
            if self.kind[test] == GROUP:
                members = range(test + 1, test + 1 + int(self.index[test]))
                held = sum(self._holds(member, block, rows, state).astype(np.int64) for member in members)
                rows, test = rows[held >= self.value[test]], members.stop
            else:
                rows, test = rows[self._holds(test, block, rows, state)], test + 1
        return rows

    def _holds(self, test: int, block: Block, rows: Ints, state: Ints8 | None) -> Bools:
        index = int(self.index[test])
        if self.kind[test] == LABEL:
            assert state is not None, "only lists test labels"
            return np.asarray(state[rows, index] == int(self.value[test]))
        return self.satisfied(test, block[rows, index])

    def satisfied(self, test: int, column: Floats) -> Bools:
        """Which values of its column satisfy a test of a feature."""
        return self._compare(int(self.kind[test]), column, self.value[test])

    def passed(self, row: Floats) -> Bools:
        """Whether one example with these feature values satisfies each test.

        Those of labels pass, and those of a group, whose own entry says whether enough of them hold.
        """
        passed = np.ones(len(self.kind), dtype=np.bool_)
        for kind in set(self.kind.tolist()) - {LABEL, GROUP}:
            tests = np.flatnonzero(self.kind == kind)
            column, value = row[self.used[self.index[tests]]], self.value[tests]
            if kind == IN:
                passed[tests] = [self._compare(kind, x, start) for x, start in zip(column, value, strict=True)]
            else:
                passed[tests] = self._compare(kind, column, value)
        for group in np.flatnonzero(self.kind == GROUP).tolist():
            members = slice(group + 1, group + 1 + int(self.index[group]))
            passed[group] = np.count_nonzero(passed[members]) >= self.value[group]
            passed[members] = True
        return passed

    def _compare(self, kind: int, column: Any, value: Any) -> Bools:
        """Whether values satisfy a test of this kind; NaN fails every comparison by itself."""
        if kind == IN:
            first = int(value) + 1
            return np.isin(column, np.flatnonzero(self.sets[first : first + self.sets[first - 1]]))
        if kind == MISSING:
            return np.asarray(np.isnan(column) == (value != 0))
        return np.asarray(column <= value if kind == AT_MOST else column > value if kind == ABOVE else column == value)

    def blocks(self, values: Any, width: int = 1) -> Iterator[tuple[slice, Block]]:
        """Rows in blocks of bounded size, each a dense matrix of the used columns only."""
        examples = int(values.shape[0])
        step = max(1, _CHUNK_CELLS // max(1, len(self.used), width))
        narrow: Any = sp.csr_array(values[:, self.used]) if sp.issparse(values) else values
        for start in range(0, examples, step):
            rows = slice(start, min(examples, start + step))
            if sp.issparse(narrow):
                yield rows, narrow[rows].toarray(order="F")
            else:
                yield rows, np.asfortranarray(narrow[rows][:, self.used], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class FlatModel:
    """A model as plain arrays; what the head of rule r says are entries ``head_start[r]:head_start[r + 1]``."""

    bodies: FlatBodies
    head_start: Ints32
    head_label: Ints32

    @staticmethod
    def shared(model: Any) -> tuple[FlatBodies, Ints32, Ints32]:
        """Flatten what every kind of model has."""
        heads = [rule.head for rule in model.rules]
        labels = [entry.label for head in heads for entry in head]
        starts = np.cumsum([0, *map(len, heads)], dtype=np.int32)
        return FlatBodies.of((rule.body for rule in model.rules), model.features), starts, np.array(labels, np.int32)


def native_values(values: Any) -> Iterator[tuple[slice, Any]]:
    """Rows as the native kernels take them: all at once where they are, other types of numbers piece by piece."""
    if sp.issparse(values):
        yield slice(None), stored_cells(values)
    elif values.dtype == np.float64:
        yield slice(None), values
    else:
        step = max(1, _CHUNK_CELLS // max(1, values.shape[1]))
        for start in range(0, values.shape[0], step):
            rows = slice(start, start + step)
            yield rows, np.asarray(values[rows], dtype=np.float64)


def run(rules: int, width: int, table: Table, kernel: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Run a kernel over the values of a table, within the limits of the caller.

    A kernel runs to the end of what it is given, so where there is a time limit it gets pieces, and between them one
    looks at the clock.
    """
    allowed = CURRENT.get()
    if allowed is NO_LIMITS:
        return kernel(table.values)
    allowed.check_cells("prediction", len(table) * width)
    if allowed.deadline is None:
        return kernel(table.values)
    step = max(1, _PIECE_TESTS // max(1, rules, width))
    parts = []
    for start in range(0, max(1, len(table)), step):
        allowed.check_time("prediction")
        parts.append(kernel(table[start : start + step].values))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def covers(bodies: FlatBodies, values: Any) -> Bools:
    """Which rule's body holds on which example, shape (examples, rules); the bodies may not test labels."""
    if native is None:
        return covers_flat(bodies, values)
    found = np.empty((int(values.shape[0]), bodies.rules), dtype=np.uint8)
    for rows, part in native_values(values):
        native.cover(part, bodies.arrays, found[rows])
    return found.view(np.bool_)


def weighed(covered: Bools, weights: Ints) -> Ints:
    """Return the weight of the examples that each rule covers; unit weights, by far the commonest, are counted."""
    if (weights == 1).all():
        return np.asarray(np.count_nonzero(covered, axis=0))
    return np.asarray(weights @ covered.astype(np.int64))


def covers_flat(bodies: FlatBodies, values: Any) -> Bools:
    """NumPy definition of `covers`."""
    found = np.zeros((int(values.shape[0]), bodies.rules), dtype=np.bool_)
    for rows, block in bodies.blocks(values, bodies.rules):
        every = np.arange(len(block))
        for rule in range(bodies.rules):
            found[rows][bodies.fired(rule, block, every), rule] = True
    return found


def check_table(model: Any, table: Table) -> None:
    """Refuse a table whose columns are not those the model, of whatever kind, was learned on."""
    if table.features is model.features or table.features == model.features:
        return
    expected, given = len(model.features), len(table.features)
    if expected != given:
        raise ModelError(
            f"the model knows {expected} feature(s) but the data has {given} column(s); give it the same ones"
        )
    for number, (mine, other) in enumerate(zip(model.features, table.features, strict=True)):
        if mine.name == other.name and is_left_out(mine):
            continue
        if mine.name != other.name:
            raise ModelError(
                f"column {number} is named {other.name!r} but the model calls it {mine.name!r}; to_table(X,"
                " model.features) of polyrule.data brings data into the model's order"
            )
        if mine.kind != other.kind:
            raise ModelError(
                f"column {number} ({other.name!r}) is {other.kind} but the model learned it as {mine.kind}"
            )
        if mine.categories != other.categories:
            raise ModelError(
                f"column {number} ({other.name!r}) lists other categories than the model; read the data with the"
                " model's features"
            )
