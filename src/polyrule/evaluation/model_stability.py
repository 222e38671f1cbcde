"""How much of a model would come back if it were learned again from other examples of the same kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from polyrule.data.dataset import Dataset
from polyrule.data.results import make_frame
from polyrule.data.table import Table
from polyrule.estimators.from_model import learner_of
from polyrule.evaluation.resampling import draw
from polyrule.model.bodies import FlatBodies, covers
from polyrule.model.narrowing import used_features
from polyrule.model.rule import LabelCondition

#: two rules are the same rule in other words if the examples they cover overlap at least so far
SAME_COVER = 0.5


@dataclass(frozen=True, eq=False)
class Stability:
    """What resampling the training examples leaves of a model.

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
    model = getattr(estimator, "model_", estimator)
    learner = clone(estimator) if estimator is not model else learner_of(model)
    if "callback" in learner.get_params():
        learner.set_params(callback=None)
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


def _covers(model: Any, table: Table) -> npt.NDArray[np.bool_]:
    """Which examples satisfy the feature conditions of each rule, shape (rules, examples)."""
    tests = ([test for test in rule.body if not isinstance(test, LabelCondition)] for rule in model.rules)
    return covers(FlatBodies.of(tests, table.features), table.values).T


def _says(rule: Any) -> set[tuple[int, bool]]:
    return {(item.label, item.weight > 0 if hasattr(item, "weight") else bool(item.value)) for item in rule.head}


def _come_back(model: Any, covers: Any, again: Any, others: Any) -> npt.NDArray[np.float64]:
    both = covers.astype(np.float64) @ others.astype(np.float64).T
    either = covers.sum(axis=1)[:, None] + others.sum(axis=1)[None, :] - both
    alike = both >= SAME_COVER * np.maximum(either, 1)
    heads = [_says(rule) for rule in again.rules]
    found = np.zeros(len(model.rules))
    for number, rule in enumerate(model.rules):
        said = _says(rule)
        found[number] = any(said & heads[other] for other in np.flatnonzero(alike[number]))
    return found
