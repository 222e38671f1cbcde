"""Separate-and-conquer and binary relevance by the book, on top of the twin engine."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.twin.engine import TwinEngine

from polyrule.measures import Objective
from polyrule.search.protocol import GrowOptions

Rules = list[tuple[Any, ...]]


def rule_list(
    table: Any,
    truth: np.ndarray,
    weights: list[int],
    objective: Objective,
    options: GrowOptions,
    heads: str = "multi",
    remaining: float = 0.1,
    stop_threshold: float | None = 0.01,
    keep_covered: bool = True,
) -> Rules:
    """Return rules as (head with counts, body, stop, value, coverage)."""
    engine = TwinEngine(table, truth, weights, objective, options)
    rules: Rules = []
    while Fraction(engine.remaining) > Fraction(str(remaining)) * sum(weights) and engine.has_unset:
        found = engine.grow() if heads == "multi" else engine.grow_single()
        if found is None:
            break
        outcome = engine.commit(found, stop_threshold, keep_covered)
        rules.append((found.head, found.body, outcome.stopped, found.value, outcome.covered))
    return rules


def binary_relevance(
    table: Any, truth: np.ndarray, weights: list[int], measure: str, options: GrowOptions
) -> tuple[Rules, list[int], list[list[int]]]:
    """One list per label for its rarer value, which is the positive class; defaults and what nobody set."""
    rules: Rules = []
    defaults, left = [], []
    for label in range(truth.shape[1]):
        cells = list(zip(weights, truth[:, label], strict=True))
        rarer = 1 if sum(w for w, cell in cells if cell == 1) <= sum(w for w, cell in cells if cell == 0) else 0
        positive = np.where(truth[:, [label]] == 2, 2, truth[:, [label]] == rarer).astype(int)
        engine = TwinEngine(table, positive, weights, Objective(measure), options)
        while engine.remaining > 0 and engine.has_unset:
            found = engine.grow(0, 1)
            if found is None or found.head[0][2] <= found.head[0][3]:
                break
            outcome = engine.commit(found, None, False)
            head = ((label, rarer, *found.head[0][2:]),)
            rules.append((head, found.body, False, found.value, outcome.covered))
        (counts,) = engine.leftover()
        present, absent = counts if rarer else counts[::-1]
        left.append([present, absent])
        defaults.append(1 - rarer if present == absent == 0 else int(present > absent))
    return rules, defaults, left
