"""ARFF files: the header, and rows that are dense or sparse."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from polyrule.data.columns import shorten
from polyrule.data.formats.blocks import CELLS_AT_ONCE, Block, DenseBlock, FileColumn, Hints, SparseBlock
from polyrule.data.formats.numbers import dense_numbers, sparse_numbers
from polyrule.data.sources import LineBlock, Source, line_blocks
from polyrule.errors import DataError
from polyrule.utils.arrays import Floats
from polyrule.utils.budget import MOST_COLUMNS

_NUMERIC = {"numeric", "real", "integer"}
_MEKA = re.compile(r"(?:^|[\s:'\"])-[Cc]\s+(-?\d+)")


def read_header(source: Source) -> tuple[Hints, list[FileColumn], int]:
    """Return the header's hints about labels, the columns, and the number of the line below ``@data``."""
    hints, columns = Hints(), list[FileColumn]()
    for block in line_blocks(source):
        for number, raw in enumerate(block.text.split(b"\n"), start=block.first):
            stripped = raw.strip()
            if not stripped or stripped.startswith(b"%"):
                continue
            try:
                line = uncommented(stripped.decode()).strip()
                keyword, rest = take_word(line)
                if keyword.lower() == "@data":
                    return hints, columns, number + 1
                if keyword.lower() == "@relation":
                    hints = _label_hints(take_word(rest)[0] if rest[:1] in ("'", '"') else rest)
                elif keyword.lower() == "@attribute":
                    columns.append(_attribute(rest))
                    if len(columns) > MOST_COLUMNS:
                        raise ArffSyntaxError(f"there are more than {MOST_COLUMNS} attributes")
                else:
                    raise ArffSyntaxError(f"expected @relation, @attribute or @data, found {shorten(line)}")
            except ArffSyntaxError as problem:
                raise DataError(f"{source.name}, line {number}: {problem}") from problem
    raise DataError(f"{source.name}: there is no @data line, so this is not a complete ARFF file")


def _label_hints(relation: str) -> Hints:
    """MEKA's ``-C n`` in the name of a relation: the first n columns are labels, or the last for negative n."""
    match = _MEKA.search(relation)
    count = int(match.group(1)[:10]) if match else None  # ten digits are more than there can be labels
    return Hints(count, filtered_after_meka="weka.filters" in relation)


def _attribute(rest: str) -> FileColumn:
    name, kind = take_word(rest, stop="{")
    kind = kind.strip()
    if not name:
        raise ArffSyntaxError("the attribute has no name")
    if kind.startswith("{"):
        return FileColumn(name, "nominal", _declared_values(name, kind))
    word = kind.split(None, 1)[0].lower() if kind else ""
    if word in _NUMERIC:
        return FileColumn(name, "numeric")
    if word in ("string", "date", "relational"):
        return FileColumn(name, word)  # type: ignore[arg-type]
    raise ArffSyntaxError(f"attribute {shorten(name)} has no known type: {shorten(kind)}")


def _declared_values(name: str, kind: str) -> tuple[str, ...]:
    if not kind.endswith("}"):
        raise ArffSyntaxError(
            f"the values of attribute {shorten(name)} do not end with a closing brace on the same line"
        )
    if kind.count(",") > MOST_COLUMNS:
        raise ArffSyntaxError(f"attribute {shorten(name)} declares more than {MOST_COLUMNS} values")
    inside = kind[1:-1].strip()
    values = tuple(value for value, _ in split_values(inside)) if inside else ()
    if len(set(values)) != len(values):
        twice = next(value for value, times in Counter(values).items() if times > 1)
        raise ArffSyntaxError(f"attribute {shorten(name)} declares the value {shorten(twice)} twice")
    return values


_BLANKS = re.compile(r"[ \t]*")
# possessive: a quoted value is never tried again with fewer characters
_QUOTED = {quote: re.compile(rf"{quote}(?:[^{quote}\\]++|\\.)*+{quote}", re.DOTALL) for quote in "'\""}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
# A quote opens a value only at its beginning: the apostrophe of ``don't`` is a letter like any other. One that is never
# closed reaches to the end of the line.
_ASIDE = r"(?:^|(?<=[ \t,{]))(?:'(?:[^'\\]++|\\.)*+(?:'|\\?$)|\"(?:[^\"\\]++|\\.)*+(?:\"|\\?$))"
_IN_QUOTES = re.compile(_ASIDE, re.DOTALL)
_IN_QUOTES_OR_ESCAPED = re.compile(rf"{_ASIDE}|\\.", re.DOTALL)


class ArffSyntaxError(ValueError):
    """A line breaks the rules of ARFF; the reader adds file and line number."""


def uncommented(line: str) -> str:
    """Cut a ``%`` comment that stands outside quotes.

    Examples
    --------
    >>> uncommented("1, '50 % off' % half price")
    "1, '50 % off' "
    """
    if "%" not in line:
        return line
    end = _masked(line, _IN_QUOTES_OR_ESCAPED).find("%")
    return line if end < 0 else line[:end]


def take_word(text: str, stop: str = "") -> tuple[str, str]:
    r"""Take the first word, quoted or up to white space (or a character of `stop`), and the rest.

    Examples
    --------
    >>> take_word(r"'Swainson\'s Thrush' {0,1}")
    ("Swainson's Thrush", ' {0,1}')
    """
    text = text.lstrip()
    if text[:1] in ("'", '"'):
        word, end = _quoted(text)
        return word, text[end:]
    for position, char in enumerate(text):
        if char.isspace() or char in stop:
            return text[:position], text[position:]
    return text, ""


def split_values(text: str, separator: str = ",") -> list[tuple[str, bool]]:
    """Split a list of values; each comes with whether it was quoted (a quoted ``?`` is a value, not a missing one).

    Examples
    --------
    >>> split_values("a, 'b, c',?, '?'")
    [('a', False), ('b, c', True), ('?', False), ('?', True)]
    """
    if "'" not in text and '"' not in text:
        return [(part.strip(), False) for part in text.split(separator)]
    values = []
    position = 0
    while True:
        position = _after_blanks(text, position)
        if text[position : position + 1] in ("'", '"'):
            value, position = _quoted(text, position)
            values.append((value, True))
            position = _after_blanks(text, position)
            if position < len(text) and not text.startswith(separator, position):
                raise ArffSyntaxError(f"text follows the closing quote of {shorten(value)}")
        else:
            end = text.find(separator, position)
            end = len(text) if end < 0 else end
            values.append((text[position:end].strip(), False))  # a backslash outside quotes is a letter
            position = end
        if position >= len(text):
            return values
        position += 1


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _quoted(text: str, start: int = 0) -> tuple[str, int]:
    """The value of the quoted text that starts at a position, and where it ends; every character is looked at once."""
    match = _QUOTED[text[start]].match(text, start)
    if match is None:
        raise ArffSyntaxError("a quote is opened but not closed on the same line")
    return _unescape(text[start + 1 : match.end() - 1]), match.end()


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match.group(1), match.group(1)), text)


def _masked(text: str, aside: re.Pattern[str] = _IN_QUOTES) -> str:
    """Dots for what stands in quotes, so that commas, braces and signs there do not count."""
    return aside.sub(lambda match: "." * len(match[0]), text)


class ArffReader:
    """Reads ARFF by Weka's rules; the header is read at once, the rows in blocks."""

    def __init__(self, source: Source) -> None:
        self.name, self.unit = source.name, "line"
        self._source = source
        self.columns: list[FileColumn]
        self.hints, self.columns, self._first_row = read_header(source)
        if not self.columns:
            raise DataError(f"{source.name}: the header declares no attributes")
        source.budget.names(len(self.columns))

    def blocks(self, numeric: Sequence[bool]) -> Iterator[Block]:
        """Yield the rows; blocks of nothing but numbers take a fast path when all columns allow it."""
        fast = all(numeric)
        for block in line_blocks(self._source):
            block = block.below(self._first_row)
            lead = len(block.text) - len(block.text.lstrip(b"\n"))
            if block.text.strip():
                block = LineBlock(block.first + lead, block.text[lead:])
                parsed = self._fast(block) if fast else None
                yield from self._careful(block) if parsed is None else (parsed,)

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
        width = len(self.columns)
        block.refuse_outside(self.name, "index", width, f"the header declares {width} attributes")
        block.refuse_twice(self.name, "index")
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

    def _weight_array(self) -> Floats | None:
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
    end = _masked(text).find("}")
    if end < 0:
        raise ArffSyntaxError("the sparse row does not end with a closing brace")
    return end


def _split_entries(inside: str) -> list[str]:
    entries, start = [], 0
    for part in _masked(inside).split(","):
        entries.append(inside[start : start + len(part)])
        start += len(part) + 1
    return entries
