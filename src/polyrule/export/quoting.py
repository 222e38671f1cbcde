"""Names and numbers as literals of other languages, such that a name can never become code."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from polyrule.errors import ModelError, OptionError

# What could end a comment or a line, join it with the next one, start another comment, or end a script in a page:
# backslashes, C's trigraphs, "/" beside "*", and "<" before "/" or "!".
_RISKY = re.compile(r"\\|\?(?=\?)|(?<=\?)\?|\*(?=/)|(?<=\*)/|/(?=\*)|(?<=/)\*|(?<=<)[/!]")


def comment(text: str, limit: int = 160, *, unicode: bool = False) -> str:
    r"""Text for a comment of any language: nothing in it can end the comment or the line.

    Line ends, invisible characters and the like become underscores. Letters beyond ASCII are escaped, unless the
    language's files are UTF-8 anyway.

    >>> print(comment("¬größe, b*/ <- x > 1"))
    not gr\xf6\xdfe, b__ <- x > 1
    >>> print(comment("¬größe, b*/ <- x > 1", unicode=True))
    ¬größe, b__ <- x > 1
    """
    visible = "".join(mark if mark == " " or unicodedata.category(mark)[0] not in "CZ" else "_" for mark in text)
    plain = _RISKY.sub("_", visible)
    if not unicode:
        plain = plain.replace("¬", "not ").encode("ascii", "backslashreplace").decode("ascii")
    return plain if len(plain) <= limit else plain[: limit - 3] + "..."


def rule_comment(model: Any, index: int, *, unicode: bool = False) -> str:
    """A rule and its number as text that can stand in a comment of any language; see `comment`."""
    return comment(f"{index + 1}: {model.format_rule(index, counts=False).replace('−', '-')}", unicode=unicode)


def python_string(text: str) -> str:
    """Return an ASCII literal of Python."""
    return ascii(str(text))


def javascript_string(text: str) -> str:
    """Return an ASCII literal of JavaScript; ``<`` is escaped too, so that the code may stand inside a page."""
    return json.dumps(text, ensure_ascii=True).replace("<", "\\u003c")


def c_string(text: str) -> str:
    """Return a literal of C with the UTF-8 bytes of the text; all but letters, digits and spaces as octal escapes."""
    plain = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,")
    bytes_ = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in bytes_) + '"'


def sql_string(text: str) -> str:
    """Return a string literal of standard SQL."""
    return "'" + _sql_safe(text).replace("'", "''") + "'"


def sql_name(text: str) -> str:
    """Return a quoted identifier of standard SQL."""
    if not text:
        raise ModelError("a column with an empty name cannot be used in SQL; rename it")
    return '"' + _sql_safe(text).replace('"', '""') + '"'


def sql_number(number: float) -> str:
    """Return a double literal that every engine reads as exactly this number.

    Decimal literals are read exactly only if they are short; a longer number is written as a whole number times a power
    of two, both of which are exact.

    >>> sql_number(5.5), sql_number(0.1 + 0.2)
    ('5.5e0', '(1351079888211149.0e0 / 4503599627370496.0e0)')
    """
    text = repr(float(number))
    digits = re.sub(r"e.*$|[^0-9]", "", text).strip("0")
    if len(digits) <= 15 and (number == 0 or 1e-5 <= abs(number) < 1e15):
        return text + "e0"
    numerator, denominator = float(number).as_integer_ratio()
    if denominator == 1 and abs(numerator) < 2**53:
        return f"{numerator}.0e0"
    # Both parts below 2^53 and the power of two a double: the division is exact. Extreme numbers stay decimal.
    if abs(numerator) < 2**53 and denominator < 2**1000:
        return f"({numerator}.0e0 / {denominator}.0e0)" if denominator < 2**63 else _by_powers(numerator, denominator)
    return text if "e" in text else text + "e0"


def _by_powers(numerator: int, denominator: int) -> str:
    """Divide by 2^62 as often as needed; every intermediate result is exact."""
    text, left = f"{numerator}.0e0", denominator.bit_length() - 1
    while left > 0:
        step = min(left, 62)
        text, left = f"{text} / {2**step}.0e0", left - step
    return f"({text})"


def c_identifier(text: str) -> str:
    """Return the text, which must be a C identifier in ASCII."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise OptionError(f"prefix must be letters, digits and underscores, not {text!r}")
    return text


def _sql_safe(text: str) -> str:
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ModelError(f"the name {text!r} holds a character that SQL cannot express; rename it")
    return text
