"""Growing one rule by the book: every condition tried, every head tried, nothing shared with the engines."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from polyrule.conditions import Condition, LabelCondition, NominalCondition, NumericCondition
from polyrule.data.table import Table
from polyrule.heads import HeadProblem, search
from polyrule.measures import Objective
from polyrule.search.protocol import GrowOptions

Body = tuple[Condition, ...]


def holds(condition: Condition, values: np.ndarray, assigned: np.ndarray) -> np.ndarray:
    if isinstance(condition, LabelCondition):
        return assigned[:, condition.label] == condition.value
    column = values[:, condition.feature]
    if isinstance(condition, NominalCondition):
        return column == condition.value
    return column <= condition.threshold if condition.op == "<=" else column > condition.threshold


def conditions(table: Table, working: np.ndarray, ever_set: np.ndarray, body: Body) -> list[Condition]:
    """All conditions in canonical order, thresholds of the whole working set."""
    values = np.asarray(table)
    found: list[Condition] = []
    for j, feature in enumerate(table.features):
        column = values[working, j]
        distinct = np.unique(column[~np.isnan(column)])
        if feature.is_nominal:
            if not any(isinstance(c, NominalCondition) and c.feature == j for c in body):
                found += [NominalCondition(j, int(v)) for v in distinct]
        else:
            for low, high in pairwise(distinct):
                exact = (Fraction(float(low)) + Fraction(float(high))) / 2
                threshold = float(exact) if low <= float(exact) < high else float(low)
                found += [NumericCondition(j, "<=", threshold), NumericCondition(j, ">", threshold)]
    for label in np.flatnonzero(ever_set):
        if not any(isinstance(c, LabelCondition) and c.label == label for c in body):
            found += [LabelCondition(int(label), 0), LabelCondition(int(label), 1)]
    return found


class Oracle:
    """Greedy and beam search over bodies, exhaustive search over heads."""

    def __init__(self, table, truth, weights, objective: Objective, options: GrowOptions, strategy: str = "exhaustive"):
        self.table, self.truth, self.weights = table, truth, weights
        self.objective, self.options, self.strategy = objective, options, strategy
        self.values = np.asarray(table)

    def judge(self, body, covered, working, assigned, allowed):
        tested = [c.label for c in body if isinstance(c, LabelCondition)]
        allowed = allowed.copy()
        allowed[tested] = False
        world = HeadProblem(self.truth[working], covered[working], assigned[working], self.weights[working], allowed)
        return search(world, self.objective, self.strategy)

    def grow(self, working, assigned, ever_set, label=None, value=None):
        """Return (value, tp, body, head, covered rows) or None."""
        allowed = np.ones((self.truth.shape[1], 2), dtype=bool)
        allowed[:, 0] = self.objective.negative
        if label is not None:
            allowed[:] = False
            allowed[label, value] = True
        everything = working.copy()
        start = self.judge((), everything, working, assigned, allowed)
        best = None if start is None else (start.value, start.tp, (), start.head, everything)
        beam = [((), everything)]
        while beam:
            level: list[tuple[Fraction, int, tuple, tuple, np.ndarray]] = []
            for body, covered in beam:
                if self.options.max_conditions is None or len(body) < self.options.max_conditions:
                    level += self.extend(body, covered, working, assigned, ever_set, allowed)
            level.sort(key=lambda entry: entry[:2], reverse=True)
            kept, seen = [], set()
            for entry in level:
                if frozenset(entry[2]) not in seen:
                    seen.add(frozenset(entry[2]))
                    kept.append(entry)
            kept = kept[: self.options.beam_width]
            if not kept or (best is not None and kept[0][:2] <= best[:2]):
                break
            best, beam = kept[0], [(entry[2], entry[4]) for entry in kept]
        if best is None or self.weights[best[4]].sum() < self.options.min_coverage:
            return None
        return best

    def extend(self, body, covered, working, assigned, ever_set, allowed):
        found, cuts = [], set()
        labels = ever_set if self.options.label_conditions else np.zeros_like(ever_set)
        for condition in conditions(self.table, working, labels, body):
            cover = covered & holds(condition, self.values, assigned)
            # thresholds that cut alike are one candidate: the lowest comes first
            key = (getattr(condition, "feature", None), getattr(condition, "label", None), cover.tobytes())
            same_side = (*key, getattr(condition, "op", None))
            if same_side in cuts or not cover.any() or (cover == covered).all():
                continue
            cuts.add(same_side)
            if self.weights[cover].sum() < self.options.min_coverage:
                continue
            result = self.judge((*body, condition), cover, working, assigned, allowed)
            if result is not None:
                found.append((result.value, result.tp, (*body, condition), result.head, cover))
        return found
