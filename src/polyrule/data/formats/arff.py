"""The rows of an ARFF file, dense or sparse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from polyrule.budget import MOST_COLUMNS
from polyrule.data.columns import shorten
from polyrule.data.formats.arff_header import ArffSyntaxError, read_header, split_values, take_word, uncommented
from polyrule.data.formats.blocks import CELLS_AT_ONCE, Block, Column, DenseBlock, Hints, SparseBlock
from polyrule.data.formats.numbers import dense_numbers, sparse_numbers
from polyrule.data.lines import LineBlock, line_blocks
from polyrule.data.sources import Source
from polyrule.errors import DataError


class ArffReader:
    """Reads ARFF by Weka's rules; the header is read at once, the rows in blocks."""

    def __init__(self, source: Source) -> None:
        self.name, self.unit = source.name, "line"
        self._source = source
        header, body = read_header(line_blocks(source), source.name)
        if not header.columns:
            raise DataError(f"{source.name}: the header declares no attributes")
        self.columns: list[Column] = header.columns
        source.budget.names(len(header.columns))
        self._first_row = body.first
        self.hints = Hints(header.meka_labels(), header.filtered_after_meka, header.relation)

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield the rows; blocks of nothing but numbers take a fast path when all columns allow it."""
        fast = all(numeric)
        for block in line_blocks(self._source):
            above = self._first_row - block.first
            if above > 0:
                parts = block.text.split(b"\n", above)
                block = LineBlock(self._first_row, parts[above] if len(parts) > above else b"")
            lead = len(block.text) - len(block.text.lstrip(b"\n"))
            if block.text.strip():
                yield from self._body(LineBlock(block.first + lead, block.text[lead:]), fast)

    def _body(self, block: LineBlock, fast: bool) -> Iterator[Block]:
        if fast:
            parsed = self._fast(block)
            if parsed is not None:
                yield parsed
                return
        yield from self._careful(block)

    def _fast(self, block: LineBlock) -> Block | None:
        if block.text.startswith(b"{"):
            entries = sparse_numbers(block.text)
            if entries is None:
                return None
            rows, columns, values, count = entries
            lines = range(block.first, block.first + count)
            return self._checked(SparseBlock(rows, columns, values, lines))
        numbers = dense_numbers(block.text, len(self.columns))
        if numbers is None:
            return None
        return DenseBlock(list(numbers.T), range(block.first, block.first + len(numbers)))

    def _careful(self, block: LineBlock) -> Iterator[Block]:
        """Go line by line; consecutive lines of the same layout make one block."""
        rows = _Rows(sparse=False)
        for number, line in enumerate(block.lines(), start=block.first):
            try:
                text = uncommented(line).strip()
                if not text:
                    continue
                sparse = text.startswith("{")
                if sparse != rows.sparse or rows.cells >= CELLS_AT_ONCE:
                    self._source.budget.tick()
                    yield from self._finish(rows)
                    rows = _Rows(sparse)
                if sparse:
                    rows.add_sparse(text, number)
                else:
                    rows.add_dense(text, number, len(self.columns))
            except ArffSyntaxError as problem:
                raise DataError(f"{self.name}, line {number}: {problem}") from problem
        yield from self._finish(rows)

    def _finish(self, rows: _Rows) -> Iterator[Block]:
        if rows.lines:
            yield self._checked(rows.sparse_block()) if rows.sparse else rows.dense_block()

    def _checked(self, block: SparseBlock) -> SparseBlock:
        """Indices must exist and appear once per row, in any order."""
        outside = (block.columns < 0) | (block.columns >= len(self.columns))
        if outside.any():
            entry = int(np.argmax(outside))
            raise DataError(
                f"{self.name}, line {block.lines[block.rows[entry]]}: index {block.columns[entry]} is out of range; "
                f"the header declares {len(self.columns)} attributes (0 to {len(self.columns) - 1})"
            )
        ascending = (np.diff(block.columns) > 0) | (np.diff(block.rows) > 0)
        if not ascending.all():
            order = np.lexsort((block.columns, block.rows))
            twice = (np.diff(block.columns[order]) == 0) & (np.diff(block.rows[order]) == 0)
            if twice.any():
                entry = order[int(np.argmax(twice))]
                raise DataError(
                    f"{self.name}, line {block.lines[block.rows[entry]]}: index {block.columns[entry]} appears twice"
                )
        return block


class _Rows:
    """Rows of one layout, gathered line by line."""

    def __init__(self, sparse: bool) -> None:
        self.sparse = sparse
        self.lines: list[int] = []
        self._rows: list[list[str | None]] = []
        self._positions: list[tuple[int, int]] = []
        self._cells: list[str | None] = []
        self._weights: dict[int, float] = {}

    @property
    def cells(self) -> int:
        """Cells gathered so far."""
        return len(self._cells) + (len(self._rows) * len(self._rows[0]) if self._rows else 0)

    def add_dense(self, text: str, number: int, width: int) -> None:
        if text.endswith("}"):
            text = self._take_weight(text, text.rfind("{"))
        separator = "\t" if "," not in text and "\t" in text else ","
        if text.count(separator) >= MOST_COLUMNS:
            raise ArffSyntaxError(f"the row has more than {MOST_COLUMNS} values")
        values = _cells(text, separator)
        if len(values) != width:
            raise ArffSyntaxError(f"{len(values)} values, but the header declares {width} attributes")
        self._rows.append(values)
        self.lines.append(number)

    def add_sparse(self, text: str, number: int) -> None:
        end = _closing_brace(text)
        if text[end + 1 :].strip():
            text = self._take_weight(text, text.rfind("{", end))[: end + 1]
        row = len(self.lines)
        inside = text[1:end].strip()
        for entry in _split_entries(inside) if inside else ():
            index, rest = take_word(entry)
            if not index.isascii() or not index.isdigit() or len(index) > 18:
                raise ArffSyntaxError(f"expected 'index value' in a sparse row, found {shorten(entry)}")
            value = _cells(rest, ",") if rest.strip() else []
            if len(value) != 1:
                raise ArffSyntaxError(f"index {index} has no value")
            self._positions.append((row, int(index)))
            self._cells.append(value[0])
        self.lines.append(number)

    def _take_weight(self, text: str, start: int) -> str:
        before = text[: max(start, 0)].rstrip()
        try:
            if start <= 0 or not before.endswith(",") or not text.endswith("}"):
                raise ValueError(text)
            weight = float(text[start + 1 : -1])
        except ValueError:
            raise ArffSyntaxError("a brace at the end of a row must hold an example weight, as in ', {0.5}'") from None
        self._weights[len(self.lines)] = weight
        return before[:-1]

    def dense_block(self) -> DenseBlock:
        return DenseBlock([list(column) for column in zip(*self._rows, strict=True)], self.lines, self._weight_array())

    def sparse_block(self) -> SparseBlock:
        positions = np.array(self._positions, dtype=np.int64).reshape(-1, 2)
        return SparseBlock(positions[:, 0], positions[:, 1], self._cells, self.lines, self._weight_array())

    def _weight_array(self) -> npt.NDArray[np.float64] | None:
        if not self._weights:
            return None
        weights = np.ones(len(self.lines))
        weights[list(self._weights)] = list(self._weights.values())
        return weights


def _cells(text: str, separator: str) -> list[Any]:
    if "'" not in text and '"' not in text:
        if " " in text or "\t" in text:
            parts: list[Any] = [part.strip() for part in text.split(separator)]
        else:
            parts = text.split(separator)
        return [None if part == "?" else part for part in parts] if "?" in text else parts
    return [None if value == "?" and not quoted else value for value, quoted in split_values(text, separator)]


def _closing_brace(text: str) -> int:
    """Position of the brace that closes a sparse row, outside quotes."""
    if "'" not in text and '"' not in text:
        end = text.find("}")
    else:
        end = len(_without_quoted(text).split("}", 1)[0])
        end = end if end < len(text) else -1
    if end < 0:
        raise ArffSyntaxError("the sparse row does not end with a closing brace")
    return end


def _split_entries(inside: str) -> list[str]:
    if "'" not in inside and '"' not in inside:
        return inside.split(",")
    masked = _without_quoted(inside)
    entries, start = [], 0
    for part in masked.split(","):
        entries.append(inside[start : start + len(part)])
        start += len(part) + 1
    return entries


def _without_quoted(text: str) -> str:
    """Replace everything inside quotes by dots, so that commas and braces there do not count."""
    masked, quote, position = list(text), "", 0
    while position < len(text):
        char = text[position]
        if quote:
            if char == "\\":
                masked[position : position + 2] = ["."] * len(masked[position : position + 2])
                position += 1
            elif char == quote:
                quote = ""
            else:
                masked[position] = "."
        elif char in "'\"" and (position == 0 or text[position - 1] in " \t,{"):
            quote = char
        position += 1
    return "".join(masked)
