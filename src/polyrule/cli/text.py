"""Text fitted to the terminal; what goes into pipes and files keeps one line per rule."""

from __future__ import annotations

import shutil
import sys
import textwrap


def fit(text: str, indent: int = 6) -> str:
    """Wrap long lines at the width of the terminal, continued lines indented; leave the text alone in a pipe."""
    if not sys.stdout.isatty():
        return text
    width = max(40, shutil.get_terminal_size().columns)
    return "\n".join(wrap_line(line, width, indent) for line in text.splitlines())


def wrap_line(line: str, width: int, indent: int = 6) -> str:
    """Wrap one line at spaces.

    >>> print(wrap_line("1. red, blue <- colours > 5.5, stripes <= 4", 24))
    1. red, blue <- colours
          > 5.5, stripes <=
          4
    """
    if len(line) <= width:
        return line
    start = len(line) - len(line.lstrip())
    wrapped = textwrap.wrap(
        line.lstrip(),
        width,
        initial_indent=" " * start,
        subsequent_indent=" " * (start + indent),
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return "\n".join(wrapped)
