"""One column at a time: Python values become numbers, or category indices with their categories.

The order of a nominal feature's categories is part of the model (it is the canonical order of its conditions), so it
must not depend on the order of the rows: undeclared categories are sorted by code point.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from polyrule.data.dates import POINTS, moment_of
from polyrule.data.table import TEXTUAL, Feature, check_finite
from polyrule.errors import DataError, UnseenCategoryWarning
from polyrule.utils.arrays import Array, Floats
from polyrule.utils.messages import depth_of_caller

BOOLEAN_CATEGORIES = ("False", "True")


def is_missing(value: Any) -> bool:
    """True if a Python value is missing: None, NaN, pandas' NA and NaT."""
    if value is None:
        return True
    if isinstance(value, (str, np.ndarray)):
        return False
    try:
        return bool(value != value)
    except ArithmeticError:  # a signalling NaN
        return True
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def category_text(value: Any) -> str:
    """Write a value as a category: booleans as False/True, whole numbers without a decimal point.

    Examples
    --------
    >>> category_text(2.0), category_text(True), category_text("2.0"), category_text(2.5)
    ('2', 'True', '2.0', '2.5')
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return BOOLEAN_CATEGORIES[int(value)]
    if isinstance(value, Integral):
        return _digits(value)
    if isinstance(value, Real):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)


def _digits(value: Any) -> str:
    try:
        return str(int(value))
    except ValueError:  # Python writes no more than a few thousand digits
        raise DataError("a whole number has too many digits to be a category or a name") from None


_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
WORDS = {"nan": np.nan, "inf": np.inf, "+inf": np.inf, "-inf": -np.inf, "infinity": np.inf, "-infinity": -np.inf}


def parse_number(text: str) -> float | None:
    """Read a number written in the ordinary way, or None: no underscores, no foreign digits.

    Examples
    --------
    >>> parse_number(" -1.5e3 "), parse_number("1_000"), parse_number("12 cm")
    (-1500.0, None, None)
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    return WORDS.get(text.lower())


class Categories:
    """The codes of categories: of what is written, or of the number that a category is.

    A number is found however it is written, and a boolean also as 0 or 1.

    Examples
    --------
    >>> codes, lost = Categories(("5", "10")).encode(["10", "5.0", 5, None, "50"])
    >>> codes, lost
    (array([ 1.,  0.,  0., nan, nan]), [4])
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.codes = {name: code for code, name in enumerate(names)}
        self.numbers: dict[float, int] = {}
        for name, code in self.codes.items():
            number = float(name == "True") if name in BOOLEAN_CATEGORIES else parse_number(name)
            if number is not None and isfinite(number):
                self.numbers.setdefault(number, code)
        self.count_up = [*self.codes] == [str(code) for code in range(len(self.codes))]

    def encode(self, values: Sequence[Any] | Array) -> tuple[Floats, list[int]]:
        """Return the codes, missing where there is none, and the rows with a value that is no category."""
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            codes = self._of_numbers(values)
            return codes, np.flatnonzero(np.isnan(codes) & ~np.isnan(values)).tolist()
        get = self.codes.get
        codes = np.array(
            [get(value, -1) if isinstance(value, str) else np.nan if value is None else -1 for value in values],
            dtype=np.float64,
        )
        lost = []
        for row in np.flatnonzero(codes < 0).tolist():
            value, codes[row] = values[row], np.nan
            if not is_missing(value):
                code = self._code(category_text(value))
                if code is None:
                    lost.append(row)
                else:
                    codes[row] = code
        return codes, lost

    def _code(self, text: str) -> int | None:
        code = self.codes.get(text)
        number = parse_number(text) if code is None else None
        return code if number is None else self.numbers.get(number)

    def _of_numbers(self, numbers: Floats) -> Floats:
        if self.count_up:
            is_code = (numbers >= 0) & (numbers < len(self.codes)) & (numbers == np.floor(numbers))
            if (is_code | np.isnan(numbers)).all():
                return numbers
        distinct, position = np.unique(numbers, return_inverse=True)
        codes = np.array([self.numbers.get(float(number), np.nan) for number in distinct], dtype=np.float64)
        return np.asarray(codes[position.reshape(numbers.shape)])


def infer_kind(values: Sequence[Any] | Array, name: str) -> Feature:
    """Find kind and categories of a column of Python objects.

    Numbers (and missing values) give a numeric feature; text gives a nominal feature with sorted categories; booleans
    give a nominal feature with categories False and True. A column that mixes them is refused, because one stray
    ``"n/a"`` would otherwise turn a numeric feature into a nominal one unnoticed.

    Examples
    --------
    >>> infer_kind(["b", None, "a"], "hue")
    Feature(name='hue', kind='nominal', categories=('a', 'b'))
    """
    kind, first = "", 0
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        kind_of_value = _kind_of(value, name, row)
        if kind and kind_of_value != kind:
            raise DataError(
                f"column {name!r} mixes {kind} (row {first}) and {kind_of_value} (row {row}); "
                "convert the column to one kind first"
            )
        if not kind:
            kind, first = kind_of_value, row
    if kind in ("", "numbers"):
        return Feature(name)
    if kind == "booleans":
        return Feature(name, "nominal", BOOLEAN_CATEGORIES)
    return Feature(name, "nominal", tuple(sorted({str(v) for v in values if not is_missing(v)})))


def encode_column(values: Sequence[Any] | Array, feature: Feature, unseen: UnseenCategories | None = None) -> Floats:
    """Encode a column of Python objects, or an array of numbers, against a known feature.

    Numbers are read as categories where the feature has some. A category the feature does not have becomes a missing
    value, which satisfies no condition, and is counted in `unseen`.

    Examples
    --------
    >>> encode_column(["a", "zebra", None], Feature("hue", "nominal", ("b", "a")))
    array([ 1., nan, nan])
    """
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return _encode_numbers(values, feature, unseen)
    if feature.source_kind == "date":
        return _encode_dates(values, feature)
    if feature.has_categories:
        return _codes(Categories(feature.categories), values, feature, unseen)
    encoded = np.empty(len(values))
    for row, value in enumerate(values):
        if is_missing(value):
            encoded[row] = np.nan
        elif isinstance(value, (Real, np.bool_)) or _is_decimal(value):
            encoded[row] = _as_float(value)
        else:
            raise DataError(
                f"column {feature.name!r}, row {row}: expected a number, got {shorten(value)}; "
                "the feature was numeric when the model was fitted"
            )
    check_finite(encoded, feature.name)
    return encoded


def encode_source(
    values: Sequence[Any] | Array, feature: Feature, unseen: UnseenCategories | None = None
) -> tuple[Feature, Floats]:
    """Encode a column from which features are derived; the cells of texts and lists become its categories.

    Examples
    --------
    >>> feature, codes = encode_source([["b", "a"], None, "b"], Feature("stops", "list", separator="|"))
    >>> feature.categories, codes
    (('b', 'b|a'), array([ 1., nan,  0.]))
    """
    if feature.kind == "date" and not (isinstance(values, np.ndarray) and values.dtype.kind == "f"):
        return feature, _moments(values, feature)
    if feature.kind not in TEXTUAL or feature.categories:
        return feature, encode_column(values, feature, unseen)
    texts = [cell_text(value, feature.separator) for value in values]
    categories = tuple(sorted({text for text in texts if text is not None}))
    place = {text: code for code, text in enumerate(categories)}
    codes = np.array([np.nan if text is None else place[text] for text in texts], dtype=np.float64)
    return replace(feature, categories=categories), codes


def cell_text(value: Any, separator: str = "") -> str | None:
    """Return a cell of a column of texts or lists as text, the members of a list joined; None if it is missing.

    >>> cell_text(["b", "a"], ";"), cell_text(2.0), cell_text(None), cell_text({"b", "a"}, "|")
    ('b;a', '2', None, 'a|b')
    """
    if isinstance(value, (list, tuple, np.ndarray)):
        return separator.join(category_text(member) for member in value if not is_missing(member))
    if isinstance(value, (set, frozenset)):
        return separator.join(sorted(category_text(member) for member in value))
    return None if is_missing(value) else category_text(value)


def _encode_dates(values: Sequence[Any] | Array, feature: Feature) -> Floats:
    days = _moments(values, feature)
    return np.floor(days) if feature.derived is None else feature.derived.values(days)


def _moments(values: Sequence[Any] | Array, feature: Feature) -> Floats:
    """Return days with times of day as fractions."""
    days = np.empty(len(values))
    form = (feature.form if feature.derived is None else feature.derived.form_of(feature.column)) or POINTS
    for row, value in enumerate(values):
        day = np.nan if is_missing(value) else moment_of(value, form)
        if day is None:
            raise DataError(
                f"column {feature.column!r}, row {row}: expected a date such as 2021-03-05, got {shorten(value)}"
            )
        days[row] = day
    return days


def _encode_numbers(values: Floats, feature: Feature, unseen: UnseenCategories | None) -> Floats:
    if feature.is_nominal and not feature.categories:  # a column that was left out when the model was fitted
        return np.full(len(values), np.nan)
    check_finite(values, feature.name)
    categories = Categories(feature.categories) if feature.has_categories else None
    if feature.source_kind == "date" and not np.isnan(values).all():
        raise DataError(f"column {feature.column!r} held dates when the model was fitted, but numbers were given")
    if categories is not None and not categories.numbers and not np.isnan(values).all():
        raise DataError(
            f"column {feature.name!r} is {feature.kind} with values {listing(feature.categories)}, "
            "but numbers were given"
        )
    return values if categories is None else _codes(categories, values, feature, unseen)


def _codes(
    categories: Categories, values: Sequence[Any] | Array, feature: Feature, unseen: UnseenCategories | None
) -> Floats:
    codes, lost = categories.encode(values)
    if unseen is not None and feature.categories:
        unseen.add(feature.name, [values[row] for row in lost])
    return codes


def recode(values: Floats, old: Feature, new: Feature, unseen: UnseenCategories | None = None) -> Floats:
    """Translate category indices of one feature to those of another one with the same name."""
    if old.categories == new.categories:
        return values
    position = {category: code for code, category in enumerate(new.categories)}
    codes = np.array([position.get(category, np.nan) for category in old.categories] + [np.nan], dtype=np.float64)
    where = np.where(np.isnan(values), len(old.categories), values).astype(np.int64)
    recoded: Floats = codes[where]
    if unseen is not None and new.categories:
        lost = where[np.isnan(recoded) & ~np.isnan(values)]
        unseen.add(new.name, [old.categories[code] for code in lost])
    return recoded


def listing(names: Iterable[str], max_names: int = 5) -> str:
    """Show a few quoted names, and how many more there are."""
    names = list(names)
    text = ", ".join(shorten(name) for name in names[:max_names])
    return text + (f" and {len(names) - max_names} more" if len(names) > max_names else "")


def counted(counts: Mapping[str, int], max_names: int = 5) -> str:
    """Show a few quoted names with how often they occur, the most frequent first, and how many more there are.

    >>> counted({"red": 1, "blue": 3}), counted({"red": 1, "blue": 3}, max_names=1)
    ("'blue' (3), 'red' (1)", "'blue' (3) and 1 more")
    """
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    text = ", ".join(f"{shorten(name)} ({count})" for name, count in ordered[:max_names])
    return text + (f" and {len(counts) - max_names} more" if len(counts) > max_names else "")


def shorten(value: Any, max_length: int = 60) -> str:
    """Show a value as Python would, cut to a length that fits an error message."""
    text = repr(value[: max_length + 1] if isinstance(value, str) else value)
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


def _kind_of(value: Any, name: str, row: int) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, (bool, np.bool_)):
        return "booleans"
    if (isinstance(value, Real) or _is_decimal(value)) and not isinstance(value, complex):
        return "numbers"
    raise DataError(
        f"column {name!r}, row {row}: {type(value).__name__} values such as {shorten(value)} are not supported; "
        "features are numbers, text or booleans"
    )


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return np.inf


def _is_decimal(value: Any) -> bool:
    return type(value).__name__ == "Decimal"


_MOST_COLUMNS = 5
_MOST_EXAMPLES = 3


@dataclass(eq=False)
class UnseenCategories:
    """Counts of the values of each column that are no category of its feature.

    Examples
    --------
    >>> unseen = UnseenCategories()
    >>> unseen.add("key", ["lydian", "dorian", "lydian"])
    >>> unseen.add("size", [7.0])
    >>> print(unseen)
    4 values are categories that the model does not know, and count as missing: 3 in 'key' ('lydian', 'dorian'),
    1 in 'size' ('7')
    """

    columns: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(count for count, _ in self.columns.values())

    def add(self, column: str, values: Iterable[Any]) -> None:
        """Count values of a column."""
        texts = [category_text(value) for value in values]
        if texts:
            count, examples = self.columns.get(column, (0, ()))
            examples = tuple(dict.fromkeys([*examples, *texts]))[: _MOST_EXAMPLES + 1]
            self.columns[column] = (count + len(texts), examples)

    def __str__(self) -> str:
        parts = [
            f"{count} in {column!r} ({_list_examples(examples)})" for column, (count, examples) in self.columns.items()
        ]
        if len(parts) > _MOST_COLUMNS:
            parts[_MOST_COLUMNS:] = [f"and {len(parts) - _MOST_COLUMNS} more columns"]
        start = "1 value is a category" if len(self) == 1 else f"{len(self)} values are categories"
        counts = "counts" if len(self) == 1 else "count"
        return f"{start} that the model does not know, and {counts} as missing: {', '.join(parts)}"

    def warn(self, source: str = "") -> None:
        """Warn, if there is something to warn of, as from the line outside polyrule that asked for it."""
        pending = _HELD.get()
        if pending is not None:
            pending.append((self, source))
        elif self.columns:
            text = f"{source}: {self}" if source else str(self)
            warnings.warn(text, UnseenCategoryWarning, stacklevel=depth_of_caller())


_HELD: ContextVar[list[tuple[UnseenCategories, str]] | None] = ContextVar("_HELD", default=None)


@contextmanager
def hold_unseen() -> Iterator[Callable[[Iterable[str]], None]]:
    """Hold back warnings of unseen categories; afterwards what is returned warns of those in the columns it is given.

    Examples
    --------
    >>> with hold_unseen() as warn_of:
    ...     _ = encode_column(["lydian"], Feature("key", "nominal", ("minor",)), unseen := UnseenCategories())
    ...     unseen.warn()
    >>> warn_of(["tempo"])
    """
    pending: list[tuple[UnseenCategories, str]] = []

    def warn_of(columns: Iterable[str]) -> None:
        names = set(columns)
        for unseen, source in pending:
            UnseenCategories({name: seen for name, seen in unseen.columns.items() if name in names}).warn(source)

    token = _HELD.set(pending)
    try:
        yield warn_of
    finally:
        _HELD.reset(token)


def _list_examples(examples: tuple[str, ...]) -> str:
    ellipsis = ["…"] if len(examples) > _MOST_EXAMPLES else []
    return ", ".join([*map(shorten, examples[:_MOST_EXAMPLES]), *ellipsis])
