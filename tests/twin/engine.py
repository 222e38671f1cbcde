"""Growing and committing rules by the book: every condition, every head, counted example by example."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.conditions import (
    Condition,
    GroupCondition,
    LabelCondition,
    MissingCondition,
    NominalCondition,
    NumericCondition,
    SetCondition,
    n_conditions,
)
from polyrule.measures import Objective
from polyrule.measures.association import round_average
from polyrule.search.protocol import Candidate, GrowOptions, Outcome

Head = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Found:
    """A body with its best head."""

    value: Fraction
    tp: int
    head: Head
    body: tuple[Condition, ...]
    covered: tuple[int, ...]

    @property
    def rank(self) -> tuple[Fraction, int]:
        return self.value, self.tp


def holds(condition: Condition, row: list[float], assigned: list[int]) -> bool:
    """Whether an example satisfies a condition; NaN satisfies none but that it is missing."""
    if isinstance(condition, GroupCondition):
        return sum(holds(member, row, assigned) for member in condition.members) >= condition.least
    if isinstance(condition, LabelCondition):
        return assigned[condition.label] == condition.value
    value = row[condition.feature]
    if isinstance(condition, NominalCondition):
        return value == condition.value
    if isinstance(condition, SetCondition):
        return value in condition.values
    if isinstance(condition, MissingCondition):
        return (value != value) == condition.missing
    return value <= condition.threshold if condition.op == "<=" else value > condition.threshold


class TwinEngine:
    """The contract of `polyrule.search.protocol.Engine`, for a handful of examples and labels."""

    def __init__(self, table: Any, truth: Any, weights: Any, objective: Objective, options: GrowOptions) -> None:
        self.rows = np.asarray(table).tolist()
        self.features = table.features
        self.truth = (truth.toarray() if sp.issparse(truth) else np.asarray(truth)).tolist()
        self.weights = [int(w) for w in weights]
        self.objective, self.options = objective, options
        self.labels = len(self.truth[0])
        self.working = [e for e, weight in enumerate(self.weights) if weight]  # weight 0 leaves an example out
        self.assigned = [[-1] * self.labels for _ in self.rows]
        self.ever_set: set[int] = set()

    # -- what a head is worth ---------------------------------------------------------------------------------------

    def cell(self, e: int, label: int, said: dict[int, int], covered: bool) -> tuple[int, int, int, int] | None:
        """Where one label of one example counts as (TP, FP, TN, FN); None: outside the scope."""
        truth, scope = self.truth[e][label], self.objective.scope
        if label not in said and scope == "head":
            return None
        if truth == 2:  # unknown: neither right nor wrong
            return (0, 0, 0, 0)
        if not covered or (label not in said and scope == "all"):
            return (0, 0, 0, 1) if truth else (0, 0, 1, 0)
        if self.assigned[e][label] >= 0:
            return (0, 0, 0, 0)
        return (1, 0, 0, 0) if truth == said.get(label, 0) else (0, 1, 0, 0)

    def right(self, e: int, said: dict[int, int], covered: bool) -> bool:
        """Whether subset accuracy counts an example as right."""
        for label in range(self.labels):
            truth = self.truth[e][label]
            if truth == 2:
                continue
            if label in said and covered:
                if self.assigned[e][label] >= 0 or truth != said[label]:
                    return False
            elif (label in said or self.objective.scope != "head") and truth:
                return False
        return True

    def value(self, head: Head, cover: set[int]) -> Fraction:
        """The value of a head on the working set, its lift included."""
        said, measure, averaging = dict(head), self.objective.measure, self.objective.averaging
        if measure.name == "subset":
            whole = sum(self.weights[e] for e in self.working)
            good = sum(self.weights[e] for e in self.working if self.right(e, said, e in cover))
            return (Fraction(good, whole) if whole else Fraction(0)) * self.lift(head)
        cells = {}
        for e in self.working:
            for label in range(self.labels):
                cell = self.cell(e, label, said, e in cover)
                if cell is not None:
                    cells[e, label] = cell
        weight = self.weights
        if averaging == "micro":
            value = measure.value(*(sum(c[i] * weight[e] for (e, _), c in cells.items()) for i in range(4)))
        elif averaging == "label":
            labels = sorted({k for _, k in cells})
            own = [[(e, c) for (e, k), c in cells.items() if k == label] for label in labels]
            value = mean((measure.value(*(sum(c[i] * weight[e] for e, c in one) for i in range(4))), 1) for one in own)
        elif averaging == "example":
            value = mean(
                (measure.value(*(sum(c[i] for (x, _), c in cells.items() if x == e) for i in range(4))), weight[e])
                for e in self.working
            )
        else:
            value = mean((measure.value(*c), weight[e]) for (e, _), c in cells.items())
        if measure.rounded and averaging != "micro":
            value = round_average(value)
        return value * self.lift(head)

    def lift(self, head: Head) -> Fraction:
        """The factor for a head's size."""
        return self.objective.lift.rho(len(head), self.labels)

    def literal_counts(self, label: int, wanted: int, cover: set[int]) -> tuple[int, int]:
        """TP and FP of one literal."""
        unset = [e for e in cover if self.assigned[e][label] < 0 and self.truth[e][label] < 2]
        tp = sum(self.weights[e] for e in unset if self.truth[e][label] == wanted)
        return tp, sum(self.weights[e] for e in unset) - tp

    def best_head(self, cover: set[int], allowed: set[tuple[int, int]]) -> tuple[Fraction, int, Head] | None:
        """Every head is tried; better is value, then labels, then TP, then the first in label order, present first."""
        usable = [
            [(k, v) for v in (1, 0) if (k, v) in allowed and self.literal_counts(k, v, cover)[0] >= 1]
            for k in range(self.labels)
        ]
        most = self.objective.max_head_size or self.labels
        best: tuple[Fraction, int, Head] | None = None
        for size in range(1, min(most, self.labels) + 1):
            for labels in combinations(range(self.labels), size):
                for head in product(*(usable[label] for label in labels)):
                    tp = sum(self.literal_counts(k, v, cover)[0] for k, v in head)
                    value = self.value(head, cover)
                    if best is None or (value, len(head), tp) > (best[0], len(best[2]), best[1]):
                        best = (value, tp, head)
        return best

    # -- growing ----------------------------------------------------------------------------------------------------

    def conditions(self, body: tuple[Condition, ...]) -> list[Condition]:
        """All conditions in canonical order; thresholds lie between values of the working set."""
        found: list[Condition] = []
        for j, feature in enumerate(self.features):
            values = sorted({self.rows[e][j] for e in self.working if self.rows[e][j] == self.rows[e][j]})
            if feature.is_nominal:
                if not any(isinstance(c, NominalCondition) and c.feature == j for c in body):
                    found += [NominalCondition(j, int(v)) for v in values]
                continue
            for low, high in pairwise(values):
                middle = float((Fraction(low) + Fraction(high)) / 2)
                threshold = middle if low <= middle < high else low
                found += [NumericCondition(j, "<=", threshold), NumericCondition(j, ">", threshold)]
        if self.options.label_conditions:
            for label in sorted(self.ever_set):
                if not any(isinstance(c, LabelCondition) and c.label == label for c in body):
                    found += [LabelCondition(label, 0), LabelCondition(label, 1)]
        return found

    def judged(self, body: tuple[Condition, ...], cover: set[int], allowed: set[tuple[int, int]]) -> Found | None:
        """A body with its best head, if it has one; labels it tests cannot be in the head."""
        tested = {c.label for c in body if isinstance(c, LabelCondition)}
        best = self.best_head(cover, {literal for literal in allowed if literal[0] not in tested})
        return None if best is None else Found(*best, body, tuple(sorted(cover)))

    def extensions(self, body: tuple[Condition, ...], cover: set[int], allowed: set[tuple[int, int]]) -> list[Found]:
        """One condition more; of those on one feature that cut alike the first, and none that cuts nothing off."""
        found: list[Found] = []
        seen = set()
        for condition in self.conditions(body):
            rest = {e for e in cover if holds(condition, self.rows[e], self.assigned[e])}
            key = type(condition), getattr(condition, "feature", None), getattr(condition, "op", None), frozenset(rest)
            if not rest or rest == cover or (isinstance(condition, NumericCondition) and key in seen):
                continue
            seen.add(key)
            if sum(self.weights[e] for e in rest) < self.options.min_coverage:
                continue
            better = self.judged((*body, condition), rest, allowed)
            if better is not None:
                found.append(better)
        return found

    def grow(self, label: int | None = None, value: int | None = None) -> Candidate | None:
        """The best rule by greedy or beam search."""
        negative = self.objective.negative
        allowed = {(k, v) for k in range(self.labels) for v in (0, 1) if v or negative}
        if label is not None:
            allowed &= {(label, 1 if value is None else value)}
        everything = set(self.working)
        best = self.judged((), everything, allowed)
        beam = [((), everything)]
        longest = self.options.max_conditions
        while beam:
            level = []
            for body, cover in beam:
                if longest is None or len(body) < longest:
                    level += self.extensions(body, cover, allowed)
            level.sort(key=lambda one: one.rank, reverse=True)  # stable: earlier parents and conditions stay in front
            kept: list[Found] = []
            for one in level:
                if all(set(one.body) != set(other.body) for other in kept):
                    kept.append(one)
            kept = kept[: self.options.beam_width]
            if not kept or (best is not None and kept[0].rank <= best.rank):
                break
            best = kept[0]
            beam = [(one.body, set(one.covered)) for one in kept]
        if best is None or sum(self.weights[e] for e in best.covered) < self.options.min_coverage:
            return None
        head = tuple((k, v, *self.literal_counts(k, v, set(best.covered))) for k, v in best.head)
        return Candidate(best.body, head, best.value, np.array(best.covered, dtype=np.int64))

    def grow_single(self) -> Candidate | None:
        """The best of the rules grown for each literal: value, TP, shorter body, first label, present first."""
        best: Candidate | None = None
        for label in range(self.labels):
            for value in (1, 0) if self.objective.negative else (1,):
                found = self.grow(label, value)
                if found is None:
                    continue
                rank = found.value, found.tp, -n_conditions(found.body)
                if best is None or rank > (best.value, best.tp, -n_conditions(best.body)):
                    best = found
        return best

    # -- the training state -----------------------------------------------------------------------------------------

    def is_open(self, e: int) -> bool:
        """Whether an example has a known label that is unset (and present, where absence is not predicted)."""
        wanted = (0, 1) if self.objective.negative else (1,)
        return any(self.assigned[e][k] < 0 and self.truth[e][k] in wanted for k in range(self.labels))

    @property
    def remaining(self) -> int:
        return sum(self.weights[e] for e in self.working)

    @property
    def has_unset(self) -> bool:
        return any(self.is_open(e) for e in self.working)

    def leftover(self) -> list[list[int]]:
        """Per label, present and absent weight that nobody set."""
        sums = [[0, 0] for _ in range(self.labels)]
        for e, weight in enumerate(self.weights):
            for k in range(self.labels):
                if self.assigned[e][k] < 0 and self.truth[e][k] < 2:
                    sums[k][1 - self.truth[e][k]] += weight
        return sums

    def commit(self, candidate: Candidate, stop_threshold: float | None, keep_covered: bool) -> Outcome:
        """Set the head, then decide what leaves the working set."""
        covered = [int(e) for e in candidate.covered]
        said = [(k, v) for k, v, _, _ in candidate.head]
        if self.objective.scope == "full":
            said += [(k, 0) for k in range(self.labels)]
        newly = 0
        for e in covered:
            for k, v in said:
                if self.assigned[e][k] < 0:
                    self.assigned[e][k] = v
                    self.ever_set.add(k)
                    newly += 1
        still = [e for e in covered if self.is_open(e)]
        weight, open_weight = (sum(self.weights[e] for e in part) for part in (covered, still))
        stopped = stop_threshold is not None and Fraction(open_weight) <= Fraction(str(stop_threshold)) * weight
        if stopped:
            gone = set(covered)
        elif stop_threshold is None or not keep_covered:
            gone = set(covered) - set(still)
        else:
            gone = set()
        self.working = [e for e in self.working if e not in gone]
        return Outcome(weight, open_weight, newly, stopped)


def mean(weighted: Any) -> Fraction:
    """The weighted mean; of nothing, 0."""
    pairs = list(weighted)
    total = sum(weight for _, weight in pairs)
    return sum((Fraction(value) * weight for value, weight in pairs), Fraction(0)) / total if total else Fraction(0)
