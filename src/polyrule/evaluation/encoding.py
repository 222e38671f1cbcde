"""Features as learners want them: numbers as intervals, or everything as a plain matrix without names or categories."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from polyrule.data.table import Feature, Table
from polyrule.errors import DataError, OptionError
from polyrule.utils.arrays import Array, Floats, Ints


class MatrixEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Encode a `Table` as numbers: nominal features one column per value, missing numbers by the median.

    Everything is learned from the examples given to `fit`: which values of a nominal feature exist, and the medians. A
    nominal feature with two values becomes one column (1 for the second value); with more, one column for
    each value seen (a sparse table leaves out the first value, which it does not store). A value never seen in
    `fit`, or missing, gives 0 in all its columns. A column that is missing throughout becomes 0.

    Attributes
    ----------
    columns_ : list of (feature index, category index or None)
        What each column of the matrix holds; None for a number.

    Examples
    --------
    >>> from polyrule.data.table import Feature
    >>> hue = Feature("hue", "nominal", ("red", "green", "blue"))
    >>> table = Table.from_array([[1.0, 0.0], [np.nan, 2.0], [3.0, 1.0]], [Feature("size"), hue])
    >>> MatrixEncoder().fit(table).transform(table)
    array([[1., 1., 0., 0.],
           [2., 0., 0., 1.],
           [3., 0., 1., 0.]])
    """

    def fit(self, X: Table, y: Any = None) -> Self:
        """Learn the values of nominal features and the medians of numeric ones."""
        self.features_ = X.features
        self.columns_: list[tuple[int, int | None]] = []
        self.fill_: list[float] = []
        for index, feature in enumerate(X.features):
            column = X.column(index)
            values = column[~np.isnan(column)]
            if not feature.is_nominal:
                self.columns_.append((index, None))
                self.fill_.append(float(np.median(values)) if values.size else 0.0)
                continue
            for category in _encoded_categories(values, len(feature.categories), X.is_sparse):
                self.columns_.append((index, category))
                self.fill_.append(0.0)
        return self

    def transform(self, X: Table) -> Floats | sp.csr_array:
        """Encode; a sparse table stays sparse."""
        check_is_fitted(self)
        if X.features != self.features_:
            raise DataError("the features differ from those the encoder was fitted on")
        columns = np.array([index for index, _ in self.columns_], dtype=np.intp)
        categories = np.array([-1 if category is None else category for _, category in self.columns_])
        fill = np.array(self.fill_)
        if not X.is_sparse:
            return _encoded(np.asarray(X.values[:, columns], np.float64, "C"), categories, fill)
        stored: Any = sp.csc_array(X.values)[:, columns]
        place = np.repeat(np.arange(len(columns)), np.diff(stored.indptr))  # the column of each stored value
        stored.data = _encoded(stored.data, categories[place], fill[place])
        return stored.tocsr()

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the name of each column: a feature's name, or ``hue=red`` for one of its values.

        With these names ``set_output(transform="pandas")`` gives frames.
        """
        check_is_fitted(self)
        names = []
        for index, category in self.columns_:
            feature = self.features_[index]
            names.append(feature.name if category is None else f"{feature.name}={feature.categories[category]}")
        return np.array(names, dtype=object)


def _encoded(values: Floats, category: Ints, fill: Floats) -> Floats:
    """Return 1 where values are a category; where that is -1, numbers with missing ones filled in."""
    return np.where(category < 0, np.where(np.isnan(values), fill, values), values == category)


def _encoded_categories(values: Floats, declared: int, sparse: bool) -> list[int]:
    """Return the values that get a separate column."""
    if declared == 2:
        return [1]
    seen = [int(value) for value in np.unique(values)]
    return [value for value in seen if value != 0] if sparse else seen


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

    def get_feature_names_out(self, input_features: Any = None) -> Array:
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
            is_known = ~np.isnan(column)
            # a value equal to a cut point belongs to the interval below it, as "<=" says
            column[is_known] = np.searchsorted(cuts, column[is_known], side="left")
            features[index] = Feature(features[index].name, "nominal", interval_names(cuts))
        return Table(values, tuple(features))


def equal_frequency_cuts(values: Floats, bins: int) -> Floats:
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
    places: list[int] = []
    for remaining in range(bins, 1, -1):
        if gap >= len(below):
            break
        target = start + (total - start) / remaining
        distance = np.abs(below[gap:] - target)
        nearest = gap + int(len(distance) - 1 - np.argmin(distance[::-1]))
        places.append(nearest)
        start, gap = int(below[nearest]), nearest + 1
    halves = distinct / 2  # halved first, so that the sum of huge values is finite
    return np.asarray(halves[places] + halves[np.array(places) + 1])


def interval_names(cuts: Sequence[float] | Floats) -> tuple[str, ...]:
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
