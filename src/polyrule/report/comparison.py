"""Several models side by side: rules they share, and how often they disagree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from polyrule.conditions import canonical_key
from polyrule.data.labels import UNKNOWN
from polyrule.model.rule import Rule
from polyrule.utils.arrays import Bytes

Signature = tuple[frozenset[tuple[int, int]], frozenset[Any]]


def signature(rule: Rule) -> Signature:
    """Head and body of a rule, without its counts and the order of its conditions and members."""
    return frozenset((literal.label, literal.value) for literal in rule.head), canonical_key(rule.body)


def shared_rules(first: Sequence[Rule], second: Sequence[Rule]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Pairs of equal rules, and pairs that have the same body but another head.

    A rule is paired with the first rule of the other model that fits and is still free.

    Examples
    --------
    >>> from polyrule.model import Literal, NumericCondition
    >>> body = (NumericCondition(0, ">", 1.0),)
    >>> left = [Rule((Literal(0, 1, tp=3),), body), Rule((Literal(1, 1),))]
    >>> right = [Rule((Literal(1, 0),)), Rule((Literal(0, 1, tp=9),), body)]
    >>> shared_rules(left, right)
    ([(0, 1)], [(1, 0)])
    """
    same = _pair(list(map(signature, first)), list(map(signature, second)), set(), set())
    left, right = {a for a, _ in same}, {b for _, b in same}
    first_bodies, second_bodies = ([canonical_key(rule.body) for rule in rules] for rules in (first, second))
    return same, _pair(first_bodies, second_bodies, left, right)


def _pair(
    first: Sequence[Any], second: Sequence[Any], used_first: set[int], used_second: set[int]
) -> list[tuple[int, int]]:
    free: dict[Any, list[int]] = {}
    for number, key in enumerate(second):
        if number not in used_second:
            free.setdefault(key, []).append(number)
    pairs = []
    for number, key in enumerate(first):
        if number not in used_first and free.get(key):
            pairs.append((number, free[key].pop(0)))
    return pairs


def summarise(
    models: Sequence[Sequence[Rule]], predictions: Sequence[Bytes] | None, truth: Bytes | None
) -> list[dict[str, Any]]:
    """One entry per pair of models: shared rules and, with examples, where predictions differ and which is right."""
    entries = []
    for a, b in combinations(range(len(models)), 2):
        same, bodies = shared_rules(models[a], models[b])
        entry: dict[str, Any] = {"models": [a, b], "same": same, "same_body": bodies}
        if predictions is not None and truth is not None:
            differ = (predictions[a] != predictions[b]) & (truth != UNKNOWN)
            entry["examples"] = int(differ.any(axis=1).sum())
            entry["labels"] = differ.sum(axis=0).tolist()
            # Where a label is known and two models differ, exactly one of them is right.
            entry["first_right"] = (differ & (predictions[a] == truth)).sum(axis=0).tolist()
        entries.append(entry)
    return entries
