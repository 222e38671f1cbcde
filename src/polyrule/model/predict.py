"""Running a rule list over a table: who sets which label, in order, first writer wins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyrule.budget import current_limits
from polyrule.data.table import Table
from polyrule.errors import ModelError
from polyrule.model.rule import LabelCondition, MissingCondition, NominalCondition, NumericCondition, SetCondition
from polyrule.native import native

if TYPE_CHECKING:
    from polyrule.model.rule_list import RuleList

# What a condition of a flat list tests; the native kernels use the same numbers.
AT_MOST, ABOVE, CATEGORY, LABEL, IN, MISSING = 0, 1, 2, 3, 4, 5

# Values of the used columns and label states held at once; 4 million of each are about 70 MB.
_CHUNK_CELLS = 4_000_000
# Rules tried between two looks at the clock; well below a second of work.
_PIECE_TESTS = 10_000_000


@dataclass(frozen=True, eq=False)
class FlatRules:
    """A rule list as plain arrays, the only form that prediction kernels see.

    Conditions of rule r are ``body_start[r]:body_start[r + 1]``, its literals ``head_start[r]:head_start[r + 1]``.

    Parameters
    ----------
    kind : ndarray of uint8
        Per condition: `AT_MOST`, `ABOVE`, `CATEGORY`, `LABEL`, `IN` or `MISSING`.
    index : ndarray of int32
        Per condition: where its column stands in `used`, or for `LABEL` the label.
    value : ndarray of float64
        Per condition: threshold, category index, 0/1, or for `IN` where its set begins in `sets`.
    body_start, head_start : ndarray of int32
        Offsets, one more than there are rules.
    head_label : ndarray of int32
    head_value : ndarray of uint8
    stop : ndarray of uint8
        Per rule: whether examples labelled by it skip all later rules.
    full : bool
        Whether a rule that fires sets every label that is not yet set.
    defaults : ndarray of uint8
        Per label: its value when nobody sets it.
    used : ndarray of int32
        Columns that some condition tests, ascending.
    sets : ndarray of int32
        One set after the other: how many categories the feature has, and for each 1 if it belongs to the set.
    """

    kind: npt.NDArray[np.uint8]
    index: npt.NDArray[np.int32]
    value: npt.NDArray[np.float64]
    body_start: npt.NDArray[np.int32]
    head_label: npt.NDArray[np.int32]
    head_value: npt.NDArray[np.uint8]
    head_start: npt.NDArray[np.int32]
    stop: npt.NDArray[np.uint8]
    full: bool
    defaults: npt.NDArray[np.uint8]
    used: npt.NDArray[np.int32]
    sets: npt.NDArray[np.int32]

    @classmethod
    def of(cls, rule_list: RuleList) -> FlatRules:
        """Flatten a rule list."""
        tests: list[tuple[int, int, float]] = []
        sets: list[int] = []
        body_start, head_start = [0], [0]
        for rule in rule_list.rules:
            for condition in rule.body:
                match condition:
                    case NumericCondition(feature, op, threshold):
                        tests.append((AT_MOST if op == "<=" else ABOVE, feature, threshold))
                    case NominalCondition(feature, value):
                        tests.append((CATEGORY, feature, value))
                    case SetCondition(feature, values):
                        tests.append((IN, feature, len(sets)))
                        count = len(rule_list.features[feature].categories)
                        sets += [count, *(value in values for value in range(count))]
                    case MissingCondition(feature, missing):
                        tests.append((MISSING, feature, missing))
                    case LabelCondition(label, value):
                        tests.append((LABEL, label, value))
            body_start.append(len(tests))
            head_start.append(head_start[-1] + len(rule.head))
        kind, index = (np.array([test[i] for test in tests], dtype=np.int32) for i in (0, 1))
        tests_column = kind != LABEL
        used, place = np.unique(index[tests_column], return_inverse=True)
        index[tests_column] = place
        literals = [literal for rule in rule_list.rules for literal in rule.head]
        return cls(
            kind=kind.astype(np.uint8),
            index=index,
            value=np.array([test[2] for test in tests], dtype=np.float64),
            body_start=np.array(body_start, dtype=np.int32),
            head_label=np.array([literal.label for literal in literals], dtype=np.int32),
            head_value=np.array([literal.value for literal in literals], dtype=np.uint8),
            head_start=np.array(head_start, dtype=np.int32),
            stop=np.array([rule.stop for rule in rule_list.rules], dtype=np.uint8),
            full=rule_list.full,
            defaults=np.array(rule_list.defaults, dtype=np.uint8),
            used=used,
            sets=np.array(sets, dtype=np.int32),
        )

    @property
    def rules(self) -> int:
        """Number of rules."""
        return len(self.stop)


@dataclass(frozen=True, eq=False)
class PredictResult:
    """Labels of every example, and which rule set each.

    Parameters
    ----------
    labels : ndarray of uint8, shape (examples, labels)
    setter : ndarray of int32, shape (examples, labels)
        Index of the rule that set the label; -1 where nobody did and the default holds.
    """

    labels: npt.NDArray[np.uint8]
    setter: npt.NDArray[np.int32]


def predict(rule_list: RuleList, table: Table) -> PredictResult:
    """Run the rules in order on every example.

    A rule that fires sets the labels of its head that are not yet set; a rule with a stop that fired and newly set a
    label is the last one tried for that example. Label conditions read what earlier rules set; a missing value and an
    unset label satisfy no condition.

    Examples
    --------
    >>> from polyrule.data import Feature, Table
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> rules = (Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5),)), Rule((Literal(0, 0), Literal(1, 1))))
    >>> table = Table.from_array([[6.0], [2.0]], [Feature("colours")])
    >>> result = predict(RuleList(rules, table.features, ("red", "blue")), table)
    >>> result.labels.tolist(), result.setter.tolist()
    ([[1, 1], [0, 1]], [[0, 1], [1, 1]])
    """
    check_table(rule_list, table)
    allowed = current_limits()
    allowed.check_cells("prediction", len(table) * len(rule_list.label_names))
    flat = rule_list.flat
    if allowed.deadline is not None:
        return _predict_in_time(flat, table)
    return predict_flat(flat, table.values) if native is None else predict_native(flat, table.values)


def _predict_in_time(flat: FlatRules, table: Table) -> PredictResult:
    """Predict in pieces and look at the clock between them: a kernel runs to the end of what it is given."""
    allowed, run = current_limits(), predict_flat if native is None else predict_native
    step = max(1, _PIECE_TESTS // max(1, flat.rules, len(flat.defaults)))
    parts = []
    for start in range(0, max(1, len(table)), step):
        allowed.check_time("prediction")
        parts.append(run(flat, table[start : start + step].values))
    return PredictResult(np.concatenate([p.labels for p in parts]), np.concatenate([p.setter for p in parts]))


def fired_rows(rule_list: RuleList, table: Table) -> list[npt.NDArray[np.int64]]:
    """Per rule, the rows on which it was tried and its body held, whether or not it found a label to set."""
    check_table(rule_list, table)
    flat = rule_list.flat
    width = len(flat.defaults)
    found: list[list[npt.NDArray[np.int64]]] = [[] for _ in range(flat.rules)]
    for rows, block in _blocks(table.values, flat.used, width):
        state = np.full((block.shape[0], width), -1, dtype=np.int8)
        record: list[npt.NDArray[np.int64]] = []
        _run(flat, block, state, np.empty(state.shape, dtype=np.int32), record)
        for rule, fired in enumerate(record):
            found[rule].append(fired + rows.start)
    return [np.concatenate([np.empty(0, dtype=np.int64), *parts]) for parts in found]


def check_table(rule_list: RuleList, table: Table) -> None:
    """Refuse a table whose columns are not those the list was learned on."""
    if table.features is rule_list.features or table.features == rule_list.features:
        return
    expected, given = len(rule_list.features), len(table.features)
    if expected != given:
        raise ModelError(
            f"the model knows {expected} feature(s) but the data has {given} column(s); give it the same ones"
        )
    for number, (mine, other) in enumerate(zip(rule_list.features, table.features, strict=True)):
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


def predict_flat(flat: FlatRules, values: Any) -> PredictResult:
    """NumPy reference of the prediction kernel: the same arrays in, the same arrays out."""
    examples, width = int(values.shape[0]), len(flat.defaults)
    setter = np.full((examples, width), -1, dtype=np.int32)
    labels = np.empty((examples, width), dtype=np.uint8)
    for rows, block in _blocks(values, flat.used, width):
        state = np.full((block.shape[0], width), -1, dtype=np.int8)
        _run(flat, block, state, setter[rows])
        labels[rows] = np.where(state < 0, flat.defaults.astype(np.int8), state).astype(np.uint8)
    return PredictResult(labels, setter)


def predict_native(flat: FlatRules, values: Any) -> PredictResult:
    """Run the compiled prediction kernel; the same result as `predict_flat`."""
    shape = int(values.shape[0]), len(flat.defaults)
    labels, setter = np.empty(shape, dtype=np.uint8), np.empty(shape, dtype=np.int32)
    if sp.issparse(values) or values.dtype == np.float64:
        _predict_into(flat, values, labels, setter)
        return PredictResult(labels, setter)
    step = max(1, _CHUNK_CELLS // max(1, values.shape[1]))  # other numbers are converted piece by piece
    for start in range(0, shape[0], step):
        rows = slice(start, start + step)
        _predict_into(flat, np.asarray(values[rows], dtype=np.float64), labels[rows], setter[rows])
    return PredictResult(labels, setter)


def _predict_into(flat: FlatRules, values: Any, labels: npt.NDArray[np.uint8], setter: npt.NDArray[np.int32]) -> None:
    assert native is not None
    matrix: Any = values
    if sp.issparse(values):
        columns: Any = sp.csc_array(values)
        if not columns.has_sorted_indices:
            columns = columns.sorted_indices()
        indices, starts = columns.indices.astype(np.int32, copy=False), columns.indptr.astype(np.int64, copy=False)
        matrix = columns.data.astype(np.float64, copy=False), indices, starts
    native.predict(
        values=matrix,
        used=flat.used,
        kind=flat.kind,
        index=flat.index,
        value=flat.value,
        body_start=flat.body_start,
        head_label=flat.head_label,
        head_value=flat.head_value,
        head_start=flat.head_start,
        stop=flat.stop,
        full=flat.full,
        defaults=flat.defaults,
        labels=labels,
        setter=setter,
        sets=flat.sets,
    )


def _blocks(values: Any, used: npt.NDArray[np.int32], width: int) -> Iterator[tuple[slice, npt.NDArray[np.float64]]]:
    """Rows in blocks of bounded size, each a dense matrix of the used columns only."""
    examples = int(values.shape[0])
    step = max(1, _CHUNK_CELLS // max(1, len(used), width))
    narrow: Any = sp.csr_array(values[:, used]) if sp.issparse(values) else values
    for start in range(0, examples, step):
        rows = slice(start, min(examples, start + step))
        if sp.issparse(narrow):
            yield rows, narrow[rows].toarray(order="F")
        else:
            yield rows, np.asfortranarray(narrow[rows][:, used], dtype=np.float64)


def _run(
    flat: FlatRules,
    block: npt.NDArray[np.float64],
    state: npt.NDArray[np.int8],
    setter: npt.NDArray[np.int32],
    record: list[npt.NDArray[np.int64]] | None = None,
) -> None:
    """Apply every rule to one block; `state` (-1 unset), `setter` and, per rule, the fired rows are filled in place."""
    unset = np.full(state.shape[0], state.shape[1], dtype=np.int64)
    active = np.arange(state.shape[0])
    for rule in range(flat.rules):
        if not len(active) and record is None:
            break
        rows = _fired(flat, rule, block, state, active)
        if record is not None:
            record.append(rows)
        if not len(rows):
            continue
        newly = _set_head(flat, rule, rows, state, setter)
        unset[rows] -= newly
        # An example with nothing left to set cannot change any more, so it may leave together with the stopped ones.
        finished = (unset[rows] == 0) if record is None else False
        done = rows[finished | ((newly > 0) & bool(flat.stop[rule]))]
        if len(done):
            active = np.setdiff1d(active, done, assume_unique=True)


def _fired(
    flat: FlatRules,
    rule: int,
    block: npt.NDArray[np.float64],
    state: npt.NDArray[np.int8],
    rows: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Rows among `rows` that satisfy the whole body; NaN fails every comparison by itself."""
    for test in range(flat.body_start[rule], flat.body_start[rule + 1]):
        kind, index, value = flat.kind[test], int(flat.index[test]), flat.value[test]
        on_label = kind == LABEL
        rows = rows[state[rows, index] == int(value) if on_label else _compare(flat, kind, block[rows, index], value)]
    return rows


def _compare(flat: FlatRules, kind: int, column: npt.NDArray[np.float64], value: float) -> npt.NDArray[np.bool_]:
    if kind == IN:
        first = int(value) + 1
        return np.isin(column, np.flatnonzero(flat.sets[first : first + flat.sets[first - 1]]))
    if kind == MISSING:
        return np.asarray(np.isnan(column) == bool(value))
    return np.asarray(column <= value if kind == AT_MOST else column > value if kind == ABOVE else column == value)


def _set_head(
    flat: FlatRules,
    rule: int,
    rows: npt.NDArray[np.int64],
    state: npt.NDArray[np.int8],
    setter: npt.NDArray[np.int32],
) -> npt.NDArray[np.int64]:
    """Set what is still unset; return per row how many labels that were."""
    newly = np.zeros(len(rows), dtype=np.int64)
    head = slice(flat.head_start[rule], flat.head_start[rule + 1])
    for label, value in zip(flat.head_label[head], flat.head_value[head], strict=True):
        free = state[rows, label] < 0
        state[rows[free], label] = value
        setter[rows[free], label] = rule
        newly += free
    if flat.full:
        free_rows, free_labels = np.nonzero(state[rows] < 0)
        state[rows[free_rows], free_labels] = 0
        setter[rows[free_rows], free_labels] = rule
        newly += np.bincount(free_rows, minlength=len(rows))
    return newly
