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
        """Show what the inner type shows."""
        shown: str | None = self.inner.get_metavar(*context, **named)
        return shown

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Turn "none" into None and leave the rest to the inner type."""
        if value is None or (isinstance(value, str) and value.lower() == "none"):
            return None
        return self.inner.convert(value, param, ctx)
