"""What each rule of a list does on a set of examples: whom it covers, what it sets, where it is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from polyrule.arrays import Bytes, Ints, Ints32
from polyrule.data.table import Table
from polyrule.model.predict import fired_rows, predict
from polyrule.model.rule_list import RuleList


class RuleCounts(Protocol):
    """What is counted of every rule, whoever counted it; see `Run`."""

    @property
    def covers(self) -> Ints:
        """Examples that reach each rule and satisfy its body."""

    @property
    def sets(self) -> Ints:
        """Examples of which each rule set a label."""

    @property
    def right(self) -> Ints:
        """Labels each rule set rightly."""

    @property
    def wrong(self) -> Ints:
        """Labels each rule set wrongly."""


@dataclass(frozen=True, eq=False)
class Run:
    """A rule list run over labelled examples."""

    labels: Bytes  # shape (examples, labels); the predictions
    setter: Ints32  # shape (examples, labels); the rule that set each label, -1 where the default holds
    truth: Bytes  # shape (examples, labels)
    covers: Ints  # examples that reach the rule and satisfy its body, whether or not anything is left to set
    sets: Ints  # examples of which the rule set at least one label
    # right, wrong: shape (rules, labels); labels the rule set, by whether the truth agrees; an unknown one is in
    # neither. For a list with full predictions this counts the labels it sets by leaving them out, too.
    right: Ints
    wrong: Ints

    @property
    def unset(self) -> Ints:
        """Per label, the examples on which no rule set it."""
        return np.asarray((self.setter < 0).sum(axis=0))


def run(model: RuleList, table: Table, truth: Bytes) -> Run:
    """Run the list and count what every rule does.

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NumericCondition, Rule
    >>> table = Table.from_array([[6.0], [2.0]], [Feature("colours")])
    >>> rules = (Rule((Literal(0, 1),), (NumericCondition(0, ">", 5.5),)), Rule((Literal(0, 0),)))
    >>> result = run(RuleList(rules, table.features, ("red",)), table, np.array([[1], [1]], dtype=np.uint8))
    >>> result.covers.tolist(), result.sets.tolist(), result.right.tolist(), result.wrong.tolist()
    ([1, 2], [1, 1], [[1], [0]], [[0], [1]])
    """
    result = predict(model, table)
    rules, width = len(model), len(model.label_names)
    rows, columns = np.nonzero(result.setter >= 0)
    setters = result.setter[rows, columns].astype(np.int64)
    said, true = result.labels[rows, columns], truth[rows, columns]
    agree, differ = said == true, said == 1 - true  # neither where the truth is unknown
    cells = setters * width + columns
    shape = (rules, width)
    return Run(
        labels=result.labels,
        setter=result.setter,
        truth=truth,
        covers=np.array([len(fired) for fired in fired_rows(model, table)], dtype=np.int64),
        sets=np.bincount(np.unique(setters * len(table) + rows) // max(1, len(table)), minlength=rules),
        right=np.bincount(cells[agree], minlength=rules * width).reshape(shape),
        wrong=np.bincount(cells[differ], minlength=rules * width).reshape(shape),
    )
