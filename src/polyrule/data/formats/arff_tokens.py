"""Quoting and comments of ARFF: single or double quotes, backslash escapes, ``%`` to the end of the line."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"[\\'\"%]")
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
        return _quoted(text)
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
    rest = text
    while True:
        rest = rest.lstrip(" \t")
        if rest[:1] in ("'", '"'):
            value, rest = _quoted(rest)
            values.append((value, True))
            rest = rest.lstrip(" \t")
            if rest and not rest.startswith(separator):
                raise ArffSyntaxError(f"text follows the closing quote of {value!r}")
        else:
            value, comma, after = rest.partition(separator)
            values.append((value.strip(), False))  # a backslash outside quotes is a letter
            rest = comma + after
        if not rest:
            return values
        rest = rest[1:]


def _quoted(text: str) -> tuple[str, str]:
    quote = text[0]
    position = 1
    while True:
        end = text.find(quote, position)
        if end < 0:
            raise ArffSyntaxError("a quote is opened but not closed on the same line")
        slashes = len(text[1:end]) - len(text[1:end].rstrip("\\"))
        if slashes % 2 == 0:
            return _unescape(text[1:end]), text[end + 1 :]
        position = end + 1


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found.group(1), found.group(1)), text)


def _opens(line: str, position: int) -> bool:
    """A quote opens a value only at its beginning: the apostrophe of ``don't`` is a letter like any other."""
    before = line[:position].rstrip(" \t")
    return not before or before[-1] in ",{" or line[position - 1] in " \t"
