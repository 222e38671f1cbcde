"""Whether a value only rises, or only falls, as counts change in one direction: read off the signs of coefficients."""

from __future__ import annotations

from collections.abc import Iterator

from polyrule.measures.grammar import VARIABLES, Node
from polyrule.measures.proofs.effort import MOST_WORK, OutOfReach, effort
from polyrule.measures.proofs.normal_form import Undecided, quotient
from polyrule.measures.proofs.polynomial import Polynomial

STEP = 4  # the position of the variable that says how far the counts move
MOST_CASES = 64


def one_way(root: Node, move: dict[str, int], strictly: bool = False, least_tp: bool = True) -> int | None:
    """Say which way the value of an expression goes when counts move: 1 never falls, -1 never rises, 0 stays.

    Parameters
    ----------
    root : Node
    move : dict
        How each count changes per step: 1, 0 or -1. Counts are not negative before and after.
    strictly : bool
        Whether 1 and -1 are to mean that it always rises or always falls.
    least_tp : bool
        Whether TP is positive throughout.

    Returns
    -------
    int or None
        None: neither can be read off the coefficients.

    Examples
    --------
    >>> from polyrule.measures.grammar import tree
    >>> one_way(tree("tp / (tp + fp)"), {"tp": 1}), one_way(tree("tp / (tp + fp)"), {"fp": 1})
    (1, -1)
    >>> one_way(tree("tp * tn"), {"fp": 1}), one_way(tree("tp - fp**2 + fp"), {"fp": 1})
    (0, None)
    """
    ways = set()
    start = frozenset({0, STEP} if least_tp else {STEP})
    try:
        with effort(MOST_WORK):
            for number, (difference, positive) in enumerate(_differences(root, move, frozenset(), start)):
                if number > MOST_CASES:
                    return None
                way = _sign(difference, positive, strictly)
                if way is None:
                    return None
                ways.add(way)
    except OutOfReach:
        return None
    if strictly:
        return ways.pop() if len(ways) == 1 else None
    return None if {1, -1} <= ways else max(ways, key=abs)


def is_monotone(root: Node) -> bool:
    """Whether the value never falls as TP or TN grows and never rises as FP or FN grows, for all counts.

    >>> from polyrule.measures.grammar import tree
    >>> is_monotone(tree("tp * tn / (1 + fp)")), is_monotone(tree("tp**2 / (tp + fp)")), is_monotone(tree("tp * fp"))
    (True, True, False)
    """
    wanted = {"tp": 1, "fp": -1, "tn": 1, "fn": -1}
    return all(one_way(root, {name: 1}, least_tp=False) in (0, way) for name, way in wanted.items())


def _differences(
    root: Node, move: dict[str, int], zero: frozenset[int], positive: frozenset[int]
) -> Iterator[tuple[Polynomial, frozenset[int]]]:
    """Yield, case by case, a polynomial with the sign of the value after the move minus the value before."""
    none, step = Polynomial.constant(0, 5), Polynomial.variable(STEP, 5)
    before, after = {}, {}
    for i, name in enumerate(VARIABLES):
        count = none if i in zero else Polynomial.variable(i, 5)
        before[name] = count + step if move.get(name, 0) < 0 else count
        after[name] = count + step if move.get(name, 0) > 0 else count
    try:
        low, high = quotient(root, before, positive), quotient(root, after, positive)
    except Undecided as open_:
        yield from _differences(root, move, zero | {open_.variable}, positive)
        yield from _differences(root, move, zero, positive | {open_.variable})
        return
    yield high.top * low.bottom - low.top * high.bottom, positive


def _sign(difference: Polynomial, positive: frozenset[int], strictly: bool) -> int | None:
    if not difference:
        return 0
    for way, polynomial in ((1, difference), (-1, -difference)):
        if polynomial.is_positive(positive) or (polynomial.never_negative and not strictly):
            return way
    return None
