"""Where results go: standard output, or a file that appears whole or not at all."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from polyrule.cli.text import fit
from polyrule.errors import OutputError
from polyrule.names import visible


def print_json(value: Any) -> None:
    """Print one JSON document; names keep their letters, and NaN can never slip in."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1))


def write_text(text: str, path: Path | None) -> None:
    """Write to a file, or to standard output where there is none or it is ``-``."""
    if path is None or str(path) == "-":
        click.echo(text, nl=False)
        return
    write_file(path, lambda stream: stream.write(text))


def write_file(path: Path, write: Callable[[Any], object], mode: str = "w") -> None:
    """Write a file atomically; what goes wrong is said with the name of the file the user asked for."""
    # Imported here: warnings are said through this module, also those that come up while the models are imported.
    from polyrule.model.atomic import atomic_write

    try:
        with atomic_write(path, mode) as stream:
            write(stream)
    except OSError as error:
        raise cannot_write(path, error) from error


def check_place(output: Path, *inputs: object) -> None:
    """Refuse a place that cannot be written, or that is read from, before hours are spent on what should go there."""
    if not output.parent.is_dir():
        raise OutputError(f"{output}: cannot be written (there is no folder {output.parent})")
    for source in inputs:
        if source is not None and output.is_file() and Path(str(source)).is_file() and output.samefile(str(source)):
            raise OutputError(f"{output}: is read by this command, so it is not written to; choose another output")


def cannot_write(path: Path, error: OSError) -> OutputError:
    """Return an error that names the output, not the temporary file."""
    return OutputError(f"{path}: cannot be written ({error.strerror or error})")


def note(message: str) -> None:
    """Tell the user something that is not the result; goes to standard error."""
    click.echo(fit(visible(message, keep="\n"), stream=sys.stderr), err=True)


def warn(message: str) -> None:
    """Tell the user about something to be looked at; goes to standard error."""
    text = fit(f"warning: {visible(message, keep=chr(10))}", stream=sys.stderr).removeprefix("warning: ")
    click.echo(click.style("warning: ", fg="yellow", bold=True) + text, err=True)


def on_terminal() -> bool:
    """Whether a person watches standard error."""
    return sys.stderr.isatty()
