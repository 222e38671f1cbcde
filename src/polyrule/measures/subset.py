"""Subset accuracy: no function of summed counts, but of whole examples."""

from __future__ import annotations

from fractions import Fraction

from polyrule.measures.base import Measure


class SubsetAccuracy(Measure):
    """The share of examples that are right for every label of the head; example-wise by definition.

    A covered example is right for a label if the label was not set before and the truth equals the literal; an
    uncovered one if the label is absent. With scope ``all`` or ``full`` every label outside the head must be absent
    too. The averaging makes no difference.

    Examples
    --------
    Two of three examples are right for both labels when the body covers the first two and the head has both labels:

    >>> from polyrule.heads import World, evaluate
    >>> from polyrule.measures import Objective
    >>> world = World.from_text(covered="11 10", uncovered="00")
    >>> evaluate(world, Objective(SubsetAccuracy()), ((0, 1), (1, 1)))
    Fraction(2, 3)
    """

    name = "subset"
    monotone = True

    def in_units(self, unit: Fraction) -> SubsetAccuracy:
        """A share of examples is the same in every unit."""
        return self

    def value(self, tp: int, fp: int, tn: int, fn: int) -> Fraction:
        """Return the value for one label, where right means TP or TN."""
        total = tp + fp + tn + fn
        return Fraction(tp + tn, total) if total else Fraction(0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SubsetAccuracy)

    def __hash__(self) -> int:
        return hash(SubsetAccuracy)

    def __repr__(self) -> str:
        return "SubsetAccuracy()"
