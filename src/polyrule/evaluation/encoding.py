"""Features as a plain matrix of numbers, for learners that know neither names nor nominal values."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from polyrule.data.table import Table
from polyrule.errors import DataError


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
            known = column[~np.isnan(column)]
            if not feature.is_nominal:
                self.columns_.append((index, None))
                self.fill_.append(float(np.median(known)) if known.size else 0.0)
                continue
            for category in _encoded_categories(known, len(feature.categories), X.is_sparse):
                self.columns_.append((index, category))
                self.fill_.append(0.0)
        return self

    def transform(self, X: Table) -> npt.NDArray[np.float64] | sp.csr_array:
        """Encode; a sparse table stays sparse."""
        check_is_fitted(self)
        if X.features != self.features_:
            raise DataError("the features differ from those the encoder was fitted on")
        if X.is_sparse:
            return self._transform_sparse(X)
        matrix = np.empty((len(X), len(self.columns_)))
        for position, (index, category) in enumerate(self.columns_):
            column = X.column(index)
            if category is None:
                matrix[:, position] = np.where(np.isnan(column), self.fill_[position], column)
            else:
                matrix[:, position] = column == category
        return matrix

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return what each column holds: a feature's name, or ``hue=red`` for one of its values.

        With these names ``set_output(transform="pandas")`` gives frames.
        """
        check_is_fitted(self)
        names = []
        for index, category in self.columns_:
            feature = self.features_[index]
            names.append(feature.name if category is None else f"{feature.name}={feature.categories[category]}")
        return np.array(names, dtype=object)

    def _transform_sparse(self, X: Table) -> sp.csr_array:
        values: Any = X.values
        data, rows, starts = [], [], [0]
        for position, (index, category) in enumerate(self.columns_):
            stored = slice(values.indptr[index], values.indptr[index + 1])
            column, where = values.data[stored], values.indices[stored]
            if category is None:
                encoded = np.where(np.isnan(column), self.fill_[position], column)
            else:
                encoded, where = np.ones(int((column == category).sum())), where[column == category]
            data.append(encoded)
            rows.append(where)
            starts.append(starts[-1] + len(encoded))
        empty: list[Any] = [np.empty(0)]
        matrix = sp.csc_array(
            (np.concatenate(data or empty), np.concatenate(rows or empty).astype(np.int32), np.array(starts, np.int32)),
            shape=(len(X), len(self.columns_)),
        )
        return matrix.tocsr()


def _encoded_categories(known: npt.NDArray[np.float64], declared: int, sparse: bool) -> list[int]:
    """Choose the values that get a column of their own."""
    if declared == 2:
        return [1]
    seen = [int(value) for value in np.unique(known)]
    return [value for value in seen if value != 0] if sparse else seen
