"""Running a rule list over a table: who sets which label, in order, first writer wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from polyrule.data.table import Table
from polyrule.model.bodies import Block, FlatBodies, check_table, flat_heads, native_values, run
from polyrule.native import native

if TYPE_CHECKING:
    from polyrule.model.rule_list import RuleList


@dataclass(frozen=True, eq=False)
class FlatRules:
    """A rule list as plain arrays, the only form that prediction kernels see.

    The literals of rule r are ``head_start[r]:head_start[r + 1]``.

    Parameters
    ----------
    bodies : FlatBodies
    head_start : ndarray of int32
        Offsets, one more than there are rules.
    head_label : ndarray of int32
    head_value : ndarray of uint8
    stop : ndarray of uint8
        Per rule: whether examples labelled by it skip all later rules.
    full : bool
        Whether a rule that fires sets every label that is not yet set.
    defaults : ndarray of uint8
        Per label: its value when nobody sets it.
    """

    bodies: FlatBodies
    head_start: npt.NDArray[np.int32]
    head_label: npt.NDArray[np.int32]
    head_value: npt.NDArray[np.uint8]
    stop: npt.NDArray[np.uint8]
    full: bool
    defaults: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, rule_list: RuleList) -> FlatRules:
        """Flatten a rule list."""
        head_start, head_label = flat_heads(rule_list.rules)
        values = [literal.value for rule in rule_list.rules for literal in rule.head]
        return cls(
            bodies=FlatBodies.of((rule.body for rule in rule_list.rules), rule_list.features),
            head_start=head_start,
            head_label=head_label,
            head_value=np.array(values, dtype=np.uint8),
            stop=np.array([rule.stop for rule in rule_list.rules], dtype=np.uint8),
            full=rule_list.full,
            defaults=np.array(rule_list.defaults, dtype=np.uint8),
        )


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
    flat = rule_list.flat
    kernel = predict_flat if native is None else predict_native

    def both(values: Any) -> tuple[Any, ...]:
        result = kernel(flat, values)
        return result.labels, result.setter

    return PredictResult(*run(flat.bodies.rules, len(flat.defaults), table, both))


def fired_rows(rule_list: RuleList, table: Table) -> list[npt.NDArray[np.int64]]:
    """Per rule, the rows on which it was tried and its body held, whether or not it found a label to set."""
    check_table(rule_list, table)
    flat = rule_list.flat
    width = len(flat.defaults)
    found: list[list[npt.NDArray[np.int64]]] = [[] for _ in range(flat.bodies.rules)]
    for rows, block in flat.bodies.blocks(table.values, width):
        state = np.full((block.shape[0], width), -1, dtype=np.int8)
        record: list[npt.NDArray[np.int64]] = []
        _run(flat, block, state, np.empty(state.shape, dtype=np.int32), record)
        for rule, fired in enumerate(record):
            found[rule].append(fired + rows.start)
    return [np.concatenate([np.empty(0, dtype=np.int64), *parts]) for parts in found]


def predict_flat(flat: FlatRules, values: Any) -> PredictResult:
    """NumPy reference of the prediction kernel: the same arrays in, the same arrays out."""
    examples, width = int(values.shape[0]), len(flat.defaults)
    setter = np.full((examples, width), -1, dtype=np.int32)
    labels = np.empty((examples, width), dtype=np.uint8)
    for rows, block in flat.bodies.blocks(values, width):
        state = np.full((block.shape[0], width), -1, dtype=np.int8)
        _run(flat, block, state, setter[rows])
        labels[rows] = np.where(state < 0, flat.defaults.astype(np.int8), state).astype(np.uint8)
    return PredictResult(labels, setter)


def predict_native(flat: FlatRules, values: Any) -> PredictResult:
    """Run the compiled prediction kernel; the same result as `predict_flat`."""
    assert native is not None
    shape = int(values.shape[0]), len(flat.defaults)
    labels, setter = np.empty(shape, dtype=np.uint8), np.empty(shape, dtype=np.int32)
    for rows, part in native_values(values):
        native.predict(
            values=part,
            bodies=flat.bodies.arrays,
            head_start=flat.head_start,
            head_label=flat.head_label,
            head_value=flat.head_value,
            stop=flat.stop,
            full=flat.full,
            defaults=flat.defaults,
            labels=labels[rows],
            setter=setter[rows],
        )
    return PredictResult(labels, setter)


def _run(
    flat: FlatRules,
    block: Block,
    state: npt.NDArray[np.int8],
    setter: npt.NDArray[np.int32],
    record: list[npt.NDArray[np.int64]] | None = None,
) -> None:
    """Apply every rule to one block; `state` (-1 unset), `setter` and, per rule, the fired rows are filled in place."""
    unset = np.full(state.shape[0], state.shape[1], dtype=np.int64)
    active = np.arange(state.shape[0])
    for rule in range(flat.bodies.rules):
        if not len(active) and record is None:
            break
        rows = flat.bodies.fired(rule, block, active, state)
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
