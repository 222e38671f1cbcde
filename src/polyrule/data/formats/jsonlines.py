"""JSON lines: one object per line; a key that a line lacks is a missing value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from polyrule.data.columns import shorten
from polyrule.data.dates import DateForms
from polyrule.data.documents import distinct_members
from polyrule.data.formats.blocks import Block, ColumnKind, FileColumn, Hints, blocks_of_rows, column_of_text
from polyrule.data.formats.delimited import DelimitedOptions
from polyrule.data.sources import Source, line_blocks
from polyrule.errors import DataError
from polyrule.utils.budget import MOST_COLUMNS


class JsonLinesReader:
    """Reads JSON lines; a first pass over the file finds keys and kinds."""

    def __init__(self, source: Source, options: DelimitedOptions | None = None) -> None:
        self.name, self.unit = source.name, "line"
        self.hints = Hints()
        self._source = source
        self.columns = self._scan(None if options is None else options.dates)
        self._position = {column.name: j for j, column in enumerate(self.columns)}

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield the rows as columns of JSON values."""
        self._source.budget.cells(self._rows * len(self.columns))
        return blocks_of_rows(self._objects(), self._position, numeric, self._source.budget)

    def _scan(self, dates: str | None) -> list[FileColumn]:
        keys: dict[str, _Key] = {}
        self._rows = 0
        for line, entries in self._objects():
            self._rows += 1
            for name, value in entries.items():
                if name not in keys:
                    keys[name] = _Key()
                    self._source.budget.names(len(keys), "different keys")
                    if len(keys) > MOST_COLUMNS:
                        raise DataError(f"{self.name}: more than {MOST_COLUMNS} different keys")
                keys[name].see(value, line)
        if not keys:
            raise DataError(f"{self.name}: the file holds no JSON object")
        return [key.column(name, dates, self.hints) for name, key in keys.items()]

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for block in line_blocks(self._source):
            for number, line in enumerate(block.lines(), start=block.first):
                if line.strip():
                    yield number, self._parse(line, number)

    def _parse(self, line: str, number: int) -> dict[str, Any]:
        try:
            parsed = json.loads(line, object_pairs_hook=_distinct)
        except json.JSONDecodeError as problem:
            raise DataError(f"{self.name}, line {number}, column {problem.colno}: {problem.msg}") from problem
        except (ValueError, RecursionError) as problem:
            reason = "nested too deeply" if isinstance(problem, RecursionError) else str(problem)
            raise DataError(f"{self.name}, line {number}: {reason}") from problem
        if not isinstance(parsed, dict):
            hint = (
                "; pandas writes them with to_json(..., orient='records', lines=True)"
                if isinstance(parsed, list)
                else ""
            )
            raise DataError(
                f"{self.name}, line {number}: expected one JSON object per line, found {shorten(parsed)}{hint}"
            )
        return parsed


_WORDS = {"numeric": "numbers", "nominal": "text or booleans", "nested": "lists or objects"}


class _Key:
    """Kind of the values of a key, found line by line."""

    def __init__(self) -> None:
        self._kind: ColumnKind | None = None
        self._first = 0
        self._remark = ""
        self._dates = DateForms()

    def see(self, value: Any, line: int) -> None:
        if value is None:
            return
        kind: ColumnKind = "nested"
        if isinstance(value, (str, bool)):
            kind = "nominal"
            if self._dates.open:
                self._dates.see(value)
        elif isinstance(value, (int, float)):
            kind = "numeric"
        if self._kind is None:
            self._kind, self._first = kind, line
        elif kind != self._kind and not self._remark:
            self._remark = f"{_WORDS[self._kind]} in line {self._first} and {_WORDS[kind]} in line {line}"

    def column(self, name: str, dates: str | None, hints: Hints) -> FileColumn:
        if self._remark:
            return FileColumn(name, "mixed", remark=self._remark)
        if self._kind == "nominal":
            return column_of_text(name, "date", self._dates, dates, hints)
        return FileColumn(name, self._kind or "numeric")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return distinct_members(pairs, lambda key: ValueError(f"the key {shorten(key)} appears twice in one object"))
