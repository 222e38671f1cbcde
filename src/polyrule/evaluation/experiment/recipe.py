"""From a training part to predictions; test data cannot leak: `fit` gets no test data, `predict` no labels."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from polyrule.data.dataset import Dataset
from polyrule.data.labels import dense_labels, require_known
from polyrule.data.splits import make_folds
from polyrule.data.table import Table
from polyrule.errors import OptionError
from polyrule.evaluation.encoding import EqualFrequencyDiscretiser, MatrixEncoder
from polyrule.evaluation.experiment.spec import LearnerSpec
from polyrule.evaluation.scores import LOWER_IS_BETTER, score


@dataclass(frozen=True)
class Recipe:
    """Everything that happens to a training part: discretise, encode, tune, fit."""

    learner: LearnerSpec
    discretise: int | None = None  # number of equal-frequency intervals for numeric features

    def fit(self, train: Dataset) -> FittedRecipe:
        """Learn every step from the training part, the only data this method can see."""
        return self._fit_once(train, self._tune(train) if self.learner.tune else {})

    def _fit_once(self, train: Dataset, parameters: dict[str, Any]) -> FittedRecipe:
        steps: list[Any] = [EqualFrequencyDiscretiser(self.discretise)] if self.discretise else []
        if self.learner.input == "matrix":
            steps.append(MatrixEncoder())
        prepared: Any = train.X
        for step in steps:
            prepared = step.fit(prepared).transform(prepared)
        model = make_estimator(self.learner.class_path, {**self.learner.parameters, **parameters})
        return FittedRecipe(steps, model.fit(prepared, _labels_for(self.learner, train.Y)), parameters)

    def _tune(self, train: Dataset) -> dict[str, Any]:
        """Choose the parameters that score best on inner folds of the training part; of equals, those listed first."""
        best: dict[str, Any] = {}
        best_value = -np.inf
        sign = -1 if self.learner.tune_measure in LOWER_IS_BETTER else 1
        folds = make_folds(train.Y, self.learner.tune_folds, seed=0)
        for values in itertools.product(*self.learner.tune.values()):
            candidate = dict(zip(self.learner.tune, values, strict=True))
            reached = []
            for train_rows, held_out_rows in folds:
                held_out = train[held_out_rows]
                fitted = self._fit_once(train[train_rows], candidate)
                reached.append(score(held_out.Y, fitted.predict(held_out.X))[self.learner.tune_measure])
            value = sign * float(np.mean(reached))
            if value > best_value:
                best, best_value = candidate, value
        return best


@dataclass(frozen=True)
class FittedRecipe:
    """A fitted learner with the preparation steps that belong to it."""

    steps: list[Any]
    model: Any
    parameters: dict[str, Any]

    def predict(self, X: Table) -> Any:
        """Predict labels from features; the true labels are not passed, so nothing can look at them."""
        prepared: Any = X
        for step in self.steps:
            prepared = step.transform(prepared)
        return self.model.predict(prepared)


def make_estimator(class_path: str, parameters: Mapping[str, Any]) -> Any:
    """Make an object of the named class; parameters of the form ``{class = "…", …}`` become objects themselves.

    Examples
    --------
    >>> make_estimator("sklearn.multioutput.ClassifierChain",
    ...                {"estimator": {"class": "sklearn.tree.DecisionTreeClassifier", "max_depth": 3}})
    ClassifierChain(estimator=DecisionTreeClassifier(max_depth=3))
    """
    return import_name(class_path)(**{name: _value(value) for name, value in parameters.items()})


def import_name(path: str) -> Any:
    """Import ``package.module.name``; the name may also be nested in a class."""
    parts = path.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise OptionError(f"{path!r} is not the full name of a class or function, such as 'package.module.Name'")
    for end in range(len(parts) - 1, 0, -1):
        module_name = ".".join(parts[:end])
        try:
            target: Any = import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is not None and module_name.startswith(error.name) and end > 1:
                continue
            raise
        for part in parts[end:]:
            if not hasattr(target, part):
                raise OptionError(f"{module_name} has no {'.'.join(parts[end:])!r}")
            target = getattr(target, part)
        return target
    raise OptionError(f"nothing is named {path!r}")


def _value(value: Any) -> Any:
    if isinstance(value, dict) and "class" in value:
        rest = {name: item for name, item in value.items() if name != "class"}
        return make_estimator(value["class"], rest)
    return value


def _labels_for(learner: LearnerSpec, Y: Any) -> Any:
    """Return a dense matrix of 0 and 1, which all other learners understand."""
    if learner.input == "table":
        return Y
    require_known(Y, learner.class_path)
    return dense_labels(Y).astype(np.int64)
