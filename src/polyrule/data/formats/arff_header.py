"""The header of an ARFF file: relation, attributes, and where the data begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from polyrule.budget import MOST_COLUMNS
from polyrule.data.columns import shorten
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


_SPECIAL = re.compile(r"[\\'\"%]")
_BLANKS = re.compile(r"[ \t]*")
# possessive: a quoted value is never tried again with fewer characters
_QUOTED = {quote: re.compile(rf"{quote}(?:[^{quote}\\]++|\\.)*+{quote}", re.DOTALL) for quote in "'\""}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


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
    quote = ""
    position = 0
    while found := _SPECIAL.search(line, position):
        char, position = found.group(), found.end()
        if char == "\\":
            position += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char == "%":
            return line[: found.start()]
        elif _opens(line, found.start()):
            quote = char
    return line


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
    found = _BLANKS.match(text, position)
    return found.end() if found else position


def _quoted(text: str, start: int = 0) -> tuple[str, int]:
    """The value of the quoted text that starts at a position, and where it ends; every character is looked at once."""
    found = _QUOTED[text[start]].match(text, start)
    if found is None:
        raise ArffSyntaxError("a quote is opened but not closed on the same line")
    return _unescape(text[start + 1 : found.end() - 1]), found.end()


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found.group(1), found.group(1)), text)


def _opens(line: str, position: int) -> bool:
    """A quote opens a value only at its beginning: the apostrophe of ``don't`` is a letter like any other."""
    return position == 0 or line[position - 1] in " \t,{"
