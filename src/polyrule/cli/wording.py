"""The library's messages name parameters of Python; on the command line they name options."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from polyrule.errors import DataError, OptionError

_QUOTED = re.compile(r"('[^']*'|\"[^\"]*\")")
_SWITCH = {"True": "", "False": "no-"}


def option_name(parameter: str, renamed: Mapping[str, str]) -> str:
    """Return the option for a parameter, such as ``--max-rules`` for ``max_rules``."""
    return "--" + renamed.get(parameter, parameter).replace("_", "-")


def in_options(message: str, parameters: Iterable[str], renamed: Mapping[str, str] | None = None) -> str:
    """Write a message with options in place of parameters; what stands in quotes, such as a column's name, stays.

    Examples
    --------
    >>> in_options("max_rules must be None or at least 1, got 0", ["max_rules"])
    '--max-rules must be none or at least 1, got 0'
    >>> in_options("max_head_size contradicts heads='single'; leave it out", ["heads", "max_head_size"])
    '--max-head-size contradicts --heads single; leave it out'
    >>> in_options("column 'drop' holds dates; drop it (drop=) or pass header=False", ["drop", "header"])
    "column 'drop' holds dates; drop it (--drop) or pass --no-header"
    """
    for name in sorted(parameters, key=len, reverse=True):
        option = option_name(name, renamed or {})
        message = re.sub(rf"(?<![\w'\"-]){name}=('[^']*'|\w+)", partial(_with_value, option), message)
        message = re.sub(rf"^{name}(?=:| must| contradicts| ')", option, message)
        # A word with an underscore can only be a parameter; a plain one needs the sign to be one.
        message = _outside_quotes(rf"(?<![\w-]){name}{'=?' if '_' in name else '='}(?!\w)", option, message)
    return _outside_quotes(r"\bNone\b", "none", message)


def _with_value(option: str, found: re.Match[str]) -> str:
    value = found[1]
    if value in _SWITCH:
        return f"--{_SWITCH[value]}{option[2:]}"
    plain = re.fullmatch(r"'?([\w.:-]+)'?", value)
    return f"{option} {plain[1] if plain else value}"


def _outside_quotes(pattern: str, replacement: str, message: str) -> str:
    parts = _QUOTED.split(message)
    return "".join(part if n % 2 else re.sub(pattern, replacement, part) for n, part in enumerate(parts))


@contextlib.contextmanager
def speaking(parameters: Iterable[str], renamed: Mapping[str, str] | None = None) -> Iterator[None]:
    """Let errors of the library name options of the command line."""
    try:
        yield
    except (DataError, OptionError) as error:
        said = in_options(str(error), parameters, renamed)
        if said == str(error):
            raise
        raise type(error)(said) from error
