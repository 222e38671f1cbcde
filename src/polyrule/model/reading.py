"""Taking a JSON document apart with errors that say where: ``model.json: rules[3].head[0].value must be 0 or 1``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

from polyrule.errors import ModelError

T = TypeVar("T")


@dataclass(frozen=True)
class Node:
    """A value inside a document, and the way there."""

    value: Any
    source: str
    path: str = ""

    def fail(self, what: str) -> NoReturn:
        """Raise the one error this module raises."""
        where = f"{self.source}: {self.path}" if self.path else self.source
        raise ModelError(f"{where} {what}")

    def _is(self, kind: type[T] | tuple[type[T], ...], what: str) -> T:
        # bool is an int to Python but not to JSON.
        if not isinstance(self.value, kind) or (isinstance(self.value, bool) and kind is not bool):
            self.fail(f"must be {what}, found {_name(self.value)}")
        return self.value

    def text(self) -> str:
        """Return the value, which must be a string."""
        return self._is(str, "a string")

    def flag(self) -> bool:
        """Return the value, which must be true or false."""
        return self._is(bool, "true or false")

    def whole(self, low: int, high: int) -> int:
        """Return the value, which must be an integer from `low` to `high`."""
        number = self._is(int, "an integer")
        if not low <= number <= high:
            self.fail(f"must be between {low} and {high}, found {_name(number)}")
        return number

    def number(self, low: float = -math.inf) -> float:
        """Return the value, which must be a finite number, not below `low`."""
        number: float = self._is((int, float), "a number")
        try:
            fits = math.isfinite(number) and number >= low
        except OverflowError:  # a whole number of hundreds of digits
            fits = False
        if not fits:
            least = "" if low == -math.inf else f" of at least {low:g}"
            self.fail(f"must be a finite number{least}, found {_name(number)}")
        return number

    def fraction(self) -> Fraction:
        """Return the value, which must be a string such as ``"3/4"``."""
        # Fraction itself would also take "1e999999999" and spend hours on it.
        parts = re.fullmatch(r"(-?\d{1,4000})/(\d{1,4000})", self.text(), re.ASCII)
        if parts is None or not int(parts[2]):
            self.fail(f'must be a fraction such as "3/4", found {_name(self.value)}')
        return Fraction(int(parts[1]), int(parts[2]))

    def choice(self, *options: str) -> str:
        """Return the value, which must be one of `options`."""
        if self.value not in options:
            self.fail(f"must be one of {', '.join(options)}, found {_name(self.value)}")
        return str(self.value)

    def maybe(self, read: Callable[[Node], T]) -> T | None:
        """None for null, else what `read` makes of it."""
        return None if self.value is None else read(self)

    def items(self) -> list[Node]:
        """Elements of the value, which must be an array."""
        array: list[Any] = self._is(list, "an array")
        return [Node(item, self.source, f"{self.path}[{number}]") for number, item in enumerate(array)]

    def mapping(self) -> dict[str, Any]:
        """Return the value, which must be an object with any members."""
        members: dict[str, Any] = self._is(dict, "an object")
        return members

    def fields(self, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Node]:
        """Members of the value, which must be an object with these names and no others; absent ones are null."""
        members: dict[str, Any] = self._is(dict, "an object")
        for name in required:
            if name not in members:
                self.fail(f"lacks {name!r}")
        for name in members:
            if name not in required and name not in optional:
                self.fail(f"has an unknown member {_name(name)}")
        return {name: self.member(name) for name in (*required, *optional)}

    def member(self, name: str) -> Node:
        """Return one member of an object, null where it is absent."""
        return Node(self.value.get(name), self.source, f"{self.path}.{name}" if self.path else name)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.items())


def _name(value: Any) -> str:
    text = repr(value[:40] if isinstance(value, (str, list)) else value)
    return text if len(text) <= 40 else f"{text[:37]}..."
