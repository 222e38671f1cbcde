"""Probabilities from the counts of the rules that fired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polyrule.data.table import Table
from polyrule.model.predict import PredictResult, predict
from polyrule.model.rule import Literal

if TYPE_CHECKING:
    from polyrule.model.rule_list import RuleList


def predict_proba(rule_list: RuleList, table: Table, result: PredictResult | None = None) -> npt.NDArray[np.float64]:
    """Probability that each label is present, from the evidence behind the rule that decided it.

    A label set by a literal with counts (tp, fp) has its predicted value with probability (tp + 1) / (tp + fp + 2),
    Laplace's estimate. A label that nobody set is present with probability (present + 1) / (present + absent + 2), from
    the training examples on which nobody set it either. Where the learner stored a fairer estimate (`Literal.chance`,
    `RuleList.default_chances`), that one holds. A label set to absent only because the list makes full
    predictions has no counts of its own; the rule's counts summed over its head stand in for them.

    Parameters
    ----------
    rule_list : RuleList
    table : Table
    result : PredictResult, optional
        What `predict` returned for the same table, to save running the list again.

    Returns
    -------
    ndarray of float64, shape (examples, labels)

    Examples
    --------
    >>> from polyrule.data import Feature
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> rule = Rule((Literal(0, 1, tp=8, fp=0),), (NumericCondition(0, ">", 5.5),))
    >>> table = Table.from_array([[6.0], [2.0]], [Feature("colours")])
    >>> predict_proba(RuleList((rule,), table.features, ("red",), default_counts=((0, 3),)), table).tolist()
    [[0.9], [0.2]]
    """
    result = predict(rule_list, table) if result is None else result
    tables = rule_list.chances
    chances = np.tile(tables.defaults, (len(result.setter), 1))
    rows, labels = np.nonzero(result.setter >= 0)
    if not len(rows):
        return chances
    setter = result.setter[rows, labels].astype(np.int64)
    wanted = setter * len(tables.defaults) + labels
    spot = np.minimum(np.searchsorted(tables.keys, wanted), len(tables.keys) - 1)
    found = tables.keys[spot] == wanted
    chances[rows, labels] = np.where(found, tables.present[spot], 1.0 - tables.right[setter])
    return chances


@dataclass(frozen=True, eq=False)
class ChanceTables:
    """What a rule list knows of probabilities, as arrays.

    Parameters
    ----------
    keys : ndarray of int64
        ``rule * labels + label`` of every literal, ascending.
    present : ndarray of float64
        Per key: probability that the label is present where this literal set it.
    right : ndarray of float64
        Per rule: probability of being right, for labels outside its head.
    defaults : ndarray of float64
        Per label: probability of presence where nobody set it.
    """

    keys: npt.NDArray[np.int64]
    present: npt.NDArray[np.float64]
    right: npt.NDArray[np.float64]
    defaults: npt.NDArray[np.float64]

    @classmethod
    def of(cls, rule_list: RuleList) -> ChanceTables:
        """Work them out from the counts."""
        width = len(rule_list.label_names)
        keys, present = [], []
        for number, rule in enumerate(rule_list.rules):
            for literal in rule.head:
                right = chance_of(literal)
                keys.append(number * width + literal.label)
                present.append(right if literal.value else 1.0 - right)
        return cls(
            np.array(keys, dtype=np.int64),
            np.array(present),
            np.array([smoothed(rule.tp, rule.fp) for rule in rule_list.rules]),
            np.array([default_chance(rule_list, label) for label in range(width)]),
        )


def smoothed(right: float, wrong: float) -> float:
    """Laplace's estimate of being right after `right` hits and `wrong` misses."""
    return (right + 1) / (right + wrong + 2)


def chance_of(literal: Literal) -> float:
    """Probability that a literal is right: the learner's estimate, else Laplace's."""
    return smoothed(literal.tp, literal.fp) if literal.chance is None else literal.chance


def default_chance(rule_list: RuleList, label: int) -> float:
    """Probability that a label is present when nobody set it."""
    return rule_list.default_chances[label] if rule_list.default_chances else smoothed(*rule_list.default_counts[label])
