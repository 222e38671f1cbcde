"""Which column of a file plays which part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.data.columns import UnseenCategories
from polyrule.data.formats.blocks import Column
from polyrule.data.formats.encoders import Encoder
from polyrule.data.tags import TagCollector


@dataclass
class Layout:
    """The parts of all columns; positions refer to the columns of the file.

    `features`, `labels` and `encoders` say how most columns are read; a column in none of them is skipped.
    """

    columns: Sequence[Column]
    features: Sequence[int]
    labels: Sequence[int]
    encoders: dict[int, Encoder]
    label_names: tuple[str, ...] = ()
    identifier: int | None = None
    weights: int | None = None
    tags_column: int | None = None
    tags: TagCollector | None = None
    info: dict[str, Any] = field(default_factory=dict)
    unseen: UnseenCategories = field(default_factory=UnseenCategories)

    @property
    def extras(self) -> list[int]:
        """Columns that are neither feature nor label, but are kept."""
        return [j for j in (self.identifier, self.weights, self.tags_column) if j is not None]

    def numeric(self) -> list[bool]:
        """Columns whose cells a reader may hand over as parsed numbers."""
        labels = set(self.labels)
        flags = []
        for j, column in enumerate(self.columns):
            if j in (self.identifier, self.tags_column):
                flags.append(False)
            elif j in self.encoders:
                flags.append(self.encoders[j].takes_numbers)
            elif j in labels and column.kind == "nominal":
                flags.append(set(column.categories or ("",)) <= {"0", "1"})
            else:
                flags.append(column.kind in ("numeric", "auto"))
        return flags


class SparsePlan:
    """For every column of a file: where its entries go, and which numbers need no translation."""

    def __init__(self, layout: Layout) -> None:
        width = len(layout.columns)
        self.feature_at: npt.NDArray[np.int32] = np.full(width, -1, dtype=np.int32)
        self.label_at: npt.NDArray[np.int32] = np.full(width, -1, dtype=np.int32)
        self.feature_at[list(layout.features)] = np.arange(len(layout.features), dtype=np.int32)
        self.label_at[list(layout.labels)] = np.arange(len(layout.labels), dtype=np.int32)
        # nominal columns whose categories are 0, 1, 2, … hold their own codes; 0 categories: not such a column
        self.codes: npt.NDArray[np.float64] = np.zeros(width)
        self.numeric: npt.NDArray[np.bool_] = np.zeros(width, dtype=np.bool_)
        for j in layout.features:
            encoder = layout.encoders[j]
            self.numeric[j] = encoder.kind == "numeric"
            self.codes[j] = encoder.plain_codes
        for j in layout.labels:
            self.codes[j] = 2

    def plain(self, columns: npt.NDArray[np.int64], values: npt.NDArray[np.float64]) -> bool:
        """Whether every entry of a feature or label can be taken as it is."""
        limit = self.codes[columns]
        is_code = (values >= 0) & (values < limit) & (values == np.floor(values))
        is_code |= np.isnan(values) & (limit > 0) & (self.label_at[columns] < 0)
        skipped = (self.feature_at[columns] < 0) & (self.label_at[columns] < 0)
        return bool(np.all(is_code | skipped | (self.numeric[columns] & ~np.isinf(values))))
