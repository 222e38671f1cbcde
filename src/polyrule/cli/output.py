"""Where results go, and words for people: fitted to the terminal, progress, messages that name options."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import click

from polyrule.errors import OutputError
from polyrule.utils.atomic import atomic_write
from polyrule.utils.names import visible


def print_json(value: Any, path: Path | None = None) -> None:
    """Print one JSON document, or write it to a file; names keep their letters, and NaN can never slip in."""
    write_text(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n", path)


def write_text(text: str, path: Path | None) -> None:
    """Write to a file, or to standard output where there is none or it is ``-``."""
    if path is None or str(path) == "-":
        click.echo(text, nl=False)
        return
    write_file(path, lambda stream: stream.write(text))


def write_file(path: Path, write: Callable[[Any], object], mode: str = "w") -> None:
    """Write a file whole or not at all."""
    with atomic_write(path, mode) as stream:
        write(stream)


def check_place(output: Path | None, *inputs: object) -> None:
    """Refuse a place that cannot be written, or that is read from, before hours are spent on what should go there."""
    if output is None or str(output) == "-":
        return
    if not output.parent.is_dir():
        raise OutputError(f"{output}: cannot be written (there is no folder {output.parent})")
    for source in inputs:
        if source is not None and output.is_file() and Path(str(source)).is_file() and output.samefile(str(source)):
            raise OutputError(f"{output}: is read by this command, so it is not written to; choose another output")


def note(message: str) -> None:
    """Print something that is not the result to standard error."""
    click.echo(fit(visible(message, keep="\n"), stream=sys.stderr), err=True)


def warn(message: str) -> None:
    """Print a warning to standard error."""
    text = fit(f"warning: {visible(message, keep=chr(10))}", stream=sys.stderr).removeprefix("warning: ")
    click.echo(click.style("warning: ", fg="yellow", bold=True) + text, err=True)


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


def progress_bar(*columns: Any, transient: bool = True) -> Any:
    """Return a bar on standard error with these columns between what is done and the time."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    parts = (TextColumn("{task.description}"), *columns, TimeElapsedColumn())
    return Progress(*parts, console=Console(stderr=True), transient=transient)


@contextlib.contextmanager
def learning_progress(quiet: bool) -> Iterator[Any]:
    """Yield a callback for the learner; None without a terminal, so that pipes and files stay clean."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn

    bar_column = BarColumn(bar_width=12)  # a line of 80 characters has room for the rest
    with progress_bar(bar_column, TaskProgressColumn(), TextColumn("{task.fields[rules]}")) as bar:
        task = bar.add_task("learning", total=1.0, rules="0 rules")

        def show(progress: Any) -> None:
            rules = plural(progress.rules, "rule")
            if hasattr(progress, "phase"):
                bar.update(task, description=progress.phase, completed=progress.done, rules=rules)
            else:
                bar.update(task, completed=progress.done, rules=rules + _within(progress))

        from polyrule.covering.progress import within_rules  # which needs NumPy, and help shall not

        yield within_rules(show)
        bar.update(task, completed=1.0)  # growing may end before every label is decided
        bar.refresh()


def _within(progress: Any) -> str:
    """Return the progress of the search for the next rule in words."""
    if progress.rule is not None:
        return ""
    best = "" if progress.best is None else f", best {progress.best:.4g}"
    return f"; next: {progress.bodies:,} bodies{best}"


@contextlib.contextmanager
def counting_progress(text: str, total: int | None, quiet: bool = False) -> Iterator[Any]:
    """Yield a function that takes the number of steps done; it does nothing without a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn

    with progress_bar(BarColumn(), MofNCompleteColumn()) as bar:
        task = bar.add_task(text, total=total)
        yield lambda done: bar.update(task, completed=done)
