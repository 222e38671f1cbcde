"""What a list does on examples, as whole numbers that add up over any number of blocks of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from polyrule.conditions.intervals import with_threshold_intervals
from polyrule.data.examples import integer_weights, unscaled
from polyrule.data.labels import UNKNOWN, require_known
from polyrule.data.table import Table
from polyrule.errors import ModelError
from polyrule.model.narrowing import fit_to
from polyrule.model.predict import fired_weights, predict
from polyrule.utils.arrays import Bytes, Ints

if TYPE_CHECKING:
    from polyrule.data.dataset import Dataset
    from polyrule.model.rule_list import RuleList


def list_counts(rule_list: RuleList, table: Table, truth: Bytes, weights: Ints) -> Ints:
    """Return the weight that each label has right (0), wrong (1) by each setter, and how much each rule fires on (2).

    Shape (3, 1 + rules, labels): setter 0 is nobody, for whom "right" means present; what a rule fires on stands in
    the first label. A label that is not known is neither right nor wrong.

    Examples
    --------
    >>> from polyrule.model import RuleList
    >>> table = Table.from_array([[1.0], [2.0], [3.0]])
    >>> rules = RuleList((), table.features, ("a", "b")).insert(0, "a <- x0 > 1.5")
    >>> truth = np.array([[0, 0], [1, 0], [0, 1]], dtype=np.uint8)
    >>> list_counts(rules, table, truth, np.ones(3, dtype=np.int64)).tolist()
    [[[0, 1], [1, 0]], [[1, 2], [1, 0]], [[0, 0], [2, 0]]]
    """
    rules, labels = len(rule_list), truth.shape[1]
    said = np.ones((1 + rules, labels), dtype=np.int64)
    for number, rule in enumerate(rule_list.rules, start=1):
        for literal in rule.head:
            said[number, literal.label] = literal.value
    # by what the label is, who has set it, and which label it is
    cells = predict(rule_list, table).setter
    cells += 1
    cells += truth.astype(np.int32) * np.int32(1 + rules)
    cells *= labels
    cells += np.arange(labels, dtype=np.int32)
    units = None if (weights == 1).all() else np.repeat(weights, labels)
    shape = (UNKNOWN + 1, 1 + rules, labels)
    counts = np.bincount(cells.ravel(), units, minlength=math.prod(shape)).astype(np.int64).reshape(shape)
    found = np.zeros((3, 1 + rules, labels), dtype=np.int64)
    found[:2] = np.where(said == 1, counts[[1, 0]], counts[[0, 1]])
    found[2, 1:, 0] = fired_weights(rule_list, table, weights)
    return found


def with_counts(rule_list: RuleList, counts: Ints, amount: Callable[[int], float], after: int = 0) -> RuleList:
    """Return the list with the counts of `list_counts`, each written as an `amount`.

    What is expected of new examples stays as it is, and so do the first rules, as many as `after` says.
    """
    right, wrong, fired = counts.tolist()
    rules = list(rule_list.rules[:after])
    for number, rule in enumerate(rule_list.rules[after:], start=after + 1):
        head = tuple(
            replace(one, tp=amount(right[number][one.label]), fp=amount(wrong[number][one.label])) for one in rule.head
        )
        rules.append(replace(rule, head=head, coverage=amount(fired[number][0])))
    rest = tuple((amount(present), amount(absent)) for present, absent in zip(right[0], wrong[0], strict=True))
    return replace(rule_list, rules=tuple(rules), default_counts=rest)


def recount(rule_list: RuleList, data: Dataset) -> RuleList:
    """Return the list with the counts it has on `data`, by running it there.

    Per literal, tp and fp are the weights of the examples on which the rule itself set the label, rightly or wrongly;
    coverage is the weight of the examples on which it fired; default counts are those on which nobody set the label.
    The exact value from learning is dropped, because it belongs to other counts.
    """
    if not rule_list.label_names:
        raise ModelError("the list knows no label, so there is nothing to count")
    fitted, table = fit_to(rule_list, data)
    if data.label_names != rule_list.label_names:
        raise ModelError(f"{data.name}: its labels are not those of the model, in the same order")
    require_known(data.Y, f"{data.name}: counting rules anew")
    truth = np.asarray(data.Y.todense() if sp.issparse(data.Y) else data.Y, dtype=np.uint8)
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
    info = {**rule_list.info, "recounted": data.name}
    return with_threshold_intervals(replace(counted, rules=rules, default_chances=(), info=info), table[weights > 0])
