"""JSON documents of polyrule, parsed with errors that name the place: ``model.json: rules[3].value must be 0 or 1``.

Model files and headers of stores have their own formats; how a document is parsed, walked through and sealed, and what
a feature looks like in one, is defined here once.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NoReturn, Self, TypeVar

import numpy as np

from polyrule.data.columns import shorten
from polyrule.data.dates import WRITTEN_FORMS
from polyrule.data.derive.registry import DERIVATIONS
from polyrule.data.table import Feature
from polyrule.errors import DataError, PolyruleError
from polyrule.utils.arrays import Floats

T = TypeVar("T")


@dataclass(frozen=True)
class JsonNode:
    """A value inside a document, and the way there."""

    error: ClassVar[type[PolyruleError]] = DataError

    value: Any
    source: str
    path: str = ""

    def fail(self, what: str) -> NoReturn:
        """Raise an error that names the document and the place in it."""
        where = f"{self.source}: {self.path}" if self.path else self.source
        raise self.error(f"{where} {what}")

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

    def maybe(self, read: Callable[[Self], T]) -> T | None:
        """None for null, else what `read` makes of it."""
        return None if self.value is None else read(self)

    def items(self) -> list[Self]:
        """Elements of the value, which must be an array."""
        array: list[Any] = self._is(list, "an array")
        return [type(self)(item, self.source, f"{self.path}[{number}]") for number, item in enumerate(array)]

    def numbers(self) -> Floats:
        """Return the value, which must be an array of finite numbers: all at once, as there may be very many."""
        array: list[Any] = self._is(list, "an array")
        if not all(type(item) is float for item in array):
            array = [item.number() for item in self.items()]
        return np.array(array, dtype=np.float64)

    def mapping(self) -> dict[str, Any]:
        """Return the value, which must be an object with any members."""
        members: dict[str, Any] = self._is(dict, "an object")
        return members

    def fields(self, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Self]:
        """Members of the value, which must be an object with these names and no others; absent ones are null."""
        members: dict[str, Any] = self._is(dict, "an object")
        for name in required:
            if name not in members:
                self.fail(f"lacks {name!r}")
        for name in members:
            if name not in required and name not in optional:
                self.fail(f"has an unknown member {_name(name)}")
        return {name: self.member(name) for name in (*required, *optional)}

    def member(self, name: str) -> Self:
        """Return one member of an object, null where it is absent."""
        return type(self)(self.value.get(name), self.source, f"{self.path}.{name}" if self.path else name)

    def __iter__(self) -> Iterator[Self]:
        return iter(self.items())


def _name(value: Any) -> str:
    text = repr(value[:40] if isinstance(value, (str, list)) else value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def distinct_members(pairs: list[tuple[str, Any]], refusal: Callable[[str], Exception]) -> dict[str, Any]:
    """Return an object with these members; one that is named twice is refused with `refusal` of its name.

    Examples
    --------
    >>> distinct_members([("a", 1), ("b", 2)], KeyError)
    {'a': 1, 'b': 2}
    """
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise refusal(name)
            seen.add(name)
    return members


def parse(text: str, source: str, what: str, error: type[PolyruleError] = DataError) -> Any:
    """Parse JSON that holds finite numbers only and names no member of an object twice; `what` it should be."""

    def no_constant(name: str) -> NoReturn:
        raise error(f"{source}: {name} is not a number a {what} may hold")

    def no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return distinct_members(
            pairs, lambda name: error(f"{source}: member {shorten(name)} occurs twice in one object")
        )

    def finite(digits: str) -> float:
        number = float(digits)
        if number - number != 0:
            raise error(f"{source}: {shorten(digits)} is too large for a number")
        return number

    try:
        return json.loads(text, parse_constant=no_constant, parse_float=finite, object_pairs_hook=no_duplicates)
    except json.JSONDecodeError as problem:
        cut = "; the file looks cut off" if problem.pos >= len(text.rstrip()) - 1 else ""
        raise error(
            f"{source}: no {what}, because it is not valid JSON at line {problem.lineno}, column {problem.colno}{cut}"
        ) from problem
    except PolyruleError:
        raise
    except (ValueError, RecursionError) as problem:
        raise error(f"{source}: not a {what} ({problem})") from problem


def checksum(content: dict[str, Any]) -> str:
    """Return the digest of a document, whatever its layout; it finds damage, not forgery."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(canonical.encode("ascii")).hexdigest()


def sealed(document: dict[str, Any]) -> str:
    """Return the text of a document with its checksum.

    >>> print(sealed({"labels": ["a", "b"]}))
    {
     "labels": [
      "a",
      "b"
     ],
     "checksum": "sha256:..."
    }
    """
    return _layout(document | {"checksum": checksum(document)})


def is_sealed(document: dict[str, Any]) -> bool:
    """True if a document agrees with its checksum."""
    try:
        return bool(document.get("checksum") == checksum({k: v for k, v in document.items() if k != "checksum"}))
    except RecursionError:
        return False


def feature_record(feature: Feature) -> dict[str, Any]:
    """Describe a feature in plain values.

    >>> feature_record(Feature("hue", "nominal", ("red", "blue")))
    {'name': 'hue', 'kind': 'nominal', 'categories': ['red', 'blue']}
    """
    record: dict[str, Any] = {"name": feature.name, "kind": feature.kind}
    if feature.has_categories:
        record["categories"] = list(feature.categories)
    if feature.derived is not None:
        record[feature.derived.KEY] = feature.derived.to_json()
    if feature.form and feature.kind == "date":
        record["form"] = feature.form
    if feature.flag:
        record["flag"] = True
    return record


def read_feature(node: JsonNode, others: tuple[str, ...] = ()) -> Feature:
    """Return the feature that `feature_record` described; the `others` are members that the caller reads."""
    members = node.fields(("name", "kind"), ("categories", *(one.KEY for one in DERIVATIONS), "flag", "form", *others))
    kind: Any = members["kind"].choice("numeric", "nominal", "ordinal", "date")
    categories = members["categories"].maybe(lambda n: tuple(item.text() for item in n)) or ()
    if kind in ("numeric", "date") and categories:
        node.fail(f"is {kind} and has categories")
    name = members["name"].text()
    derived = None
    for derivation in DERIVATIONS:
        if members[derivation.KEY].value is not None:
            derived = derivation.from_json(members[derivation.KEY], name)
    flag = members["flag"].maybe(lambda n: n.flag()) or False
    if flag and kind != "numeric":
        node.fail(f"is {kind}, and only a numeric feature can be a flag")
    form = members["form"].maybe(lambda n: n.choice(*WRITTEN_FORMS)) or ""
    if form and kind != "date":
        node.fail(f"is {kind}, and only dates are written in a form")
    return Feature(name, kind, categories, derived, flag, form=form)


def _layout(document: dict[str, Any]) -> str:
    """One line per element of a list: small enough to read, and a changed rule is a changed line."""
    lines = []
    for name, value in document.items():
        if isinstance(value, list) and value:
            inner = ",\n".join("  " + _line(item) for item in value)
            lines.append(f' "{name}": [\n{inner}\n ]')
        elif isinstance(value, dict) and value:
            inner = ",\n".join(f"  {_line(key)}: {_line(item)}" for key, item in value.items())
            lines.append(f' "{name}": {{\n{inner}\n }}')
        else:
            lines.append(f' "{name}": {_line(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(value: Any) -> str:
    # A lone surrogate cannot be written as UTF-8; JSON's escape can.
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, allow_nan=False)
    return text
