"""A data set in two parts: training and test."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.model_selection import ShuffleSplit

from polyrule.data.dataset import Dataset
from polyrule.errors import DataError, OptionError


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
    splitter = _stratifier(test_share, seed) if stratified else ShuffleSplit(1, test_size=test_share, random_state=seed)
    train, test = next(splitter.split(np.zeros((len(data), 1)), _columns(data.Y) == 1))
    if not len(train) or not len(test):
        raise DataError(f"{data.name}: with test_share {test_share:g} one of the parts would be empty")
    return data[np.sort(train)], data[np.sort(test)]


def _stratifier(test_share: float, seed: int) -> Any:
    try:
        from iterstrat.ml_stratifiers import MultilabelStratifiedShuffleSplit
    except ImportError as problem:
        raise DataError(
            "a stratified split needs the package iterative-stratification; pip install polyrule[splits] "
            "or pass stratified=False"
        ) from problem
    return MultilabelStratifiedShuffleSplit(1, test_size=test_share, random_state=seed)


def _columns(Y: Any) -> npt.NDArray[np.uint8]:
    """Labels as the splitters want them: dense, and at least two columns."""
    labels = np.asarray(Y.toarray() if sp.issparse(Y) else Y)
    missing = max(0, 2 - labels.shape[1])
    return np.hstack([labels, np.zeros((len(labels), missing), dtype=labels.dtype)])
