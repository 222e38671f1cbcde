"""What all commands have in common: options from a TOML file, and writing them to one."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from polyrule.errors import OptionError
from polyrule.utils.messages import did_you_mean

#: Parameters whose option has another name.
RENAMED = {"cv": "inner_folds", "format_": "format", "identifier": "id", "n_jobs": "threads"}
#: of every command and group
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_OWN = ("config", "dump_config", "help")


class Maybe(click.ParamType):  # type: ignore[type-arg]  # generic only for type checkers of recent releases
    """A value of some type, or the word "none"."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.name = inner.name

    def get_metavar(self, *context: Any, **named: Any) -> str | None:
        """Show what the inner type shows, and "none" beside the words one may choose."""
        metavar: str | None = self.inner.get_metavar(*context, **named)
        return f"{metavar[:-1]}|none]" if metavar and metavar.endswith("]") else metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Turn "none" into None and leave the rest to the inner type."""
        if value is None or (isinstance(value, str) and value.lower() == "none"):
            return None
        return self.inner.convert(value, param, ctx)


class Either(click.ParamType):  # type: ignore[type-arg]
    """A whole number, a number, true or false, or the word "auto": the first of the given kinds that fits."""

    name = "value"

    def __init__(self, kinds: frozenset[str]) -> None:
        self.kinds = kinds

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a text; what is no text, such as a value of a configuration file, is taken as it is."""
        if not isinstance(value, str):
            return value
        if "bool" in self.kinds and value.lower() in ("true", "false"):
            return value.lower() == "true"
        for kind, read in (("int", int), ("float", float)):
            if kind in self.kinds:
                try:
                    return read(value)
                except ValueError:
                    continue
        if "str" in self.kinds and value.lower() == "auto":
            return "auto"
        words = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "auto"}
        self.fail(f"{value!r} is not {' or '.join(words[kind] for kind in words if kind in self.kinds)}", param, ctx)


class Option(click.Option):
    """An option that the help text lists under the heading `section`."""

    def __init__(self, *args: Any, section: str = "", **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.section = section


class Command(click.Command):
    """A command with ``--config FILE.toml`` and ``--dump-config``, whose help text lists options under headings.

    The file holds one table per command, such as ``[train]``, with the options under their long names; what is given on
    the command line wins.
    """

    def __init__(self, *args: Any, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self.params.append(
            click.Option(
                ["--config"],
                type=click.Path(dir_okay=False, path_type=Path),
                is_eager=True,
                expose_value=False,
                callback=_load_config,
                help=f"Take options from the table [{self.name}] of a TOML file.",
            )
        )
        self.params.append(
            click.Option(
                ["--dump-config"],
                is_flag=True,
                expose_value=False,
                is_eager=False,
                callback=_mark_dump,
                help="Print all options as a TOML table for --config, and do nothing else.",
            )
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, or print its options."""
        if ctx.meta.get("polyrule.dump"):
            click.echo(toml_table(self.name or "", _settings(self, ctx)), nl=False)
            return None
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings, those without one first."""
        sections: dict[str, list[tuple[str, str]]] = {"": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                sections.setdefault(getattr(param, "section", ""), []).append(record)
        for section, records in sections.items():
            with formatter.section(section or "Options"):
                formatter.write_dl(records)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; what is required is not asked for where the options are only to be printed."""
        required = [param for param in self.params if param.required and "--dump-config" in args]
        for param in required:
            param.required = False
        try:
            return super().parse_args(ctx, args)
        finally:
            for param in required:
                param.required = True


class Group(click.Group):
    """A group that says which command may have been meant by a word that is none."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command that the first word names."""
        word = args[0] if args else ""
        if word and not word.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, word) is None:
            ctx.fail(f"there is no command {word!r}{did_you_mean(word, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


def command(name: str) -> Callable[[Callable[..., Any]], Command]:
    """Make a `Command` of a function, as ``click.command`` does."""
    return click.command(name, cls=Command, context_settings=SETTINGS)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json`` to a command."""
    return click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(function)


def output_option(text: str, **extra: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``-o`` to a command that writes a file."""
    return click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help=text, **extra)


def model_output_option(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``-o`` to a command that stores a model; standard output, ``-``, is where it shows the rules."""
    return output_option(text, callback=_named)


def _named(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    if str(value) == "-":
        raise OptionError("-o -: a model is stored in a file; give its name")
    return value


def _load_config(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:
    if value is None or ctx.resilient_parsing:
        return
    try:
        with open(value, "rb") as stream:
            content = tomllib.load(stream)
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"{value}: not valid TOML ({error})") from error
    except UnicodeDecodeError as error:
        raise OptionError(f"{value}: not UTF-8 text") from error
    name = ctx.command.name or ""
    table = content.get(name)
    if not isinstance(table, dict):
        raise OptionError(f"{value}: there is no table [{name}]")
    by_key = {key: option for option in options(ctx.command) for key in _keys(option)}
    settings: dict[str, Any] = {}
    for key, setting in table.items():
        option = by_key.get(key.replace("-", "_"))
        if option is None:
            hint = did_you_mean(key, by_key)
            raise OptionError(f"{value}: [{name}] has no option {key!r} ('polyrule {name} --help' lists them){hint}")
        settings[option.name or ""] = _checked(setting, option, f"{value}: {key}")
    ctx.default_map = {**(ctx.default_map or {}), **settings}


def _checked(setting: Any, option: click.Option, where: str) -> Any:
    if option.multiple:
        return setting if isinstance(setting, list) else [setting]
    if isinstance(setting, (list, dict)):
        raise OptionError(f"{where} must be one value, not a list or table")
    if option.is_flag and not isinstance(setting, bool):
        raise OptionError(f"{where} must be true or false")
    return setting


def options(command: click.Command) -> list[click.Option]:
    """Options of a command that a configuration file may hold."""
    return [param for param in command.params if isinstance(param, click.Option) and param.name not in _OWN]


def _keys(option: click.Option) -> list[str]:
    """Names under which a file may give an option: its long forms, with underscores."""
    return [text.lstrip("-").replace("-", "_") for text in option.opts if text.startswith("--")]


def _settings(command: Command, ctx: click.Context) -> dict[str, Any]:
    settings = {}
    for option in options(command):
        key = _keys(option)[0] if _keys(option) else str(option.name)
        value = ctx.params.get(str(option.name))
        # "none" in place of a default is written, or reading it again would give the default.
        is_default = ctx.get_parameter_source(str(option.name)) == ParameterSource.DEFAULT
        settings[key] = "none" if value is None and isinstance(option.type, Maybe) and not is_default else value
    return settings


def _mark_dump(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta["polyrule.dump"] = True


def toml_table(name: str, settings: dict[str, Any]) -> str:
    r"""Return a TOML table; an option without a value stands there as a comment.

    >>> print(toml_table("train", {"measure": "f0.5", "max_rules": None, "quiet": False, "drop": ("a", "b")}), end="")
    [train]
    measure = "f0.5"
    # max_rules =
    quiet = false
    drop = ["a", "b"]
    """
    lines = [f"[{name}]"]
    for key, value in settings.items():
        text = _toml_value(value)
        lines.append(f"# {key} =" if text is None else f"{key} = {text}")
    return "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml_value(item) or '""' for item in value) + "]"
    # JSON's escapes are TOML's; the delete character is the one that only TOML forbids.
    text = str(value) if not isinstance(value, Path) else value.as_posix()
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
