"""One rule of an ensemble: conditions, and what they add to the scores of labels."""

from __future__ import annotations

from dataclasses import dataclass

from polyrule.errors import ModelError
from polyrule.model.rule import Condition, group_of


@dataclass(frozen=True, slots=True)
class Entry:
    """One label of a head and what the rule adds to its score.

    Parameters
    ----------
    label : int
        Number of the label.
    weight : float
        In log-odds, or for a scorecard in points.

    Examples
    --------
    >>> Entry(label=0, weight=1.5)
    Entry(label=0, weight=1.5)
    """

    label: int
    weight: float


@dataclass(frozen=True, slots=True)
class WeightedRule:
    """``calm +1.2, happy −0.8 <- body``: if the body holds, the weights are added to the labels' scores.

    Parameters
    ----------
    head : tuple of Entry
        At least one, in label order.
    body : tuple of conditions
        All must hold; empty means always.
    coverage : float or None
        Weight of the training examples that the body covers.

    Examples
    --------
    >>> from polyrule.model import NumericCondition
    >>> slow = WeightedRule((Entry(0, 1.5), Entry(1, -0.5)), (NumericCondition(0, "<=", 90),), coverage=42)
    >>> slow.is_multi_label
    True
    """

    head: tuple[Entry, ...]
    body: tuple[Condition, ...] = ()
    coverage: float | None = None

    def __post_init__(self) -> None:
        labels = [entry.label for entry in self.head]
        if not labels or labels != sorted(set(labels)):
            raise ModelError("the head of a weighted rule needs distinct labels in label order")
        group_of(self.body)

    @property
    def is_multi_label(self) -> bool:
        """Whether the rule weighs more than one label."""
        return len(self.head) > 1
