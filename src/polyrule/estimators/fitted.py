"""What a fitted estimator does with its model: score, explain, store, check and show it."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from polyrule.data.dataset import Dataset
from polyrule.data.encode import ReadTarget, read_target, rows_right
from polyrule.data.frames import is_frame, split_labels
from polyrule.data.labels import UNKNOWN, arrange_labels, dense_labels, has_unknown
from polyrule.data.sparse import check_sparse
from polyrule.data.table import Feature, Table
from polyrule.errors import DataError, OptionError
from polyrule.model.columns import as_record, cut_row, place_of_row
from polyrule.model.counterfactual import Counterfactual
from polyrule.model.rule_model import is_pair, labelled
from polyrule.utils import late
from polyrule.utils.arrays import Bools, Floats


class FittedRules(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The half of a rule classifier that begins when rules are there; `RuleEstimator` is the other one."""

    _holds: ClassVar[Any]  # the kind of model it learns
    model_: Any
    features_: tuple[Feature, ...]
    label_names_: tuple[str, ...]
    _target: ReadTarget
    _label_columns: tuple[str, ...] = ()  # columns of X that were the labels

    def _read(self, X: Any) -> Table:
        """Read the features of new examples."""
        raise NotImplementedError

    def _read_row(self, X: Any, row: int) -> Any:
        """Return one example: row `row` of X, or X itself where it is a mapping or a row of a pandas frame."""
        check_is_fitted(self)
        if as_record(X) is not None:
            return X
        part, place = cut_row(X, row)
        table = self._read(part)
        return table[place_of_row(place, len(table))]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Subset accuracy: the share of examples with every label right; a `Dataset` brings its labels.

        Labels of a `Dataset` are found by name: one that it lacks is absent there, and an example with one that the
        model does not know counts as wrong. A warning says so. Columns of a frame are found by name, too, where it has
        all labels of the model; else they stand in the model's order.
        """
        check_is_fitted(self)
        if isinstance(X, Dataset):
            if y is None and self._target.kind == "multilabel" and X.label_names != self.label_names_:
                arranged = arrange_labels(X.Y, X.label_names, self.label_names_).check(
                    X.name, "and examples with it count as wrong"
                )
                return self._score_known(X.X, arranged.Y, sample_weight, arranged.touched)
            X, y = X.X, X.Y if y is None else y
        if y is None and self._label_columns:
            X, y = split_labels(X, list(self._label_columns))
        if y is None:
            raise DataError(f"{type(self).__name__}.score requires y, the true labels, or a Dataset, which has them")
        if self._target.separator is not None:
            right = rows_right(y, self._target.separator, self.predict(X), self.label_names_)
            if right is not None:
                return float(np.average(right, weights=sample_weight))
        y = check_sparse(y, "y") if sp.issparse(y) else y
        if self._target.kind == "multilabel":
            target = read_target(y)
            truth, names = target.truth, self.label_names_
            by_name = is_frame(y) and target.names != names and set(names) <= set(target.names)
            if by_name:
                truth = arrange_labels(truth, target.names, names).check("y", "which is left out").Y
            if by_name or has_unknown(truth):
                return self._score_known(X, truth, sample_weight)
        return float(super().score(X, y, sample_weight))

    def _score_known(self, X: Any, truth: Any, sample_weight: Any, wrong: Bools | None = None) -> float:
        """Subset accuracy over the known labels of the examples that have one; those of `wrong` are never right."""
        dense, predicted = (dense_labels(m) for m in (truth, self.predict(X)))
        unknown = dense == UNKNOWN
        weights = np.ones(len(dense)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        counted = ~unknown.all(axis=1)
        if not weights[counted].sum():
            raise DataError("y holds no known label, so there is nothing to score")
        right = ((dense == predicted) | unknown).all(axis=1)
        if wrong is not None:
            right &= ~wrong
        return float(np.average(right[counted], weights=weights[counted]))

    @classmethod
    def from_rules(cls, rules: Any, **options: Any) -> Self:
        """Return a fitted estimator that holds the given rules: it predicts, scores, explains and reports.

        Parameters
        ----------
        rules : RuleList, for `RuleEnsembleClassifier` a RuleEnsemble
            Learned, loaded or edited, such as ``polyrule.load("model.json")``.
        **options
            Parameters of the estimator, for learning anew; they change nothing about the rules.

        Examples
        --------
        >>> from polyrule import Feature, RuleList, RuleListClassifier, Table
        >>> rules = RuleList((), (Feature("colours"),), ("red",)).insert(0, "red <- colours > 5.5")
        >>> RuleListClassifier.from_rules(rules).predict(Table.from_array([[6], [2]], rules.features)).tolist()
        [[1], [0]]
        """
        if not isinstance(rules, cls._holds):
            raise OptionError(f"{cls.__name__} holds a {cls._holds.__name__}, not a {type(rules).__name__}")
        fitted = cls(**options)
        names = _columns(rules.features)
        fitted.features_ = rules.features
        fitted.n_features_in_ = len(names)
        if names != tuple(f"x{number}" for number in range(len(names))):
            fitted.feature_names_in_ = np.array(names, dtype=object)
        fitted.label_names_ = rules.label_names
        fitted.classes_ = np.array(rules.label_names, dtype=object)
        fitted._target = ReadTarget("multilabel", None, rules.label_names, fitted.classes_)
        fitted.model_ = rules
        fitted.stopped_reason_ = rules.info.get("stopped", "complete")
        return fitted

    @property
    def rules_(self) -> Any:
        """The learned model; prints one rule per line."""
        check_is_fitted(self, "model_")
        return self.model_

    @property
    def feature_importances_(self) -> Floats:
        """Share of each column of X in what the rules say; they add up to 1.

        A rule counts as much as it moved in training: in a list the labels it set, in an ensemble the examples it
        covers times its weights. Features of one body share that alike.
        """
        shares, places = self.rules_.feature_importances_, {n: j for j, n in enumerate(_columns(self.features_))}
        by_column = np.zeros(len(places))
        np.add.at(by_column, [places[feature.column] for feature in self.features_], shares)
        return by_column

    def explain(self, X: Any, row: int = 0, **options: Any) -> Any:
        """Explain the prediction for one example: which rules decided each label, on what grounds.

        Parameters
        ----------
        X : whatever `predict` takes, a mapping from feature name to value, or a row of a pandas frame
        row : int
            Which row of X, counted from 0.
        **options
            For a list: `near` lists rules that failed by up to that many conditions, `digits` rounds numbers.
        """
        return self.rules_.explain(self._read_row(X, row), **options)

    def counterfactual(self, X: Any, label: int | str, row: int = 0, **options: Any) -> Counterfactual:
        """Return the smallest change of one example that changes the prediction of a label; exact.

        Parameters
        ----------
        X : whatever `predict` takes, a mapping from feature name to value, or a row of a pandas frame
        label : int or str
            Position or name.
        row : int
            Which row of X, counted from 0.
        **options
            `fixed` and `limit`: see `polyrule.model.counterfactual`.
        """
        if isinstance(X, str):
            raise DataError(f"the example comes first, then the label: {X!r} is no example")
        smallest: Counterfactual = self.rules_.counterfactual(self._read_row(X, row), label, **options)
        return smallest

    smallest_flip = counterfactual

    def save(self, path: str | PathLike[str]) -> None:
        """Write the learned model to a JSON file, whole or not at all; `polyrule.load` reads it."""
        self.rules_.save(path)

    def export(self, language: str, **options: Any) -> str | bytes:
        """Return code that predicts as the model does, or for "onnx" the bytes of a file.

        Parameters
        ----------
        language : {"python", "sql", "javascript", "c", "onnx"}
        **options
            See `polyrule.export.export`.
        """
        code: str | bytes = self.rules_.export(language, **options)
        return code

    def verify(self, X: Any, y: Any = None, *, learn: bool = True) -> Any:
        """Check the learned model against its training data, a `Dataset` or X and y; the result lists differences.

        With `learn` it is also learned anew.
        """
        return self.rules_.verify(self._labelled(X, y), learn=learn)

    def plot(self, ax: Any = None) -> Any:
        """Draw the weight of each rule for each label and return the axes; see `polyrule.report.plots.Scorecard`."""
        return self.rules_.plot(ax)

    def report(self, data: Any = None, test: Any = None, title: str | None = None) -> Any:
        """Make an HTML report about the fitted model; shows itself in a notebook, ``.save(path)`` writes a file.

        Parameters
        ----------
        data, test : Dataset or pair (X, Y), optional
            Training data, and examples the model has not seen. ``report(X, Y)`` does, too.
        title : str, optional
        """
        check_is_fitted(self)
        if not is_pair(data):
            data, test = self._labelled(data, test), None
        return self.rules_.report(data, test, title)

    def _labelled(self, X: Any, y: Any) -> Dataset:
        """Examples with their labels, as the model knows them."""
        if not isinstance(X, Dataset) and y is None and self._label_columns:
            X, y = split_labels(X, list(self._label_columns))
        return labelled(self.rules_, X if isinstance(X, Dataset) else self._read(X), y)

    def studio(self, train: Any, test: Any, project: Any = None, browser: bool = True) -> Any:
        """Work on the fitted model in the browser; see `polyrule.studio.open_studio`.

        Parameters
        ----------
        train, test : Dataset
            Training data, and examples that are never learned from.
        project : path, optional
            Where the history is kept.
        browser : bool
            Whether to open the page.

        Returns
        -------
        Studio
            ``.model`` is the model as it stands, ``.close()`` ends it.
        """
        check_is_fitted(self)
        try:
            return late.call("studio", self, train, test, project=project, browser=browser)
        except ModuleNotFoundError as problem:
            raise OptionError(
                f'the studio needs the package {problem.name}; install it with pip install "polyrule[studio]"'
            ) from problem

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the rules in a notebook, not only the parameters."""
        bundle = {"text/plain": repr(self), "text/html": estimator_html_repr(self)}
        if hasattr(self, "model_"):
            bundle["text/html"] += self.model_._repr_html_()
        return bundle


def _columns(features: Sequence[Feature]) -> tuple[str, ...]:
    """Names of the columns that features are read from; a date gives several features."""
    return tuple(dict.fromkeys(feature.column for feature in features))
