"""A data set in two parts, training and test, or in folds."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import KFold, ShuffleSplit

from polyrule.data.dataset import Dataset
from polyrule.data.results import MissingExtraError
from polyrule.errors import DataError, OptionError
from polyrule.utils.arrays import Bools, Ints


def train_test_split(
    data: Dataset, test_share: float = 1 / 3, seed: int = 0, stratified: bool = True
) -> tuple[Dataset, Dataset]:
    """Split a data set at random; the same seed gives the same parts.

    Parameters
    ----------
    data : Dataset
    test_share : float
        Share of the examples in the test part, between 0 and 1.
    seed : int
    stratified : bool
        Spread every label evenly by iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011), as the package
        iterative-stratification does it (extra ``splits``); otherwise only chance decides.

    Returns
    -------
    train, test : Dataset
        Both keep the order of the examples.

    Examples
    --------
    >>> from polyrule.datasets import load
    >>> train, test = train_test_split(load("emotions"), stratified=False)
    >>> len(train), len(test)
    (395, 198)
    """
    if not 0 < test_share < 1:
        raise OptionError(f"test_share must lie between 0 and 1, got {test_share}")
    if len(data) < 2:
        raise DataError(f"{data.name}: {len(data)} example(s) cannot be split in two")
    kind = _stratifiers().MultilabelStratifiedShuffleSplit if stratified else ShuffleSplit
    splitter = kind(1, test_size=test_share, random_state=seed)
    train, test = next(splitter.split(np.zeros((len(data), 1)), _present(data.Y)))
    if not len(train) or not len(test):
        raise DataError(f"{data.name}: with test_share {test_share:g} one of the parts would be empty")
    return data[np.sort(train)], data[np.sort(test)]


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
    kind = _stratifiers().MultilabelStratifiedKFold if stratified else KFold
    splitter = kind(folds, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros((rows, 1)), _present(Y) if stratified else None))


def _stratifiers() -> Any:
    try:
        return import_module("iterstrat.ml_stratifiers")
    except ImportError:
        raise MissingExtraError(
            "a stratified split needs the package iterative-stratification: install polyrule[splits] or ask for "
            "stratified=False"
        ) from None


def _present(Y: Any) -> Bools:
    """Labels as the splitters want them: dense, and at least two columns."""
    labels = np.asarray(Y.toarray() if sp.issparse(Y) else Y) == 1
    labels = labels[:, None] if labels.ndim == 1 else labels
    return np.hstack([labels, np.zeros((len(labels), max(0, 2 - labels.shape[1])), dtype=bool)])
