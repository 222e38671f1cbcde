"""Parts of messages: names of parameters, values, similar names, and the frame that a warning concerns."""

from __future__ import annotations

import contextlib
import difflib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

LONGEST_VALUE = 100
"""Characters of a value in a message."""

_OPTION_NAMES: ContextVar[Mapping[str, str] | None] = ContextVar("polyrule_option_names", default=None)


@contextlib.contextmanager
def option_names(renamed: Mapping[str, str]) -> Iterator[None]:
    """Make messages name options of the command line in place of parameters.

    `renamed` are the options whose name is not that of the parameter.

    >>> with option_names({"n_jobs": "threads"}):
    ...     print(parameter_name("max_rules"), parameter_name("n_jobs"), argument("header", False), literal(None))
    --max-rules --threads --no-header none
    >>> print(parameter_name("max_rules"), argument("header", False), argument("drop"), literal(None))
    max_rules header=False drop= None
    """
    token = _OPTION_NAMES.set(renamed)
    try:
        yield
    finally:
        _OPTION_NAMES.reset(token)


def parameter_name(name: str) -> str:
    """Return the name of a parameter, or of its option where a command runs."""
    renamed = _OPTION_NAMES.get()
    return name if renamed is None else "--" + renamed.get(name, name).replace("_", "-")


_NO_VALUE = object()


def argument(name: str, value: Any = _NO_VALUE) -> str:
    """Return an argument with its value, if there is one: ``drop=``, ``header=False``, ``--no-header``."""
    if _OPTION_NAMES.get() is None:
        return f"{name}=" if value is _NO_VALUE else f"{name}={value!r}"
    option = parameter_name(name)
    if isinstance(value, bool):
        return option if value else f"--no-{option[2:]}"
    if value is _NO_VALUE:
        return option
    bare = isinstance(value, str) and re.fullmatch(r"[\w.:-]+", value)
    return f"{option} {value if bare else literal(value)}"


def constraint(name: str, value: Any) -> str:
    """Return an argument of `polyrule.Constraints`: ``constraints={'forbid': 'age'}``, ``--forbid age``."""
    return argument("constraints", {name: value}) if _OPTION_NAMES.get() is None else argument(name, value)


def literal(value: Any) -> str:
    """Return a value as it is written in Python, or on the command line."""
    return "none" if value is None and _OPTION_NAMES.get() is not None else shown(value)


def shown(value: Any) -> str:
    """Return the `repr` of a value, on one line and not longer than a message can bear.

    >>> shown("a"), len(shown(10**400)), shown(10**5000)
    ("'a'", 100, 'an int')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of a class that cannot be shown, or a number of more than 4,300 digits
        name = type(value).__name__
        return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 2]} …"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint to append to "there is no X": the most similar name, or "".

    Examples
    --------
    >>> "there is no label 'hapy'" + did_you_mean("hapy", ["calm", "Happy"])
    "there is no label 'hapy'; did you mean 'Happy'?"
    >>> did_you_mean("tempo", ["calm", "Happy"])
    ''
    """
    # long names and very many names are never what someone mistyped, and comparing them would take minutes
    by_lower = {other.lower(): other for other in reversed(list(names)[:5000]) if len(other) <= 200}
    lower = name.lower()[:100]
    close = difflib.get_close_matches(lower, by_lower, n=1)
    if not close and len(lower) > 2:  # a part of a longer name: "died" and "died_in_hospital"
        parts = [other for other in by_lower if lower in other or (len(other) > 2 and other in lower)]
        close = sorted(parts, key=len)[:1]
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""


def depth_of_caller() -> int:
    """Return the number of frames from the function that warns to the first one outside polyrule."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "polyrule":
        depth, frame = depth + 1, frame.f_back
    return depth
