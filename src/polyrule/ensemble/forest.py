"""A teacher of trees: a forest that says about each training example what it thinks without that example."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from polyrule.arrays import Floats32, Matrix

_TREES = 70
_FEATURE_SHARE = 0.2
_FEWEST_FEATURES = 10


class Forest:
    """Extremely randomised trees on bootstrap samples: half on the labels one by one, half on whole label sets.

    The two halves err differently, and their mean is better than either.

    Attributes
    ----------
    left_out : ndarray, shape (examples, labels)
        What the trees that were grown without an example say about it.
    """

    def __init__(self, design: Floats32, truth: Matrix, weights: Matrix, seed: int, threads: int) -> None:
        features = design.shape[1]
        tried = min(features, max(_FEWEST_FEATURES, round(_FEATURE_SHARE * features)))
        shared = {"bootstrap": True, "oob_score": True, "max_features": tried, "n_jobs": threads}
        self._labels = ExtraTreesRegressor(_TREES, random_state=seed, **shared)
        self._labels.fit(design, truth if truth.shape[1] > 1 else truth[:, 0], sample_weight=weights)
        self.left_out = self._labels.oob_prediction_.reshape(truth.shape)
        self._sets = None
        sets, membership = np.unique(truth, axis=0, return_inverse=True)
        # Where most label sets are unique, predicting whole sets is hopeless.
        if truth.shape[1] > 1 and 1 < len(sets) <= len(truth) / 2:
            self._sets = ExtraTreesClassifier(_TREES, random_state=seed + 1, **shared)
            self._sets.fit(design, membership.ravel(), sample_weight=weights)
            self._members = sets
            self.left_out = (self.left_out + self._sets.oob_decision_function_ @ sets) / 2

    def predict(self, design: Floats32) -> Matrix:
        """Estimate the probability of each label."""
        # Several threads would add up the trees in the order they finish, and change the last digits.
        self._labels.n_jobs = 1
        chances = np.asarray(self._labels.predict(design)).reshape(len(design), -1)
        if self._sets is None:
            return chances
        self._sets.n_jobs = 1
        return np.asarray((chances + self._sets.predict_proba(design) @ self._members) / 2)
