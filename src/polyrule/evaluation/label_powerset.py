"""The label-powerset reduction: every set of labels seen in training is one class of an ordinary classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from polyrule.evaluation.confusion import label_matrix
from polyrule.utils.arrays import Bytes


class LabelPowersetClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Predict one of the label sets seen in training with any multi-class classifier.

    Parameters
    ----------
    estimator : scikit-learn classifier
        Gets one class per label set.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> model = LabelPowersetClassifier(DecisionTreeClassifier(random_state=0))
    >>> model.fit([[0], [1], [2]], [[0, 1], [1, 1], [0, 1]]).predict([[1], [2]])
    array([[1, 1],
           [0, 1]], dtype=uint8)
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, Y: Any) -> Self:
        """Number the distinct label sets and learn to tell them apart."""
        truth = label_matrix(Y, "Y").toarray().astype(np.uint8)
        self.label_sets_, classes = np.unique(truth, axis=0, return_inverse=True)
        self.n_outputs_ = truth.shape[1]
        self.classes_ = [np.array([0, 1])] * self.n_outputs_
        # a classifier cannot be asked to tell one class apart
        self.estimator_ = clone(self.estimator).fit(X, classes.ravel()) if len(self.label_sets_) > 1 else None
        return self

    def predict(self, X: Any) -> Bytes:
        """Return the label set of the predicted class."""
        check_is_fitted(self, "label_sets_")
        if self.estimator_ is None:
            rows = X.shape[0] if hasattr(X, "shape") else len(X)
            return np.asarray(np.tile(self.label_sets_[0], (rows, 1)), dtype=np.uint8)
        return np.asarray(self.label_sets_[self.estimator_.predict(X)], dtype=np.uint8)
