"""A data set: features, labels, names, and what else is known about the examples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.data.describe import Description, describe
from polyrule.data.labels import UNKNOWN, LabelMatrix, to_labels
from polyrule.data.results import html_dataset
from polyrule.data.sparse import check_sparse
from polyrule.data.table import Feature, Table, unmasked
from polyrule.errors import DataError
from polyrule.utils.arrays import Floats


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features and labels of the same examples, ready for every estimator: ``fit(data.X, data.Y)``.

    Parameters
    ----------
    X : Table
        The features.
    Y : ndarray of uint8 or scipy.sparse.csr_array, shape (examples, labels)
        1 where the label is present, 0 where it is absent.
    label_names : tuple of str
        One name per column of `Y`.
    name : str
        What to call the data set in messages.
    row_ids : tuple of str, optional
        Identifiers of the examples; never used as features.
    weights : ndarray of float64, optional
        Example weights.
    info : dict
        What the file or the generator said about itself; plain values.

    Examples
    --------
    >>> from polyrule import Feature, Table
    >>> table = Table.from_array([[64.0], [120.0]], [Feature("tempo")])
    >>> songs = Dataset(table, np.array([[1, 0], [0, 1]], dtype=np.uint8), ("calm", "happy"), name="songs")
    >>> len(songs), songs.Y.sum(axis=0).tolist()
    (2, [1, 1])
    """

    X: Table
    Y: Any
    label_names: tuple[str, ...]
    name: str = "data"
    row_ids: tuple[str, ...] | None = None
    weights: Floats | None = None
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.X, Table):
            raise DataError(f"{self.name}: X must be a Table; polyrule.data.to_table makes one")
        rows = len(self.X)
        object.__setattr__(self, "label_names", tuple(map(str, self.label_names)))
        if sp.issparse(self.Y):
            check_sparse(self.Y, f"{self.name}: Y")
        if not _is_read(self.Y):
            object.__setattr__(self, "Y", to_labels(self.Y, self.label_names, unknown=True)[0])
        if self.weights is not None:
            try:
                object.__setattr__(self, "weights", np.asarray(unmasked(self.weights), dtype=np.float64))
            except (TypeError, ValueError) as problem:
                raise DataError(f"{self.name}: weights must be numbers ({problem})") from problem
        if self.Y.shape != (rows, len(self.label_names)):
            raise DataError(
                f"{self.name}: labels have shape {self.Y.shape}, expected ({rows}, {len(self.label_names)})"
            )
        if isinstance(self.Y, np.ndarray):
            object.__setattr__(self, "Y", LabelMatrix.of(self.Y, self.label_names))
        for what, entries in (("row ids", self.row_ids), ("weights", self.weights)):
            if entries is not None and len(entries) != rows:
                raise DataError(f"{self.name}: {len(entries)} {what} for {rows} examples")

    def __len__(self) -> int:
        return len(self.X)

    @property
    def shape(self) -> tuple[int, int]:
        """Examples and features; scikit-learn's searches and splitters cut what has a shape as they cut arrays."""
        return self.X.shape

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return f"Dataset({self.name!r}: {rows} examples x {columns} features, {len(self.label_names)} labels)"

    def _repr_html_(self) -> str:
        return html_dataset(self)

    def __getitem__(self, rows: Any) -> Dataset:
        """Select examples by slice, index array or boolean mask.

        Examples
        --------
        >>> from polyrule.datasets import load
        >>> len(load("emotions")[:10])
        10
        """
        positions = np.arange(len(self))[rows]
        if positions.ndim == 0:
            positions = positions.reshape(1)
        ids = None if self.row_ids is None else tuple(self.row_ids[row] for row in positions)
        weights = None if self.weights is None else self.weights[positions]
        return Dataset(self.X[positions], self.Y[positions], self.label_names, self.name, ids, weights, dict(self.info))

    def describe(self, test: Dataset | None = None) -> Description:
        """Describe the data, and find what will mislead a learner.

        Parameters
        ----------
        test : Dataset, optional
            The test part; examples that are in both parts are a finding too.

        Returns
        -------
        Description
            Printable; `findings` holds one warning each, `frame()` the labels.
        """
        return describe(self, test)

    @property
    def features(self) -> tuple[Feature, ...]:
        """Name and kind of every feature."""
        return self.X.features

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, in order."""
        return self.X.feature_names


def _is_read(Y: Any) -> bool:
    """True if labels are stored as in a `Dataset`: 0, 1 or unknown, each once."""
    if sp.issparse(Y) and not (getattr(Y, "format", "") == "csr" and getattr(Y, "has_canonical_format", False)):
        return False
    stored = Y.data if sp.issparse(Y) else Y
    if not isinstance(stored, np.ndarray) or isinstance(stored, np.ma.MaskedArray) or stored.dtype.kind not in "biu":
        return False
    return not stored.size or (stored.min() >= 0 and stored.max() <= UNKNOWN)
