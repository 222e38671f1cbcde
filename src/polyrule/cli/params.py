"""Types of option values that click does not have."""

from __future__ import annotations

from typing import Any

import click


class Maybe(click.ParamType):  # type: ignore[type-arg]  # generic only for type checkers of recent releases
    """A value of some type, or the word "none"."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.name = inner.name

    def get_metavar(self, *context: Any, **named: Any) -> str | None:
        """Show what the inner type shows, and "none" beside the words one may choose."""
        shown: str | None = self.inner.get_metavar(*context, **named)
        return f"{shown[:-1]}|none]" if shown and shown.endswith("]") else shown

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Turn "none" into None and leave the rest to the inner type."""
        if value is None or (isinstance(value, str) and value.lower() == "none"):
            return None
        return self.inner.convert(value, param, ctx)


class Either(click.ParamType):  # type: ignore[type-arg]
    """A value of one of several plain types: the first that fits of whole number, number, true or false, text."""

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
        if "str" in self.kinds:
            return value
        words = {"int": "a whole number", "float": "a number", "bool": "true or false"}
        self.fail(f"{value!r} is not {' or '.join(words[kind] for kind in words if kind in self.kinds)}", param, ctx)
