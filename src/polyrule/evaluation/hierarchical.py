"""Hierarchical precision, recall and F1: labels count together with all labels that they imply.

Kiritchenko, Matwin, Nock and Famili, "Learning and evaluation in the presence of class hierarchies", 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyrule.data.labels import UNKNOWN, dense_labels
from polyrule.relations import Plan, read
from polyrule.utils.arrays import Bytes


@dataclass(frozen=True)
class HierarchicalScores:
    """Counts of labels with all labels that they imply, summed over all labels and examples.

    Parameters
    ----------
    right, predicted, present : int
        Labels that are present and predicted; predicted; present. Labels that remain unknown count nowhere.
    zero_division : float
        Value of 0/0.

    Examples
    --------
    >>> scores = HierarchicalScores(right=6, predicted=8, present=12)
    >>> scores.precision, scores.recall, scores.f1
    (0.75, 0.5, 0.6)
    """

    right: int
    predicted: int
    present: int
    zero_division: float = 0.0

    @property
    def precision(self) -> float:
        """Share of predicted labels that are present."""
        return self.right / self.predicted if self.predicted else self.zero_division

    @property
    def recall(self) -> float:
        """Share of present labels that are predicted."""
        return self.right / self.present if self.present else self.zero_division

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.predicted + self.present
        return 2 * self.right / total if total else self.zero_division

    def as_dict(self) -> dict[str, float]:
        """Return the three measures."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1}

    def text(self) -> str:
        """Return one line."""
        return (
            "hierarchical, each label with those that it implies: "
            f"precision {self.precision:.4f}, recall {self.recall:.4f}, F1 {self.f1:.4f}"
        )


def score_hierarchical(
    Y_true: Any, Y_pred: Any, relations: Any, label_names: Sequence[str], zero_division: float = 0.0
) -> HierarchicalScores:
    """Return hierarchical scores of predictions.

    Parameters
    ----------
    Y_true, Y_pred : array of shape (examples, labels)
    relations : str, list, mapping, array or path
        See `polyrule.relations.read`; only implications count.
    label_names : sequence of str
    zero_division : float
        Value of 0/0.

    Examples
    --------
    >>> names = ("lung disease", "pneumonia", "asthma")
    >>> tree = {"lung disease": ["pneumonia", "asthma"]}
    >>> score_hierarchical([[1, 1, 0]], [[0, 0, 1]], tree, names).as_dict()
    {'precision': 0.5, 'recall': 0.5, 'f1': 0.5}
    """
    plan = Plan.of([one for one in read(relations, label_names) if one.kind == "implies"], label_names)
    truth, predicted = (_with_implied(np.asarray(dense_labels(np.asarray(part))), plan) for part in (Y_true, Y_pred))
    known = truth != UNKNOWN
    right = int(((truth == 1) & (predicted == 1)).sum())
    n_predicted, n_present = int(((predicted == 1) & known).sum()), int((truth == 1).sum())
    return HierarchicalScores(right, n_predicted, n_present, zero_division)


def _with_implied(labels: Bytes, plan: Plan) -> Bytes:
    """Return labels with all that present ones imply; without the others, unknown ones stay so."""
    found = labels.copy()
    for label, below in enumerate(plan.below):
        found[(labels[:, list(below)] == 1).any(axis=1), label] = 1
    return found
