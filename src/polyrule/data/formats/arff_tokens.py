"""Quoting and comments of ARFF: single or double quotes, backslash escapes, ``%`` to the end of the line."""

from __future__ import annotations

import re

from polyrule.data.columns import shorten

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
