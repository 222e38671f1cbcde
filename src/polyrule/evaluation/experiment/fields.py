"""Reading a TOML table key by key, so that every mistake is named and no key is silently ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyrule.errors import OptionError

_MISSING: Any = object()


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
        value = self._take(key, default)
        if not isinstance(value, str) or (value == "" and default is _MISSING):
            raise self._wrong(key, "a text", value)
        return value

    def texts(self, key: str, default: Sequence[str] = ()) -> list[str]:
        """Read a list of strings."""
        value = self._take(key, list(default))
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._wrong(key, "a list of texts", value)
        return value

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        """Read one of several words."""
        value = self.text(key, default)
        if value not in allowed:
            raise OptionError(f"{self.where}: {key} must be one of {', '.join(allowed)}, got {value!r}")
        return value

    def integer(self, key: str, default: int, least: int) -> int:
        """Read a whole number."""
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._wrong(key, f"a whole number of at least {least}", value)
        return value

    def integers(self, key: str, default: Sequence[int]) -> list[int]:
        """Read a list of whole numbers."""
        value = self._take(key, list(default))
        if not isinstance(value, list) or not value or not all(type(item) is int and item >= 0 for item in value):
            raise self._wrong(key, "a list of whole numbers of at least 0", value)
        return value

    def number(self, key: str, default: Any) -> Any:
        """Read a number of at least 0."""
        value = self._take(key, default)
        if value is default:
            return value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
            raise self._wrong(key, "a number of at least 0", value)
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """Read true or false."""
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise self._wrong(key, "true or false", value)
        return value

    def table(self, key: str) -> dict[str, Any]:
        """Read a sub-table; one that is not there is empty."""
        value = self._take(key, {})
        if not isinstance(value, dict):
            raise self._wrong(key, "a table", value)
        return value

    def tables(self, key: str) -> list[dict[str, Any]]:
        """Read a list of tables; one that is not there is empty."""
        value = self._take(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self._wrong(key, f"a list of tables, written [[{key}]]", value)
        return value

    def done(self) -> None:
        """Complain about keys that nobody asked for."""
        if self._rest:
            raise OptionError(f"{self.where}: unknown key {next(iter(self._rest))!r}")

    def _take(self, key: str, default: Any) -> Any:
        value = self._rest.pop(key, default)
        if value is _MISSING:
            raise OptionError(f"{self.where}: {key} is missing")
        return value

    def _wrong(self, key: str, wanted: str, value: Any) -> OptionError:
        return OptionError(f"{self.where}: {key} must be {wanted}, got {value!r}")
