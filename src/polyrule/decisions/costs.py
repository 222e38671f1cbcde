"""Costs of false alarms and misses, and the cutoffs that minimize the expected cost.

A label of probability p is predicted if a miss costs more than a false alarm: p · miss >= (1 − p) · false alarm, that
is from the cutoff false alarm / (false alarm + miss) on (Elkan, "The foundations of cost-sensitive learning", 2001).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from polyrule.data.labels import dense_labels
from polyrule.decisions.cutoffs import set_cutoffs
from polyrule.errors import DataError, OptionError
from polyrule.model.cost_note import Costs, costs_of
from polyrule.utils.messages import did_you_mean

__all__ = ["CostScores", "costs_of", "score_costs", "set_costs"]


def set_costs(model: Any, costs: Mapping[str, tuple[float, float]]) -> Any:
    """Return the model with the cutoffs that minimize the expected cost, if its probabilities are calibrated.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
        Probabilities of ensembles are calibrated. A list predicts a label if a rule that covers the example expects it
        with at least the probability of the cutoff, so it cannot find more than its rules do.
    costs : mapping from label to (false alarm, miss)
        Cost of a label that is predicted and absent, and of one that is present and not predicted; other labels keep
        their cutoffs.

    Examples
    --------
    >>> from polyrule import RuleEnsembleClassifier
    >>> X, Y = np.arange(40.0)[:, None], (np.arange(40) > 25)[:, None].astype(int)
    >>> model = RuleEnsembleClassifier(max_rules=2, teacher=None).fit(X, Y, label_names=["sepsis"]).model_
    >>> print(str(set_costs(model, {"sepsis": (1, 19)})).splitlines()[-1])
    (costs: sepsis false alarm 1, miss 19)
    """
    label_costs = read_costs(costs, model.label_names)
    return with_costs(
        set_cutoffs(model, {name: alarm / (alarm + miss) for name, (alarm, miss) in label_costs.items()}), label_costs
    )


def with_costs(model: Any, costs: Costs) -> Any:
    """Return the model with a note of its costs; cutoffs do not change."""
    return replace(model, info=model.info | {"costs": {name: list(pair) for name, pair in costs.items()}})


def read_costs(costs: Mapping[str, tuple[float, float]], label_names: tuple[str, ...]) -> Costs:
    """Return costs by label, after checking names and numbers.

    >>> read_costs({"sepsis": (1, 19)}, ("sepsis", "frail"))
    {'sepsis': (1.0, 19.0)}
    """
    if not isinstance(costs, Mapping):
        raise OptionError(f"costs must be a mapping from label to (false alarm, miss), got {type(costs).__name__}")
    for name, pair in costs.items():
        if name not in label_names:
            raise OptionError(f"costs: the model has no label {name!r}{did_you_mean(str(name), label_names)}")
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(map(_is_cost, pair)) or not sum(pair):
            raise OptionError(
                f"costs: those of {name!r} must be (false alarm, miss), two numbers of at least 0 and not both 0, got "
                f"{pair!r}"
            )
    return {name: (float(costs[name][0]), float(costs[name][1])) for name in label_names if name in costs}


def _is_cost(value: Any) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return bool(number and isfinite(value) and value >= 0)


@dataclass(frozen=True)
class CostScores:
    """Costs of predictions.

    Parameters
    ----------
    examples : int
    labels : dict of str to (false alarms, misses, cost)
        Counts and cost of each label that has costs; an unknown label counts nowhere.
    """

    examples: int
    labels: dict[str, tuple[int, int, float]]

    @property
    def total(self) -> float:
        """Sum of all costs."""
        return sum(cost for _, _, cost in self.labels.values())

    @property
    def per_example(self) -> float:
        """Mean cost of an example."""
        return self.total / self.examples if self.examples else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        columns = ("false_alarms", "misses", "cost")
        labels = {name: dict(zip(columns, row, strict=True)) for name, row in self.labels.items()}
        return {"per_example": self.per_example, "total": self.total, "labels": labels}

    def text(self) -> str:
        """Return one line."""
        parts = [f"{name} {alarms} false alarms, {misses} misses" for name, (alarms, misses, _) in self.labels.items()]
        return f"cost {self.per_example:.4g} per example ({'; '.join(parts)})"


def score_costs(
    Y_true: Any, Y_pred: Any, costs: Mapping[str, tuple[float, float]], label_names: tuple[str, ...]
) -> CostScores:
    """Return the costs of predictions.

    Parameters
    ----------
    Y_true, Y_pred : array of shape (examples, labels)
    costs : mapping from label to (false alarm, miss)
    label_names : tuple of str

    Examples
    --------
    >>> score_costs([[1, 0], [0, 0]], [[0, 0], [1, 0]], {"sepsis": (1, 19)}, ("sepsis", "frail")).text()
    'cost 10 per example (sepsis 1 false alarms, 1 misses)'
    """
    truth, predicted = np.asarray(dense_labels(np.asarray(Y_true))), np.asarray(dense_labels(np.asarray(Y_pred)))
    if truth.shape != predicted.shape or truth.shape[1] != len(label_names):
        raise DataError(f"Y_true has shape {truth.shape} and Y_pred {predicted.shape}, for {len(label_names)} labels")
    labels = {}
    for name, (false_alarm, miss) in read_costs(costs, tuple(label_names)).items():
        label = list(label_names).index(name)
        alarms = int(((truth[:, label] == 0) & (predicted[:, label] == 1)).sum())
        misses = int(((truth[:, label] == 1) & (predicted[:, label] == 0)).sum())
        labels[name] = alarms, misses, alarms * false_alarm + misses * miss
    return CostScores(len(truth), labels)
