"""LIBSVM's multi-label format and that of the extreme-classification repository.

A line is ``3,17 4:0.5 9:1``: the labels, then ``index:value`` pairs. The extreme-classification repository puts a line
with the numbers of examples, features and labels before them, and counts indices from 0. Features are called by their
index: x4, x9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from polyrule.data.columns import shorten
from polyrule.data.formats.blocks import Block, FileColumn, Hints, SparseBlock
from polyrule.data.formats.numbers import pair_numbers
from polyrule.data.sources import LineBlock, Source, line_blocks
from polyrule.errors import DataError
from polyrule.utils.arrays import Floats, Ints
from polyrule.utils.budget import MOST_COLUMNS

HEADER = re.compile(r"\s*(\d+)\s+(\d+)\s+(\d+)\s*", re.ASCII)
_PAIR = re.compile(r"\d{1,15}:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


class LibsvmReader:
    """Reads LIBSVM files; a first pass finds the largest index unless a header gives the number of features."""

    def __init__(self, source: Source) -> None:
        self.name, self.unit = source.name, "line"
        self._source = source
        self._header = self._read_header()
        if self._header is not None:
            _, width, labels = self._header
            first = 0
            source.budget.names(labels, "labels (by the header)")
            self.hints = Hints(lists_labels=True, label_names=tuple(str(j) for j in range(labels)))
        else:
            first, width = self._extent()
            self.hints = Hints(lists_labels=True)
        self._first = first
        source.budget.names(width, "features (the largest index)")
        self.columns = [FileColumn(f"x{j}", "numeric") for j in range(first, first + width)]

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield the rows as sparse entries with the labels of each row."""
        rows = 0
        for block in self._parsed():
            block.columns -= self._first
            width = len(self.columns)
            block.refuse_outside(self.name, "feature index", width, f"the header says {width} features")
            rows += len(block)
            yield block
        if self._header is not None and rows != self._header[0]:
            raise DataError(f"{self.name}: the header says {self._header[0]} examples, but there are {rows}")

    def _read_header(self) -> tuple[int, int, int] | None:
        self._body = 1  # the line where the rows begin
        for block in line_blocks(self._source):
            for number, line in enumerate(block.lines(), start=block.first):
                if not line.strip():
                    continue
                match = HEADER.fullmatch(line)
                if match is None:
                    return None
                self._body = number + 1
                rows, features, labels = (int(group[:18]) for group in match.groups())
                for count, what in ((features, "features"), (labels, "labels")):
                    if count > MOST_COLUMNS:
                        raise DataError(
                            f"{self.name}, line 1: the header claims {count} {what}; at most {MOST_COLUMNS}"
                        )
                return rows, features, labels
        raise DataError(f"{self.name}: the file is empty")

    def _extent(self) -> tuple[int, int]:
        smallest, largest = 1, 0
        for block in self._parsed():
            if len(block.columns):
                smallest = min(smallest, int(block.columns.min()))
                largest = max(largest, int(block.columns.max()))
                if largest > MOST_COLUMNS:
                    line = block.lines[block.rows[int(np.argmax(block.columns))]]
                    raise DataError(
                        f"{self.name}, line {line}: feature index {largest} is larger than the {MOST_COLUMNS} "
                        "features that can be read"
                    )
        return smallest, max(largest - smallest + 1, 0)

    def _parsed(self) -> Iterator[SparseBlock]:
        for block in line_blocks(self._source):
            parsed = self._parse(block.below(self._body))
            if len(parsed):
                yield parsed

    def _parse(self, block: LineBlock) -> SparseBlock:
        lines: list[int] = []
        tags: list[list[str]] = []
        texts: list[str] = []
        counts: list[int] = []
        for number, line in enumerate(block.lines(), start=block.first):
            content = line.split("#", 1)[0].rstrip()
            if not content.strip():
                if line and "#" not in line:  # white space alone: an example with neither labels nor features
                    content = " "
                else:
                    continue
            labels, pairs = self._split(content, number)
            lines.append(number)
            tags.append(labels)
            texts.append(pairs)
            counts.append(pairs.count(":"))
        rows = np.repeat(np.arange(len(lines)), counts)
        columns, values = self._numbers(texts, counts, lines)
        result = SparseBlock(rows, columns, values, lines, tags=tags)
        result.refuse_twice(self.name, "feature index")
        return result

    def _split(self, content: str, number: int) -> tuple[list[str], str]:
        head, _, rest = content.partition(" ")
        if "\t" in head:
            head, _, rest = content.partition("\t")
        if ":" in head:
            head, rest = "", content
        return [label for label in head.split(",") if label], rest

    def _numbers(self, texts: list[str], counts: list[int], lines: list[int]) -> tuple[Ints, Floats]:
        pairs = pair_numbers(" ".join(texts).encode())
        if pairs is None:
            raise self._malformed(texts, lines)
        columns, values = pairs
        bad = ~np.isfinite(values)
        if bad.any():
            line = lines[int(np.searchsorted(np.cumsum(counts), int(np.argmax(bad)), side="right"))]
            raise DataError(f"{self.name}, line {line}: a value is too large for a number")
        return columns, values

    def _malformed(self, texts: list[str], lines: list[int]) -> DataError:
        for text, line in zip(texts, lines, strict=True):
            for word in text.split():
                if not _PAIR.fullmatch(word):
                    return DataError(f"{self.name}, line {line}: {shorten(word)} is not of the form index:value")
        return DataError(f"{self.name}, lines {lines[0]} to {lines[-1]}: the index:value pairs cannot be read")
