"""The `polyrule` command: which commands there are, and what becomes of errors.

Exit codes: 0 done, 1 something is wrong with the data, the model or an option's value, 2 the command was not used as
its help says, 3 `verify` could not check everything, or
`watch` reports a change, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from polyrule.cli.command import RENAMED, SETTINGS, Group
from polyrule.errors import (
    DataWarning,
    MeasureWarning,
    ModelWarning,
    PolyruleError,
    SlowSearchWarning,
    UnseenCategoryWarning,
)
from polyrule.utils.messages import option_names
from polyrule.utils.names import visible
from polyrule.utils.version import __version__

#: one line for the list of commands; each is the function of its name in the module of its name
COMMANDS = {
    "train": "Learn a model from data.",
    "predict": "Predict the labels of new examples.",
    "evaluate": "Score a model on data whose labels are known.",
    "show": "Print the rules of a model.",
    "explain": "Say why one example gets its labels, and what would change them.",
    "edit": "Remove, move, insert, replace or re-count rules.",
    "export": "Turn a model into Python, SQL, JavaScript, C or ONNX.",
    "verify": "Check a model against its training data, rule by rule.",
    "calibrate": "Choose cutoffs for which recall, precision or false alarms are guaranteed.",
    "watch": "Compare new rows with reference data, rule by rule.",
    "studio": "Learn, question and change a model in the browser.",
    "report": "Write an HTML report about a model.",
    "data": "Describe a data file and what is odd about it; list benchmark data sets.",
    "pack": "Pack data of any size into a store to learn from.",
    "measure": "List measures, check the searches that one allows, find the best head.",
    "experiment": "Run learners on data sets and make the tables.",
    "completion": "Print the completion script for a shell.",
}


class PipeClosed(Exception):
    """Whoever read our output has seen enough. No OSError, because click makes those of pipes a failure."""


class App(Group):
    """A group that imports a command when it is used, and turns every error into one sentence and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of their use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        return _with_blocks(getattr(import_module(f"polyrule.cli.{cmd_name}"), cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command of the command line."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise PipeClosed from error

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Offer commands without importing them, and the options of the group."""
        from click.shell_completion import CompletionItem

        names = [CompletionItem(name, help=line) for name, line in COMMANDS.items()]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(item for item in names if item.value.startswith(incomplete)), *options]

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; in standalone mode, as on the command line, never raise anything but SystemExit."""
        words = list(sys.argv[1:] if args is None else args)
        debug, words = _take_debug(words)
        extra.setdefault("color", False if os.environ.get("NO_COLOR") else None)
        name = prog_name or self.name
        if not standalone_mode:
            return super().main(words, name, complete_var, False, **extra)
        _listen(debug)
        for stream in (sys.stdout, sys.stderr):
            # A name that the terminal cannot show is better escaped than the end of the program.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        with option_names(RENAMED):
            try:
                with _warnings_as_notes():
                    result = super().main(words, name, complete_var, False, **extra)
                sys.stdout.flush()
            except BaseException as error:
                sys.exit(_exit_code(error, debug))
        sys.exit(result if isinstance(result, int) else 0)


def _with_blocks(command: click.Command) -> click.Command:
    r"""Replace ``\b`` of raw docstrings by the character with which click keeps the lines that follow."""
    if command.help:
        command.help = command.help.replace("\\b\n", "\b\n")
    if isinstance(command, click.Group):
        for part in command.commands.values():
            _with_blocks(part)
    return command


class _Warnings(logging.Handler):
    """Says the library's warnings as the commands say theirs."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning, except about interruptions, of which the commands know more."""
        message = record.getMessage()
        if not message.startswith("interrupted"):
            from polyrule.cli.output import warn

            warn(message)


_NOTED = (UnseenCategoryWarning, DataWarning, MeasureWarning, ModelWarning, SlowSearchWarning)


@contextlib.contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Print warnings of the library as notes of the command; other warnings do not change."""
    with warnings.catch_warnings():
        for category in _NOTED:
            warnings.simplefilter("always", category)
        as_before = warnings.showwarning
        texts: set[str] = set()

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, _NOTED):
                return as_before(message, category, *where, **more)
            if str(message) in texts:  # of data that a command reads twice
                return None
            texts.add(str(message))
            from polyrule.cli.output import warn

            return warn(str(message))

        warnings.showwarning = show
        yield


def _listen(debug: bool) -> None:
    logger = logging.getLogger("polyrule")
    if not any(isinstance(handler, _Warnings) for handler in logger.handlers):
        logger.addHandler(_Warnings(logging.DEBUG if debug else logging.WARNING))
    if debug:
        logger.setLevel(logging.DEBUG)


def _take_debug(words: list[str]) -> tuple[bool, list[str]]:
    """Take ``--debug`` out of the words wherever it stands, up to a ``--``."""
    end = words.index("--") if "--" in words else len(words)
    rest = [word for position, word in enumerate(words) if word != "--debug" or position > end]
    return len(rest) < len(words), rest


def _exit_code(error: BaseException, debug: bool) -> int:
    """Print the error in one sentence and return its exit code."""
    if debug and not isinstance(error, (click.exceptions.Exit, SystemExit, click.UsageError)):
        traceback.print_exception(error)
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case SystemExit():
            return error.code if isinstance(error.code, int) else 1
        case click.Abort() | KeyboardInterrupt():
            _say("interrupted")
            return 130
        case click.UsageError():
            error.show()
            return 2
        case click.ClickException():
            error.show()
            return 1
        case BrokenPipeError() | PipeClosed():
            # Python would complain once more when it closes the pipe at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        case PolyruleError():
            _say(str(error))
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            _say(f"{where}{error.strerror or error}")
        case MemoryError():
            _say("not enough memory for this data")
        case _:
            _say(f"internal error ({type(error).__name__}: {error}); run again with --debug to see where")
    return 1


def _say(message: str) -> None:
    one_line = visible(" ".join(message.split()))
    colour = False if os.environ.get("NO_COLOR") else None
    click.echo(click.style("Error: ", fg="red", bold=True) + one_line, err=True, color=colour)


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    """Print the version, and which kernels there are: pip does not say that a package without compiled ones is slow."""
    if value and not ctx.resilient_parsing:
        from polyrule.utils.compute import which_kernels

        click.echo(f"polyrule, version {__version__} ({which_kernels()})")
        ctx.exit()


@click.group(
    "polyrule",
    cls=App,
    context_settings=SETTINGS,
    epilog="Exit codes: 0 done, 1 wrong data, model or value, 2 wrong usage, 3 not all verified (verify) or "
    "something has changed (watch), 130 interrupted.",
)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
@click.option("--debug", is_flag=True, expose_value=False, help="Show where an error came from; works in every place.")
def app() -> None:
    r"""Readable, exact rules for multi-label classification.

    \b
    Examples:
      polyrule train songs.csv --labels calm,sad,happy -o model.json
      polyrule predict model.json new.csv -o predicted.csv
      polyrule explain model.json new.csv --row 17 --counterfactual happy
      polyrule train emotions:train --test emotions:test
    """


_with_blocks(app)


def main() -> NoReturn:
    """Entry point of the `polyrule` command."""
    app.main()
    raise AssertionError("a click application exits")
