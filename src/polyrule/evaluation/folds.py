"""Parts of a data set: rows taken together, and the folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import KFold

from polyrule.arrays import Ints
from polyrule.data.dataset import Dataset
from polyrule.data.result_tables import MissingExtraError
from polyrule.errors import OptionError


def take_rows(data: Dataset, rows: Any) -> Dataset:
    """Return the data set with only the given rows, in the given order.

    Examples
    --------
    >>> from polyrule.data.table import Table
    >>> data = Dataset(Table.from_array([[1.0], [2.0], [3.0]]), np.array([[1], [0], [1]]), ("a",))
    >>> take_rows(data, [2, 0]).X.column(0)
    array([3., 1.])
    """
    rows = np.asarray(rows)
    labels = sp.csr_array(data.Y)[rows] if sp.issparse(data.Y) else data.Y[rows]
    return replace(
        data,
        X=data.X[rows],
        Y=labels,
        row_ids=None if data.row_ids is None else tuple(data.row_ids[row] for row in rows),
        weights=None if data.weights is None else data.weights[rows],
    )


def make_folds(Y: Any, folds: int = 10, seed: int = 0, stratified: bool = True) -> list[tuple[Ints, Ints]]:
    """Split rows into `folds` pairs of training and test indices; every row is in exactly one test part.

    Parameters
    ----------
    Y : array-like or sparse matrix of 0 and 1
        The labels; only a stratified split looks at them.
    folds : int
        At least 2, at most the number of rows.
    seed : int
        The same seed gives the same folds.
    stratified : bool
        Spread every label evenly over the folds by iterative stratification (Sechidis et al. 2011), as implemented in
        the package iterative-stratification (extra ``splits``).

    Examples
    --------
    >>> [test.tolist() for _, test in make_folds(np.eye(4), folds=2, stratified=False)]
    [[2, 3], [0, 1]]
    """
    rows = Y.shape[0] if hasattr(Y, "shape") else len(Y)
    if not 2 <= folds <= rows:
        raise OptionError(f"folds must lie between 2 and the number of examples ({rows}), got {folds}")
    return list(_split(Y, rows, folds, seed, stratified))


def _split(Y: Any, rows: int, folds: int, seed: int, stratified: bool) -> Iterator[tuple[Ints, Ints]]:
    placeholder = np.zeros((rows, 1))
    if not stratified:
        yield from KFold(folds, shuffle=True, random_state=seed).split(placeholder)
        return
    try:
        from iterstrat.ml_stratifiers import MultilabelStratifiedKFold
    except ImportError:
        raise MissingExtraError(
            "a stratified split needs the package iterative-stratification: "
            "install polyrule[splits] or ask for stratified=False"
        ) from None
    labels = np.asarray(Y.toarray() if sp.issparse(Y) else Y) == 1  # an unknown label is not spread
    if labels.ndim == 1:
        labels = labels[:, None]
    # the splitter takes a matrix with one column for a plain vector; a second, constant column changes nothing
    if labels.shape[1] == 1:
        labels = np.column_stack([labels, np.zeros(rows, dtype=bool)])
    yield from MultilabelStratifiedKFold(folds, shuffle=True, random_state=seed).split(placeholder, labels)
