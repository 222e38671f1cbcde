"""JSON lines: one object per line; a key that a line lacks is a missing value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from polyrule.budget import MOST_COLUMNS
from polyrule.data.columns import shorten
from polyrule.data.dates import DateForms, day_of
from polyrule.data.documents import distinct_members
from polyrule.data.formats.blocks import (
    CELLS_AT_ONCE,
    TIMES,
    Block,
    Column,
    ColumnKind,
    DenseBlock,
    Hints,
    column_of_dates,
)
from polyrule.data.formats.delimited import DelimitedOptions
from polyrule.data.sources import Source, line_blocks
from polyrule.errors import DataError


class JsonLinesReader:
    """Reads JSON lines; a first pass over the file finds keys and kinds."""

    def __init__(self, source: Source, options: DelimitedOptions | None = None) -> None:
        self.name, self.unit = source.name, "line"
        self.hints = Hints()
        self._source = source
        self._dates = None if options is None else options.dates
        self.columns = self._scan()
        self._position = {column.name: j for j, column in enumerate(self.columns)}

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield the rows as columns of JSON values."""
        most = max(1, CELLS_AT_ONCE // max(len(self.columns), 1))
        rows = 0
        for objects, lines in self._objects():
            rows += len(objects)
            self._source.budget.cells(rows * len(self.columns))
            for start in range(0, len(objects), most):
                stop = start + most
                yield DenseBlock(self._cells(objects[start:stop], numeric), lines[start:stop])

    def _cells(self, objects: list[dict[str, Any]], numeric: Sequence[bool]) -> list[Any]:
        """Columns of a few rows: only the values that are there are looked at, however many keys there are."""
        cells: list[Any] = [[None] * len(objects)] * len(self.columns)  # shared by the columns that nobody mentions
        own: set[int] = set()
        for row, found in enumerate(objects):
            for key, value in found.items():
                j = self._position[key]
                if j not in own:
                    own.add(j)
                    cells[j] = [None] * len(objects)
                cells[j][row] = value
        if len(own) < len(cells):
            missing = np.full(len(objects), np.nan)
            for j, is_number in enumerate(numeric):
                if is_number and j not in own:
                    cells[j] = missing
        return cells

    def _scan(self) -> list[Column]:
        kinds: dict[str, tuple[ColumnKind | None, int]] = {}
        remarks: dict[str, str] = {}
        no_dates: set[str] = set()  # that is, none written as 2021-12-31
        timed: set[str] = set()
        forms: dict[str, DateForms] = {}
        for objects, lines in self._objects():
            for found, line in zip(objects, lines, strict=True):
                for key, value in found.items():
                    kind = _kind(value)
                    if kind == "nominal" and key not in no_dates:
                        if value in (True, False) or day_of(value) is None:
                            no_dates.add(key)
                        elif ":" in value:
                            timed.add(key)
                    if kind == "nominal" and (key not in forms or forms[key].left):
                        forms.setdefault(key, DateForms()).see(value)
                    before, first = kinds.get(key, (None, line))
                    if before is None:
                        kinds[key] = (kind, line)
                    elif kind is not None and kind != before and key not in remarks:
                        remarks[key] = f"{_WORDS[before]} in line {first} and {_WORDS[kind]} in line {line}"
            self._source.budget.names(len(kinds), "different keys")
            if len(kinds) > MOST_COLUMNS:
                raise DataError(f"{self.name}: more than {MOST_COLUMNS} different keys")
        if not kinds:
            raise DataError(f"{self.name}: the file holds no JSON object")
        columns = []
        for key, (kind, _) in kinds.items():
            dates = column_of_dates(key, "date", forms[key], self._dates, self.hints) if kind == "nominal" else None
            is_date = kind == "nominal" and key not in no_dates
            remark = TIMES if is_date and key in timed else ""
            plain = Column(key, "date" if is_date else kind or "numeric", remark=remark)
            columns.append(Column(key, "mixed", remark=remarks[key]) if key in remarks else dates or plain)
        return columns

    def _objects(self) -> Iterator[tuple[list[dict[str, Any]], list[int]]]:
        for block in line_blocks(self._source):
            objects, lines = [], []
            for number, line in enumerate(block.lines(), start=block.first):
                if line.strip():
                    objects.append(self._parse(line, number))
                    lines.append(number)
            if objects:
                yield objects, lines

    def _parse(self, line: str, number: int) -> dict[str, Any]:
        try:
            found = json.loads(line, object_pairs_hook=_distinct)
        except json.JSONDecodeError as problem:
            raise DataError(f"{self.name}, line {number}, column {problem.colno}: {problem.msg}") from problem
        except (ValueError, RecursionError) as problem:
            reason = "nested too deeply" if isinstance(problem, RecursionError) else str(problem)
            raise DataError(f"{self.name}, line {number}: {reason}") from problem
        if not isinstance(found, dict):
            raise DataError(f"{self.name}, line {number}: expected one JSON object per line, found {shorten(found)}")
        return found


_WORDS = {"numeric": "numbers", "nominal": "text or booleans", "nested": "lists or objects"}


def _kind(value: Any) -> ColumnKind | None:
    if value is None:
        return None
    if isinstance(value, (str, bool)):
        return "nominal"
    return "numeric" if isinstance(value, (int, float)) else "nested"


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return distinct_members(pairs, lambda key: ValueError(f"the key {shorten(key)} appears twice in one object"))
