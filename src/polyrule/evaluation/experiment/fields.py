"""Reading a TOML table key by key, so that every mistake is named and no key is silently ignored."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from polyrule.errors import OptionError

_MISSING: Any = object()
Fits = Callable[[Any], bool]


class Fields:
    """The keys of one table; each must be read, or `done` complains about it.

    Examples
    --------
    >>> fields = Fields({"name": "flags", "colour": "red"}, "my.toml: [[data]] number 1")
    >>> fields.text("name")
    'flags'
    >>> fields.done()
    Traceback (most recent call last):
    polyrule.errors.OptionError: my.toml: [[data]] number 1: unknown key 'colour'
    """

    def __init__(self, table: Any, where: str) -> None:
        if not isinstance(table, dict):
            raise OptionError(f"{where}: expected a table")
        self.where = where
        self._rest = dict(table)

    def text(self, key: str, default: str = _MISSING) -> str:
        """Read a string."""
        minimum = 1 if default is _MISSING else 0
        return str(self._read(key, default, "a text", lambda value: isinstance(value, str) and len(value) >= minimum))

    def texts(self, key: str, default: Sequence[str] = ()) -> list[str]:
        """Read a list of strings."""
        return self._list(key, list(default), "a list of texts", lambda item: isinstance(item, str))

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        """Read one of several words."""
        return str(self._read(key, default, f"one of {', '.join(allowed)}", lambda value: value in allowed))

    def integer(self, key: str, default: int, minimum: int) -> int:
        """Read a whole number."""
        allowed = f"a whole number of at least {minimum}"
        return int(self._read(key, default, allowed, lambda value: type(value) is int and value >= minimum))

    def integers(self, key: str, default: Sequence[int]) -> list[int]:
        """Read a list of whole numbers, which is not empty."""
        allowed = "a list of whole numbers of at least 0"
        return self._list(key, list(default), allowed, lambda item: type(item) is int and item >= 0, minimum=1)

    def number(self, key: str, default: Any, share: bool = False) -> Any:
        """Read a number of at least 0, and of a `share` at most 1."""
        allowed, maximum = ("a number between 0 and 1", 1.0) if share else ("a number of at least 0", math.inf)
        number = self._read(key, default, allowed, lambda x: type(x) in (int, float) and 0 <= x <= maximum)
        return number if number is default else float(number)

    def flag(self, key: str, default: bool) -> bool:
        """Read true or false."""
        return bool(self._read(key, default, "true or false", lambda value: isinstance(value, bool)))

    @contextmanager
    def section(self, key: str) -> Iterator[Fields]:
        """Read a sub-table key by key, until the block ends."""
        fields = Fields(self.table(key), f"{self.where}: [{key}]")
        yield fields
        fields.done()

    def table(self, key: str) -> dict[str, Any]:
        """Read a sub-table; one that is not there is empty."""
        return dict(self._read(key, {}, "a table", lambda value: isinstance(value, dict)))

    def lists(self, key: str) -> dict[str, list[Any]]:
        """Read a sub-table of lists, none of which is empty; one that is not there is empty."""

        def fits(value: Any) -> bool:
            return isinstance(value, dict) and all(isinstance(item, list) and item for item in value.values())

        return dict(self._read(key, {}, "a table of lists of values", fits))

    def sections(self, key: str) -> Iterator[Fields]:
        """Read a list of tables one after the other, each key by key; one that is not there is empty."""
        tables = self._list(key, [], f"a list of tables, written [[{key}]]", lambda item: isinstance(item, dict))
        for number, table in enumerate(tables, start=1):
            fields = Fields(table, f"{self.where}: [[{key}]] number {number}")
            yield fields
            fields.done()

    def done(self) -> None:
        """Raise an error for keys that were not read."""
        if self._rest:
            raise OptionError(f"{self.where}: unknown key {next(iter(self._rest))!r}")

    def _list(self, key: str, default: list[Any], allowed: str, fits: Fits, minimum: int = 0) -> list[Any]:
        def whole(value: Any) -> bool:
            return isinstance(value, list) and len(value) >= minimum and all(map(fits, value))

        return list(self._read(key, default, allowed, whole))

    def _read(self, key: str, default: Any, allowed: str, fits: Fits) -> Any:
        value = self._rest.pop(key, default)
        if value is _MISSING:
            raise OptionError(f"{self.where}: {key} is missing")
        if value is not default and not fits(value):
            raise OptionError(f"{self.where}: {key} must be {allowed}, got {value!r}")
        return value
