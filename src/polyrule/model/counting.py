"""Counts of a list on examples: whole numbers, which can be summed over blocks of examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyrule.conditions.body import without_labels
from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.conditions.packed import PackedBodies, covers
from polyrule.data.encode import read_target
from polyrule.data.examples import integer_weights, unscaled
from polyrule.data.labels import UNKNOWN, dense_labels
from polyrule.data.table import Table, row_blocks
from polyrule.errors import ModelError
from polyrule.model.columns import match_columns
from polyrule.model.predict import fired_weights, predict
from polyrule.model.staleness import OUTDATED_DEFAULTS
from polyrule.utils.arrays import Bytes, Ints, Ints32

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset
    from polyrule.model.rule_list import RuleList

_CELLS = 1 << 22  # of bodies by examples that are held at a time


def list_counts(rule_list: RuleList, table: Table, truth: Bytes, weights: Ints) -> Ints:
    """Return the counts of a list as an array of shape (5, 1 + rules, labels).

    Planes 0 and 1 are the weights that each label has right and wrong by each setter; setter 0 is no rule, for which
    "right" means present. Plane 2 has in its first column the weight on which each rule fires. Planes 3 and 4 are right
    and wrong for all examples that the body covers, whatever other rules set. Unknown labels count nowhere.

    Examples
    --------
    >>> from polyrule.model import RuleList
    >>> table = Table.from_array([[1.0], [2.0], [3.0]])
    >>> rules = RuleList((), table.features, ("a", "b")).insert(0, "a <- x0 > 1.5")
    >>> truth = np.array([[0, 0], [1, 0], [0, 1]], dtype=np.uint8)
    >>> list_counts(rules, table, truth, np.ones(3, dtype=np.int64)).tolist()[:3]
    [[[0, 1], [1, 0]], [[1, 2], [1, 0]], [[0, 0], [2, 0]]]
    """
    rules, labels = len(rule_list), truth.shape[1]
    values = head_values(rule_list)
    # by value of the label, its setter, and the label
    setter = predict(rule_list, table).setter
    cells = setter + np.int32(1)
    cells += truth.astype(np.int32) * np.int32(1 + rules)
    cells *= labels
    cells += np.arange(labels, dtype=np.int32)
    units = None if (weights == 1).all() else np.repeat(weights, labels)
    shape = (UNKNOWN + 1, 1 + rules, labels)
    counts = np.bincount(cells.ravel(), units, minlength=math.prod(shape)).astype(np.int64).reshape(shape)
    counts_of_list = np.zeros((5, 1 + rules, labels), dtype=np.int64)
    counts_of_list[:2] = np.where(values == 1, counts[[1, 0]], counts[[0, 1]])
    counts_of_list[2, 1:, 0] = fired_weights(rule_list, table, weights)
    counts_of_list[3:] = _counts_alone(rule_list, table, truth, weights, setter)
    return counts_of_list


def default_counts(rule_list: RuleList, table: Table, truth: Bytes, weights: Ints) -> Ints:
    """Return per label the weight of the examples on which no rule sets it: present, absent.

    >>> from polyrule.model import RuleList
    >>> table = Table.from_array([[1.0], [2.0], [3.0]])
    >>> rules = RuleList((), table.features, ("a",)).insert(0, "a <- x0 > 2.5")
    >>> default_counts(rules, table, np.array([[0], [1], [0]], dtype=np.uint8), np.array([1, 2, 4])).tolist()
    [[2, 1]]
    """
    totals = np.zeros((truth.shape[1], 2), dtype=np.int64)
    for rows in row_blocks(len(table), max(1, truth.shape[1]), _CELLS):
        unset = predict(rule_list, table[rows]).setter < 0
        for column, value in enumerate((1, 0)):
            totals[:, column] += weights[rows] @ (unset & (truth[rows] == value)).astype(np.int64)
    return totals


def head_values(rule_list: RuleList) -> Ints:
    """Return the value of each label by setter, shape (1 + rules, labels); 1 if the setter does not set it."""
    values = np.ones((1 + len(rule_list), len(rule_list.label_names)), dtype=np.int64)
    for number, rule in enumerate(rule_list.rules, start=1):
        for literal in rule.head:
            values[number, literal.label] = literal.value
    return values


def _counts_alone(rule_list: RuleList, table: Table, truth: Bytes, weights: Ints, setter: Ints32) -> Ints:
    """Return planes 3 and 4 of `list_counts`; conditions on labels read what earlier rules have set."""
    bodies = PackedBodies.of([without_labels(rule.body) for rule in rule_list.rules], rule_list.features)
    counts = np.zeros((2, 1 + len(rule_list), truth.shape[1]), dtype=np.int64)
    values = head_values(rule_list)
    if rule_list.full:
        heads = [{literal.label for literal in rule.head} for rule in rule_list.rules]
        for number, labels in enumerate(heads, start=1):
            values[number, [label for label in range(truth.shape[1]) if label not in labels]] = 0
    for rows in row_blocks(len(table), max(1, len(rule_list)), _CELLS):
        covered, present, weight = covers(bodies, table[rows].values), truth[rows], weights[rows]
        for number, rule in enumerate(rule_list.rules):
            is_covered = covered[:, number]
            for test in rule_list.label_tests[number]:
                by = setter[rows, test.label]
                is_covered = is_covered & (by >= 0) & (by < number) & (values[by + 1, test.label] == test.value)
            for literal in rule.head:
                is_known = is_covered & (present[:, literal.label] != UNKNOWN)
                right = is_known & (present[:, literal.label] == literal.value)
                counts[0, number + 1, literal.label] += weight[right].sum()
                counts[1, number + 1, literal.label] += weight[is_known & ~right].sum()
    return counts


def with_counts(
    rule_list: RuleList, counts: Ints, amount: Callable[[int], float], after: int = 0, *, only_alone: bool = False
) -> RuleList:
    """Return the list with the counts of `list_counts`, each written as an `amount`.

    The expected precision of literals and the first `after` rules stay as they are. With `only_alone`, just what each
    rule does whatever other rules set is taken over.
    """
    right, wrong, fired, right_alone, wrong_alone = counts.tolist()
    rules = list(rule_list.rules[:after])
    for number, rule in enumerate(rule_list.rules[after:], start=after + 1):
        head = []
        for literal in rule.head:
            label = literal.label
            alone = amount(right_alone[number][label]), amount(wrong_alone[number][label])
            tp, fp = amount(right[number][label]), amount(wrong[number][label])
            head.append(replace(literal, alone=alone) if only_alone else replace(literal, tp=tp, fp=fp, alone=alone))
        counted = replace(rule, head=tuple(head))
        rules.append(counted if only_alone else replace(counted, coverage=amount(fired[number][0]), stale=False))
    if only_alone:
        return replace(rule_list, rules=tuple(rules))
    rest = tuple((amount(present), amount(absent)) for present, absent in zip(right[0], wrong[0], strict=True))
    return replace(rule_list, rules=tuple(rules), default_counts=rest)


def recount(rule_list: RuleList, data: Dataset) -> RuleList:
    """Return the list with the counts it has on `data`, by running it there.

    Per literal, tp and fp are the weights of the examples on which the rule itself set the label, rightly or wrongly;
    coverage is the weight of the examples on which it fired; default counts are those on which no rule set the label.
    Unknown labels count nowhere. The exact value from learning is dropped, because it belongs to other counts.
    """
    if not rule_list.label_names:
        raise ModelError("the list knows no label, so there is nothing to count")
    fitted, table = match_columns(rule_list, data)
    if data.label_names != rule_list.label_names:
        raise ModelError(f"{data.name}: its labels are not those of the model, in the same order")
    truth = dense_labels(read_target(data.Y, data.label_names).truth)
    weights, scale = integer_weights(data.weights, len(data))
    counts = list_counts(fitted, table, truth, weights)
    counted = with_counts(rule_list, counts, partial(unscaled, scale=scale))
    rules = tuple(
        replace(
            rule,
            head=tuple(replace(literal, chance=None) for literal in rule.head),
            value=None,
            bound=None,
            unfinished=False,
            certificate=None,
        )
        for rule in counted.rules
    )
    info = note_weights(rule_list.info | {"recounted": data.name}, is_weighted(weights, scale))
    info.pop(OUTDATED_DEFAULTS, None)
    return with_threshold_intervals(replace(counted, rules=rules, default_chances=(), info=info), table[weights > 0])


def is_weighted(weights: Ints, scale: Fraction) -> bool:
    """Return True if counts are sums of weights, not numbers of examples.

    >>> is_weighted(np.array([1, 3]), Fraction(1, 2)), is_weighted(np.array([1, 0, 1]), Fraction(1))
    (True, False)
    """
    return bool(scale != 1 or (weights > 1).any())


def note_weights(info: dict[str, Any], weighted: bool) -> dict[str, Any]:
    """Return the information about a model with the member that states whether counts are sums of weights.

    >>> note_weights({"examples": 3}, True), note_weights({"weighted": True}, False)
    ({'examples': 3, 'weighted': True}, {})
    """
    rest = {name: value for name, value in info.items() if name != "weighted"}
    return rest | {"weighted": True} if weighted else rest
