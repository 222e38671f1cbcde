"""Which rules and features a model lives by, and how much of it would come back if it were learned again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from polyrule.conditions import without_labels
from polyrule.conditions.packed import PackedBodies, covers
from polyrule.data.dataset import Dataset
from polyrule.data.labels import UNKNOWN
from polyrule.data.results import make_frame
from polyrule.data.table import Table
from polyrule.errors import OptionError
from polyrule.estimators.from_model import learner_of
from polyrule.evaluation.confusion import encoded_labels
from polyrule.evaluation.figures.canvas import ACCENT, SOFT, new_axes
from polyrule.evaluation.resampling import draw
from polyrule.model.columns import drop_unused_features, match_columns, used_features
from polyrule.model.predict import predict
from polyrule.model.rule_list import RuleList
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints

#: label decisions that may be computed in all; with more, evenly spaced examples stand for all of them
MOST_DECISIONS = 300_000_000
SHUFFLES = 5
RESAMPLES = 200


@dataclass(frozen=True)
class Importance:
    """Fall of micro F1 without a rule, or with a feature shuffled."""

    name: str  # ``rule 3``, or the feature's name
    index: int  # position of the rule or feature in the model, from 0
    # Micro F1 of the model less micro F1 without it. Below 0 the model is better off without it.
    drop: float
    # low, high: 95 % interval of the drop when the examples are drawn anew; for a feature also over its shuffles
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
        items = self.rules if what == "rules" else self.features
        columns = ("name", "drop", "low", "high")
        return make_frame({column: [getattr(item, column) for item in items] for column in columns})

    def plot(self, ax: Any = None, what: str = "features", most: int = 20) -> Any:
        """Draw the largest importances with their intervals and return the axes."""
        items = (self.rules if what == "rules" else self.features)[:most]
        ax = new_axes(ax, 6.5, 1.2 + 0.28 * max(1, len(items)))
        places = range(len(items))
        ax.barh(places, [item.drop for item in items], color=ACCENT, height=0.6)
        ax.hlines(places, [item.low for item in items], [item.high for item in items], color=SOFT)
        ax.set_yticks(list(places), [item.name for item in items])
        ax.invert_yaxis()
        ax.axvline(0, color=SOFT, linewidth=0.8)
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
    truth : array-like or sparse matrix of 0/1, shape (examples, labels)
        The true labels; 2 or NaN where one is unknown.
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
    truth = encoded_labels(truth, "truth", (len(table), len(model.label_names)))
    rows = _rows(len(table), (len(model.rules) + SHUFFLES * len(used) + 1) * truth.shape[1])
    fitted, table = match_columns(model, table)
    small, inside = drop_unused_features(fitted), used_features(fitted.rules)
    values = np.column_stack([table.column(j)[rows] for j in inside]) if inside else np.zeros((len(rows), 0))
    examples = Table.from_array(values, small.features)
    bench = _Bench(truth[rows], small.predict(examples), seed)
    rules = [
        bench.importance(f"rule {number + 1}", number, [without_rule])
        for number, without_rule in enumerate(_without_each(small, examples))
    ]
    features = [
        bench.importance(feature.name, used[slot], _shuffled(small, examples, slot, seed))
        for slot, feature in enumerate(small.features)
    ]
    return Importances(_sorted(rules), _sorted(features), bench.score, len(rows))


#: positions of examples, or all of them, and the labels that are predicted for these
Predicted = tuple[Ints | slice, Bytes]


class _Bench:
    """Compares predictions with those of the whole model, on the same resamples every time."""

    def __init__(self, truth: Bytes, predicted: Bytes, seed: int) -> None:
        self.present, self.known = truth == 1, truth != UNKNOWN
        self.weights = np.concatenate(list(draw(len(truth), RESAMPLES, seed)))
        self.whole = self._counts(slice(None), predicted)
        self.total, self.totals = self.whole.sum(axis=0), self.weights @ self.whole
        self.score, self.resampled = float(_f1(*self.total)), _f1(*self.totals.T)

    def importance(self, name: str, index: int, other_sets: Iterable[Predicted]) -> Importance:
        drops, spread = [], []
        for rows, predicted in other_sets:
            change = self._counts(rows, predicted) - self.whole[rows]
            drops.append(self.score - float(_f1(*(self.total + change.sum(axis=0)))))
            spread.append(self.resampled - _f1(*(self.totals + self.weights[:, rows] @ change).T))
        low, high = np.quantile(np.concatenate(spread), [0.025, 0.975])
        return Importance(name, index, float(np.mean(drops)), float(low), float(high))

    def _counts(self, rows: Ints | slice, predicted: Bytes) -> Floats:
        """Per example: true positives, and predicted plus present labels."""
        present, is_known = self.present[rows], self.known[rows]
        in_any = present.sum(axis=1, dtype=np.int64) + (predicted & is_known).sum(axis=1, dtype=np.int64)
        return np.column_stack([(present & predicted).sum(axis=1), in_any]).astype(np.float64)


def _f1(both: Any, in_any: Any) -> Any:
    return np.divide(2 * both, in_any, out=np.zeros_like(np.asarray(in_any, dtype=np.float64)), where=in_any > 0)


def _without_each(model: Any, table: Table) -> Iterator[Predicted]:
    """Per rule, the examples that it had a say in, and what the other rules predict for them."""
    if isinstance(model, RuleList):
        setter = predict(model, table).setter
        concerned = ((setter == number).any(axis=1) for number in range(len(model.rules)))
    else:
        concerned = iter(model.fired(table).T)
    for number, mask in enumerate(concerned):
        rows = np.flatnonzero(mask)
        rest = copy(model)  # no new model, which would check all its rules again
        rest.__dict__["flat"] = _without(model.flat, number)
        yield rows, rest.predict(table[rows])


def _without(flat: Any, rule: int) -> Any:
    """The arrays that prediction runs on, without one rule."""

    def cut(holder: Any, starts: str, *names: str) -> Any:
        start = getattr(holder, starts)
        left = np.delete(start, rule)
        left[rule:] -= start[rule + 1] - start[rule]
        gone = slice(start[rule], start[rule + 1])
        return replace(holder, **{name: np.delete(getattr(holder, name), gone) for name in names}, **{starts: left})

    rest = replace(flat, bodies=cut(flat.bodies, "start", "kind", "index", "value"))
    if not hasattr(flat, "stop"):
        return cut(rest, "head_start", "head_label", "weight")
    return replace(cut(rest, "head_start", "head_label", "head_value"), stop=np.delete(flat.stop, rule))


def _shuffled(model: Any, table: Table, slot: int, seed: int) -> Iterator[Predicted]:
    rng = np.random.default_rng([seed, slot])
    for _ in range(SHUFFLES):
        values = np.array(table.values, order="F")
        values[:, slot] = values[rng.permutation(len(table)), slot]
        yield slice(None), model.predict(Table(values, table.features))


def _rows(examples: int, decisions: int) -> Ints:
    """Evenly spaced examples, as many as the work allows."""
    max_rows = max(200, MOST_DECISIONS // max(1, decisions))
    if examples <= max_rows:
        return np.arange(examples)
    return np.unique(np.linspace(0, examples - 1, max_rows).round().astype(np.int64))


def _sorted(importances: list[Importance]) -> tuple[Importance, ...]:
    return tuple(sorted(importances, key=lambda item: (-item.drop, item.index)))


#: two rules are the same rule in other words if the examples they cover overlap at least so far
SAME_COVER = 0.5


@dataclass(frozen=True, eq=False)
class Stability:
    """Stability of a model when the training examples are resampled.

    Parameters
    ----------
    resamples : int
        Models learned anew.
    features : dict
        Per feature that the model tests, the share of the resampled models that test it, too.
    rules : tuple of float
        Per rule, the share of the resampled models with a rule that says the same: it predicts a label of its head
        with the same sign, and its body covers mostly the same examples (Jaccard index of at least 0.5).
    agreement : float
        Mean share of label decisions on the given examples on which a resampled model and the model agree.

    Examples
    --------
    A model of one rule, learned anew ten times:

    >>> found = Stability(resamples=10, features={"tempo": 0.9}, rules=(0.8,), agreement=0.95)
    >>> found.features["tempo"]
    0.9
    """

    resamples: int
    features: dict[str, float]
    rules: tuple[float, ...]
    agreement: float

    def frame(self, what: str = "features") -> Any:
        """Return a data frame with one row per feature, or with ``what="rules"`` per rule."""
        if what == "rules":
            return make_frame({"rule": range(1, len(self.rules) + 1), "comes back": self.rules})
        return make_frame({"feature": list(self.features), "comes back": list(self.features.values())})


def stability(
    estimator: Any,
    data: Dataset,
    resamples: int = 20,
    seed: int = 0,
    progress: Callable[[int], object] | None = None,
) -> Stability:
    """Learn the model again from bootstrap resamples of its training data and see what comes back.

    Parameters
    ----------
    estimator : fitted estimator, or a model that remembers how it was learned
        What is learned again, with the same options.
    data : Dataset
        The training data.
    resamples : int
        Models to learn.
    seed : int
        The resamples depend on it alone.
    progress : callable, optional
        Called with the number of models learned so far.

    Examples
    --------
    >>> from polyrule import RuleListClassifier
    >>> table = Table.from_array([[float(i)] for i in range(40)])
    >>> data = Dataset(table, np.array([[i > 19] for i in range(40)]), ("y",))
    >>> found = stability(RuleListClassifier(max_rules=1).fit(data), data, resamples=5)
    >>> found.features, found.rules
    ({'x0': 1.0}, (1.0,))
    """
    if resamples < 1:
        raise OptionError(f"resamples must be at least 1, got {resamples}")
    model = getattr(estimator, "model_", estimator)
    learner = clone(estimator) if estimator is not model else learner_of(model)
    weights = np.ones(len(data)) if data.weights is None else data.weights
    names = [model.features[j].name for j in used_features(model.rules)]
    covers = _covers(model, data.X)
    predicted = model.predict(data.X)
    tested, back, agreement = dict.fromkeys(names, 0), np.zeros(len(model.rules)), []
    counts = np.concatenate(list(draw(len(data), resamples, seed)))
    for done, times in enumerate(counts, start=1):
        again = clone(learner).fit(data, sample_weight=times * weights).model_
        for name in {again.features[j].name for j in used_features(again.rules)} & tested.keys():
            tested[name] += 1
        back += _come_back(model, covers, again, _covers(again, data.X))
        agreement.append(float((again.predict(data.X) == predicted).mean()))
        if progress is not None:
            progress(done)
    shares = {name: count / resamples for name, count in tested.items()}
    return Stability(resamples, shares, tuple((back / resamples).tolist()), float(np.mean(agreement)))


def _covers(model: Any, table: Table) -> Bools:
    """Mask of the examples that satisfy the feature conditions of each rule, shape (rules, examples)."""
    fitted, table = match_columns(model, table)
    bodies = (without_labels(rule.body) for rule in fitted.rules)
    return covers(PackedBodies.of(bodies, table.features), table.values).T


def _says(rule: Any) -> set[tuple[int, bool]]:
    return {(item.label, item.weight > 0 if hasattr(item, "weight") else bool(item.value)) for item in rule.head}


def _come_back(model: Any, covers: Any, again: Any, other_covers: Any) -> Floats:
    both = covers.astype(np.float64) @ other_covers.astype(np.float64).T
    in_any = covers.sum(axis=1)[:, None] + other_covers.sum(axis=1)[None, :] - both
    alike = both >= SAME_COVER * np.maximum(in_any, 1)
    heads = [_says(rule) for rule in again.rules]
    shares = np.zeros(len(model.rules))
    for number, rule in enumerate(model.rules):
        literals = _says(rule)
        shares[number] = any(literals & heads[other] for other in np.flatnonzero(alike[number]))
    return shares
