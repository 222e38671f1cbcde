"""Parquet, by pyarrow, a batch of rows at a time."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np

from polyrule.data.formats.blocks import Block, Column, ColumnKind, DenseBlock, Hints
from polyrule.data.sources import Source
from polyrule.errors import DataError

BATCH_CELLS = 2_000_000


class ParquetReader:
    """Reads Parquet; numbers come as arrays, text and booleans as cells."""

    def __init__(self, source: Source) -> None:
        self.name, self.unit = source.name, "row"
        self.hints = Hints()
        self._arrow, self._parquet = _import(source.name)
        self._file = self._open(source)
        self.columns = [Column(field.name, self._kind(field.type)) for field in self._file.schema_arrow]

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield batches of rows; rows are counted from 0."""
        size = max(1, BATCH_CELLS // max(1, len(self.columns)))
        first = 0
        batches = self._file.iter_batches(batch_size=size)
        while True:
            try:
                batch = next(batches, None)
            except (self._arrow.ArrowException, OSError) as problem:
                raise DataError(f"{self.name}, after row {first}: {_brief(problem)}") from problem
            if batch is None:
                return
            cells = [self._cells(column, name) for column, name in zip(batch.columns, batch.schema.names, strict=True)]
            yield DenseBlock(cells, range(first, first + batch.num_rows))
            first += batch.num_rows

    def _open(self, source: Source) -> Any:
        try:
            if source.path is not None and source.compression is None:
                return self._parquet.ParquetFile(source.path)
            copy = _unpacked(source)
            weakref.finalize(self, copy.close)
            return self._parquet.ParquetFile(copy)
        except (self._arrow.ArrowException, OSError) as problem:
            raise DataError(f"{source.name}: not a readable Parquet file ({_brief(problem)})") from problem

    def _kind(self, kind: Any) -> ColumnKind:
        types = self._arrow.types
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind):
            return "numeric"
        if types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind):
            return "nominal"
        if types.is_dictionary(kind):
            inner = self._kind(kind.value_type)
            return "nominal" if inner in ("numeric", "nominal") else inner
        if types.is_temporal(kind):
            return "date"
        return "nested"

    def _cells(self, column: Any, name: str) -> Any:
        kind = self._kind(column.type)
        if kind == "numeric":
            try:
                numbers = column.cast(self._arrow.float64(), safe=False)
            except self._arrow.ArrowException as problem:
                raise DataError(
                    f"{self.name}: column {name!r} cannot be read as numbers ({_brief(problem)})"
                ) from problem
            return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
        return column.to_pylist()


def _import(name: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as problem:
        raise DataError(f"{name}: reading Parquet needs the package pyarrow; pip install polyrule[files]") from problem
    return pyarrow, pyarrow.parquet


def _unpacked(source: Source) -> IO[bytes]:
    """A decompressed, seekable copy: Parquet is read from its end."""
    copy: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the reader)
    try:
        with source.open() as stream:
            while block := stream.read():
                copy.write(block)
    except BaseException:  # no reader is there yet that would close it
        copy.close()
        raise
    copy.seek(0)
    return copy


def _brief(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200]
