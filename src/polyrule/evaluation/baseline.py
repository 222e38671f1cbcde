"""The least a model must beat: for every label its majority in training, and models that anyone would try first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _num_samples, check_is_fitted

from polyrule.conditions import Condition
from polyrule.conditions.packed import PackedBodies, covers
from polyrule.data.labels import UNKNOWN
from polyrule.data.results import make_frame, text_table
from polyrule.data.table import Table
from polyrule.errors import DataError
from polyrule.evaluation.confusion import known_labels
from polyrule.evaluation.scores import LOWER_IS_BETTER, MEASURES, Scores, measure_words, score
from polyrule.measures import Objective, get
from polyrule.search.native import make_engine
from polyrule.search.protocol import GrowOptions
from polyrule.utils.arrays import Bytes, Floats

#: simple models that need the features, and what heads their column
_SHORT = {"label set": "label set", "one rule per label": "one rule"}
HEADLINE = ("hamming_accuracy", "subset_accuracy", "micro_f1", "macro_f1", "example_f1")


class MajorityClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Predict each label's majority in the training examples, whatever the features say; a tie counts as absent.

    Examples
    --------
    >>> import numpy as np
    >>> model = MajorityClassifier().fit(np.zeros((3, 1)), [[1, 0], [1, 1], [1, 0]])
    >>> model.predict(np.zeros((2, 1)))
    array([[1, 0],
           [1, 0]], dtype=uint8)
    """

    def fit(self, X: Any, Y: Any) -> Self:
        """Count how often each label is present."""
        present, unknown = known_labels(Y)
        if present.shape[0] != _num_samples(X):
            raise DataError(f"X has {_num_samples(X)} examples but Y has {present.shape[0]}")
        if present.shape[0] == 0:
            raise DataError("cannot learn from zero examples")
        counts = np.asarray(present.sum(axis=0)).ravel()
        n_known = present.shape[0] - (0 if unknown is None else np.asarray(unknown.sum(axis=0)).ravel())
        self.n_outputs_ = int(present.shape[1])
        self.frequency_ = counts / np.maximum(n_known, 1)
        self.prediction_ = (2 * counts > n_known).astype(np.uint8)
        self.classes_ = [np.array([0, 1])] * self.n_outputs_
        return self

    def predict(self, X: Any) -> Bytes:
        """Predict the majority for every example."""
        check_is_fitted(self)
        return np.tile(self.prediction_, (_num_samples(X), 1))

    def predict_proba(self, X: Any) -> Floats:
        """Predict each label's share of the training examples."""
        check_is_fitted(self)
        return np.tile(self.frequency_, (_num_samples(X), 1))


@dataclass(frozen=True, eq=False, repr=False)
class BaselineComparison:
    """Scores of a model beside those of always predicting the majority, and of other simple models.

    Attributes
    ----------
    model, baseline : Scores
        Of the model, and of the majority of every label.
    others : mapping of str to Scores
        Of simple models that need the features, by name; none unless the features were given.

    Examples
    --------
    >>> train, test, said = [[1, 0], [1, 0], [0, 1]], [[1, 0], [0, 1]], [[1, 0], [0, 1]]
    >>> found = compare_with_baseline(train, test, said)
    >>> found.model.micro_f1, found.baseline.micro_f1
    (1.0, 0.5)
    >>> found.warning is None
    True
    """

    model: Scores
    baseline: Scores
    others: Mapping[str, Scores] = field(default_factory=dict)

    @property
    def simple(self) -> dict[str, Scores]:
        """Scores of all simple models by name, the majority first."""
        return {"majority": self.baseline, **self.others}

    def strongest(self, measure: str) -> str:
        """Return the name of the best simple model by a measure; the first of equal ones."""
        sign = -1 if measure in LOWER_IS_BETTER else 1
        return max(self.simple, key=lambda name: sign * self.simple[name].exact(measure))

    @property
    def not_better(self) -> tuple[str, ...]:
        """The headline measures on which the model is not strictly better than every simple one, decided exactly."""
        return tuple(name for name in HEADLINE if self._exact_gain(name) <= 0)

    @property
    def warning(self) -> str | None:
        """A sentence for the user when the model fails to beat a simple one somewhere, else None."""
        failed = self.not_better
        if not failed:
            return None
        rival = "a simple model" if self.others else "always predicting each label's majority"
        figures = []
        for name in failed:
            best = self.strongest(name)
            by = f", {best}" if self.others else ""
            figures.append(f"{measure_words(name)} ({self.model[name]:.3f} against {self.simple[best][name]:.3f}{by})")
        extent = "anywhere" if len(failed) == len(HEADLINE) else "in " + ", ".join(figures)
        return f"the model is no better than {rival} {extent}"

    def frame(self) -> Any:
        """Return a data frame with a row per measure: the model, simple ones, and the gain over the best of them."""
        columns = {"model": self.model, "baseline": self.baseline, **self.others}
        values = {title: [scores[name] for name in MEASURES] for title, scores in columns.items()}
        gains = [float(self._exact_gain(name)) for name in MEASURES]
        return make_frame({"measure": list(MEASURES), **values, "gain": gains})

    def text(self, warning: bool = True) -> str:
        """Return the comparison as a table, the warning (if any) below it unless it is printed elsewhere."""
        columns = {"model": self.model, **self.simple}
        rows = [
            [
                measure_words(name),
                *(f"{scores[name]:.4f}" for scores in columns.values()),
                f"{float(self._exact_gain(name)):+.4f}",
            ]
            for name in MEASURES
        ]
        table = text_table(["", *(_SHORT.get(title, title) for title in columns), "gain"], rows)
        return f"{table}\nwarning: {self.warning}" if warning and self.warning else table

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"BaselineComparison(model={self.model!r}, baseline={self.baseline!r})"

    def _exact_gain(self, name: str) -> Fraction:
        gain = self.model.exact(name) - self.simple[self.strongest(name)].exact(name)
        return -gain if name in LOWER_IS_BETTER else gain


def compare_with_baseline(
    Y_train: Any,
    Y_true: Any,
    Y_pred: Any,
    label_names: Sequence[str] | None = None,
    zero_division: float = 0,
    tables: tuple[Table, Table] | None = None,
) -> BaselineComparison:
    """Score predictions beside those of a `MajorityClassifier` fitted on `Y_train`, and of other simple models.

    Where the training labels are not available (only a stored model is), pass ``Y_train=Y_true``: the baseline then
    knows the test set's own majorities, which makes it harder to beat, never easier.

    Parameters
    ----------
    Y_train : label matrix
        The labels of the training examples.
    Y_true, Y_pred : label matrix
        The truth, and what the model predicts.
    label_names : sequence of str, optional
        Names for the table of labels.
    zero_division : float
        Value of 0/0.
    tables : pair of Table, optional
        The features of the training and of the test examples (`Dataset.X`). With them, the most frequent label set and
        one rule per label are scored, too; see `simple_predictions`.

    Examples
    --------
    >>> comparison = compare_with_baseline([[1, 0], [1, 0]], [[1, 0], [1, 1]], [[1, 0], [1, 0]])
    >>> comparison.warning
    "the model is no better than always predicting each label's majority anywhere"
    """
    present, unknown = known_labels(Y_train)
    if tables is None:
        predictions = {"majority": MajorityClassifier().fit(present, Y_train).predict(known_labels(Y_true)[0])}
    else:
        truth = (present if unknown is None else present + UNKNOWN * unknown).toarray().astype(np.uint8)
        predictions = simple_predictions(tables[0], truth, tables[1])
    simple = {name: score(Y_true, labels, label_names, zero_division) for name, labels in predictions.items()}
    return BaselineComparison(score(Y_true, Y_pred, label_names, zero_division), simple.pop("majority"), simple)


def simple_predictions(train: Table, truth: Bytes, test: Table) -> dict[str, Bytes]:
    """Fit the simple models on the examples `train` with labels `truth`, and predict the examples `test`.

    Examples
    --------
    >>> table = Table.from_array([[1.0], [2.0], [3.0]])
    >>> found = simple_predictions(table, np.array([[0, 1], [0, 1], [1, 0]], dtype=np.uint8), table)
    >>> found["label set"].tolist(), found["one rule per label"].tolist()
    ([[0, 1], [0, 1], [0, 1]], [[0, 1], [0, 1], [1, 0]])
    """
    if len(train) != len(truth):
        raise DataError(f"{len(train)} examples to learn from have labels of {len(truth)}")
    present = truth == 1
    majority = (2 * present.sum(axis=0) > (truth != UNKNOWN).sum(axis=0)).astype(np.uint8)
    return {
        "majority": np.tile(majority, (len(test), 1)),
        "label set": np.tile(frequent_label_set(truth), (len(test), 1)),
        "one rule per label": _apply(one_rule_per_label(train, truth), test),
    }


def frequent_label_set(truth: Bytes) -> Bytes:
    """Return the label set that most examples have; of several, the one with fewer labels, then the first in order."""
    complete = truth[(truth != UNKNOWN).all(axis=1)]
    rows = np.asarray(complete if len(complete) else truth == 1, dtype=np.uint8)
    counts = Counter(row.tobytes() for row in rows)  # row by row: sorting them would hold up every other thread
    best = min(counts, key=lambda row: (-counts[row], sum(row), [-value for value in row]))
    return np.frombuffer(best, dtype=np.uint8)


def one_rule_per_label(table: Table, truth: Bytes) -> list[tuple[Condition, ...] | None]:
    """For every label the condition with the highest F1 on the examples; () is always, None never."""
    ones = np.ones(len(table), dtype=np.int64)
    engine = make_engine(table, np.ascontiguousarray(truth), ones, Objective(get("f1")), GrowOptions(1, False, 0, 1))
    bodies = []
    for label in range(truth.shape[1]):
        candidate = engine.grow(label=label, value=1)
        bodies.append(None if candidate is None else candidate.body)
    return bodies


def _apply(bodies: list[tuple[Condition, ...] | None], table: Table) -> Bytes:
    labels = covers(PackedBodies.of((body or () for body in bodies), table.features), table.values)
    return np.asarray(labels & [body is not None for body in bodies], dtype=np.uint8)
