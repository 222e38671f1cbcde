"""Which column of a file plays which part, and blocks of rows from any reader put together to one `Dataset`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from polyrule.data.columns import UnseenCategories, category_text
from polyrule.data.dataset import Dataset
from polyrule.data.derive.dates import DATE_PARTS
from polyrule.data.formats.blocks import Block, DenseBlock, Reader, SparseBlock
from polyrule.data.formats.encoders import ColumnEncoder, Place, encode_labels
from polyrule.data.table import Table
from polyrule.data.tags import LARGEST_DENSE_LABELS, TagCollector
from polyrule.errors import DataError
from polyrule.utils.arrays import Bools, Bytes, Floats, Ints, Ints32
from polyrule.utils.budget import Budget


@dataclass
class FileLayout:
    """The parts of all columns; positions refer to the columns of the file.

    `features`, `labels` and `encoders` define how most columns are read; a column in none of them is skipped.
    """

    reader: Reader
    features: Sequence[int]
    labels: Sequence[int]
    encoders: dict[int, ColumnEncoder]
    label_names: tuple[str, ...] = ()
    identifier: int | None = None
    weights: int | None = None
    tags_column: int | None = None
    tags: TagCollector | None = None
    info: dict[str, Any] = field(default_factory=dict)
    unseen: UnseenCategories = field(default_factory=UnseenCategories)

    def place(self, j: int | None, lines: Sequence[int]) -> Place:
        """Return the place of the cells of a column; None is for labels that a format lists by name."""
        reader = self.reader
        return Place(reader.name, "labels" if j is None else reader.columns[j].name, lines, reader.unit)

    def cells(self, j: int, block: Block) -> Sequence[Any]:
        """Return the cells of a column, also of one that is neither feature nor label."""
        return block.column(j, self.reader.columns[j].omitted)

    def tag_cells(self, block: Block) -> Sequence[Any] | None:
        """Return the tags of a block's rows, from their column or as the format lists them."""
        if self.tags_column is not None:
            return self.cells(self.tags_column, block)
        return block.tags if isinstance(block, SparseBlock) else None

    def numeric(self) -> list[bool]:
        """Columns whose cells a reader may hand over as parsed numbers."""
        labels = set(self.labels)
        flags = []
        for j, column in enumerate(self.reader.columns):
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

    def __init__(self, layout: FileLayout) -> None:
        width = len(layout.reader.columns)
        self.feature_at: Ints32 = np.full(width, -1, dtype=np.int32)
        self.label_at: Ints32 = np.full(width, -1, dtype=np.int32)
        self.feature_at[list(layout.features)] = np.arange(len(layout.features), dtype=np.int32)
        self.label_at[list(layout.labels)] = np.arange(len(layout.labels), dtype=np.int32)
        # nominal columns whose categories are 0, 1, 2, … hold their own codes; 0 categories: not such a column
        self.codes: Floats = np.zeros(width)
        self.numeric: Bools = np.zeros(width, dtype=np.bool_)
        for j in layout.features:
            encoder = layout.encoders[j]
            self.numeric[j] = encoder.kind == "numeric"
            self.codes[j] = encoder.plain_codes
        for j in layout.labels:
            self.codes[j] = 2

    def plain(self, columns: Ints, values: Floats) -> bool:
        """True if every entry of a feature or label can be used unchanged."""
        limit = self.codes[columns]
        is_code = (values >= 0) & (values < limit) & (values == np.floor(values))
        is_code |= np.isnan(values) & (limit > 0) & (self.label_at[columns] < 0)
        skipped = (self.feature_at[columns] < 0) & (self.label_at[columns] < 0)
        return bool(np.all(is_code | skipped | (self.numeric[columns] & ~np.isinf(values))))


class Assembler:
    """Takes in blocks and gives out a data set of everything since the last one."""

    def __init__(self, layout: FileLayout, name: str, budget: Budget) -> None:
        self._layout, self._name, self._budget = layout, name, budget
        self._plan: SparsePlan | None = None
        self._clear()

    def _clear(self) -> None:
        self._rows = self._cells = 0
        self._X: list[Any] = []  # arrays, or sparse ones of the entries that a block mentions
        self._Y: list[Any] = []
        self._ids: list[str] = []
        self._weights: list[Floats] = []
        self._weighted = False

    def add(self, block: Block) -> None:
        """Encode a block and keep it."""
        self._charge(block)
        encode: Any = self._encode_dense if isinstance(block, DenseBlock) else self._encode_sparse
        X, Y = encode(block)
        self._X.append(X)
        self._Y.append(Y)
        self._add_others(block)
        if self._layout.tags is not None:
            self._budget.cells(self._cells + self._layout.tags.entries)
        self._rows += len(block)

    def dataset(self) -> Dataset:
        """Return the examples added since the last call."""
        layout = self._layout
        Y = self._labels()
        X = self._sparse_features() if any(map(sp.issparse, self._X)) else self._dense_features()
        names: Sequence[str] = layout.label_names
        if layout.tags is not None:
            Y, names = layout.tags.matrix()
        weights = np.concatenate(self._weights) if self._weighted else None
        ids = tuple(self._ids) if layout.identifier is not None else None
        result = Dataset(X, Y, tuple(names), self._name, ids, weights, dict(layout.info))
        self._clear()
        for encoder in layout.encoders.values():
            encoder.restart()
        return result

    def _charge(self, block: Block) -> None:
        """Hold the cells that are kept against the budget, before they are made."""
        layout = self._layout
        if isinstance(block, DenseBlock):
            parts = sum(len(DATE_PARTS) for j in layout.features if layout.encoders[j].kind == "date")
            special = [j for j in (layout.identifier, layout.weights, layout.tags_column) if j is not None]
            self._cells += len(block) * (len(layout.features) + parts + len(layout.labels) + len(special))
        else:
            self._cells += len(block) + 2 * len(block.columns)
        self._budget.cells(self._cells)

    def _encode_dense(self, block: DenseBlock) -> tuple[Floats, Bytes]:
        layout = self._layout
        X = np.empty((len(block), len(layout.features)), order="F")
        for target, j in enumerate(layout.features):
            X[:, target] = layout.encoders[j].encode(block.cells[j], layout.place(j, block.lines))
        Y = np.empty((len(block), len(layout.labels)), dtype=np.uint8)
        for target, j in enumerate(layout.labels):
            Y[:, target] = encode_labels(block.cells[j], layout.place(j, block.lines))
        return X, Y

    def _encode_sparse(self, block: SparseBlock) -> tuple[Any, Any]:
        layout = self._layout
        if self._plan is None:
            self._plan = SparsePlan(layout)
        plan, cells = self._plan, block.cells
        if isinstance(cells, np.ndarray) and plan.plain(block.columns, cells):
            values = cells
        else:
            values = self._encode_by_column(block, plan)
        parts = []
        for place, width in ((plan.feature_at, len(layout.features)), (plan.label_at, len(layout.labels))):
            column = place[block.columns]
            is_stored = column >= 0
            parts.append(
                sp.coo_array((values[is_stored], (block.rows[is_stored], column[is_stored])), shape=(len(block), width))
            )
        return parts[0], parts[1]

    def _encode_by_column(self, block: SparseBlock, plan: SparsePlan) -> Floats:
        order = np.argsort(block.columns, kind="stable")
        columns = block.columns[order]
        starts = np.flatnonzero(np.diff(columns, prepend=-1))
        values = np.zeros(len(columns))
        for start, stop in zip(starts, np.append(starts[1:], len(columns)), strict=False):
            j, entries = int(columns[start]), order[start:stop]
            cells = block.cells[entries] if isinstance(block.cells, np.ndarray) else [block.cells[e] for e in entries]
            place = self._layout.place(j, [block.lines[row] for row in block.rows[entries]])
            if plan.feature_at[j] >= 0:
                values[entries] = self._sparse_encoder(j).encode(cells, place)
            elif plan.label_at[j] >= 0:
                values[entries] = encode_labels(cells, place)
        return values

    def _sparse_encoder(self, j: int) -> ColumnEncoder:
        encoder = self._layout.encoders[j]
        if encoder.kind == "nominal" and not encoder.frozen:
            raise undeclared(self._layout.reader.name, encoder.name)
        return encoder

    def _add_others(self, block: Block) -> None:
        """Take in what is neither feature nor label of a column."""
        layout = self._layout
        if layout.identifier is not None:
            cells = layout.cells(layout.identifier, block)
            self._ids.extend("" if cell is None else category_text(cell) for cell in cells)
        if layout.tags is not None and (listed := layout.tag_cells(block)) is not None:
            layout.tags.add(listed, layout.place(layout.tags_column, block.lines))
        weights = block.weights
        if layout.weights is not None:
            place = layout.place(layout.weights, block.lines)
            weights = ColumnEncoder(place.column, "numeric").encode(layout.cells(layout.weights, block), place)
        if weights is not None and not np.all(weights >= 0):
            line = block.lines[int(np.argmin(weights >= 0))]
            raise DataError(
                f"{layout.reader.name}, {layout.reader.unit} {line}: an example weight must be a number of at least 0"
            )
        self._weighted |= weights is not None
        self._weights.append(np.ones(len(block)) if weights is None else weights)

    def _dense_features(self) -> Table:
        encoders = [self._layout.encoders[j] for j in self._layout.features]
        X = np.empty((self._rows, len(encoders)), order="F")
        end = self._rows
        while self._X:  # freed one by one, so that the pieces and the whole are never alive twice over
            part = self._X.pop()
            X[end - len(part) : end] = part
            end -= len(part)
        for target, encoder in enumerate(encoders):
            if not encoder.frozen:
                X[:, target] = encoder.final_codes(X[:, target])
        return Table(X, tuple(encoder.feature() for encoder in encoders))

    def _sparse_features(self) -> Table:
        features = tuple(self._layout.encoders[j].feature() for j in self._layout.features)
        return Table.from_array(sp.vstack(list(map(sp.coo_array, self._X)), format="csc"), features)

    def _labels(self) -> Any:
        width, default = len(self._layout.labels), self._default_truth()
        large = self._rows * width > LARGEST_DENSE_LABELS
        if large and not default.any() and all(map(sp.issparse, self._Y)):
            matrix = sp.vstack(self._Y, format="csr", dtype=np.uint8)
            matrix.eliminate_zeros()
            return matrix
        self._budget.bytes(self._rows * width, "a label matrix")
        Y = np.tile(default, (self._rows, 1))
        first = 0
        for part in self._Y:
            target = Y[first : first + part.shape[0]]
            if sp.issparse(part):
                target[part.row, part.col] = part.data
            else:
                target[:] = part
            first += len(target)
        return sp.csr_array(Y) if large else Y

    def _default_truth(self) -> Bytes:
        """Value of an omitted label: absent, or the first declared value."""
        truths = []
        for j in self._layout.labels:
            column = self._layout.reader.columns[j]
            place = self._layout.place(j, [1])
            truths.append(encode_labels([column.categories[0]], place)[0] if column.categories else 0)
        return np.array(truths, dtype=np.uint8)


def undeclared(file: str, column: str) -> DataError:
    """Make the error for sparse rows that may omit a column without declared values."""
    return DataError(
        f"{file}: column {column!r} has no declared values, so a sparse row that omits it has no meaning; drop the "
        "column or declare its values"
    )
