"""Numbers into intervals that hold about equally many training examples each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from polyrule.data.table import Feature, Table
from polyrule.errors import DataError, OptionError


class EqualFrequencyDiscretiser(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Turn numeric features into nominal ones with up to `bins` values.

    The cut points come from the examples given to `fit` alone; `transform` applies them to any others. Equal values
    always fall into the same interval, so a feature with few distinct values gets fewer intervals. Nominal features
    pass through; a missing value stays missing.

    Parameters
    ----------
    bins : int
        Most intervals per feature, at least 2.

    Attributes
    ----------
    cuts_ : list of ndarray or None
        Cut points per feature, ascending; None for a nominal feature.

    Examples
    --------
    >>> table = Table.from_array([[1.0], [2.0], [3.0], [40.0]], [Feature("size")])
    >>> model = EqualFrequencyDiscretiser(bins=2).fit(table)
    >>> model.transform(table).features[0].categories
    ('<= 2.5', '> 2.5')
    >>> model.transform(Table.from_array([[-7.0], [9.0]], [Feature("size")])).column(0)
    array([0., 1.])
    """

    def __init__(self, bins: int = 10) -> None:
        self.bins = bins

    def fit(self, X: Table, y: Any = None) -> Self:
        """Find the cut points of every numeric feature."""
        if self.bins < 2:
            raise OptionError(f"bins must be at least 2, got {self.bins}")
        _refuse_sparse(X)
        self.features_ = X.features
        self.cuts_ = [
            None if feature.is_nominal else equal_frequency_cuts(X.column(index), self.bins)
            for index, feature in enumerate(X.features)
        ]
        return self

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the features, which stay as they are."""
        check_is_fitted(self)
        return np.array([feature.name for feature in self.features_], dtype=object)

    def transform(self, X: Table) -> Table:
        """Replace each number by the index of its interval."""
        check_is_fitted(self)
        _refuse_sparse(X)
        if X.features != self.features_:
            raise DataError("the features differ from those the discretiser was fitted on")
        values = np.array(X.values, dtype=np.float64, order="F")
        features = list(X.features)
        for index, cuts in enumerate(self.cuts_):
            if cuts is None:
                continue
            column = values[:, index]
            known = ~np.isnan(column)
            # a value equal to a cut point belongs to the interval below it, as "<=" says
            column[known] = np.searchsorted(cuts, column[known], side="left")
            features[index] = Feature(features[index].name, "nominal", interval_names(cuts))
        return Table(values, tuple(features))


def equal_frequency_cuts(values: npt.NDArray[np.float64], bins: int) -> npt.NDArray[np.float64]:
    """Return at most ``bins - 1`` midpoints between distinct values that split `values` as evenly as ties allow.

    From the lowest value on, each interval is closed at the gap where its size is nearest to a fair share of the
    values that are left; of two equally near gaps the later one is taken.

    Examples
    --------
    >>> equal_frequency_cuts(np.arange(8.0), 4)
    array([1.5, 3.5, 5.5])
    >>> equal_frequency_cuts(np.array([0.0, 0, 0, 0, 0, 1, 2]), 3)
    array([0.5, 1.5])
    """
    distinct, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    below = np.cumsum(counts)[:-1]  # number of values below each gap
    if len(below) == 0:
        return np.empty(0)
    total, start, gap = int(counts.sum()), 0, 0
    chosen: list[int] = []
    for remaining in range(bins, 1, -1):
        if gap >= len(below):
            break
        target = start + (total - start) / remaining
        distance = np.abs(below[gap:] - target)
        nearest = gap + int(len(distance) - 1 - np.argmin(distance[::-1]))
        chosen.append(nearest)
        start, gap = int(below[nearest]), nearest + 1
    return np.asarray((distinct[chosen] + distinct[np.array(chosen) + 1]) / 2)


def interval_names(cuts: Sequence[float] | npt.NDArray[np.float64]) -> tuple[str, ...]:
    """Name the intervals between cut points, lowest first.

    Examples
    --------
    >>> interval_names([0.5, 2])
    ('<= 0.5', '0.5 to 2', '> 2')
    >>> interval_names([])
    ('any',)
    """
    words = [repr(float(cut)).removesuffix(".0") for cut in cuts]
    if not words:
        return ("any",)
    middle = (f"{low} to {high}" for low, high in pairwise(words))
    return (f"<= {words[0]}", *middle, f"> {words[-1]}")


def _refuse_sparse(X: Table) -> None:
    if X.is_sparse:
        raise DataError("discretising a sparse table would store every entry: make it dense first or leave it as it is")
