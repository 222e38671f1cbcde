"""Running a rule list over a table: who sets which label, in order, first writer wins.

Probabilities come from the counts of the rules that fired.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.conditions.packed import LABEL, Block, coverage_weights, covers, native_values
from polyrule.data.table import Table
from polyrule.model.packed import PackedModel, check_table, run
from polyrule.utils.arrays import Bytes, Floats, Ints, Ints8, Ints32
from polyrule.utils.compute import native

if TYPE_CHECKING:
    from polyrule.model.rule_list import RuleList


@dataclass(frozen=True, eq=False)
class FlatRules(PackedModel):
    """A rule list as plain arrays, the only form that prediction kernels see."""

    head_value: Bytes
    stop: Bytes  # per rule: whether examples labelled by it skip all later rules
    full: bool  # whether a rule that fires sets every label that is not yet set
    defaults: Bytes  # per label: its value if no rule sets it

    @classmethod
    def of(cls, rule_list: RuleList) -> FlatRules:
        """Flatten a rule list."""
        values = [literal.value for rule in rule_list.rules for literal in rule.head]
        return cls(
            *cls.shared(rule_list),
            head_value=np.array(values, dtype=np.uint8),
            stop=np.array([rule.stop for rule in rule_list.rules], dtype=np.uint8),
            full=rule_list.full,
            defaults=np.array(rule_list.defaults, dtype=np.uint8),
        )


@dataclass(frozen=True, eq=False)
class PredictResult:
    """Labels of every example, and which rule set each."""

    labels: Bytes  # shape (examples, labels)
    # shape (examples, labels); index of the rule that set the label; -1 if no rule did and the default holds
    setter: Ints32


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


@dataclass(frozen=True)
class Trace:
    """Run of a list on one example: value and setter of each label that was set, rules that fired or stopped."""

    state: dict[int, int]
    setter: dict[int, int]
    fired: list[int]
    stopped: int | None

    def before(self, rule: int) -> dict[int, int]:
        """Values of the labels that were set when a rule was tried."""
        return {label: value for label, value in self.state.items() if self.setter[label] < rule}


def follow(
    rule_list: RuleList,
    holds: Callable[[int, dict[int, int]], bool],
    rules: Iterable[int],
    state_before: Mapping[int, int] | None = None,
) -> Trace:
    """Run some rules of a list on one example, until a stop takes effect.

    `holds` is passed a rule and the labels set so far and returns whether its body holds. `state_before` has the values
    of labels that were set before.

    Examples
    --------
    >>> from polyrule.model import RuleList
    >>> model = RuleList((), (), ("a", "b")).insert(0, "a <- true").insert(1, "¬a, b <- a [stop]").insert(2, "b <- a")
    >>> follow(model, lambda rule, state: rule != 2, range(3))
    Trace(state={0: 1, 1: 1}, setter={0: 0, 1: 1}, fired=[0, 1], stopped=1)
    """
    heads, width = rule_list.heads, len(rule_list.label_names)
    state, fired = dict(state_before or {}), []
    setter = dict.fromkeys(state, -1)
    for number in rules:
        if not holds(number, state):
            continue
        fired.append(number)
        head = heads[number] if len(state) < width else {}
        new = {label: value for label, value in head.items() if label not in state}
        state |= new
        setter |= dict.fromkeys(new, number)
        if new and rule_list.rules[number].stop:
            return Trace(state, setter, fired, number)
    return Trace(state, setter, fired, None)


def fired_rows(rule_list: RuleList, table: Table) -> list[Ints]:
    """Per rule, the rows on which it was tried and its body held, whether or not it found a label to set."""
    check_table(rule_list, table)
    flat = rule_list.flat
    width = len(flat.defaults)
    parts_of_rule: list[list[Ints]] = [[] for _ in range(flat.bodies.rules)]
    for rows, block in flat.bodies.blocks(table.values, width):
        state = np.full((block.shape[0], width), -1, dtype=np.int8)
        for rule, fired in enumerate(_run(flat, block, state, np.empty(state.shape, dtype=np.int32))):
            parts_of_rule[rule].append(fired + rows.start)
    return [np.concatenate([np.empty(0, dtype=np.int64), *parts]) for parts in parts_of_rule]


def fired_weights(rule_list: RuleList, table: Table, weights: Ints) -> Ints:
    """Per rule, the weight of the rows of `fired_rows`.

    Examples
    --------
    >>> from polyrule.data import Table
    >>> from polyrule.model import RuleList
    >>> table = Table.from_array([[1.0], [2.0], [3.0]])
    >>> rules = RuleList((), table.features, ("a",)).insert(0, "a <- x0 > 1.5").insert(1, "a <- x0 > 2.5")
    >>> fired_weights(rules, table, np.array([1, 2, 4]))
    array([6, 4])
    """
    flat = rule_list.flat
    if flat.stop.any() or (flat.bodies.kind == LABEL).any():  # the rules that are tried depend on earlier ones
        return np.array([weights[rows].sum() for rows in fired_rows(rule_list, table)], dtype=np.int64)
    return coverage_weights(covers(flat.bodies, table.values), weights)


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


def _run(flat: FlatRules, block: Block, state: Ints8, setter: Ints32) -> list[Ints]:
    """Apply every rule to one block; `state` (-1 unset) and `setter` are filled in place. Return where each fired."""
    active, fired = np.arange(len(state)), []
    for rule in range(flat.bodies.rules):
        rows = flat.bodies.fired(rule, block, active, state)
        fired.append(rows)
        head = slice(flat.head_start[rule], flat.head_start[rule + 1])
        labels, values = flat.head_label[head], flat.head_value[head].astype(np.int8)
        if flat.full:
            head_values = np.zeros(state.shape[1], dtype=np.int8)
            head_values[labels] = values
            labels, values = np.arange(len(head_values), dtype=np.int32), head_values
        cells = rows[:, None], labels
        free = state[cells] < 0
        state[cells] = np.where(free, values, state[cells])
        setter[cells] = np.where(free, rule, setter[cells])
        if flat.stop[rule]:
            active = np.setdiff1d(active, rows[free.any(axis=1)], assume_unique=True)
    return fired


def predict_proba(rule_list: RuleList, table: Table) -> Floats:
    """Probability that each label is present, from the counts of the rule that decided it.

    A label set by a literal with counts (tp, fp) has its predicted value with probability (tp + 1) / (tp + fp + 2),
    Laplace's estimate. A label that no rule set is present with probability (present + 1) / (present + absent + 2),
    from the training examples on which no rule set it either. If the learner stored a better estimate
    (`Literal.chance`, `RuleList.default_chances`), that one holds. A label set to absent only because the list makes
    full predictions has no counts; the rule's counts summed over its head replace them.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1, tp=8, fp=0),), (NumericCondition(0, ">", 5.5),))
    >>> table = Table.from_array([[6.0], [2.0]], [Feature("colours")])
    >>> predict_proba(RuleList((rule,), table.features, ("red",), default_counts=((0, 3),)), table).tolist()
    [[0.9], [0.2]]
    """
    setter = predict(rule_list, table).setter
    return np.asarray(rule_list.chances[setter, np.arange(setter.shape[1])])


def margins(rule_list: RuleList, setter: Ints32) -> Floats:
    """Return the margin of each label by who set it, for `polyrule.relations.Plan`; see `margin_table`."""
    return np.asarray(margin_table(rule_list)[setter, np.arange(setter.shape[1])])


def margin_table(rule_list: RuleList) -> Floats:
    """Return the margin of each label by setter: a row per rule, the last for unset labels.

    It is the probability of the label, less 2 if it is set to absent. For a label that is absent because no rule sets
    it, the share of the training examples in which it was missed so, less 2: if a label must be forced, that is the
    most frequent one where rules are silent.

    >>> from polyrule.model import Literal, Rule, RuleList
    >>> rule = Rule((Literal(0, 1, 8, 0),))
    >>> margin_table(RuleList((rule,), (), ("red",), default_counts=((0, 3),))).round(2).tolist()
    [[0.9], [-2.0]]
    """
    present = np.zeros(rule_list.chances.shape, dtype=bool)
    for row, head in zip(present, rule_list.heads, strict=False):
        row[[label for label, value in head.items() if value]] = True
    present[-1] = rule_list.defaults
    table = np.where(present, rule_list.chances, rule_list.chances - 2.0)
    missed = np.array([count for count, _ in rule_list.default_counts], dtype=np.float64)
    table[-1] = np.where(present[-1], table[-1], missed / (missed.sum() + 1) - 2.0)
    return np.asarray(table)


def trace_margins(rule_list: RuleList, trace: Trace) -> Floats:
    """Return the margins of one example.

    >>> from polyrule.model import Literal, Rule, RuleList
    >>> model = RuleList((Rule((Literal(0, 1, 8, 0),)),), (), ("red",))
    >>> trace_margins(model, follow(model, lambda rule, state: True, range(1))).tolist()
    [0.9]
    """
    setter = [trace.setter.get(label, -1) for label in range(len(rule_list.label_names))]
    return margins(rule_list, np.array([setter], dtype=np.int32))[0]  # type: ignore[no-any-return]


def final_labels(rule_list: RuleList, trace: Trace) -> dict[int, int]:
    """Return the value of each label of one example, as relations leave it.

    >>> from polyrule.model import RuleList
    >>> model = RuleList((), (), ("a", "b")).insert(0, "a <- true").with_relations("a => b")
    >>> final_labels(model, follow(model, lambda rule, state: True, range(1)))
    {0: 1, 1: 1}
    """
    if rule_list.plan is None:
        return dict(enumerate(rule_list.defaults)) | trace.state
    return dict(enumerate(rule_list.plan.decide(trace_margins(rule_list, trace)[None, :])[0].tolist()))


def probability_table(rule_list: RuleList) -> Floats:
    """Return the probability that each label is present, by setter: a row per rule, the last for unset labels (-1)."""
    table = np.empty((len(rule_list) + 1, len(rule_list.label_names)))
    for row, rule in zip(table, rule_list, strict=False):
        row[:] = 1.0 - _smoothed(rule.tp, rule.fp)  # where it only fills up
        for literal in rule.head:
            right = _smoothed(literal.tp, literal.fp) if literal.chance is None else literal.chance
            row[literal.label] = right if literal.value else 1.0 - right
    table[-1] = rule_list.default_chances or [_smoothed(*counts) for counts in rule_list.default_counts]
    return table


def _smoothed(right: float, wrong: float) -> float:
    """Laplace's estimate of being right after `right` hits and `wrong` misses."""
    return (right + 1) / (right + wrong + 2)
