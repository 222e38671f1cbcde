"""Dependencies between labels that a model states: labels predicted together, and labels that imply others.

The paper distinguishes *conditional* (local) dependencies, which hold if the features satisfy something, from
*unconditional* (global) ones. A rule whose body tests a feature states a conditional dependency; one whose body is
empty or tests labels only states an unconditional one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from typing import Literal as Choice

import numpy as np
import scipy.sparse as sp

from polyrule.conditions import label_conditions, without_labels
from polyrule.model.rule import Rule
from polyrule.utils.arrays import Floats

#: edges kept; a list with very large heads would otherwise draw every pair of labels
MOST_EDGES = 400
#: how often the force-directed placement moves all labels
ROUNDS = 150


@dataclass(slots=True)
class Edge:
    """A dependency between two labels."""

    # one of "together", "implies"; two labels of one head, or a label in a body and one in the head
    kind: Choice["together", "implies"]
    # source, target: labels; for "together" the smaller one first
    source: int
    target: int
    values: tuple[int, int]  # of source and target: 1 present, 0 absent
    conditional: bool  # whether features must satisfy something too
    rules: list[int] = field(default_factory=list)  # the rules that state it


def label_edges(rules: Iterable[Rule], max_edges: int | None = None) -> list[Edge]:
    """Dependencies that the rules state, the ones stated by most rules first, at most `max_edges`.

    Examples
    --------
    >>> from polyrule.model import LabelCondition, Literal, NumericCondition
    >>> rules = [Rule((Literal(0, 1), Literal(2, 1)), (NumericCondition(0, ">", 1.0),)),
    ...          Rule((Literal(1, 0),), (LabelCondition(0, 1),))]
    >>> [(e.kind, e.source, e.target, e.conditional) for e in label_edges(rules)]
    [('together', 0, 2, True), ('implies', 0, 1, False)]
    """
    return _edges(list(rules), max_edges)[0]


def _edges(rules: Sequence[Rule], max_edges: int | None) -> tuple[list[Edge], int]:
    """Return the strongest edges, and the number of all.

    A head of a hundred labels has thousands of pairs, so pairs are counted by a product of sparse matrices, and the
    rules are looked up only for the pairs that are kept.
    """
    heads, bodies = _literals(rules)
    conditional = np.array([len(without_labels(rule.body)) > 0 for rule in rules], dtype=bool)
    pairs = []
    for holds in (False, True):
        rules_of_kind = np.flatnonzero(conditional == holds)
        in_head, in_body = heads[rules_of_kind], bodies[rules_of_kind]
        for order, (left, kind) in enumerate(((in_head, "together"), (in_body, "implies"))):
            counts = (left.T @ in_head).tocoo()
            for a, b, count in zip(counts.row, counts.col, counts.data, strict=True):
                if kind == "implies" or a // 2 < b // 2:  # each pair of a head once
                    pairs.append((-int(count), order, int(a), int(b), holds))
    pairs.sort()
    by_head, by_body = heads.tocsc(), bodies.tocsc()
    edges = []
    for _, order, a, b, holds in pairs[:max_edges]:
        supporting = np.intersect1d(_rules_with((by_head, by_body)[order], a), _rules_with(by_head, b))
        numbers = [int(number) for number in supporting if conditional[number] == holds]
        kind = "implies" if order else "together"
        edges.append(Edge(kind, a // 2, b // 2, (a % 2, b % 2), holds, numbers))  # type: ignore[arg-type]
    return edges, len(pairs)


def _literals(rules: Sequence[Rule]) -> tuple[Any, Any]:
    """Return the literals of heads and of bodies as matrices, a row per rule; column 2 * label + value."""
    head = [(n, 2 * literal.label + literal.value) for n, rule in enumerate(rules) for literal in rule.head]
    tests = [(n, c) for n, rule in enumerate(rules) for c in label_conditions(rule.body)]
    body = sorted({(n, 2 * condition.label + condition.value) for n, condition in tests})
    width = 1 + max((column for _, column in [*head, *body]), default=-1)
    return tuple(
        sp.csr_array(
            (np.ones(len(pairs), dtype=np.int64), ([n for n, _ in pairs], [column for _, column in pairs])),
            shape=(len(rules), width),
        )
        for pairs in (head, body)
    )


def _rules_with(matrix: Any, column: int) -> Any:
    return matrix.indices[matrix.indptr[column] : matrix.indptr[column + 1]]


def layout(labels: int, pairs: Iterable[tuple[int, int]]) -> Floats:
    """Place labels in the unit square: linked ones near each other, all of them apart.

    A force-directed placement that starts from a circle and uses no random numbers, so that the same model always gives
    the same picture.
    """
    angles = 2 * np.pi * np.arange(labels) / max(1, labels)
    # A growing radius breaks the circle's symmetry, in which opposite forces would cancel for ever.
    place = np.column_stack([np.cos(angles), np.sin(angles)]) * (1 + 0.01 * np.arange(labels)[:, None] / max(1, labels))
    linked = np.zeros((labels, labels))
    for first, second in pairs:
        if first != second:
            linked[first, second] = linked[second, first] = 1
    if labels < 2:
        return np.full((labels, 2), 0.5)
    ideal = 1.6 / np.sqrt(labels)
    for step in range(ROUNDS):
        gap = place[:, None, :] - place[None, :, :]
        distance = np.maximum(np.sqrt((gap**2).sum(axis=2)), 1e-6)
        push = ideal**2 / distance**2 - linked * distance / ideal
        np.fill_diagonal(push, 0)
        force = (gap * push[:, :, None]).sum(axis=1) - 2.0 * place  # a pull to the middle keeps loose labels in view
        length = np.maximum(np.sqrt((force**2).sum(axis=1, keepdims=True)), 1e-9)
        place = place + force / length * np.minimum(length, 0.15 * (1 - step / ROUNDS))
    low, high = place.min(axis=0), place.max(axis=0)
    scaled: Floats = (place - low) / np.maximum(high - low, 1e-9)
    return scaled


def summarise(rules: Iterable[Rule], labels: int) -> dict[str, Any]:
    """Edges and places of the graph as plain values; `dropped` is the number of weaker edges left out."""
    edges, total = _edges(list(rules), MOST_EDGES)
    places = layout(labels, ((edge.source, edge.target) for edge in edges))
    return {
        "places": [[round(float(x), 4), round(float(y), 4)] for x, y in places],
        "edges": [asdict(edge) for edge in edges],
        "dropped": total - len(edges),
    }
