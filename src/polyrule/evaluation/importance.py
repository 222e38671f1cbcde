"""Which rules and features a model lives by: what it loses without a rule, or with a feature shuffled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.arrays import Floats
from polyrule.data.labels import UNKNOWN
from polyrule.data.results import make_frame
from polyrule.data.table import Table
from polyrule.evaluation.figures.canvas import new_axes
from polyrule.evaluation.resampling import draw
from polyrule.model.narrowing import narrow, used_features

Labels = npt.NDArray[np.uint8]

#: label decisions that may be computed in all; with more, evenly spaced examples stand for all of them
MOST_DECISIONS = 300_000_000
SHUFFLES = 5
RESAMPLES = 200


@dataclass(frozen=True)
class Importance:
    """How much micro F1 falls without a rule, or with a feature shuffled.

    Parameters
    ----------
    name : str
        ``rule 3``, or the feature's name.
    index : int
        Position of the rule or feature in the model, from 0.
    drop : float
        Micro F1 of the model less micro F1 without it. Below 0 the model is better off without it.
    low, high : float
        95 % interval of the drop when the examples are drawn anew; for a feature also over its shuffles.
    """

    name: str
    index: int
    drop: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Importances:
    """Importances of all rules and of all features that some rule tests, the most important first.

    Parameters
    ----------
    rules, features : tuple of Importance
        One per rule, one per feature.
    score : float
        Micro F1 of the whole model on the examples used.
    examples : int
        How many those were.

    Examples
    --------
    >>> from polyrule import RuleListClassifier, datasets
    >>> train, test = datasets.load("emotions", part="train"), datasets.load("emotions", part="test")
    >>> found = importances(RuleListClassifier(max_rules=3).fit(train).rules_, test.X, test.Y)
    >>> len(found.rules), found.examples
    (3, 202)
    """

    rules: tuple[Importance, ...]
    features: tuple[Importance, ...]
    score: float
    examples: int

    def frame(self, what: str = "features") -> Any:
        """Return a data frame with one row per feature, or with ``what="rules"`` per rule."""
        chosen = self.rules if what == "rules" else self.features
        columns = ("name", "drop", "low", "high")
        return make_frame({column: [getattr(item, column) for item in chosen] for column in columns})

    def plot(self, ax: Any = None, what: str = "features", most: int = 20) -> Any:
        """Draw the largest importances with their intervals and return the axes."""
        chosen = (self.rules if what == "rules" else self.features)[:most]
        ax = new_axes(ax, 6.5, 1.2 + 0.28 * max(1, len(chosen)))
        places = range(len(chosen))
        ax.barh(places, [item.drop for item in chosen], color="#3a4fc4", height=0.6)
        ax.hlines(places, [item.low for item in chosen], [item.high for item in chosen], color="#6b6c65")
        ax.set_yticks(list(places), [item.name for item in chosen])
        ax.invert_yaxis()
        ax.axvline(0, color="#6b6c65", linewidth=0.8)
        ax.set_xlabel("micro F1 lost without it")
        return ax


def importances(model: Any, table: Table, truth: Any, seed: int = 0) -> Importances:
    """Measure what each rule and each feature contributes on labelled examples, best on ones the model has not seen.

    A rule is left out and the rest of the model stays as it is. A feature's values are shuffled among the examples,
    several times. The intervals come from bootstrap resamples of the examples.

    Parameters
    ----------
    model : RuleList or RuleEnsemble
        What is taken apart.
    table : Table
        With the model's features.
    truth : array of 0/1, shape (examples, labels)
        The true labels; 2 where one is unknown.
    seed : int
        Of the shuffles and resamples.

    Examples
    --------
    >>> from polyrule.model import Literal, NumericCondition, Rule, RuleList
    >>> table = Table.from_array([[float(i), 0.0] for i in range(8)])
    >>> rules = (Rule((Literal(0, 1),), (NumericCondition(0, ">", 3.5),)), Rule((Literal(0, 0),)))
    >>> found = importances(RuleList(rules, table.features, ("y",)), table, [[int(i > 3)] for i in range(8)])
    >>> found.frame("rules")["drop"].tolist(), [item.name for item in found.features]
    ([1.0, 0.0], ['x0'])
    """
    used = used_features(model.rules)
    truth = np.asarray(truth, dtype=np.uint8)
    rows = _rows(len(table), (len(model.rules) + SHUFFLES * len(used) + 1) * truth.shape[1])
    small = narrow(model)
    values = np.column_stack([table.column(j)[rows] for j in used]) if used else np.zeros((len(rows), 0))
    examples = Table.from_array(values, small.features)
    bench = _Bench(truth[rows], small.predict(examples), seed)
    rules = []
    for number in range(len(small.rules)):
        rest = replace(small, rules=small.rules[:number] + small.rules[number + 1 :])
        rules.append(bench.importance(f"rule {number + 1}", number, [rest.predict(examples)]))
    features = [
        bench.importance(feature.name, used[slot], _shuffled(small, examples, slot, seed))
        for slot, feature in enumerate(small.features)
    ]
    return Importances(_sorted(rules), _sorted(features), bench.score, len(rows))


class _Bench:
    """Compares predictions with those of the whole model, on the same resamples every time."""

    def __init__(self, truth: Labels, predicted: Labels, seed: int) -> None:
        self.present, self.known = truth == 1, truth != UNKNOWN
        self.weights = np.concatenate(list(draw(len(truth), RESAMPLES, seed)))
        whole = self._counts(predicted)
        self.score = float(_f1(*whole.sum(axis=0)))
        self.resampled = _f1(*(self.weights @ whole).T)

    def importance(self, name: str, index: int, others: Sequence[Labels] | Iterator[Labels]) -> Importance:
        drops, spread = [], []
        for predicted in others:
            counts = self._counts(predicted)
            drops.append(self.score - float(_f1(*counts.sum(axis=0))))
            spread.append(self.resampled - _f1(*(self.weights @ counts).T))
        low, high = np.quantile(np.concatenate(spread), [0.025, 0.975])
        return Importance(name, index, float(np.mean(drops)), float(low), float(high))

    def _counts(self, predicted: Labels) -> Floats:
        """Per example: true positives, and predicted plus present labels."""
        both = (self.present & predicted).sum(axis=1)
        either = self.present.sum(axis=1, dtype=np.int64) + (predicted & self.known).sum(axis=1, dtype=np.int64)
        return np.column_stack([both, either]).astype(np.float64)


def _f1(both: Any, either: Any) -> Any:
    return np.divide(2 * both, either, out=np.zeros_like(np.asarray(either, dtype=np.float64)), where=either > 0)


def _shuffled(model: Any, table: Table, slot: int, seed: int) -> Iterator[Labels]:
    rng = np.random.default_rng([seed, slot])
    for _ in range(SHUFFLES):
        values = np.array(table.values, order="F")
        values[:, slot] = values[rng.permutation(len(table)), slot]
        yield model.predict(Table(values, table.features))


def _rows(examples: int, decisions: int) -> npt.NDArray[np.int64]:
    """Evenly spaced examples, as many as the work allows."""
    most = max(200, MOST_DECISIONS // max(1, decisions))
    if examples <= most:
        return np.arange(examples)
    return np.unique(np.linspace(0, examples - 1, most).round().astype(np.int64))


def _sorted(found: list[Importance]) -> tuple[Importance, ...]:
    return tuple(sorted(found, key=lambda item: (-item.drop, item.index)))
