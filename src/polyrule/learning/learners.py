"""The paper's three learners: several labels per head, one label per head, one list per label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from polyrule.arrays import Ints
from polyrule.data.labels import UNKNOWN
from polyrule.data.table import Table
from polyrule.errors import OptionError
from polyrule.heads.soundness import check_search
from polyrule.kernels.dispatch import make_engine
from polyrule.kernels.engine import Candidate, Engine, GrowOptions
from polyrule.learning.progress import Callback
from polyrule.learning.separate import Learning, Reason, SeparateOptions, unscaled
from polyrule.learning.warn import warn_about_rules, warn_about_time
from polyrule.measures import Objective
from polyrule.measures.proofs import proof_of
from polyrule.model.rule_list import RuleList
from polyrule.scale.counting import Counting, counted_engine, one_label, present_weight
from polyrule.store import Packed
from polyrule.store.coded_table import CodedTable


@dataclass(frozen=True, eq=False)
class Learner:
    """Everything a fit needs besides the data.

    Parameters
    ----------
    objective : Objective
        What a head is judged by.
    growing : GrowOptions
        How one rule is grown.
    separating : SeparateOptions
        How the list is built from rules.
    kernels : {None, "native", "reference"}
        Which engine; None takes the fastest that can do it.
    n_jobs : int
        Threads; the result does not depend on it.
    counting : Counting
        How packed data is counted.
    """

    objective: Objective
    growing: GrowOptions = field(default_factory=GrowOptions)
    separating: SeparateOptions = field(default_factory=SeparateOptions)
    kernels: str | None = None
    n_jobs: int = 1
    counting: Counting = field(default_factory=Counting)

    def rule_list(
        self,
        table: Table | Packed,
        truth: Any,
        weights: Ints,
        label_names: tuple[str, ...],
        heads: str = "multi",
        scale: Fraction = Fraction(1),
        callback: Callback | None = None,
    ) -> tuple[RuleList, Reason]:
        """Learn one list for all labels, with heads of several labels (`multi`) or of one (`single`)."""
        if len(label_names) > 1:
            check_search(self.objective)  # an engine with a faster exact form would never run the search asked for
        engine = self.engine(table, truth, weights, scale)
        growers: dict[str, Callable[[], Candidate | None]] = {"multi": engine.grow, "single": engine.grow_single}
        if heads not in growers:
            raise OptionError(f"heads must be 'multi' or 'single', got {heads!r}")
        if engine.name == "reference" and len(label_names) > 1 and isinstance(table, Table):
            warn_about_time(self.objective, table, truth, weights)
        learning = Learning(self.separating, scale, callback, len(label_names))
        learning.run(engine, growers[heads], int(weights.sum()))
        counts = tuple(_pair(row, scale) for row in engine.leftover())
        model = RuleList(
            tuple(learning.rules),
            table.features,
            label_names,
            default_counts=counts,
            full=self.objective.scope == "full",
        )
        warn_about_rules(self.objective, model.rules)
        proof = proof_of(self.objective)
        if proof is not None:
            model.info["measure_proof"] = proof
        return model, learning.reason

    def binary_relevance(
        self,
        table: Table | Packed,
        truth: Any,
        weights: Ints,
        label_names: tuple[str, ...],
        scale: Fraction = Fraction(1),
        callback: Callback | None = None,
    ) -> tuple[RuleList, Reason]:
        """Learn an independent list per label and join them.

        Each list predicts the rarer value of its label, from features only, until no rule with more true than false
        positives is found; its default is the majority of the examples no rule covers. All counts are those of the
        binary problem whose positive class is the predicted value: where that is "absent", the engine learns the
        label's opposite.
        """
        learning = Learning(self.separating, scale, callback, len(label_names))
        defaults: list[int] = []
        counts: list[tuple[float, float]] = []
        total = int(weights.sum())
        for label in range(len(label_names)):
            present, absent = _known_weight(table, truth, weights, label, total)
            rarer = 1 if present <= absent else 0
            if learning.reason == "complete":
                one, target = _one_label(table, truth, label, rarer)
                engine = self.engine(one, target, weights, scale, replace(self.growing, label_conditions=False))
                learning.target = label, rarer
                learning.run(engine, _improving(engine), total)
                left = engine.leftover()[0] if rarer else engine.leftover()[0][::-1]
            else:
                left = np.array([present, absent])
            defaults.append(int(left[0] > left[1]) if left.any() else 1 - rarer)
            counts.append(_pair(left, scale))
        model = RuleList(tuple(learning.rules), table.features, label_names, tuple(defaults), tuple(counts))
        return model, learning.reason

    def engine(
        self,
        table: Table | Packed,
        truth: Any,
        weights: Ints,
        scale: Fraction = Fraction(1),
        growing: GrowOptions | None = None,
    ) -> Engine:
        """Return the engine that grows rules for this data.

        It counts in units of `scale` examples; whatever speaks of a number of examples is brought to these units here.
        """
        objective, options = self.objective.in_units(scale), (growing or self.growing).in_units(scale)
        if isinstance(table, CodedTable):
            table = table.packed(truth, weights)
        if isinstance(table, Packed):
            return counted_engine(table, objective, options, self.counting, self.n_jobs, self.kernels)
        return make_engine(table, truth, weights, objective, options, self.n_jobs, self.kernels)


def _known_weight(table: Table | Packed, truth: Any, weights: Ints, label: int, total: int) -> tuple[int, int]:
    """Return the weight of the examples that have a label, and of those that lack it."""
    if isinstance(table, Packed):
        present = present_weight(table, label)
        return present, total - present
    column = _dense(truth[:, [label]])[:, 0]
    return int(weights[column == 1].sum()), int(weights[column == 0].sum())


def _one_label(table: Table | Packed, truth: Any, label: int, rarer: int) -> tuple[Table | Packed, Any]:
    """Return the data and the one column to learn, in which 1 is the rarer value of a label."""
    if isinstance(table, Packed):
        return one_label(table, label, rarer), None
    column = _dense(truth[:, [label]])
    return table, column if rarer else np.where(column < UNKNOWN, 1 - column, column)


def _dense(column: Any) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(column.toarray() if sp.issparse(column) else column, dtype=np.uint8)


def _improving(engine: Engine) -> Callable[[], Candidate | None]:
    def grow() -> Candidate | None:
        found = engine.grow(0, 1)
        return found if found is not None and found.tp > sum(literal[3] for literal in found.head) else None

    return grow


def _pair(row: npt.NDArray[np.int64], scale: Fraction) -> tuple[float, float]:
    return unscaled(int(row[0]), scale), unscaled(int(row[1]), scale)
