"""The least a model must beat: for every label, always the value that is more frequent in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _num_samples, check_is_fitted

from polyrule.data.results import make_frame, text_table
from polyrule.errors import DataError
from polyrule.evaluation.counts import known_labels
from polyrule.evaluation.scores import LOWER_IS_BETTER, MEASURES, Scores, measure_words, score

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
        known = present.shape[0] - (0 if unknown is None else np.asarray(unknown.sum(axis=0)).ravel())
        self.n_outputs_ = int(present.shape[1])
        self.frequency_ = counts / np.maximum(known, 1)
        self.prediction_ = (2 * counts > known).astype(np.uint8)
        self.classes_ = [np.array([0, 1])] * self.n_outputs_
        return self

    def predict(self, X: Any) -> npt.NDArray[np.uint8]:
        """Give the majority for every example."""
        check_is_fitted(self)
        return np.tile(self.prediction_, (_num_samples(X), 1))

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Give each label's share of the training examples."""
        check_is_fitted(self)
        return np.tile(self.frequency_, (_num_samples(X), 1))


@dataclass(frozen=True, eq=False, repr=False)
class BaselineComparison:
    """Scores of a model beside those of always predicting the majority.

    Attributes
    ----------
    model, baseline : Scores
        Of the model, and of the majority of every label.
    """

    model: Scores
    baseline: Scores

    @property
    def not_better(self) -> tuple[str, ...]:
        """The headline measures on which the model is not strictly better than the baseline, decided exactly."""
        return tuple(name for name in HEADLINE if self.model.exact(name) <= self.baseline.exact(name))

    @property
    def warning(self) -> str | None:
        """A sentence for the user when the model fails to beat the baseline somewhere, else None."""
        failed = self.not_better
        if not failed:
            return None
        figures = ", ".join(
            f"{measure_words(name)} ({self.model[name]:.3f} against {self.baseline[name]:.3f})" for name in failed
        )
        extent = "anywhere" if len(failed) == len(HEADLINE) else "in " + figures
        return f"the model is no better than always predicting each label's majority {extent}"

    def frame(self) -> Any:
        """Return a data frame with a row per measure: model, baseline, and how much better the model is."""
        return make_frame(
            {
                "measure": list(MEASURES),
                "model": [self.model[name] for name in MEASURES],
                "baseline": [self.baseline[name] for name in MEASURES],
                "gain": [self._gain(name) for name in MEASURES],
            }
        )

    def text(self) -> str:
        """Lay the comparison out as a table, the warning (if any) below it."""
        rows = [
            [measure_words(name), f"{self.model[name]:.4f}", f"{self.baseline[name]:.4f}", f"{self._gain(name):+.4f}"]
            for name in MEASURES
        ]
        table = text_table(["", "model", "majority", "gain"], rows)
        return table if self.warning is None else f"{table}\nwarning: {self.warning}"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"BaselineComparison(model={self.model!r}, baseline={self.baseline!r})"

    def _gain(self, name: str) -> float:
        gain = self.model.exact(name) - self.baseline.exact(name)
        return float(-gain if name in LOWER_IS_BETTER else gain)


def compare_with_baseline(
    Y_train: Any, Y_true: Any, Y_pred: Any, label_names: Sequence[str] | None = None, zero_division: float = 0
) -> BaselineComparison:
    """Score predictions beside those of a `MajorityClassifier` fitted on `Y_train`.

    Where the training labels are not at hand (only a stored model is), pass ``Y_train=Y_true``: the baseline then
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

    Examples
    --------
    >>> comparison = compare_with_baseline([[1, 0], [1, 0]], [[1, 0], [1, 1]], [[1, 0], [1, 0]])
    >>> comparison.warning
    "the model is no better than always predicting each label's majority anywhere"
    """
    majority = MajorityClassifier().fit(np.zeros((known_labels(Y_train)[0].shape[0], 1)), Y_train)
    constant = majority.predict(np.zeros((known_labels(Y_true)[0].shape[0], 1)))
    return BaselineComparison(
        model=score(Y_true, Y_pred, label_names, zero_division),
        baseline=score(Y_true, constant, label_names, zero_division),
    )
