"""The header of an ARFF file: relation, attributes, and where the data begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from polyrule.budget import MOST_COLUMNS
from polyrule.data.columns import shorten
from polyrule.data.formats.arff_tokens import ArffSyntaxError, split_values, take_word, uncommented
from polyrule.data.formats.blocks import Column
from polyrule.data.lines import LineBlock
from polyrule.errors import DataError

_NUMERIC = {"numeric", "real", "integer"}
_MEKA = re.compile(r"(?:^|[\s:'\"])-[Cc]\s+(-?\d+)")


@dataclass
class ArffHeader:
    """What stands before ``@data``."""

    relation: str = ""
    columns: list[Column] = field(default_factory=list)

    def meka_labels(self) -> int | None:
        """Number of label columns by MEKA's ``-C n`` in the relation name: the first n, or the last for negative n."""
        found = _MEKA.search(self.relation)
        return int(found.group(1)[:10]) if found else None  # ten digits are more than there can be labels

    @property
    def filtered_after_meka(self) -> bool:
        """Whether a Weka filter was applied after ``-C n`` was written, so that the columns may have moved."""
        return "weka.filters" in self.relation


def read_header(blocks: Iterator[LineBlock], name: str) -> tuple[ArffHeader, LineBlock]:
    """Consume blocks up to the ``@data`` line; returns the header and the lines of the last block that follow it."""
    header = ArffHeader()
    for block in blocks:
        start = 0
        for offset, line in enumerate(block.text.split(b"\n")):
            end = start + len(line) + 1
            if _header_line(line, header, name, block.first + offset):
                return header, LineBlock(block.first + offset + 1, block.text[end:])
            start = end
    raise DataError(f"{name}: there is no @data line, so this is not a complete ARFF file")


def _header_line(raw: bytes, header: ArffHeader, name: str, number: int) -> bool:
    """Take in one line; True for ``@data``."""
    stripped = raw.strip()
    if not stripped or stripped.startswith(b"%"):
        return False
    try:
        line = uncommented(stripped.decode()).strip()
        keyword, rest = take_word(line)
        keyword = keyword.lower()
        if keyword == "@data":
            return True
        if keyword == "@relation":
            header.relation = take_word(rest)[0] if rest[:1] in ("'", '"') else rest.strip()
        elif keyword == "@attribute":
            header.columns.append(_attribute(rest))
            if len(header.columns) > MOST_COLUMNS:
                raise ArffSyntaxError(f"there are more than {MOST_COLUMNS} attributes")
        else:
            raise ArffSyntaxError(f"expected @relation, @attribute or @data, found {shorten(line)}")
    except ArffSyntaxError as problem:
        raise DataError(f"{name}, line {number}: {problem}") from problem
    return False


def _attribute(rest: str) -> Column:
    name, kind = take_word(rest, stop="{")
    kind = kind.strip()
    if not name:
        raise ArffSyntaxError("the attribute has no name")
    if kind.startswith("{"):
        return Column(name, "nominal", _declared_values(name, kind))
    word = kind.split(None, 1)[0].lower() if kind else ""
    if word in _NUMERIC:
        return Column(name, "numeric")
    if word in ("string", "date", "relational"):
        return Column(name, word)  # type: ignore[arg-type]
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
        seen: set[str] = set()
        for value in values:
            if value in seen:
                raise ArffSyntaxError(f"attribute {shorten(name)} declares the value {shorten(value)} twice")
            seen.add(value)
    return values
