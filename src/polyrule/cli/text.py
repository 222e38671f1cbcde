"""Text fitted to the terminal; what goes into pipes and files keeps one line per rule."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from typing import TextIO

# Stands for a space at which a line must not break; no text that is printed holds it, names least of all.
_GLUE = "\x00"


def fit(text: str, indent: int = 6, stream: TextIO | None = None) -> str:
    """Wrap long lines at the width of the terminal, continued lines indented; leave the text alone in a pipe.

    `stream` is where the text goes, standard output unless said otherwise.
    """
    if not (stream or sys.stdout).isatty():
        return text
    width = max(40, shutil.get_terminal_size().columns)
    return "\n".join(wrap_line(line, width, indent) for line in text.splitlines())


def plural(count: float, word: str) -> str:
    """Return a count and what is counted.

    >>> plural(1, "rule"), plural(2, "rule")
    ('1 rule', '2 rules')
    """
    return f"{count:g} {word}{'' if count == 1 else 's'}"


def wrap_line(line: str, width: int, indent: int = 6) -> str:
    """Wrap one line at spaces, best after a comma or semicolon, so that conditions stay whole.

    >>> print(wrap_line("1. red, blue <- colours > 5.5, stripes <= 4", 26))
    1. red, blue <-
          colours > 5.5,
          stripes <= 4
    """
    if len(line) <= width:
        return line
    start = len(line) - len(line.lstrip())
    longest = width - start - indent
    parts = re.split(r"((?<=[,;:]) +|(?<= <-) +| {2,})", line.lstrip())
    glued = "".join(part.replace(" ", _GLUE) if part.strip() and len(part) <= longest else part for part in parts)
    wrapped = textwrap.wrap(
        glued,
        width,
        initial_indent=" " * start,
        subsequent_indent=" " * (start + indent),
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return "\n".join(wrapped).replace(_GLUE, " ")
