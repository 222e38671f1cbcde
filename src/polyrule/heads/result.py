"""What a head search returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from polyrule.measures.definition import Head

Rank = tuple[Fraction, int, int, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Node:
    """One head the search looked at or cut off.

    `head` and `value` are its literals and what it is worth, `children` the heads that add one literal to it. `status`
    is ``evaluated``, ``pruned`` (cut off here: everything below is skipped) or ``best``. A pruned head that
    was never evaluated has no value.

    Examples
    --------
    >>> from polyrule.heads import World, search
    >>> from polyrule.measures import Objective
    >>> world = World.from_text(covered="0110 1100 1000")
    >>> found = search(world, Objective("precision"), "antimonotone-tree", trace=True, min_tp=0)
    >>> [child.head for child in found.trace.children][:2]
    [((0, 1),), ((1, 1),)]
    """

    head: Head
    value: Fraction | None
    status: str
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class HeadResult:
    """The best head and how it was found.

    Parameters
    ----------
    head : tuple of (label, value)
        In label order.
    value : Fraction
        Its exact value, lift included.
    counts : tuple of (tp, fp)
        Per literal.
    evaluated : int
        Heads whose value was computed.
    pruned : int
        Heads of the search space that were never looked at.
    strategy : str
        The search that found it.
    trace : Node or None
        The search tree, with the empty head as root.

    Examples
    --------
    >>> from polyrule.heads import World, search
    >>> from polyrule.measures import Objective
    >>> found = search(World.from_text(covered="110 100"), Objective("precision", negative=False))
    >>> found.head, found.value, found.tp
    (((0, 1),), Fraction(1, 1), 2)
    """

    head: Head
    value: Fraction
    counts: tuple[tuple[int, int], ...]
    evaluated: int
    pruned: int
    strategy: str
    trace: Node | None = field(default=None, compare=False)

    @property
    def tp(self) -> int:
        """True positives summed over the head."""
        return sum(tp for tp, _ in self.counts)


def rank(value: Fraction, head: Head, tp: int) -> Rank:
    """Return the key by which heads compare; larger is better.

    Value, then more labels, then more true positives, then the label numbers that come first lexicographically, then
    ``label = 1`` before ``label = 0`` at the first label where two heads differ.
    """
    return value, len(head), tp, tuple(-label for label, _ in head), tuple(value_ for _, value_ in head)
