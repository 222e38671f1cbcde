"""Parquet, by pyarrow, a batch of rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import IO, Any

import numpy as np

from polyrule.data.formats.blocks import Block, ColumnKind, DenseBlock, FileColumn, Hints
from polyrule.data.formats.parquet_pages import (
    DELTA_BYTE_ARRAY,
    DELTA_LENGTH_BYTE_ARRAY,
    BrokenHeader,
    chunks,
    pages,
    unpacked_texts,
)
from polyrule.data.frames import is_row_number
from polyrule.data.sources import Source
from polyrule.errors import DataError
from polyrule.utils.budget import Budget

BATCH_CELLS = 2_000_000
LONGEST_TEXT = 1 << 20
"""Bytes of one text; a longer one is no name that a rule could test."""


class ParquetReader:
    """Reads Parquet; numbers come as arrays, text and booleans as cells.

    What the file will cost is held against the budget before anything is unpacked. Text stays in dictionaries, so that
    one long text that many rows refer to is not written out for each of them.
    """

    def __init__(self, source: Source) -> None:
        self.name, self.unit = source.name, "row"
        self.hints = Hints()
        self._source = source  # whose copy, if it is one, is read from here on
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as problem:
            needs = "reading Parquet needs the package pyarrow; pip install polyrule[files]"
            raise DataError(f"{source.name}: {needs}") from problem
        self._arrow, self._parquet = pyarrow, pyarrow.parquet
        self._damage = (self._arrow.ArrowException, OSError, UnicodeError, OverflowError, ValueError)
        try:
            self._file = self._open(source)
            fields = list(self._file.schema_arrow)
            self._shown = [j for j, field in enumerate(fields) if not is_row_number(field.name)]
            self.columns = [FileColumn(fields[j].name, self._kind(fields[j].type)) for j in self._shown]
        except DataError:
            raise
        except self._damage as problem:
            raise DataError(f"{source.name}: not a readable Parquet file ({_brief(problem)})") from problem

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield batches of rows; rows are counted from 0."""
        size = max(1, BATCH_CELLS // max(1, len(self.columns)))
        first = 0
        batches = (  # group by group: Arrow cannot join lists of texts whose dictionaries differ
            batch
            for group in range(self._file.num_row_groups)
            for batch in self._file.iter_batches(batch_size=size, row_groups=[group])
        )
        while True:
            try:
                batch = next(batches, None)
            except self._damage as problem:
                raise DataError(f"{self.name}, after row {first}: {_brief(problem)}") from problem
            if batch is None:
                return
            cells = [
                self._cells(batch.column(j), column.name) for j, column in zip(self._shown, self.columns, strict=True)
            ]
            yield DenseBlock(cells, range(first, first + batch.num_rows))
            first += batch.num_rows

    def _open(self, source: Source) -> Any:
        content = source.seekable()
        metadata = self._parquet.ParquetFile(content).metadata
        with nullcontext(content) if content is not source.path else open(str(content), "rb") as file:
            written_out = _check_cost(metadata, file, source.budget)
            file.seek(0)
        leaves = [metadata.schema.column(j) for j in range(metadata.num_columns)]
        texts = [
            leaf.path for j, leaf in enumerate(leaves) if leaf.physical_type == "BYTE_ARRAY" and j not in written_out
        ]
        return self._parquet.ParquetFile(content, read_dictionary=texts)

    def _kind(self, kind: Any) -> ColumnKind:
        types = self._arrow.types
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
            return "numeric"
        if types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind):
            return "nominal"
        if types.is_dictionary(kind):
            inner = self._kind(kind.value_type)
            return "nominal" if inner in ("numeric", "nominal") else inner
        if types.is_date(kind) or types.is_timestamp(kind):
            return "date"
        return "nested"

    def _cells(self, column: Any, name: str) -> Any:
        try:
            if self._kind(column.type) == "numeric":
                numbers = column.cast(self._arrow.float64(), safe=False)
                return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
            if self._is_text(column.type):
                column = column.dictionary_encode()
            if self._arrow.types.is_dictionary(column.type):
                return self._from_dictionary(column, name)
            if self._is_text_list(column.type):
                return self._lists(column, name)
            return column.to_pylist()
        except DataError:
            raise
        except self._damage as problem:
            raise DataError(f"{self.name}: column {name!r} cannot be read ({_brief(problem)})") from problem

    def _is_text(self, kind: Any) -> bool:
        return bool(self._arrow.types.is_string(kind) or self._arrow.types.is_large_string(kind))

    def _is_text_list(self, kind: Any) -> bool:
        types = self._arrow.types
        is_list = types.is_list(kind) or types.is_large_list(kind)
        return bool(is_list and (types.is_dictionary(kind.value_type) or self._is_text(kind.value_type)))

    def _lists(self, column: Any, name: str) -> list[list[Any] | None]:
        flat = column.flatten()
        texts = iter(self._from_dictionary(flat.dictionary_encode() if self._is_text(flat.type) else flat, name))
        sizes = column.value_lengths().to_pylist()
        return [None if size is None else list(islice(texts, size)) for size in sizes]

    def _from_dictionary(self, column: Any, name: str) -> list[Any]:
        """One Python object per distinct value, shared by the rows that refer to it."""
        values = column.dictionary
        if self._is_text(values.type):
            import pyarrow.compute

            longest = pyarrow.compute.max(pyarrow.compute.binary_length(values)).as_py() or 0
            if longest > LONGEST_TEXT:
                raise DataError(
                    f"{self.name}: column {name!r} holds a text of {longest} bytes; at most {LONGEST_TEXT} are read"
                )
        distinct = np.empty(len(values) + 1, dtype=object)
        distinct[:-1] = values.to_pylist()
        codes = column.indices.fill_null(len(values)).to_numpy(zero_copy_only=False).astype(np.int64)
        if len(codes) and not 0 <= codes.min() <= codes.max() <= len(values):
            raise DataError(f"{self.name}: column {name!r} refers to values that are not there")
        cells: list[Any] = distinct[codes].tolist()
        return cells


def _check_cost(metadata: Any, file: IO[bytes], budget: Budget) -> set[int]:
    """Check the sizes in the footer and every page against the budget, before anything is unpacked.

    Returns the columns of texts that are stored as differences or lengths, which Arrow cannot give as dictionaries.
    """
    budget.names(metadata.num_columns)
    leaves = [metadata.schema.column(j) for j in range(metadata.num_columns)]
    widths = [leaf.length or 0 if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY" else 0 for leaf in leaves]
    found = chunks(file, metadata.num_columns)
    budget.cells(max(sum(chunk.values for chunk in found), metadata.num_rows * metadata.num_columns))
    budget.bytes(sum(max(chunk.unpacked, widths[chunk.column] * chunk.values) for chunk in found), "unpacked content")
    if sum(chunk.packed for chunk in found) > file.seek(0, os.SEEK_END):
        raise BrokenHeader("its columns are larger than the file")  # they would be looked through again and again
    values = size = 0
    written_out: set[int] = set()
    for chunk in found:  # a page is given what it asks for, whatever the footer says
        leaf = leaves[chunk.column]
        for page in pages(file, chunk.start, chunk.packed):
            values += page.values
            budget.cells(values)
            budget.bytes(size + page.unpacked, "unpacked content")
            texts = 0
            if leaf.physical_type == "BYTE_ARRAY" and page.encoding in (DELTA_BYTE_ARRAY, DELTA_LENGTH_BYTE_ARRAY):
                written_out.add(chunk.column)
                if page.encoding == DELTA_BYTE_ARRAY:
                    file.seek(page.start)
                    texts = unpacked_texts(page, file.read(page.packed), leaf, chunk.codec)
            size += max(page.unpacked, widths[chunk.column] * page.values, texts)
            budget.bytes(size, "unpacked content")
    return written_out


def _brief(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200]
