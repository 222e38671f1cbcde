r"""Names as they may be shown: what cannot be seen, turns the line around or pretends to be another letter is escaped.

Names come from data and model files of strangers. ``\u202e`` in one of them would write the rest of a rule backwards,
and a Cyrillic letter inside a Latin word would make two different names look the same. The command line needs this
before anything else, so nothing here imports NumPy.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

# printable by the letter of Unicode, but nothing is to be seen: fillers, joiners, variation selectors, blank patterns
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# letters of other scripts that look like letters from A to z
_LOOK_ALIKES = frozenset(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d"  # Cyrillic, small
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405"  # Cyrillic, capital
    "\u03bf\u03bd\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"  # Greek
    "\u0585\u057d\u0578\u0570\u0566\u13aa\u13a2\u13ac\u13d9\u13b7\u13bb\u13a0\u13d4\u13e4"  # Armenian, Cherokee
)
_WORD = re.compile(r"[^\W\d_]+")
_ASCII_LETTER = re.compile("[A-Za-z]")
# what a spreadsheet takes for the beginning of a formula
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def visible(text: str, keep: str = "") -> str:
    r"""Return the text with everything escaped that would mislead a reader; characters in `keep` stay.

    >>> print(visible("größe, размер, Δx"), visible("a\u202eb"), visible("p\u0430y"))
    größe, размер, Δx a\u202eb p\u0430y
    """
    if text.isascii() and (text.isprintable() or not keep):
        return text if text.isprintable() else "".join(map(escape, text))
    doubtful = _doubtful(text)
    return "".join(
        mark if mark in keep or (mark.isprintable() and position not in doubtful) else escape(mark)
        for position, mark in enumerate(text)
    )


def is_visible(text: str) -> bool:
    """True if a text shows all its characters."""
    return text.isprintable() and (text.isascii() or not _doubtful(text))


def escape(mark: str) -> str:
    r"""Write a character as JSON can: ``\n``, ``\t``, ``\r`` or ``\uXXXX``."""
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(mark)
    if short is not None:
        return short
    units = mark.encode("utf-16-be", "surrogatepass")
    if mark.isprintable() and mark.isascii():
        return mark
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


def doubtful_marks(text: str) -> set[int]:
    """Positions of printable characters that cannot be seen or look like others."""
    return set() if text.isascii() else _doubtful(text)


def _doubtful(text: str) -> set[int]:
    places = {match.start() for match in _INVISIBLE.finditer(text)}
    for word in _WORD.finditer(text):
        letters = word.group()
        if letters.isascii():
            continue
        has_ascii = _ASCII_LETTER.search(letters) is not None
        for offset, letter in enumerate(letters):
            if (has_ascii and letter in _LOOK_ALIKES) or _is_styled(letter):
                places.add(word.start() + offset)
    return places


def _is_styled(letter: str) -> bool:
    """True if a letter is a full-width, mathematical or otherwise styled form of one from A to z."""
    if ord(letter) < 0x250:
        return False
    plain = unicodedata.normalize("NFKC", letter)
    return plain.isascii() and plain.isalpha()


def safe_cell(value: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would take for a formula; numbers are left alone.

    >>> safe_cell("=1+1"), safe_cell(" @x"), safe_cell("red"), safe_cell(-1.5)
    ("'=1+1", "' @x", 'red', -1.5)
    """
    if isinstance(value, str) and (value.startswith(_FORMULA) or value.lstrip(" ").startswith(_FORMULA)):
        return "'" + value
    return value
